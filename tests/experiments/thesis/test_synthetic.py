"""The synthetic study: its parts against other computations, its findings as functions of the data."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta

import howsure
from howsure.calibration import paper
from howsure.experiments.result import Reproduction
from howsure.experiments.thesis import synthetic
from howsure.experiments.thesis.synthetic import Curve, Population, debiased, expected_scores, scores, transformed

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def quick():
    return howsure.reproduce("synthetic", quick=True)


def pairs(a=0.3, b=0.3, k=0.1, n=3_001, seed=0):
    rng = np.random.default_rng(seed)
    q = np.sort(rng.beta(a, b, n))
    return (rng.random(n) < transformed(q, k)).astype(np.float64), q


def test_scores_are_the_papers():
    y, q = pairs()
    sizes = np.array([1, 2, 7, 64, 500, 1_500, 1_501, 3_001, 5_000])
    assert scores(y, q, sizes) == pytest.approx([paper.calibration_mse(y, q, int(s)) for s in sizes], rel=1e-10)


def test_scores_are_the_papers_with_ties():
    y, q = pairs()
    q = np.round(q, 2)
    sizes = np.array([2, 10, 1_000])
    assert scores(y, q, sizes) == pytest.approx([paper.calibration_mse(y, q, int(s)) for s in sizes], rel=1e-10)


def test_t_at_its_edges():
    p = np.array([0.0, 0.1, 0.5, np.nextafter(0.5, 1), 0.9, 1.0])
    assert transformed(p, 0.1) == pytest.approx([0, 0, 0.4, 0.6, 1, 1])
    assert transformed(p, 0.5) == pytest.approx([0, 0, 0, 1, 1, 1])
    assert transformed(p, 0.0) is p


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.3), (1, 1), (2, 2), (0.05, 0.5)])
@pytest.mark.parametrize("k", [0.0, 0.1, 0.5])
def test_the_truth_in_closed_form(a, b, k):
    population = Population(a, b, k)

    def mean(f):  # over the quantiles of q, so that the poles of the density do no harm
        inside = beta.cdf([k, 0.5, 1 - k], a, b)
        return quad(lambda u: f(beta.ppf(u, a, b)), 0, 1, points=inside, limit=500)[0]

    def t(q):
        return float(transformed(np.array(q), k))

    assert population.squared_error == pytest.approx(mean(lambda q: (q - t(q)) ** 2), abs=1e-6)
    assert population.noise == pytest.approx(mean(lambda q: t(q) * (1 - t(q))), abs=1e-6)


def test_expected_scores_are_the_mean_over_labels():
    _, q = pairs(n=1_000)
    t, sizes = transformed(q, 0.1), np.array([2, 30, 400])
    rng = np.random.default_rng(3)
    drawn = np.array([scores((rng.random(len(q)) < t).astype(float), q, sizes) for _ in range(2_000)])
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - expected_scores(t, q, sizes)) < 4 * error)


def test_the_estimate_is_that_of_check():
    y, q = pairs()
    assert debiased(y, q) == howsure.check(y, q).error_squared


@given(st.integers(1, 400), st.integers(1, 60), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_multiples_of_a_bin_size_never_raise_the_score(n, size, times, seed):
    y, q = pairs(n=n, seed=seed)
    assert set(paper.bin_starts(n, times * size)) <= set(paper.bin_starts(n, size))
    small, large = scores(y, q, np.array([size, times * size]))
    assert large <= small * (1 + 1e-12)


def test_joining_two_bins_loses_what_the_finding_says():
    y, q = pairs(n=4)
    d = (y - q).reshape(2, 2).mean(axis=1)
    fine, coarse = scores(y, q, np.array([2, 4]))
    assert 4 * (fine - coarse) == pytest.approx((d[0] - d[1]) ** 2)


def curves(score, expected=None, k=0.0, x=None):
    score = np.asarray(score, float)
    x = 2 ** np.arange(1, len(score) + 1) if x is None else x
    ours = (howsure.check([0, 1], [0.5, 0.5]).error_squared,) * len(score)
    return [Curve(Population(1, 1, k), x, score, np.asarray(expected if expected is not None else score, float), ours)]


def test_findings_follow_the_data():
    falls, rises = curves([4, 3, 2]), curves([4, 3, 5])
    assert synthetic.doubling(falls, falls).verdict == "confirmed"
    found = synthetic.doubling(rises, rises)
    assert found.verdict == "corrected"
    assert found.numbers["rises"] == 1
    steps = np.arange(1, 9)
    chance = curves(np.tile([1, 9], 4), np.full(8, 5.0), 0.1, steps)
    law = curves(np.tile([1, 9], 4), np.tile([1, 9], 4), 0.1, steps)
    flat = [replace(c, spread=np.full(8, 4.0)) for c in curves(np.full(8, 5.0), x=steps)]
    for made, verdict in ((chance, "confirmed"), (law, "corrected")):
        made = [replace(c, spread=np.full(8, 0.1)) for c in made]
        assert synthetic.unpredictable([*made, *flat]).verdict == verdict
    n = np.arange(1, 21) * 1_000
    assert synthetic.vanishing(curves(n**-0.5, x=n)).verdict == "confirmed"
    assert synthetic.vanishing(curves(n**0.0, x=n)).verdict == "corrected"


def test_quick_study(quick):
    assert [f.name for f in quick.figures] == ["4.7", "4.8", "4.9", "4.10", "4.11"]
    assert len(quick.findings) == 7
    assert quick.findings[1].numbers["rises"] == 0
    assert "\n" not in repr(quick)
    points = quick.figures[2].specification["data"]["values"]
    assert len(points) == 2 * 50
    assert {p["law"] for p in points} == {"Beta(0.3, 0.3)", "Beta(0.5, 0.5)"}


def test_the_seed_decides(quick):
    assert howsure.reproduce("synthetic", quick=True) == quick
    assert howsure.reproduce("synthetic", quick=True, rng=1) != quick
    assert howsure.reproduce("synthetic", quick=True, rng=np.random.default_rng(0)).findings == quick.findings


def test_plain_data_and_back(quick):
    assert Reproduction.from_dict(json.loads(json.dumps(quick.to_dict(), allow_nan=False))) == quick


def test_documentation_has_every_claim_and_figure(quick):
    said = (DOCS / "evidence" / "synthetic.md").read_text()
    for finding in quick.findings:
        assert finding.claim in said
    for figure in quick.figures:
        assert 0 < (DOCS / "images" / f"synthetic-{figure.name}.svg").stat().st_size < 200_000


def test_the_thesiss_sizes():
    full = synthetic.settings(quick=False)
    assert (full["n"], full["doublings"], full["step"], full["k"]) == (100_000, 16, 1_000, 0.1)
    assert full["samples"] == [10_000, 50_000, 1_000]
