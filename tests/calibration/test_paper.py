"""Algorithms 1 and 2 against ten-line references."""

import numpy as np
import pytest

import howsure
from howsure.calibration import paper


def reference_bins(y, q, size):
    pairs = sorted(zip(q, y, strict=True), key=lambda pair: pair[0])  # stable: ties in the order given
    bins = [pairs[i : i + size] for i in range(0, len(pairs), size)]
    if len(bins) > 1 and len(bins[-1]) < size:
        bins[-2].extend(bins.pop())
    return [(len(b), sum(q for q, _ in b) / len(b), sum(y for _, y in b) / len(b)) for b in bins]


@pytest.mark.parametrize("size", [200, 1000, 5000])
def test_algorithm_1(skewed, size):
    y, q = skewed
    bins = reference_bins(y, q, size)
    expected = (sum(n * (a - b) ** 2 for n, a, b in bins) / len(y)) ** 0.5
    assert paper.calibration_error(y, q, bin_size=size) == pytest.approx(expected, rel=1e-12)
    assert paper.calibration_mse(y, q, bin_size=size) == pytest.approx(expected**2, rel=1e-12)
    shuffled = np.random.default_rng(0).permutation(len(y))
    assert paper.calibration_error(y[shuffled], q[shuffled], size) == pytest.approx(expected, rel=1e-12)


def test_algorithm_2(skewed):
    y, q = skewed
    rng = np.random.default_rng(1)
    bins = reference_bins(y, q, 1000)
    errors = []
    for _ in range(4000):
        total = 0.0
        for n, mean_q, p in bins:
            draw = min(1.0, max(0.0, rng.normal(p, (p * (1 - p) / n) ** 0.5)))
            total += n * (mean_q - draw) ** 2
        errors.append((total / len(y)) ** 0.5)
    made = paper.calibration_interval(y, q, 1000, n_samples=4000, rng=7)
    noise = 5 * np.std(errors) / 4000**0.5
    assert made.value == pytest.approx(np.mean(errors), abs=noise)
    assert made.low == pytest.approx(np.mean(errors) - 1.96 * np.std(errors), abs=3 * noise)
    assert made.high == pytest.approx(np.mean(errors) + 1.96 * np.std(errors), abs=3 * noise)


TENTHS = np.random.default_rng(3).integers(1, 10, 2000) / 10
TRUE = (np.random.default_rng(4).random(2000) < TENTHS).astype(int)


@pytest.mark.parametrize("size", [1, 7, 100, 300])
def test_to_the_letter_ties_stay_in_the_order_given(size):
    for order in (np.arange(2000), np.argsort(TRUE, kind="stable"), np.random.default_rng(5).permutation(2000)):
        y, q = TRUE[order], TENTHS[order]
        expected = (sum(n * (a - b) ** 2 for n, a, b in reference_bins(y, q, size)) / 2000) ** 0.5
        assert paper.calibration_error(y, q, size) == pytest.approx(expected, rel=1e-12)


def test_shared_ties_do_not_depend_on_order():
    y, q = np.array([1, 0, 0, 1, 0, 1, 1]), np.array([0.5, 0.5, 0.5, 0.5, 0.2, 0.9, 0.9])
    orders = [np.random.default_rng(i).permutation(7) for i in range(30)]
    shared = {round(paper.calibration_error(y[o], q[o], 2, ties="shared"), 12) for o in orders}
    letter = {round(paper.calibration_error(y[o], q[o], 2), 12) for o in orders}
    assert len(shared) == 1
    assert len(letter) > 1


def test_check_paper_holds_both_versions_and_equation_one():
    made = howsure.check_paper(TRUE, TENTHS, bin_size=100, samples=500)
    a, b = made.to_the_letter, made.ties_shared
    assert a.calib_err == paper.calibration_error(TRUE, TENTHS, 100)
    assert b.calib_err == paper.calibration_error(TRUE, TENTHS, 100, ties="shared")
    assert a.calib_err > 2 * b.calib_err  # bins cut through ties of both labels
    assert a.interval.low < a.interval.value < a.interval.high
    for x in (a, b):
        assert x.calib_err**2 == pytest.approx(x.calibration)
        assert x.calibration + x.refinement + x.within_bins == pytest.approx(made.brier)
    assert made.brier == pytest.approx(np.mean((TRUE - TENTHS) ** 2))
    assert made.log_loss == pytest.approx(-np.mean(np.log(np.where(TRUE, TENTHS, 1 - TENTHS))))
    assert made.tied_rows == 2000
    assert any("depends on the order" in n for n in made.notes)


def test_one_value_of_q_in_a_bin_makes_equation_one_exact():
    q = np.repeat([0.2, 0.7], 50)
    y = np.random.default_rng(0).integers(0, 2, 100)
    x = howsure.check_paper(y, q, bin_size=50).to_the_letter
    assert x.within_bins == pytest.approx(0, abs=1e-15)


def test_sides_of_the_diagonal_in_the_papers_words():
    q = np.repeat([0.2, 0.5, 0.8], 1000)
    y = np.concatenate([np.arange(1000) < 400, np.arange(1000) < 500, np.arange(1000) < 600])
    made = howsure.check_paper(y, q, bin_size=1000, samples=10)
    assert [b["side"] for b in made.table()] == ["underconfident", None, "overconfident"]
    assert (made.underconfident_rows, made.overconfident_rows) == (1000, 1000)
    assert "above the diagonal) in 33.3%" in made.verdict
    assert "one bin of 5,000" in howsure.check_paper(y, q).notes[0]
    with pytest.raises(ValueError, match="number of rows"):
        howsure.check_paper(y, q, bin_size="width:10")
    assert howsure.check_paper([1, 0], [0.0, 0.0], bin_size=1).log_loss is None


def test_bin_intervals_are_the_thesis_formula(skewed):
    bins = paper.adaptive_bins(*skewed, 5000)
    half = 1.96 * np.sqrt(bins.mean_true * (1 - bins.mean_true) / bins.n)
    assert bins.high - bins.mean_true == pytest.approx(half)
    assert bins.n.tolist() == [5000] * 5 + [8306]


def test_small_input_is_one_bin():
    assert paper.adaptive_bins([0, 1], [0.2, 0.4]).n.tolist() == [2]
    with pytest.raises(ValueError, match="lengths differ"):
        paper.calibration_error([0, 1], [0.2])
