"""Splits listed in Markdown: a heading for each part, a bullet for each document."""

from __future__ import annotations

from pathlib import Path

from howsure.corpora.lines import numbered_lines
from howsure.errors import InputError


def read_splits(path: str | Path) -> dict[str, list[str]]:
    """The names under each `## part`, in order; a name in two parts is an error."""
    parts: dict[str, list[str]] = {}
    seen: dict[str, str] = {}
    current: str | None = None
    for number, line in numbered_lines(path):
        text = line.strip()
        if text.startswith("## "):
            current = text[3:].strip()
            parts.setdefault(current, [])
        elif text.startswith("* ") and current is not None:
            name = text[2:].strip()
            if name in seen:
                raise InputError(f"{path}, line {number}: {name} is in {seen[name]} and in {current}.")
            seen[name] = current
            parts[current].append(name)
    return {part: names for part, names in parts.items() if names}
