"""Anyone's antecedent scores: arrays of logits, or JSON lines with one document each.

    {"name": "d1", "scores": [[], [1.2], [-0.3, 2.0]], "new": [0, 0.5, -1]}

Row i of "scores" holds the logits of the antecedents 0 … i-1, and "new" those of starting an entity; "probabilities" in
place of "scores" holds probabilities. Without "new" the logit of starting an entity is 0, as in systems that score
antecedents against a dummy; with probabilities it is what the row leaves over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from howsure.errors import InputError
from howsure.posteriors.antecedents import AntecedentPosterior


def antecedents_from_logits(logits: Any, *, name: str = "document") -> AntecedentPosterior:
    """The posterior of logits of shape (N, N + 1), as neural resolvers give them: column k is antecedent k, the last
    column is the dummy. What is not below the diagonal is ignored.

    >>> antecedents_from_logits([[0, 0, 0], [2.0, 0, 0]]).pair(0, 1).__round__(4)
    0.8808
    """
    try:
        given = np.asarray(logits, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: logits cannot be read as numbers: {error}.") from None
    if given.ndim == 3 and given.shape[0] == 1:  # a batch of one
        given = given[0]
    if given.ndim != 2 or given.shape[1] != given.shape[0] + 1:
        raise InputError(f"{name}: logits have shape (N, N + 1), the dummy last; got {given.shape}.")
    return AntecedentPosterior.from_scores(given[:, :-1], given[:, -1], name=name)


def read_antecedents(path: str | Path) -> Iterator[AntecedentPosterior]:
    """The posteriors of a file: JSON lines, or an .npz with an array of logits (N, N + 1) for each document."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {path}.")
    if file.suffix == ".npz":
        try:
            with np.load(file, allow_pickle=False) as arrays:
                for name in arrays.files:
                    yield antecedents_from_logits(arrays[name], name=name)
        except (ValueError, OSError, EOFError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path} is damaged or not an .npz of arrays ({error}).") from None
        return
    with open(file, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _posterior(line, f"{path}, line {number}")


def _posterior(line: str, where: str) -> AntecedentPosterior:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON ({error.msg}, column {error.colno}).") from None
    kind = next((k for k in ("scores", "probabilities") if isinstance(record, dict) and k in record), None)
    if kind is None:
        raise InputError(f'{where}: a document is an object with "scores" or "probabilities", a list of rows.')
    name, rows = str(record.get("name", where)), record[kind]
    n = len(rows) if isinstance(rows, list) else -1
    square = np.full((max(n, 0), max(n, 0)), -np.inf if kind == "scores" else 0.0)
    for i in range(n):
        if not isinstance(rows[i], list) or len(rows[i]) != i:
            got = len(rows[i]) if isinstance(rows[i], list) else "none"
            raise InputError(f"{where}: row {i} of {kind} needs {i} numbers, one for each earlier mention; got {got}.")
        try:
            square[i, :i] = [-np.inf if x is None and kind == "scores" else float(x) for x in rows[i]]
        except (TypeError, ValueError):
            raise InputError(f"{where}: row {i} of {kind} holds something that is not a number.") from None
    if n < 0:
        raise InputError(f'{where}: "{kind}" is a list of rows.')
    if kind == "scores":
        return AntecedentPosterior.from_scores(square, record.get("new", np.zeros(n)), name=name)
    return AntecedentPosterior(square, record.get("new"), name=name)
