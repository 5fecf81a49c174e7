"""Where the corpora are: the folder that the variable HOWSURE_DATA names, laid out like the project's own."""

from __future__ import annotations

import os
from pathlib import Path

from howsure.errors import InputError

# Folders that the studies read (`howsure doctor` says which are there).
CORPORA = (
    "ark-tweets",
    "berp",
    "brown",
    "conll2000",
    "coref-scorer-cases",
    "countries",
    "crowd",
    "ewt",
    "gap",
    "gum",
    "muc",
    "relation-probabilities",
    "reuters",
    "shakespeare",
    "spelling",
    "treebank",
    "tweet-sentiment",
    "wikinews",
)


def corpus_path(*parts: str) -> Path:
    """A file or folder below HOWSURE_DATA; an error that says what to do where it is absent."""
    root = os.environ.get("HOWSURE_DATA")
    if not root:
        raise InputError(f"the corpus {parts[0]} is needed: set HOWSURE_DATA to the folder that holds {parts[0]}/.")
    path = Path(root, *parts)
    if not path.exists():
        raise InputError(f"the corpus {parts[0]} is needed, but there is no {path}.")
    return path
