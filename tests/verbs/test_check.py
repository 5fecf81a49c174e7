"""`howsure.check` on arrays: what it accepts, refuses and says."""

import json
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import howsure


def test_result_is_frozen_and_plain_data(skewed):
    c = howsure.check(*skewed)
    with pytest.raises(AttributeError):
        c.n = 3
    with pytest.raises(ValueError, match="read-only"):
        c.bins.n[0] = 7
    made = json.loads(json.dumps(c.to_dict(), allow_nan=False))
    assert {"n", "error", "error_squared", "ece", "max_error", "bias", "brier", "log_loss", "bins"} <= set(made)
    assert set(made["error"]) == {"value", "low", "high"}
    assert {"n", "mean_prob", "mean_true", "low", "high"} <= set(made["bins"][0])
    assert "\n" not in repr(c)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.int64, np.float32, np.float64, object])
def test_any_type_of_label(skewed, dtype):
    y, q = skewed
    assert howsure.check(y.astype(dtype), q).error == howsure.check(y, q).error


def test_lists_strided_and_read_only_arrays(skewed):
    y, q = skewed
    expected = howsure.check(y[::3], q[::3]).error
    locked = q.copy()
    locked.flags.writeable = False
    assert howsure.check(y[::3].tolist(), q[::3].tolist()).error == expected
    assert howsure.check(y[::3], locked[::3]).error == expected


def test_large_arrays_use_threads_and_give_the_same_numbers():
    rng = np.random.default_rng(13)
    q = rng.beta(0.3, 0.3, 1_200_000)
    y = rng.random(len(q)) < q
    whole = howsure.check(y, q).to_dict()
    order = rng.permutation(len(q))
    assert howsure.check(y[order], q[order]).to_dict() == whole
    halves = howsure.check(y[:600_000], q[:600_000]), howsure.check(y[600_000:], q[600_000:])
    assert whole["brier"]["value"] == pytest.approx(np.mean([h.brier.value for h in halves]), rel=1e-12)
    q[[900_000, 1_100_000]] = np.nan, 7.0
    with pytest.raises(ValueError, match=r"`y_prob` must lie in .* got 7 in index 1100000"):
        howsure.check(y, q)


@pytest.mark.parametrize(
    ("y", "q", "keywords", "message"),
    [
        ([0, 1], [0.5], {}, "lengths differ: `y_true` has 2, `y_prob` has 1"),
        ([], [], {}, "there are no rows"),
        ([0, 1], [0.5, 1.3], {}, r"must lie in \[0, 1\]; got 1.3 in index 1"),
        ([0, 1], [0.5, -1e-9], {}, "got -1e-09 in index 1"),
        ([0, 1], [0.5, None], {"missing": "error"}, "1 of 2 rows has no `y_prob`, the first of them index 1"),
        ([0, 2], [0.5, 0.5], {}, "must be 0 or 1; got 2 in index 1"),
        ([0, 0.5], [0.5, 0.5], {}, "must be 0 or 1; got 0.5 in index 1"),
        (["a", "b"], [0.5, 0.5], {}, "`positive=`"),
        ([0, 1], ["a", "b"], {}, "must hold numbers"),
        ([[0, 1]], [[0.5, 0.5]], {}, "holds a list in each place"),
        ([0, 1], [0.5, 0.5], {"sample_weight": [1, -1]}, "got -1 in index 1"),
        ([0, 1], [0.5, 0.5], {"sample_weight": [1, 0.5]}, "got 0.5 in index 1"),
        ([0, 1], [0.5, 0.5], {"sample_weight": [0, 0]}, "no rows"),
        ([0, 1], [0.5, 0.5], {"bins": 0}, "`bins=` must be"),
        ([0, 1], [0.5, 0.5], {"bins": "widht:10"}, "`bins=` must be"),
        ([0, 1], [0.5, 0.5], {"confidence_level": 95}, "between 0.01 and 0.9999"),
        ([0, 1], [0.5, 0.5], {"rng": "seed"}, "`rng="),
        ([0, 1], [0.5, 0.5], {"prob": "q"}, "with arrays leave them out"),
        ([0, 1], None, {}, "a path or a data frame"),
    ],
)
def test_bad_input(y, q, keywords, message):
    with pytest.raises(howsure.InputError, match=message) as caught:
        howsure.check(y, q, **keywords)
    assert "\n" not in str(caught.value)


def test_one_row_one_class_and_short_bins_are_explained():
    one = howsure.check([1], [0.7])
    assert one.error is None
    assert one.verdict == "Too little to judge: 1 row."
    assert "fewer than two" in one.notes[0]
    same = howsure.check([1, 1, 1], [0.7, 0.8, 0.9], bins=100)
    assert same.auc is None
    assert same.bias.slope is None
    assert len(same.bins) == 1
    assert any("All labels are 1" in n for n in same.notes)
    assert any("fewer rows (3) than the bin size of 100" in n for n in same.notes)


@pytest.mark.parametrize(
    ("power", "shift", "said"),
    [
        (0.6, 0.0, "They are too extreme."),
        (1.6, 0.0, "They are too timid: too near the base rate."),
        (1.0, 1.0, "too low by"),
    ],
)
def test_verdict_names_the_direction(power, shift, said):
    rng = np.random.default_rng(14)
    q = rng.beta(2, 2, 20_000)
    p = 1 / (1 + np.exp(-(power * np.log(q / (1 - q)) + shift)))
    c = howsure.check(rng.random(len(q)) < p, q)
    assert said in c.verdict
    assert "confident" not in c.verdict


@pytest.mark.parametrize(("level", "slope", "said"), [(0.6, 1.5, "overconfident"), (0.9, 0.5, "underconfident")])
def test_confidence_and_slope_are_said_without_contradiction(level, slope, said):
    """Overconfident with probabilities too near the base rate: the surer, the less so."""
    rng = np.random.default_rng(14)
    q = rng.uniform(0.6, 0.9, 20_000)
    right = rng.random(len(q)) < level + slope * (q - 0.75)
    c = howsure.check(np.where(right, 0, 1), np.stack([q, 1 - q], axis=1)).top
    assert c.bias.extremity == {"overconfident": "too timid", "underconfident": "too extreme"}[said]
    assert f"The model is {said}" in c.verdict
    assert c.verdict.endswith(f"The surer it is, the less {said}.")
    assert "too timid" not in c.verdict
    assert "too extreme" not in c.verdict


def test_verdict_where_the_size_cannot_be_told():
    """A wrong slope is seen by the test before the size of the error can be distinguished from noise."""
    rng = np.random.default_rng(4)
    q = rng.uniform(0.2, 0.8, 1_200)
    c = howsure.check(rng.random(1_200) < 0.5 + 0.78 * (q - 0.5), q)
    assert c.p_value < 0.05
    assert c.error.low == 0.0
    assert c.verdict.startswith("Not calibrated, p ")
    assert "cannot tell by how much: the error is between 0 and" in c.verdict
    assert "off by" not in c.verdict


def test_verdict_does_not_contradict_the_bias():
    """The RMS error is never below |mean q - mean y|: a shift that is shown bounds it from below."""
    rng = np.random.default_rng(4)
    q = rng.uniform(0.2, 0.8, 1_200)
    c = howsure.check(rng.random(1_200) < q + 0.05, q)
    assert c.error.low >= -c.bias.gap.high > 0.0
    assert c.verdict.startswith("Not calibrated: the probabilities are off by ")
    assert "too low by" in c.verdict


def test_verdict_says_what_is_ruled_out():
    q = np.tile([0.2, 0.4, 0.6, 0.8], 10)
    small = howsure.check(np.arange(40) // 4 < 10 * q, q)
    assert small.error.high > 0.1
    assert f"in 40 rows (p = 1), but they rule out only an error above {small.error.high:.3f}." in small.verdict
    large = howsure.check(np.tile(np.arange(40) // 4 < 10 * q, 100), np.tile(q, 100))
    assert f"in 4,000 rows (p = 1): an error above {large.error.high:.3f} is ruled out." in large.verdict


def test_check_loads_no_heavy_part():
    code = (
        "import sys, howsure; assert 'numpy' not in sys.modules\n"
        "from howsure.data import demo_table\n"
        "howsure.check(demo_table(), by='tag').to_dict()\n"
        "bad = {'matplotlib', 'sklearn', 'scipy.stats', 'numba', 'pandas'} & set(sys.modules)\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("sure", "right", "word"), [(0.65, 0.8, "underconfident"), (0.8, 0.65, "overconfident")])
def test_overconfident_is_confidence_above_accuracy(sure, right, word):
    """Whatever the slope is: here q tells nothing, so that it is far below 1."""
    rng = np.random.default_rng(3)
    q = np.clip(rng.normal(sure, 0.05, 3000), 0.51, 0.99)
    y = rng.random(3000) < right
    probs = np.where(y[:, None], np.c_[1 - q, q], np.c_[q, 1 - q])  # the predicted class is right where y is
    classes = howsure.check(np.ones(3000, int), probs).top
    named = howsure.check(pa.table({"confidence": q, "correct": y}))
    for c in (classes, named):
        assert c.confidence == word
        assert c.to_dict()["bias"]["confidence"] == word
        assert f"The model is {word}: confidence is {q.mean():.3f} on average, accuracy {y.mean():.3f}." in c.verdict
        assert c.bias.extremity == "too extreme"
    plain = howsure.check(y, q)
    assert plain.confidence is None
    assert "confident" not in plain.verdict


def test_the_verdict_names_all_regions():
    """Regions of known direction, five sets by hand and thirty by chance: each that is found lies inside one that is named."""
    rng = np.random.default_rng(7)
    q = rng.random(40_000)
    sets = [[0.1, -0.1], [0.1, 0, 0.1], [0.1, 0, 0.1, 0, 0.1], [-0.1, 0.1, -0.1, 0.1], [0.1, 0, 0, 0, -0.1]]
    for shifts in (*sets, *(rng.choice([-0.1, -0.05, 0, 0.05, 0.1], k) for k in [2, 3, 4, 5, 6, 7] * 5)):
        p = np.clip(q + np.array(shifts)[np.minimum((q * len(shifts)).astype(int), len(shifts) - 1)], 0, 1)
        c = howsure.check(rng.random(len(q)) < p, q)
        for side in ("too high", "too low"):
            found = [r for r in c.bias.regions if r.direction == side]
            said = re.search(
                rf"{side} ((?:between|at) .*?)(?:, (?:mostly )?too|\.(?: |$)| and (?:mostly )?too)", c.verdict
            )
            spans = said[1].split(" and between") if said else []
            named = [tuple(map(float, re.findall(r"\d[\d.]*(?:e-\d+)?", span))) for span in spans]
            assert bool(found) == bool(said)
            assert all(any(n[0] - 5e-4 <= r.from_prob and r.to_prob <= n[-1] + 5e-4 for n in named) for r in found)


@pytest.mark.parametrize("kind", ["U", "S"])
@pytest.mark.parametrize("role", ["groups", "by"])
def test_names_of_more_than_16_mb(kind, role):
    """Arrow takes NumPy's text of that size in several pieces."""
    rng = np.random.default_rng(17)
    q = rng.random(400)
    y, row = rng.random(400) < q, rng.integers(0, 8, 400)
    long, short = (np.array([f"{i}{'x' * n}" for i in range(8)], kind)[row] for n in (50_000, 0))
    assert isinstance(pa.array(long), pa.ChunkedArray)
    found, wanted = (howsure.check(y, q, **{role: names}) for names in (long, short))
    assert found.error == wanted.error
    assert len(found.slices or ()) == (8 if role == "by" else 0)
    for one, other in zip(found.slices or (), wanted.slices or (), strict=True):
        assert one.name.replace("x", "") == other.name
        assert (one.calibration.n, one.calibration.error) == (other.calibration.n, other.calibration.error)


def test_a_region_whose_ends_are_written_alike_is_near_them():
    q = np.concatenate([np.linspace(0.99996, 0.99999, 500), np.full(500, 0.2)])
    y = np.arange(1000) % 5 > 0
    y[500:] = np.arange(500) % 5 == 0
    assert "too high near 1.000" in howsure.check(y, q).verdict
