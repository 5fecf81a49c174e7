"""`howsure parser`: train a parser, check the calibration of its posterior over trees, apply it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from howsure import _validate
from howsure.corpora.bracketed import BracketedTree, Treebank
from howsure.corpora.conllu import conllu_text
from howsure.corpora.document import Document
from howsure.corpora.reading import numbered_lines
from howsure.errors import InputError
from howsure.evaluation.model_checks import ParserCheck
from howsure.evaluation.predictive import Tally
from howsure.evaluation.scores.metrics import share_of_groups
from howsure.files import write_whole
from howsure.models.parsers.arcs import ArcParser, train_arcs
from howsure.models.parsers.parser import Parser, ParserTraining, Source, fitted_temperature, held_out, read_text
from howsure.models.parsers.pcfg import Pcfg, train_pcfg
from howsure.posteriors.trees import TreePosterior
from howsure.processes import Progress
from howsure.verbs.applying import Applied, kept
from howsure.verbs.load import model_of
from howsure.verbs.predictive import see_arcs, see_spans
from howsure.verbs.tagger import analysed

LEAST = 1e-3  # arcs and spans less probable than this are not asked about
FEWEST = 20  # labels with fewer gold arcs or spans are not judged by themselves


def train_parser(
    source: Source,
    *,
    dev: Source | None = None,
    projective: bool = True,
    epochs: int = 6,
    horizontal: int = 1,
    parents: bool = True,
    rng: np.random.Generator | int | None = 0,
    progress: Progress | None = None,
) -> ParserTraining:
    """Train a parser on trees: of dependencies on CoNLL-U, a grammar on bracketed files.

    Parameters
    ----------
    source : path or paths, documents or treebanks
    dev : path or paths
        Held-out trees that a temperature is fitted on.
    projective : bool
        Dependencies: whether arcs may not cross. Sentences where they do are left out of the training then.
    epochs : int
        Dependencies: passes over the sentences.
    horizontal, parents : int, bool
        Grammar: how many parts of a long rule each step remembers; whether labels are split by their parent's label.

    Returns
    -------
    ParserTraining
        The parser, and the temperature fitted on `dev`.
    """
    documents, banks = read_text(source)
    other, other_banks = ([], []) if dev is None else read_text(dev)
    if dev is not None and bool(other) != bool(documents):
        raise InputError("training and held-out text must both be CoNLL-U or both bracketed.")
    made: Parser
    if banks:
        trees = [t for bank in banks for t in bank.trees]
        made = train_pcfg(trees, horizontal=horizontal, parents=parents)
        sizes = len(trees), sum(len(t) for t in trees)
    else:
        passes = _validate.count(epochs, "epochs")
        made = train_arcs(documents, projective=projective, epochs=passes, rng=rng, progress=progress)
        sizes = sum(d.n_sentences for d in documents), sum(len(d) for d in documents)
    if dev is None:
        return ParserTraining(made, *sizes)
    fitted = fitted_temperature(held_out(made, other, other_banks))
    return ParserTraining(made.with_settings(temperature=fitted.temperature), *sizes, fitted)


def _parser(model: Parser | ParserTraining | str | Path) -> Any:
    """The parser that is meant; "english" is the one that ships."""
    from howsure.english.shipped import SHIPPED

    return model_of(SHIPPED / "arcs.npz" if model == "english" else model, ArcParser, Pcfg)


class _Evidence:
    """What is gathered from sentences: labels and probabilities of questions, and counts whose ratios are accuracies."""

    def __init__(self) -> None:
        self.asked: dict[str, list[tuple[Any, Any, int]]] = defaultdict(list)
        self.counts: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
        self.notes: Counter[str] = Counter()
        self.log_loss, self.words = 0.0, 0

    def ask(self, name: str, right: Any, p: Any, sentence: int) -> None:
        y, q = np.atleast_1d(right).astype(np.uint8), np.minimum(np.atleast_1d(p).astype(np.float64), 1.0)
        self.asked[name].append((y, q, sentence))

    def score(self, log_p: float, n: int, sentence: int, counted: Mapping[str, tuple[float, float]]) -> None:
        """The log probability of a gold tree of n words, and counts."""
        for name, (top, bottom) in counted.items():
            self.counts[name].append((top, bottom, sentence))
        if np.isfinite(log_p):
            self.log_loss, self.words = self.log_loss - log_p, self.words + n
        else:
            self.notes["have a gold tree or label that the parser cannot make: left out of the log loss"] += 1

    def rows(self, group: Any) -> list[Any]:
        made = []
        for name, parts in self.asked.items():
            y, q = (np.concatenate([p[k] for p in parts]) for k in (0, 1))
            if len(y) and (y.sum() >= FEWEST or " " in name):  # labels have no spaces
                made.append((name, y, q, np.repeat(group[[p[2] for p in parts]], [len(p[0]) for p in parts])))
        return made


def _see_arcs(seen: _Evidence, p: Any, s: int, heads: Any, labels: Any) -> None:
    found, every = p.mbr(), p.arc_is(least=LEAST)
    right = found.heads == heads
    both, q = right & (found.labels == labels), p.attachment(found.heads)
    seen.ask("chosen arc", right, q, s)
    seen.ask("chosen arc, label", both, q * np.exp(p.label_log_prob[found.heads, np.arange(p.n), found.labels]), s)
    seen.ask(f"arc, P ≥ {LEAST:g}", every.y_true(heads), every.y_prob, s)
    seen.ask("whole tree", right.all(), np.exp(min(found.log_prob, 0.0)), s)
    for c, each in enumerate(p.labelled_marginals().sum(axis=0).T):
        seen.ask(p.labels[c], labels == c, each, s)
    trees = {"UAS": (right.sum(), p.n), "LAS": (both.sum(), p.n), "whole trees": (right.all(), 1)}
    seen.score(p.log_probability(heads, labels), p.n, s, trees)


def _see_spans(seen: _Evidence, p: Any, s: int, spans: Any) -> None:
    if not p.has_tree:
        seen.notes["have no words" if not p.n else "have no tree in the grammar: their spans count as missed"] += 1
    if not p.n:
        return
    best, q, names = p.best(), p.marginals(), p.grammar.labels
    gold, made = Counter(spans), Counter(best.spans)
    chosen = [(x in gold, q[x[0], x[1], names.index(x[2])]) for x in made]
    seen.ask("chosen span", [hit for hit, _ in chosen], [p for _, p in chosen], s)  # first, also where there is none
    seen.ask("whole tree", best.spans == spans, np.exp(best.log_prob), s)
    for c, name in enumerate(names):
        i, j = np.nonzero(q[..., c] >= LEAST)
        y = [(a, z, name) in gold for a, z in zip(i.tolist(), j.tolist(), strict=True)]
        seen.ask(f"span, P ≥ {LEAST:g}", y, q[i, j, c], s)
        seen.ask(name, y, q[i, j, c], s)
    hit, n, m = sum((gold & made).values()), len(spans), len(best.spans)
    found = {"F1": (2 * hit, n + m), "precision": (hit, m), "recall": (hit, n), "whole trees": (best.spans == spans, 1)}
    seen.score(p.log_probability(spans), p.n, s, found)


def check_parser(
    model: Parser | ParserTraining | str | Path,
    source: Source,
    *,
    groups: str = "document",
    predictive: int = 0,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    progress: Progress | None = None,
) -> ParserCheck:
    """Is a parser's posterior calibrated: its arcs and labels, or its spans, and whole trees?

    `groups` is what is independent: "document" or "sentence". Arcs and spans are those of the tree of least risk (arcs)
    or the most probable tree (spans), and all whose probability is 0.001 or more. `predictive` is a number of samples of trees
    of each sentence, whose statistics are compared with those of gold.
    """
    level = _validate.fraction(confidence_level, "confidence_level")
    if groups not in ("sentence", "document"):
        raise InputError(f"`groups=` must be sentence or document; got {groups!r}.")
    parser = _parser(model)
    name = Path(source).name if isinstance(source, str | Path) else "text"
    documents, banks = read_text(source)
    if isinstance(parser, Pcfg) != bool(banks):
        wanted = "bracketed trees" if isinstance(parser, Pcfg) else "CoNLL-U"
        raise InputError(f"this parser is checked on {wanted}; {name} holds something else.")
    sizes = [len(b.trees) for b in banks] or [d.n_sentences for d in documents]
    group = np.repeat(np.arange(len(sizes)), sizes) if groups == "document" else np.arange(sum(sizes))
    _validate.several(len(set(group.tolist())), groups)
    seen, see = _Evidence(), cast(Any, _see_spans if banks else _see_arcs)
    tally, random = Tally(_validate.count(predictive, "predictive") if predictive else 0), _validate.generator(rng)
    count: Any = see_spans if banks else see_arcs
    for s, (posterior, gold) in enumerate(held_out(parser, documents, banks)):
        see(seen, posterior, s, *gold)
        if predictive and posterior.n:
            count(tally, posterior, *gold, random)
        if progress is not None:
            progress(s + 1, len(group), "sentences")
    if not (rows := seen.rows(group)) or not rows[0][0].startswith("chosen"):
        raise InputError("the parser cannot make any of these sentences.")
    asked = analysed(rows, level)
    accuracy = {}
    for what, counted in seen.counts.items():
        top, bottom, place = (np.array(x, float) for x in zip(*counted, strict=True))
        accuracy[what] = share_of_groups(top, bottom, group[place.astype(int)], level)
    return ParserCheck(
        kind="constituents" if banks else "dependencies",
        accuracy=accuracy,
        calibration=replace(asked[0].calibration, by="question", slices=asked, source=name, of_predicted=True),
        log_loss=seen.log_loss / max(seen.words, 1),
        temperature=float(parser.settings.get("temperature", 1.0)),
        n_sentences=len(group),
        n_words=sum(len(t) for b in banks for t in b.trees) or sum(len(d) for d in documents),
        groups=groups,
        n_groups=len(set(group.tolist())),
        notes=tuple(f"{n:,} sentences {what}." for what, n in seen.notes.items()),
        predictive=tally.statistics(),
    )


def apply_parser(
    model: Parser | ParserTraining | str | Path,
    source: Source,
    out: str | Path | None = None,
    *,
    best: int = 1,
    samples: int = 0,
    rng: np.random.Generator | int | None = 0,
) -> Applied:
    """Parse text: a table in memory, or with `out` a `.parquet` file, or the text with its trees (`.conllu`, `.mrg`).

    Of dependencies the table has a row per word: document, sentence, position, word, head, label, prob (of the arc),
    label_prob, tree_prob, head_2 … (further best trees, of projective parsers) and sample_1 … Of constituents it has a row per
    span: document, sentence, tree (best_1, sample_1, …), start, end, label, prob, tree_prob.

    A `.conllu` file keeps every line of the input, multi-word tokens, empty nodes and comments too: only heads and
    relations change, and the last column gets `ArcProb=`.
    """
    import pyarrow as pa

    if best < 1 or samples < 0:
        raise InputError("`best=` must be 1 or more and `samples=` 0 or more.")
    parser = _parser(model)
    native = ".mrg" if isinstance(parser, Pcfg) else ".conllu"
    if out is not None and Path(out).suffix.lower() not in (".parquet", native):
        raise InputError(f"{out} should end in .parquet or {native}.")
    documents, banks = read_text(source, trees=False)
    if banks and not isinstance(parser, Pcfg):
        raise InputError("a parser of dependencies reads CoNLL-U or other tagged text, not brackets.")
    random, rows, lines = _validate.generator(rng), list[dict[str, Any]](), list[str]()
    sentences: list[tuple[str, Sequence[str]]] = [(b.name, t.words) for b in banks for t in b.trees]
    sentences += [(d.name, d.words[part]) for d in documents for part in d.sentences()]
    found = map(parser.posterior, (w for _, w in sentences)) if banks or isinstance(parser, Pcfg) else parser.posteriors(documents)  # fmt: skip
    for s, ((name, words), posterior) in enumerate(zip(sentences, found, strict=True)):
        about = {"document": name, "sentence": s}
        if isinstance(posterior, TreePosterior):
            rows += [about | row for row in _arc_rows(posterior, words, best, samples, random)]
        else:
            trees = [(f"best_{k + 1}", t) for k, t in enumerate(posterior.k_best(best))]
            drawn = posterior.samples(samples, random) if samples else []
            trees += [(f"sample_{k + 1}", t) for k, t in enumerate(drawn)]
            for kind, tree in trees:
                for start, end, label in tree.spans:
                    p, whole = posterior.constituent(start, end, label), float(np.exp(tree.log_prob))
                    row = {"tree": kind, "start": start, "end": end, "label": label, "prob": p, "tree_prob": whole}
                    rows.append(about | row)
            tags = tuple(t or "X" for t in trees[0][1].tags)
            lines.append(BracketedTree(tuple(words), tags, trees[0][1].spans).text())
    table, what = pa.Table.from_pylist(rows), "spans" if isinstance(parser, Pcfg) else "words"
    if out is None or Path(out).suffix.lower() == ".parquet":
        return kept(table, table.column_names, what, out)
    written = lines if isinstance(parser, Pcfg) else _conllu_lines(source, rows)
    write_whole(str(out), "".join(f"{line}\n" for line in written).encode())
    return Applied(len(rows), tuple(table.column_names), what, str(out))


def _arc_rows(p: TreePosterior, words: Sequence[str], best: int, samples: int, rng: Any) -> Iterator[dict[str, Any]]:
    tree = p.best()
    prob, more = p.attachment(tree.heads), p.k_best(best) if best > 1 else []
    drawn: Any = p.samples(samples, rng) if samples else []
    for m, (word, head) in enumerate(zip(words, tree.heads.tolist(), strict=True)):
        label = int(tree.labels[m]) if tree.labels is not None else 0
        row = {"position": m + 1, "word": word, "head": head, "label": p.labels[label]}
        row["prob"] = float(min(prob[m], 1.0))
        row["label_prob"] = float(min(np.exp(p.label_log_prob[head, m, label]), 1.0))
        row["tree_prob"] = float(np.exp(min(tree.log_prob, 0.0)))
        # a sentence with fewer trees repeats its last
        row |= {f"head_{k + 1}": int(more[min(k, len(more) - 1)].heads[m]) for k in range(1, best)}
        yield row | {f"sample_{k + 1}": int(one[m]) for k, one in enumerate(drawn)}


def _conllu_lines(source: Source, rows: list[dict[str, Any]]) -> Iterator[str]:
    """The lines of the files, or documents, with the heads and relations found."""
    found = iter(rows)
    given: list[Any] = [source] if isinstance(source, str | Path | Document | Treebank) else list(source)
    for each in given:
        text = conllu_text(each).splitlines() if isinstance(each, Document) else (at[1] for at in numbered_lines(each))
        for line in text:
            fields = line.split("\t")
            if len(fields) == 10 and fields[0].isdecimal():
                row = next(found)
                kept = "" if fields[9] == "_" else f"{fields[9]}|"
                new = str(row["head"]), row["label"], fields[8], f"{kept}ArcProb={row['prob']:.4f}"
                line = "\t".join([*fields[:6], *new])
            yield line
    if next(found, None) is not None:
        raise InputError("a .conllu file keeps the lines of CoNLL-U, which this text is not: write a .parquet file.")
