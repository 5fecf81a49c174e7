"""How sure the pipeline is of each tag, and of each arc of its trees: softmax probabilities, and curves that calibrate them."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from howsure.corpora.document import Document

# Universal tag, Penn tag, head with relation: names in CoNLL-U's last column, and the components that choose.
KINDS = {"UposProb": "morphologizer", "XposProb": "tagger", "ArcProb": "parser"}
Probabilities = dict[str, np.ndarray]


def probabilities(document: Document) -> Probabilities:
    """The probabilities that a parsed document tells, an array for each kind; {} where it tells none."""
    found = {}
    rows = [dict(e.split("=", 1) for e in m.split("|") if "=" in e) for m in document.columns.get("misc", ())]
    for kind in KINDS:
        if rows and all(kind in row for row in rows):
            found[kind] = np.array([float(row[kind]) for row in rows])
    return found


def with_probabilities(
    nlp: Any, docs: Iterable[Any], size: int, curves: np.ndarray | None
) -> Iterator[tuple[Any, Probabilities]]:
    """Documents through the pipeline, each with the probabilities of its tags and arcs, calibrated by `curves`."""
    from howsure.kernels.special import expit

    stream = iter(docs)
    while batch := list(islice(stream, size)):
        with nlp.select_pipes(disable=["parser"]):
            done = list(nlp.pipe(batch, batch_size=size))
        found = {kind: tag_probabilities(nlp.get_pipe(name), done) for kind, name in KINDS.items() if name != "parser"}
        found["ArcProb"] = parse_with_probabilities(nlp.get_pipe("parser"), done)
        for k, doc in enumerate(done):
            raw = [found[kind][k] for kind in KINDS]
            sure = raw if curves is None else [expit(design_of(p) @ c) for p, c in zip(raw, curves, strict=True)]
            yield doc, dict(zip(KINDS, sure, strict=True))


def read_curves(path: Path) -> np.ndarray | None:
    """The curves of a file, three numbers for each kind; None where there is no file. A `ValueError` if one falls."""
    if not path.is_file():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    curves = np.array([kept[kind] for kind in KINDS], dtype=np.float64)
    if curves.shape != (len(KINDS), 3) or not np.isfinite(curves).all() or (curves[:, :2] < 0).any():
        raise ValueError(f"{path.name} holds no curves that rise")
    return curves


def design_of(p: np.ndarray) -> np.ndarray:
    """What a curve weighs: ln p, -ln(1 - p) and 1; the probability is expit of the weighted sum."""
    p = np.clip(p, 1e-9, 1.0 - 1e-9)
    return np.column_stack([np.log(p), -np.log1p(-p), np.ones(len(p))])


def tag_probabilities(component: Any, docs: list[Any]) -> list[np.ndarray]:
    """The probability of each word's tag, the first choice of a tagger; of a morphologiser, that of the universal tag."""
    labels = [next((e[4:] for e in label.split("|") if e.startswith("POS=")), label) for label in component.labels]
    kinds, kind = np.unique(labels if component.name == "morphologizer" else component.labels, return_inverse=True)
    found = []
    for scores in component.model.predict(docs):
        p = _softmax(scores)
        summed = np.zeros((len(p), len(kinds)))
        np.add.at(summed.T, kind, p.T)
        found.append(summed[np.arange(len(p)), kind[p.argmax(axis=1)]] if len(p) else np.zeros(0))
    return found


def parse_with_probabilities(parser: Any, docs: list[Any]) -> list[np.ndarray]:
    """Gives each document the tree of a transition-based parser; returns the probability of each word's head and relation.

    The parser goes from state to state by the most probable transition. A word's arc has the probability that the word
    got no other head in the states before, times that of the transition that made it; a root, that it never got one.
    The other words are taken as they were attached. The transition that ends a sentence makes and rules out no arc, and
    is left out of the sums.
    """
    states = parser.moves.init_batch(docs)
    step = parser.model.predict(docs)
    names = np.array([parser.moves.get_class_name(i)[:2] for i in range(parser.moves.n_moves)])
    left, right, ends = (np.flatnonzero(names == name) for name in ("L-", "R-", "B-"))
    free = [[1.0] * len(doc) for doc in docs]  # that a word has got no head yet
    found: list[list[float | None]] = [[None] * len(doc) for doc in docs]
    live = [(k, state) for k, state in enumerate(states) if not state.is_final()]
    while live:
        scores = step.predict([state for _, state in live])
        attaching = scores.copy()
        attaching[:, ends] = -np.inf
        p = _softmax(attaching)
        to_left, to_right = p[:, left], p[:, right]
        columns = (to_left.sum(axis=1), to_left.max(axis=1), to_right.sum(axis=1), to_right.max(axis=1))
        before = [(s := state.S(0), b := state.B(0), state.H(s), state.H(b)) for _, state in live]
        parser.transition_states([state for _, state in live], scores)
        for (k, state), (s, b, head_s, head_b), l_any, l_best, r_any, r_best in zip(
            live, before, *(c.tolist() for c in columns), strict=True
        ):
            if s < 0 or b < 0:
                continue
            if state.H(s) == b != head_s:
                found[k][s] = free[k][s] * l_best
            elif state.H(b) == s != head_b:
                found[k][b] = free[k][b] * r_best
            free[k][s] *= 1.0 - l_any
            free[k][b] *= 1.0 - r_any
        live = [(k, state) for k, state in live if not state.is_final()]
    parser.set_annotations(docs, states)
    both = zip(free, found, strict=True)
    return [np.array([f if a is None else a for f, a in zip(*of, strict=True)]) for of in both]


def _softmax(scores: np.ndarray) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    p = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    return p / p.sum(axis=1, keepdims=True)
