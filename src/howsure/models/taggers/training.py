"""Training a CRF: L-BFGS on the whole likelihood, or AdaGrad on batches of 100 sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.models.lbfgs import minimise
from howsure.models.taggers.crf import Crf
from howsure.models.taggers.features import FeatureTable, TokenFeatures, chosen_templates
from howsure.models.taggers.objective import CrfObjective
from howsure.processes import Progress

After = Callable[[int, float, Floats], bool]  # of each iteration: number, loss and weights; whether to end there

METHODS = ("lbfgs", "adagrad")
FREQUENT = 20


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
        if not len(words):
            raise InputError("there is no training data.")
        if len(words) != len(tags):
            raise InputError(f"each of {len(words):,} words needs its tag; there are {len(tags):,}.")
        self.templates = chosen_templates(features)
        if lexicon and "lexicon" not in self.templates:
            self.templates += ("lexicon",)
        if "lexicon" in self.templates and not lexicon:
            raise InputError("the features `lexicon` need a lexicon.")
        self.tags = tuple(dict.fromkeys(tags))
        place = {t: i for i, t in enumerate(self.tags)}
        table = FeatureTable(lexicon=lexicon)
        found = table.extract(words, np.asarray(starts, np.int64), self.templates, learn=True)
        self.table, self.features = in_order_of_use(table, found)
        self.starts = np.asarray(starts, np.int64)
        self.gold = np.array([place[t] for t in tags], np.int64)

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
        from_weights: Floats | None = None,
        progress: Progress | None = None,
        stop: Callable[[int, Crf], bool] | None = None,
        threads: int | None = None,
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
            w = lbfgs(objective, from_weights, max_iterations, tolerance, after, threads)
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
    return FeatureTable((names[i] for i in order.tolist()), table.lexicon), TokenFeatures(
        features.ptr, new[features.ids]
    )


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


CHECKED = 10  # passes of AdaGrad between two looks at the whole gradient


def adagrad(
    objective: CrfObjective,
    max_epochs: int,
    after: After | None,
    rng: np.random.Generator,
    *,
    batch: int = 100,
    rate: float = 1.0,
) -> Floats:
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
        for a in range(0, n, batch):
            sentences = np.sort(order[a : a + batch])
            part, gradient = objective.part(w, sentences)
            loss += part
            gradient -= objective.observed_in(sentences)
            gradient += (2.0 * objective.l2 * len(sentences) / n) * w
            gradient *= objective.movable
            sums += gradient * gradient
            w -= rate * gradient / np.sqrt(sums)
            total += w
            steps += 1
        if after is not None and after(epoch, loss + objective.l2 * float(w @ w), total / steps):
            break
        if epoch % CHECKED == 0 and excess(objective, total / steps) <= NEAR:
            break
    mean: Floats = total / steps
    return mean


NEAR = 0.01  # excess at which training has converged


def excess(objective: CrfObjective, w: Floats) -> float:
    """How far the loss can be above the least one, as a share of it.

    The loss F is 2 l2-strongly convex in the weights that move, so F(w) - min F <= |∇F|²/(4 l2).
    """
    if objective.l2 == 0:
        return np.inf
    loss, gradient = objective.value_and_gradient(w)
    return float(gradient @ gradient) / (4.0 * objective.l2 * loss)
