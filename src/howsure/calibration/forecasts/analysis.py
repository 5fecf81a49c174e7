"""From a sketch of PIT values to the result: every number of `howsure.check_continuous` is put together here."""

from math import sqrt

import numpy as np

from howsure.calibration.curves.bins import clopper_pearson
from howsure.calibration.estimation.intervals import Estimate, normal_quantile
from howsure.calibration.estimation.perfection import combined
from howsure.calibration.forecasts.pit import CELLS, PitSketch
from howsure.calibration.forecasts.result import ContinuousCalibration, Coverage, PitHistogram
from howsure.calibration.forecasts.shift_spread import shift_and_spread
from howsure.calibration.forecasts.uniformity import (
    band_test,
    binomial_limits,
    ecdf_difference,
    filled,
    kolmogorov_smirnov,
    moment_tests,
)
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.pit import as_float

BARS, MOST_BARS = 20, 25
POINTS = 100
NOMINAL = (0.5, 0.8, 0.9, 0.95)
CRPS_METHODS = {
    "draws": "fair estimate from the draws",
    "quantiles": "mean over rows and levels of twice the pinball loss",
}


def analyse_pit(
    sketch: PitSketch,
    kind: str,
    *,
    confidence_level: float,
    rng: np.random.Generator,
    source: str = "",
    notes: tuple[str, ...] = (),
) -> ContinuousCalibration:
    """All numbers of one sketch; `rng` places each row in its span."""
    cells = sketch.placed(rng)
    n, known = sketch.n, sketch.edges[sketch.known]
    points = _points(known, POINTS, POINTS)[1:-1]
    band, mean, variance = band_test(cells, points), *moment_tests(cells)
    shift, spread = shift_and_spread(cells, points, len(known) - 2 if kind == "draws" else None, confidence_level)
    coverage, said = _coverage(cells, known, kind, confidence_level)
    rows, pit = filled(cells)
    mean_pit = float(np.average(pit, weights=rows))
    return ContinuousCalibration(
        n=n,
        kind=kind,
        detail=len(known) - 2 if len(known) else None,
        shift=shift,
        spread=spread,
        mean_pit=mean_pit,
        variance_pit=float(np.average((pit - mean_pit) ** 2, weights=rows)),
        histogram=_histogram(cells, _points(known, BARS, MOST_BARS), confidence_level),
        ecdf=ecdf_difference(cells, points, confidence_level),
        coverage=coverage,
        tests=(combined((band, mean, variance)), band, mean, variance, kolmogorov_smirnov(cells)),
        crps=_mean_score(sketch, confidence_level) if kind in CRPS_METHODS else None,
        crps_method=CRPS_METHODS.get(kind),
        confidence_level=confidence_level,
        notes=(*notes, *said),
        source=source,
    )


def _points(known: Floats, wanted: int, most: int) -> Ints:
    """Edges in cells, from 0 to the last: all where the ECDF is known or, of more than `most`, about `wanted` of them."""
    even = np.arange(wanted + 1) / wanted
    if len(known) == 0:
        chosen = even
    elif len(known) <= most + 1:
        chosen = known
    else:
        chosen = known[np.abs(known[:, None] - even).argmin(axis=0)]
    return np.unique(np.rint(chosen * CELLS).astype(np.int64))


def _histogram(cells: Ints, edges: Ints, confidence_level: float) -> PitHistogram:
    """Rows between the edges; the range of a calibrated forecast is binomial, at level 1 - α/(number of bins)."""
    n = int(cells.sum())
    counts, width = np.add.reduceat(cells, edges[:-1]), np.diff(edges)
    low, high = binomial_limits(n, width, (1.0 - confidence_level) / len(width))
    share = width / CELLS
    return PitHistogram(
        counts, edges[:-1] / CELLS, edges[1:] / CELLS, counts / n / share, low / n / share, high / n / share
    )


def _coverage(
    cells: Ints, known: Floats, kind: str, confidence_level: float
) -> tuple[tuple[Coverage, ...], tuple[str, ...]]:
    """Central intervals, as far out as the forecast's detail reaches."""
    notes: tuple[str, ...] = ()
    nominal: list[float] = list(NOMINAL)
    if kind == "quantiles":
        tails = np.rint(known[1:-1] * CELLS)
        nominal = sorted({round(1.0 - 2.0 * t / CELLS, 9) for t in tails if t < CELLS / 2 and CELLS - t in tails})
        if not nominal:
            notes = ("No two levels are τ and 1 - τ, so no central interval can be checked.",)
    elif kind == "draws":
        nominal = [c for c in NOMINAL if (1.0 - c) / 2.0 >= known[1] - 1e-12]
        left_out = [f"{c:.0%}" for c in NOMINAL if c not in nominal]
        if left_out:
            notes = (
                f"With {len(known) - 2} draws a row nothing is known beyond the outermost: the central interval of "
                f"{', '.join(left_out)} is left out (95% needs 39 draws).",
            )
    n, below = int(cells.sum()), np.append(0, np.cumsum(cells))
    tails = np.array([round((1.0 - c) / 2.0 * CELLS) for c in nominal], np.int64)
    held = below[CELLS - tails] - below[tails]
    low, high = clopper_pearson(held, np.full(len(held), n), confidence_level)
    shares = map(Estimate, (held / n).tolist(), low.tolist(), high.tolist())
    return tuple(map(Coverage, nominal, shares)), notes


def _mean_score(sketch: PitSketch, confidence_level: float) -> Estimate:
    """The mean ± z √(variance/n)."""
    total, squares = as_float(sketch.score_units), as_float(sketch.score_square_units)
    n, mean = sketch.n, total / sketch.n
    if n < 2:
        return Estimate(mean)
    half = normal_quantile(0.5 + confidence_level / 2) * sqrt(max(squares - n * mean**2, 0.0) / (n - 1) / n)
    return Estimate(mean, mean - half, mean + half)
