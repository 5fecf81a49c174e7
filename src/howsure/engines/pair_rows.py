"""Labels and probabilities, wherever they are: what `howsure check` asks of an engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure._validate import Origin
from howsure.calibration.groups.clusters import Parts
from howsure.calibration.sketch import Sketch
from howsure.engines.columns import PairColumns, check_positive, pair_columns
from howsure.engines.engine import Engine
from howsure.engines.grouping import GroupedRows, GroupKeying
from howsure.engines.memory import ArrayRows
from howsure.engines.pairs import Batch, Pairs, arrow_text, group_numbers, pair_selection
from howsure.engines.rows import Chunk, Rows, RowsRead, Work
from howsure.engines.sketching import SketchWork, SliceKeying, SliceRowsKeying, SliceRowsWork, SlicesFound, SliceWork
from howsure.engines.sources import open_table, rows_of
from howsure.engines.tables import Table


@dataclass(frozen=True, slots=True)
class CollectWork(Work[list[tuple[int, Batch]]]):
    """The rows themselves, with the number of the first row of each batch."""

    pairs: Pairs

    def gather(self, chunks: Iterator[Chunk]) -> list[tuple[int, Batch]]:
        return [(c.first or 0, self.pairs.batch(c)) for c in chunks]


class PairRows(RowsRead):
    """Rows of pairs with, perhaps, weights, slices and groups. Use it in a `with` block."""

    def __init__(
        self,
        rows: Rows,
        pairs: Pairs,
        *,
        by: str | None,
        groups: str | None,
        weighted: bool,
        where: str | None = None,
        table: tuple[Table, PairColumns] | None = None,
    ) -> None:
        super().__init__(rows)
        self._pairs, self._weighted, self._table = pairs, weighted, table
        self.by, self.groups, self.where = by, groups, where

    @property
    def prob(self) -> str:
        """What the probabilities are called."""
        return self._pairs.origin.prob

    @property
    def notes(self) -> tuple[str, ...]:
        """What the result must say of how it was read."""
        return () if self._table is None else self._table[0].notes

    def check_positive(self, n_positive: int) -> None:
        """A --positive value that no row has is a slip."""
        if self._table is not None:
            check_positive(*self._table, n_positive, self.where)

    def sketch(self, width: int | None) -> Sketch:
        """Of all rows."""
        return self._rows.fold(SketchWork(self._pairs, width))

    def slices(self, bins: int | str | None, level: float) -> SlicesFound:
        """Each slice analysed, and the sketch of all rows."""
        if self.groups is None:
            with self._rows.by_key(SliceKeying(self._pairs)) as by_slice:
                return by_slice.fold(SliceWork(bins, level))
        with self._rows.by_key(SliceRowsKeying(self._pairs, self._weighted)) as rows_by_slice:
            return rows_by_slice.fold(SliceRowsWork(bins, level))

    def collected(self) -> Batch:
        """All rows, in memory, in their order."""
        numbered = self._rows.fold(CollectWork(self._pairs))
        held = [batch for _, batch in sorted(numbered, key=lambda found: found[0])]  # threads read in any order

        def together(name: str) -> Any:
            parts = [getattr(b, name) for b in held]
            return None if parts[0] is None else np.concatenate(parts)

        if not held:
            return Batch(np.zeros(0, np.uint8), np.zeros(0), None, None, None)
        return Batch(together("y"), together("q"), None, None, together("groups"))

    @contextmanager
    def grouped(self, parts: Parts) -> Iterator[GroupedRows | None]:
        """The rows by group, filed under bins; None without groups."""
        if self.groups is None:
            yield None
            return
        with self._rows.by_key(GroupKeying(self._pairs, self._weighted)) as by_group:
            yield GroupedRows(by_group, parts)


def pairs_from_arrays(
    y_true: NDArray[Any],
    y_prob: NDArray[Any],
    sample_weight: NDArray[Any] | None = None,
    by: NDArray[Any] | None = None,
    groups: NDArray[Any] | None = None,
    *,
    logits: bool = False,
) -> PairRows:
    """Arrays in memory, of one length."""
    columns: dict[str, Any] = {"y": y_true, "q": y_prob}
    if sample_weight is not None:
        columns["weight"] = sample_weight
    if by is not None:
        columns["by"] = arrow_text(by, "by")
    if groups is not None:
        columns["groups"] = group_numbers(groups)
    return PairRows(
        ArrayRows(columns),
        Pairs(logits=logits),
        by=None if by is None else "by",
        groups=None if groups is None else "groups",
        weighted=sample_weight is not None,
    )


def pairs_from_table(
    source: Any,
    *,
    prob: str | None,
    true: str | None,
    positive: Any = None,
    where: str | None = None,
    weight: str | None = None,
    by: str | None = None,
    groups: str | None = None,
    logits: bool = False,
    engine: Engine = Engine(),  # noqa: B008  (frozen)
) -> PairRows:
    """Columns of a table of any size."""
    table = open_table(source, engine)
    try:
        columns = pair_columns(table, prob, true, positive, where)
        named = {
            key: None if name is None else table.column(name).name
            for key, name in (("weight", weight), ("by", by), ("groups", groups))
        }
        rows = rows_of(table, pair_selection(columns, **named, where=where), engine)
    except BaseException:
        table.close()
        raise
    origin = Origin(columns.true.name, columns.prob.name, weight or "", 0, True)
    return PairRows(
        rows,
        Pairs(origin, named["groups"] or "", logits),
        by=named["by"],
        groups=named["groups"],
        weighted=weight is not None,
        where=where,
        table=(table, columns),
    )
