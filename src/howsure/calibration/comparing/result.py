"""Models scored on the same rows: who is better calibrated, who has the better score, and where."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from howsure._result import Record, Result, drawn_by, plain, shown_as
from howsure.calibration.analysis import analyse, filing
from howsure.calibration.comparing.difference import Difference, PairedGroups, group_differences, row_differences
from howsure.calibration.comparing.paired_groups import PairedLook, PairedPiece, Weighing, paired_totals
from howsure.calibration.comparing.paired_rows import Binning, Plan, RowSums, RowSumsBuilder
from howsure.calibration.estimation.perfection import p_words
from howsure.calibration.gate import Regression
from howsure.calibration.groups.clusters import ClusterBuilder, Parts
from howsure.calibration.groups.moments import Grouped
from howsure.calibration.result import Calibration, Slice
from howsure.calibration.sketch import Sketch, sketch_rows
from howsure.kernels.cells import Floats

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pair(Record):
    """By how much model `a` is better than model `b`: positive differences favour `a`, as in all comparisons.

    All three are losses, so that a difference is what `b` has more of them.
    """

    a: str
    b: str
    error_squared: Difference
    brier: Difference
    log_loss: Difference | None  # None where some row makes a log loss infinite

    __repr__ = shown_as("{a} - {b}: squared calibration error {error_squared!r}")


@dataclass(frozen=True, slots=True)
class ComparisonSlice(Record):
    """One value of the `by` column: errors of each model, and the first pair's difference, p adjusted."""

    SHOWN = "slice=name n errors difference=pair adjusted_p_value"

    name: str
    n: int
    errors: tuple[float | None, ...]
    pair: Pair | None
    adjusted_p_value: float | None


@dataclass(frozen=True, slots=True)
class Comparison(Result):
    """How models compare on the same rows. Made by `howsure.compare`."""

    SHOWN = "verdict n n_groups confidence_level models=by_model pairs notes?"

    models: tuple[str, ...]
    calibrations: tuple[Calibration, ...]
    pairs: tuple[Pair, ...]
    confidence_level: float = 0.95
    n_groups: int | None = None
    by: str | None = None
    slices: tuple[ComparisonSlice, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        errors = ", ".join(f"{m} {c.error!r}" for m, c in zip(self.models, self.calibrations, strict=True))
        return f"Comparison({errors}, n={self.n:,})"

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.calibrations[0].n

    @property
    def verdict(self) -> str:
        """Who is better calibrated, who scores better, and on how many slices."""
        if not self.pairs:
            return "Too little to compare."
        errors = {m: None if c.error is None else c.error.value for m, c in self.by_model.items()}
        said = [_sentence(self, self.pairs[0], errors) if len(self.models) == 2 else _ranking(self, errors)]
        if self.slices:
            (a, b), k = self.models[:2], self.slice_counts
            said.append(
                f"By {self.by}, {a} is better calibrated on {k[a]} of {len(self.slices)} slices "
                f"({k[f'{a} significantly']} significantly), {b} on {k[b]} ({k[f'{b} significantly']})."
            )
        return " ".join(said)

    @property
    def by_model(self) -> dict[str, Calibration]:
        """Each model's calibration."""
        return dict(zip(self.models, self.calibrations, strict=True))

    @property
    def slice_counts(self) -> dict[str, int]:
        """On how many slices each of the first two models is better calibrated, and significantly so."""
        a, b = self.models[:2]
        alpha = 1.0 - self.confidence_level
        made = {a: 0, b: 0, f"{a} significantly": 0, f"{b} significantly": 0}
        for s in self.slices:
            if s.pair is None or s.pair.error_squared.value == 0:
                continue
            better = a if s.pair.error_squared.value > 0 else b
            made[better] += 1
            made[f"{better} significantly"] += s.adjusted_p_value is not None and s.adjusted_p_value < alpha
        return made

    @property
    def regressions(self) -> tuple[Regression, ...]:
        """Each later model against the first: is it shown to be worse, in squared calibration error or Brier score?"""
        return tuple(
            Regression(
                p.b, p.a, {"squared calibration error": p.error_squared.estimate, "Brier score": p.brier.estimate}
            )
            for p in self.pairs
            if p.a == self.models[0]
        )

    def to_dict(self) -> dict[str, Any]:
        sliced = plain({"by": self.by, "slice_counts": self.slice_counts, "slices": self.slices})
        return Result.to_dict(self) | ({} if self.by is None else sliced)

    def table(self) -> list[dict[str, Any]]:
        """One row a model."""
        return [Slice(name, c, None).row() for name, c in self.by_model.items()]

    figure = drawn_by("howsure.plots.curves.comparison_figure")
    to_text = drawn_by("howsure.report.text.labels.comparison_text")
    to_html = drawn_by("howsure.report.pages.comparison_page")


class Scored(PairedGroups, Protocol):
    """Rows that several models scored, wherever they are."""

    @property
    def models(self) -> tuple[str, ...]:
        """Their names."""

    def sketches(self) -> Sequence[Sketch]:
        """Each model's."""

    def row_sums(self, plan: Plan, /) -> RowSums:
        """What independent rows add up to."""

    def clusters(self, model: int, filed: Parts, /) -> Grouped | None:
        """One model's rows by group; None without groups."""


def compared(
    scored: Scored, confidence_level: float, rng: np.random.Generator | None
) -> tuple[tuple[Calibration, ...], tuple[Pair, ...]]:
    """Each model's calibration and every pair's differences; no pairs of a single row or group."""
    level = confidence_level
    sketches = scored.sketches()
    calibrations = tuple(
        analyse(s, confidence_level=level, rng=rng, clusters=scored.clusters(i, filing(s, None, level)))
        for i, s in enumerate(sketches)
    )
    n_groups = calibrations[0].n_groups
    if sketches[0].n < 2 or (n_groups is not None and n_groups < 2):
        return calibrations, ()
    plan = Plan(tuple(Binning.of(s) for s in sketches))
    if n_groups is None:
        found = row_differences(plan, scored.row_sums(plan), level)
    else:
        found = group_differences(plan, scored, level)
    names = scored.models
    return calibrations, tuple(
        Pair(names[i], names[j], -d.error_squared, -d.brier, None if d.log_loss is None else -d.log_loss)
        for (i, j), d in zip(plan.pairs, found, strict=True)
    )


@dataclass(frozen=True)
class HeldRows:
    """Rows in memory, `Scored`: each model's labels and probabilities, and numbers of groups."""

    models: tuple[str, ...]
    ys: tuple[NDArray[np.uint8], ...]
    qs: tuple[Floats, ...]
    groups: NDArray[np.uint64] | None

    def sketches(self) -> Sequence[Sketch]:
        return [sketch_rows(y, q) for y, q in zip(self.ys, self.qs, strict=True)]

    def row_sums(self, plan: Plan) -> RowSums:
        builder = RowSumsBuilder(plan)
        builder.add(self.ys, self.qs)
        return builder.finish()

    def clusters(self, model: int, filed: Parts) -> Grouped | None:
        if self.groups is None:
            return None
        builder = ClusterBuilder(filed)
        builder.add(self.groups, self.ys[model], self.qs[model])
        return builder.finish()

    def look(self, plan: Plan, at: PairedLook[T]) -> T:
        """All groups are one piece."""
        assert self.groups is not None
        return at(PairedPiece.of(plan, self.groups, self.ys, self.qs))


def squared_error_gap(held: HeldRows) -> float:
    """T of the first model less T of the second, rows in groups: the number alone, where many are wanted."""
    plan = Plan(tuple(map(Binning.of, held.sketches())))
    totals = held.look(plan, partial(paired_totals, [len(m) for m in plan.models]))
    first, second = (Weighing.of(b).t for b in totals.bins[:2])
    return first - second


def compare_rows(
    y: NDArray[np.uint8] | dict[str, NDArray[np.uint8]],
    probs: dict[str, Floats],
    groups: NDArray[Any] | None,
    confidence_level: float,
    rng: np.random.Generator | None,
) -> tuple[tuple[Calibration, ...], tuple[Pair, ...]]:
    """The same for rows in memory; `y` is shared, or each model's own."""
    own = y if isinstance(y, dict) else dict.fromkeys(probs, y)
    ys = tuple(own[name] for name in probs)
    held = HeldRows(tuple(probs), ys, tuple(probs.values()), None if groups is None else groups.astype(np.uint64))
    return compared(held, confidence_level, rng)


def _sentence(c: Comparison, p: Pair, errors: dict[str, float | None]) -> str:
    alpha = 1.0 - c.confidence_level
    better, worse = (p.a, p.b) if p.error_squared.value > 0 else (p.b, p.a)
    clear = p.error_squared.p_value is not None and p.error_squared.p_value < alpha
    found = f"{better} is better calibrated than {worse}" if clear else "No difference in calibration found"
    numbers = f"RMS error {_number(errors[better])} against {_number(errors[worse])}"
    said = f"{found}: {numbers} (p {p_words(p.error_squared.p_value)})."
    lower, higher = (p.a, p.b) if p.brier.value > 0 else (p.b, p.a)
    if p.brier.p_value is not None and p.brier.p_value < alpha:
        return f"{said} {lower} has the better Brier score, by {abs(p.brier.value):.4f} (p {p_words(p.brier.p_value)})."
    if p.brier.value == 0:
        return f"{said} Their Brier scores are the same."
    return f"{said} Their Brier scores do not differ clearly ({lower} ahead of {higher} by {abs(p.brier.value):.4f})."


def _ranking(c: Comparison, errors: dict[str, float | None]) -> str:
    order = sorted(errors, key=lambda m: (errors[m] is None, errors[m]))
    ranked = ", ".join(f"{m} ({_number(errors[m])})" for m in order)
    alpha = (1.0 - c.confidence_level) / len(c.pairs)
    clear = sum(p.error_squared.p_value is not None and p.error_squared.p_value < alpha for p in c.pairs)
    return f"Best calibrated first, by RMS error: {ranked}. {clear} of {len(c.pairs)} pairs differ significantly (Bonferroni)."


def _number(x: float | None) -> str:
    return "–" if x is None else f"{x:.3f}"
