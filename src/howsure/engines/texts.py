"""Columns of text and labels, as Python strings."""

from __future__ import annotations

from dataclasses import dataclass

from howsure.engines.columns import guessed_column, label_column
from howsure.engines.tables import Table, quoted
from howsure.errors import InputError

TEXT_NAMES = ["text", "texts", "body", "tweet", "sentence", "content", "document"]


@dataclass(frozen=True, slots=True)
class TextRows:
    """Texts with their labels (empty when there are none) and further columns, and how many rows were left out."""

    texts: list[str]
    labels: list[str]
    more: dict[str, list[str | None]]
    left_out: int


def text_column(table: Table, text: str | None) -> str:
    """The name of the column of texts, given or guessed."""
    return table.column(text).name if text else guessed_column(table, TEXT_NAMES, "text", "--text", ()).name


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
    expressions = [f"CAST({quoted(name)} AS VARCHAR)" for name in names]
    columns: list[list[str | None]] = [[] for _ in names]
    for batch in table.batches(expressions, where=where):
        for column, part in zip(columns, batch.columns, strict=True):
            column += part.to_pylist()
    needed = columns[: 1 + labelled]
    kept = [i for i, row in enumerate(zip(*needed, strict=True)) if None not in row]
    if not kept:
        why = ": --where kept none" if where else "" if not columns[0] else " that have a text and a label"
        raise InputError(f"{table.name} has no rows{why}.")
    picked = [[column[i] for i in kept] for column in columns]
    return TextRows(
        [str(t) for t in picked[0]],
        [str(v) for v in picked[1]] if labelled else [],
        dict(zip(more, picked[1 + labelled :], strict=True)),
        len(columns[0]) - len(kept),
    )
