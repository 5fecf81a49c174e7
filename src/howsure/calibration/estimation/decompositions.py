"""What a score is made of: calibration and refinement, or miscalibration, discrimination and uncertainty.

Two views of one mean score over N rows:

- *By bins* (Murphy & Winkler; Eq. 1 of the paper; Theorem 3.4 of the thesis): S = calibration + refinement, where
  calibration is what is lost by saying the bin's mean q instead of its frequency p.
- *By isotonic regression* (CORP; Dimitriadis, Gneiting & Jordan 2021): S = miscalibration - discrimination +
  uncertainty, with p from the monotone fit of y on q, so that no bins have to be chosen.

Scores are losses here (lower is better); `ScoringRule` holds the thesis's (g1, g2), which are to be maximised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from howsure._result import Record
from howsure.calibration.curves.bins import Bins
from howsure.calibration.sketch import Sketch
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints


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
    g1: Callable[[Floats], Floats]
    g2: Callable[[Floats], Floats]


BRIER = ScoringRule("brier", lambda x: -((1.0 - x) ** 2), lambda x: -(x**2))
LOG = ScoringRule("log", lambda x: np.log(x), lambda x: np.log1p(-x))
SPHERICAL = ScoringRule("spherical", lambda x: x / np.hypot(x, 1.0 - x), lambda x: (1.0 - x) / np.hypot(x, 1.0 - x))
RULES = {rule.name: rule for rule in (BRIER, LOG, SPHERICAL)}


def brier_parts(sketch: Sketch, bins: Bins, blocks: Ints) -> ScoreParts:
    """The Brier score, mean (y - q)²; `blocks` are the first cells of the isotonic fit's."""
    value = float(np.sum(sketch.sum_ee)) / sketch.n
    calibration = float(np.sum(bins.n * (bins.mean_prob - bins.mean_true) ** 2)) / sketch.n
    return _parts(sketch, bins, blocks, value, calibration, lambda p: p * (1.0 - p), 0)


def log_loss_parts(sketch: Sketch, bins: Bins, blocks: Ints) -> ScoreParts:
    """The log loss, mean -log P(label), in nats."""
    total, infinite = sketch.log_loss
    value = None if infinite else total / sketch.n
    divergence = float(np.sum(bins.n * _divergence(bins.mean_true, bins.mean_prob))) / sketch.n
    calibration = None if infinite or not np.isfinite(divergence) else divergence  # a bin's mean q may round to 0 or 1
    return _parts(sketch, bins, blocks, value, calibration, entropy, infinite)


def _parts(
    sketch: Sketch,
    bins: Bins,
    blocks: Ints,
    value: float | None,
    calibration: float | None,
    impurity: Callable[[Floats], Floats],
    infinite: int,
) -> ScoreParts:
    n = np.add.reduceat(sketch.size, blocks)
    p = np.add.reduceat(sketch.counts[:, 1], blocks) / n
    recalibrated = float(np.sum(n * impurity(p))) / sketch.n
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
    from scipy.special import entr

    total: Floats = entr(p) + entr(1.0 - p)
    return total


def _divergence(p: Floats, q: Floats) -> Floats:
    """Kullback-Leibler divergence of coin q from coin p."""
    from scipy.special import rel_entr

    total: Floats = rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)
    return total


@dataclass(frozen=True, slots=True)
class RuleParts(Record):
    """S = S1 + S2 of the thesis (Eq. 3.3), to be maximised: S1 <= 0 is calibration, S2 refinement."""

    rule: str
    score: float
    calibration: float
    refinement: float
    within_bins: bool
    n: int

    def __repr__(self) -> str:
        return (
            f"RuleParts({self.rule}: S={self.score:.6g} = {self.calibration:.6g} + {self.refinement:.6g}, n={self.n:,})"
        )


def rule_parts(sketch: Sketch, starts: Ints, rule: ScoringRule | str) -> RuleParts:
    """Decompose the mean reward of any strictly proper rule over the bins that begin at cells `starts`.

    S1 = Σ w [p (g1(q) - g1(p)) + (1-p) (g2(q) - g2(p))]. S2 is S - S1, which equals Σ w [p g1(p) + (1-p) g2(p)]
    when each bin holds one value of q.
    """
    if isinstance(rule, str):
        if rule not in RULES:
            raise InputError(f"unknown scoring rule {rule!r}; there are: {', '.join(RULES)}.")
        rule = RULES[rule]
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
    moved = _dot(n * p, rule.g1, q) - _dot(n * p, rule.g1, p)
    moved += _dot(n * (1.0 - p), rule.g2, q) - _dot(n * (1.0 - p), rule.g2, p)
    calibration = moved / sketch.n
    within = len(starts) < len(sketch.size) or not sketch.exact
    return RuleParts(rule.name, score, calibration, score - calibration, within, sketch.n)


def _dot(weight: Floats | Ints, g: Callable[[Floats], Floats], x: Floats) -> float:
    """Σ weight g(x), taking 0 g(x) as 0 even where g is infinite."""
    used = weight > 0
    with np.errstate(divide="ignore"):
        return float(np.sum(weight[used] * g(x[used])))
