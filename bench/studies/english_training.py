"""Trains the English pipeline on EWT and GUM, with checkpoints: killed work goes on where it stopped.

    python bench/studies/english_training.py FOLDER [--steps N] [--export FOLDER]

    python bench/studies/english_training.py --curves    # fits those of the model that ships again

FOLDER keeps `checkpoint.npz` (weights, Adam's moments, averages, step), `labels/`, `best.npz` (averaged weights
with the best development score) and `log.jsonl`.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from english_data import Sentence, scores, sentences, treebank
from english_lemmas import learnt_lemmatiser
from english_scores import raw_scores, raw_text

from howsure.corpora.document import Document
from howsure.english.annotating import annotated, joined
from howsure.english.confidence import KINDS, design_of, with_probabilities
from howsure.english.lemmas import Vocabulary
from howsure.english.pipeline import (
    LABELLED,
    Shape,
    add_vectors,
    blank_pipeline,
    language,
    parameters,
    set_weights,
    weights,
)
from howsure.english.shipped import CURVES, LEMMAS, SHIPPED, VECTORS, VOCABULARY, WEIGHTS, Model, model, vectors_hash
from howsure.english.tokens import tokenizer
from howsure.files import whole_file, whole_folder, write_whole
from howsure.kernels.losses import logistic_fit

SEED = 20150917
STEPS = 6000
WORDS_PER_BATCH = 1600
PEAK_RATE, WARM_UP, LAST_SHARE = 0.0015, 300, 0.02
DROPOUT = 0.2
EVERY = 400
UPPER_SHARE, LOWER_SHARE = 0.14, 0.06
LONGEST_GROUP = 10
# Of the sentences in a run of two or more: shares that lose their last mark, become titles (capitals at the beginning of
# words, or all capitals; short sentences only), or get a mark of a list in front.
UNMARKED, TITLES, HEADLINES, LISTED = 0.06, 0.03, 0.03, 0.02
LONGEST_TITLE = 12
LIST_MARKS = ("-", "*", "•", "–")
# What is added to the score of ending a sentence by a transition of its own; sentences end where trees do, too.
BREAKS = (0.0, -0.5, -1.0, -1.5, -2.0, -2.5, -3.0)


def gold_doc(vocab: Any, group: list[Sentence], how: str = "as is") -> Any:
    """Sentences as one spaCy document with all gold columns."""
    from spacy.tokens import Doc

    words: list[str] = []
    heads: list[int] = []
    starts: list[bool] = []
    for sentence in group:
        heads.extend(h + len(words) for h in sentence.heads)
        starts.extend([True] + [False] * (len(sentence.words) - 1))
        words.extend(sentence.cased(how))
    return Doc(
        vocab,
        words=words,
        spaces=[s for g in group for s in g.spaces],
        tags=[t for g in group for t in g.tags],
        pos=[p for g in group for p in g.pos],
        morphs=[m for g in group for m in g.morphs],
        heads=heads,
        deps=[d for g in group for d in g.deps],
        sent_starts=starts,
    )


def example(vocab: Any, group: list[Sentence], how: str = "as is") -> Any:
    """What spaCy learns from: the bare words beside the gold document."""
    from spacy.tokens import Doc
    from spacy.training import Example

    gold = gold_doc(vocab, group, how)
    bare = Doc(vocab, words=[t.text for t in gold], spaces=[bool(t.whitespace_) for t in gold])
    return Example(bare, gold)


def groups(documents: list[list[Sentence]], rng: np.random.Generator) -> list[tuple[list[Sentence], str]]:
    """One pass over the data: runs of 1 to 10 consecutive sentences with their case, in random order.

    Half of the runs are single sentences; boundaries between sentences are learnt from the others.
    """
    found = []
    for document in documents:
        at = 0
        while at < len(document):
            size = 1 if rng.random() < 0.5 else int(rng.integers(2, LONGEST_GROUP + 1))
            draw = rng.random()
            how = "upper" if draw < UPPER_SHARE else "lower" if draw < UPPER_SHARE + LOWER_SHARE else "as is"
            run = document[at : at + size]
            found.append((run if len(run) < 2 else [varied(s, rng) for s in run], how))
            at += size
    return [found[i] for i in rng.permutation(len(found))]


def batches(documents: list[list[Sentence]], n_words: int, seed: int) -> Iterator[list[tuple[list[Sentence], str]]]:
    """Endless batches of about `n_words` words; the same seed gives the same batches."""
    epoch = 0
    while True:
        batch: list[tuple[list[Sentence], str]] = []
        size = 0
        for group, how in groups(documents, np.random.default_rng([seed, epoch])):
            batch.append((group, how))
            size += sum(len(s.words) for s in group)
            if size >= n_words:
                yield batch
                batch, size = [], 0
        epoch += 1


def unmarked(sentence: Sentence) -> Sentence:
    """The sentence without the punctuation mark at its end, where it has one and would not be empty."""
    last = len(sentence.words) - 1
    if last < 2 or sentence.pos[last] != "PUNCT" or last in sentence.heads[:last]:
        return sentence
    return Sentence(*(getattr(sentence, f.name)[:last] for f in fields(sentence)))


def listed(sentence: Sentence, mark: str) -> Sentence:
    """The sentence as an item of a list."""
    heads = [h + 1 for h in sentence.heads]
    first = (mark, True, "NFP", "PUNCT", "", sentence.deps.index("ROOT") + 1, "punct")
    columns = (getattr(sentence, f.name) if f.name != "heads" else heads for f in fields(sentence))
    return Sentence(*((value, *column) for value, column in zip(first, columns, strict=True)))


def varied(sentence: Sentence, rng: np.random.Generator) -> Sentence:
    """The sentence, or at times as it stands in titles and lists: ends of sentences are learnt from more than full stops."""
    draw = rng.random() - UNMARKED
    if draw < 0:
        return unmarked(sentence)
    if draw < TITLES + HEADLINES and len(sentence.words) <= LONGEST_TITLE:
        bare = unmarked(sentence)
        cased = (w.upper() if draw >= TITLES else w[:1].upper() + w[1:] for w in bare.words)
        return replace(bare, words=tuple(cased))
    if TITLES + HEADLINES <= draw < TITLES + HEADLINES + LISTED:
        return listed(sentence, LIST_MARKS[int(rng.integers(len(LIST_MARKS)))])
    return sentence


def learning_rate(step: int, steps: int) -> float:
    """Linear warm-up, then linear decay to a fiftieth of the peak."""
    if step < WARM_UP:
        return PEAK_RATE * (step + 1) / WARM_UP
    left = max(0.0, (steps - step) / (steps - WARM_UP))
    return PEAK_RATE * (LAST_SHARE + (1 - LAST_SHARE) * left)


def train(folder: str | Path, steps: int = STEPS) -> Path:
    """Trains up to `steps` batches, going on from the folder's checkpoint where there is one; returns the best weights."""
    from spacy.util import fix_random_seed
    from thinc.api import Adam

    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    fix_random_seed(SEED)
    data = treebank("train")
    documents = [sentences(d) for d in data["ewt"] + data["gum"]]
    check = {name: [s for d in part for s in sentences(d)] for name, part in treebank("dev").items()}
    nlp = _pipeline(home, documents)
    optimizer = Adam(PEAK_RATE, L2=0.01, L2_is_weight_decay=True, grad_clip=1.0, use_averages=True)
    done, best = _resume(home, nlp, optimizer)
    stream = batches(documents, WORDS_PER_BATCH, SEED)
    for _ in range(done):
        next(stream)
    losses: dict[str, float] = {}
    began, words = time.time(), 0
    for step in range(done, steps):
        batch = [example(nlp.vocab, group, how) for group, how in next(stream)]
        words += sum(len(e.reference) for e in batch)
        fix_random_seed(SEED + step)  # dropout: a resumed run goes the same way
        optimizer.learn_rate = learning_rate(step, steps)
        # Given the optimiser, `update` would step the shared encoder before the others' gradients have reached it.
        nlp.update(batch, drop=DROPOUT, sgd=False, losses=losses)
        for _, component in nlp.pipeline:
            component.finish_update(optimizer)
        if (step + 1) % EVERY == 0 or step + 1 == steps:
            best = _evaluate(home, nlp, optimizer, check, step + 1, best, losses, words / (time.time() - began))
            _checkpoint(home, nlp, optimizer, step + 1, best)
            losses, began, words = {}, time.time(), 0
    return home / "best.npz"


def _pipeline(home: Path, documents: list[list[Sentence]]) -> Any:
    """The pipeline to train; its labels are found once and kept, so that a resumed run has the same output layers."""
    kept = home / "labels"
    if not kept.exists():
        vocab = add_vectors(language()().vocab)
        nlp = blank_pipeline(examples=lambda: [example(vocab, [s]) for d in documents for s in d])
        with whole_folder(kept) as made:
            for name in LABELLED:
                text = json.dumps(nlp.get_pipe(name).label_data, indent=0, ensure_ascii=False)
                (made / f"{name}.json").write_text(text, encoding="utf-8")
    return blank_pipeline(kept)


def _evaluate(
    home: Path,
    nlp: Any,
    optimizer: Any,
    check: dict[str, list[Sentence]],
    step: int,
    best: float,
    losses: dict[str, float],
    speed: float,
) -> float:
    """Scores the averaged weights on the development parts; keeps them when they are the best so far."""
    with nlp.use_params(optimizer.averages):
        found = {name: scores(nlp, part) for name, part in check.items()}
        found["ewt upper"] = scores(nlp, check["ewt"], "upper")
        average = weights(nlp)
        average = {k: v.copy() for k, v in average.items()}
    value = (2 * found["ewt"].las + found["gum"].las + found["ewt upper"].las + 2 * found["ewt"].xpos) / 6
    line: dict[str, Any] = {
        "step": step,
        "value": value,
        "words per second": round(speed),
        "losses": {k: round(float(v), 1) for k, v in losses.items()},
    }
    line |= {name: part.to_dict() for name, part in found.items()}
    with open(home / "log.jsonl", "a", encoding="utf-8") as log:
        log.write(json.dumps(line) + "\n")
    print(
        step, f"{value:.3f}", *(f"{k} {v!r}" for k, v in found.items()), f"{speed:.0f} words/s", sep="\n  ", flush=True
    )
    if value > best:
        _save(home / "best.npz", average)
        return value
    return best


def _checkpoint(home: Path, nlp: Any, optimizer: Any, step: int, best: float) -> None:
    arrays = {f"weight {k}": v for k, v in weights(nlp).items()}
    for key, (node, param) in parameters(nlp).items():
        at = (node.id, param)
        for kind, table in (("mom1", optimizer.mom1), ("mom2", optimizer.mom2), ("average", optimizer.averages)):
            if at in table:
                arrays[f"{kind} {key}"] = table[at]
        arrays[f"updates {key}"] = np.array(optimizer.nr_update[at])
    _save(home / "checkpoint.npz", {**arrays, "step": np.array(step), "best": np.array(best)})


def _resume(home: Path, nlp: Any, optimizer: Any) -> tuple[int, float]:
    path = home / "checkpoint.npz"
    if not path.exists():
        return 0, 0.0
    with np.load(path, allow_pickle=False) as kept:
        set_weights(nlp, {k[7:]: kept[k] for k in kept.files if k.startswith("weight ")})
        for key, (node, param) in parameters(nlp).items():
            at = (node.id, param)
            for kind, table in (("mom1", optimizer.mom1), ("mom2", optimizer.mom2), ("average", optimizer.averages)):
                if f"{kind} {key}" in kept.files:
                    table[at] = kept[f"{kind} {key}"].copy()
            optimizer.nr_update[at] = int(kept[f"updates {key}"])
        return int(kept["step"]), float(kept["best"])


def _save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with whole_file(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def export(training: str | Path, target: str | Path) -> Path:
    """Writes the best weights of a training folder as a model, with lemmas and vocabulary learnt from the same data.

    The curves that turn the pipeline's probabilities into calibrated ones are fitted to the development parts.
    """
    source, folder = Path(training), Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    documents = [d for part in treebank("train").values() for d in part]
    triples = [t for d in documents for t in zip(d.words, d.column("xpos"), d.column("lemma"), strict=True)]
    counted = Counter(word.lower() for triple in triples for word in {triple[0], triple[2]})
    known = Vocabulary.of(counted)
    with np.load(source / "best.npz", allow_pickle=False) as kept:
        arrays = {k: kept[k].astype(np.float16) for k in kept.files}
    shape = Shape.of(arrays)
    nlp = blank_pipeline(source / "labels", shape=shape)
    set_weights(nlp, arrays)
    fit_breaks(nlp, treebank("dev"))
    arrays = {k: w.astype(np.float16) for k, w in weights(nlp).items()}
    write_curves(nlp, folder)
    buffer = io.BytesIO()
    if shape.vectors:
        arrays[VECTORS] = np.frombuffer(vectors_hash(), np.uint8)
    np.savez_compressed(buffer, **arrays, **{VOCABULARY: known.to_array()})  # type: ignore[arg-type]
    lemmas = json.dumps(learnt_lemmatiser(triples, known).to_dict(), ensure_ascii=False, sort_keys=True, indent=0)
    write_whole(folder / LEMMAS, lemmas.encode())
    for name in LABELLED:
        write_whole(folder / f"{name}.json", (source / "labels" / f"{name}.json").read_bytes())
    write_whole(folder / WEIGHTS, buffer.getvalue())
    return folder


def fit_breaks(nlp: Any, parts: dict[str, list[Document]]) -> None:
    """Moves the score of the transition that ends a sentence to where sentences of raw text are found best in all parts."""
    ready = Model(nlp, "in training", tokenizer(nlp.vocab))
    parser = nlp.get_pipe("parser")
    upper = parser.model.get_ref("upper")
    is_break = np.array([parser.moves.get_class_name(i).startswith("B-") for i in range(parser.moves.n_moves)])
    learnt = upper.get_param("b").copy()

    def found(move: float) -> float:
        upper.set_param("b", learnt + np.where(is_break, np.float32(move), np.float32(0.0)))
        values = []
        for documents in parts.values():
            texts = annotated(ready, [raw_text(d) for d in documents])
            made = (joined(d.name, [t], {}) for d, t in zip(documents, texts, strict=True))
            values.append(raw_scores(zip(documents, made, strict=True))[1])
        return float(np.mean(values))

    values = [found(move) for move in BREAKS]
    best = BREAKS[int(np.argmax(values))]
    print(f"ends of sentences: {best:+g}, F1 {max(values):.2f} on the development parts instead of {values[0]:.2f}")
    found(best)


def write_curves(nlp: Any, folder: Path) -> None:
    """Fits the curves of probabilities to the development parts, into the model's folder."""
    curves = learnt_curves(nlp, [d for part in treebank("dev").values() for d in part])
    text = json.dumps({kind: np.round(c, 6).tolist() for kind, c in zip(KINDS, curves, strict=True)}, indent=0)
    write_whole(folder / CURVES, text.encode())


def learnt_curves(nlp: Any, documents: list[Document]) -> np.ndarray:
    """Per kind (a, b, c) of expit(a ln p - b ln(1 - p) + c), fitted to what is right in gold documents; a and b not below 0."""
    from spacy.tokens import Doc

    docs = (
        Doc(nlp.vocab, words=list(d.words), sent_starts=np.isin(np.arange(len(d)), d.starts).tolist())
        for d in documents
    )
    rows: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in KINDS]
    for gold, (doc, raw) in zip(documents, with_probabilities(nlp, docs, 8, None), strict=True):
        assert gold.heads is not None
        heads = np.where(gold.heads < 0, np.arange(len(doc)), gold.heads)
        right = (
            [t.pos_ == upos for t, upos in zip(doc, gold.column("upos"), strict=True)],
            [t.tag_ == xpos for t, xpos in zip(doc, gold.column("xpos"), strict=True)],
            [
                t.head.i == head and t.dep_.replace("ROOT", "root") == relation
                for t, head, relation in zip(doc, heads, gold.column("relation"), strict=True)
            ],
        )
        for found, p, y in zip(rows, raw.values(), right, strict=True):
            found.append((p, np.array(y, dtype=np.float64)))
    return np.array([_curve(*(np.concatenate(column) for column in zip(*found, strict=True))) for found in rows])


def _curve(p: np.ndarray, right: np.ndarray) -> np.ndarray:
    design, made = design_of(p), np.zeros(3)
    used = np.arange(3)
    while True:
        made[:] = 0.0
        made[used] = logistic_fit(design[:, used], right, np.ones(len(right)), np.zeros(len(used)))
        if (made[:2] >= 0).all():
            return made
        used = np.array([k for k in used if k == 2 or made[k] >= 0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Trains the English pipeline; a killed run goes on where it stopped.")
    parser.add_argument("folder", nargs="?")
    parser.add_argument(
        "--curves", action="store_true", help="fit the curves of the model that ships, and nothing else"
    )
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--export", help="folder to write the finished model to")
    arguments = parser.parse_args()
    if arguments.curves:
        write_curves(model().nlp, SHIPPED)
    elif arguments.folder:
        train(arguments.folder, arguments.steps)
    if arguments.folder and arguments.export:
        export(arguments.folder, arguments.export)
