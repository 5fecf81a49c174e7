"""Columns of labels, wherever they are: what `howsure score` and `compare --pred` ask of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from howsure import _validate
from howsure._validate import Origin
from howsure.engines.columns import guessed_column, label_column
from howsure.engines.engine import Engine
from howsure.engines.files import Selection
from howsure.engines.label_counts import GroupCountsWork, LabelKeying, LabelWork, SpreadWork
from howsure.engines.labelled import label_texts, numbered_labels, text_sql
from howsure.engines.mapped import MappedRows, RightLabels
from howsure.engines.memory import ArrayRows
from howsure.engines.paired import PairedRows
from howsure.engines.paired_work import Models
from howsure.engines.pairs import Pairs, group_sql
from howsure.engines.rows import Rows, RowsRead
from howsure.engines.sources import open_table, rows_of
from howsure.engines.tables import Table, as_numpy, quoted
from howsure.errors import InputError
from howsure.evaluation.scores.spread import Spread, Spreading, SpreadLook
from howsure.kernels.cells import Ints


class LabelRows(RowsRead):
    """Gold, one or more systems, perhaps a second annotator and groups. Use it in a `with` block."""

    def __init__(
        self,
        rows: Rows,
        named: dict[str, str],
        groups: str | None,
        origin: Origin,
        table: Table | None = None,
        probs: tuple[Pairs, ...] = (),
    ) -> None:
        super().__init__(rows)
        self._named, self._origin, self._table, self._probs = named, origin, table, probs
        self.groups = groups

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

    @property
    def preds(self) -> dict[str, str]:
        """The systems' columns by what they are called."""
        return {name: key for key, name in self._named.items() if key.startswith("pred")}

    def group_counts(self) -> tuple[Ints, dict[str, Ints], Ints]:
        """Distinct rows of each group: the group's number, label numbers by column, and counts."""
        columns = tuple(self._named)
        groups, codes, count = self.by_group.fold(GroupCountsWork(columns)).together()
        if len(groups) and groups[-1] < 1:
            raise InputError("all rows are in one group; intervals need two groups at least.")
        return groups, {c: codes[:, i].astype(np.int64) for i, c in enumerate(columns)}, count

    def judged(self, positive: str | None) -> PairedRows | None:
        """The systems' probabilities that their labels are right or, given it, that the gold label is `positive`."""
        if not self._probs:
            return None
        rows = MappedRows(self._rows, RightLabels(self._probs, positive))
        pairs = tuple(replace(p, logits=False) for p in self._probs)
        return PairedRows(rows, Models(tuple(self.preds), pairs, own_labels=True), by=None, groups=self.groups)

    def spreading(self, column: str) -> Spreading | None:
        """Looks at the groups; None without groups."""
        return None if self.groups is None else partial(self._spread, column)

    def _spread(self, column: str, look: SpreadLook) -> Spread:
        made = self.by_group.fold(SpreadWork(look, column, len(self.labels)))
        if made.n_units < 2:
            raise InputError("all rows are in one group; intervals need two groups at least.")
        return made


def labels_from_arrays(
    y_true: Any,
    y_preds: Mapping[str, Any],
    *,
    groups: Any = None,
    second: Any = None,
    probs: Mapping[str, Any] | None = None,
    logits: bool = False,
) -> LabelRows:
    """Arrays in memory, of one length."""
    named = {"gold": "y_true"} | {f"pred{i}": name for i, name in enumerate(y_preds)}
    given = {"gold": y_true} | {f"pred{i}": v for i, v in enumerate(y_preds.values())}
    if second is not None:
        named["second"], given["second"] = "second", second
    if groups is not None:
        given["groups"] = groups
    arrays = {k: _validate.one_dimensional(v, named.get(k, k), numbers=False) for k, v in given.items()}
    quantities = {f"q{i}": _validate.one_dimensional(v, n) for i, (n, v) in enumerate((probs or {}).items())}
    _validate.same_length(**{named.get(k, k): v for k, v in arrays.items()}, **quantities)
    columns: dict[str, Any] = {k: label_texts(v) for k, v in arrays.items()}
    if groups is not None:
        encoded = columns["groups"].dictionary_encode()
        columns["groups"] = encoded.indices if encoded.null_count else as_numpy(encoded.indices).astype(np.uint64)
    pairs = tuple(Pairs(Origin("y_true", name), logits=logits) for name in probs or {})
    return LabelRows(
        ArrayRows(columns | quantities), named, None if groups is None else "groups", Origin(), probs=pairs
    )


def labels_from_table(
    source: Any,
    true: str | None,
    preds: list[str] | None,
    *,
    groups: str | None = None,
    second: str | None = None,
    probs: list[str] | None = None,
    logits: bool = False,
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
        numbers = [table.column(p).name for p in probs or []]
        wanted |= {f"q{i}": f"TRY_CAST({quoted(c)} AS DOUBLE)" for i, c in enumerate(numbers)}
        rows = rows_of(table, Selection(wanted, where), engine)
    except BaseException:
        table.close()
        raise
    named = {key: c.name for key, c in texts.items()} | ({} if second is None else {"second": second})
    pairs = tuple(Pairs(Origin(gold.name, name, "", 0, True), logits=logits) for name in numbers)
    return LabelRows(rows, named, groups, Origin(gold.name, "", "", 0, True), table, pairs)


def predicted_column(table: Table, true: str | None) -> str:
    """The column that is named like a prediction."""
    names = ["pred", "preds", "prediction", "predicted", "ypred", "system", "output", "predictedlabel"]
    return guessed_column(table, names, "prediction", "--pred", skip={true}).name
