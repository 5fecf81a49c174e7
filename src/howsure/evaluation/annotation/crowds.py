"""One label per item from many annotators: majority vote, and Dawid & Skene's model fitted by EM.

The model: item i has a true label t ~ p; annotator a, asked about it, answers l with probability π_a[l, t], independently
of the others. EM starts at each item's shares of votes, so that it is deterministic. Both steps are products with one
sparse matrix of ones, (items, annotators × labels).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure._result import shown_as
from howsure.evaluation.annotation.ratings import Ratings
from howsure.kernels.cells import Floats, Ints
from howsure.processes import Progress

TOLERANCE = 1e-7
MOST_AVERAGED = 2_000  # items up to which posteriors are averaged over models
WARM_UP, SWEEPS = 50, 400
HARD = (1.0, 3.0)  # Beta prior of the share of items that are hard for everybody
KNOWN = 0.4  # share of the answers to a hard item that are no guesses


@dataclass(frozen=True, slots=True)
class MajorityVote:
    """The commonest label of each item; of tied labels, the one that is commoner overall, then the first in order."""

    label: Ints
    tied: np.typing.NDArray[np.bool_]
    leaders: Floats  # (items, labels): 1/m for each of m labels that lead, else 0

    __repr__ = shown_as("{#label:,} items, {n_ties:,} ties")

    @property
    def n_ties(self) -> int:
        """How many items have more than one commonest label."""
        return int(self.tied.sum())


@dataclass(frozen=True, slots=True)
class DawidSkene:
    """A fitted model: P(true label) of each item, of the labels at large, and each annotator's confusion."""

    posterior: Floats  # (items, labels)
    prior: Floats  # (labels,)
    confusion: Floats  # (annotators, true label, label given)
    log_joint: Floats  # (items, labels): log p(t) + log-likelihood of the item's labels
    objective: float  # log-likelihood plus log of the smoothing prior, up to a constant
    iterations: int
    converged: bool

    def __repr__(self) -> str:
        state = "converged" if self.converged else "stopped"
        return f"DawidSkene({len(self.posterior):,} items, {state} after {self.iterations} iterations)"

    @property
    def label(self) -> Ints:
        """The most probable label of each item; of equally probable ones the first."""
        return self.posterior.argmax(axis=1)

    @property
    def accuracy(self) -> Floats:
        """Of each annotator: P(label given is the true one), by the model."""
        return np.asarray(np.diagonal(self.confusion, axis1=1, axis2=2) @ self.prior)

    @property
    def informativeness(self) -> Floats:
        """Of each annotator, 0 for a spammer whose label does not depend on the item, 1 for one who is always right.

        Mean over pairs of true labels of half the squared distance of what they answer (Raykar & Yu 2012).
        """
        k = self.confusion.shape[1]
        squares = np.sum(self.confusion**2, axis=(1, 2))
        total = np.sum(self.confusion.sum(axis=1) ** 2, axis=1)
        return np.asarray((k * squares - total) / (k * (k - 1))) if k > 1 else np.zeros(len(self.confusion))


def majority_vote(ratings: Ratings) -> MajorityVote:
    """The commonest label of each item."""
    votes = ratings.counts.toarray()
    leading = votes == votes.max(axis=1, keepdims=True)
    rank = votes.shape[1] - np.argsort(np.argsort(-votes.sum(axis=0), kind="stable"))
    number = leading.sum(axis=1)
    return MajorityVote((leading * rank).argmax(axis=1), number > 1, leading / number[:, None])


def dawid_skene(
    ratings: Ratings, *, smoothing: float = 1.0, max_iterations: int = 1000, progress: Progress | None = None
) -> DawidSkene:
    """Fit the model.

    Parameters
    ----------
    ratings : Ratings
        Every item has one at least.
    smoothing : float
        How many labels are added, spread evenly, to what each annotator answered for each true label, and to the
        true labels: a Dirichlet prior, so that one item does not make an annotator infallible. 0 is the published model.
    max_iterations : int
        EM stops earlier, when no probability moves by more than 1e-7.
    progress : callable
        Called with the number of iterations done and the most there may be.

    References
    ----------
    Dawid & Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm, 1979.
    """
    from scipy.sparse import csr_array

    n_annotators, k = ratings.n_annotators, len(ratings.labels)
    where = ratings.item, ratings.annotator * k + ratings.label
    answers = csr_array((np.ones(ratings.n_labels), where), shape=(ratings.n_items, n_annotators * k))
    turned = csr_array(answers.T)
    votes = ratings.counts.toarray()
    posterior = votes / votes.sum(axis=1, keepdims=True)
    extra = max(smoothing / k, 1e-12)  # logs of nothing at all would be infinite
    converged, iteration = False, 0
    while True:
        prior = posterior.sum(axis=0) + extra
        prior /= prior.sum()
        answered = (turned @ posterior).reshape(n_annotators, k, k) + extra  # annotator, label, true label
        answered /= answered.sum(axis=1, keepdims=True)
        log_answered = np.log(answered)
        log_joint = np.log(prior) + answers @ log_answered.reshape(n_annotators * k, k)
        if converged or iteration == max_iterations:
            break
        new, _ = normalised(log_joint)
        converged = bool(np.abs(new - posterior).max() <= TOLERANCE)
        posterior = new
        iteration += 1
        if progress is not None:
            progress(iteration, max_iterations)
    posterior, log_sum = normalised(log_joint)
    objective = float(log_sum.sum()) + extra * float(log_answered.sum() + np.log(prior).sum())
    confusion = np.ascontiguousarray(answered.transpose(0, 2, 1))
    return DawidSkene(posterior, prior, confusion, log_joint, objective, iteration, converged)


def posterior_over_models(ratings: Ratings, fitted: DawidSkene, rng: np.random.Generator) -> Floats:
    """P(true label) of each item, averaged over the models that the ratings leave possible, (items, labels).

    The fitted model is one of many when items are few, and its own posterior takes it for the truth; it also knows no items that are hard
    for everybody, on which annotators err together. Here a share h ~ Beta(1, 3) of the items is hard, and an answer to a hard item is a
    guess with probability 0.6. A Gibbs sampler draws true labels, hard items and guesses given a model, and a model given those,
    in turn, from the fitted posterior on. The prior of an annotator is worth three answers to each true label, one of
    them right and two at random.
    """
    n_items, n_annotators, k = ratings.n_items, ratings.n_annotators, len(ratings.labels)
    first = np.flatnonzero(np.diff(ratings.item, prepend=-1))
    cell = ratings.annotator * k + ratings.label
    before = 2.0 / k + np.eye(k)
    true, share, total = drawn(np.cumsum(fitted.posterior.T, axis=0), rng), HARD[0] / sum(HARD), np.zeros((n_items, k))
    known = np.ones(ratings.n_labels, bool)  # answers that are no guesses
    for sweep in range(WARM_UP + SWEEPS):
        counts = np.bincount((cell * k + true[ratings.item])[known], minlength=n_annotators * k * k)
        weight = rng.standard_gamma(counts.reshape(n_annotators, k, k) + before)  # annotator, label, true label
        prior = rng.standard_gamma(np.bincount(true, minlength=k) + 1.0)
        # P(answer | true label)
        given = (weight / weight.sum(axis=1, keepdims=True)).reshape(n_annotators * k, k)[cell]
        easy = np.log1p(-share) + np.add.reduceat(np.log(given), first)
        hard = np.log(share) + np.add.reduceat(np.log(KNOWN * given + (1.0 - KNOWN) / k), first)
        posterior, _ = normalised(np.concatenate([np.log(prior) + easy, np.log(prior) + hard], axis=1))
        both = drawn(np.cumsum(posterior.T, axis=0), rng)
        true, is_hard = both % k, both >= k
        share = rng.beta(HARD[0] + is_hard.sum(), HARD[1] + n_items - is_hard.sum())
        likely = KNOWN * given[np.arange(len(given)), true[ratings.item]]
        known = ~is_hard[ratings.item] | (rng.random(len(given)) * (likely + (1.0 - KNOWN) / k) < likely)
        if sweep >= WARM_UP:
            total += posterior[:, :k] + posterior[:, k:]
    return total / SWEEPS


def drawn(edges: Floats, rng: np.random.Generator) -> Ints:
    """One number from each column of cumulated probabilities."""
    return np.asarray(np.sum(rng.random(edges.shape[1]) * edges[-1] >= edges[:-1], axis=0))


def normalised(log_joint: Floats) -> tuple[Floats, Floats]:
    """Rows of log-weights as probabilities, and the log of their sums."""
    top = log_joint.max(axis=1, keepdims=True)
    weight = np.exp(log_joint - top)
    total = weight.sum(axis=1, keepdims=True)
    return weight / total, (top + np.log(total))[:, 0]


def posterior_rows(ratings: Ratings, fitted: DawidSkene) -> dict[str, Any]:
    """Columns of the table that `--posteriors` writes: item, p_<label> for each label, label, gold."""
    columns: dict[str, Any] = {"item": list(ratings.items)}
    columns |= {f"p_{name}": np.ascontiguousarray(fitted.posterior[:, c]) for c, name in enumerate(ratings.labels)}
    columns["label"] = [ratings.labels[i] for i in fitted.label.tolist()]
    if ratings.gold is not None:
        columns["gold"] = [None if g < 0 else ratings.labels[g] for g in ratings.gold.tolist()]
    return columns
