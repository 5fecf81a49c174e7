"""Tagged text and trained taggers, shared by the experiments on tagging and kept beside their results.

The paper's setting: an HMM with Dirichlet smoothing, its pseudocount of best accuracy on dev; and a CRF that sees what
the HMM sees, trained on as many sentences as give the HMM's accuracy, its regulariser of best accuracy on dev.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from howsure.calibration.comparing.difference import mean_difference
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.paper import BIN_SIZE, adaptive_bins
from howsure.corpora.conll2012 import read_conll2012
from howsure.corpora.document import Document
from howsure.corpora.reading import corpus_path, read_splits
from howsure.corpora.tagged import read_tagged, sentences_of
from howsure.errors import InputError
from howsure.experiments.findings import Finding, finding_on, height, shown, side
from howsure.experiments.registry import Work, fingerprint
from howsure.experiments.result import CONFIDENCE_LEVEL, Table, calibrated, error_of
from howsure.kernels.cells import Floats, Ints
from howsure.models.taggers.crf import Crf
from howsure.models.taggers.hmm import Hmm, HmmCounts
from howsure.models.taggers.training import CrfTrainer
from howsure.posteriors.chain import ChainPosterior, accuracy

PARTS = ("train", "dev", "test")
WSJ_PARTS = ((1, 149), (150, 174), (175, 199))  # file numbers of the Treebank sample


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """Tagged sentences, their words one after another."""

    words: list[str] = field(repr=False)
    starts: Ints = field(repr=False)
    tags: list[str] = field(repr=False)

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.starts) - 1

    def spread(self, n: int) -> Text:
        """`n` of the sentences at equal distances, as corpora are often in order of genre."""
        if n >= self.n_sentences:
            return self
        return self.take(np.arange(n) * self.n_sentences // n)

    def take(self, chosen: Ints) -> Text:
        """The sentences of these numbers."""
        token = np.concatenate([np.arange(*self.starts[s : s + 2]) for s in chosen.tolist()]).tolist()
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[chosen])])
        return Text([self.words[t] for t in token], starts, [self.tags[t] for t in token])


def splits(data: str, sentences: Sequence[int] | None) -> tuple[Text, Text, Text]:
    """Train, dev and test of a corpus; at most `sentences` of each."""
    made = _whole(data, str(corpus_path(data)), fingerprint(data))
    if sentences is not None:
        made = tuple(t.spread(n) for t, n in zip(made, sentences, strict=True))
    train, dev, test = made
    return train, dev, test


@lru_cache(maxsize=2)
def _whole(data: str, folder: str, seen: str) -> tuple[Text, ...]:
    """Read once for the experiments of a run; folder and fingerprint are there to know other files by."""
    read = _documents(data)
    return tuple(Text(*sentences_of(d)[:2], [t for each in d for t in each.column("tag")]) for d in read)


def _documents(data: str) -> list[list[Document]]:
    if data == "conll-2011":
        return [_newswire(corpus_path(data, part)) for part in PARTS]
    if data == "treebank":
        files = sorted(corpus_path(data).glob("wsj_*.pos"))
        return [read_tagged([f for f in files if a <= int(f.stem[4:8]) <= b]) for a, b in WSJ_PARTS]
    if data == "gum":  # entities: the types of the outermost mentions
        parts = read_splits(corpus_path(data, "splits.md"))
        return [read_tagged([corpus_path(data, "dep", f"{n}.conllu") for n in parts[p]], "entity") for p in PARTS]
    names = {"ewt": "en_ewt-ud-{}.conllu", "ark-tweets": "oct27.{}"}
    return [read_tagged(corpus_path(data, names[data].format(part))) for part in PARTS]


def _newswire(folder: Path) -> list[Document]:
    """The Wall Street Journal's documents in files of the CoNLL layout, gold where there are gold and automatic ones."""
    files = sorted(folder.rglob("*gold_conll")) or sorted(folder.rglob("*_conll"))
    read = (d for f in files for d in read_conll2012(f))
    found = [d.with_(columns=d.columns | {"tag": d.column("xpos")}) for d in read if "wsj" in d.name.lower()]
    if not found:
        raise InputError(f"no document below {folder} is named after the Wall Street Journal (wsj).")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One tagger on the test text: probabilities by the tags that both models share, and its accuracy."""

    name: str
    said: str  # how it was trained
    posterior: ChainPosterior = field(repr=False)
    q: Floats = field(repr=False)  # (tokens, tags)
    accuracy: Estimate = field(repr=False)
    confidence_gap: Estimate = field(repr=False)  # mean probability of the predicted tag less accuracy


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """Taggers on the same test text."""

    tags: tuple[str, ...]  # all of the training and test text, the commonest in test first
    gold: Ints = field(repr=False)
    sentence: Ints = field(repr=False)
    sides: tuple[Side, ...]

    @property
    def n_sentences(self) -> int:
        """Number of test sentences."""
        return int(self.sentence[-1]) + 1

    def answers(self, tag: str) -> tuple[np.ndarray, dict[str, Floats]]:
        """Is this token's tag `tag`? What is true, and each tagger's probability."""
        k = self.tags.index(tag)
        return (self.gold == k).astype(np.uint8), {s.name: np.ascontiguousarray(s.q[:, k]) for s in self.sides}

    def all_answers(self, name: str) -> tuple[np.ndarray, Floats]:
        """Every tag of every token, tags of a token together: what is true, and a tagger's probability."""
        y = (self.gold[:, None] == np.arange(len(self.tags))).astype(np.uint8)
        return y.ravel(), next(s.q for s in self.sides if s.name == name).ravel()


def contest(train: Text, test: Text, taggers: dict[str, tuple[Hmm | Crf, str]]) -> Contest:
    """Taggers, each with a word on how it was trained, side by side."""
    in_test, everywhere = Counter(test.tags), Counter([*test.tags, *train.tags])
    tags = tuple(sorted(everywhere, key=lambda t: (-in_test[t], -everywhere[t], t)))
    place = {t: i for i, t in enumerate(tags)}
    gold = np.array([place[t] for t in test.tags], np.int64)
    sides = []
    for name, (model, said) in taggers.items():
        posterior = model.posterior(test.words, test.starts)
        q = np.zeros((len(gold), len(tags)))
        q[:, [place[t] for t in posterior.tags]] = np.minimum(posterior.marginals(), 1.0)
        right = (posterior.mbr_tags() == posterior.codes(test.tags)).astype(np.float64)
        means = [mean_difference(v, posterior.sentence, CONFIDENCE_LEVEL) for v in (right, q.max(axis=1) - right)]
        sides.append(Side(name, said, posterior, q, means[0].estimate, means[1].estimate))
    return Contest(tags, gold, sides[0].posterior.sentence, tuple(sides))


class Workshop:
    """Trains the taggers of one corpus, each kept on disk under all that it depends on."""

    def __init__(self, settings: dict[str, Any], work: Work) -> None:
        self.settings, self.work = settings, work
        work("reading")
        self.train, self.dev, self.test = splits(settings["data"], settings["sentences"])

    def hmms(self, *, rare: int, pseudocounts: Sequence[float]) -> list[Hmm]:
        """An HMM for each pseudocount. With `rare` above 0, words so rare are known by shape and ending."""
        self.work("training the HMM")
        counts = HmmCounts(self.train.words, self.train.starts, self.train.tags, rare=rare)
        return [counts.fit(pseudocount=a) for a in pseudocounts]

    def hmm(self, *, rare: int, pseudocounts: Sequence[float]) -> Hmm:
        """The HMM of best accuracy on dev."""
        return max(self.hmms(rare=rare, pseudocounts=pseudocounts), key=self.on_dev)

    def crf(self, features: str, n: int, l2: float) -> Crf:
        """A CRF trained on `n` sentences."""
        said = f"training the CRF ({features}) on {n:,} sentences, l2 = {l2:g}"
        self.work(said)
        s = self.settings
        key = {k: s[k] for k in ("data", "data_fingerprint", "sentences", "iterations")}
        key |= {"features": features, "n": n, "l2": l2}

        def make() -> Crf:
            text, tell = self.train.spread(n), lambda i, *_: self.work(f"{said}, iteration {i}")
            trainer = CrfTrainer(text.words, text.starts, text.tags, features)
            return trainer.fit(l2=l2, max_iterations=s["iterations"], progress=tell)

        return self.work.kept(f"crf-{s['data']}-{features.replace(',', '-')}-{n}", key, make, Crf.save, Crf.load)

    def best_crf(self, features: str, n: int, l2s: Sequence[float]) -> Crf:
        """The regulariser of best accuracy on dev."""
        return max((self.crf(features, n, l2) for l2 in l2s), key=self.on_dev)

    def tried(self, features: str, n: int, l2s: Sequence[float], tag: str | None = None) -> tuple[Tried, ...]:
        """What every regulariser makes of accuracy and of calibration, of a tag or of all."""
        return tuple(self.measured(l2, self.crf(features, n, l2), tag) for l2 in sorted(l2s))

    def tried_pseudocounts(self, tag: str | None = None) -> list[Tried]:
        """The same of every pseudocount of an HMM that knows words only."""
        counts = self.settings["pseudocounts"]
        made = zip(counts, self.hmms(rare=0, pseudocounts=counts), strict=True)
        return [self.measured(a, model, tag) for a, model in made]

    def measured(self, setting: float, model: Hmm | Crf, tag: str | None = None) -> Tried:
        """A tagger's accuracy, and its calibration by our measure and by the paper's."""
        one = contest(self.train, self.test, {"it": (model, "")})
        y, q = (one.answers(tag)[0], one.answers(tag)[1]["it"]) if tag else one.all_answers("it")
        error = error_of(calibrated(y, q, one.sentence if tag else np.repeat(one.sentence, len(one.tags))))
        made, bins = one.sides[0], adaptive_bins(y, q, self.settings.get("bin_size", BIN_SIZE))
        raw = float(np.sqrt(np.average((bins.mean_prob - bins.mean_true) ** 2, weights=bins.n)))
        return Tried(setting, self.on_dev(model), made.accuracy, made.confidence_gap, error, raw, height(bins))

    def matched_crf(self, features: str, like: Hmm, l2s: Sequence[float]) -> tuple[Crf, int]:
        """A CRF as accurate on dev as another tagger, by the number of its training sentences, and that number.

        Accuracy grows with the sentences, so the sizes are bisected.
        """
        s, target, total = self.settings, self.on_dev(like), self.train.n_sentences
        sizes = [total * k // s["shares"] for k in range(1, s["shares"] + 1)]
        found = cache(lambda i: self.on_dev(self.crf(features, sizes[i], l2s[0])))
        low, high = 0, len(sizes) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if found(middle) < target else (low, middle)
        near = min({max(low - 1, 0), low}, key=lambda i: abs(found(i) - target))
        return self.best_crf(features, sizes[near], l2s), sizes[near]

    def on_dev(self, model: Hmm | Crf) -> float:
        """Accuracy on dev."""
        return accuracy(model.posterior(self.dev.words, self.dev.starts), self.dev.tags)


def settings(quick: bool) -> dict[str, Any]:
    """Of HMM against CRF: what is tried on dev, and how much text is used."""
    full = {"sentences": None, "iterations": 100, "shares": 8, "l2": [0.1, 0.3, 0.03, 0.01, 0.003]}
    small = {"sentences": [400, 150, 300], "iterations": 25, "shares": 2, "l2": [0.1]}
    return {"quick": quick, "pseudocounts": [0.0001, 0.001, 0.01, 0.1, 1.0], **(small if quick else full)}


def hmm_and_crf(settings: dict[str, Any], work: Work, *, classes: bool = False) -> Contest:
    """HMM and CRF of the same accuracy: both know words only, as in the paper, or with `classes` rare words by shape."""
    return shop_and_contest(settings, work, classes=classes)[0]


def shop_and_contest(
    settings: dict[str, Any], work: Work, *, classes: bool = False, pseudocount: float | None = None
) -> tuple[Contest, Workshop, str, int]:
    """`hmm_and_crf`, with what trained them, the CRF's features and its number of sentences.

    The HMM's pseudocount is the one of best accuracy on dev, unless it is given.
    """
    shop = Workshop(settings, work)
    pseudocounts = settings["pseudocounts"] if pseudocount is None else [pseudocount]
    hmm = shop.hmm(rare=int(classes), pseudocounts=pseudocounts)
    features = "word,class" if classes else "basic"
    crf, n = shop.matched_crf(features, hmm, settings["l2"][:3] if classes else settings["l2"])
    by_gradient = f"l2 = {crf.settings['l2']:g}, {n:,} sentences"
    by_counts = f"pseudocount {hmm.settings['pseudocount']:g}, {shop.train.n_sentences:,} sentences"
    said: dict[str, tuple[Hmm | Crf, str]] = {"HMM": (hmm, by_counts), "CRF": (crf, by_gradient)}
    work("posteriors on the test text")
    return contest(shop.train, shop.test, said), shop, features, n


def taggers_table(made: Contest) -> Table:
    """How each tagger was trained, and its accuracy."""
    rows = tuple((s.name, s.said, shown(s.accuracy), shown(s.confidence_gap)) for s in made.sides)
    said = f"The taggers, on {made.n_sentences:,} sentences, {len(made.gold):,} tokens"
    return Table("taggers", said, ("model", "training", "accuracy [95%]", "confidence less accuracy [95%]"), rows)


NEAR = 0.01  # of the best accuracy on dev


@dataclass(frozen=True, slots=True)
class Tried:
    """One regulariser or pseudocount: accuracy on dev and test, confidence less accuracy, the calibration error; by the
    paper's measure CalibErr and the curve's mean height above the diagonal."""

    setting: float
    on_dev: float
    accuracy: Estimate
    confidence_gap: Estimate
    error: Estimate
    paper_error: float
    height: Estimate

    @property
    def side(self) -> str:
        """Of the curve, by §3.3."""
        return side(self.height)

    @property
    def row(self) -> tuple[Any, ...]:
        """For `tried_table`."""
        ours = map(shown, (self.accuracy, self.confidence_gap, self.error))
        return (self.setting, self.on_dev, *ours, self.paper_error, f"{self.height.value:+.3f}", self.side)


def near_best(tried: Sequence[Tried]) -> list[Tried]:
    """Those whose accuracy on dev is within `NEAR` of the best: tuning by accuracy can hardly tell them apart."""
    best = max(t.on_dev for t in tried)
    return [t for t in tried if t.on_dev >= best - NEAR]


FIRST = ("accuracy on dev", "on test [95%]", "confidence less accuracy [95%]", "RMS error [95%]", "Alg. 1")
TRIED = (*FIRST, "curve's mean height", "by §3.3")


def tried_table(tried: tuple[Tried, ...], features: str, n: int, asked: str) -> Table:
    """A row for each regulariser."""
    caption = f"The CRF ({features}, {n:,} sentences) by regulariser: {asked}"
    return Table(f"l2-{features.replace(',', '-')}", caption, ("l2", *TRIED), tuple(t.row for t in tried))


def pseudocount_table(tried: Sequence[Tried], asked: str) -> Table:
    """A row for each pseudocount of the HMM."""
    caption = f"The HMM (words) by pseudocount: {asked}"
    return Table("pseudocounts", caption, ("pseudocount", *TRIED), tuple(t.row for t in tried))


def said_of(tried: tuple[Tried, ...]) -> tuple[str, list[float]]:
    """How far calibration moves among regularisers that accuracy on dev hardly tells apart; and their errors."""
    near = near_best(tried)
    errors, gaps = [t.error.value for t in near], [t.confidence_gap.value for t in near]
    said = (
        f"Of {len(tried)} regularisers {len(near)} are within {100 * NEAR:g}% (absolute) of the best accuracy on dev; their calibration "
        f"errors go from {min(errors):.4f} to {max(errors):.4f}, confidence less accuracy from {min(gaps):+.3f} to {max(gaps):+.3f}."
    )
    return said, errors


def regulariser(tried: tuple[Tried, ...]) -> Finding:
    """Does accuracy on dev, by which hyperparameters are chosen, see what they do to calibration?"""
    said, errors = said_of(tried)
    more = "The choice changes calibration little."
    if max(errors) > 2 * min(errors):
        more = "Accuracy hardly sees the regulariser and calibration does: how over- or underconfident a CRF is, is a matter "
        more += "of how it was tuned as much as of its kind."
    numbers = {"least": min(errors), "largest": max(errors), "n": len(errors), "within": 100 * NEAR}
    return finding_on("tagging/regulariser", "extended", numbers, said=said, more=more)
