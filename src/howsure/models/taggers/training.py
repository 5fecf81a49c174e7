"""Training a CRF: L-BFGS on the whole likelihood, or AdaGrad on batches of 100 sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.errors import InputError
from howsure.models.lbfgs import minimise
from howsure.models.taggers.crf import Crf
from howsure.models.taggers.features import FeatureTable, TokenFeatures, chosen_templates
from howsure.models.taggers.objective import CrfObjective, PenalisedObjective
from howsure.processes import Progress

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Stop = Callable[[int, Floats], bool]

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
        calibration_penalty: float = 0.0,
        from_weights: Floats | None = None,
        progress: Progress | None = None,
        stop: Callable[[int, Crf], bool] | None = None,
        threads: int | None = None,
        rng: np.random.Generator | int | None = 0,
    ) -> Crf:
        """Minimise Σ -log P(gold) + l2 |w|² (and the calibration penalty, L-BFGS only).

        Iterations are passes over the sentences. `tolerance` is the relative decrease of the loss in one iteration at
        which to stop. `stop(iteration, model)` may end training early.
        """
        if method not in METHODS:
            raise InputError(f"`method` must be one of {', '.join(METHODS)}; got {method!r}.")
        if method == "adagrad" and calibration_penalty:
            raise InputError("the calibration penalty needs method lbfgs.")
        _validate.not_negative(l2, "l2")
        objective = self.objective(l2)
        judge: Stop | None = None
        if stop is not None:
            judge = lambda i, w: stop(i, self._model(objective, w, {}))  # noqa: E731
        if method == "lbfgs":
            aim = objective
            if _validate.not_negative(calibration_penalty, "calibration_penalty"):
                aim = PenalisedObjective(objective, calibration_penalty)  # type: ignore[assignment]
            w = lbfgs(aim, from_weights, max_iterations, tolerance, progress, judge, threads)
        else:
            w = adagrad(objective, max_iterations, tolerance, progress, judge, _validate.generator(rng))
        settings = {"l2": l2, "method": method, "calibration_penalty": calibration_penalty}
        return self._model(objective, w, settings)

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
    progress: Progress | None,
    stop: Stop | None,
    threads: int | None = None,
) -> Floats:
    """The weights of least loss."""

    def after(i: int, loss: float, w: Floats) -> bool:
        if progress is not None:
            progress(i, max_iterations, f"loss {loss:,.0f}")
        return stop is not None and stop(i, w)

    return minimise(
        lambda w: objective.value_and_gradient(w, threads),
        np.zeros(len(objective.observed)) if from_weights is None else from_weights,
        max_iterations=max_iterations,
        tolerance=tolerance,
        after=after,
    )


def adagrad(
    objective: CrfObjective,
    max_epochs: int,
    tolerance: float,
    progress: Progress | None,
    stop: Stop | None,
    rng: np.random.Generator,
    *,
    batch: int = 100,
    rate: float = 0.2,
) -> Floats:
    """Mini-batch AdaGrad (Duchi et al. 2011): each weight's step shrinks with the root of its summed squared gradients.

    The regulariser's gradient is shared out among the batches.
    """
    w, sums = np.zeros(len(objective.observed)), np.full(len(objective.observed), 1e-8)
    n = objective.n_sentences
    lowest, since = np.inf, 0  # the loss is summed while the weights move, so one rise says little
    for epoch in range(1, max_epochs + 1):
        order = rng.permutation(n)
        loss = 0.0
        for a in range(0, n, batch):
            sentences = np.sort(order[a : a + batch])
            part, gradient = objective.part(w, sentences)
            loss += part
            gradient -= objective.observed_in(sentences)
            gradient += (2.0 * objective.l2 * len(sentences) / n) * w
            gradient *= objective.movable
            sums += gradient * gradient
            w -= rate * gradient / np.sqrt(sums)
        loss += objective.l2 * float(w @ w)
        if progress is not None:
            progress(epoch, max_epochs, f"loss {loss:,.0f}")
        since = 0 if loss < lowest * (1.0 - tolerance) else since + 1
        lowest = min(lowest, loss)
        if (stop is not None and stop(epoch, w)) or since == 3:
            break
    return w
