"""A mention-ranking coreference model: hashed weights and a small network, trained on the marginal likelihood.

Scores of antecedents are the mean of the log-linear model's and the network's, each trained on its own.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.corpora.document import Document, Mention
from howsure.errors import InputError
from howsure.kernels.cells import Floats
from howsure.kernels.coreference import ranking as coref_scores
from howsure.models.coreference.features import DIMENSIONS, Features, Templates, features, templates, vocabulary
from howsure.models.coreference.mentions import check_spans, detect_mentions
from howsure.models.coreference.network import Network, NetworkTrainer
from howsure.models.saved import Array, Names, load_model, packed_names, save_model
from howsure.posteriors.antecedents import AntecedentPosterior
from howsure.processes import Progress

KIND, VERSION = "coref", 2
ARRAYS: dict[str, Array | Names] = {
    "known": Names("word"),
    "weights": Array("f", ("weight",)),
    "vectors": Array("f", ("half", "dimension", "unit")),
    "rows": Array("f", ("half", "row", "unit")),
    "relations": Array("f", ("relation_templates", "code", "unit")),
    "out": Array("f", ("unit",)),
    "out_new": Array("f", ("unit",)),
    "bias": Array("f", ("one",)),
}
USED = ("mention_templates", "relation_templates", "crosses")  # lists of names, as `Templates` has them
MENTIONS = ("gold", "predicted")
NO_COSTS = (0.0, 0.0, 0.0)
# Of a new entity that is none, a wrong link, a link where there is none (Durrett & Klein).
ERROR_COSTS = (3.0, 1.0, 0.1)
COMPILED_FROM = 20_000  # pairs
RATE, DECAY = 0.05, 0.05  # of AdaGrad
NETWORK_RATE, NETWORK_DECAY, DROPPED, NETWORK_EPOCHS = 0.002, 0.01, 0.2, 14
ASKED_AT_ONCE = 28
CUTS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
FEW_SINGLETONS = 0.1  # share of entities; a scheme that leaves out singletons has a few by accident


@dataclass(frozen=True, slots=True)
class CorefModel:
    """Weights with what is needed to use them. Made by `fit_coref` or `CorefModel.load`."""

    weights: NDArray[np.float32]
    network: Network
    known: frozenset[str]
    used: Templates
    mentions: str = "gold"
    keeps_singletons: bool = False
    temperature: float = 1.0
    cut: float | None = None  # of average linkage, where `clusters` uses it
    settings: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return (
            f"CorefModel({self.mentions} mentions, {np.count_nonzero(self.weights):,} weights, "
            f"{len(self.known):,} words, temperature {self.temperature:.3g})"
        )

    def candidates(self, document: Document, mentions: str | None = None) -> tuple[Mention, ...]:
        """The document's mentions: its own ("gold") or those found in its parse ("predicted").

        By default as the model was trained; a document that has none of its own gets those found.
        """
        if mentions is None:
            mentions = "predicted" if document.mentions is None else self.mentions
        return candidate_mentions(document, mentions)

    def posterior(
        self,
        document: Document,
        mentions: Sequence[Mention] | None = None,
        first: int | None = None,
        *,
        temperature: float | None = None,
    ) -> AntecedentPosterior:
        """The posterior over clusterings of `mentions`, by default `candidates(document)`; of the `first` ones only, if given."""
        given = self.candidates(document) if mentions is None else ordered(document, mentions)
        t = self.temperature if temperature is None else temperature
        return self.posterior_of(self.features(document, given, first), document.name, t)

    def features(self, document: Document, mentions: Sequence[Mention], first: int | None = None) -> Features:
        """The features of mentions, which must be in document order; of the `first` ones only, if given."""
        return features(document, mentions, self.known, self.used, first)

    def posterior_of(self, made: Features, name: str, temperature: float = 1.0) -> AntecedentPosterior:
        """The posterior from features that were made before."""
        # Weights of half precision have exact sums: compiled or not, the numbers are the same.
        pair, new = linear_scores(made, self.used, self.weights, compiled="numba" in sys.modules)
        if len(self.network.out):
            beside, beside_new = self.network.scores(made.vectors, made.rows, made.codes)
            pair, new = (pair + beside) / 2.0, (new + beside_new) / 2.0
        return pair_posterior(pair / temperature, new / temperature, name)

    def with_temperature(self, temperature: float) -> Self:
        """The same weights, their scores divided by `temperature`."""
        return replace(self, temperature=temperature)

    def clusters(self, posterior: AntecedentPosterior) -> NDArray[np.int64]:
        """One clustering: of average linkage with the cut that was best on dev, or without one of large expected F."""
        return posterior.minimum_risk() if self.cut is None else posterior.linked(self.cut)

    def save(self, path: str | Path) -> None:
        """Write an .npz of plain arrays."""
        settings: dict[str, Any] = {
            name: getattr(self.used, f.name) for name, f in zip(USED, fields(Templates), strict=True)
        }
        settings |= {k: getattr(self, k) for k in ("mentions", "keeps_singletons", "temperature", "cut")}
        settings["training"] = self.settings or {}
        arrays = {k: w.astype(np.float16) for k, w in {"weights": self.weights, **self.network.arrays()}.items()}
        save_model(path, KIND, VERSION, settings, arrays | {"known": packed_names(sorted(self.known))})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        settings, arrays = load_model(path, KIND, VERSION, ARRAYS, lists={n: n for n in USED})
        used = Templates(*(tuple(settings[n]) for n in USED))
        size = len(arrays["weights"])
        network = Network(*(arrays[f.name].astype(np.float32) for f in fields(Network)))
        whole = network.fits(DIMENSIONS, len(used.relation))
        if size & (size - 1) or size < 2 or not used.known or not whole or settings.get("mentions") not in MENTIONS:
            raise InputError(f"{path} is damaged: its weights are not of the features that it names.")
        try:
            weights, known = arrays["weights"].astype(np.float32, copy=False), frozenset(arrays["known"])
            kept = (settings["mentions"], settings["keeps_singletons"], settings["temperature"])
            cut = None if settings["cut"] is None else float(settings["cut"])
            return cls(weights, network, known, used, *kept, cut, settings["training"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} is damaged: it has no {error}.") from None


def linear_scores(
    made: Features, used: Templates, weights: NDArray[np.float32], compiled: bool = False
) -> tuple[Floats, Floats]:
    """Scores of the log-linear model: of each pair j < i (row i(i-1)/2 + j), and of starting an entity."""
    score = coref_scores.scores
    if len(made.codes) >= COMPILED_FROM or compiled:
        from howsure.kernels.coreference.ranking_compiled import scores as score
    return score(made.kind, made.values, made.codes, used.crossed, weights, 65 - len(weights).bit_length())


def pair_posterior(pair: Floats, new: Floats, name: str) -> AntecedentPosterior:
    """The posterior of the scores of pairs j < i (row i(i-1)/2 + j) and of starting an entity."""
    square = np.full((len(new), len(new)), -np.inf)
    square[np.tril_indices(len(new), -1)] = pair
    return AntecedentPosterior.from_scores(square, new, name=name)


def ordered(document: Document, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    """Mentions checked, each span once, in document order: outer before inner."""
    check_spans(document, mentions)
    once = {(m.start, m.end): m for m in reversed(mentions)}  # the first of each span
    return tuple(sorted(once.values(), key=lambda m: (m.start, -m.end)))


def candidate_mentions(document: Document, mentions: str) -> tuple[Mention, ...]:
    """A document's own mentions ("gold"), or those found in its parse ("predicted")."""
    if mentions not in MENTIONS:
        raise InputError(f"mentions are gold or predicted; got {mentions!r}.")
    if mentions == "predicted":
        return detect_mentions(document)
    if document.mentions is None:
        raise InputError(f'document "{document.name}" has no mentions; find them with `mentions="predicted"`.')
    return ordered(document, document.mentions)


def gold_clusters(document: Document, mentions: Sequence[Mention]) -> NDArray[np.int64]:
    """The gold entity of each mention as a number; a mention that gold lacks has a number of its own."""
    entity = {(m.start, m.end): m.entity for m in reversed(document.mentions or ())}  # the first of each span
    numbers: dict[object, int] = {}
    keys = [entity.get((m.start, m.end), (m.start, m.end)) for m in mentions]
    return np.array([numbers.setdefault(k, len(numbers)) for k in keys], dtype=np.int64)


# Of the scores of pairs and of NEW: the loss's derivatives by them, and the loss.
Difference = Callable[[Floats, Floats], tuple[Floats, Floats, float]]
Lesson = tuple[Document, Sequence[Mention], Difference]


def fit_coref(
    documents: Sequence[Document],
    *,
    mentions: str = "gold",
    asked: Sequence[Lesson] = (),
    epochs: int = 4,
    bits: int = 20,
    least_count: int = 5,
    hidden: int = 64,
    costs: bool = False,
    without: Iterable[str] = (),
    rng: np.random.Generator | int | None = 0,
    progress: Progress | None = None,
) -> CorefModel:
    """Train on documents with gold mentions.

    Maximises Σ_i log Σ_{gold antecedents k of i} P(a_i = k), or log P(NEW) for the first mention of an entity: of hashed
    weights, less `DECAY`/2 |w|², by AdaGrad, the rate falling to a fifth over the epochs; and of a network with one hidden layer by
    Adam. A step for each document.

    Parameters
    ----------
    mentions : "gold" or "predicted"
        Train on the given mentions, or on those found in the parses; the ones gold lacks then start entities of
        their own.
    asked : documents of which only a few answers are known, each with its mentions and its part of the loss.
    hidden : hidden units of the network, 0 for none.
    costs : bool
        Raise the scores of wrong choices by error costs in training. Usual, and bad for calibration.
    without : names of feature templates to leave out.
    progress : called with the number of steps done and to do.
    """
    from howsure.kernels.coreference.ranking_compiled import Trainer, differences

    generator = _validate.generator(rng)
    epochs, bits = _validate.count(epochs, "epochs"), _validate.count(bits, "bits")
    if bits > 28:
        raise InputError(f"`bits` may be 28 at most; got {bits}.")
    used = templates(without)
    known = vocabulary(documents, least_count)
    crossed, raised = used.crossed, np.array(ERROR_COSTS if costs else NO_COSTS)
    lessons: list[tuple[Features, Difference]] = []
    for document in documents:
        if document.mentions is None:
            raise InputError(f'document "{document.name}" has no gold mentions to learn from.')
        given = candidate_mentions(document, mentions)
        if len(given):
            learnt = partial(differences, gold=gold_clusters(document, given), costs=raised)
            lessons.append((features(document, given, known, used), learnt))
    if not lessons:
        raise InputError("no document has mentions to learn from.")
    n_documents = len(lessons)
    lessons += [(features(document, given, known, used), learnt) for document, given, learnt in asked]
    trainer = Trainer(bits)
    network = Network.started(DIMENSIONS, len(used.relation), hidden, generator)
    by_network = NetworkTrainer(network, decay=NETWORK_DECAY, dropped=DROPPED, rng=generator)
    passes = NETWORK_EPOCHS if hidden else 0
    done, to_do = 0, (epochs + passes) * len(lessons)
    for epoch in range(epochs + passes):
        linear = epoch < epochs
        through = epoch / epochs if linear else (epoch - epochs) / passes
        for batch in _batches(lessons, n_documents, linear, generator):
            if linear:
                ((made, difference),) = batch
                d_pair, d_new, _ = difference(*linear_scores(made, used, trainer.w))
                slower = RATE * (1.0 - 0.8 * through)
                trainer.step(made.kind, made.values, made.codes, crossed, d_pair, d_new, slower, DECAY)
            else:
                chosen = [(m.vectors, m.rows, m.codes, d) for m, d in batch]
                by_network.step(chosen, NETWORK_RATE * (1.0 - 0.95 * through))
            done += len(batch)
            if progress is not None:
                progress(done, to_do)
    sizes = [n for d in documents for n in Counter(m.entity for m in d.mentions or ()).values()]
    singletons = sizes.count(1) > FEW_SINGLETONS * len(sizes)
    settings = {"documents": n_documents, "asked": len(asked), "epochs": epochs, "rate": RATE, "decay": DECAY}
    settings |= {"hidden": hidden, "network_epochs": passes, "costs": bool(costs), "least_count": least_count}
    weights = trainer.w.astype(np.float16).astype(np.float32)
    return CorefModel(weights, by_network.trained(), known, used, mentions, singletons, settings=settings)


def _batches(
    lessons: list[tuple[Features, Difference]], n_documents: int, single: bool, rng: np.random.Generator
) -> list[list[tuple[Features, Difference]]]:
    """Lessons in random order: documents one by one, and, unless `single`, those of a few answers some at a time."""
    asked = n_documents + rng.permutation(len(lessons) - n_documents)
    size = 1 if single else ASKED_AT_ONCE
    groups = [[k] for k in range(n_documents)] + [list(asked[a : a + size]) for a in range(0, len(asked), size)]
    return [[lessons[k] for k in groups[g]] for g in rng.permutation(len(groups))]


OBJECTIVES = ("likelihood", "brier")
RANGE = (0.1, 20.0)


def fit_temperature(
    posteriors: Sequence[AntecedentPosterior], gold: Sequence[NDArray[np.int64]], objective: str = "likelihood"
) -> float:
    """The t of `tempered(t)` that is best on documents whose clusterings are known.

    "likelihood" maximises Σ log P(gold clustering); "brier" minimises the mean over all pairs of mentions of
    (P(same entity) - 1{same entity})², pairs exact.
    """
    from scipy.optimize import minimize_scalar

    if objective not in OBJECTIVES:
        raise InputError(f"a temperature is fitted for likelihood or brier; got {objective!r}.")

    def loss(log_t: float) -> float:
        tempered = [p.tempered(float(np.exp(log_t))) for p in posteriors]
        if objective == "brier":
            return pair_brier(tempered, gold)
        # A clustering whose probability underflows counts as the smallest number there is.
        return -sum(max(p.log_probability(e), -1e6) for p, e in zip(tempered, gold, strict=True))

    found = minimize_scalar(loss, bounds=tuple(np.log(RANGE)), method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x))


def tuned(model: CorefModel, documents: Sequence[Document], objective: str = "likelihood") -> CorefModel:
    """The model with temperature and cut fitted on documents whose clusterings are known."""
    found = [(d, model.candidates(d)) for d in documents]
    posteriors = [model.posterior(*pair, temperature=1.0) for pair in found]
    gold = [gold_clusters(*pair) for pair in found]
    t = fit_temperature(posteriors, gold, objective)
    return replace(model, temperature=t, cut=fit_cut([p.tempered(t) for p in posteriors], gold, documents))


def fit_cut(
    posteriors: Sequence[AntecedentPosterior], gold: Sequence[NDArray[np.int64]], documents: Sequence[Document] = ()
) -> float | None:
    """The cut of average linkage whose B³ F1 is best on documents whose clusterings are known; None where the clustering of
    large expected F is better. With `documents`, their gold mentions that were not found count as missed."""
    linked = [np.unique(e, return_counts=True)[1] for e in gold]  # sizes of entities; those of one mention are left out
    missed = sum(len(d.mentions or ()) for d in documents) - sum(int(n[n > 1].sum()) for n in linked)
    found = {cut: [p.minimum_risk() if cut is None else p.linked(cut) for p in posteriors] for cut in (None, *CUTS)}
    return max(found, key=lambda cut: b_cubed(found[cut], gold, max(missed, 0)))


def b_cubed(found: Sequence[NDArray[np.int64]], gold: Sequence[NDArray[np.int64]], missed: int = 0) -> float:
    """B³ F1 of clusterings of the same mentions; entities of one mention count on neither side, and of the gold
    mentions `missed` are not among these."""
    share, n = np.zeros(2), np.array([0.0, missed])
    for clusters, right in zip(found, gold, strict=True):
        both = (clusters[:, None] == clusters[None, :], right[:, None] == right[None, :])
        sizes = [same.sum(axis=1) for same in both]
        common = np.where((sizes[0] > 1) & (sizes[1] > 1), (both[0] & both[1]).sum(axis=1), 0)
        share += [(common / size).sum() for size in sizes]
        n += [(size > 1).sum() for size in sizes]
    precision, recall = share / np.maximum(n, 1)
    return float(2.0 * precision * recall / max(precision + recall, 1e-300))


def pair_brier(posteriors: Sequence[AntecedentPosterior], gold: Sequence[NDArray[np.int64]]) -> float:
    """The Brier score of "are these two the same entity?" over all pairs of all documents."""
    total, n = 0.0, 0
    for p, e in zip(posteriors, gold, strict=True):
        off = p.pairs() - (e[:, None] == e[None, :])
        total += float((off**2).sum()) / 2.0  # the diagonal is exact
        n += len(e) * (len(e) - 1) // 2
    return total / max(n, 1)
