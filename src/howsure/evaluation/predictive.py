"""Posterior predictive checks: are the gold labels like what the model's posterior generates?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure._result import Record, shown_as
from howsure.errors import InputError
from howsure.kernels.cells import Ints

MOST = 5  # categories that are named
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Category(Record):
    """How often a category is seen, and how often samples have it: the mean, and the middle 95%."""

    name: str
    seen: int
    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PredictiveStatistic(Record):
    """Distance of the counts seen from those of samples, beside the distances of samples from each other.

    `typical` is the median distance of a sample and `high` its 95% quantile. `categories` are those furthest off.
    """

    statistic: str
    distance: float
    typical: float
    high: float
    p_value: float
    n_samples: int
    categories: tuple[Category, ...]

    __repr__ = shown_as("{statistic}: {distance:.4f} where {typical:.4f} is typical, p {p_value:.3g}")


def predictive_statistic(name: str, categories: Sequence[Any], seen: Any, sampled: Any) -> PredictiveStatistic:
    """Compare the counts of categories that are seen with those of samples from the posterior.

    The distance of one set of counts c is Σ_k |c_k - m_k| / (2 Σ_k m_k), with m the mean of all sets, that seen among them: where
    totals are alike, the total variation distance. If the labels seen are a draw from the posterior, they and the samples are
    exchangeable, so that p = (1 + number of samples as far away) / (1 + n) is at most α with probability α at most, exactly.

    Parameters
    ----------
    categories : sequence
        What is counted: tags, lengths, periods, documents.
    seen, sampled : counts, shapes (K,) and (n, K)
        Of the labels seen, and of n samples of all labels from the posterior.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> made = predictive_statistic("coin", ("heads", "tails"), [90, 10], rng.multinomial(100, [0.5, 0.5], 99))
    >>> made.p_value, made.categories[0].name
    (0.01, 'heads')
    """
    counts = np.vstack([np.asarray(seen, np.float64)[None], np.asarray(sampled, np.float64)])
    if len(counts) < 2 or counts.shape[1] != len(categories) or not len(categories):
        raise InputError(f"{name}: counts of {len(categories)} categories are needed, and one sample at least.")
    mean = counts.mean(axis=0)
    distance = np.abs(counts - mean).sum(axis=1) / max(2.0 * mean.sum(), _ROUNDING)
    n = len(counts) - 1
    p = (1 + int((distance[1:] >= distance[0] - _ROUNDING).sum())) / (1 + n)
    low, high = np.quantile(counts[1:], (0.025, 0.975), axis=0)
    expected = counts[1:].mean(axis=0)
    order = np.argsort(-np.abs(counts[0] - expected), kind="stable")[:MOST].tolist()
    of = np.stack([expected, low, high], axis=1).tolist()
    named = [Category(str(categories[k]), int(counts[0, k]), *of[k]) for k in order]
    typical, far = np.quantile(distance[1:], (0.5, 0.95))
    return PredictiveStatistic(name, float(distance[0]), float(typical), float(far), p, n, tuple(named))


class Tally:
    """Counts of whole numbers by statistic: of gold (the first row) and of each of n samples, added part by part."""

    def __init__(self, n_samples: int) -> None:
        self.n = n_samples
        self.names: dict[str, Sequence[str]] = {}
        self.counts: dict[str, Ints] = {}

    def add(self, statistic: str, rows: Any, names: Sequence[str] = (), most: int = 20) -> None:
        """Count the numbers of gold and of each sample: codes of `names` (-1: unknown), or values, `most` and above as one."""
        self.names[statistic] = ("(unknown)", *names) if names else [*map(str, range(most)), f"{most} or more"]
        size = len(self.names[statistic])
        made = [np.minimum(np.asarray(r, np.int64).reshape(-1) + bool(names), size - 1) for r in rows]
        counts = np.array([np.bincount(r, minlength=size) for r in made])
        self.counts[statistic] = self.counts.get(statistic, 0) + counts

    def statistics(self) -> tuple[PredictiveStatistic, ...]:
        """Each statistic's check; categories that nothing falls in are left out."""
        made = []
        for name, counts in self.counts.items():
            kept = np.flatnonzero(counts.any(axis=0)) if counts.any() else np.zeros(1, np.int64)
            names = [self.names[name][k] for k in kept.tolist()]
            made.append(predictive_statistic(name, names, counts[0, kept], counts[1:, kept]))
        return tuple(made)
