"""Agreement of a few samples as a probability: shrunk, because a share of k is noisier than what it estimates.

m of K other samples give the same answer. Over answers, the share p of all samples that would is drawn from some law, and m is
binomial given p; the estimate is the mean of p given m (empirical Bayes). The law is fitted to how often each m occurs: first a Beta
by its moments (Σm/ΣK, and Σm(m-1)/ΣK(K-1) for E p²), then, on a grid, by `STEPS` steps of EM from there, which leave a Beta as
it is where it fits and find other shapes where it does not.
"""

from dataclasses import dataclass

import numpy as np

from howsure.kernels.cells import Floats, Ints

GRID = (np.arange(400) + 0.5) / 400
STEPS = 300


@dataclass(frozen=True, slots=True)
class Shrinkage:
    """The mean of m/K, and the law of p on `GRID`; None where it is not known, and nothing is shrunk."""

    mean: float
    law: Floats | None

    def __call__(self, same: Ints, others: Ints) -> Floats:
        """The estimate of p from m of K."""
        if self.law is None:
            return np.asarray(same / others, np.float64)
        weight = _likelihood(np.atleast_1d(same), np.atleast_1d(others)) * self.law
        return (weight @ GRID) / weight.sum(axis=1)


def _likelihood(same: Ints, others: Ints) -> Floats:
    m, k = np.asarray(same)[:, None], np.asarray(others)[:, None]
    log = m * np.log(GRID) + (k - m) * np.log1p(-GRID)
    return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))


def shrinkage(same: Ints, others: Ints, count: Ints) -> Shrinkage:
    """From how often m of K other samples agree. Two samples an item (K = 1) do not tell how p varies.

    Examples
    --------
    >>> import numpy as np
    >>> made = shrinkage(np.array([0, 2, 4]), np.array([4, 4, 4]), np.array([1, 1, 2]))
    >>> round(made.mean, 3), np.round(made(np.array([0, 4]), np.array([4, 4])), 2).tolist()
    (0.625, [0.04, 0.98])
    """
    mean = float(count @ same / (count @ others))
    pairs = float(count @ (others * (others - 1)))
    if not pairs:
        return Shrinkage(mean, None)
    square = float(count @ (same * (same - 1))) / pairs
    strength = float(np.clip((mean - square) / max(square - mean**2, 1e-9), 0.05, 1e3))
    a, b = (max(x * strength, 1e-3) for x in (mean, 1.0 - mean))
    log = (a - 1.0) * np.log(GRID) + (b - 1.0) * np.log1p(-GRID)
    law = np.exp(log - log.max())
    law /= law.sum()
    seen = _likelihood(same, others)
    for _ in range(STEPS):
        law = law * ((count / (seen @ law)) @ seen) / count.sum()
    return Shrinkage(mean, law)
