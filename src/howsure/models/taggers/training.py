"""Training a CRF: its loss, Σ -log P(gold) + c₂ |w|², the same as CRFsuite's; L-BFGS on all of it, or AdaGrad on batches of 100 sentences."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.chains import crf_compiled, in_step
from howsure.kernels.chains.log_space import not_last
from howsure.kernels.ragged import picked
from howsure.kernels.threads import cores, portions
from howsure.models.lbfgs import minimise
from howsure.models.taggers.crf import Crf, WeightRows
from howsure.models.taggers.features import FeatureTable, TokenFeatures, chosen_templates
from howsure.models.taggers.hmm import numbered_tags, pair_counts
from howsure.posteriors.chain_passes import Chain, pair_parts
from howsure.processes import Progress

Part = tuple[TokenFeatures, Ints, Ints]  # sentences: features, starts and gold tags
After = Callable[[int, float, Floats], bool]  # of each iteration: number, loss and weights; whether to end there

METHODS = ("lbfgs", "adagrad")
FREQUENT = 20
PIECE = 16_384  # tokens in step together
SHARES = 4  # fixed, so that the sums are the same on any number of threads


class CrfObjective:
    """Loss and gradient over training sentences. A parameter vector is the weights of `rows`, then T × T transitions.

    Weights exist for (feature, tag) and (tag, tag) pairs seen in training, as in CRFsuite by default.
    """

    def __init__(
        self, features: TokenFeatures, starts: Ints, gold: Ints, n_features: int, n_tags: int, l2: float
    ) -> None:
        self.features, self.starts, self.gold, self.n_tags, self.l2 = features, starts, gold, n_tags, l2
        code = features.ids.astype(np.int64) * n_tags + np.repeat(gold, np.diff(features.ptr))
        pairs, count = np.unique(code, return_counts=True)
        self.rows = WeightRows.of_pairs(pairs // n_tags, pairs % n_tags, n_features, n_tags)
        self.n_states = len(self.rows.row_tag)
        observed = np.zeros(self.n_states)
        observed[self.rows.seen] = count
        moves = pair_counts(gold, starts, n_tags).astype(np.float64)
        self.observed = np.concatenate([observed, moves])
        self.movable = np.concatenate([self.rows.seen, moves > 0])
        size = min(PIECE, -(-len(gold) // SHARES) + int(np.diff(starts).max(initial=0)))
        runs = [self.chosen(np.arange(*run)) for run in portions(starts, size)]
        self._shares = [runs[i::SHARES] for i in range(SHARES)]
        crf_compiled.compile_all()
        in_step.compile_all()

    @property
    def n_sentences(self) -> int:
        """Number of training sentences."""
        return len(self.starts) - 1

    def split(self, w: Floats) -> tuple[Floats, Floats]:
        """State weights and (T, T) transitions."""
        return w[: self.n_states], w[self.n_states :].reshape(self.n_tags, self.n_tags)

    def value_and_gradient(self, w: Floats, threads: int | None = None) -> tuple[float, Floats]:
        """The whole loss, regularised, and its gradient."""
        threads = min(cores(), SHARES) if threads is None else threads
        if threads == 1:
            parts = [self.part(w, s) for s in self._shares]
        else:
            with ThreadPoolExecutor(threads) as pool:
                parts = list(pool.map(lambda s: self.part(w, s), self._shares))
        gradient = parts[0][1]
        for _, more in parts[1:]:
            gradient += more
        square = crf_compiled.regularised(gradient, self.observed, w, self.l2, self.movable)
        return sum(p[0] for p in parts) + self.l2 * square, gradient

    def part(self, w: Floats, sentences: Sequence[Part]) -> tuple[float, Floats]:
        """Negative log-likelihood of some sentences and the expected counts of every parameter."""
        states, transitions = self.split(w)
        top = float(transitions.max())
        e, ends, none = np.exp(transitions - top), np.ones(self.n_tags), np.empty(0, np.int64)
        free = np.zeros(self.n_tags)
        loss, expected, pairs = 0.0, np.zeros(len(w)), in_step.pair_sums(self.n_tags)
        apart = np.zeros_like(e)
        for features, starts, gold in sentences:
            rows = (features.ptr, features.ids, self.rows.row_ptr, self.rows.row_tag)
            scores, log_z = np.empty((len(gold), self.n_tags)), np.empty(len(starts) - 1)
            crf_compiled.state_scores(*rows, states, 0, len(gold), scores)
            inner = not_last(starts)
            loss -= float(
                scores[np.arange(len(gold)), gold].sum() + (transitions[gold[inner], gold[inner + 1]] - top).sum()
            )
            if in_step.are_even(starts):
                order, batches = in_step.batches(starts)
                given = (scores, none, free[:0], starts, order, e, ends, ends, none, none, 0, len(batches) - 1)
                in_step.scaled(*given, scores, log_z, np.empty((0, 0)), pairs)
                loss += float(log_z.sum())
            else:
                chain = Chain(scores, starts, transitions, free, free)
                scores, log_z, both = pair_parts(chain, none, none, lambda *_: None)
                loss += float(log_z.sum()) - len(inner) * top
                apart += both
            crf_compiled.state_expectations(*rows, scores, 0, len(gold), expected[: self.n_states])
        expected[self.n_states :] = (pairs[: self.n_tags, : self.n_tags] * e + apart).ravel()
        return loss, expected

    def chosen(self, sentences: Ints) -> Part:
        """Some sentences: features, starts and gold tags."""
        features, starts = self.features.sentences(self.starts, sentences)
        return features, starts, self.gold[picked(self.starts, sentences)[1]]

    def observed_in(self, sentences: Ints) -> Floats:
        """Observed counts of every parameter in some sentences."""
        places, starts = self._places.sentences(self.starts, sentences)
        moves = pair_counts(self.gold[picked(self.starts, sentences)[1]], starts, self.n_tags)
        return np.concatenate([np.bincount(places.ids, minlength=self.n_states), moves]).astype(np.float64)

    @cached_property
    def _places(self) -> TokenFeatures:
        """The weight of each token's gold tag for each of its features."""
        keys = self.rows.feature * self.n_tags + self.rows.row_tag
        code = self.features.ids.astype(np.int64) * self.n_tags + np.repeat(self.gold, np.diff(self.features.ptr))
        return TokenFeatures(self.features.ptr, np.searchsorted(keys, code).astype(np.int32))


class CrfTrainer:
    """Training sentences with their features numbered once; `fit` may be called with several settings."""

    def __init__(
        self,
        words: Sequence[str],
        starts: Ints,
        tags: Sequence[str],
        features: str | Sequence[str] = "advanced",
        lexicon: dict[str, str] | None = None,
    ) -> None:
        self.tags, self.gold, self.starts = numbered_tags(words, starts, tags)
        self.templates = chosen_templates(features)
        if lexicon and "lexicon" not in self.templates:
            self.templates += ("lexicon",)
        if "lexicon" in self.templates and not lexicon:
            raise InputError("the features `lexicon` need a lexicon.")
        table = FeatureTable(lexicon=lexicon)
        found = table.extract(words, self.starts, self.templates, learn=True)
        self.table, self.features = in_order_of_use(table, found)

    def objective(self, l2: float) -> CrfObjective:
        """The loss with this regulariser."""
        return CrfObjective(self.features, self.starts, self.gold, len(self.table), len(self.tags), l2)

    def fit(
        self,
        *,
        l2: float = 0.1,
        method: str = "lbfgs",
        max_iterations: int = 150,
        tolerance: float = 1e-5,
        progress: Progress | None = None,
        stop: Callable[[int, Crf], bool] | None = None,
        rng: np.random.Generator | int | None = 0,
    ) -> Crf:
        """Minimise Σ -log P(gold) + l2 |w|².

        Iterations are passes over the sentences. L-BFGS stops at a relative decrease of the loss of `tolerance` in one
        iteration, AdaGrad where the loss is proven to be within 1% of the least. `settings["converged"]` of the model
        says whether that came before `max_iterations`. `stop(iteration, model)` may end training early.
        """
        if method not in METHODS:
            raise InputError(f"`optimiser=` must be one of {', '.join(METHODS)}; got {method!r}.")
        _validate.not_negative(l2, "l2")
        objective = self.objective(l2)
        losses: list[float] = []

        def after(i: int, loss: float, w: Floats) -> bool:
            losses.append(loss)
            if progress is not None:
                progress(i, max_iterations, f"loss {loss:,.0f}")
            return stop is not None and stop(i, self._model(objective, w, {}))

        if method == "lbfgs":
            w = lbfgs(objective, None, max_iterations, tolerance, after)
            falling = len(losses) > 1 and losses[-2] - losses[-1] > tolerance * abs(losses[-2])
            settings: dict[str, Any] = {"converged": len(losses) < max_iterations or not falling}
        else:
            w = adagrad(objective, max_iterations, after, _validate.generator(rng))
            above = excess(objective, w)
            settings = {"converged": above <= NEAR, "excess": above if np.isfinite(above) else None}
        return self._model(objective, w, {"l2": l2, "method": method, "iterations": len(losses), **settings})

    def _model(self, objective: CrfObjective, w: Floats, settings: dict[str, Any]) -> Crf:
        states, transitions = objective.split(w.astype(np.float32).astype(np.float64))
        return Crf(self.tags, self.templates, self.table, objective.rows, states.copy(), transitions.copy(), settings)


def in_order_of_use(table: FeatureTable, features: TokenFeatures) -> tuple[FeatureTable, TokenFeatures]:
    """Features renumbered: frequent ones first, then as they occur, so that the weights of a token lie together."""
    n = len(table)
    first = np.full(n, len(features.ids))
    found, at = np.unique(features.ids, return_index=True)
    first[found] = at
    order = np.lexsort((first, np.bincount(features.ids, minlength=n) < FREQUENT))
    new = np.empty(n, np.int32)
    new[order] = np.arange(n)
    names = table.names
    renumbered = FeatureTable((names[i] for i in order.tolist()), table.lexicon)
    return renumbered, TokenFeatures(features.ptr, new[features.ids])


def lbfgs(
    objective: Any,
    from_weights: Floats | None,
    max_iterations: int,
    tolerance: float,
    after: After | None = None,
    threads: int | None = None,
) -> Floats:
    """The weights of least loss."""
    return minimise(
        lambda w: objective.value_and_gradient(w, threads),
        np.zeros(len(objective.observed)) if from_weights is None else from_weights,
        max_iterations=max_iterations,
        tolerance=tolerance,
        after=after,
    )


BATCH = 100  # sentences
CHECKED = 10  # passes of AdaGrad between two looks at the whole gradient


def adagrad(objective: CrfObjective, max_epochs: int, after: After | None, rng: np.random.Generator) -> Floats:
    """Mini-batch AdaGrad (Duchi et al. 2011): each weight's step shrinks with the root of its summed squared gradients.

    The regulariser's gradient is shared out among the batches. The weights themselves keep moving with the batches, so
    what is returned is their mean over the last half of the passes or more. Ends when that is near enough (`excess`).
    """
    w, sums = np.zeros(len(objective.observed)), np.full(len(objective.observed), 1e-8)
    n = objective.n_sentences
    total, steps, since = np.zeros_like(w), 0, 1
    for epoch in range(1, max_epochs + 1):
        order = rng.permutation(n)
        loss = 0.0
        if epoch == 2 * since:  # the mean starts again at passes 2, 4, 8 …
            total[:], steps, since = 0.0, 0, epoch
        for a in range(0, n, BATCH):
            sentences = np.sort(order[a : a + BATCH])
            part, gradient = objective.part(w, [objective.chosen(sentences)])
            loss += part
            gradient -= objective.observed_in(sentences)
            gradient += (2.0 * objective.l2 * len(sentences) / n) * w
            gradient *= objective.movable
            sums += gradient * gradient
            w -= gradient / np.sqrt(sums)
            total += w
            steps += 1
        if after is not None and after(epoch, loss + objective.l2 * float(w @ w), total / steps):
            break
        if epoch % CHECKED == 0 and excess(objective, total / steps) <= NEAR:
            break
    return total / steps


NEAR = 0.01  # excess at which training has converged


def excess(objective: CrfObjective, w: Floats) -> float:
    """How far the loss can be above the least one, as a share of it.

    The loss F is 2 l2-strongly convex in the weights that move, so F(w) - min F <= |∇F|²/(4 l2).
    """
    if objective.l2 == 0:
        return np.inf
    loss, gradient = objective.value_and_gradient(w)
    return float(gradient @ gradient) / (4.0 * objective.l2 * loss)
