"""Items to count on any engine: one pass tallies them by cell and probability, a second draws those to label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import BadRow, Origin
from howsure.counting.strata import GRID, grid_places
from howsure.counting.tally import UNIT, Cell, Labels, Tally, joined, no_labels
from howsure.engines.columns import label_column, label_sql, number_sql, value_sql
from howsure.engines.items import Items, numbers
from howsure.engines.rows import Chunk
from howsure.engines.slices import SliceNames, slice_key
from howsure.engines.tables import Column, Table, as_numpy, first_missing, quoted
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints, merge_keyed
from howsure.kernels.chains import log_space

MOST_CELLS = 5_000
KINDS = (np.uint64, np.int64)  # of groups, and of their sizes
EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class KeyedLabels:
    """Labels that stand in a file of their own: the items' keys as text, labels and inclusion probabilities."""

    keys: pa.Array
    y: NDArray[np.uint8]
    inclusion: Floats
    name: str = "labels"
    strata: frozenset[str] = frozenset()  # that labelled items were drawn from

    def __len__(self) -> int:
        return len(self.y)


def day_sql(column: Column, every: str) -> str:
    """The first day of a date's period, in days from 1970."""
    name = quoted(column.name)
    if column.is_number:
        raise InputError(f"`{column.name}` holds numbers, not dates; count by its values with `by='{column.name}'`.")
    day = name
    if column.type == "VARCHAR":
        day = f"coalesce(TRY_CAST({name} AS DATE), CAST(TRY_CAST({name} AS TIMESTAMP) AS DATE))"
    start = f"CAST(date_trunc('{every}', {day}) AS DATE)"
    return f"({start} - DATE '1970-01-01')"


class CellNumbers:
    """Numbers the cells that rows are in, by the values of some columns."""

    def __init__(self, roles: Sequence[str]) -> None:
        self._names = {role: SliceNames() for role in roles}
        self._days: dict[tuple[int, int], int] = {}
        # Of a cell of the columns before and a value.
        self._pairs: list[dict[tuple[int, int], int]] = [{} for _ in roles[1:]]

    def codes(self, chunk: Chunk, origin: Origin, dated: str, n: int) -> Ints:
        """The cell of each row."""
        made = np.zeros(n, np.int64)
        for i, (role, names) in enumerate(self._names.items()):
            column = chunk[role]
            if role != "day":
                code = names.codes(column)
            elif isinstance(column, np.ndarray) or not column.null_count:
                code = _numbered(numbers(column), self._days)
            else:
                at = first_missing(column)
                raise BadRow(f"`{dated}` is missing or no date in {origin.at(at)}.", origin.first + at)
            values = int(code.max(initial=0)) + 1
            made = _numbered(made * values + code, self._pairs[i - 1], values) if i else code
            if len(made) and made.max() >= MOST_CELLS:
                raise InputError(
                    f"there are more than {MOST_CELLS:,} cells to count in; choose a longer period, or fewer groups."
                )
        return made

    def cells(self) -> tuple[Cell, ...]:
        """The names of each cell's values, in order of their number; days as ISO dates."""
        made: list[Cell] = [()]
        for i, (role, names) in enumerate(self._names.items()):
            values = names.names
            if role == "day":
                try:
                    values = [(EPOCH + timedelta(days=day)).isoformat() for day, _ in self._days]
                except OverflowError:
                    raise InputError("a date lies beyond the year 9999, or before the year 1.") from None
            made = [(*made[a], values[b]) for a, b in self._pairs[i - 1]] if i else [(value,) for value in values]
        return tuple(made)


def _numbered(given: NDArray[Any], names: dict[tuple[int, int], int], base: int = 1) -> Ints:
    """Whole numbers that lie close together, by order of appearance; `names` has them divided by the base."""
    given = given.astype(np.int64, copy=False)
    low = int(given.min(initial=1 << 62))
    number = np.zeros(int(given.max(initial=low)) - low + 1, np.int64)
    number[given - low] = 1
    for place in np.flatnonzero(number).tolist():
        number[place] = names.setdefault(divmod(place + low, base), len(names))
    return number[given - low]


@dataclass(frozen=True)
class TallyWork:
    """Counts items by cell and place on the grid of probabilities, and takes the labels out."""

    items: Items
    roles: tuple[str, ...] = ()
    dated: str = ""
    keyed: KeyedLabels | None = None
    labelled: bool = True  # whether the rows have labels
    inclusion: str | None = None

    def placed(
        self, numbering: CellNumbers, chunks: Iterator[Chunk]
    ) -> Iterator[tuple[Chunk, Origin, Floats, Ints, Ints]]:
        """Each chunk with its origin, its probabilities, and the cell and the place on the grid of each row."""
        for chunk in chunks:
            origin = self.items.origin(chunk)
            (q,) = self.items.probabilities(chunk)
            yield chunk, origin, q, numbering.codes(chunk, origin, self.dated, len(q)), grid_places(q)

    def __call__(self, chunks: Iterator[Chunk]) -> Tally:
        numbering = CellNumbers(self.roles)
        sums = np.zeros((1, GRID, 2), np.int64)
        labels: list[Labels] = []
        groups: list[Any] = []
        for chunk, origin, q, cell, place in self.placed(numbering, chunks):
            top = int(cell.max()) + 1 if len(cell) else 1
            if top > len(sums):
                grown = np.zeros((2 * top, GRID, 2), np.int64)
                grown[: len(sums)] = sums
                sums = grown
            code, size = cell * GRID + place, top * GRID
            flat = sums.reshape(-1, 2)
            flat[:size, 0] += np.bincount(code, minlength=size)
            # Sums of whole numbers below 2⁵³ are exact in floating point.
            flat[:size, 1] += np.bincount(code, weights=np.rint(q * UNIT), minlength=size).astype(np.int64)
            group = None
            if self.items.groups is not None:
                group = self.items.group_ids(chunk, "group")
                groups.append(np.unique(group, return_counts=True))
            labels.append(self._labels(chunk, origin, cell, q, place, group))
        code = np.flatnonzero(sums.reshape(-1, 2)[:, 0])
        n, total = sums.reshape(-1, 2)[code].T
        found, counts = (np.concatenate([np.zeros(0, kind), *(g[i] for g in groups)]) for i, kind in enumerate(KINDS))
        drawn, sizes = merge_keyed(found, counts[:, None])
        every = joined(labels or [no_labels()])
        return Tally(numbering.cells(), code // GRID, code % GRID, n, total, every, drawn, sizes[:, 0])

    def _labels(
        self, chunk: Chunk, origin: Origin, cell: Ints, q: Floats, place: Ints, group: NDArray[np.uint64] | None
    ) -> Labels:
        if self.keyed is not None:
            number = key_numbers(chunk["key"], self.keyed.keys)
            at = np.flatnonzero(number >= 0)
            which = number[at]
            y, inclusion = self.keyed.y[which], self.keyed.inclusion[which]
        elif self.labelled:
            given = numbers(chunk["y"])
            known = ~np.isnan(given) if given.dtype.kind == "f" else np.ones(len(given), bool)
            at = np.flatnonzero(known)
            y = _validate.labels(np.ascontiguousarray(given[at]), replace(origin, rows=at))
            inclusion, which = np.full(len(at), np.nan), np.full(len(at), -1)
            if self.inclusion is not None:
                said = numbers(chunk["inclusion"])[at].astype(np.float64)
                inclusion = inclusion_probabilities(said, self.inclusion, replace(origin, rows=at))
        else:
            return no_labels()
        drawn = np.zeros(len(at), np.uint64) if group is None else group[at]
        return Labels(cell[at], q[at], place[at], y, inclusion, drawn, which)


def inclusion_probabilities(values: Floats, name: str, origin: Origin) -> Floats:
    """Of labelled items: above 0 and at most 1."""
    good = (values > 0) & (values <= 1)
    if not good.all():
        i = int(np.argmin(good))
        if np.isnan(values[i]):
            raise InputError(
                f"`{name}` is missing in {origin.at(i)}; every labelled item needs its inclusion probability."
            )
        raise InputError(
            f"`{name}` must lie above 0 and not above 1; got {values[i]:.6g} in {origin.at(i)}. "
            "An item that could not be drawn stands for no other."
        )
    return values


def key_numbers(keys: pa.Array, known: pa.Array) -> Ints:
    """The place of each key among the known ones, -1 for others."""
    import pyarrow.compute as pc

    return as_numpy(pc.fill_null(pc.index_in(keys, value_set=known), -1)).astype(np.int64)


def keyed_labels(
    source: Any, table: Table, key: str, true: str | None, positive: Any, inclusion: str | None
) -> tuple[KeyedLabels, tuple[str, ...]]:
    """The labels of a file of labels, one for each item, and what to say of them.

    Keys are compared as values of the table's own column. Several people's labels of an item (a column `annotator`) are
    settled by the majority.
    """
    with Table(source, table.engine) as file:
        named = file.column(key)
        kind = table.column(key).type
        unparsed = file.unparsed()
        relation = unparsed[1] if unparsed is not None and unparsed[0] == "csv" else None
        known = {c.name.lower(): c.name for c in file.columns}
        column = label_column(file, true, skip={named.name, *(known.get(n, "") for n in KEPT)})
        plain = value_sql(named.name)
        as_table = f"CAST(TRY_CAST({quoted(named.name)} AS {kind}) AS VARCHAR)" if kind != "VARCHAR" else plain
        where = inclusion or known.get("inclusion")
        sql = [as_table, plain, label_sql(file, column, positive, None)]
        sql.append("NULL" if where is None else number_sql(file.column(where).name))
        sql += [value_sql(known[c]) if c in known else "NULL" for c in ("stratum", "annotator")]
        if relation is not None and not column.is_number and positive is None:
            relation = None  # the label's SQL was made for the parsed column
        batches = list(file.batches(sql, relation=relation))
        name = file.name
    if not batches:
        raise InputError(f"{name} has no rows.")
    whole = pa.Table.from_batches(batches)
    keys, raw, y, pi, strata, people = (whole.column(i).combine_chunks() for i in range(6))
    given = as_numpy(y.cast(pa.float64()))
    origin = Origin(true=column.name, from_file=True)
    rows = np.flatnonzero(~np.isnan(given))
    if not len(rows):
        raise InputError(f"{name} has no labels: `{column.name}` is empty in all of its {len(given):,} rows.")
    labels = _validate.labels(given[rows], replace(origin, rows=rows))
    text = keys.to_pylist()
    for i in rows.tolist():
        if text[i] is None:
            said = raw[i].as_py()
            other = f"holds {said!r}, which the table's `{key}` ({kind.lower()}) cannot"
            raise InputError(f"{name}: `{named.name}` {'is missing' if said is None else other} in row {i + 1:,}.")
    probability, of = np.full(len(given), np.nan), strata.to_pylist()
    if where is not None:
        found = as_numpy(pi.cast(pa.float64()))[rows]
        probability[rows] = inclusion_probabilities(found, where, replace(origin, rows=rows))
        # Batches of one design: what counts is the inclusion probability after the last, the same for all of a stratum.
        highest: dict[str, float] = {}
        for i in rows.tolist():
            highest[of[i]] = max(highest.get(of[i], 0.0), float(probability[i]))
        probability[rows] = [probability[i] if of[i] is None else highest[of[i]] for i in rows.tolist()]
    votes: dict[str, list[int]] = {}
    for i, label in zip(rows.tolist(), labels.tolist(), strict=True):
        votes.setdefault(text[i], []).append(label)
    several = people.null_count < len(people)
    unsettled = [k for k, v in votes.items() if 2 * sum(v) == len(v) or (not several and 0 < sum(v) < len(v))]
    if unsettled:
        how = "by as many people each way" if several else "in two ways"
        raise InputError(
            f"{name} labels {len(unsettled):,} {'item' if len(unsettled) == 1 else 'items'} {how} "
            f"(the first is {unsettled[0]!r}): decide on one label each, or leave it empty."
        )
    first = {text[i]: i for i in reversed(rows.tolist())}
    order = list(votes)
    notes = []
    split = sum(0 < sum(v) < len(v) for v in votes.values())
    if split:
        notes.append(f"{split:,} items were labelled both ways by several people; the majority counts.")
    settled = np.array([2 * sum(votes[k]) > len(votes[k]) for k in order], np.uint8)
    known_strata = frozenset(of[i] for i in rows.tolist()) - {None}
    keyed, worth = pa.array(order, pa.string()), probability[[first[k] for k in order]]
    return KeyedLabels(keyed, settled, worth, name, known_strata), tuple(notes)


KEPT = ("inclusion", "stratum", "annotator")  # columns that drawn and labelled tables have beside the item's own


# -- which to label --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """Rows drawn so far: stratum, cell (text), random priority and the whole rows."""

    stratum: Ints
    cell: tuple[Cell, ...]
    priority: Floats
    row: Ints
    rows: tuple[pa.Table, ...]
    wanted: Mapping[tuple[int, Cell], int]

    def __add__(self, other: DrawnRows) -> DrawnRows:
        stratum, priority, row = (
            np.concatenate([getattr(self, name), getattr(other, name)]) for name in ("stratum", "priority", "row")
        )
        cells, rows = self.cell + other.cell, self.rows + other.rows
        return DrawnRows(stratum, cells, priority, row, rows, self.wanted or other.wanted).cut()

    def cut(self) -> DrawnRows:
        """Only as many of each stratum and cell as are wanted, those of least priority; all where nothing is said."""
        if not len(self.stratum) or not self.wanted:
            return self
        order = np.lexsort((self.row, self.priority))
        left = dict(self.wanted)
        keep = []
        for i in order.tolist():
            at = int(self.stratum[i]), self.cell[i]
            if left.get(at, 0) > 0:
                left[at] -= 1
                keep.append(i)
        keep.sort()
        chosen = np.array(keep, np.int64)
        whole = pa.concat_tables(self.rows).take(pa.array(chosen))
        cells = tuple(self.cell[i] for i in keep)
        return DrawnRows(self.stratum[chosen], cells, self.priority[chosen], self.row[chosen], (whole,), self.wanted)


@dataclass(frozen=True)
class DrawWork:
    """Draws rows at random: `wanted` says how many of each stratum and cell; labelled ones are passed over.

    A row's random number is a hash of the seed and its key or, without a key, its number: the same on every engine.
    """

    counted: TallyWork
    stratum: Ints  # of each place on the grid
    wanted: Mapping[tuple[int, Cell], int]
    seed: int
    n_columns: int
    groups: NDArray[np.uint64] | None = None  # where whole groups are drawn: these

    def __call__(self, chunks: Iterator[Chunk]) -> DrawnRows:
        counted, numbering = self.counted, CellNumbers(self.counted.roles)
        none = np.zeros(0, np.int64)
        made = DrawnRows(none, (), np.zeros(0), none, (), self.wanted)
        most = max(self.wanted.values(), default=0)
        for chunk, _, q, cell, place in counted.placed(numbering, chunks):
            stratum = self.stratum[place]
            priority = self._priorities(chunk, len(q))
            free = np.ones(len(q), bool)
            if counted.keyed is not None:
                free = key_numbers(chunk["key"], counted.keyed.keys) < 0
            elif counted.labelled:
                y = numbers(chunk["y"])
                free = np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), bool)
            if self.groups is not None:
                free = free & np.isin(counted.items.group_ids(chunk, "group"), self.groups)
            names, at = numbering.cells(), np.flatnonzero(free)
            # The least priorities of every stratum and cell of this chunk are enough.
            order = at[np.lexsort((priority[at], cell[at], stratum[at]))]
            code = stratum[order] * len(names) + cell[order]
            start = np.flatnonzero(np.diff(code, prepend=-1))
            rank = np.arange(len(order)) - np.repeat(start, np.diff(np.append(start, len(order))))
            order = np.sort(order[rank < most]) if self.groups is None else at
            rows = pa.table({f"c{i}": _column(chunk[f"whole{i}"], order) for i in range(self.n_columns)})
            first = 0 if chunk.first is None else chunk.first
            cells = tuple(names[c] for c in cell[order].tolist())
            made = made + DrawnRows(stratum[order], cells, priority[order], first + order, (rows,), self.wanted)
        return made

    def _priorities(self, chunk: Chunk, n: int) -> Floats:
        if (keys := chunk.get("key")) is not None:
            encoded = keys.dictionary_encode()
            hashed = np.array([slice_key(str(v)) for v in encoded.dictionary.to_pylist()], np.uint64)
            if encoded.null_count:
                at = first_missing(keys)
                raise InputError(
                    f"the key is missing in {self.counted.items.origin(chunk).at(at)}; every item needs one."
                )
            number = hashed[as_numpy(encoded.indices)]
        elif chunk.first is None:
            raise InputError("rows of Spark are not numbered: name the column that identifies an item with `key=`.")
        else:
            number = np.arange(chunk.first, chunk.first + n, dtype=np.uint64)
        return mixed(number, self.seed)


def _column(column: Any, rows: Ints) -> Any:
    return pa.array(column[rows]) if isinstance(column, np.ndarray) else column.take(pa.array(rows))


def mixed(number: NDArray[np.uint64], seed: int) -> Floats:
    """Random numbers in [0, 1) from whole ones: the finaliser of SplitMix64."""
    with np.errstate(over="ignore"):
        x = number + np.uint64((seed * 2 + 1) * 0x9E3779B97F4A7C15 % (1 << 64))
        x = log_space.mixed(x)
    return (x >> np.uint64(11)).astype(np.float64) / (1 << 53)
