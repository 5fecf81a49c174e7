"""Scores and what they are made of, against the published example and plain definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import howsure
from howsure.calibration.estimation.decompositions import RULES, ScoringRule, rule_parts, scoring_rule
from howsure.calibration.sketch import sketch_rows

Y, Q = [0, 0, 0, 1, 1, 1], [0.4, 0.3, 0.2, 0.1, 0.5, 0.9]
grid = st.lists(st.tuples(st.integers(0, 1), st.integers(1, 19)), min_size=2, max_size=60)


def test_worked_example():
    c = howsure.check(Y, Q)
    assert c.brier.value == pytest.approx(0.2266667, abs=5e-8)
    assert (c.brier.miscalibration, c.brier.discrimination, c.brier.uncertainty) == pytest.approx(
        (0.1016667, 0.125, 0.25), abs=5e-8
    )
    assert c.log_loss.value == pytest.approx(0.6986228, abs=5e-8)
    assert (c.log_loss.miscalibration, c.log_loss.discrimination, c.log_loss.uncertainty) == pytest.approx(
        (0.3237327, 0.3182571, 0.6931472), abs=5e-8
    )


@given(grid, st.sampled_from([None, 3, "isotonic", "width:4"]))
def test_parts_add_up(rows, bins):
    c = howsure.check([y for y, _ in rows], [k / 20 for _, k in rows], bins=bins)
    for score in (c.brier, c.log_loss):
        assert score.calibration + score.refinement == pytest.approx(score.value, abs=1e-12)
        whole = score.miscalibration - score.discrimination + score.uncertainty
        assert whole == pytest.approx(score.value, abs=1e-12)
        assert score.miscalibration >= -1e-12
        assert score.discrimination >= -1e-12


@given(grid)
def test_equation_one_of_the_paper(rows):
    """With one value of q in each bin, refinement is E[p(1-p)]."""
    y, q = np.array([r[0] for r in rows]), np.array([r[1] for r in rows]) / 20
    c = howsure.check(y, q, bins=1)
    assert not c.brier.within_bins
    p = np.array([y[q == v].mean() for v in q])
    assert c.brier.calibration == pytest.approx(np.mean((q - p) ** 2), abs=1e-12)
    assert c.brier.refinement == pytest.approx(np.mean(p * (1 - p)), abs=1e-12)


@given(
    grid,
    st.sampled_from(
        [*RULES.values(), ScoringRule("cubic", lambda x: 6 * x**2 - 4 * x**3, lambda x: 2 * x**0 - 4 * x**3)]
    ),
)
def test_theorem_of_the_thesis(rows, rule):
    """S = S1 + S2 for any proper rule, S1 <= 0, and S1 = 0 once q is replaced by p."""
    y, q = np.array([r[0] for r in rows]), np.array([r[1] for r in rows]) / 20
    sketch = sketch_rows(y, q)
    parts = rule_parts(sketch, np.arange(len(sketch.size)), rule)
    direct = np.mean(np.where(y == 1, rule.g1(q), rule.g2(q)))
    if np.isinf(direct):
        assert parts.score is None
    else:
        assert parts.score == pytest.approx(direct, abs=1e-12)
        assert parts.calibration <= 1e-12
        assert parts.within_bins == pytest.approx(0, abs=1e-12)
    p = np.array([y[q == v].mean() for v in q])
    s2 = np.array(
        [(a * rule.g1(np.array([a]))[0] if a else 0) + ((1 - a) * rule.g2(np.array([a]))[0] if a < 1 else 0) for a in p]
    )
    assert parts.refinement == pytest.approx(s2.mean(), abs=1e-12)


def test_brier_rule_is_the_calibration_mse():
    sketch = sketch_rows(np.array(Y), np.array(Q))
    parts = rule_parts(sketch, np.arange(6), RULES["brier"])
    assert -parts.calibration == pytest.approx(np.mean((np.array(Y) - Q) ** 2))
    with pytest.raises(ValueError, match="brier, log, spherical"):
        howsure.score_decomposition(Y, Q, "brrier")


@given(grid, st.sampled_from([1, 3, "isotonic", None]), st.sampled_from(["brier", "log", "spherical"]))
def test_a_score_is_its_parts_over_any_bins(rows, bins, name):
    """S = S1 + S2 + what several values of q in a bin add; S1 <= 0."""
    y, q = np.array([r[0] for r in rows]), np.array([r[1] for r in rows]) / 20 * 0.98 + 0.01
    made = howsure.score_decomposition(y, q, name, bins=bins)
    rule = RULES[name]
    assert made.score == pytest.approx(np.mean(np.where(y == 1, rule.g1(q), rule.g2(q))), abs=1e-12)
    assert made.calibration + made.refinement + made.within_bins == pytest.approx(made.score, abs=1e-12)
    assert made.calibration <= 1e-12


def test_scores_that_are_not_proper_are_refused():
    thesis = (lambda x: (x - 1) ** 2, lambda x: x**2)  # as printed: smallest at x = p
    with pytest.raises(ValueError, match="smallest there: give rewards"):
        howsure.score_decomposition(Y, Q, thesis)
    with pytest.raises(ValueError, match="not strictly proper"):
        howsure.score_decomposition(Y, Q, (lambda x: x, lambda x: -x))
    with pytest.raises(ValueError, match="pair of functions"):
        howsure.score_decomposition(Y, Q, (1, 2))
    asymmetric = scoring_rule((lambda x: 3 * x**2 - 2 * x**3, lambda x: -2 * x**3))  # ∫ of weight 6x
    assert asymmetric.name == "custom"


def test_an_impossible_label_makes_the_log_score_infinite():
    made = howsure.score_decomposition([1, 0, 1], [0.0, 0.2, 0.6], "log", bins="values")
    assert (made.score, made.calibration, made.within_bins) == (None, None, None)
    assert np.isfinite(made.refinement)
    assert "minus infinity" in made.verdict


@pytest.mark.parametrize("q", [0.0, 5e-324, 1e-300, np.nextafter(1, 0), 1.0])
@pytest.mark.parametrize("y", [0, 1])
def test_everything_stays_finite_at_the_ends(q, y):
    c = howsure.check([y, 0, 1, 1, 0], [q, 0.3, 0.7, q, q])
    impossible = [y, 1, 0].count(1) if q == 0.0 else [y, 1, 0].count(0) if q == 1.0 else 0

    def finite(value):
        if isinstance(value, dict):
            return all(finite(v) for v in value.values())
        if isinstance(value, list):
            return all(finite(v) for v in value)
        return not isinstance(value, float) or np.isfinite(value)

    made = c.to_dict()
    assert finite(made)
    assert (made["log_loss"]["value"] is None) == bool(impossible)
    assert made["log_loss"].get("infinite_rows", 0) == impossible
    assert made["brier"]["value"] == pytest.approx(np.mean((np.array([y, 0, 1, 1, 0]) - [q, 0.3, 0.7, q, q]) ** 2))


def test_isotonic_survives_scores_one_ulp_apart():
    top = np.nextafter(1, 0)
    q = [top, np.nextafter(top, 0), top, 0.2, 0.2]
    c = howsure.check([1, 0, 1, 0, 1], q)
    assert np.isfinite(c.log_loss.miscalibration)
    assert np.isfinite(c.brier.discrimination)
