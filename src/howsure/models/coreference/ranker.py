"""A mention-ranking coreference model: log-linear over antecedents, hashed weights, trained on the marginal likelihood."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.corpora.document import Document, Mention
from howsure.errors import InputError
from howsure.kernels.coreference import ranking as coref_scores
from howsure.models.coreference.features import Features, Templates, features, templates, vocabulary
from howsure.models.coreference.mentions import check_spans, detect_mentions
from howsure.models.saved import Array, Names, load_model, packed_names, save_model
from howsure.posteriors.antecedents import AntecedentPosterior
from howsure.processes import Progress

KIND, VERSION = "coref", 1
ARRAYS: dict[str, Array | Names] = {"known": Names("word"), "weights": Array("f", ("weight",))}
MENTIONS = ("gold", "predicted")
NO_COSTS = (0.0, 0.0, 0.0)
ERROR_COSTS = (
    3.0,
    1.0,
    0.1,
)  # of a new entity that is none, a wrong link, a link where there is none (Durrett & Klein)
COMPILED_FROM = 20_000  # pairs
FEW_SINGLETONS = 0.1  # share of entities; a scheme that leaves out singletons has a few by accident


@dataclass(frozen=True, slots=True)
class CorefModel:
    """Weights with what is needed to use them. Made by `fit_coref` or `CorefModel.load`."""

    weights: NDArray[np.float32]
    known: frozenset[str]
    used: Templates
    mentions: str = "gold"
    keeps_singletons: bool = False
    temperature: float = 1.0
    settings: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return (
            f"CorefModel({self.mentions} mentions, {np.count_nonzero(self.weights):,} weights, "
            f"{len(self.known):,} words, temperature {self.temperature:.3g})"
        )

    @property
    def bits(self) -> int:
        """The weights' number is 2 to this power."""
        return len(self.weights).bit_length() - 1

    def candidates(self, document: Document, mentions: str | None = None) -> tuple[Mention, ...]:
        """The document's mentions: its own ("gold") or those found in its parse ("predicted").

        By default as the model was trained; a document that has none of its own gets those found.
        """
        if mentions is None:
            mentions = "predicted" if document.mentions is None else self.mentions
        return candidate_mentions(document, mentions)

    def posterior(
        self, document: Document, mentions: Sequence[Mention] | None = None, *, temperature: float | None = None
    ) -> AntecedentPosterior:
        """The posterior over clusterings of `mentions`, by default `candidates(document)`."""
        given = self.candidates(document) if mentions is None else ordered(document, mentions)
        t = self.temperature if temperature is None else temperature
        return self.posterior_of(features(document, given, self.known, self.used), document.name, t)

    def posterior_of(self, made: Features, name: str, temperature: float = 1.0) -> AntecedentPosterior:
        """The posterior from features that were made before."""
        n = len(made)
        if len(made.codes) < COMPILED_FROM:
            score = coref_scores.scores
        else:
            from howsure.kernels.coreference import ranking_compiled as coref_compiled

            score = coref_compiled.scores
        pair, new = score(made.kind, made.values, made.codes, self.used.crossed, self.weights, 64 - self.bits)
        square = np.full((n, n), -np.inf)
        square[np.tril_indices(n, -1)] = pair / temperature
        return AntecedentPosterior.from_scores(square, new / temperature, name=name)

    def with_temperature(self, temperature: float) -> CorefModel:
        """The same weights, their scores divided by `temperature`."""
        return replace(self, temperature=temperature)

    def save(self, path: str | Path) -> None:
        """Write an .npz of plain arrays."""
        settings = {
            "mention_templates": self.used.mention,
            "relation_templates": self.used.relation,
            "crosses": self.used.cross,
            "mentions": self.mentions,
            "keeps_singletons": self.keeps_singletons,
            "temperature": self.temperature,
            "training": self.settings or {},
        }
        arrays = {"weights": self.weights, "known": packed_names(sorted(self.known))}
        save_model(path, KIND, VERSION, settings, arrays)

    @classmethod
    def load(cls, path: str | Path) -> CorefModel:
        """Read what `save` wrote."""
        names = ("mention_templates", "relation_templates", "crosses")
        settings, arrays = load_model(path, KIND, VERSION, ARRAYS, lists={n: n for n in names})
        used = Templates(*(tuple(settings[n]) for n in names))
        size = len(arrays["weights"])
        if size & (size - 1) or size < 2 or not used.known or settings.get("mentions") not in MENTIONS:
            raise InputError(f"{path} is damaged: its weights are not of the features that it names.")
        try:
            return cls(
                arrays["weights"].astype(np.float32, copy=False),
                frozenset(arrays["known"]),
                used,
                settings["mentions"],
                settings["keeps_singletons"],
                settings["temperature"],
                settings["training"],
            )
        except KeyError as error:
            raise InputError(f"{path} is damaged: it has no {error}.") from None


def ordered(document: Document, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    """Mentions checked, each span once, in document order: outer before inner."""
    check_spans(document, mentions)
    once: dict[tuple[int, int], Mention] = {}
    for m in mentions:
        once.setdefault((m.start, m.end), m)
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
    entity: dict[tuple[int, int], str] = {}
    for m in document.mentions or ():
        entity.setdefault((m.start, m.end), m.entity)
    numbers: dict[object, int] = {}
    keys = [entity.get((m.start, m.end), (m.start, m.end)) for m in mentions]
    return np.array([numbers.setdefault(k, len(numbers)) for k in keys], dtype=np.int64)


def fit_coref(
    documents: Sequence[Document],
    *,
    mentions: str = "gold",
    epochs: int = 4,
    rate: float = 0.05,
    decay: float = 0.05,
    bits: int = 20,
    least_count: int = 5,
    costs: bool = False,
    without: Iterable[str] = (),
    rng: np.random.Generator | int | None = 0,
    progress: Progress | None = None,
) -> CorefModel:
    """Train on documents with gold mentions.

    Maximises Σ_i log Σ_{gold antecedents k of i} P(a_i = k), or log P(NEW) for the first mention of an entity, less
    `decay`/2 |w|², by AdaGrad with a step for each document, the rate falling to a fifth over the epochs.

    Parameters
    ----------
    mentions : "gold" or "predicted"
        Train on the given mentions, or on those found in the parses; the ones gold lacks then start entities of
        their own.
    costs : bool
        Raise the scores of wrong choices by error costs in training. Usual, and bad for calibration.
    without : names of feature templates to leave out.
    progress : called with the number of steps done and to do.
    """
    from howsure.kernels.coreference.ranking_compiled import Trainer

    generator = _validate.generator(rng)
    epochs, bits = _validate.count(epochs, "epochs"), _validate.count(bits, "bits")
    if bits > 28:
        raise InputError(f"`bits` may be 28 at most; got {bits}.")
    used = templates(without)
    known = vocabulary(documents, least_count)
    prepared = []
    for document in documents:
        if document.mentions is None:
            raise InputError(f'document "{document.name}" has no gold mentions to learn from.')
        given = candidate_mentions(document, mentions)
        if len(given):
            made = features(document, given, known, used)
            prepared.append((made, gold_clusters(document, given)))
    if not prepared:
        raise InputError("no document has mentions to learn from.")
    trainer = Trainer(bits)
    crossed, raised = used.crossed, np.array(ERROR_COSTS if costs else NO_COSTS)
    for epoch in range(epochs):
        slower = rate * (1.0 - 0.8 * epoch / epochs)
        for step, k in enumerate(generator.permutation(len(prepared))):
            made, gold = prepared[k]
            trainer.step(made.kind, made.values, made.codes, crossed, gold, raised, slower, decay)
            if progress is not None:
                progress(epoch * len(prepared) + step + 1, epochs * len(prepared))
    singletons = _singleton_share(documents) > FEW_SINGLETONS
    settings = {
        "documents": len(prepared),
        "epochs": epochs,
        "rate": rate,
        "decay": decay,
        "costs": bool(costs),
        "least_count": least_count,
    }
    return CorefModel(trainer.w, known, used, mentions, singletons, settings=settings)


def _singleton_share(documents: Sequence[Document]) -> float:
    """The share of gold entities that have one mention."""
    sizes = [np.unique([m.entity for m in d.mentions], return_counts=True)[1] for d in documents if d.mentions]
    counts = np.concatenate(sizes) if sizes else np.zeros(0)
    return float((counts == 1).mean()) if len(counts) else 0.0


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
    loss = _minus_log_likelihood if objective == "likelihood" else pair_brier
    low, high = np.log(RANGE)
    found = minimize_scalar(
        lambda x: loss([p.tempered(float(np.exp(x))) for p in posteriors], gold),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(np.exp(found.x))


def _minus_log_likelihood(posteriors: Sequence[AntecedentPosterior], gold: Sequence[NDArray[np.int64]]) -> float:
    # A clustering whose probability underflows counts as the smallest number there is.
    return -sum(max(p.log_probability(e), -1e6) for p, e in zip(posteriors, gold, strict=True))


def pair_brier(posteriors: Sequence[AntecedentPosterior], gold: Sequence[NDArray[np.int64]]) -> float:
    """The Brier score of "are these two the same entity?" over all pairs of all documents."""
    total, n = 0.0, 0
    for p, e in zip(posteriors, gold, strict=True):
        off = p.pairs() - (e[:, None] == e[None, :])
        total += float((off**2).sum()) / 2.0  # the diagonal is exact
        n += len(e) * (len(e) - 1) // 2
    return total / max(n, 1)
