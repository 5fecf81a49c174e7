"""The same rows scored by several models, wherever they are: what `howsure compare` asks of an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import Origin
from howsure.calibration.comparing.paired_groups import PairedLook, PairedPiece
from howsure.calibration.comparing.paired_rows import Plan, RowSums
from howsure.calibration.groups.clusters import Parts
from howsure.calibration.groups.moments import Grouped
from howsure.calibration.sketch import Sketch
from howsure.engines.columns import PairColumns, check_positive, pair_columns
from howsure.engines.engine import Engine
from howsure.engines.files import Selection
from howsure.engines.grouping import GroupedRows
from howsure.engines.memory import ArrayRows
from howsure.engines.paired_work import (
    ModelKeying,
    ModelRows,
    Models,
    PairedLookWork,
    RowSumsWork,
    SketchesWork,
    SliceFound,
    SlicePairsWork,
    itself,
)
from howsure.engines.pairs import Pairs, arrow_text, group_sql
from howsure.engines.rows import Rows, RowsRead
from howsure.engines.sources import open_table, rows_of
from howsure.engines.tables import Table, as_numpy, first_missing, quoted
from howsure.errors import InputError
from howsure.kernels.cells import Ints

T = TypeVar("T")


class PairedRows(RowsRead):
    """Rows with labels, a probability per model and, perhaps, slices and groups. Use it in a `with` block."""

    def __init__(
        self,
        rows: Rows,
        models: Models,
        *,
        by: str | None,
        groups: str | None,
        where: str | None = None,
        table: tuple[Table, PairColumns] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(rows)
        self._models, self._table, self._notes = models, table, notes
        self._piece: tuple[Plan, PairedPiece] | None = None
        self.by, self.groups, self.where = by, groups, where

    @property
    def models(self) -> tuple[str, ...]:
        """Their names."""
        return self._models.names

    @property
    def notes(self) -> tuple[str, ...]:
        """What the result must say of how it was read."""
        return self._notes if self._table is None else self._table[0].notes

    @cached_property
    def _sketches(self) -> tuple[Sketch, ...]:
        made = self._rows.fold(SketchesWork(self._models)).each
        if self._table is not None:
            check_positive(*self._table, made[0].n_positive, self.where)
        if not made[0].n:
            raise InputError("there are no rows to compare.")
        return made

    def sketches(self) -> Sequence[Sketch]:
        """Each model's, in one pass."""
        return self._sketches

    def row_sums(self, plan: Plan) -> RowSums:
        """What independent rows add up to, in a second pass."""
        return self._rows.fold(RowSumsWork(self._models, plan))

    def clusters(self, model: int, filed: Parts) -> Grouped | None:
        """One model's rows by group."""
        return None if self.groups is None else GroupedRows(ModelRows(self._by_group, model), filed)

    def look(self, plan: Plan, at: PairedLook[T]) -> T:
        """What is seen of the groups, all models side by side."""
        if not self._by_group.is_one_piece:
            return cast(T, self._by_group.fold(PairedLookWork(plan, at)))
        if self._piece is None or self._piece[0] is not plan:
            self._piece = plan, self._by_group.fold(PairedLookWork(plan, itself))
        return at(self._piece[1])

    @property
    def _by_group(self) -> Rows:
        if self._keyed is None:
            self._keyed = self._rows.by_key(ModelKeying(self._models, sliced=False, grouped=True))
        return self._keyed

    def slices(self, level: float) -> tuple[SliceFound, ...]:
        """Each slice compared in memory; none without `by`."""
        if self.by is None:
            return ()
        with self._rows.by_key(ModelKeying(self._models, sliced=True, grouped=self.groups is not None)) as by_slice:
            return by_slice.fold(SlicePairsWork(self.models, level))


def numbered(values: pa.Array, what: str, origin: Origin) -> Ints:
    """Groups numbered from 0; none may be missing."""
    encoded = values.dictionary_encode()
    if encoded.null_count:
        raise InputError(f"`{what}` is missing in {origin.at(first_missing(encoded))}; every row needs a group.")
    return as_numpy(encoded.indices).astype(np.int64)


def paired_arrays(
    y_true: NDArray[Any],
    y_probs: dict[str, NDArray[Any]],
    groups: NDArray[Any] | None = None,
    by: NDArray[Any] | None = None,
    *,
    logits: bool = False,
) -> PairedRows:
    """Arrays in memory, of one length."""
    origin = Origin()
    columns: dict[str, Any] = {"y": _validate.labels(y_true, origin)}
    columns |= {f"q{i}": q for i, q in enumerate(y_probs.values())}
    if groups is not None:
        columns["groups"] = numbered(arrow_text(groups, "groups"), "groups", origin).astype(np.uint64)
    if by is not None:
        columns["by"] = arrow_text(by, "by")
    pairs = tuple(Pairs(replace(origin, prob=name), logits=logits) for name in y_probs)
    return PairedRows(
        ArrayRows(columns),
        Models(tuple(y_probs), pairs),
        by=None if by is None else "by",
        groups=None if groups is None else "groups",
    )


def paired_table(
    source: Any,
    probs: list[str],
    *,
    true: str | None = None,
    positive: Any = None,
    where: str | None = None,
    groups: str | None = None,
    by: str | None = None,
    logits: bool = False,
    engine: Engine = Engine(),  # noqa: B008  (frozen)
) -> PairedRows:
    """Several probability columns of one table of any size."""
    table = open_table(source, engine)
    try:
        names = [table.column(p).name for p in probs]
        if len(set(names)) < len(names):
            raise InputError("each --prob column may be named once.")
        columns = [pair_columns(table, name, true, positive, where) for name in names]
        named = {key: None if c is None else table.column(c).name for key, c in (("groups", groups), ("by", by))}
        rows = rows_of(table, _selection(columns, **named, where=where), engine)
    except BaseException:
        table.close()
        raise
    origin = Origin(columns[0].true.name, "", "", 0, True)
    pairs = tuple(Pairs(replace(origin, prob=name), named["groups"] or "", logits) for name in names)
    models = Models(tuple(names), pairs)
    return PairedRows(rows, models, by=named["by"], groups=named["groups"], where=where, table=(table, columns[0]))


def _selection(
    columns: list[PairColumns], groups: str | None = None, by: str | None = None, where: str | None = None
) -> Selection:
    label = columns[0]
    made = {"y": label.true_sql} | {f"q{i}": c.prob_sql for i, c in enumerate(columns)}
    if by is not None:
        made["by"] = f"CAST({quoted(by)} AS VARCHAR)"
    if groups is not None:
        made["groups"] = group_sql(groups)
    plain = None
    if (
        label.positive is None
        and label.true.is_number
        and all(c.prob.is_number for c in columns)
        and not (by or groups)
    ):
        plain = {"y": label.true.name} | {f"q{i}": c.prob.name for i, c in enumerate(columns)}
    return Selection(made, where, {f"q{i}": c.prob.name for i, c in enumerate(columns)}, plain)
