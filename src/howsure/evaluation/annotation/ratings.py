"""Who gave which item which label: three parallel arrays of codes, sorted, and the names behind the codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from howsure import _validate
from howsure._result import shown_as
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints


@dataclass(frozen=True)
class Ratings:
    """Ratings sorted by item, then annotator; each annotator rates an item once at most.

    Codes follow the names in order, so that the order of the rows that they were read from makes no difference.
    Labels that are all numbers are ordered as numbers; otherwise the order is the alphabet's, unless it was given.
    """

    item: Ints
    annotator: Ints
    label: Ints
    items: tuple[str, ...]
    annotators: tuple[str, ...]
    labels: tuple[str, ...]
    values: Floats | None = None  # of the labels: numbers, or 0, 1, 2 … for an order that was given
    gold: Ints | None = None  # the label of each item, -1 where it is not known
    groups: Ints | None = None  # of each item
    left_out: Mapping[str, int] = field(default_factory=dict)  # reason: rows
    source: str = "arrays"

    __repr__ = shown_as("{#label:,} labels of {#items:,} items by {#annotators:,} annotators, {#labels} classes")

    @property
    def n_labels(self) -> int:
        return len(self.label)

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def n_annotators(self) -> int:
        return len(self.annotators)

    @cached_property
    def per_item(self) -> Ints:
        """How many ratings each item has."""
        return np.bincount(self.item, minlength=len(self.items))

    @cached_property
    def cells(self) -> tuple[Ints, Ints, Ints]:
        """(item, label, count) wherever the count is not 0, sorted."""
        k = len(self.labels)
        key, count = np.unique(self.item * k + self.label, return_counts=True)
        return key // k, key % k, count

    @cached_property
    def counts(self) -> Any:
        """The same as a sparse (items, labels) matrix of floats."""
        from scipy.sparse import csr_array

        item, label, count = self.cells
        return csr_array((count.astype(np.float64), (item, label)), shape=(len(self.items), len(self.labels)))

    @property
    def n_groups(self) -> int | None:
        """How many groups there are, if any were given."""
        return None if self.groups is None else int(self.groups.max()) + 1


def ordered_labels(names: Sequence[str], order: Sequence[str] | None) -> tuple[tuple[str, ...], Floats | None, Ints]:
    """The labels in their order, their values if they have any, and where each of `names` went.

    Names that are the same number (`1` and `1.0`) become one label.
    """
    numbers = _numbers(names) if order is None else None
    if numbers is None:
        listed = sorted(set(names)) if order is None else [str(o) for o in order]
        place = {name: i for i, name in enumerate(listed)}
        if len(place) < len(listed):
            raise InputError("`order=` names a label twice.")
        for lost in (n for n in names if n not in place):
            raise InputError(f"`order=` must name every label; `{lost}` is not in it.{_validate.nearest(lost, listed)}")
        ranks = None if order is None else np.arange(len(listed), dtype=np.float64)
        return tuple(listed), ranks, np.array([place[n] for n in names], np.int64)
    values, codes = np.unique(numbers, return_inverse=True)
    shown: dict[int, str] = {}
    for name, code in zip(names, codes.tolist(), strict=True):
        shown[code] = min(shown.get(code, name), name, key=lambda n: (len(n), n))
    return tuple(shown[i] for i in range(len(values))), values, codes.astype(np.int64)


def _numbers(names: Sequence[str]) -> Floats | None:
    try:
        values = np.array([float(n) for n in names])
    except ValueError:
        return None
    return values if len(values) and np.isfinite(values).all() else None


def made_ratings(
    item: Ints,
    annotator: Ints,
    label: Ints,
    *,
    items: Sequence[str],
    annotators: Sequence[str],
    labels: Sequence[str],
    order: Sequence[str] | None = None,
    gold: Ints | None = None,
    groups: Ints | None = None,
    left_out: Mapping[str, int] | None = None,
    source: str = "arrays",
) -> Ratings:
    """Ratings from codes in any order; of an annotator's several labels of an item, the first counts."""
    names, values, moved = ordered_labels(labels, order)
    by_name = np.lexsort((np.arange(len(item)), annotator, item))  # stable: first rows first
    item, annotator, label = item[by_name], annotator[by_name], moved[label[by_name]]
    again = (np.diff(item, prepend=-1) == 0) & (np.diff(annotator, prepend=-1) == 0)
    reasons = {k: v for k, v in (left_out or {}).items() if v}
    if again.any():
        reasons["the same annotator had labelled the item before (the first label counts)"] = int(again.sum())
    true = None if gold is None else np.where(gold < 0, -1, moved[np.maximum(gold, 0)])
    people = tuple(items), tuple(annotators), names, values, true, groups, reasons, source
    return Ratings(item[~again], annotator[~again], label[~again], *people)
