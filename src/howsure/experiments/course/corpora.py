"""The course notes' examples on real corpora: the restaurant transcript, newswire by order, and who wrote it."""

import re
from typing import Any

import numpy as np

from howsure.corpora.news import reuters_texts
from howsure.corpora.plain import brown_sentences, chunked_sentences, marks_apart, restaurant_utterances, speeches
from howsure.corpora.reading import corpus_path
from howsure.experiments.course import models as notes
from howsure.experiments.findings import CLAIMS, Finding, finding_on, held
from howsure.experiments.registry import Work
from howsure.experiments.result import Table
from howsure.models.ngrams.classifier import fit_ngrams
from howsure.verbs import lm
from howsure.verbs.check import check
from howsure.verbs.score import score

VOCABULARY = 19_979  # words of the textbook's experiment behind 962, 170, 109
HELD_OUT_PLAYS = {"merchant": "dev", "macbeth": "test", "othello": "test"}


def corpus_findings(used: set[str], limit: int | None, work: Work) -> tuple[list[Finding], list[Table]]:
    """What needs corpora; "not tested" where one is not there."""
    plans = (
        ("restaurant transcript", "course/restaurant", {"berp"}, _restaurant),
        ("newswire by order", "course/newswire", {"conll2000", "reuters"}, _newswire),
        ("who wrote it", "course/who-wrote-it", {"brown", "shakespeare"}, _who_wrote_it),
    )
    findings: list[Finding] = []
    tables: list[Table] = []
    for name, claim, wanted, make in plans:
        if wanted <= used:
            work(name)
            finding, table = make(limit)
            findings.append(finding)
            tables.append(table)
        else:
            why = f"The corpora {', '.join(sorted(wanted))} are not below HOWSURE_DATA."
            findings.append(Finding(CLAIMS[claim]["claim"], "notes", "not tested", why, {}, ours="–"))
    return findings, tables


def restaurant_counts() -> tuple[Any, Any, int]:
    """Bigram counts of the eight words, their unigram counts, and the vocabulary's size, by `howsure.lm`."""
    utterances = restaurant_utterances(corpus_path("berp", "transcript.txt"))
    model = lm.train(utterances, order=2, smoothing="mle", units="words").model
    numbers = model.vocabulary.numbers(notes.WORDS).tolist()
    trie = model.trie
    pairs = [[trie.node([a, b]) for b in numbers] for a in numbers]
    counts = np.array([[0 if node is None else int(trie.count[node]) for node in row] for row in pairs])
    return counts, trie.count[numbers].astype(np.int64), len(model.vocabulary) - 3


def _restaurant(limit: int | None) -> tuple[Finding, Table]:
    counts, contexts, size = restaurant_counts()
    printed, printed_contexts = notes.counts(), np.array(notes.CONTEXTS)
    likeliest, printed_likeliest = counts / contexts[:, None], printed / printed_contexts[:, None]
    rows = [
        (a, *(f"{n} ({m})" for n, m in zip(ours, theirs, strict=True)))
        for a, ours, theirs in zip(notes.WORDS, counts.tolist(), printed.tolist(), strict=True)
    ]
    caption = "Bigram counts of the restaurant transcript that is distributed today (the notes' in brackets)"
    table = Table("restaurant", caption, ("", *notes.WORDS), tuple(rows))
    r = float(np.corrcoef(counts.ravel(), printed.ravel())[0, 1])
    zeros = int(((counts == 0) == (printed == 0)).sum())
    laplace = (counts[0, 1] + 1) / (contexts[0] + size)
    off = float(np.abs(likeliest - printed_likeliest).max())
    numbers = {"size": size, "r": r, "zeros": zeros, "off": off, "laplace": laplace, "p_want": likeliest[0, 1]}
    numbers |= {"i_want": counts[0, 1], "printed": printed[0, 1], "rounded": f"{likeliest[0, 1]:.2f}".lstrip("0")}
    return finding_on("course/restaurant", held(r > 0.99 and off < 0.05), numbers), table


def newswire(limit: int | None) -> list[str]:
    """Sentences of Reuters' stories in order of time, in lower case with punctuation apart."""
    stories = sorted(reuters_texts(corpus_path("reuters")), key=lambda s: (str(s.date), s.id))
    made: list[str] = []
    for story in stories[:limit]:
        made += filter(None, map(marks_apart, re.split(r"(?<=[.!?])\s+", story.text)))
    return made


def _newswire(limit: int | None) -> tuple[Finding, Table]:
    rows = []
    by_corpus: dict[str, list[float]] = {}
    for name, sentences in (
        ("Reuters 1987", newswire(limit)),
        ("Wall Street Journal (CoNLL-2000)", chunked_sentences(corpus_path("conll2000"))[:limit]),
    ):
        cut = len(sentences) * 9 // 10
        train, test = sentences[:cut], sentences[cut:]
        for smoothing in ("katz", "modified-kneser-ney"):
            found = []
            for order in (1, 2, 3):
                model = lm.train(train, order=order, smoothing=smoothing, vocabulary_size=VOCABULARY).model
                found.append(lm.perplexity(model, test))
            words = sum(len(s.split()) + 1 for s in train)
            rows.append((name, f"{words:,}", smoothing, *(f"{e.perplexity:.0f}" for e in found)))
            by_corpus[f"{name}, {smoothing}"] = [e.perplexity for e in found]
    ours = by_corpus["Reuters 1987, katz"]
    caption = f"Perplexity by order, the {VOCABULARY:,} most frequent words, the last tenth for testing"
    columns = ("corpus", "words trained on", "smoothing", "unigrams", "bigrams", "trigrams")
    table = Table("newswire", caption, columns, tuple(rows))
    falls = all(p[0] > p[1] > p[2] for name, p in by_corpus.items() if name.startswith("Reuters"))
    return finding_on("course/newswire", "differs" if falls else "undecided", ours=ours), table


def passages(limit: int | None) -> dict[str, tuple[list[str], list[str], list[str]]]:
    """Speeches of the plays and sentences of Brown's fiction: texts, authors and works, for train, dev and test.

    Whole works are held out: a play for dev and two for testing, every tenth file of Brown for each.
    """
    made: dict[str, tuple[list[str], list[str], list[str]]] = {p: ([], [], []) for p in ("train", "dev", "test")}
    texts, _, plays = speeches(corpus_path("shakespeare"))
    fiction, files = brown_sentences(corpus_path("brown"), "c[k-r][0-9][0-9]")
    parts = {8: "dev", 9: "test"}
    rows = [(HELD_OUT_PLAYS.get(p, "train"), t, "shakespeare", p) for t, p in zip(texts, plays, strict=True)]
    rows += [(parts.get(f % 10, "train"), t, "other", f"brown {f}") for t, f in zip(fiction, files, strict=True)]
    for part, text, author, work in rows[:: 1 if limit is None else 20]:
        for column, value in zip(made[part], (marks_apart(text), author, work), strict=True):
            column.append(value)
    return made


def _who_wrote_it(limit: int | None) -> tuple[Finding, Table]:
    made = passages(limit)
    gold = [a == "shakespeare" for a in made["test"][1]]
    rows = []
    for units, order in (("characters", 5), ("words", 2)):
        for dev in (None, made["dev"][:2]):
            model = fit_ngrams(*made["train"][:2], dev=dev, order=order, units=units)
            posterior = model.posterior(made["test"][0])
            right = score(made["test"][1], posterior.best()).accuracy.value
            c: Any = check(gold, posterior.label_is("shakespeare"))
            numbers = (right, c.error.value, float(c.log_loss.value))
            t = float(model.settings.get("temperature", 1.0))
            rows.append((f"{units}, order {order}", f"{t:.2f}", *(f"{x:.3f}" for x in numbers)))
    columns = ("models", "temperature", "accuracy", "RMS calibration error", "log loss")
    caption = f"Shakespeare or not: {len(gold):,} passages of works that were not trained on"
    found = finding_on("course/who-wrote-it", held(right > 0.9), found=numbers, t=t)
    return found, Table("authors", caption, columns, tuple(rows))
