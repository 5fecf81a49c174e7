"""What a score is made of: calibration and refinement, or miscalibration, discrimination and uncertainty.

Two views of one mean score over N rows:

- *By bins* (Murphy & Winkler; Eq. 1 of the paper; Theorem 3.4 of the thesis): S = calibration + refinement, where
  calibration is what is lost by saying the bin's mean q instead of its frequency p.
- *By isotonic regression* (CORP; Dimitriadis, Gneiting & Jordan 2021): S = miscalibration - discrimination +
  uncertainty, with p from the monotone fit of y on q, so that no bins have to be chosen.

Scores are losses here (lower is better); `ScoringRule` holds the thesis's (g1, g2), which are to be maximised.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure import _validate
from howsure._result import Record, Result, finite
from howsure.calibration.curves.bins import Bins, best_bin_size, equal_mass_starts, isotonic_starts
from howsure.calibration.sketch import Sketch, sketch_rows
from howsure.errors import InputError
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints, sum_of

Function = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class ScoreParts(Record):
    """A mean score and its two decompositions. None stands for infinity."""

    SHOWN = "value calibration refinement miscalibration discrimination uncertainty within_bins infinite_rows?"

    value: float | None
    calibration: float | None
    refinement: float | None
    miscalibration: float | None
    discrimination: float
    uncertainty: float
    within_bins: bool  # some bin holds several values of q: refinement is value - calibration
    infinite_rows: int = 0

    def __repr__(self) -> str:
        shown = "infinite" if self.value is None else f"{self.value:.6g}"
        return f"ScoreParts({shown}, miscalibration={self.miscalibration}, discrimination={self.discrimination:.6g})"


@dataclass(frozen=True, slots=True)
class ScoringRule:
    """A strictly proper rule: reward g1(x) when y = 1 and g2(x) when y = 0, for saying x."""

    name: str
    g1: Function
    g2: Function


BRIER = ScoringRule("brier", lambda x: -((1.0 - x) ** 2), lambda x: -(x**2))
LOG = ScoringRule("log", lambda x: np.log(x), lambda x: np.log1p(-x))
SPHERICAL = ScoringRule("spherical", lambda x: x / np.hypot(x, 1.0 - x), lambda x: (1.0 - x) / np.hypot(x, 1.0 - x))
RULES = {rule.name: rule for rule in (BRIER, LOG, SPHERICAL)}


def brier_parts(sketch: Sketch, bins: Bins, blocks: Ints) -> ScoreParts:
    """The Brier score, mean (y - q)²; `blocks` are the first cells of the isotonic fit's."""
    value = sum_of(sketch.sum_ee) / sketch.n
    calibration = sum_of(bins.n * (bins.mean_prob - bins.mean_true) ** 2) / sketch.n
    return _parts(sketch, bins, blocks, value, calibration, lambda p: p * (1.0 - p), 0)


def log_loss_parts(sketch: Sketch, bins: Bins, blocks: Ints) -> ScoreParts:
    """The log loss, mean -log P(label), in nats."""
    total, infinite = sketch.log_loss
    value = None if infinite else total / sketch.n
    divergence = sum_of(bins.n * _divergence(bins.mean_true, bins.mean_prob)) / sketch.n
    calibration = None if infinite or not np.isfinite(divergence) else divergence  # a bin's mean q may round to 0 or 1
    return _parts(sketch, bins, blocks, value, calibration, entropy, infinite)


def _parts(
    sketch: Sketch,
    bins: Bins,
    blocks: Ints,
    value: float | None,
    calibration: float | None,
    impurity: Function,
    infinite: int,
) -> ScoreParts:
    n = np.add.reduceat(sketch.size, blocks)
    p = np.add.reduceat(sketch.counts[:, 1], blocks) / n
    recalibrated = sum_of(n * impurity(p)) / sketch.n
    uncertainty = float(impurity(np.array([sketch.n_positive / sketch.n]))[0])
    return ScoreParts(
        value,
        calibration,
        None if value is None or calibration is None else value - calibration,
        None if value is None else value - recalibrated,
        uncertainty - recalibrated,
        uncertainty,
        bool(np.any(bins.from_prob != bins.to_prob)),
        infinite,
    )


def entropy(p: Floats) -> Floats:
    """Entropy of a coin, in nats."""
    return special.entr(p) + special.entr(1.0 - p)


def _divergence(p: Floats, q: Floats) -> Floats:
    """Kullback-Leibler divergence of coin q from coin p."""
    return special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q)


@dataclass(frozen=True, slots=True)
class ScoreDecomposition(Result):
    """S = S1 + S2 of Theorem 3.4, rewards to be maximised: S1 <= 0 is calibration, S2 refinement.

    None stands for minus infinity. Where a bin holds several values of q, S differs from S1 + S2 by `within_bins`.
    """

    rule: str
    score: float | None
    calibration: float | None
    refinement: float
    within_bins: float | None
    n: int
    n_bins: int

    def __repr__(self) -> str:
        score, calibration = ("-inf" if v is None else f"{v:.6g}" for v in (self.score, self.calibration))
        return f"ScoreDecomposition({self.rule}: {score} = {calibration} + {self.refinement:.6g}, n={self.n:,})"

    @property
    def verdict(self) -> str:
        """The score and its parts."""
        if self.score is None or self.calibration is None or self.within_bins is None:
            return f"Mean {self.rule} score: minus infinity, from a label that q had ruled out."
        rest = "" if abs(self.within_bins) < 1e-12 else f" {self.within_bins:+.6f} within bins"
        return (
            f"Mean {self.rule} score {self.score:.6f} = {self.calibration:.6f} calibration "
            f"{self.refinement:+.6f} refinement{rest}."
        )


def score_decomposition(
    y_true: Any,
    y_prob: Any,
    score: str | ScoringRule | tuple[Function, Function] = "brier",
    *,
    bins: int | str | None = None,
) -> ScoreDecomposition:
    """The mean of any strictly proper score, split into calibration and refinement (Theorem 3.4 of the thesis).

    A forecast x is rewarded with g1(x) when y = 1 and g2(x) when y = 0. With p the frequency in a bin, q its mean
    forecast and w its share of the rows,

        S1 = Σ w [p (g1(q) - g1(p)) + (1 - p) (g2(q) - g2(p))],    S2 = Σ w [p g1(p) + (1 - p) g2(p)].

    Parameters
    ----------
    y_true : array of 0 and 1, shape (n,)
        Whether each prediction came true.
    y_prob : array of probabilities, shape (n,)
        The probability given to 1.
    score : str, a pair (g1, g2) of functions of an array, or ScoringRule
        "brier", "log" and "spherical" are there by name. Any pair is checked: p g1(x) + (1 - p) g2(x) must have its
        only maximum at x = p.
    bins : int, "isotonic", "values" or None
        Bins of this number of rows, the blocks of the isotonic fit, or one for each value of q; by default of the size of
        least leave-one-out risk.

    Returns
    -------
    ScoreDecomposition
        `score`, `calibration` (S1), `refinement` (S2) and what several values of q in a bin add to their sum.

    Notes
    -----
    Scores are to be maximised here, as in the thesis; the Brier score and the log loss of `howsure.check` are losses, the
    same with the sign turned. S1 counts sampling noise as miscalibration, the more the smaller the bins.

    References
    ----------
    DeGroot & Fienberg, The comparison and evaluation of forecasters, The Statistician 1983.

    Examples
    --------
    >>> import howsure
    >>> howsure.score_decomposition([0, 1, 1, 1], [0.5, 0.5, 0.8, 0.8], bins="values")
    ScoreDecomposition(brier: -0.145 = -0.02 + -0.125, n=4)
    >>> cubic = (lambda x: 6 * x**2 - 4 * x**3, lambda x: 2 - 4 * x**3)
    >>> howsure.score_decomposition([0, 1, 1, 1], [0.5, 0.5, 0.8, 0.8], cubic, bins="values").refinement
    1.625
    """
    y = _validate.one_dimensional(y_true, "y_true")
    q = _validate.one_dimensional(y_prob, "y_prob")
    _validate.same_length(y_true=y, y_prob=q)
    rule = scoring_rule(score)
    chosen = bins if bins == "values" else _validate.bins(bins)
    if isinstance(chosen, str) and chosen.startswith("width:"):
        raise InputError("a score is split over bins of rows, 'isotonic' or 'values', not of equal width.")
    sketch = sketch_rows(y, q)
    if chosen == "values":
        starts: Ints = np.arange(len(sketch.size))
    elif chosen == "isotonic":
        starts = isotonic_starts(sketch)
    else:
        size = best_bin_size(sketch) if chosen is None else int(chosen)
        starts = equal_mass_starts(sketch.ends, size)
    return rule_parts(sketch, starts, rule)


GRID = np.linspace(0.005, 0.995, 199)  # where a pair of functions is tested


def scoring_rule(score: str | ScoringRule | tuple[Function, Function]) -> ScoringRule:
    """A rule by name, or of a pair of functions, which must be strictly proper: largest at x = p for every p."""
    if isinstance(score, str):
        if score not in RULES:
            raise InputError(f"unknown scoring rule {score!r}; there are: {', '.join(RULES)}.")
        return RULES[score]
    if not isinstance(score, ScoringRule):
        if len(score) != 2 or not all(map(callable, score)):
            raise InputError("`score` must be a name or a pair of functions (g1, g2).")
        score = ScoringRule("custom", *score)
    with np.errstate(all="ignore"):
        g1, g2 = (np.broadcast_to(np.asarray(g(GRID), np.float64), GRID.shape) for g in (score.g1, score.g2))
    if not (np.isfinite(g1).all() and np.isfinite(g2).all()):
        raise InputError("`score`: g1 and g2 must be finite between 0 and 1.")
    expected = GRID[:, None] * g1 + (1.0 - GRID[:, None]) * g2  # of p (down) for x (across)
    at = np.arange(len(GRID))
    own = expected[at, at][:, None]
    others = ~np.eye(len(GRID), dtype=bool)
    if not (own > expected)[others].all():
        turned = (own < expected)[others].all()
        hint = " It is smallest there: give rewards, -g1 and -g2." if turned else ""
        raise InputError(
            f"`score` is not strictly proper: p g1(x) + (1 - p) g2(x) must be largest at x = p only.{hint}"
        )
    return score


def rule_parts(sketch: Sketch, starts: Ints, rule: ScoringRule) -> ScoreDecomposition:
    """The split over the bins that begin at cells `starts`."""
    n = np.add.reduceat(sketch.size, starts).astype(np.float64)
    p = np.add.reduceat(sketch.counts[:, 1], starts) / n
    q = np.where(
        np.diff(np.append(starts, len(sketch.size))) == 1,
        sketch.mean_q[starts],
        np.add.reduceat(sketch.sum_q, starts) / n,
    )
    one, zero = sketch.sides[1], sketch.sides[0]
    q_one, q_zero = (np.where(sketch.upper, 1.0 - side.mean, side.mean) for side in (one, zero))
    score = (_dot(one.n, rule.g1, q_one) + _dot(zero.n, rule.g2, q_zero)) / sketch.n
    refinement = (_dot(n * p, rule.g1, p) + _dot(n * (1.0 - p), rule.g2, p)) / sketch.n
    calibration = (_dot(n * p, rule.g1, q) + _dot(n * (1.0 - p), rule.g2, q)) / sketch.n - refinement
    infinite = not np.isfinite(score)
    rest = None if infinite or not np.isfinite(calibration) else score - calibration - refinement
    return ScoreDecomposition(rule.name, finite(score), finite(calibration), refinement, rest, sketch.n, len(starts))


def _dot(weight: Floats | Ints, g: Function, x: Floats) -> float:
    """Σ weight g(x), taking 0 g(x) as 0 even where g is infinite."""
    used = weight > 0
    with np.errstate(divide="ignore"):
        return sum_of(weight[used] * g(x[used]))
