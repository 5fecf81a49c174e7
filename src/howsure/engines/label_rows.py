"""Columns of labels, wherever they are: what `howsure score` asks of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from howsure import _validate
from howsure._validate import Origin
from howsure.engines.columns import guessed_column, label_column
from howsure.engines.engine import Engine
from howsure.engines.files import Selection
from howsure.engines.label_counts import LabelKeying, LabelWork, SpreadWork
from howsure.engines.labelled import label_texts, numbered_labels, text_sql
from howsure.engines.memory import ArrayRows
from howsure.engines.pairs import group_sql
from howsure.engines.rows import Rows
from howsure.engines.sources import open_table, rows_of
from howsure.engines.tables import Table, as_numpy
from howsure.errors import InputError
from howsure.evaluation.spread import Spread, Spreading, SpreadLook
from howsure.kernels.cells import Ints


class LabelRows:
    """Gold, one or more systems, perhaps a second annotator and groups. Use it in a `with` block."""

    def __init__(
        self, rows: Rows, named: dict[str, str], groups: str | None, origin: Origin, table: Table | None = None
    ) -> None:
        self._rows, self._named, self._origin, self._table = rows, named, origin, table
        self._keyed: Rows | None = None
        self.groups = groups

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._keyed is not None:
            self._keyed.close()
        self._rows.close()

    @property
    def name(self) -> str:
        """Of the source."""
        return self._rows.name

    @property
    def notes(self) -> tuple[str, ...]:
        """What the result must say of how it was read."""
        return () if self._table is None else self._table.notes

    @cached_property
    def _counted(self) -> tuple[dict[str, Ints], Ints, tuple[str, ...], tuple[tuple[str, int], ...]]:
        found = self._rows.fold(LabelWork(tuple(self._named)))
        if not len(found.count):
            raise InputError("there are no rows to score.")
        columns = {key: found.codes[:, i] for i, key in enumerate(self._named)}
        codes, names, keep, lost = numbered_labels(columns, found.count, found.index, self._named)
        return codes, found.count[keep], names, lost

    @property
    def codes(self) -> dict[str, Ints]:
        """Distinct rows that miss no label, as numbers by column: gold, pred0, … second."""
        return self._counted[0]

    @property
    def count(self) -> Ints:
        """How many rows are like each."""
        return self._counted[1]

    @property
    def labels(self) -> tuple[str, ...]:
        """What the numbers stand for."""
        return self._counted[2]

    @property
    def left_out(self) -> tuple[tuple[str, int], ...]:
        """Rows that miss a label, by column."""
        return self._counted[3]

    @property
    def by_group(self) -> Rows:
        """The rows' numbers, together by group."""
        if self._keyed is None:
            assert self.groups is not None
            self._keyed = self._rows.by_key(LabelKeying(tuple(self._named), self.labels, self.groups, self._origin))
        return self._keyed

    def spreading(self, column: str) -> Spreading | None:
        """Looks at the groups; None without groups."""
        return None if self.groups is None else partial(self._spread, column)

    def _spread(self, column: str, look: SpreadLook) -> Spread:
        made = self.by_group.fold(SpreadWork(look, column, len(self.labels)))
        if made.n_units < 2:
            raise InputError("all rows are in one group; intervals need two groups at least.")
        return made


def labels_from_arrays(y_true: Any, y_preds: Mapping[str, Any], *, groups: Any = None, second: Any = None) -> LabelRows:
    """Arrays in memory, of one length."""
    named = {"gold": "y_true"} | {f"pred{i}": name for i, name in enumerate(y_preds)}
    given = {"gold": y_true} | {f"pred{i}": v for i, v in enumerate(y_preds.values())}
    if second is not None:
        named["second"], given["second"] = "second", second
    if groups is not None:
        given["groups"] = groups
    arrays = {k: _validate.one_dimensional(v, named.get(k, k), numbers=False) for k, v in given.items()}
    _validate.same_length(**{named.get(k, k): v for k, v in arrays.items()})
    columns: dict[str, Any] = {k: label_texts(v) for k, v in arrays.items()}
    if groups is not None:
        encoded = columns["groups"].dictionary_encode()
        columns["groups"] = encoded.indices if encoded.null_count else as_numpy(encoded.indices).astype(np.uint64)
    return LabelRows(ArrayRows(columns), named, None if groups is None else "groups", Origin())


def labels_from_table(
    source: Any,
    true: str | None,
    preds: list[str] | None,
    *,
    groups: str | None = None,
    second: str | None = None,
    where: str | None = None,
    engine: Engine = Engine(),  # noqa: B008  (frozen)
) -> LabelRows:
    """Columns of a table of any size; without `preds`, the one that is named like a prediction."""
    table = open_table(source, engine)
    try:
        columns = [table.column(p) for p in (preds or [predicted_column(table, true)])]
        names = [c.name for c in columns]
        gold = label_column(table, true, skip=set(names))
        if len(set(names)) < len(names) or gold.name in names:
            raise InputError("each --pred column may be named once, and none of them is --true.")
        texts = {"gold": gold} | {f"pred{i}": c for i, c in enumerate(columns)}
        if second is not None:
            texts["second"] = table.column(second)
        wanted = {key: text_sql(c) for key, c in texts.items()}
        if groups is not None:
            wanted["groups"] = group_sql(table.column(groups).name)
        rows = rows_of(table, Selection(wanted, where), engine)
    except BaseException:
        table.close()
        raise
    named = {key: c.name for key, c in texts.items()} | ({} if second is None else {"second": second})
    return LabelRows(rows, named, groups, Origin(gold.name, "", "", 0, True), table)


def predicted_column(table: Table, true: str | None) -> str:
    """The column that is named like a prediction."""
    names = ["pred", "preds", "prediction", "predicted", "ypred", "system", "output", "predictedlabel"]
    return guessed_column(table, names, "prediction", "--pred", skip={true}).name
