"""The result of `howsure.check_continuous`: one frozen object with every number, its words, and its pictures."""

from dataclasses import dataclass, field
from typing import Any

from howsure._result import Columns, Record, Result, drawn_by, shown_as
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.estimation.perfection import PerfectionTest, p_words
from howsure.calibration.forecasts.uniformity import EcdfDifference
from howsure.kernels.cells import Floats, Ints


@dataclass(frozen=True, slots=True)
class PitHistogram(Columns):
    """Rows by PIT. `density` is 1 where there are as many as there should be; a calibrated one stays in low to high."""

    n: Ints
    from_pit: Floats
    to_pit: Floats
    density: Floats
    low: Floats
    high: Floats

    def __repr__(self) -> str:
        return f"PitHistogram({len(self)} bins, n={int(self.n.sum()):,})"


@dataclass(frozen=True, slots=True)
class Coverage(Record):
    """How many outcomes a central interval held, with the Clopper-Pearson interval of that share."""

    SHOWN = "nominal *observed"
    __repr__ = shown_as("{nominal:.4g}: {observed!r}")

    nominal: float
    observed: Estimate


@dataclass(frozen=True, slots=True)
class ContinuousCalibration(Result):
    """How calibrated predictive distributions are. Made by `howsure.check_continuous`."""

    SHOWN = """verdict n kind detail confidence_level shift spread mean_pit variance_pit crps coverage tests
        histogram ecdf_difference=ecdf pointwise_level=ecdf.pointwise_level notes"""
    __repr__ = shown_as("shift={shift!r}, spread={spread!r}, p={p_value:.3g}, n={n:,}")

    n: int
    kind: str  # "draws", "quantiles" or "distribution"
    detail: int | None  # the number of draws or levels
    shift: Estimate  # how far y lies above the forecasts, in their standard deviations
    spread: Estimate  # how widely y is spread, as a multiple of what the forecasts say: above 1 they are too narrow
    mean_pit: float
    variance_pit: float
    histogram: PitHistogram
    ecdf: EcdfDifference
    coverage: tuple[Coverage, ...]
    tests: tuple[PerfectionTest, ...]
    crps: Estimate | None
    crps_method: str | None
    confidence_level: float = 0.95
    notes: tuple[str, ...] = ()
    source: str = field(default="", compare=False)

    @property
    def p_value(self) -> float:
        """Of the combined test of uniform PIT."""
        return self.tests[0].p_value

    @property
    def is_calibrated(self) -> bool:
        """Whether no miscalibration was found at the confidence level."""
        return self.p_value > 1.0 - self.confidence_level

    @property
    def direction(self) -> str | None:
        """ "too low" (y tends to be above the forecasts) or "too high", when both the test and the interval say so."""
        of_mean = next(t.p_value for t in self.tests if t.name == "mean of PIT")
        if self.is_calibrated or of_mean > 1.0 - self.confidence_level:
            return None
        if self.shift.low is None:  # so far off that no interval holds it
            return "too low" if self.shift.value > 0.0 else "too high"
        return self.shift.side(0.0, "too high", "too low")

    @property
    def width(self) -> str | None:
        """ "overconfident" (too narrow) or "underconfident" (too wide), when the interval of the spread leaves out 1."""
        return None if self.is_calibrated else self.spread.side(1.0, "underconfident", "overconfident")

    @property
    def score_name(self) -> str:
        """What `crps` is: quantiles give the pinball loss, which becomes the CRPS as the levels fill [0, 1]."""
        return "2 × pinball loss" if self.kind == "quantiles" else "mean CRPS"

    @property
    def verdict(self) -> str:
        """One to four sentences: calibrated or not, the shape, its size, what it does to the intervals."""
        if self.n < 3:
            return f"Too little to judge: {self.n:,} row{'s' * (self.n != 1)}."
        shift, spread, p = self.shift, self.spread, p_words(self.p_value)
        if self.is_calibrated:
            limits = ""
            if spread.low is not None and spread.high is not None:
                between = f"{spread.low:.2f} and {spread.high:.2f}"
                limits = f"; outcomes are spread between {between} times as widely as forecast"
            return f"No miscalibration found in {self.n:,} forecasts (p {p}){limits}."
        said = [f"Not calibrated: PIT values are not uniform, p {p}."]
        if self.width is not None:
            wrong, only = ("narrow", "") if self.width == "overconfident" else ("wide", "only ")
            said.append(
                f"The forecasts are too {wrong} ({self.width}): outcomes are spread {only}{spread.value:.2f} times as "
                f"widely{_limits(self, spread)}{_shape(self)}."
            )
        if self.direction is not None:
            where = "above" if self.direction == "too low" else "below"
            said.append(
                f"{'They' if self.width else 'The forecasts'} are {self.direction}: y tends to be {where} them, by "
                f"{abs(shift.value):.2f} of their standard deviations{_limits(self, shift, absolute=True)}."
            )
        if self.width is None and self.direction is None:
            said.append("It is neither a shift nor a wrong width; see where the curve leaves its band.")
        elif self.width is not None and self.coverage:
            worst = max(self.coverage, key=lambda k: abs(k.observed.value - k.nominal))
            said.append(
                f"Central {worst.nominal * 100:.3g}% intervals hold {worst.observed.value * 100:.3g}% of the outcomes."
            )
        return " ".join(said)

    def to_dict(self) -> dict[str, Any]:
        made = Result.to_dict(self)
        made["shift"]["direction"], made["spread"]["width"] = self.direction, self.width
        if self.crps is not None:
            made["crps"]["method"] = self.crps_method
        return made

    def table(self) -> list[dict[str, Any]]:
        """Central intervals: what they should hold, and what they do."""
        return [{"nominal": c.nominal, "observed": c.observed} for c in self.coverage]

    def headline(self) -> dict[str, str]:
        """Rows, shift, spread, the test's p-value and the score."""
        made = {
            "rows": f"{self.n:,}",
            "shift": repr(self.shift),
            "spread": repr(self.spread),
            "p": f"{self.p_value:.3g}",
        }
        return made | ({} if self.crps is None else {self.score_name: repr(self.crps)})

    plot = drawn_by("howsure.plots.curves.draw_pit", Result.plot)
    figure = drawn_by("howsure.plots.curves.pit_figure")
    to_text = drawn_by("howsure.report.text.calibration.continuous_text")
    to_html = drawn_by("howsure.report.pages.continuous_page")


def _shape(c: ContinuousCalibration) -> str:
    """What the histogram looks like, when both its ends agree."""
    ends = (c.histogram.density[0], c.histogram.density[-1])
    if min(ends) > 1.0:
        return ", and the histogram is U-shaped"
    return ", and the histogram is a hump" if max(ends) < 1.0 else ""


def _limits(c: ContinuousCalibration, e: Estimate, absolute: bool = False) -> str:
    if e.low is None or e.high is None:
        return ""
    low, high = sorted((abs(e.low), abs(e.high))) if absolute else (e.low, e.high)
    return f" ({c.confidence_level:.0%} interval {low:.2f} to {high:.2f})"
