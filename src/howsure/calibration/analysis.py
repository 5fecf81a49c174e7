"""From a sketch to a `Calibration`: every number, computed once."""

from __future__ import annotations

import numpy as np

from howsure.calibration import bias, bins as _bins
from howsure.calibration.bins import Bins
from howsure.calibration.consistency import consistency_band
from howsure.calibration.decompositions import brier_parts, log_loss_parts
from howsure.calibration.discrimination import area_under_curve, label_distribution
from howsure.calibration.estimate import MOST_BINS, default_bins, estimation_bins
from howsure.calibration.intervals import (
    Estimate,
    brier_interval,
    expected_error_interval,
    mean_gap_interval,
    normal_quantile,
    squared_error_interval,
)
from howsure.calibration.perfection import perfection_tests
from howsure.calibration.result import Bias, Calibration
from howsure.calibration.sketch import Sketch


def analyse(
    sketch: Sketch,
    *,
    bins: int | str | None = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | None = None,
    source: str = "",
) -> Calibration:
    """Analyse a sketch of at least one row. Without `rng` no consistency band is simulated."""
    n, level = sketch.n, confidence_level
    drawn = _bins.drawn_bins(sketch, bins, level)
    squared = error = ece = None
    tests = ()
    if n >= 2:
        squared = squared_error_interval(default_bins(sketch), level)
        error = squared.sqrt()
        few = estimation_bins(sketch, min(max(10, round(n ** (1 / 3))), MOST_BINS))
        assert error.high is not None
        ece = expected_error_interval(few, error.high, level)
        tests = perfection_tests(sketch)
    band = None
    if rng is not None:
        band = consistency_band(sketch, drawn, _starts(sketch, drawn, bins), level, rng)
    return Calibration(
        n=n,
        base_rate=sketch.n_positive / n,
        bins=drawn,
        error=error,
        error_squared=squared,
        ece=ece,
        max_error=float(np.abs(drawn.gap).max()),
        bias=Bias(
            mean_gap_interval(sketch, level), _slope(sketch, level), bias.regions(drawn, level)
        ),
        brier=brier_parts(sketch, drawn),
        brier_interval=brier_interval(sketch, level),
        log_loss=log_loss_parts(sketch, drawn),
        auc=area_under_curve(sketch),
        positives=label_distribution(sketch, 1),
        negatives=label_distribution(sketch, 0),
        tests=tests,
        band=band,
        confidence_level=level,
        notes=_notes(sketch, drawn, bins),
        source=source,
    )


def _slope(sketch: Sketch, level: float) -> Estimate | None:
    found = bias.calibration_slope(sketch)
    if found is None:
        return None
    slope, se = found
    half = normal_quantile(0.5 + level / 2) * se
    return Estimate(slope, slope - half, slope + half)


def _starts(sketch: Sketch, drawn: Bins, bins: int | str | None) -> np.ndarray | None:
    """First cell of each drawn bin, where the bins are unions of cells."""
    if isinstance(bins, str) and bins.startswith("width:") and not sketch.exact:
        return None
    return np.searchsorted(sketch.mean_q, drawn.from_prob, side="left")


def _notes(sketch: Sketch, drawn: Bins, bins: int | str | None) -> tuple[str, ...]:
    said = []
    if sketch.n < 2:
        said.append("One row: the calibration error cannot be estimated from fewer than two.")
    if sketch.n_positive in (0, sketch.n):
        said.append(
            f"All labels are {int(sketch.n_positive > 0)}: the area under the curve and the slope cannot be estimated."
        )
    if isinstance(bins, int) and bins > sketch.n:
        said.append(f"There are fewer rows ({sketch.n:,}) than the bin size of {bins:,}: one bin holds them all.")
    infinite = sketch.log_loss[1]
    if infinite:
        said.append(
            f"The log loss is infinite: {infinite:,} row{'s' * (infinite > 1)} had the label that q called impossible."
        )
    if not sketch.exact:
        said.append(
            "More than 100,000 distinct probabilities: bins end at the sketch's cells, of relative width 1/512."
        )
    return tuple(said)
