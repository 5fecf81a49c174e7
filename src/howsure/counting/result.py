"""How many items are positive, in all and in each cell: the result of `howsure count`."""

from dataclasses import dataclass
from typing import Any

from howsure._result import Record, Result, drawn_by, shown_as
from howsure.calibration.estimation.intervals import Estimate


@dataclass(frozen=True, slots=True)
class Stratum(Record):
    """Items of similar probability: how many, how many labelled, and how often these are positive.

    `next_label` is what the next label here would take off the variance of the share, relative to the best stratum.
    """

    from_prob: float
    to_prob: float
    n_items: int
    mean_prob: float
    n_labels: int
    n_positive: int
    share: Estimate
    next_label: float


@dataclass(frozen=True, slots=True)
class Change(Record):
    """A cell's share against that of another (`than`): difference, ratio (None if the other is most likely 0), and the
    probability that it is higher. Here the cell keeps to its own labels; its share also leans on the other cells."""

    than: str
    difference: Estimate
    ratio: Estimate | None
    p_more: float


@dataclass(frozen=True, slots=True)
class CellCount(Record):
    """The positives of one cell; `period` or `group` is empty where cells of all of them are added up."""

    SHOWN = "period? group? n_items n_labels n_positive raw count share labels_only change"

    period: str
    group: str
    n_items: int
    n_labels: int
    n_positive: int
    raw: float
    count: Estimate
    share: Estimate | None
    labels_only: Estimate | None
    change: Change | None = None

    @property
    def name(self) -> str:
        """Of the cell."""
        return ", ".join(part for part in (self.period, self.group) if part) or "all"


@dataclass(frozen=True, slots=True)
class Coefficient(Record):
    """Of a regression of the label on what `--formula` names, corrected for the model's errors; `raw` is that of q."""

    name: str
    value: Estimate
    raw: float


@dataclass(frozen=True, slots=True)
class Need(Record):
    """Labels that an interval of ± `half_width` takes, and how many more that is."""

    half_width: float
    n_labels: int
    more: int


@dataclass(frozen=True, slots=True)
class Labelled(Result):
    """How far a labelling is. Made by `howsure label`.

    `people` holds, for each annotator, how many items and how many yes; `agreement` is an `Agreement` where several people
    labelled the same items; `counts`, of an exploration, the `Counts` that the answers give.
    """

    DRAWN = "yes"
    SHOWN = "verdict n_items n_labelled n_yes n_undecided people=table agreement? counts?"
    __repr__ = shown_as("{n_labelled:,} of {n_items:,} items, {n_yes:,} yes")

    n_items: int
    n_labelled: int
    n_yes: int
    n_undecided: int  # as many said yes as no
    people: tuple[tuple[str, int, int], ...]
    agreement: Any = None
    counts: Any = None

    @property
    def verdict(self) -> str:
        said = f"{self.n_labelled:,} of {self.n_items:,} items labelled, {self.n_yes:,} yes"
        if self.n_undecided:
            said += f"; {self.n_undecided:,} with as many yes as no, to be decided"
        said += "."
        if self.counts is not None:
            said += f" {self.counts.verdict[0].upper()}{self.counts.verdict[1:]}"
        return said

    def table(self) -> list[dict[str, Any]]:
        """One row an annotator."""
        return [{"annotator": who, "items": n, "yes": yes} for who, n, yes in self.people]

    to_text = drawn_by("howsure.report.text.counts.labelled_text")


@dataclass(frozen=True, slots=True)
class DrawnStratum(Record):
    """Of a stratum: items, those labelled before, those drawn now, and the inclusion probability of each after that."""

    from_prob: float
    to_prob: float
    n_items: int
    n_labels: int
    n_drawn: int
    inclusion: float


@dataclass(frozen=True, slots=True)
class Drawn(Result):
    """Items to label, drawn with known probabilities. Made by `howsure.to_label`."""

    DRAWN = "n_drawn"
    SHOWN = "verdict n_items n_labels n_drawn n_groups? half_width out? strata apart?"
    __repr__ = shown_as("{n_drawn:,} of {n_items:,} items")

    n_items: int
    n_labels: int
    n_drawn: int
    half_width: float | None  # of the share's interval once these are labelled, about; None with groups
    strata: tuple[DrawnStratum, ...]
    rows: Any = None  # an Arrow table: all columns of the items, `stratum` and `inclusion`
    n_groups: int | None = None
    out: str | None = None
    apart: tuple[str, ...] = ()  # small cells drawn apart, so that each has a few labels

    @property
    def verdict(self) -> str:
        whole = "" if self.n_groups is None else f" in {self.n_groups:,} whole groups"
        before = f", beside {self.n_labels:,} that are labelled already" if self.n_labels else ""
        said = f"{self.n_drawn:,} of {self.n_items:,} items drawn to label{whole}{before}"
        if self.apart:
            cells = "cell is" if len(self.apart) == 1 else "cells are"
            said += f" ({len(self.apart):,} small {cells} drawn apart, so that each has a few labels)"
        if self.half_width is None:
            return f"{said}."
        return f"{said}; once they are, expect an interval of about ±{100 * self.half_width:.2g} points."

    def table(self) -> list[dict[str, Any]]:
        """One row a stratum."""
        return [s.to_dict() for s in self.strata]

    to_text = drawn_by("howsure.report.text.counts.drawn_text")


@dataclass(frozen=True, slots=True)
class Counts(Result):
    """How many items are positive. Made by `howsure.count`."""

    SHOWN = """verdict n_items n_labels n_positive n_groups? confidence_level design share count raw raw_share
        labels_only strata cells? trend? coefficients? need? check? notes"""
    __repr__ = shown_as("share {share!r} of {n_items:,} items from {n_labels:,} labels, {#cells} cells")

    n_items: int
    n_labels: int
    n_positive: int
    share: Estimate
    raw: float
    labels_only: Estimate
    strata: tuple[Stratum, ...]
    design: str
    confidence_level: float = 0.95
    cells: tuple[CellCount, ...] = ()
    trend: Estimate | None = None
    every: str | None = None
    by: str | None = None
    coefficients: tuple[Coefficient, ...] = ()
    n_groups: int | None = None
    need: Need | None = None
    check: Any = None
    notes: tuple[str, ...] = ()
    source: str = "arrays"

    @property
    def count(self) -> Estimate:
        """The number of positive items."""
        return self.share.times(self.n_items)

    @property
    def raw_share(self) -> float:
        """The mean of the probabilities."""
        return self.raw / self.n_items

    @property
    def verdict(self) -> str:
        """The share and count first, then what the model alone would have said, then how it moves."""
        low, high = self.share.limits
        model = percent(self.raw_share, max(self.share.value, high / 2))
        off = ", which is too high" if self.raw_share > high else ", which is too low" if self.raw_share < low else ""
        said = f"about {percent_range(self.share)}, {self.count.value:,.0f} of {self.n_items:,}; the model alone says {model}%{off}."
        if self.trend is not None:
            said += f" {_trend(self.trend, self.every)}"
        groups = [(x.share, x.name) for x in self.cells if not x.period and x.share is not None]
        if len(groups) > 1:
            order = sorted(groups, key=lambda x: -x[0].value)
            most, least = (f"{name} with {percent_range(share)}" for share, name in (order[0], order[-1]))
            said += f" Most: {most}; least: {least}."
        return said

    def table(self) -> list[dict[str, Any]]:
        """One row a cell, and one for all items together."""
        sums = (self.n_items, self.n_labels, self.n_positive, self.raw, self.count, self.share, self.labels_only)
        names = ("", "items", "labels", "sum of q", "count", "share", "labels only", "P(more)")
        rows = (
            (c.name, c.n_items, c.n_labels, c.raw, c.count, c.share, c.labels_only, c.change and c.change.p_more)
            for c in (*self.cells, CellCount("", "", *sums))
        )
        return [dict(zip(names, row, strict=True)) for row in rows]

    def headline(self) -> dict[str, str]:
        """The few numbers that stand above the picture in a notebook."""
        return {
            "share": percent_range(self.share),
            "count": f"{self.count.value:,.0f} of {self.n_items:,}",
            "sum of probabilities": f"{self.raw:,.0f}",
            "labels": f"{self.n_labels:,}",
        }

    figure = drawn_by("howsure.plots.counts.counts_figure")
    to_text = drawn_by("howsure.report.text.counts.counts_text")
    to_html = drawn_by("howsure.report.pages.counts_page")


def percent(value: float, like: float | None = None) -> str:
    """A share as a percentage, with as many places as `like` (by default itself) needs for two figures."""
    size = abs(100 * (value if like is None else like))
    places = 0 if size >= 99.95 else 1 if size >= 0.95 else 2 if size >= 0.095 else 3 if size >= 0.0095 else 4
    return f"{100 * value:.{places}f}"


def percent_range(share: Estimate) -> str:
    """4.4% (3.6 to 5.4)."""
    low, high = share.limits
    scale = max(share.value, high / 2)
    return f"{percent(share.value, scale)}% ({percent(low, scale)} to {percent(high, scale)})"


def _trend(t: Estimate, every: str | None) -> str:
    low, high = t.limits
    unit = f"points a {every or 'step'}"
    size = max(abs(low), abs(high))
    limits = f"({percent(low, size)} to {percent(high, size)})"
    if low > 0 or high < 0:
        way = "rises" if t.value > 0 else "falls"
        return f"It {way} by {percent(abs(t.value), size)} {unit} {limits}."
    return f"No clear trend: {percent(t.value, size)} {unit} {limits}."
