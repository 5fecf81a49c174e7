"""Items: named columns with roles, read from arrays or from a table on any engine. What every table verb reads.

Roles, by the name of their column in a chunk: `y` (a label of 0 and 1, or an outcome), `q0`, `q1`, … (a probability for
each model or class, a draw or a quantile), `gold`, `pred0`, `pred1`, …, `second` (labels as text), `weight`, `by` (the
slice), `groups` and `sentence` (64-bit hashes, or numbers of arrays). `check` reads one probability, `compare` k of them,
`score` labels, many classes a label and K probabilities, a forecast an outcome with its draws or quantiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from howsure import _validate, _written
from howsure._validate import BadRow, Origin
from howsure.engines import arrow as pa
from howsure.engines.columns import (
    check_positive,
    group_sql,
    label_sql,
    number_sql,
    probability_sql,
    text_sql,
    value_sql,
)
from howsure.engines.engine import Engine
from howsure.engines.files import Selection, TableRows
from howsure.engines.rows import ArrayRows, Chunk, Rows
from howsure.engines.tables import Column, Table, as_arrow, as_numpy, first_missing
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Batch:
    """Checked rows: the labels and probabilities of each model, and what else was asked for."""

    ys: tuple[NDArray[np.uint8], ...]
    qs: tuple[Floats, ...]
    weight: Ints | None = None
    by: pa.Array | None = None
    groups: NDArray[np.uint64] | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """What the columns are called, for messages, and how they are read. Picklable: it is sent to where the rows are."""

    true: str = "y_true"
    probs: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()  # role and name: gold, pred0, …, second
    weight: str | None = None
    by: str | None = None
    groups: str | None = None
    sentence: str | None = None
    scale: str | None = None  # of the probabilities, as asked for; None: as probabilities, until a survey tells
    scales: tuple[str, ...] = ()  # of each column, as a survey found them
    missing: str = "drop"  # what becomes of rows without a probability or a label
    leaves_out: bool = False  # there are such rows, and they are left out
    from_file: bool = False
    judged: bool = False  # y is whether a predicted label is right or, with `positive`, the gold one that
    positive: Any = None

    @property
    def named(self) -> dict[str, str]:
        """Columns of labels by role."""
        return dict(self.labels)

    @property
    def preds(self) -> dict[str, str]:
        """The roles of the systems' labels by what the systems are called."""
        return {name: role for role, name in self.labels if role.startswith("pred")}

    def origin(self, chunk: Chunk, model: int = 0) -> Origin:
        """Where the chunk's rows are from."""
        prob = self.probs[model] if self.probs else ""
        numbered = chunk.first is not None
        return Origin(self.true, prob, self.weight or "", chunk.first or 0, self.from_file, numbered)

    def scale_of(self, model: int) -> str | None:
        """The scale of a column of probabilities."""
        return self.scales[model] if self.scales else self.scale

    def pairs(self, chunk: Chunk) -> Iterator[tuple[Any, Any, Any, Origin, str | None]]:
        """Label, probability, weight, origin and scale, of each model: unchecked where possible."""
        if self.judged or self.leaves_out:
            batch = self.batch(chunk)
            for model, (y, q) in enumerate(zip(batch.ys, batch.qs, strict=True)):
                yield y, q, batch.weight, self.origin(chunk, model), None
            return
        weight = chunk.get("weight")
        w = None if weight is None else numbers(weight)
        y = numbers(chunk["y"])
        for model in range(len(self.probs)):
            yield y, numbers(chunk[f"q{model}"]), w, self.origin(chunk, model), self.scale_of(model)

    def batch(self, chunk: Chunk) -> Batch:
        """The chunk, checked."""
        if self.judged:
            return self._judged(chunk)
        weight, by = chunk.get("weight"), chunk.get("by")
        w = None if weight is None else _validate.weights(numbers(weight), self.origin(chunk))
        groups = None if self.groups is None else self.group_ids(chunk, "group")
        if self.leaves_out:
            keep, held = self.complete(chunk)
            if not keep.all():
                chunk = Chunk({role: values[keep] for role, values in held.items()})
                w = None if w is None else w[keep]
                groups = None if groups is None else groups[keep]
                by = None if by is None else by.filter(as_arrow(keep))
        y = _validate.labels(numbers(chunk["y"]), self.origin(chunk))
        return Batch((y,) * len(self.probs), self.probabilities(chunk), w, by, groups)

    def complete(self, chunk: Chunk) -> tuple[NDArray[np.bool_], dict[str, NDArray[Any]]]:
        """Which rows have a label and all probabilities; and those columns."""
        held = {role: numbers(chunk[role]) for role in ("y", *(f"q{i}" for i in range(len(self.probs))))}
        lacking = [np.isnan(v) for v in held.values() if v.dtype.kind == "f"]
        return ~np.any([*lacking, np.zeros(len(held["y"]), np.bool_)], axis=0), held

    def probabilities(self, chunk: Chunk) -> tuple[Floats, ...]:
        """The columns of probabilities, checked."""
        return tuple(
            _validate.probabilities(numbers(chunk[f"q{i}"]), self.origin(chunk, i), scale=self.scale_of(i))
            for i in range(len(self.probs))
        )

    def settled(self, survey: Survey) -> tuple[Items, tuple[str, ...]]:
        """How the rows that a survey saw are to be read, and what to say of it; an error if that is unclear."""
        origin = Origin(self.true, from_file=self.from_file, numbered=survey.numbered)
        lost = survey.lost(self)
        if lost and self.missing != "drop":
            first = min(s.first_missing for s in survey.columns.values() if s.first_missing is not None)
            way = "`missing='drop'` leaves such rows out."
            raise BadRow(f"{lost}, the first of them {origin.at(first)}; {way}", first)
        if survey.incomplete == survey.columns["y"].n:
            raise BadRow(f"{lost}: nothing is left.", 0)
        label, scales, said = survey.columns["y"], [], []
        if label.first is not None:
            raise _validate.no_label(origin, *label.first)
        for model, name in enumerate(self.probs):
            seen = survey.columns[f"q{model}"]
            scales.append(self.scale or _written.recognised_scale(seen, replace(origin, prob=name)))
            if scales[-1] == "percent" and self.scale is None:
                said.append(
                    f"`{name}` runs from {seen.low:.4g} to {seen.high:.4g}: read as percentages (`scale='percent'`)."
                )
        if lost:
            said.append(f"{lost}: left out (`missing='error'` refuses instead).")
        return replace(self, scales=tuple(scales), leaves_out=bool(lost)), tuple(said)

    def group_ids(self, chunk: Chunk, what: str = "one", role: str = "groups") -> NDArray[np.uint64]:
        """The groups (or sentences) of a chunk; none may be missing."""
        column = chunk[role]
        if not isinstance(column, np.ndarray) and column.null_count:
            origin, i = self.origin(chunk), first_missing(column)
            name = self.groups if role == "groups" else self.sentence
            need = what if what == "one" else f"a {what}"
            raise BadRow(f"`{name}` is missing in {origin.at(i)}; every row needs {need}.", origin.first + i)
        return numbers(column).astype(np.uint64, copy=False)

    def _judged(self, chunk: Chunk) -> Batch:
        """Rows that miss a label are left out, but their probabilities are checked too."""
        import pyarrow.compute as pc

        gold, preds = chunk["gold"], [chunk[role] for role in self.preds.values()]
        keep = np.all([as_numpy(c.is_valid()) for c in (gold, *preds)], axis=0)
        ys = []
        for pred in preds:
            right = pc.equal(gold, pred if self.positive is None else pa.scalar(self.positive, gold.type))
            ys.append(as_numpy(pc.fill_null(right, False)).astype(np.uint8)[keep])
        qs = tuple(q[keep] for q in self.probabilities(chunk))
        groups = None if self.groups is None else numbers(chunk["groups"]).astype(np.uint64, copy=False)[keep]
        return Batch(tuple(ys), qs, groups=groups)


@dataclass(frozen=True, slots=True)
class Survey:
    """What is in the columns of labels and probabilities, by role; made where a first reading met a row it refused."""

    columns: dict[str, _written.Seen]
    incomplete: int  # rows that miss one of these
    numbered: bool

    def __add__(self, other: Survey) -> Survey:
        columns = {role: seen + other.columns[role] for role, seen in self.columns.items()}
        return Survey(columns, self.incomplete + other.incomplete, self.numbered and other.numbered)

    def lost(self, items: Items) -> str:
        """How many rows miss what; empty if none does."""
        names = {"y": items.true} | {f"q{i}": name for i, name in enumerate(items.probs)}
        found = [(names[role], seen.missing) for role, seen in self.columns.items() if seen.missing]
        return rows_without(self.incomplete, self.columns["y"].n, found) if found else ""


def rows_without(incomplete: int, n: int, found: Sequence[tuple[str, int]]) -> str:
    """How many of n rows miss something: the columns, each with how often it is missing."""
    each = " or ".join(f"no `{name}`" + (f" ({k:,})" if len(found) > 1 else "") for name, k in found)
    return f"{incomplete:,} of {n:,} rows {'has' if incomplete == 1 else 'have'} {each}"


def surveyed(n_models: int, chunks: Iterator[Chunk]) -> Survey:
    """A look at all labels and probabilities, whatever they are."""
    roles = ["y", *(f"q{i}" for i in range(n_models))]
    total = Survey({r: _written.Seen.of(np.zeros(0), 0) for r in roles}, 0, True)
    for chunk in chunks:
        held = {role: numbers(chunk[role]).astype(np.float64) for role in roles}
        columns = {r: _written.Seen.of(v, chunk.first or 0, label=r == "y") for r, v in held.items()}
        incomplete = int(np.isnan(np.stack(list(held.values()))).any(axis=0).sum())
        total += Survey(columns, incomplete, chunk.first is not None)
    return total


def numbers(column: Any) -> NDArray[Any]:
    """A column of numbers as NumPy."""
    return column if isinstance(column, np.ndarray) else as_numpy(column)


class ItemRows:
    """Items and the rows that have them; `by_group` is made at first use. Use it in a `with` block."""

    def __init__(
        self,
        rows: Rows,
        items: Items,
        table: Table | None = None,
        where: str | None = None,
        notes: Sequence[str] = (),
        *,
        borrowed: bool = False,
    ) -> None:
        """The rows close the table; `borrowed` ones are closed by their owner."""
        self.rows, self.items, self.table, self.where = rows, items, table, where
        self._notes, self._borrowed = tuple(notes), borrowed
        self.keyed: Rows | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.keyed is not None:
            self.keyed.close()
        if not self._borrowed:
            self.rows.close()

    @property
    def name(self) -> str:
        """Of the source."""
        return self.rows.name

    @property
    def notes(self) -> tuple[str, ...]:
        """What a result must say of how it was read."""
        return self._notes if self.table is None else (*self.table.notes, *self._notes)

    def analysed(self, analysis: Callable[[ItemRows], R]) -> R:
        """`analysis` of the rows as probabilities and labels or, where a row is refused, as a survey of all rows says.

        Rows that are plain probabilities are read once, and nothing is looked for.
        """
        try:
            return analysis(self)
        except BadRow as bad:
            if self.items.labels or "y" not in self.rows.roles:
                raise
            refused = bad
        rows = self.rows.unchecked()
        items, said = self.items.settled(rows.fold(partial(surveyed, len(self.items.probs))))
        if not items.leaves_out and items.scales == (self.items.scale or "probability",) * len(items.probs):
            raise refused  # for another reason
        return analysis(ItemRows(rows, items, self.table, self.where, (*self._notes, *said), borrowed=True))

    def check_positive(self, n_positive: int) -> None:
        """A `positive` value that no row has is a slip."""
        if self.table is not None and self.items.positive is not None and not n_positive:
            check_positive(self.table, self.items.true, self.items.positive, self.where)

    def collected(self) -> Batch | None:
        """All pairs in memory, checked, in the order of the rows; None if there are none."""
        roles = ["y", *(f"q{i}" for i in range(len(self.items.probs)))]
        held = self.held(*roles, *(r for r in ("groups", "by") if getattr(self.items, r) is not None))
        return self.items.batch(Chunk(held, 0)) if held and len(held["y"]) else None

    def judged(self, positive: str | None) -> ItemRows:
        """The same rows as pairs: the probability that each label is right or, given it, that the gold is `positive`."""
        return ItemRows(self.rows, replace(self.items, judged=True, positive=positive), borrowed=True)

    def held(self, *roles: str) -> dict[str, Any]:
        """Columns in memory, in the order of the rows: numbers as NumPy, all else as Arrow."""
        found = sorted(self.rows.fold(partial(_held, roles)), key=lambda part: part[0])  # threads read in any order
        made = {}
        for role in roles if found else ():
            parts = [columns[role] for _, columns in found]
            if isinstance(parts[0], np.ndarray):
                made[role] = np.concatenate(parts)
            else:
                whole = pa.chunked_array(parts).combine_chunks()
                made[role] = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
        return made


def _held(roles: tuple[str, ...], chunks: Iterator[Chunk]) -> list[tuple[int, dict[str, Any]]]:
    """The columns themselves, with the number of the first row of each chunk."""
    return [(c.first or 0, {role: c[role] for role in roles}) for c in chunks]


# -- from arrays ---------------------------------------------------------------------------------------------------


def items_from_arrays(
    *,
    y: NDArray[Any] | None = None,
    probs: Mapping[str, NDArray[Any]] | None = None,
    labels: Mapping[str, tuple[str, NDArray[Any]]] | None = None,
    weight: NDArray[Any] | None = None,
    by: NDArray[Any] | None = None,
    groups: NDArray[Any] | None = None,
    sentence: NDArray[Any] | None = None,
    scale: str | None = None,
    missing: str = "drop",
    notes: Sequence[str] = (),
) -> ItemRows:
    """Arrays of one length; `labels` by role, each with its name."""
    columns: dict[str, Any] = {} if y is None else {"y": y}
    columns |= {f"q{i}": q for i, q in enumerate((probs or {}).values())}
    columns |= {role: label_texts(values) for role, (_, values) in (labels or {}).items()}
    if weight is not None:
        columns["weight"] = weight
    if by is not None:
        columns["by"] = arrow_values(by, "by")
    for role, values in (("groups", groups), ("sentence", sentence)):
        if values is not None:
            texts = arrow_values(values, role) if labels is None else label_texts(values)
            columns[role] = group_numbers(texts, role, "a group" if labels is None else "one")
    given = {"weight": "sample_weight", "by": "by", "groups": "groups", "sentence": "sentence"}
    named: dict[str, Any] = {role: name for role, name in given.items() if role in columns}
    shown = tuple((role, name) for role, (name, _) in (labels or {}).items())
    items = Items("y_true", tuple(probs or {}), shown, scale=scale, missing=missing, **named)
    return ItemRows(ArrayRows(columns), items, notes=notes)


def arrow_values(values: NDArray[Any], name: str) -> pa.Array:
    """Values of any one kind as Arrow, in one piece: NumPy's text of more than 16 MB would come in several."""
    try:
        made = pa.array(values, from_pandas=True)
    except pa.ArrowException as error:
        raise InputError(f"`{name}` mixes kinds of values: {str(error).splitlines()[0]}.") from None
    if not isinstance(made, pa.ChunkedArray):
        return made
    wide = pa.large_binary() if pa.types.is_binary(made.type) else pa.large_string()  # 2 GB and more fit
    return made.cast(wide).combine_chunks()


def label_texts(values: NDArray[Any]) -> pa.Array:
    """An array of labels as text, by its distinct values; None and NaN are missing."""
    if values.dtype.kind not in "fbiu":
        return pa.array([None if v is None or v != v else str(v) for v in values.tolist()], pa.string())
    found, where = np.unique(values, return_inverse=True)
    if values.dtype.kind == "f":
        names = [None if v != v else str(int(v)) if v == int(v) else str(v) for v in found.tolist()]
    else:
        names = [str(v).lower() if values.dtype.kind == "b" else str(v) for v in found.tolist()]
    return pa.DictionaryArray.from_arrays(pa.array(where.astype(np.int32)), pa.array(names, pa.string())).cast(
        pa.string()
    )


def group_numbers(values: pa.Array, name: str, need: str) -> NDArray[np.uint64]:
    """Groups numbered from 0 in order of appearance; none may be missing."""
    encoded = values.dictionary_encode()
    if encoded.null_count:
        raise InputError(f"`{name}` is missing in {Origin().at(first_missing(encoded))}; every row needs {need}.")
    return as_numpy(encoded.indices).astype(np.uint64)


# -- from a table --------------------------------------------------------------------------------------------------


def is_table(source: Any) -> bool:
    """Whether it is a path, a log or a data frame."""
    return isinstance(source, str | Path) or is_log(source) or bool({"columns", "column_names"} & set(dir(source)))


def is_log(source: Any) -> bool:
    """Whether it is a log of a language model."""
    from howsure.engines.logs.table import Log

    return isinstance(source, Log)


def is_spark_frame(source: Any) -> bool:
    """Whether it is a data frame of Spark."""
    return type(source).__module__.startswith("pyspark.sql")


def open_table(source: Any, engine: Engine) -> Table:
    """The table to ask for its columns, on the engine that is meant."""
    if engine.is_spark or is_spark_frame(source):
        from howsure.engines.spark.table import SparkTable

        if is_log(source):
            raise InputError("logs are read on this machine: leave the options of Spark out.")
        return SparkTable(source, engine)
    return Table(source, engine)


def items_from_table(
    table: Table,
    *,
    true: Column | None = None,
    probs: Sequence[Column] = (),
    labels: Mapping[str, Column] | None = None,
    positive: Any = None,
    weight: str | None = None,
    by: str | None = None,
    groups: str | None = None,
    sentence: str | None = None,
    where: str | None = None,
    scale: str | None = None,
    missing: str = "drop",
    outcome: bool = False,
    batch_rows: int | None = None,
    more: Mapping[str, str] | None = None,
    groups_apart: bool = False,
) -> ItemRows:
    """Columns of an open table. `true` is a label of 0 and 1 or, with `outcome`, any number; `more` is SQL by role.

    Groups that are not compared with those of another reading (`groups_apart`) may stand for themselves, if they are numbers.
    """
    given = {"weight": weight, "by": by, "groups": groups, "sentence": sentence}
    named: dict[str, Any] = {role: table.column(name).name for role, name in given.items() if name is not None}
    reads = {"weight": number_sql, "by": value_sql, "groups": group_sql, "sentence": group_sql}
    sql = {} if true is None else {"y": number_sql(true.name) if outcome else label_sql(table, true, positive, where)}
    sql |= {role: text_sql(c) for role, c in (labels or {}).items()}
    for i, c in enumerate(probs):
        sql[f"q{i}"] = number_sql(c.name) if outcome else probability_sql(table, c, scale, where)
    sql |= {role: reads[role](name) for role, name in named.items()}
    sql |= more or {}
    checked = {f"q{i}": c.name for i, c in enumerate(probs)}
    plain = None
    if true is not None and outcome:
        checked["y"] = true.name
    elif (
        true is not None
        and positive is None
        and not more
        and all(c.is_number for c in (true, *probs))
        and all(groups_apart and role == "groups" and table.column(name).is_whole for role, name in named.items())
    ):
        plain = {"y": true.name} | named | checked
    named |= {"scale": scale, "missing": missing, "positive": positive}
    shown = tuple((role, c.name) for role, c in (labels or {}).items())
    label = true.name if true is not None else labels["gold"].name if labels else ""
    items = Items(label, tuple(c.name for c in probs), shown, from_file=True, **named)
    return ItemRows(table_rows(table, Selection(sql, where, checked, plain, batch_rows)), items, table, where)


def table_rows(table: Table, selection: Selection) -> Rows:
    """The table's rows, where they are. They close it."""
    if type(table) is not Table:
        from howsure.engines.spark.rows import SparkRows
        from howsure.engines.spark.table import SparkTable

        assert isinstance(table, SparkTable)
        table.check_files(selection)
        return SparkRows(table, selection)
    return TableRows(table, selection, table.engine)
