"""Outcomes of any posterior with their probabilities, and what is left when they go on: a mixture of posteriors.

An outcome is what a posterior is about: tags of all tokens, a tree, a clustering, the classes of all items. Beside the posteriors
of this room there may be a mapping from outcomes to probabilities, a list of posteriors (independent of each other), and anything
with `k_best(k)`, a list of (probability, outcome), and `samples(n, rng)`, a list of outcomes. Whatever else is certain.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.posteriors.antecedents import AntecedentPosterior, roots_of
from howsure.posteriors.chain import ChainPosterior
from howsure.posteriors.classes import ClassPosterior
from howsure.posteriors.constituents import ConstituentPosterior
from howsure.posteriors.trees import DependencyTree, TreePosterior

Weighted = list[tuple[float, Any]]  # log probabilities with outcomes
SUM_TOLERANCE = 1e-6


def is_posterior(given: Any) -> bool:
    """Whether there is doubt in it: a mapping, something that can be sampled, or a list of such."""
    parts = isinstance(given, list | tuple) and len(given) > 0 and all(hasattr(p, "samples") for p in given)
    return isinstance(given, Mapping) or hasattr(given, "samples") or parts


def key_of(outcome: Any) -> Any:
    """What is equal where outcomes are equal; of what cannot be compared, its identity."""
    if isinstance(outcome, DependencyTree):
        return outcome.heads.tobytes(), None if outcome.labels is None else outcome.labels.tobytes()
    if isinstance(outcome, list | tuple):
        return tuple(map(key_of, outcome))
    try:
        hash(outcome)
    except TypeError:
        return id(outcome)
    return outcome


def joined(outcomes: Weighted) -> Weighted:
    """Each outcome once, with all its probability; the most probable first."""
    made: dict[Any, tuple[float, Any]] = {}
    for log_p, x in outcomes:
        known = made.get(key := key_of(x))
        made[key] = (log_p, x) if known is None else (float(np.logaddexp(known[0], log_p)), known[1])
    return sorted(made.values(), key=lambda pair: -pair[0])


def best_together(parts: Sequence[Floats], k: int) -> tuple[Ints, Floats]:
    """The k largest sums of one value of each part; parts are in falling order. Ranks taken, shape (k, parts), and sums."""
    ranks, total = np.zeros((1, len(parts)), np.int64), np.zeros(1)
    for column, values in enumerate(parts):
        possible = values[:k][values[:k] > -np.inf]
        sums = (total[:, None] + possible).ravel()
        kept = np.argsort(-sums, kind="stable")[:k]
        ranks, total = ranks[kept // max(len(possible), 1)], sums[kept]
        ranks[:, column] = kept % max(len(possible), 1)
    return ranks, total


def likeliest(posterior: Any, k: int) -> Weighted:
    """The k most probable outcomes, best first, with their log probabilities; fewer where there are not as many."""
    p = posterior
    if isinstance(p, Mapping):
        return [(float(np.log(q)), x) for x, q in sorted(_law(p).items(), key=lambda pair: -pair[1])[:k]]
    if not is_posterior(p):
        return [(0.0, p)]
    if isinstance(p, list | tuple):
        each = [likeliest(one, k) for one in p]
        ranks, total = best_together([np.array([log_p for log_p, _ in one]) for one in each], k)
        chosen = [[one[r][1] for one, r in zip(each, row, strict=True)] for row in ranks.tolist()]
        return list(zip(total.tolist(), chosen, strict=True))
    if isinstance(p, ChainPosterior):
        found = p.k_best(k)
        ranks, total = best_together(list(found.log_prob), k)
        tokens = np.arange(p.n_tokens)
        made = [tuple(p.names(found.tags[tokens, row[p.sentence]])) for row in ranks]
        return list(zip(total.tolist(), made, strict=True))
    if isinstance(p, TreePosterior):
        return _labelled_best(p, k)
    if isinstance(p, ConstituentPosterior):
        return [(t.log_prob if p.has_tree else 0.0, t) for t in p.k_best(k)]  # without a tree, words alone are certain
    if isinstance(p, ClassPosterior | AntecedentPosterior):
        a: Any = p.marginals() if isinstance(p, ClassPosterior) else p.antecedents + np.diag(p.new)  # NEW: itself
        with np.errstate(divide="ignore"):
            log_p = np.log(np.asarray(a))
        order = np.argsort(-log_p, axis=1, kind="stable")[:, :k]
        ranks, total = best_together(list(np.take_along_axis(log_p, order, axis=1)), k)
        picked = np.take_along_axis(order[None], ranks[..., None], axis=2)[..., 0]
        return joined([(float(t), _named(p, row)) for t, row in zip(total, picked, strict=True)])
    if not hasattr(p, "k_best"):
        raise InputError(f"{type(p).__name__} has no `k_best`: only samples of it can go on.")
    return [(float(np.log(q)), x) for q, x in p.k_best(k) if q > 0.0]


def drawn(posterior: Any, n: int, rng: np.random.Generator) -> list[Any]:
    """n outcomes drawn from the posterior."""
    p = posterior
    if isinstance(p, Mapping):
        law = _law(p)
        outcomes = list(law)
        return [outcomes[i] for i in rng.choice(len(outcomes), n, p=np.array(list(law.values())) / sum(law.values()))]
    if not is_posterior(p):
        return [p] * n
    if isinstance(p, list | tuple):
        return [list(x) for x in zip(*(drawn(one, n, rng) for one in p), strict=True)]
    if isinstance(p, TreePosterior):
        return _labelled_samples(p, n, rng)
    found = p.samples(n, rng=rng)
    if isinstance(p, ChainPosterior | ClassPosterior | AntecedentPosterior):
        return [_named(p, row) for row in found]
    return list(found)


def _law(given: Mapping[Any, float]) -> dict[Any, float]:
    total = sum(given.values())
    if min(given.values(), default=-1.0) < 0.0 or abs(total - 1.0) > SUM_TOLERANCE:
        raise InputError(f"a mapping from outcomes to probabilities must sum to one; its sum is {total:.6g}.")
    return {x: float(q) for x, q in given.items() if q > 0.0}


def _named(p: ChainPosterior | ClassPosterior | AntecedentPosterior, row: NDArray[Any]) -> tuple[Any, ...]:
    """Names of tags or classes; of antecedents (NEW: the mention itself), the first mention of each one's entity."""
    if not isinstance(p, AntecedentPosterior):
        names = p.tags if isinstance(p, ChainPosterior) else p.classes
        return tuple(names[i] for i in row.tolist())
    return tuple(roots_of(np.asarray(row, np.int64)).tolist())


def _labelled_best(p: TreePosterior, k: int) -> Weighted:
    """The k most probable trees with labels: among the labellings of the k trees whose best labelling is most probable."""
    if not p.labels or not p.n:
        return [(t.log_prob, t) for t in ([p.best()] if k == 1 else p.k_best(k))]
    with np.errstate(invalid="ignore"):
        most = TreePosterior(p.scores + p.label_log_prob.max(axis=2), projective=p.projective)
    made, words = [], np.arange(p.n)
    for tree in [most.best()] if k == 1 else most.k_best(k):
        log_heads = float(p.scores[tree.heads, words].sum()) - p.log_partition
        log_p = p.label_log_prob[tree.heads, words]
        order = np.argsort(-log_p, axis=1, kind="stable")
        ranks, total = best_together([row[o] for row, o in zip(log_p, order, strict=True)], k)
        for row, log_labels in zip(ranks, total.tolist(), strict=True):
            made.append((log_heads + log_labels, DependencyTree(tree.heads, log_heads, order[words, row])))
    return sorted(made, key=lambda pair: -pair[0])[:k]


def _labelled_samples(p: TreePosterior, n: int, rng: np.random.Generator) -> list[Any]:
    heads, words = p.samples(n, rng), np.arange(p.n)
    log_p = p.scores[heads, words].sum(axis=1) - p.log_partition
    codes: Any = [None] * n
    if p.labels and p.n:
        cumulated = np.cumsum(np.exp(p.label_log_prob[heads, words]), axis=2)
        codes = (cumulated < rng.random((n, p.n, 1)) * cumulated[..., -1:]).sum(axis=2)
    return [DependencyTree(h, float(w), c) for h, w, c in zip(heads, log_p, codes, strict=True)]


@dataclass(frozen=True, slots=True)
class Part:
    """A posterior of the last stage, what it was given, and how probable that is."""

    weight: float
    given: Any = field(repr=False)
    posterior: Any


@dataclass(frozen=True, slots=True)
class MixturePosterior:
    """The last stage's posterior, averaged over what the stages before may have handed on: Σ weight × posterior.

    Made by a `howsure.pipeline`. `covered` is the probability of everything that was handed on, before it was divided by its sum:
    what k best outcomes leave out, they know nothing of. `n_samples` is the number of samples, if there were any.

    Examples
    --------
    >>> m = MixturePosterior((Part(0.75, "sunny", {"walk": 0.8, "read": 0.2}), Part(0.25, "rain", {"read": 1.0})))
    >>> round(m.ask(lambda p, given: p.get("walk", 0.0)), 10), m.k_best(1)
    (0.6, [(0.6000000000000001, 'walk')])
    """

    parts: tuple[Part, ...]
    covered: float = 1.0
    n_samples: int | None = None

    def __repr__(self) -> str:
        how = f"{self.n_samples} samples" if self.n_samples else f"{self.covered:.3g} of the probability"
        return f"MixturePosterior({len(self.parts)} parts, {how})"

    def ask(self, question: Callable[[Any, Any], Any]) -> Any:
        """Σ weight × question(posterior, given): a number, or an array where the question gives arrays."""
        return sum(p.weight * question(p.posterior, p.given) for p in self.parts)

    def simulation_error(self, question: Callable[[Any, Any], Any]) -> Any:
        """The standard error of `ask` that comes from the number of samples; 0 without sampling."""
        if not self.n_samples:
            return 0.0
        mean = self.ask(question)
        square = self.ask(lambda p, given: (question(p, given) - mean) ** 2)
        return np.sqrt(square / max(self.n_samples - 1, 1))

    def k_best(self, k: int) -> list[tuple[float, Any]]:
        """The most probable outcomes among the k best of each part, each with the probability that these give it."""
        k = _validate.count(k, "k")
        found = [(np.log(p.weight) + log_p, x) for p in self.parts for log_p, x in likeliest(p.posterior, k)]
        return [(float(np.exp(log_p)), x) for log_p, x in joined(found)[:k]]

    def best(self) -> Any:
        """The most probable outcome among the best of each part."""
        return self.k_best(1)[0][1]

    def samples(self, n: int, rng: np.random.Generator | int | None = 0) -> list[Any]:
        """n outcomes, each of a part drawn by its weight."""
        random, n = _validate.generator(rng), _validate.count(n, "n")
        counts = random.multinomial(n, [p.weight for p in self.parts])
        made = [x for p, c in zip(self.parts, counts.tolist(), strict=True) if c for x in drawn(p.posterior, c, random)]
        return [made[i] for i in random.permutation(n)]

    def probability(
        self, event: Callable[[Any], Any], n: int = 1_000, rng: np.random.Generator | int | None = 0
    ) -> float:
        """The share of n sampled outcomes of which the event is true."""
        return float(np.mean([bool(event(x)) for x in self.samples(n, rng)]))
