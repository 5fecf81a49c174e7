"""A penalty on miscalibration, added to the CRF's loss.

Over all (token, tag) events with q above `LEAST`: the soft calibration error (`kernels/soft_calibration.py`) times the number
of events. Its gradient flows through the marginals: for c = ∂P/∂q, ∂P/∂θ = Cov(Σ_t c_t(y_t), features), which is
the derivative in ε of the expected features when the scores are shifted by ε c; taken by a central difference.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.chains import crf_compiled
from howsure.kernels.soft_calibration import soft_calibration_error
from howsure.models.taggers.crf import state_scores
from howsure.models.taggers.objective import CrfObjective
from howsure.posteriors.chain import ChainPosterior

Floats = NDArray[np.float64]

LEAST = 1e-3
STEP = 1e-3


class PenalisedObjective:
    """A CRF's loss plus `strength` times the penalty."""

    def __init__(self, objective: CrfObjective, strength: float) -> None:
        self.inner, self.strength, self.observed = objective, strength, objective.observed
        self._tags = tuple(str(i) for i in range(objective.n_tags))

    def value_and_gradient(self, w: Floats, threads: int | None = None) -> tuple[float, Floats]:
        """Loss and gradient, both with the penalty."""
        loss, gradient = self.inner.value_and_gradient(w, threads)
        states, transitions = self.inner.split(w)
        scores = state_scores(self.inner.features, self.inner.rows, states, self.inner.n_tags)
        q = ChainPosterior(scores, transitions, starts=self.inner.starts, tags=self._tags).marginals()
        value, slope = penalty(q, self.inner.gold)
        up, down = (self._expected(scores + sign * STEP * slope, transitions) for sign in (1.0, -1.0))
        shift = (up - down) / (2.0 * STEP)
        return loss + self.strength * value, gradient + self.strength * shift * self.inner.movable

    def _expected(self, scores: Floats, transitions: Floats) -> Floats:
        chain = ChainPosterior(scores, transitions, starts=self.inner.starts, tags=self._tags)
        pairs = chain.pairs([], lambda _tokens, _q: None)
        made = np.zeros(len(self.observed))
        f, r = self.inner.features, self.inner.rows
        crf_compiled.state_expectations(
            f.ptr, f.ids, r.row_ptr, r.row_tag, chain.marginals(), 0, len(f), made[: self.inner.n_states]
        )
        made[self.inner.n_states :] = pairs.ravel()
        return made


def penalty(q: Floats, gold: NDArray[np.int64]) -> tuple[float, Floats]:
    """The penalty and its gradient in q, (tokens, T)."""
    token, tag = np.nonzero(q >= LEAST)
    x = q[token, tag]
    value, by_q = soft_calibration_error((gold[token] == tag).astype(np.float64), x)
    slope = np.zeros_like(q)
    slope[token, tag] = by_q * len(x)
    return value * len(x), slope
