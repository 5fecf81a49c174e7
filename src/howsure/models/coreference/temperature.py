"""The temperature of a coreference model, fitted on held-out documents: for the log-likelihood or for the pairs' Brier score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.posteriors.antecedents import AntecedentPosterior

OBJECTIVES = ("likelihood", "brier")
RANGE = (0.1, 20.0)


def fit_temperature(
    posteriors: Sequence[AntecedentPosterior], gold: Sequence[NDArray[np.int64]], objective: str = "likelihood"
) -> float:
    """The t of `tempered(t)` that is best on documents whose clusterings are known.

    "likelihood" maximises Σ log P(gold clustering); "brier" minimises the mean over all pairs of mentions of
    (P(same entity) - 1{same entity})², pairs exact.
    """
    from scipy.optimize import minimize_scalar

    if objective not in OBJECTIVES:
        raise InputError(f"a temperature is fitted for likelihood or brier; got {objective!r}.")
    loss = _minus_log_likelihood if objective == "likelihood" else pair_brier
    low, high = np.log(RANGE)
    found = minimize_scalar(
        lambda x: loss([p.tempered(float(np.exp(x))) for p in posteriors], gold),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(np.exp(found.x))


def _minus_log_likelihood(posteriors: Sequence[AntecedentPosterior], gold: Sequence[NDArray[np.int64]]) -> float:
    # A clustering whose probability underflows counts as the smallest number there is.
    return -sum(max(p.log_probability(e), -1e6) for p, e in zip(posteriors, gold, strict=True))


def pair_brier(posteriors: Sequence[AntecedentPosterior], gold: Sequence[NDArray[np.int64]]) -> float:
    """The Brier score of "are these two the same entity?" over all pairs of all documents."""
    total, n = 0.0, 0
    for p, e in zip(posteriors, gold, strict=True):
        off = p.pairs() - (e[:, None] == e[None, :])
        total += float((off**2).sum()) / 2.0  # the diagonal is exact
        n += len(e) * (len(e) - 1) // 2
    return total / max(n, 1)
