"""Slips of the sources: what shows each exists, and what no other test shows is shown here."""

from pathlib import Path

import numpy as np
import pytest

import howsure
from howsure.calibration import paper
from howsure.experiments.overview import BEYOND, SLIPS
from howsure.experiments.registry import experiment

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("slip", [*SLIPS, *BEYOND], ids=lambda s: s.source + ": " + s.printed[:30])
def test_what_is_said_to_show_it_exists(slip):
    path, mark, name = slip.shown.partition("::")
    if mark:
        assert f"def {name}(" in (ROOT / path).read_text()
    else:
        command, verb, which = slip.shown.split()
        assert (command, verb, experiment(which).name) == ("howsure", "reproduce", which)


def test_crf_basic_has_the_smaller_number():
    hmm, basic, advanced = 0.035, 0.019, 0.018  # as the drafts print them
    assert basic < hmm
    assert round(hmm / basic, 1) == 1.8
    assert (basic - advanced) / basic < 0.06


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_the_rule_to_be_maximised_has_minus_signs(p):
    x = np.linspace(0, 1, 1001)
    printed = p * (x - 1) ** 2 + (1 - p) * x**2
    assert x[np.argmin(printed)] == pytest.approx(p)
    assert x[np.argmax(-printed)] == pytest.approx(p)
    assert x[np.argmax(printed)] in (0, 1)
    q = 0.3
    first = p * (-((q - 1) ** 2) + (p - 1) ** 2) + (1 - p) * (-(q**2) + p**2)  # S₁ of one prediction q
    assert first == pytest.approx(-((p - q) ** 2))


def test_too_low_and_too_high_at_the_two_ends_is_too_extreme():
    rng = np.random.default_rng(0)
    q = rng.beta(0.5, 0.5, 20_000)
    y = rng.random(len(q)) < 0.5 + 0.6 * (q - 0.5)  # q below p at the lower end, above it at the upper
    low = q < 0.3
    assert y[low].mean() > q[low].mean()
    assert y[~low & (q > 0.7)].mean() < q[~low & (q > 0.7)].mean()
    assert "too extreme" in howsure.check(y, q).verdict


def test_algorithm_2_does_not_hold_the_truth():
    rng = np.random.default_rng(0)
    held = ours = 0
    for _ in range(40):
        q = rng.beta(0.3, 0.3, 5_000)
        y = rng.random(len(q)) < q
        held += paper.calibration_interval(y, q, 200, n_samples=500, rng=rng).low <= 0
        ours += howsure.check(y, q, rng=None).error.low == 0
    assert held == 0
    assert ours >= 33  # 38 are to be expected; P(fewer than 33) is below 0.01 at 95%
