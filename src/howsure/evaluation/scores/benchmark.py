"""Scores of answers, item by item: each model on each task, several runs of a model, and the order of the models.

Items are what is sampled (with groups: the groups). The answers of a model to one item are averaged first, so that what
runs vary by is part of the interval, and is told apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import Any

import numpy as np

from howsure._result import Record, Result, drawn_by, shown_as
from howsure.calibration.estimation.intervals import Estimate, normal_quantile
from howsure.calibration.groups.clusters import Balance
from howsure.calibration.groups.estimates import student_quantile
from howsure.evaluation.contests.ranks import Ranks, ranked
from howsure.evaluation.scores.metrics import macro_interval, wilson
from howsure.evaluation.scores.result import left_out_text
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints

AVERAGE = "average"
UNLIKE = 0.01  # p-value below which runs as a whole are said to differ


@dataclass(frozen=True, slots=True)
class Answers:
    """A row an answer: its value, and the numbers of its part, model, item and run. An item is in one part and one group."""

    value: Floats
    part: Ints
    model: Ints
    item: Ints
    parts: tuple[str, ...]
    models: tuple[str, ...]
    groups: Ints | None = None  # of each item
    run: Ints | None = None

    @property
    def bounded(self) -> bool:
        """Whether all values lie in 0-1."""
        return bool(self.value.min() >= 0.0 and self.value.max() <= 1.0)


@dataclass(frozen=True, slots=True)
class Runs(Record):
    """Several answers of a model to an item: how much of the score's variance they make, and whether runs as a whole differ."""

    SHOWN = "answers_per_item share_of_variance=share narrower_by_twice_the_runs=twice p_value"

    answers_per_item: float
    share: float
    p_value: float | None = None

    @property
    def twice(self) -> float:
        """By which share the interval would be narrower with twice the runs; with twice the items it is 1 - √½ = 0.29."""
        return 1.0 - sqrt(1.0 - 0.5 * self.share)


@dataclass(frozen=True, slots=True)
class ModelScore(Record):
    """One model on one part, or on the average of all parts."""

    SHOWN = "part model items answers value items_needed places? runs?"

    part: str
    model: str
    items: int
    answers: int
    value: Estimate
    items_needed: int | None
    runs: Runs | None = None
    places: str = ""


@dataclass(frozen=True, slots=True)
class Benchmark(Result):
    """Models' answers to the same items, task by task. Made by `howsure.score` of a log, or of a table with `value=`."""

    SHOWN = "verdict metric by n_groups confidence_level half_width scores ranks left_out notes"
    __repr__ = shown_as("{scores[0].model}: {metric} {scores[0].value!r}, {#scores:,} scores")

    metric: str
    scores: tuple[ModelScore, ...]
    ranks: Mapping[str, Ranks]  # by part
    half_width: float
    by: str | None = None
    n_groups: int | None = None
    confidence_level: float = 0.95
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()
    source: str = ""

    @property
    def title(self) -> str:
        """Of the page."""
        return f"Scores of {self.source}"

    @property
    def main(self) -> Ranks | None:
        """The ranks by the average of all parts, or by the only part."""
        return self.ranks.get(self.scores[0].part)

    @property
    def verdict(self) -> str:
        """How good the best is, and who is surely above whom."""
        head, main = self.scores[0], self.main
        e, parts, on = head.value, {s.part for s in self.scores}, f"{head.items:,} item{'s' * (head.items != 1)}"
        if len(parts) > 1:
            average = head.part.startswith(AVERAGE)
            on = f"the {AVERAGE} of {len(parts) - 1:,} {self.by}s" if average else f"{on} of {head.part}"
        level = f"{100 * self.confidence_level:g}% interval"
        limits = "" if e.low is None else f" ({level} {e.low:.3f} to {e.high:.3f})"
        said = f"{head.model}: {self.metric} {e.value:.3f}{limits} on {on}."
        ranked = "" if main is None else " " + main.sentence(self.confidence_level)
        return said + ranked + (" " + left_out_text(self.left_out) if self.left_out else "")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints."""
        return Result.to_dict(self) | {"left_out": dict(self.left_out)}

    def table(self) -> list[dict[str, Any]]:
        """One row a part and model."""
        several, repeated = len({s.part for s in self.scores}) > 1, any(s.runs for s in self.scores)
        rows = []
        for s in self.scores:
            row: dict[str, Any] = {self.by or "": s.part} if several else {}
            row |= {"model": s.model, "items": s.items, self.metric: s.value}
            row |= {"place": s.places or None} if self.ranks else {}
            row |= {"runs": None if s.runs is None else f"{s.runs.share:.0%}"} if repeated else {}
            rows.append(row | {f"for ±{self.half_width:g}": s.items_needed})
        return rows

    to_text = drawn_by("howsure.report.text.labels.benchmark_text")
    to_html = drawn_by("howsure.report.pages.table_page")
    layers = drawn_by("howsure.plots.labels.benchmark_layers")


@dataclass(frozen=True, slots=True)
class _Cells:
    """A row a model and item: the part, the mean of the answers, how many they are, and Σ (answer - mean)²."""

    model: Ints
    item: Ints
    part: Ints
    mean: Floats
    times: Floats
    scatter: Floats
    of: Ints  # the cell of each answer

    @staticmethod
    def made(a: Answers) -> _Cells:
        """Of answers."""
        n_items = int(a.item.max()) + 1
        found, first, cell = np.unique(a.model * n_items + a.item, return_index=True, return_inverse=True)
        times = np.bincount(cell).astype(np.float64)
        mean = np.bincount(cell, a.value) / times
        scatter = np.bincount(cell, np.square(a.value - mean[cell])).astype(np.float64)
        return _Cells(found // n_items, found % n_items, a.part[first], mean, times, scatter, cell)


@dataclass(frozen=True, slots=True)
class _Moved:
    """Means of k models on n items, and how each unit (item or group) moves them."""

    value: Floats  # (k,)
    unit: Ints  # the units that there are
    u: Floats  # (units, k): Σ u² is the variance
    share: Floats  # of the items that are in each unit
    n: int
    by_runs: float = 0.0  # what runs add to the variance of the first

    @staticmethod
    def of(x: Floats, unit: Ints, by_runs: float = 0.0) -> _Moved:
        """Of values of items, (n, k): the jackknife of the units."""
        n, mean = len(x), x.mean(axis=0)
        units, at = np.unique(unit, return_inverse=True)
        size = np.bincount(at).astype(np.float64)
        total = np.stack([np.bincount(at, c) for c in (x - mean).T], axis=1)
        few = 1.0 - 1.0 / len(units)
        return _Moved(mean, units, sqrt(few) * total / np.maximum(n - size, 1.0)[:, None], size / n, n, by_runs)

    @staticmethod
    def average(each: Sequence[_Moved]) -> _Moved:
        """Of parts: their mean, units that are in several of them moving it once."""
        many = len(each)
        units, at = np.unique(np.concatenate([m.unit for m in each]), return_inverse=True)
        u, share = np.zeros((len(units), each[0].u.shape[1])), np.zeros(len(units))
        np.add.at(u, at, np.concatenate([m.u for m in each]) / many)
        np.add.at(share, at, np.concatenate([m.share for m in each]) / many)
        value: Floats = np.mean([m.value for m in each], axis=0)
        return _Moved(value, units, u, share, sum(m.n for m in each), sum(m.by_runs for m in each) / many**2)

    @property
    def spread(self) -> float:
        """The variance of the first mean."""
        return float(self.u[:, 0] @ self.u[:, 0])

    @property
    def degrees(self) -> float:
        """Degrees of freedom; 0 where there is one unit."""
        return Balance.of(self.share).degrees if self.share.max() < 1.0 else 0.0


@dataclass(frozen=True, slots=True)
class _Part:
    """A part, or the average of all: each model by itself, and all on the items they share."""

    name: str
    own: dict[int, tuple[_Moved, Ints]]  # of each model, with its cells
    n_items: int
    shared: _Moved | None


def benchmark(a: Answers, confidence_level: float = 0.95, half_width: float = 0.02, **about: Any) -> Benchmark:
    """Score answers; `about` says what the result is of."""
    cells = _Cells.made(a)
    binary = bool(np.isin(a.value, (0.0, 1.0)).all())
    parts = [_part(a, cells, p) for p in range(len(a.parts))]
    notes: list[str] = []
    if len(parts) > 1:
        parts.append(_average(parts, cells, f"{AVERAGE} of all" if AVERAGE in a.parts else AVERAGE))
        if lack := len(a.models) - len(parts[-1].own):
            notes.append(f"{lack:,} of {len(a.models):,} models lack a {about['by']}, and have no {AVERAGE}.")
    scores: list[ModelScore] = []
    ranks: dict[str, Ranks] = {}
    found: dict[int, list[_Score]] = {}  # of each model: the parts
    for number, part in enumerate(parts):
        averages = number == len(a.parts)
        names, on = tuple(a.models[m] for m in part.own), f"{part.name}: models" if part.name else "Models"
        if part.shared is not None:
            s = part.shared
            of = s.value, s.u, np.ones(len(s.unit), np.int64), s.degrees, s.n
            ranks[part.name] = ranked(names, *of, confidence_level, 1.0 if a.bounded else inf)
            if s.n < part.n_items:
                notes.append(f"{on} are ranked on the {s.n:,} of {part.n_items:,} items that all have.")
        elif len(names) > 1:
            notes.append(f"{on} are not ranked: they do not share two independent items.")
        places = ranks[part.name].by_name if part.name in ranks else {}
        made = []
        for m, (own, which) in part.own.items():
            name, times = a.models[m], cells.times[which]
            plain = binary and a.groups is None and bool((times == 1.0).all())
            if averages:
                x = _averaged(own, found[m], confidence_level, a.bounded)
            else:
                x = _scored(own, confidence_level, plain, a.bounded)
                found.setdefault(m, []).append(x)
            needed = runs = None
            if x.spread > 0.0 and x.value.low is not None:
                needed = ceil(own.n * x.spread * (x.quantile / half_width) ** 2)
            if (times > 1.0).any():
                share = min(own.by_runs / x.spread, 1.0) if x.spread > 0.0 else 0.0
                runs = Runs(float(times.mean()), share, None if averages else _alike(a, cells, which))
                if runs.p_value is not None and runs.p_value < UNLIKE:
                    runs_of = f"Runs of {name}{f' on {part.name}' if part.name else ''}"
                    why = "what the answers of a run share is not in the interval."
                    notes.append(f"{runs_of} differ as a whole (p = {runs.p_value:.2g}): {why}")
            place = places[name].places if places else ""
            made.append(ModelScore(part.name, name, len(times), int(times.sum()), x.value, needed, runs, place))
        made.sort(key=lambda s: (-s.value.value, s.model))
        scores = [*made, *scores] if averages else [*scores, *made]
    about |= {"n_groups": None if a.groups is None else len(np.unique(a.groups)), "confidence_level": confidence_level}
    about["notes"] = (*about.get("notes", ()), *notes)
    metric = about.pop("metric", "mean")
    return Benchmark("accuracy" if binary else metric, tuple(scores), ranks, half_width, **about)


def _part(a: Answers, cells: _Cells, p: int) -> _Part:
    unit = np.arange(int(a.item.max()) + 1) if a.groups is None else a.groups
    here = np.flatnonzero(cells.part == p)
    models, own = np.unique(cells.model[here]), {}
    for m in models.tolist():
        which = here[cells.model[here] == m]
        times, n = cells.times[which], len(which)
        within = float(cells.scatter[which].sum() / max(float((times - 1.0).sum()), 1.0))
        by_runs = within * float(np.sum(1.0 / times)) / n**2
        own[m] = _Moved.of(cells.mean[which, None], unit[cells.item[which]], by_runs), which
    many = np.bincount(cells.item[here], minlength=len(unit))
    common = np.flatnonzero(many == len(models))
    shared = None
    if len(models) > 1 and len(np.unique(unit[common])) > 1:
        kept = here[many[cells.item[here]] == len(models)]
        x = np.empty((len(common), len(models)))
        x[np.searchsorted(common, cells.item[kept]), np.searchsorted(models, cells.model[kept])] = cells.mean[kept]
        shared = _Moved.of(x, unit[common])
    return _Part(a.parts[p], own, int((many > 0).sum()), shared)


def _average(parts: Sequence[_Part], cells: _Cells, name: str) -> _Part:
    """The models that have all parts, on the mean of these."""
    whole = sorted(set.intersection(*(set(p.own) for p in parts)))
    own = {m: (_Moved.average([p.own[m][0] for p in parts]), np.flatnonzero(cells.model == m)) for m in whole}
    shared = [p.shared for p in parts if p.shared is not None and list(p.own) == whole]
    every = _Moved.average(shared) if len(shared) == len(parts) else None
    return _Part(name, own, sum(p.n_items for p in parts), every)


@dataclass(frozen=True, slots=True)
class _Score:
    """A score with its interval, the quantile that this took, and the variance."""

    value: Estimate
    quantile: float
    spread: float


def _scored(own: _Moved, level: float, plain: bool, bounded: bool) -> _Score:
    """One model on one part; `plain`: answers are right or wrong and independent, for which the interval is Wilson's."""
    value, spread, degrees, p = float(own.value[0]), own.spread, own.degrees, 0.5 + level / 2
    if plain:
        spread, z = value * (1.0 - value) / own.n, normal_quantile(p)
        return _Score(wilson(value, spread, float(own.n), z), z, spread)
    if degrees == 0.0:
        return _Score(Estimate(value), 0.0, spread)
    z = student_quantile(p, degrees)
    half = z * sqrt(spread)
    made = wilson(value, spread, degrees + 1.0, z) if bounded else Estimate(value, value - half, value + half)
    return _Score(made, z, spread)


def _averaged(own: _Moved, parts: list[_Score], level: float, bounded: bool) -> _Score:
    """One model on the average of all parts: a part that is all right by luck adds nothing to the variance, but has limits."""
    units, classes = round(own.degrees) + 1, [s.value for s in parts]
    if not bounded or units < 2 or any(c.low is None for c in classes):
        return _scored(own, level, False, bounded)
    variances = np.array([s.spread for s in parts])
    made = macro_interval(float(own.value[0]), own.spread, classes, variances, units, True, level)
    return _Score(made, student_quantile(0.5 + level / 2, units - 1), own.spread)


def _alike(a: Answers, cells: _Cells, of: Ints) -> float | None:
    """The p-value of runs that differ by chance only, where every run has every item: Σ_r E_r² / (n σ²) is χ², R - 1.

    E_r is what run r has above the items' means, σ² the variance within items.
    """
    if a.run is None or not cells.scatter[of].sum() > 0.0:
        return None
    rows = np.flatnonzero(np.isin(cells.of, of))
    runs, run = np.unique(a.run[rows], return_inverse=True)
    n, many = len(of), len(runs)
    if len(rows) != n * many or len(np.unique(run * len(cells.item) + cells.of[rows])) != len(rows):
        return None
    within = float(cells.scatter[of].sum()) / (n * (many - 1.0))
    moved = np.bincount(run, a.value[rows] - cells.mean[cells.of[rows]])
    return float(special.chdtrc(many - 1.0, float(moved @ moved) / (n * within)))
