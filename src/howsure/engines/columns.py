"""Which columns hold the probability and the label, found by name when that is unambiguous."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from howsure import _validate
from howsure.engines.connection import literal
from howsure.engines.tables import Column, Table, quoted
from howsure.errors import InputError

# Names people give these columns; compared in lower case with everything but letters and digits removed.
PROB_NAMES = [
    "prob",
    "probs",
    "probability",
    "probabilities",
    "proba",
    "p",
    "q",
    "yprob",
    "yproba",
    "probtrue",
    "phat",
    "predprob",
    "predproba",
    "predictedprob",
    "predictedprobability",
    "predictionprob",
    "predictionprobability",
    "probpositive",
    "confidence",
    "conf",
    "score",
    "scores",
    "yscore",
]
TRUE_NAMES = [
    "label",
    "labels",
    "true",
    "ytrue",
    "y",
    "target",
    "targets",
    "gold",
    "truth",
    "groundtruth",
    "correct",
    "iscorrect",
    "actual",
    "outcome",
    "outcomes",
    "class",
    "istrue",
    "goldlabel",
    "truelabel",
]


_TRUE_WORDS = ("true", "yes", "t", "y", "1", "1.0", "on")
_FALSE_WORDS = ("false", "no", "f", "n", "0", "0.0", "off")


@dataclass(frozen=True, slots=True)
class PairColumns:
    """The columns of a table that make (label, probability) pairs, as SQL expressions."""

    prob: Column
    true: Column
    prob_sql: str
    true_sql: str
    positive: str | None


def pair_columns(
    table: Table, prob: str | None, true: str | None, positive: Any = None, where: str | None = None
) -> PairColumns:
    """Find the probability and label columns, and how to read them as numbers."""
    p = table.column(prob) if prob else guessed_column(table, PROB_NAMES, "probability", "--prob", skip={true})
    t = label_column(table, true, skip={p.name})
    if p.name == t.name:
        raise InputError(f"`{p.name}` cannot be both the probability and the label; name the other one.")
    if p.is_nested:
        raise InputError(f"`{p.name}` holds {p.type.split('(')[0].lower()} values, not one probability a row.")
    prob_sql = f"TRY_CAST({quoted(p.name)} AS DOUBLE)"
    return PairColumns(p, t, prob_sql, _label_sql(table, t, positive, where), positive)


def label_column(table: Table, true: str | None, skip: set[str]) -> Column:
    """The column of labels, named or guessed."""
    return table.column(true) if true else guessed_column(table, TRUE_NAMES, "label", "--true", skip)


def guessed_column(table: Table, names: list[str], what: str, option: str, skip: Collection[str | None]) -> Column:
    """The one column named like that; none or several are an error that names the option to use."""

    def plain(name: str) -> str:
        return re.sub(r"[^a-z0-9]", "", name.lower())

    found = [c for c in table.columns if plain(c.name) in names and c.name not in skip]
    if len(found) == 1:
        return found[0]
    there = ", ".join(f"`{c.name}`" for c in table.columns[:20]) + (", …" if len(table.columns) > 20 else "")
    if found:
        could = ", ".join(f"`{c.name}`" for c in found)
        raise InputError(
            f"the {what} column could be {could}: name it with {option}. Columns of {table.name}: {there}."
        )
    raise InputError(f"no column of {table.name} is named like a {what}: name it with {option}. Columns: {there}.")


def _label_sql(table: Table, column: Column, positive: Any, where: str | None) -> str:
    name = quoted(column.name)
    if positive is not None and column.type == "BOOLEAN":
        said = str(positive).lower()
        if said not in _TRUE_WORDS + _FALSE_WORDS:
            raise InputError(f"`{column.name}` holds true and false, and --positive {str(positive)!r} is neither.")
        return f"({name} = {'true' if said in _TRUE_WORDS else 'false'})"
    if positive is not None:
        wanted = str(positive)
        if column.is_number:
            try:
                number = float(wanted)
            except ValueError:
                raise InputError(f"`{column.name}` holds numbers, and --positive {wanted!r} is not one.") from None
            return f"({name} = {number!r})"
        return f"(CAST({name} AS VARCHAR) = {literal(wanted)})"
    if column.is_number:
        return f"CAST({name} AS {'BOOLEAN' if column.type == 'BOOLEAN' else 'DOUBLE'})"
    values = [str(v) for v in table.values(f"CAST({name} AS VARCHAR)", where) if v is not None]
    if set(values) <= {"0", "1"}:
        return f"TRY_CAST({name} AS DOUBLE)"
    shown = ", ".join(repr(v) for v in values[:6]) + (", …" if len(values) > 6 else "")
    raise InputError(f"`{column.name}` holds {shown}: say which value counts as 1 with --positive.")


def check_positive(table: Table, columns: PairColumns, n_positive: int, where: str | None) -> None:
    """A --positive value that no row has is a slip; name those there are."""
    if columns.positive is None or n_positive:
        return
    values = [str(v) for v in table.values(quoted(columns.true.name), where)]
    raise InputError(
        f"no row has `{columns.true.name}` = {columns.positive!r}.{_validate.nearest(str(columns.positive), values)}"
    )
