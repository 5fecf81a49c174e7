"""From a tally of items and labels to a count with its interval, its cells, changes and trend."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from howsure._result import finite
from howsure.calibration.estimation.intervals import Estimate
from howsure.counting.cells import CellDraws, cell_counts, exchangeable, in_time
from howsure.counting.checks import HeldOut, held_out
from howsure.counting.clusters import clustered
from howsure.counting.regression import Groups, corrected_regression
from howsure.counting.result import CellCount, Change, Coefficient, Counts, Need, Stratum
from howsure.counting.sample import Sample, stratified
from howsure.counting.share import Share, share_of_positives, wilson
from howsure.counting.tally import Tally
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints

FEW = 4  # positives or negatives, below which an interval is wide for that reason


@dataclass(frozen=True, slots=True)
class Layout:
    """What the cells of a tally are: for each its period (numbered in time) or -1, and its group or -1, with their names."""

    periods: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    period: Ints | None = None
    group: Ints | None = None
    every: str | None = None
    by: str | None = None


def counts_of(
    tally: Tally,
    layout: Layout,
    *,
    design: str,
    level: float,
    rng: np.random.Generator,
    half_width: float | None = None,
    notes: Sequence[str] = (),
    source: str = "arrays",
    whole_groups: bool = False,
) -> Counts:
    """The count of a tally whose labels were drawn as `design` says: one by one, or in whole groups."""
    sample = stratified(tally)
    said = [*notes, *_warnings(sample, design)]
    n, k = len(sample.y), int(sample.y.sum())
    z, n_groups, groups = None, None, None
    if whole_groups and n < tally.n_items:
        found = clustered(sample, tally, level)
        sample, z, groups, effect = found.sample, found.z, found.groups, found.design_effect
        n_groups = groups.every
        alike = f"; a label is worth {1 / effect:.2f} of one drawn alone" if effect > 1 else ""
        said.append(f"{groups.number:,} of {n_groups:,} groups were drawn whole{alike}.")
    share = known_at_least(share_of_positives(sample.items.sum(1), sample.n, sample.k, level, z), n, k)
    alone = _labels_only(sample, np.ones(n, bool), share.n_items, level)
    assert alone is not None
    cells: tuple[CellCount, ...] = ()
    trend, check = None, None
    if layout.period is not None or layout.group is not None:
        effects = exchangeable(len(tally.cells)) if layout.period is None else in_time(layout.period, layout.group)
        tables = (sample.items, sample.labelled, sample.positive, effects)
        draws = cell_counts(*tables, effective=sample.effective, total=share, confidence_level=level, rng=rng)
        check = held_out(sample, effects, _names(layout), rng)
        said += _check_warnings(check)
        cells = _cells(sample, layout, draws, level)
        said += _cell_warnings(sample, layout)
        if layout.period is not None and len(layout.periods) > 2:
            trend = _trend(sample, layout, level, groups)
    estimate, raw = Estimate(share.value, share.low, share.high), float(sample.raw.sum())
    wanted = None if half_width is None else need(sample, share, half_width)
    known = (share.n_items, n, k, estimate, raw, alone, _strata(sample, level), design, level)
    by_cell = (cells, trend, layout.every, layout.by)
    return Counts(*known, *by_cell, (), n_groups, wanted, check, tuple(said), source)


def known_at_least(share: Share, n: int, k: int) -> Share:
    """Limits that never contradict the labels themselves, whatever these are worth."""
    low, high = max(share.low, k / share.n_items), min(share.high, 1 - (n - k) / share.n_items)
    value = min(max(share.value, low), high)
    return Share(value, min(low, value), max(high, value), share.n_items, n, k, share.confidence_level)


def regression_of(
    tally: Tally, columns: Floats, names: Sequence[str], level: float, *, whole_groups: bool = False
) -> tuple[Coefficient, ...]:
    """Coefficients of cells' `columns`, shape (C, K)."""
    sample = stratified(tally)
    groups = None
    if whole_groups and len(sample.y) < tally.n_items:
        groups = clustered(sample, tally, level).groups
    made = corrected_regression(columns, sample, level, groups)
    return tuple(
        Coefficient(name, Estimate(float(v), float(low), float(high)), float(raw))
        for name, v, low, high, raw in zip(names, made.value, made.low, made.high, made.raw, strict=True)
    )


def need(sample: Sample, share: Share, half_width: float) -> Need:
    """Labels for an interval of ± half_width: n = (z/x)² (Σ W σ)² ÷ (1 + (z/x)² Σ W σ² ÷ N), σ² = p̃ (1 - p̃)."""
    size = sample.items.sum(1)
    w = size / size.sum()
    p = (sample.k + 0.5) / (sample.n + 1)
    sigma = np.sqrt(p * (1 - p))
    ratio = (float(special.ndtri((1 + share.confidence_level) / 2)) / half_width) ** 2
    n = ratio * float(w @ sigma) ** 2 / (1 + ratio * float(w @ sigma**2) / size.sum())
    have, most = len(sample.y), int(size.sum())
    if (share.high - share.low) / 2 <= half_width:
        return Need(half_width, have, 0)
    wanted = min(max(int(np.ceil(n)), have + 10), most)
    return Need(half_width, wanted, wanted - have)


def _strata(sample: Sample, level: float) -> tuple[Stratum, ...]:
    size = sample.items.sum(1)
    n = np.bincount(sample.stratum, minlength=len(size))
    k = np.bincount(sample.stratum, sample.y, len(size)).astype(np.int64)
    p = (sample.k + 0.5) / (sample.n + 1)
    # What one more label takes off N² Var: W² σ² / (n (n + 1)).
    gain = np.where(n < size, size**2 * p * (1 - p) / (sample.n * (sample.n + 1)), 0.0)
    gain = gain / max(gain.max(), 1e-300)
    worth = zip(sample.k.tolist(), sample.n.tolist(), size.tolist(), strict=True)
    shares = [Estimate(yes / labels, *wilson(yes, labels, items, level)) for yes, labels, items in worth]
    columns = [x.tolist() for x in (sample.low, sample.high, size, sample.mean_prob, n, k)]
    return tuple(Stratum(*row) for row in zip(*columns, shares, gain.tolist(), strict=True))


def _labels_only(sample: Sample, mine: np.ndarray, n_items: int, level: float) -> Estimate | None:
    """Wilson's interval of the labels of some cells, weighted by their inclusion probabilities alone."""
    if not mine.any():
        return None
    w, y = sample.drawn[mine], sample.y[mine]
    n = float(w.sum() ** 2 / (w**2).sum())
    if np.ptp(w) < 1e-9 * w.max():
        n = float(mine.sum())
    value = float((w * y).sum() / w.sum())
    low, high = wilson(value * n, n, n_items, level)
    return Estimate(value, low, high)


def _names(layout: Layout) -> tuple[str, ...]:
    """Of the cells of the table."""
    pairs = ((layout.periods, layout.period), (layout.groups, layout.group))
    named = [[names[i] for i in number] for names, number in pairs if number is not None]
    return tuple(", ".join(filter(None, parts)) for parts in zip(*named, strict=True))


def _check_warnings(check: HeldOut | None) -> list[str]:
    if check is None:
        return []
    if check.worst_p_value < 0.01:
        return [
            f"{check.worst} leaves the curve that all cells share: its labels are not what the others predict "
            f"(p = {check.worst_p_value:.2g}). Label more of it before you rely on its count."
        ]
    if check.p_value < 0.01:
        return [
            f"the cells' held-out labels are not what the model predicts (p = {check.p_value:.2g}): mind single cells."
        ]
    return []


def _cells(sample: Sample, layout: Layout, draws: CellDraws, level: float) -> tuple[CellCount, ...]:
    """Each cell; with periods and groups, also the periods and the groups added up."""
    c = sample.items.shape[1]
    period = np.full(c, -1) if layout.period is None else layout.period
    group = np.full(c, -1) if layout.group is None else layout.group
    periods = [] if layout.period is None else range(len(layout.periods))
    groups = [] if layout.group is None else range(len(layout.groups))
    wanted = [(t, -1) for t in periods] + [(-1, g) for g in groups] + [(t, g) for g in groups for t in periods]
    sums: dict[tuple[int, int], tuple[Ints, int]] = {}
    made = []
    for t, g in wanted:
        mine = ((period == t) | (t < 0)) & ((group == g) | (g < 0))
        drawn = draws.counts[:, mine].sum(1)
        n_items = int(sample.items[:, mine].sum())
        sums[t, g] = draws.free[:, mine].sum(1), n_items
        labelled = mine[sample.cell]
        count = _estimate(drawn, level, whole=True)
        share = Estimate(count.value / n_items, *(v / n_items for v in count.limits)) if n_items else None
        names = layout.periods[t] if t >= 0 else "", layout.groups[g] if g >= 0 else ""
        labels = int(labelled.sum()), int(sample.y[labelled].sum())
        alone = _labels_only(sample, labelled, n_items, level)
        others = draws.counts.sum(1) - drawn, int(draws.n_items.sum()) - n_items
        change = _change(t, g, sums, others, layout, level)
        made.append(CellCount(*names, n_items, *labels, float(sample.raw[mine].sum()), count, share, alone, change))
    return tuple(made)


def _change(
    t: int,
    g: int,
    sums: dict[tuple[int, int], tuple[Ints, int]],
    others: tuple[Ints, int],
    layout: Layout,
    level: float,
) -> Change | None:
    """Against the last period before that has items or, for a group, against all others together."""
    drawn, n = sums[t, g]
    if not n:
        return None
    if t >= 0:
        before = next((s for s in range(t - 1, -1, -1) if sums[s, g][1]), None)
        if before is None:
            return None
        others, than = sums[before, g], layout.periods[before]
    else:
        than = "all others"
    other, m = others
    if not m:
        return None
    a, b = drawn / n, other / m
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(b > 0, a / b, np.where(a > 0, np.inf, 1.0))
    times = _estimate(ratio, level) if np.isfinite(np.median(ratio)) else None
    return Change(than, _estimate(a - b, level), times, float((a > b).mean() + (a == b).mean() / 2))


def _estimate(drawn: Floats | Ints, level: float, *, whole: bool = False) -> Estimate:
    tail = (1 - level) / 2
    low, middle, high = np.quantile(drawn, [tail, 0.5, 1 - tail], method="inverted_cdf")
    value = float(drawn.mean()) if whole else float(middle)
    return Estimate(min(max(value, float(low)), float(high)), finite(float(low)), finite(float(high)))


def _trend(sample: Sample, layout: Layout, level: float, groups: Groups | None) -> Estimate:
    """The slope of the label on the period; no limit is beyond the slope of no label before, and every one after, the mean period."""
    assert layout.period is not None
    columns = np.stack([np.ones(len(layout.period)), layout.period.astype(np.float64)], axis=1)
    made = corrected_regression(columns, sample, level, groups)
    n = sample.items.sum(0)
    away = np.abs(layout.period - n @ layout.period / n.sum())
    steepest = float(n @ away / (2.0 * n @ away**2))
    return Estimate(*np.clip([made.value[1], made.low[1], made.high[1]], -steepest, steepest).tolist())


def _warnings(sample: Sample, design: str) -> list[str]:
    size, n = sample.items.sum(1), len(sample.y)
    k = int(sample.y.sum())
    made = []
    if n < size.sum():
        missed = ", and the upper limit says how many could have been missed"
        for few, what, more in ((k, "positive", missed), (n - k, "negative", "")):
            if few < FEW:
                number, items = "no" if few == 0 else f"only {few}", "item is" if few < 2 else "items are"
                made.append(f"{number} labelled {items} {what}: the interval is wide for that reason{more}.")
    short = (sample.n < FEW) & (sample.n < size)
    if short.any():
        h = int(np.argmax(short))
        made.append(
            f"{int(short.sum())} of {len(size)} strata have fewer than {FEW} labels (the first: {size[h]:,} items of "
            f"probability {sample.low[h]:.3g} to {sample.high[h]:.3g}); label more of them with `howsure.to_label`."
        )
    if design == "random" and len(size) > 1:
        expected = n * size / size.sum()
        found = np.bincount(sample.stratum, minlength=len(size))
        statistic = float(((found - expected) ** 2 / np.maximum(expected, 1e-300)).sum())
        p = float(special.chdtrc(len(size) - 1, statistic))
        if p < 0.001:
            made.append(
                "the labels do not look like a random sample of these items: their probabilities are distributed "
                f"differently (p = {p:.2g}). If they were chosen in another way, the count is wrong."
            )
    return made


def _cell_warnings(sample: Sample, layout: Layout) -> list[str]:
    labelled = np.bincount(sample.cell, minlength=sample.items.shape[1])
    there = sample.items.sum(0) > 0
    bare = int((there & (labelled == 0)).sum())
    if not bare:
        return []
    what = "groups" if layout.period is None else "periods" if layout.group is None else "cells"
    return [
        f"{bare} of {int(there.sum())} {what} have no label: what is said of them rests on the others, "
        "and a cell unlike the others would not be noticed."
    ]
