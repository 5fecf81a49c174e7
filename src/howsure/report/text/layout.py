"""Words and numbers laid out for a terminal of 80 columns."""

import textwrap
from collections.abc import Iterable, Sequence, Sized
from typing import Any

from howsure._result import printable as printable

WIDTH = 80


def filled(text: str, indent: str = "", hanging: str | None = None, **options: Any) -> str:
    """Text in lines of at most 80 columns; `hanging` indents all lines but the first."""
    hang = indent if hanging is None else hanging
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=hang, **options)


def notes(said: Iterable[str]) -> list[str]:
    """Each note as a paragraph."""
    return [filled(printable(note), "Note: ", "  ") for note in said]


def cut(name: str, width: int) -> str:
    """A name of at most `width` characters."""
    return printable(name if len(name) <= width else name[: width - 1] + "…")


def aligned(rows: Iterable[tuple[str, str, str]]) -> str:
    """Name, value and remark in columns."""
    rows = list(rows)
    first, second = max(len(r[0]) for r in rows), max(len(r[1]) for r in rows)
    made = []
    for name, value, rest in rows:
        head = f"  {name:<{first}}  {value:>{second}}  "
        made.append(filled(rest, head, " " * len(head)) if rest else head.rstrip())
    return "\n".join(made)


def limits(e: Any, form: str = ".4f") -> str:
    """The interval of an estimate in brackets; nothing where there is none."""
    return "" if e is None or e.low is None or e.high is None else f"[{e.low:{form}}, {e.high:{form}}]"


def in_groups(n_groups: int | None) -> str:
    """How many groups the rows are in, after their number."""
    return "" if n_groups is None else f" in {n_groups:,} groups"


def p_text(p: float) -> str:
    """A p-value with its relation."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def and_more(rows: Sized, most: int) -> list[str]:
    """A line about the rows beyond the first `most`, where there are any."""
    return [f"  … {len(rows) - most:,} more (--json lists all)"] if len(rows) > most else []


def shortened(lines: Sequence[str], most: int) -> list[str]:
    """The lines of the first and the last bins, with how many are left out between; all, if they are `most` at most."""
    half = most // 2
    left_out = f"  … {len(lines) - 2 * half:,} more bins (--json lists all) …"
    return list(lines) if len(lines) <= most else [*lines[:half], left_out, *lines[-half:]]


def joined(parts: Iterable[str]) -> str:
    """Paragraphs with an empty line between."""
    return "\n\n".join(part for part in parts if part) + "\n"
