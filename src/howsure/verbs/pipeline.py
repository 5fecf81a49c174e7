"""`howsure.pipeline`: models one after another that hand on their doubt, not their best guess alone."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from howsure import _validate
from howsure._result import Training
from howsure.corpora.document import Document, Mention
from howsure.errors import InputError
from howsure.kernels.cells import Floats
from howsure.posteriors.antecedents import AntecedentPosterior
from howsure.posteriors.mixture import MixturePosterior, Part, Weighted, drawn, joined, likeliest

MODES = ("best", "kbest", "samples", "exact")
LISTED = (16, 256, 4_096)  # outcomes of a stage that are listed to have them all
ALL = 1.0 - 1e-12
TAG_COLUMNS = ("xpos", "upos", "tag")
UNIVERSAL = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"  # tags


@dataclass(frozen=True, slots=True)
class Stage:
    """One step: what becomes of its input first, the posterior of that, and what an outcome hands on to the next step."""

    name: str
    posterior: Callable[[Any], Any]
    ready: Callable[[Any], Any] = lambda given: given
    outcome: Callable[[Any, Any], Any] = lambda given, outcome: outcome

    def handed_on(self, given: Any, mode: str, n: int, rng: np.random.Generator) -> Weighted:
        """What goes on from an input, with log probabilities: n samples, the n best, or all."""
        posterior = self.posterior(given)
        for k in LISTED if mode == "exact" else (n,):
            sampled = mode == "samples"
            found = joined([(-np.log(n), x) for x in drawn(posterior, n, rng)]) if sampled else likeliest(posterior, k)
            if mode != "exact" or np.exp([log_p for log_p, _ in found]).sum() >= ALL:
                return [(log_p, self.outcome(given, x)) for log_p, x in found if log_p > -np.inf]
        raise InputError(f'{self.name} has too many outcomes to list them all: `mode="samples"` draws some.')


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Stages in a row. Made by `pipeline`; called with what the first stage takes, it returns a `MixturePosterior`."""

    stages: tuple[Stage, ...]
    mode: str
    n: int

    def __repr__(self) -> str:
        return f"Pipeline({' → '.join(s.name for s in self.stages)}, {self.mode})"

    def __call__(self, given: Any, rng: np.random.Generator | int | None = 0) -> MixturePosterior:
        """The last stage's posterior over what the stages before hand on.

        Random numbers depend on the seed, the stage and the name of what is given (a document's), so that pipelines that differ
        in a temperature alone are compared on like samples.
        """
        seed = rng if isinstance(rng, int) and rng >= 0 else int(_validate.generator(rng).integers(1 << 62))
        stream = seed, zlib.crc32(str(getattr(given, "name", "")).encode("utf-8", "surrogatepass"))
        sampled, most = self.mode == "samples", None if self.mode in ("samples", "exact") else self.n
        flow: Weighted = [(0.0, self.stages[0].ready(given))]
        for s, stage in enumerate(self.stages[:-1]):
            after: Weighted = []
            for j, (w, value) in enumerate(flow):
                n = round(self.n * np.exp(w)) if sampled else self.n
                found = stage.handed_on(value, self.mode, n, np.random.default_rng([*stream, s, j]))
                after += [(w + log_p, x) for log_p, x in found]
            if not after:
                raise InputError(f"{stage.name} has no outcome of what it was given.")
            flow = [(w, self.stages[s + 1].ready(x)) for w, x in joined(after)[:most]]
        weights = np.exp([w for w, _ in flow])
        shares = (weights / weights.sum()).tolist()
        parts = tuple(Part(w, x, self.stages[-1].posterior(x)) for w, (_, x) in zip(shares, flow, strict=True))
        return MixturePosterior(parts, min(float(weights.sum()), 1.0), self.n if sampled else None)


def pipeline(stages: Sequence[Any], *, mode: str = "samples", n: int = 20) -> Pipeline:
    """Put models in a row so that each stage gets what the one before may have meant, by its probability.

    Parameters
    ----------
    stages : sequence
        Of these: a tagger, a parser or a coreference model (or the path of one, or what training gave), which take and hand on
        documents; or any function of one value. What a function returns is a posterior of howsure, a list of these, a mapping from
        outcomes to probabilities, an object with `k_best(k)` and `samples(n, rng)`; or, if it is none of these, certain.
        "english" is the parser and "coref" the coreference model that ship.
    mode : "samples", "kbest", "best" or "exact"
        What goes on from stage to stage: `n` samples of the stages before the last, the `n` most probable outcomes with their
        probabilities, the most probable one, or all of them where these can be listed (4,096 of a stage at most).
    n : int
        Samples, or outcomes.

    Returns
    -------
    Pipeline
        Called with a document (or what the first stage takes) it returns a `MixturePosterior`: the last stage's posterior,
        which is asked exactly, averaged over what was handed on.

    Examples
    --------
    >>> import howsure
    >>> weather = lambda day: {"sunny": 0.75, "rain": 0.25}
    >>> plan = lambda sky: {"walk": 0.8, "read": 0.2} if sky == "sunny" else {"read": 1.0}
    >>> made = howsure.pipeline([weather, plan], mode="exact")("today")
    >>> round(made.ask(lambda p, sky: p.get("walk", 0.0)), 10)
    0.6
    """
    if mode not in MODES:
        raise InputError(f"`mode=` is {', '.join(MODES[:-1])} or {MODES[-1]}; got {mode!r}.")
    if not len(stages):
        raise InputError("a pipeline has one stage at least.")
    n = 1 if mode == "best" else _validate.count(n, "n")
    return Pipeline(tuple(_stage(s, i) for i, s in enumerate(stages, 1)), mode, n)


def _stage(given: Any, number: int) -> Stage:
    """The stage that is meant: by a model of ours, or by a function."""
    from howsure.english.shipped import SHIPPED
    from howsure.models.coreference.ranker import CorefModel
    from howsure.models.parsers.arcs import ArcParser
    from howsure.models.parsers.pcfg import Pcfg
    from howsure.models.taggers.crf import Crf
    from howsure.models.taggers.hmm import Hmm
    from howsure.verbs.coref import shipped_coref
    from howsure.verbs.load import load

    if isinstance(given, Stage):
        return given
    if isinstance(given, str) and given == "coref":
        given = shipped_coref()
    elif isinstance(given, str | Path):
        given = load(SHIPPED / "arcs.npz" if given == "english" else given)
    model = given.model if isinstance(given, Training) else given
    name = f"stage {number} ({type(model).__name__})"
    if isinstance(model, Crf | Hmm):
        return Stage(name, lambda d: model.posterior(d.words, d.starts), _document, _with_tags)
    if isinstance(model, ArcParser):
        return Stage(name, lambda d: list(model.posteriors([d])), _document, partial(_with_trees, model.labels))
    if isinstance(model, Pcfg):
        return Stage(name, lambda d: [model.posterior(d.words[s]) for s in d.sentences()], _document)
    if isinstance(model, CorefModel):
        ready = lambda d: _document(d).with_(mentions=model.candidates(d))  # noqa: E731
        return Stage(name, lambda d: model.posterior(d, d.mentions), ready, _with_entities)
    if not callable(model):
        raise InputError(f"stage {number} is a model, the path of one, or a function; got {type(model).__name__}.")
    return Stage(f"stage {number} ({getattr(model, '__name__', type(model).__name__)})", model)


def _document(given: Any) -> Document:
    if not isinstance(given, Document):
        raise InputError(f"a model takes documents (`howsure.parse`, howsure.corpora); got {type(given).__name__}.")
    return given


def _with_tags(d: Document, tags: Sequence[str]) -> Document:
    """Tags of one kind only: another kind that the document brings would not be what the tagger says."""
    kept = {k: v for k, v in d.columns.items() if k not in TAG_COLUMNS}
    return d.with_(columns=kept | {"upos" if set(tags) <= set(UNIVERSAL.split()) else "xpos": tuple(tags)})


def _with_trees(labels: Sequence[str], d: Document, trees: Sequence[Any]) -> Document:
    heads = [np.where(t.heads == 0, -1, t.heads + s.start - 1) for t, s in zip(trees, d.sentences(), strict=True)]
    names = tuple(labels[c] for t in trees for c in t.labels)
    return d.with_(heads=np.concatenate([*heads, np.zeros(0, np.int64)]), columns=d.columns | {"relation": names})


def _with_entities(d: Document, clusters: Sequence[int]) -> Document:
    made = tuple(Mention(m.start, m.end, str(c), m.type) for m, c in zip(d.mentions or (), clusters, strict=True))
    return d.with_(mentions=made)


@dataclass(frozen=True, slots=True)
class SpanPairs:
    """All spans that may be mentions, in order; P(the span is one); P(both are, and of the same entity)."""

    spans: tuple[tuple[int, int], ...]
    present: Floats
    together: Floats

    def __repr__(self) -> str:
        return f"SpanPairs({len(self.spans):,} spans, {self.present.sum():.1f} expected)"


def span_pairs(made: MixturePosterior) -> SpanPairs:
    """Which spans are mentions and which of them are of one entity, of a pipeline that ends with coreference."""
    if not all(isinstance(p.posterior, AntecedentPosterior) for p in made.parts):
        raise InputError("these are not the posteriors of a coreference model.")
    found = [[(m.start, m.end) for m in p.given.mentions] for p in made.parts]
    spans = sorted({s for each in found for s in each}, key=lambda s: (s[0], -s[1]))
    place = {s: i for i, s in enumerate(spans)}
    together = np.zeros((len(spans), len(spans)))
    for part, each in zip(made.parts, found, strict=True):
        at = np.array([place[s] for s in each], np.int64)
        together[np.ix_(at, at)] += part.weight * part.posterior.pairs()
    return SpanPairs(tuple(spans), np.diagonal(together).copy(), np.minimum(together, 1.0))
