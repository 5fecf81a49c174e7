"""Models scored on the same rows: who is better calibrated, who has the better score, and where."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.analysis import analyse, cluster_rows
from howsure.calibration.difference import Difference, Filed, mean_difference, squared_error_difference
from howsure.calibration.result import Calibration
from howsure.calibration.sketch import sketch_rows
from howsure.kernels.cells import Floats, Ints


@dataclass(frozen=True, slots=True)
class Pair:
    """Model `a` less model `b`: negative differences favour `a`."""

    a: str
    b: str
    error_squared: Difference
    brier: Difference
    log_loss: Difference | None  # None where some row makes a log loss infinite

    def __repr__(self) -> str:
        return f"Pair({self.a} - {self.b}: squared error {self.error_squared!r})"

    def to_dict(self) -> dict[str, Any]:
        """All differences by name."""
        return {
            "a": self.a,
            "b": self.b,
            "error_squared": self.error_squared.to_dict(),
            "brier": self.brier.to_dict(),
            "log_loss": None if self.log_loss is None else self.log_loss.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class ComparisonSlice:
    """One value of the `by` column: errors of each model, and the first pair's difference, p adjusted."""

    name: str
    n: int
    errors: tuple[float | None, ...]
    pair: Pair | None
    adjusted_p_value: float | None

    def to_dict(self) -> dict[str, Any]:
        """What the slice table shows."""
        return {
            "slice": self.name,
            "n": self.n,
            "errors": list(self.errors),
            "difference": None if self.pair is None else self.pair.to_dict(),
            "adjusted_p_value": self.adjusted_p_value,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """How models compare on the same rows. Made by `howsure.compare`."""

    models: tuple[str, ...]
    calibrations: tuple[Calibration, ...]
    pairs: tuple[Pair, ...]
    confidence_level: float = 0.95
    n_groups: int | None = None
    by: str | None = None
    slices: tuple[ComparisonSlice, ...] = ()
    source: str = ""

    def __repr__(self) -> str:
        errors = ", ".join(f"{m} {c.error!r}" for m, c in zip(self.models, self.calibrations, strict=True))
        return f"Comparison({errors}, n={self.n:,})"

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.calibrations[0].n

    @property
    def verdict(self) -> str:
        """The answer in words."""
        from howsure.calibration.comparison_verdict import verdict

        return verdict(self)

    @property
    def slice_counts(self) -> dict[str, int]:
        """On how many slices each of the first two models is better calibrated, and significantly so."""
        a, b = self.models[:2]
        alpha = 1.0 - self.confidence_level
        made = {a: 0, b: 0, f"{a} significantly": 0, f"{b} significantly": 0}
        for s in self.slices:
            if s.pair is None or s.pair.error_squared.value == 0:
                continue
            better = a if s.pair.error_squared.value < 0 else b
            made[better] += 1
            made[f"{better} significantly"] += s.adjusted_p_value is not None and s.adjusted_p_value < alpha
        return made

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints."""
        made: dict[str, Any] = {
            "verdict": self.verdict,
            "n": self.n,
            "n_groups": self.n_groups,
            "confidence_level": self.confidence_level,
            "models": {m: c.to_dict() for m, c in zip(self.models, self.calibrations, strict=True)},
            "pairs": [p.to_dict() for p in self.pairs],
        }
        if self.by is not None:
            made |= {"by": self.by, "slice_counts": self.slice_counts, "slices": [s.to_dict() for s in self.slices]}
        return made

    def _repr_html_(self) -> str:
        from howsure.report.comparison_page import comparison_snippet

        return comparison_snippet(self)


def compare_rows(
    y: NDArray[np.uint8] | dict[str, NDArray[np.uint8]],
    probs: dict[str, Floats],
    groups: Ints | None,
    confidence_level: float,
    rng: np.random.Generator | None,
) -> tuple[tuple[Calibration, ...], tuple[Pair, ...]]:
    """Each model's calibration and every pair's differences, on rows in memory; `y` is shared, or each model's own."""
    own = y if isinstance(y, dict) else dict.fromkeys(probs, y)
    sketches = {name: sketch_rows(own[name], q) for name, q in probs.items()}
    calibrations = tuple(
        analyse(
            s,
            confidence_level=confidence_level,
            rng=rng,
            clusters=cluster_rows(s, own[name], probs[name], groups, None, confidence_level),
        )
        for name, s in sketches.items()
    )
    if len(next(iter(own.values()))) < 2 or (groups is not None and groups.max() < 1):
        return calibrations, ()
    filed = {name: Filed.of(own[name], q, sketches[name]) for name, q in probs.items()}
    losses = {name: _log_loss(own[name], q) for name, q in probs.items()}
    pairs = []
    for a, b in combinations(probs, 2):
        loss_a, loss_b = losses[a], losses[b]
        pairs.append(
            Pair(
                a,
                b,
                squared_error_difference(filed[a], filed[b], groups, confidence_level),
                mean_difference(filed[a].e ** 2 - filed[b].e ** 2, groups, confidence_level),
                None
                if loss_a is None or loss_b is None
                else mean_difference(loss_a - loss_b, groups, confidence_level),
            )
        )
    return calibrations, tuple(pairs)


def _log_loss(y: NDArray[np.uint8], q: Floats) -> Floats | None:
    """-log P(label) of each row; None if it is infinite for one."""
    with np.errstate(divide="ignore"):
        loss = -np.where(y == 1, np.log(q), np.log1p(-q))
    return loss if np.isfinite(loss).all() else None
