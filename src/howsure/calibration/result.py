"""The result of `howsure.check`: one frozen object with every number, its words, and its pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from howsure.calibration.curves.bins import Bins
from howsure.calibration.curves.smooth import Curve
from howsure.calibration.estimation.bias import Region
from howsure.calibration.estimation.decompositions import ScoreParts
from howsure.calibration.estimation.discrimination import LabelDistribution
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.estimation.perfection import PerfectionTest
from howsure.kernels.cells import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Bias:
    """The direction of the error. `gap` is mean q less the base rate; `slope` below 1 means q is too extreme."""

    gap: Estimate
    slope: Estimate | None
    regions: tuple[Region, ...]

    def __repr__(self) -> str:
        return f"Bias({self.gap!r}, slope={self.slope!r})"

    @property
    def direction(self) -> str | None:
        """ "too high" or "too low" on average, when the interval of the gap leaves out 0."""
        return _side(self.gap, 0.0, "too low", "too high")

    @property
    def extremity(self) -> str | None:
        """ "overconfident" (too extreme) or "underconfident", when the interval of the slope leaves out 1."""
        return None if self.slope is None else _side(self.slope, 1.0, "overconfident", "underconfident")

    def to_dict(self) -> dict[str, Any]:
        """The gap's value and limits, and the rest by name."""
        return {
            **self.gap.to_dict(),
            "direction": self.direction,
            "slope": None if self.slope is None else self.slope.to_dict(),
            "extremity": self.extremity,
            "regions": [r.to_dict() for r in self.regions],
        }


def _side(estimate: Estimate, reference: float, below: str, above: str) -> str | None:
    if estimate.high is not None and estimate.high < reference:
        return below
    if estimate.low is not None and estimate.low > reference:
        return above
    return None


@dataclass(frozen=True, slots=True)
class Slice:
    """One value of the `by` column: its own calibration, and the p-value adjusted for the number of slices."""

    name: str
    calibration: Calibration
    adjusted_p_value: float | None

    def __repr__(self) -> str:
        return f"Slice({self.name!r}, {self.calibration!r})"

    def to_dict(self) -> dict[str, Any]:
        """What the slice table shows."""
        c = self.calibration
        return {
            "slice": self.name,
            "n": c.n,
            "base_rate": c.base_rate,
            "error": None if c.error is None else c.error.to_dict(),
            "bias": c.bias.to_dict(),
            "brier": c.brier.value,
            "p_value": c.p_value,
            "adjusted_p_value": self.adjusted_p_value,
        }


def worst_first(slices: Iterable[Slice]) -> tuple[Slice, ...]:
    """By the lower limit of the error, so that a slice is not blamed for being small; then the error, then the name."""

    return tuple(sorted(slices, key=lambda s: badness(s.name, s.calibration)))


def badness(name: str, c: Calibration) -> tuple[float, float, str]:
    """What `worst_first` orders by."""
    e = c.error
    return (0.0, 0.0, name) if e is None else (-(e.low or 0.0), -e.value, name)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How calibrated a model's probabilities are. Made by `howsure.check`."""

    n: int
    base_rate: float
    bins: Bins
    error: Estimate | None  # RMS; None when fewer than two rows
    error_squared: Estimate | None
    ece: Estimate | None
    max_error: float
    bias: Bias
    brier: ScoreParts
    brier_interval: Estimate
    log_loss: ScoreParts
    auc: float | None
    positives: LabelDistribution
    negatives: LabelDistribution
    tests: tuple[PerfectionTest, ...]
    band: tuple[Floats, Floats] | None = None
    confidence_level: float = 0.95
    curve: Curve | None = None
    n_groups: int | None = None
    by: str | None = None
    slices: Sequence[Slice] = ()  # a tuple unless there are very many
    notes: tuple[str, ...] = ()
    source: str = field(default="", compare=False)

    def __repr__(self) -> str:
        error = "error not estimated" if self.error is None else f"error={self.error!r}"
        p = "" if self.p_value is None else f", p={self.p_value:.3g}"
        return f"Calibration({error}{p}, n={self.n:,})"

    @property
    def p_value(self) -> float | None:
        """Of the combined test of perfect calibration."""
        return self.tests[0].p_value if self.tests else None

    @property
    def verdict(self) -> str:
        """The answer in words."""
        from howsure.calibration.verdict import verdict

        return verdict(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints and the report shows."""
        made: dict[str, Any] = {
            "verdict": self.verdict,
            "n": self.n,
            "base_rate": self.base_rate,
            "confidence_level": self.confidence_level,
            "error": _dict(self.error),
            "error_squared": _dict(self.error_squared),
            "ece": _dict(self.ece),
            "max_error": self.max_error,
            "bias": self.bias.to_dict(),
            "brier": {
                **self.brier.to_dict(),
                "low": self.brier_interval.low,
                "high": self.brier_interval.high,
            },
            "log_loss": self.log_loss.to_dict(),
            "auc": self.auc,
            "tests": [t.to_dict() for t in self.tests],
            "bins_rule": self.bins.rule,
            "bins": self.bins.to_dict(),
            "positives": self.positives.to_dict(),
            "negatives": self.negatives.to_dict(),
        }
        if self.band is not None:
            for record, low, high in zip(made["bins"], *(side.tolist() for side in self.band), strict=True):
                record["band_low"], record["band_high"] = low, high
        if self.curve is not None:
            made["curve"] = self.curve.to_dict()
        if self.n_groups is not None:
            made["n_groups"] = self.n_groups
        if self.by is not None:
            made["by"] = self.by
            made["slices"] = [s.to_dict() for s in self.slices]
        made["notes"] = list(self.notes)
        return made

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the calibration curve on Matplotlib axes and return them."""
        from howsure.plots.matplotlib_curve import draw

        return draw(self, ax)

    def _repr_html_(self) -> str:
        from howsure.report.notebook import notebook_html

        return notebook_html(self)


def _dict(estimate: Estimate | None) -> dict[str, float | None]:
    return {"value": None, "low": None, "high": None} if estimate is None else estimate.to_dict()
