"""From a sketch to a `Calibration`: every number, computed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.curves import bins as _bins
from howsure.calibration.curves.bins import Bins, consistency_band
from howsure.calibration.estimation import bias
from howsure.calibration.estimation.decompositions import brier_parts, log_loss_parts
from howsure.calibration.estimation.discrimination import area_under_curve, label_distribution
from howsure.calibration.estimation.estimate import Resolution, ladder
from howsure.calibration.estimation.intervals import (
    Estimate,
    at_least_bias,
    expected_error_interval,
    linear_intervals,
    squared_error_interval,
)
from howsure.calibration.estimation.perfection import PerfectionTest, perfection_tests, refuted_if
from howsure.calibration.result import Bias, Calibration
from howsure.calibration.sketch import Sketch, SketchBuilder
from howsure.kernels.cells import Floats, Ints

if TYPE_CHECKING:  # loaded where there are groups
    from howsure.calibration.groups.clusters import ClusterTable, Parts
    from howsure.calibration.groups.moments import Grouped, Moments

MOST_KEPT = 250  # distinct probabilities of a slice; they take no more room than what would be computed from them


def analyse(
    sketch: Sketch,
    *,
    bins: int | str | None = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | None = None,
    clusters: Grouped | None = None,
    source: str = "",
) -> Calibration:
    """Analyse a sketch of at least one row.

    With `clusters`, the same rows by group, intervals and tests are cluster-robust. Without `rng` no
    consistency band is simulated.
    """
    level = confidence_level
    drawn = _bins.drawn_bins(sketch, bins, level)
    n_groups = effective = None
    if clusters is None:
        (inferred,) = _independent([sketch], level)
    else:
        from howsure.calibration.groups import estimates as clustered
        from howsure.calibration.groups.moments import moments

        seen = moments(clusters)
        n_groups = seen.n_groups
        has_slope = bias.calibration_slope(sketch) is not None
        inferred = _dependent(seen, level, len(sketch.fixed.starts), has_slope=has_slope)
        if n_groups > 1:
            effective = seen.squares.rows.effective
            drawn = _bins.with_effective_rows(drawn, clustered.effective_rows(seen, level), level)
    band = None
    if rng is not None and clusters is None:
        band = consistency_band(sketch, drawn, drawn_starts(sketch, drawn, bins), level, rng)
    assert inferred.brier is not None
    blocks = _bins.isotonic_starts(sketch)
    return Calibration(
        **_headline(sketch, drawn, inferred, level, blocks),
        bins=drawn,
        max_error=float(np.abs(drawn.gap).max()),
        brier_interval=inferred.brier,
        log_loss=log_loss_parts(sketch, drawn, blocks),
        auc=area_under_curve(sketch),
        positives=label_distribution(sketch, 1),
        negatives=label_distribution(sketch, 0),
        resolution=inferred.resolution,
        band=band,
        confidence_level=level,
        n_groups=n_groups,
        effective_groups=effective,
        notes=(*_notes(sketch, bins), *inferred.notes),
        source=source,
    )


def analyse_slices(sketches: Sequence[Sketch], bins: int | str | None, level: float) -> Iterator[Calibration]:
    """The same of some of many slices: what their rows show, and the rest when it is asked for, from a sketch if that is small."""
    small = [s for s in sketches if len(s.keys) <= MOST_KEPT]
    inferred = iter(_independent(small, level, whole=False))
    for sketch in sketches:
        if len(sketch.keys) > MOST_KEPT:
            yield analyse(sketch, bins=bins, confidence_level=level)
            continue
        drawn = _bins.drawn_bins(sketch, bins, None)
        known = _headline(sketch, drawn, next(inferred), level, _bins.isotonic_starts(sketch))
        del known["tests"]
        yield Calibration.begun(partial(analyse, sketch, bins=bins, confidence_level=level), known)


def _headline(sketch: Sketch, drawn: Bins, inferred: _Inferred, level: float, blocks: Ints) -> dict[str, Any]:
    """The fields of a `Calibration` that the row of a slice shows."""
    squared, ece, gap = inferred.squared, inferred.ece, inferred.gap
    error = None if squared is None else at_least_bias(squared.sqrt(), gap)
    if squared is not None and error is not None and error != squared.sqrt():
        squared = error.squared()
    if ece is not None and error is not None:  # whatever the ECE is at least, the RMS error is
        ece = at_least_bias(ece, gap)
        ece = replace(ece, low=min(ece.limits[0], error.limits[0]))
    tests = inferred.tests
    if tests and sketch.n_impossible:  # a label came up that q = 0 or q = 1 had ruled out
        tests = (refuted_if(tests[0].name, True), *tests[1:])
    return {
        "n": sketch.n,
        "base_rate": sketch.n_positive / sketch.n,
        "error": error,
        "error_squared": squared,
        "ece": ece,
        "bias": Bias(gap, inferred.slope, bias.regions(drawn, level)),
        "brier": brier_parts(sketch, drawn, blocks),
        "tests": tests,
        "p_value": tests[0].p_value if tests else None,
    }


def filing(sketch: Sketch, bins: int | str | None, confidence_level: float) -> Parts:
    """How the rows behind a sketch are to be filed by group, for `analyse(clusters=)`."""
    drawn = _bins.drawn_bins(sketch, bins, confidence_level)
    from howsure.calibration.groups.clusters import parts

    return parts(sketch, drawn_starts(sketch, drawn, bins), drawn.from_prob)


def cluster_rows(
    sketch: Sketch,
    y: NDArray[np.uint8],
    q: Floats,
    groups: Ints | NDArray[np.uint64] | None,
    bins: int | str | None,
    confidence_level: float,
    weight: Ints | None = None,
) -> ClusterTable | None:
    """Rows in memory by group, for `analyse(clusters=)`; None without groups."""
    if groups is None:
        return None
    from howsure.calibration.groups.clusters import ClusterBuilder

    builder = ClusterBuilder(filing(sketch, bins, confidence_level))
    builder.add(groups.astype(np.uint64, copy=False), y, q, weight)
    return builder.finish()


def analyse_rows(
    y: NDArray[np.uint8],
    q: Floats,
    groups: Ints | NDArray[np.uint64] | None,
    confidence_level: float,
    bins: int | str | None = None,
    weight: Ints | None = None,
    **how: Any,
) -> tuple[Calibration, Sketch]:
    """Rows in memory analysed, and their sketch; `how` is as of `analyse`."""
    builder = SketchBuilder()
    builder.add(y, q, weight)
    sketch = builder.finish()
    clusters = cluster_rows(sketch, y, q, groups, bins, confidence_level, weight)
    return analyse(sketch, bins=bins, confidence_level=confidence_level, clusters=clusters, **how), sketch


@dataclass(frozen=True, slots=True)
class _Inferred:
    """What depends on whether rows are independent."""

    squared: Estimate | None
    ece: Estimate | None
    gap: Estimate
    slope: Estimate | None
    brier: Estimate | None
    tests: tuple[PerfectionTest, ...]
    resolution: Resolution | None
    notes: tuple[str, ...] = ()


def _independent(sketches: Sequence[Sketch], level: float, *, whole: bool = True) -> Iterator[_Inferred]:
    """Of several sketches; unless it is the `whole`, without the interval of the Brier score and all tests but the combined one."""
    for sketch, (gap, slope, brier) in zip(sketches, linear_intervals(sketches, level, whole=whole), strict=True):
        if sketch.n < 2:
            yield _Inferred(None, None, gap, slope, brier, (), None)
            continue
        r = ladder(sketch)
        squared = squared_error_interval(r, level)
        ece = expected_error_interval(sketch, r, squared.sqrt().high or 1.0, level)
        yield _Inferred(squared, ece, gap, slope, brier, perfection_tests(sketch, r, whole=whole), r.resolution)


def _dependent(m: Moments, level: float, values: int, *, has_slope: bool) -> _Inferred:
    if m.n_groups < 2:
        gap, brier = (Estimate(float(x)) for x in m.plan.means[:2])
        note = "One group: nothing can be said of the error from it."
        return _Inferred(None, None, gap, None, brier, (), None, (note,))
    from howsure.calibration.groups import estimates as clustered

    squared, excess = clustered.squared_error(m, level)
    return _Inferred(
        squared,
        clustered.expected_error(m, squared.sqrt().high or 1.0, level),
        clustered.mean_gap(m, level),
        clustered.slope(m, level) if has_slope else None,
        clustered.brier(m, level),
        clustered.perfection_tests(m, excess),
        Resolution(len(m.plan.level.n), values, round(m.n_rows)),
        (
            *_dominating(m),
            *_finer(m, squared.sqrt()),
            "Left out because no version for groups is derived: the consistency band, and the tests of Spiegelhalter, "
            "Kolmogorov-Smirnov and Kuiper.",
        ),
    )


def _dominating(m: Moments) -> tuple[str, ...]:
    """A warning where one group makes up most of what is known."""
    rows = m.squares.rows
    if not rows.is_dominated:
        return ()
    return (
        f"One group holds {100 * rows.largest:.0f}% of the rows: these {m.n_groups:,} groups say as much as "
        f"{rows.effective:.1f} groups of equal size, and intervals and tests allow for that.",
    )


def _finer(m: Moments, error: Estimate) -> tuple[str, ...]:
    """What finer bins would say, where that is beyond the interval and may be chance."""
    hint = m.choice.hint
    if hint is None or error.high is None or hint.t <= error.high**2:
        return ()
    return (
        f"The error is that visible in {len(m.plan.level.n):,} bins. In {len(hint.n):,} bins it would be {hint.t**0.5:.3f}: with these "
        f"{m.n_groups:,} groups that may be chance, so it is not in the interval. A check without groups, which takes rows for "
        "independent, is surer of finer bins, and may say more.",
    )


def drawn_starts(sketch: Sketch, drawn: Bins, bins: int | str | None) -> Ints | None:
    """First cell of each drawn bin, where the bins are unions of cells."""
    if isinstance(bins, str) and bins.startswith("width:") and not sketch.exact:
        return None
    return np.searchsorted(sketch.mean_q, drawn.from_prob, side="left").astype(np.int64)


def _notes(sketch: Sketch, bins: int | str | None) -> tuple[str, ...]:
    said = []
    if sketch.n < 2:
        said.append("One row: the calibration error cannot be estimated from fewer than two.")
    if sketch.n_positive in (0, sketch.n):
        said.append(
            f"All labels are {int(sketch.n_positive > 0)}: the area under the curve and the slope cannot be estimated."
        )
    if isinstance(bins, int) and bins > sketch.n:
        said.append(f"There are fewer rows ({sketch.n:,}) than the bin size of {bins:,}: one bin holds them all.")
    infinite = sketch.n_impossible
    if infinite:
        said.append(
            f"The log loss is infinite: {infinite:,} row{'s' * (infinite > 1)} had the label that q called impossible."
        )
    if not sketch.exact:
        said.append(
            "More than 100,000 distinct probabilities: bins end at the sketch's cells, of relative width 1/512."
        )
    return tuple(said)
