"""Small tables and word lists that ship with the package, with attribution in the README."""

import csv
from functools import cache
from importlib.resources import files


def demo_table() -> str:
    """Path of the demo: an HMM's confidence in each of 25,094 tags of UD English EWT, and whether it is right."""
    return str(files("howsure.data") / "tags.csv.gz")


@cache
def table(name: str) -> tuple[dict[str, str], ...]:
    """The rows of a table of the package, by its name."""
    lines = (files("howsure.data") / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    return tuple(csv.DictReader(lines))


def word_rows(name: str) -> list[dict[str, str]]:
    """The rows of a list in words.csv: the word and, of pronouns, what is known of it."""
    return [row for row in table("words") if row["list"] == name]


def word_list(name: str) -> frozenset[str]:
    """The words of a list in words.csv."""
    return frozenset(row["word"] for row in word_rows(name))
