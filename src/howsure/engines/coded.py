"""Columns as codes, held in memory: ratings, answers of models, and the groups, dates and labels that a table is split by.

Ratings are a row per label (item, annotator, label), or a column per annotator.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from howsure.engines.columns import TEXT_NAMES, guessed_column, label_column, plain_name, text_column, value_sql
from howsure.engines.connection import checked_condition
from howsure.engines.items import items_from_table
from howsure.engines.tables import Column, Table, as_numpy, quoted
from howsure.errors import InputError
from howsure.evaluation.annotation.ratings import Ratings, made_ratings
from howsure.evaluation.scores.benchmark import Answers
from howsure.kernels.cells import Ints

ITEM_NAMES = ["item", "items", "itemid", "id", "unit", "unitid", "task", "taskid", "question", "example", "origid"]
ANNOTATOR_NAMES = ["annotator", "annotators", "annotatorid", "worker", "workerid", "rater", "raterid", "coder", "judge"]
ANNOTATOR_NAMES += ["coderid", "judgeid", "user", "userid", "amtworkerids"]
GOLD_NAMES = ["gold", "goldlabel", "truth", "true", "truelabel", "adjudicated", "final", "doc", "document", "split"]
Roles = Mapping[str, str | None]
Coded = tuple[Ints, list[str]]  # the number of each row's name, and the names
LABEL_NAMES = ["label", "labels", "rating", "response", "annotation", "answer", "value", "category", "class", "code"]


def long_ratings(table: Table, roles: Roles, where: str | None, order: Sequence[str] | None) -> Ratings:
    """A row per label. `roles` names the columns of item, annotator, label, gold and groups, or has None for them."""
    taken, columns = list(roles.values()), {}
    for what, known in (("item", ITEM_NAMES), ("annotator", ANNOTATOR_NAMES), ("label", LABEL_NAMES)):
        name = roles[what]
        texts = TEXT_NAMES if what == "item" else ()
        found = guessed_column(table, known, what, f"`{what}=`", taken, texts, name)
        taken.append(found.name)
        columns[what] = found
    if len({c.name for c in columns.values()}) < 3:
        raise InputError("`item=`, `annotator=` and `label=` must be three columns.")
    rows = _rows(table, columns | _named(table, roles, "gold", "groups"), where)
    left_out: dict[str, int] = {}
    kept = np.ones(len(rows["item"]), bool)
    for role, found in columns.items():
        missing = as_numpy(rows[role].is_null()).astype(bool) & kept
        left_out[f"no {role} (column {found.name!r} is empty)"] = int(missing.sum())
        kept &= ~missing
    mask = pa.array(kept)
    codes, names = zip(*(encoded(rows[role].filter(mask)) for role in columns), strict=True)
    gold, groups = _of_items(rows, mask, codes[0], names[0], roles)
    return _made(codes, names, gold, groups, order, left_out, table)


MOST_LABELS = 30  # of columns that are taken for annotators


def annotators_columns(table: Table, taken: Collection[str | None], where: str | None) -> list[str] | None:
    """The columns of a wide table that hold annotators' labels: all that are neither named like something else nor hold
    many values, if they share labels; None where a column is named like an annotator, or there are not two of them."""
    if any(plain_name(c.name) in ANNOTATOR_NAMES for c in table.columns):
        return None
    other = {*ITEM_NAMES, *GOLD_NAMES, *TEXT_NAMES}
    found: dict[str, set[str]] = {}
    for c in table.columns:
        named = c.name in taken or plain_name(c.name) in other
        if named or c.is_nested or c.type.startswith(("DATE", "TIME", "DOUBLE")):
            continue
        told = table.values(value_sql(c.name), where, MOST_LABELS + 1)
        values = {v.strip().lower() for v in told if v is not None}
        if values and len(values) <= MOST_LABELS:
            found[c.name] = values
    common = set.intersection(*found.values()) if found else set()
    return list(found) if len(found) > 1 and len(common) > 1 else None


def wide_ratings(
    table: Table, annotators: Sequence[str], roles: Roles, where: str | None, order: Sequence[str] | None
) -> Ratings:
    """A column per annotator; empty cells are labels not given. Items are the rows, named by `item` or numbered."""
    item = roles["item"]
    columns = [table.column(a) for a in annotators]
    if len({c.name for c in columns}) < len(columns):
        raise InputError("each annotator's column may be named once.")
    if len(columns) < 2:
        raise InputError(
            "agreement needs labels of two annotators at least: name their columns with `annotators='a,b'` "
            "(or, with a row per label, name `item=`, `annotator=` and `label=`)."
        )
    raters = {f"label{i}": c for i, c in enumerate(columns)}
    rows = _rows(table, raters | _named(table, roles, "item", "gold", "groups"), where)
    n = len(rows["label0"])
    item_values = rows.get("item")
    if item_values is None:
        width = len(str(n))
        item_values = pa.array([f"row {i + 1:0{width}}" for i in range(n)])
    if item_values.null_count:
        raise InputError(f"`{item}` is empty in {item_values.null_count:,} rows; every item needs a name.")
    if pc.count_distinct(item_values).as_py() < n:
        raise InputError(f"`{item}` names an item twice; with a column per annotator each item is one row.")
    labels = pa.chunked_array([rows[role] for role in raters]).combine_chunks()
    item_codes, item_names = encoded(item_values)
    by_name = np.argsort(np.array([c.name for c in columns]))
    given = ~as_numpy(labels.is_null()).astype(bool)
    label_codes, label_names = encoded(labels.filter(pa.array(given)))
    gold, groups = _of_items(rows, pa.array(np.ones(n, bool)), item_codes, item_names, roles)
    rater_codes = np.repeat(np.argsort(by_name), n)
    codes = (np.tile(item_codes, len(columns))[given], rater_codes[given], label_codes)
    names = (item_names, [columns[i].name for i in by_name], label_names)
    left_out = {"no label (an annotator's column is empty there)": int((~given).sum())}
    return _made(codes, names, gold, groups, order, left_out, table)


def _named(table: Table, roles: Roles, *wanted: str) -> dict[str, Column]:
    """The columns that were named, by role."""
    return {role: table.column(name) for role in wanted if (name := roles[role]) is not None}


def _rows(
    table: Table, columns: Mapping[str, Column], where: str | None, more: Mapping[str, str] | None = None
) -> dict[str, pa.Array]:
    """Columns as text, empty text and NaN are missing; and more as SQL says."""
    sql = dict(more or {})
    for role, column in columns.items():
        if column.is_nested:
            raise InputError(f"`{column.name}` holds several values a row, not one.")
        sql[role] = f"NULLIF({value_sql(column.name)}, '')"
        if column.type in ("DOUBLE", "FLOAT", "REAL"):
            sql[role] = f"CASE WHEN isnan({quoted(column.name)}) THEN NULL ELSE {sql[role]} END"
    rows = items_from_table(table, more=sql, where=where).held(*sql)
    if not rows or not len(rows[next(iter(sql))]):
        raise InputError("there are no rows" + (": `where=` kept none." if where else f" in {table.name}."))
    return rows


def encoded(values: pa.Array) -> Coded:
    """Codes in the order of the names, and the names."""
    encoded = values.dictionary_encode()
    names = encoded.dictionary
    order = as_numpy(pc.sort_indices(names)).astype(np.int64)
    codes = as_numpy(encoded.indices).astype(np.int64)
    return (np.argsort(order)[codes] if len(order) else codes), names.take(pa.array(order)).to_pylist()


def _of_items(
    rows: dict[str, pa.Array], mask: pa.Array, item: Ints, items: list[str], roles: Roles
) -> list[Coded | None]:
    """Gold label and group of each item, -1 where it has no gold label; rows of one item must say the same."""
    found: list[Coded | None] = []
    for role, what in (("gold", "gold label"), ("groups", "group")):
        if role not in rows:
            found.append(None)
            continue
        kept = rows[role].filter(mask)
        missing = as_numpy(kept.is_null()).astype(bool)
        if missing.any() and role == "groups":
            name = items[int(item[np.argmax(missing)])]
            raise InputError(f"`{roles[role]}` is empty for item {name!r}; every item needs one.")
        codes, names = encoded(kept.filter(pa.array(~missing)))
        made = np.full(len(items), -1, np.int64)
        known = item[~missing]
        made[known] = codes
        unlike = made[known] != codes
        if unlike.any():
            name = items[int(known[np.argmax(unlike)])]
            raise InputError(f"`{roles[role]}` differs between rows of item {name!r}; an item has one {what}.")
        if role == "groups" and len(names) == 1:
            raise InputError("all items are in one group; intervals need two groups at least.")
        found.append((made, names))
    return found


def _made(
    codes: Sequence[Ints],
    names: Sequence[Sequence[str]],
    gold: Coded | None,
    groups: Coded | None,
    order: Sequence[str] | None,
    left_out: dict[str, int],
    table: Table,
) -> Ratings:
    if not len(codes[0]):
        raise InputError(f"{table.name} holds no labels.")
    if len(names[1]) < 2:
        raise InputError(f"agreement needs two annotators at least; all labels are of {names[1][0]!r}.")
    labels = list(names[2])
    gold_codes = None
    if gold is not None:
        known, gold_names = gold
        if not len(gold_names):
            raise InputError("the gold column holds no labels.")
        labels = list(dict.fromkeys([*labels, *gold_names]))  # some that no annotator gave
        place = {name: i for i, name in enumerate(labels)}
        moved = np.array([place[name] for name in gold_names])
        gold_codes = np.where(known < 0, -1, moved[np.maximum(known, 0)])
    return made_ratings(
        *codes[:3],
        items=names[0],
        annotators=names[1],
        labels=labels,
        order=order,
        gold=gold_codes,
        groups=None if groups is None else groups[0],
        left_out=left_out,
        source=Path(table.name).name if table.files else table.name,
    )


# -- answers of models to items: --------------------------------------------------------------------------------------

MODEL_NAMES = ["model", "modelname", "modelid", "system", "systemname", "generator"]


def answers_of(table: Table, roles: Roles, where: str | None) -> tuple[Answers, tuple[tuple[str, int], ...]]:
    """A row per answer: columns of item, model, by and groups, an SQL expression of its value; and what was left out."""
    name = dict(roles)
    if table.log is not None:
        own = {"item": "question", "model": "model", "by": "task", "value": "value"}
        name |= {role: name[role] or column for role, column in own.items()}
    for role, known in (("item", ITEM_NAMES), ("model", MODEL_NAMES)):
        if name[role] is None:
            taken = [v for v in name.values() if v]
            name[role] = guessed_column(table, known, role, f"`{role}=`", skip=taken).name
    columns = _named(table, name, "item", "model", "by", "groups")
    more = {"value": f"CAST({checked_condition(str(name['value']), 'value')} AS DOUBLE)"}
    more |= {} if table.log is None else {"run": "hash(run, sample)"}
    rows = _rows(table, columns, where, more)
    value = as_numpy(rows["value"])
    lost = {"a value": ~np.isfinite(value)}
    lost |= {f"`{c.name}`": as_numpy(rows[r].is_null()).astype(bool) for r, c in columns.items() if r != "groups"}
    kept = ~np.logical_or.reduce(list(lost.values()))
    left_out = tuple((what, int(gone.sum())) for what, gone in lost.items() if gone.any())
    if not kept.any():
        told = ", ".join(f"{n:,} are without {what}" for what, n in left_out)
        raise InputError(f"of {len(kept):,} rows of {table.name}, {told}: nothing is left to score.")
    mask = pa.array(kept)
    (item, items), (model, models) = (encoded(rows[role].filter(mask)) for role in ("item", "model"))
    part, parts = encoded(rows["by"].filter(mask)) if "by" in rows else (np.zeros_like(item), [""])
    found, item = np.unique(part * len(items) + item, return_inverse=True)  # an item of each part
    groups = _of_items(rows, mask, item, [items[i] for i in (found % len(items)).tolist()], name)[1]
    run = as_numpy(rows["run"])[kept] if "run" in rows else None
    numbers = None if groups is None else groups[0]
    return Answers(value[kept], part, model, item, tuple(parts), tuple(models), numbers, run), left_out


# -- what a table is split by: ----------------------------------------------------------------------------------------


def text_codes(table: Table, column: Column) -> Coded:
    """A column's values numbered in the order of their names; -1 where it is empty."""
    return codes_of(_one(table, f"NULLIF({value_sql(column.name)}, '')"))


def codes_of(values: pa.Array) -> Coded:
    """Values numbered in the order of their names; -1 where there is none."""
    missing = as_numpy(values.is_null()).astype(bool)
    made = np.full(len(values), -1, np.int64)
    made[~missing], names = encoded(values.filter(pa.array(~missing)))
    return made, names


def date_codes(table: Table, column: Column) -> Coded:
    """A column's distinct dates (or numbers) numbered in order; -1 where it is empty."""
    name = quoted(column.name)
    read, shown = f"TRY_CAST({name} AS DOUBLE) + 0", "{:g}"  # 0 and -0 are one number
    if not column.is_number or column.type == "BOOLEAN":
        read, shown = f"TRY_CAST({name} AS TIMESTAMP)", "{}"
        wrong = f"{name} IS NOT NULL AND CAST({name} AS VARCHAR) <> '' AND TRY_CAST({name} AS TIMESTAMP) IS NULL"
        bad = table.values(f"CAST({name} AS VARCHAR)", wrong, 1)
        if bad:
            raise InputError(
                f"`{column.name}` must hold dates such as 2024-05-31, or numbers; got {bad[0]!r}. "
                "Name another column with `date=`, or correct these."
            )
    codes, names = codes_of(_one(table, read))
    return codes, [shown.format(v).removesuffix(" 00:00:00") for v in names]


def n_rows(table: Table) -> int:
    """How many rows there are."""
    return len(items_from_table(table, more={"row": "1"}).held("row").get("row", ()))


def _one(table: Table, expression: str) -> pa.Array:
    rows = items_from_table(table, more={"value": expression}).held("value")
    if not rows or not len(rows["value"]):
        raise InputError(f"{table.name} has no rows.")
    return rows["value"]


# -- texts -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TextRows:
    """Texts with their labels (empty when there are none) and further columns, and how many rows were left out."""

    texts: list[str]
    labels: list[str]
    more: dict[str, list[str | None]]
    left_out: int


def read_texts(
    table: Table,
    text: str | None,
    true: str | None,
    *,
    labelled: bool = True,
    more: tuple[str, ...] = (),
    where: str | None = None,
) -> TextRows:
    """Rows with a text and, if `labelled`, a label; rows that lack either are counted in `left_out`."""
    names = [text_column(table, text)]
    if labelled:
        names.append(label_column(table, true, skip={names[0]}).name)
    names += [table.column(name).name for name in more]
    sql = {f"text{i}": value_sql(name) for i, name in enumerate(names)}
    held = items_from_table(table, more=sql, where=where).held(*sql)
    columns: list[list[str | None]] = [held[role].to_pylist() if held else [] for role in sql]
    needed = columns[: 1 + labelled]
    kept = [i for i, row in enumerate(zip(*needed, strict=True)) if None not in row]
    if not kept:
        why = ": `where=` kept none" if where else "" if not columns[0] else " that have a text and a label"
        raise InputError(f"{table.name} has no rows{why}.")
    picked = [[column[i] for i in kept] for column in columns]
    return TextRows(
        [str(t) for t in picked[0]],
        [str(v) for v in picked[1]] if labelled else [],
        dict(zip(more, picked[1 + labelled :], strict=True)),
        len(columns[0]) - len(kept),
    )
