"""`howsure coref`: coreference whose answers are probabilities."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._result import Training, drawn_by, shown_as
from howsure.calibration.result import Calibration
from howsure.corpora.conll2012 import conll2012_text
from howsure.corpora.coreference import read_documents
from howsure.corpora.coreference import source_files as source_files
from howsure.corpora.document import Document, Mention
from howsure.errors import InputError
from howsure.evaluation.coreference import CoreferenceScores, coreference_scores
from howsure.evaluation.model_checks import CorefCheck, SampledPairs
from howsure.files import write_whole
from howsure.kernels.cells import Floats, Ints
from howsure.models.coreference.attributes import KINDS, Attributes, attributes
from howsure.models.coreference.others import SystemScores, read_system
from howsure.models.coreference.ranker import CorefModel, fit_coref, gold_clusters, tuned
from howsure.posteriors.antecedents import AntecedentPosterior
from howsure.processes import Progress
from howsure.verbs.check import check
from howsure.verbs.load import model_of
from howsure.verbs.predictive import of_entities

DECODERS = ("fitted", "minimum-risk", "best")
LEAST_SHOWN = 0.05
BY = ("mention-type", "distance")
GROUPS = np.array(["nominal", "proper", "other", *["pronoun"] * (len(KINDS) - 3)])
SENTENCES = (1, 2, 4, 8, 16)
APART = np.array(["same sentence", "1 sentence", "2-3 sentences", "4-7 sentences", "8-15 sentences", "16 and more"])
SAMPLES = (10, 100, 1000)
ENTITY_SAMPLES = 400


@dataclass(frozen=True, slots=True)
class CorefTraining(Training):
    """A trained model and how it does on the dev documents."""

    SHOWN = "verdict n_documents n_mentions mentions=model.mentions temperature training=model.settings dev"
    __repr__ = shown_as("{model!r}, dev {dev!r}")

    model: CorefModel
    n_documents: int
    n_mentions: int
    dev: CoreferenceScores | None = None
    temperature: float = 1.0
    objective: str = "likelihood"

    @property
    def verdict(self) -> str:
        said = f"Trained on {self.n_mentions:,} {self.model.mentions} mentions in {self.n_documents:,} documents."
        if self.dev is None:
            return said + " Without `dev=` the temperature is 1."
        return f"{said} On dev: {self.dev.verdict} Temperature {self.temperature:.3f}, fitted for the {self.objective}."

    to_text = drawn_by("howsure.report.text.models.coref_training_text")


@dataclass(frozen=True, slots=True)
class Resolved:
    """A document's mentions, their posterior and the clustering chosen."""

    document: Document
    mentions: tuple[Mention, ...]
    posterior: AntecedentPosterior
    clusters: Ints
    samples: NDArray[np.int32] | None = None

    def __repr__(self) -> str:
        return f"Resolved({self.document.name!r}: {len(self.mentions):,} mentions, {len(np.unique(self.clusters)):,} entities)"

    def entities(self, *, singletons: bool = False) -> tuple[Mention, ...]:
        """The mentions with the entity each was put in; those alone only if asked for."""
        counts = np.bincount(self.clusters, minlength=len(self.clusters)) if len(self.clusters) else self.clusters
        return tuple(
            Mention(m.start, m.end, str(c), m.type)
            for m, c in zip(self.mentions, self.clusters.tolist(), strict=True)
            if singletons or counts[c] > 1
        )

    def to_dict(self) -> dict[str, Any]:
        """One line of `howsure coref resolve`: tokens, mentions, clusters, pair probabilities of 0.05 or more, samples.

        Characters count from the beginning of the text; where the document does not tell its white space, of its words
        with a blank between.
        """
        from howsure.english.tokens import character_offsets

        q = self.posterior.pairs()
        i, j = np.nonzero(np.tril(q, -1) >= LEAST_SHOWN)
        words, at, sizes = self.document.words, character_offsets(self.document), self.posterior.expected_sizes()
        made: dict[str, Any] = {
            "document": self.document.name,
            "tokens": list(words),
            "token_characters": [list(x) for x in at],
            "sentence_starts": self.document.starts[:-1].tolist(),
            "mentions": [
                {"start": m.start, "end": m.end, "characters": [at[m.start][0], at[m.end - 1][1]]}
                | {"text": " ".join(words[m.start : m.end]), "cluster": int(c), "p_new": round(float(p), 6)}
                | {"expected_size": round(float(s), 4)}
                for m, c, p, s in zip(self.mentions, self.clusters, self.posterior.new, sizes, strict=True)
            ],
            "clusters": [np.flatnonzero(self.clusters == c).tolist() for c in dict.fromkeys(self.clusters.tolist())],
            "n_entities": self.posterior.n_entities().to_dict(),
            "pairs": [[int(b), int(a), round(float(q[a, b]), 6)] for a, b in zip(i, j, strict=True)],
        }
        if self.samples is not None:
            made["samples"] = self.samples.tolist()
        return made


def documents_of(source: Any, *, parse: bool = False) -> tuple[list[Document], list[InputError]]:
    """Documents from a path, a split's name, a document or a sequence of them.

    With `parse`, those that bring no parse get the English model's, on their own words and sentences.
    """
    if isinstance(source, str | Path):
        documents, errors = read_documents(source)
    else:
        documents, errors = [source] if isinstance(source, Document) else list(source), []
    if not documents:
        raise InputError("there are no documents.")
    if parse and any(d.heads is None for d in documents):
        from howsure.english.annotating import reparsed
        from howsure.english.shipped import model

        made = reparsed(model(), [d for d in documents if d.heads is None])
        documents = [next(made) if d.heads is None else d for d in documents]
    return documents, errors


def _gold_documents(source: Any, *, parse: bool = False) -> tuple[list[Document], int]:
    """Documents with gold mentions, and how many others there are; one that cannot be read is an error."""
    documents, errors = documents_of(source)
    known = [d for d in documents if d.mentions]
    if not known:
        raise InputError(f"none of the {len(documents)} documents has mentions: gold entities are needed.")
    if errors:
        raise errors[0]
    return documents_of(known, parse=parse)[0], len(documents) - len(known)


def train_coref(
    source: Any,
    *,
    dev: Any = None,
    mentions: str = "gold",
    objective: str = "likelihood",
    costs: bool = False,
    epochs: int = 4,
    without: Iterable[str] = (),
    rng: np.random.Generator | int | None = 0,
    progress: Progress | None = None,
) -> CorefTraining:
    """Train a mention-ranking model; with `dev`, fit its temperature there and score it.

    Parameters
    ----------
    source, dev : path, "gum:train" or "ontogum:train", or documents
        With gold mentions and, for the features, parses.
    mentions : "gold" or "predicted"
        What is clustered: the given mentions, or those found in the parses.
    objective : "likelihood" or "brier"
        What the temperature is fitted for.
    costs : bool
        Train with error costs; usual, and bad for calibration.
    without : names of feature templates to leave out.
    """
    documents, _ = _gold_documents(source)
    held = None if dev is None else _gold_documents(dev)[0]
    model = fit_coref(
        documents, mentions=mentions, costs=costs, epochs=epochs, without=without, rng=rng, progress=progress
    )
    n_mentions = sum(len(d.mentions or ()) for d in documents)
    if held is None:
        return CorefTraining(model, len(documents), n_mentions)
    model = tuned(model, held, objective)
    scores = scores_of(resolve(model, held), model)
    return CorefTraining(model, len(documents), n_mentions, scores, model.temperature, objective)


def _resolver(given: Any) -> CorefModel | SystemScores:
    """A model of ours, by default the one that ships, or another system's scores: a file of JSON lines."""
    if given is None:
        return shipped_coref()
    if isinstance(given, str | Path) and Path(given).suffix.lower() in (".jsonl", ".json"):
        return read_system(given)
    return model_of(given, CorefModel, SystemScores)


def resolve(
    model: CorefModel | CorefTraining | SystemScores | str | Path | None,
    documents: Any,
    *,
    mentions: str | None = None,
    parse: bool = False,
    samples: int = 0,
    decoder: str = "fitted",
    rng: np.random.Generator | int | None = 0,
    failures: list[InputError] | None = None,
) -> list[Resolved]:
    """The posterior and a clustering of each document, by `model` or, where it is None, by the one that ships.

    `model` may be a file of another system's scores (`.jsonl`; docs/guides/bring-your-own.md). `parse` parses documents that
    bring no parse. With a list as `failures`, documents that cannot be resolved are added to it and the others go on;
    without, the first is an error.
    """
    used = _resolver(model)
    if decoder not in DECODERS:
        raise InputError(f"a decoder is {', '.join(DECODERS[:-1])} or {DECODERS[-1]}; got {decoder!r}.")
    if samples:
        _validate.count(samples, "samples")
    given, errors = documents_of(documents, parse=parse)
    made = []
    for document in given:
        try:
            found = used.candidates(document, mentions)
            posterior = used.posterior(document, found)
        except InputError as error:
            errors.append(error)
            continue
        if decoder == "fitted":
            clusters = used.clusters(posterior)
        else:
            clusters = posterior.minimum_risk() if decoder == "minimum-risk" else posterior.best()
        drawn = posterior.samples(samples, rng) if samples else None
        made.append(Resolved(document, found, posterior, clusters, drawn))
    if errors and (failures is None or not made):
        raise errors[0]
    if failures is not None:
        failures += errors
    return made


def scores_of(resolved: Sequence[Resolved], model: CorefModel | SystemScores, **options: Any) -> CoreferenceScores:
    """Scores of resolved documents that have gold mentions."""
    keep = model.keeps_singletons
    return coreference_scores(
        [(mention_pairs(r.document.mentions or ()), mention_pairs(r.entities(singletons=keep))) for r in resolved],
        **options,
    )


def mention_pairs(mentions: Iterable[Mention]) -> list[tuple[tuple[int, int], str]]:
    """Spans with their entities."""
    return [((m.start, m.end), m.entity) for m in mentions]


def score_coref(
    gold: Any,
    system: Any,
    *,
    samples: int = 1000,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
) -> CoreferenceScores:
    """Predicted against gold entities, documents matched by name; intervals by resampling documents."""
    keys, errors = documents_of(gold)
    responses, more = documents_of(system)
    if errors or more:
        raise [*errors, *more][0]
    by_name = {d.name: d for d in responses}
    if len(by_name) < len(responses):
        raise InputError("two documents of the system have one name.")
    extra = set(by_name) - {d.name for d in keys}
    for key in keys:
        if key.name not in by_name:
            raise InputError(f'the system has no document "{key.name}".{_validate.nearest(key.name, sorted(by_name))}')
        if len(key) != len(by_name[key.name]):
            raise InputError(
                f'document "{key.name}" has {len(key):,} tokens in gold and {len(by_name[key.name]):,} in the system.'
            )
    if extra:
        raise InputError(f'gold has no document "{sorted(extra)[0]}".')
    pairs = [(mention_pairs(k.mentions or ()), mention_pairs(by_name[k.name].mentions or ())) for k in keys]
    return coreference_scores(pairs, samples=samples, confidence_level=confidence_level, rng=rng)


def shipped_coref() -> CorefModel:
    """The coreference model that ships."""
    from howsure.english.coreference import coref_model

    return coref_model()


def write_resolved(made: Sequence[Resolved], path: str) -> None:
    """Write resolved documents: CoNLL-2012 if the name ends in .conll, else JSON lines."""
    if path.endswith(".conll"):
        text = conll2012_text([r.document for r in made], [r.entities() for r in made])
    else:
        text = "".join(json.dumps(r.to_dict(), ensure_ascii=False, allow_nan=False) + "\n" for r in made)
    write_whole(path, text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of all documents; the documents, or the mentions of a single one, are independent groups."""

    y: NDArray[np.bool_]
    q: Floats
    group: Ints | None
    by: NDArray[np.str_] | None

    def only(self, chosen: NDArray[np.bool_]) -> _Pairs:
        """Some of the pairs."""
        group = None if self.group is None else self.group[chosen]
        by = None if self.by is None else self.by[chosen]
        return _Pairs(self.y[chosen], self.q[chosen], group, by)


def check_coref(
    model: CorefModel | CorefTraining | SystemScores | str | Path | None,
    documents: Any,
    *,
    by: str | None = None,
    mentions: str | None = None,
    parse: bool = False,
    sample_sizes: Sequence[int] = SAMPLES,
    predictive: int = 0,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
) -> CorefCheck:
    """How calibrated are the answers to "do these two mentions corefer?" and "is this mention new?"

    Exact probabilities, documents as groups: pairs of one document are not independent. With one document, mentions are
    the groups. First come the pairs that could be links, those of probability 0.05 or more: nearly all others are obvious, and
    would hide any error. Pairs are not chosen by their label, which would make any model look wrong; gold links below
    0.05 are counted beside. `model` None is the one that ships. `parse` parses documents that bring no parse. `by` slices
    the pairs by "mention-type" or "distance". `sample_sizes` lists numbers of sampled clusterings whose frequencies are set
    beside the exact probabilities. `predictive` is a number of samples, whose entities are compared with gold ones. `model` may be a file of another system's scores, with mentions of its own (`.jsonl`;
    docs/guides/bring-your-own.md).
    """
    used = _resolver(model)
    if by is not None and by not in BY:
        raise InputError(f"pairs are compared by {' or '.join(BY)}; got {by!r}.")
    with_mentions, others = _gold_documents(documents, parse=parse)
    notes = [f"{others:,} documents without gold mentions were left out."] if others else []
    found = [used.candidates(d, mentions) for d in with_mentions]
    if len(with_mentions) == 1:
        notes.append("One document: intervals treat its mentions as independent, and are too narrow.")
        if len(found[0]) < 3:
            raise InputError("one document needs three mentions at least.")
    raw = [used.posterior(d, m, temperature=1.0) for d, m in zip(with_mentions, found, strict=True)]
    posteriors = [p.tempered(used.temperature) for p in raw]
    gold = [gold_clusters(d, m) for d, m in zip(with_mentions, found, strict=True)]
    known = [attributes(d, m) for d, m in zip(with_mentions, found, strict=True)]
    slices = None if by is None else [_pair_slices(a, by) for a in known]
    table = _all_pairs([p.pairs() for p in posteriors], gold, slices)
    could = table.q >= LEAST_SHOWN
    links = None
    if table.group is not None and len(np.unique(table.group[could])) > 1:
        links = replace(_calibration(table.only(could), confidence_level), by=by)
    whole = _calibration(table if links is None else replace(table, by=None), confidence_level)
    if links is None:
        whole = replace(whole, by=by)
    untempered = None
    if used.temperature != 1.0:
        untempered = _calibration(_all_pairs([p.pairs() for p in raw], gold, None), confidence_level)

    def drawn(n: int) -> list[Any]:
        return [p.samples(n, rng) for p in posteriors]

    resolved = [Resolved(d, m, p, used.clusters(p)) for d, m, p in zip(with_mentions, found, posteriors, strict=True)]
    return CorefCheck(
        links=links,
        pairs=whole,
        gold_links=int(table.y.sum()),
        missed=int(table.y[~could].sum()),
        missed_expected=float(table.q[~could].sum()),
        entities=_entities(known, posteriors, gold, confidence_level),
        new=_calibration(_newness(posteriors, gold), confidence_level),
        scores=scores_of(resolved, used, confidence_level=confidence_level),
        sampling=_sampling(table, whole, drawn, sample_sizes, confidence_level),
        temperature=used.temperature,
        untempered=untempered,
        n_documents=len(with_mentions),
        n_mentions=sum(map(len, found)),
        notes=tuple(notes),
        source=str(documents) if isinstance(documents, str | Path) else "",
        predictive=of_entities(posteriors, gold, _validate.count(predictive, "predictive"), rng) if predictive else (),
    )


def _pair_slices(a: Any, by: str) -> NDArray[np.str_]:
    """A name for each pair."""
    i, j = np.tril_indices(len(a), -1)
    if by == "distance":
        return APART[np.searchsorted(SENTENCES, a.sentence[i] - a.sentence[j], side="right")]
    kind = GROUPS[a.kind]
    return np.char.add(np.char.add(kind[i], " to "), kind[j])


def _all_pairs(squares: Sequence[Floats], gold: Sequence[Ints], slices: Any) -> _Pairs:
    y, q, group = [], [], []
    for d, (square, e) in enumerate(zip(squares, gold, strict=True)):
        i, j = np.tril_indices(len(e), -1)
        y.append(e[i] == e[j])
        q.append(square[i, j])
        group.append(np.full(len(i), d) if len(squares) > 1 else i)
    by = None if slices is None else np.concatenate(slices)
    return _Pairs(np.concatenate(y), np.concatenate(q), np.concatenate(group), by)


def _calibration(table: _Pairs, level: float) -> Calibration:
    made = check(table.y, table.q, groups=table.group, by=table.by, confidence_level=level, rng=None)
    assert isinstance(made, Calibration)
    return made


def _entities(
    known: Sequence[Attributes], posteriors: Sequence[AntecedentPosterior], gold: Sequence[Ints], level: float
) -> Calibration | None:
    """Calibration of "does this mention mean someone of that name?", over names and the mentions that are not that name.

    A name is mentioned many times, so small probabilities of links may add up. From samples; answers of 0.05 or more.
    """
    y, q, group = [], [], []
    for d, (a, p, e) in enumerate(zip(known, posteriors, gold, strict=True)):
        roots = p.samples(ENTITY_SAMPLES, 0)
        rows = np.arange(len(roots))[:, None]
        for name in dict.fromkeys(n for n in a.name if n):
            own = np.array([n == name for n in a.name])
            hit = np.zeros(roots.shape, bool)
            hit[rows, roots[:, own]] = True
            said = hit[rows, roots].mean(axis=0)
            asked = np.flatnonzero(~own & (said >= LEAST_SHOWN))
            y.append(np.isin(e[asked], e[own]))
            q.append(said[asked])
            group.append(np.full(len(asked), d) if len(known) > 1 else asked)
    if not q or len(np.unique(np.concatenate(group))) < 2:
        return None
    return _calibration(_Pairs(np.concatenate(y), np.concatenate(q), np.concatenate(group), None), level)


def _newness(posteriors: Sequence[AntecedentPosterior], gold: Sequence[Ints]) -> _Pairs:
    """Of each mention, whether it is its entity's first."""
    first = np.concatenate([np.isin(np.arange(len(e)), np.unique(e, return_index=True)[1]) for e in gold])
    q = np.clip(np.concatenate([p.new for p in posteriors]), 0.0, 1.0)
    group = np.repeat(np.arange(len(gold)), [len(e) for e in gold]) if len(gold) > 1 else None
    return _Pairs(first, q, group, None)


def _sampling(
    table: _Pairs, exact: Calibration, drawn: Callable[[int], Iterable[Any]], sizes: Sequence[int], level: float
) -> tuple[SampledPairs, ...]:
    """The exact answers, and those of n samples each: `drawn(n)` are those of every document."""
    from howsure.kernels.coreference.antecedents_compiled import pair_frequencies

    rows = [SampledPairs(None, exact.error, exact.brier.value or 0.0, 0.0, 0.0)]
    for n in sizes:
        seen = [pair_frequencies(samples) for samples in drawn(n)]
        q = np.concatenate([s[np.tril_indices(len(s), -1)] for s in seen])
        made, off = _calibration(replace(table, q=q, by=None), level), q - table.q
        furthest, rms = float(np.abs(off).max()), float(np.sqrt(np.mean(off**2)))
        rows.append(SampledPairs(n, made.error, made.brier.value or 0.0, furthest, rms))
    return tuple(rows)
