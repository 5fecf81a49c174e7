"""A linear-chain conditional random field: weights of (feature, tag) and of (tag, tag), and its posterior."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.ragged import offsets
from howsure.kernels.threads import for_each
from howsure.models.saved import Array, Names, Tempered, load_model, packed_names, save_model
from howsure.models.taggers.features import TEMPLATES, FeatureTable, TokenFeatures
from howsure.posteriors.chain import ChainPosterior

VERSION = 1
ARRAYS: dict[str, Array | Names] = {
    "features": Names("feature"),
    "lexicon_words": Names("word"),
    "lexicon_classes": Names("word", repeated=True),
    "pair_feature": Array("iu", ("pair",), below="feature"),
    "pair_tag": Array("iu", ("pair",), below="tag"),
    "weights": Array("f", ("pair",)),
    "transitions": Array("f", ("tag", "tag")),
}
DENSE_SHARE = 0.25  # a feature seen with more of the tags than this has a whole row of weights
COMPILE_FROM = 200_000  # (token, feature) pairs


@dataclass(frozen=True)
class WeightRows:
    """Which (feature, tag) pairs have weights: those of feature f are `row_ptr[f] … row_ptr[f + 1]`, of tags `row_tag`.

    `seen` is False for places that only fill a whole row: their weights are 0 and stay so.
    """

    row_ptr: Ints
    row_tag: NDArray[np.int16]
    seen: NDArray[np.bool_]

    @staticmethod
    def of_pairs(feature: Ints, tag: Ints, n_features: int, n_tags: int) -> WeightRows:
        """Rows for distinct (feature, tag) pairs, in order of feature, then tag."""
        count = np.bincount(feature, minlength=n_features)
        whole = count > max(DENSE_SHARE * n_tags, 1)
        size = np.where(whole, n_tags, count)
        row_ptr = offsets(size)
        row_tag, seen = np.zeros(row_ptr[-1], np.int16), np.zeros(row_ptr[-1], bool)
        filled = np.flatnonzero(whole)
        places = row_ptr[filled][:, None] + np.arange(n_tags)
        row_tag[places] = np.arange(n_tags)
        rank = np.arange(len(feature)) - offsets(count)[feature]
        at = row_ptr[feature] + np.where(whole[feature], tag, rank)
        row_tag[at] = tag
        seen[at] = True
        return WeightRows(row_ptr, row_tag, seen)

    @property
    def feature(self) -> Ints:
        """The feature of each weight."""
        return np.repeat(np.arange(len(self.row_ptr) - 1), np.diff(self.row_ptr))


@dataclass(frozen=True, eq=False)
class Crf(Tempered):
    """A CRF that can tag. Made by `CrfTrainer.fit`, `Crf.load` or `read_crfsuite`."""

    tags: tuple[str, ...]
    templates: tuple[str, ...]  # empty: its features are the user's own
    features: FeatureTable = field(repr=False)
    rows: WeightRows = field(repr=False)
    weights: Floats = field(repr=False)
    transitions: Floats = field(repr=False)
    settings: dict[str, Any] = field(default_factory=dict)

    kind = "crf"

    def __repr__(self) -> str:
        return f"Crf({len(self.tags)} tags, {len(self.features):,} features, {int(self.rows.seen.sum()):,} weights)"

    def posterior(self, words: Sequence[str], starts: Any) -> ChainPosterior:
        """The posterior over tag sequences of sentences, their words one after another."""
        if not self.templates:
            raise InputError("this model's features are its maker's own: give them to `posterior_of_features`.")
        at = np.asarray(starts, np.int64)
        return self._posterior(self.features.extract(words, at, self.templates), at)

    def posterior_of_features(self, sentences: Sequence[Sequence[Sequence[str]]]) -> ChainPosterior:
        """The posterior of sentences given as each token's list of features by name; unknown ones count for nothing."""
        index = self.features.index
        ids = [[i for f in token if (i := index.get(f, -1)) >= 0] for s in sentences for token in s]
        flat = np.array([i for one in ids for i in one], np.int32)
        return self._posterior(TokenFeatures(offsets([*map(len, ids)]), flat), offsets([*map(len, sentences)]))

    def _posterior(self, features: TokenFeatures, starts: Ints) -> ChainPosterior:
        scores = state_scores(features, self.rows, self.weights, len(self.tags))
        made = ChainPosterior(scores, self.transitions, starts=starts, tags=self.tags)
        return made if self.temperature == 1.0 else made.tempered(self.temperature)

    def save(self, path: str | Path) -> None:
        """Write the model: weights that single precision holds are stored so."""
        small = self.weights.astype(np.float32)
        kept = self.rows.seen
        arrays = {
            "features": packed_names(self.features.names),
            "lexicon_words": packed_names(list(self.features.lexicon)),
            "lexicon_classes": packed_names(list(self.features.lexicon.values())),
            "pair_feature": self.rows.feature[kept].astype(np.int32),
            "pair_tag": self.rows.row_tag[kept],
            "weights": (small if np.array_equal(small, self.weights) else self.weights)[kept],
            "transitions": self.transitions,
        }
        settings = self.settings | {"tags": list(self.tags), "templates": list(self.templates)}
        save_model(path, "crf", VERSION, settings, arrays)

    @staticmethod
    def load(path: str | Path) -> Crf:
        """Read what `save` wrote."""
        settings, arrays = load_model(path, "crf", VERSION, ARRAYS, lists={"tags": "tag", "templates": "template"})
        tags, templates = tuple(settings.pop("tags")), tuple(settings.pop("templates"))
        lexicon = dict(zip(arrays["lexicon_words"], arrays["lexicon_classes"], strict=True))
        features = FeatureTable(arrays["features"], lexicon)
        pairs = (arrays["pair_feature"].astype(np.int64), arrays["pair_tag"].astype(np.int64), arrays["weights"])
        rows = weight_rows(*pairs, len(features), len(tags)) if set(templates) <= set(TEMPLATES) else None
        if rows is None:
            raise InputError(f"{path} is damaged: its weights are not of its features and tags.")
        return Crf(tags, templates, features, *rows, arrays["transitions"], settings)


def weight_rows(
    feature: Ints, tag: Ints, given: Floats, n_features: int, n_tags: int
) -> tuple[WeightRows, Floats] | None:
    """Rows and their weights from pairs of a feature and a tag; None unless these are in order, each once, and the tags few enough."""
    if not 0 < n_tags <= np.iinfo(np.int16).max or not np.all(np.diff(feature * n_tags + tag) > 0):
        return None
    rows = WeightRows.of_pairs(feature, tag, n_features, n_tags)
    weights = np.zeros(len(rows.row_tag))
    weights[rows.seen] = given
    return rows, weights


def state_scores(features: TokenFeatures, rows: WeightRows, weights: Floats, n_tags: int) -> Floats:
    """(tokens, T) sums of each token's weight rows."""
    n = len(features)
    if len(features.ids) < COMPILE_FROM:
        from scipy.sparse import csr_array

        tokens = csr_array(
            (np.ones(len(features.ids)), features.ids.astype(np.int64), features.ptr), shape=(n, len(rows.row_ptr) - 1)
        )
        table = csr_array((weights, rows.row_tag.astype(np.int64), rows.row_ptr), shape=(tokens.shape[1], n_tags))
        return np.ascontiguousarray((tokens @ table).toarray())
    from howsure.kernels.chains import crf_compiled

    crf_compiled.compile_all()
    scores, given = np.empty((n, n_tags)), (features.ptr, features.ids, rows.row_ptr, rows.row_tag, weights)
    for_each(lambda first, after: crf_compiled.state_scores(*given, first, after, scores), np.arange(n + 1))
    return scores


HEADER = struct.Struct("<4sI4sIIIIIIIII")
FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])


def read_crfsuite(path: str | Path) -> Crf:
    """A CRF from a CRFsuite model file (first-order, as all its trainers write). Ask it with `posterior_of_features`."""
    try:
        return _parsed(Path(path).read_bytes(), path)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}.") from None
    except (struct.error, ValueError, IndexError) as error:
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
    if not np.isfinite(table["weight"]).all():
        raise InputError(f"{path} is damaged: a weight is not finite.")
    transitions = np.zeros((n_labels, n_labels))
    moves = table[table["kind"] == 1]
    transitions[moves["source"], moves["target"]] = moves["weight"]
    states = table[table["kind"] == 0]
    states = states[np.lexsort((states["target"], states["source"]))]
    feature, tag = states["source"].astype(np.int64), states["target"].astype(np.int64)
    there = not len(feature) or feature.max() < n_attributes
    rows = weight_rows(feature, tag, states["weight"], n_attributes, n_labels) if there else None
    if rows is None:
        raise InputError(f"{path} is damaged: its weights are not of its attributes and labels.")
    return Crf(tuple(labels), (), FeatureTable(attributes), *rows, transitions, {"from": "crfsuite"})


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
