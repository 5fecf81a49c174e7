"""Models of CRFsuite (python-crfsuite, sklearn-crfsuite): read from their binary file, weights exact to the bit.

The file is a header, a table of features (kind, source, target, weight), and two databases of names, labels and
attributes, whose records are found through an array of offsets. CRFsuite itself is not needed.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from howsure.errors import InputError
from howsure.models.taggers.crf import Crf, WeightRows
from howsure.models.taggers.features import FeatureTable

HEADER = struct.Struct("<4sI4sIIIIIIIII")
FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])


def read_crfsuite(path: str | Path) -> Crf:
    """A CRF from a CRFsuite model file (first-order, as all its trainers write). Ask it with `posterior_of_features`."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}.") from None
    try:
        return _parsed(raw, path)
    except (struct.error, ValueError, IndexError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is damaged: {error}.") from None


def _parsed(raw: bytes, path: str | Path) -> Crf:
    if raw[:4] != b"lCRF":
        raise InputError(f"{path} is not a model of CRFsuite.")
    _, _, kind, version, _, n_labels, n_attributes, at_features, at_labels, at_attributes, *_ = HEADER.unpack_from(raw)
    if kind != b"FOMC" or version != 100:
        raise InputError(f"{path}: a first-order model of version 100 was expected; got {kind!r}, {version}.")
    labels, attributes = _names(raw, at_labels, n_labels), _names(raw, at_attributes, n_attributes)
    n_features = struct.unpack_from("<I", raw, at_features + 8)[0]
    table = np.frombuffer(raw, FEATURE, n_features, at_features + 12)
    if len(table) and (table["target"].max() >= n_labels or table["kind"].max() > 1):
        raise InputError(f"{path} is damaged: a feature names a label that is not there.")
    transitions = np.zeros((n_labels, n_labels))
    moves = table[table["kind"] == 1]
    transitions[moves["source"], moves["target"]] = moves["weight"]
    states = table[table["kind"] == 0]
    states = states[np.lexsort((states["target"], states["source"]))]
    feature, tag = states["source"].astype(np.int64), states["target"].astype(np.int64)
    rows = WeightRows.of_pairs(feature, tag, n_attributes, n_labels)
    weights = np.zeros(len(rows.row_tag))
    weights[rows.seen] = states["weight"]
    return Crf(tuple(labels), (), FeatureTable(attributes), rows, weights, transitions, {"from": "crfsuite"})


def _names(raw: bytes, at: int, n: int) -> list[str]:
    """Names in order of their number, from a database of CRFsuite ("CQDB")."""
    if raw[at : at + 4] != b"CQDB":
        raise ValueError("a table of names is missing")
    n_backward, at_backward = struct.unpack_from("<II", raw, at + 16)
    if n_backward < n:
        raise ValueError("a table of names is too short")
    made = []
    for offset in struct.unpack_from(f"<{n}I", raw, at + at_backward):
        _, size = struct.unpack_from("<II", raw, at + offset)
        made.append(raw[at + offset + 8 : at + offset + 8 + size].rstrip(b"\x00").decode("utf-8"))
    return made
