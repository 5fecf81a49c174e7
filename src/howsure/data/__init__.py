"""Small tables and word lists that ship with the package, with attribution in the README."""

import csv
import gzip
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


@cache
def first_names() -> dict[str, float]:
    """First names in lower case, each with the share of its bearers that we think are women: .02 to .98."""
    return {row["name"]: int(row["women"]) / 100 for row in table("names")}


@cache
def noun_classes() -> dict[str, str]:
    """Nouns, each with the class of its first sense in WordNet; "+person" where a later sense is a person."""
    text = gzip.decompress((files("howsure.data") / "nouns.txt.gz").read_bytes()).decode("utf-8")
    return {word: line[0] for line in map(str.split, text.splitlines()) for word in line[1:]}


@cache
def nations() -> dict[str, str]:
    """Names and demonyms of countries that are one word, in lower case, each with the country's code."""
    rows = table("lexicons/countries")
    return {w.lower(): r["code"] for r in rows for w in r["words"].split(";") if " " not in w}
