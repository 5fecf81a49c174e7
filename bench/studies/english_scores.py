"""Scores of the shipped English model on the test parts of EWT and GUM, as the model card shows them.

    python bench/studies/english_scores.py [--model FOLDER] [--write]

Needs the corpora under HOWSURE_DATA. `--write` puts the tables between the marks of the model's MODEL_CARD.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from english_data import NON_COMMERCIAL, Scores, scores, sentences, treebank

import howsure
from howsure.corpora.document import Document
from howsure.data.vectors import shipped_path
from howsure.english.annotating import reparsed
from howsure.english.confidence import KINDS, probabilities
from howsure.english.parsing import parse
from howsure.english.shipped import SHIPPED, Model, model, model_version

BEGIN, END = "<!-- scores -->", "<!-- end of scores -->"
NAMES = {"ewt": "EWT", "gum": "GUM"}
WORDS = {"UposProb": "UPOS", "XposProb": "XPOS", "ArcProb": "head and relation"}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--model", help="folder of another model of the same kind")
    options.add_argument("--write", action="store_true", help="write the tables into the model card")
    given = options.parse_args()
    ready = model(given.model)
    parts = treebank("test")
    folder = SHIPPED if given.model is None else Path(given.model)
    size = sum(f.stat().st_size for f in (*folder.glob("*"), shipped_path()))
    said = "\n\n".join(
        [
            f"Version `{model_version(given.model)}`, {size / 1e6:.1f} MB with "
            "coreference, the arc-factored parser and the word vectors.",
            gold_table(ready, parts),
            raw_table(given.model, parts),
            genre_table(given.model),
            calibration_table(ready, parts),
            speed_line(given.model, parts["ewt"]),
        ]
    )
    print(said)
    if given.write:
        card = folder / "MODEL_CARD.md"
        text = card.read_text(encoding="utf-8")
        head, tail = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
        card.write_text(f"{head}\n{said}\n{tail}", encoding="utf-8")


def gold_table(ready: Model, parts: dict[str, list[Document]]) -> str:
    """Gold words and sentences, as they are and in other cases."""
    lines = [
        "Gold words and gold sentences; percent of all words, punctuation included. LAS with the relation's subtype.",
        "",
        "| test part | case | words | UPOS | XPOS | features | lemma | UAS | LAS | LAS, no subtype |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, documents in parts.items():
        gold = [s for d in documents for s in sentences(d)]
        lemmas = [lemma for d in documents for lemma in d.column("lemma")]
        for how in ("as is", "upper", "lower"):
            s: Scores = scores(ready.nlp, gold, how)
            lemma = lemma_score(ready, gold, lemmas, how)
            numbers = " | ".join(f"{v:.1f}" for v in (s.upos, s.xpos, s.features, lemma, s.uas, s.las, s.las_universal))
            lines.append(f"| {NAMES[name]} | {how} | {s.n_words:,} | {numbers} |")
    return "\n".join(lines)


def lemma_score(ready: Model, gold: list, lemmas: list[str], how: str) -> float:
    """Percent of words with the gold lemma, case apart where the text has lost it; the tags are the model's."""
    from spacy.tokens import Doc

    docs = (Doc(ready.nlp.vocab, words=list(s.cased(how))) for s in gold)
    tagger = ready.nlp.select_pipes(enable=["tok2vec", "tagger"])
    found = [ready.lemma(t.text, t.tag_) for doc in ready.nlp.pipe(docs, batch_size=256) for t in doc]
    tagger.restore()
    fold = (lambda w: w) if how == "as is" else str.lower
    pairs = [(a, b) for a, b in zip(found, lemmas, strict=True) if b != "_"]
    return 100 * sum(fold(a) == fold(b) for a, b in pairs) / len(pairs)


def raw_table(name: str | None, parts: dict[str, list[Document]]) -> str:
    """From raw text: F1 of words, of sentences, and of annotations on words that are cut alike."""
    lines = [
        "Raw text (paragraphs separated by an empty line); F1, where a word that is cut otherwise counts as wrong.",
        "",
        "| test part | words | sentences | UPOS | XPOS | UAS | LAS |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for part, documents in parts.items():
        made = parse([raw_text(d) for d in documents], model=name, cache=False, jobs=1)
        found = raw_scores(zip(documents, made, strict=True))
        lines.append(f"| {NAMES[part]} | " + " | ".join(f"{v:.1f}" for v in found) + " |")
    return "\n".join(lines)


def genre_table(name: str | None) -> str:
    """The same on GUM's test part by genre, those without training data included."""
    genres: dict[str, list[Document]] = {}
    for document in treebank("test", genres="all")["gum"]:
        genres.setdefault(document.name.split("_")[1], []).append(document)
    lines = [
        "GUM's test part by genre, raw text. Genres with a star were not in the training data.",
        "",
        "| genre | documents | words | sentences, F1 | UPOS | LAS |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for genre, documents in sorted(genres.items()):
        made = parse([raw_text(d) for d in documents], model=name, cache=False, jobs=1)
        found = raw_scores(zip(documents, made, strict=True))
        star = "*" if genre in NON_COMMERCIAL else ""
        n = sum(len(d) for d in documents)
        lines.append(f"| {genre}{star} | {len(documents)} | {n:,} | {found[1]:.1f} | {found[2]:.1f} | {found[5]:.1f} |")
    return "\n".join(lines)


def calibration_table(ready: Model, parts: dict[str, list[Document]]) -> str:
    """Whether the probabilities of tags and arcs are right, gold words and sentences; intervals by document."""
    lines = [
        "Probabilities of tags and arcs (`howsure parse --probabilities`), gold words and sentences: RMS calibration error",
        "with its 95% interval, documents as groups, as the model gives them and by the curves fitted on the development parts.",
        "",
        "| test part | probability of | right, percent | RMS error, raw | RMS error, calibrated | AUC |",
        "|---|---|---:|---|---|---:|",
    ]
    for part, documents in parts.items():
        found = {kind: ([], [], []) for kind in KINDS}
        groups: list[int] = []
        for curves, column in ((None, 1), (ready.curves, 2)):
            made = reparsed(replace(ready, curves=curves), documents, probabilities=True)
            for k, (gold, own) in enumerate(zip(documents, made, strict=True)):
                groups.extend([k] * len(gold) if column == 1 else [])
                right = {
                    "UposProb": [a == b for a, b in zip(gold.column("upos"), own.column("upos"), strict=True)],
                    "XposProb": [a == b for a, b in zip(gold.column("xpos"), own.column("xpos"), strict=True)],
                    "ArcProb": (gold.heads == own.heads)
                    & [a == b for a, b in zip(gold.column("relation"), own.column("relation"), strict=True)],
                }
                for kind, p in probabilities(own).items():
                    found[kind][column].extend(p.tolist())
                    found[kind][0].extend(np.asarray(right[kind], dtype=int).tolist() if column == 1 else [])
        for kind, (right_, *both) in found.items():
            checks = [howsure.check(right_, p, groups=groups) for p in both]
            cells = [f"{c.error.value:.4f} [{c.error.low:.4f}, {c.error.high:.4f}]" for c in checks]
            share = 100 * sum(right_) / len(right_)
            lines.append(
                f"| {NAMES[part]} | {WORDS[kind]} | {share:.1f} | {cells[0]} | {cells[1]} | {checks[1].auc:.3f} |"
            )
    return "\n".join(lines)


def raw_text(document: Document) -> str:
    """A treebank document as it would be found: sentences spaced as in the source, an empty line between paragraphs."""
    made = []
    for number, part in enumerate(document.sentences()):
        if number and any(k.startswith("newpar") for m in document.sentence_metadata[number : number + 1] for k in m):
            made.append("\n\n")
        words, spaces = document.words[part], document.space_after[part]
        made.append("".join(w + " " * bool(s) for w, s in zip(words, spaces, strict=True)))
    return "".join(made)


def raw_scores(pairs: Iterable[tuple[Document, Document]]) -> list[float]:
    """F1 in percent: words, sentences, UPOS, XPOS, UAS, LAS; words are matched by the characters they cover."""
    right = dict.fromkeys(("word", "sentence", "upos", "xpos", "uas", "las"), 0)
    words = sentences_ = 0
    for gold, made in pairs:
        a, b = spans(gold), spans(made)
        assert a[-1][1] == b[-1][1], "characters were lost"
        words += len(a) + len(b)
        at = {span: i for i, span in enumerate(a)}
        ends = [{(s[p.start][0], s[p.stop - 1][1]) for p in d.sentences()} for d, s in ((gold, a), (made, b))]
        sentences_ += len(ends[0]) + len(ends[1])
        right["sentence"] += len(ends[0] & ends[1])
        for j, span in enumerate(b):
            i = at.get(span)
            if i is None:
                continue
            right["word"] += 1
            right["upos"] += gold.column("upos")[i] == made.column("upos")[j]
            right["xpos"] += gold.column("xpos")[i] == made.column("xpos")[j]
            h, k = int(gold.heads[i]), int(made.heads[j])
            same = (h < 0 and k < 0) or (h >= 0 and k >= 0 and a[h] == b[k])
            right["uas"] += same
            right["las"] += same and gold.column("relation")[i] == made.column("relation")[j]
    return [200 * right[k] / (sentences_ if k == "sentence" else words) for k in right]


def spans(document: Document) -> list[tuple[int, int]]:
    """Where each word begins and ends, white space not counted."""
    found, at = [], 0
    for word in document.words:
        size = len("".join(word.split()))
        found.append((at, at + size))
        at += size
    return found


def speed_line(name: str | None, documents: list[Document]) -> str:
    """Words a second on one core, raw text to documents, best of five."""
    texts = [raw_text(d) for d in documents]
    best = 0.0
    for _ in range(5):
        began = time.perf_counter()
        n = sum(len(d) for d in parse(texts, model=name, cache=False, jobs=1))
        best = max(best, n / (time.perf_counter() - began))
    return f"Speed, raw text to documents on one core, best of five: {best:,.0f} words a second."


if __name__ == "__main__":
    main()
