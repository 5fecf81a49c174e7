"""Structured recalibration: one temperature for all scores of a chain, fitted on held-out text.

Every marginal, pair, span and sample of the tempered posterior stays consistent with the others, because it is again a
chain. Fitted to the likelihood of the gold sequences, or to the Brier score of one question.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from howsure._result import Record, shown_as
from howsure.errors import InputError
from howsure.posteriors.answers import Answers
from howsure.posteriors.chain import ChainPosterior

RANGE = (0.05, 20.0)


@dataclass(frozen=True, slots=True)
class FittedTemperature(Record):
    """The temperature of least loss, and the mean loss before (at 1) and after, on the text it was fitted to."""

    temperature: float
    before: float
    after: float
    aim: str
    n: int

    __repr__ = shown_as("{temperature:.4f}: {aim} {before:.5f} → {after:.5f}")


def fit_temperature(
    posterior: ChainPosterior,
    gold: NDArray[np.integer],
    *,
    question: Callable[[ChainPosterior], Answers] | None = None,
) -> FittedTemperature:
    """The temperature under which held-out `gold` tags (numbers, one per token) are likeliest.

    With `question`, such as ``lambda p: p.tag_is("NN")``, of least Brier score on its answers instead. A sentence with a
    tag that the model has not (-1) has no likelihood and is left out of it.
    """
    codes = np.asarray(gold)
    if codes.shape != (posterior.n_tokens,):
        raise InputError(f"a tag for each of {posterior.n_tokens:,} tokens is needed; got shape {codes.shape}.")
    known = np.ones(posterior.n_sentences, bool)
    known[posterior.sentence[codes < 0]] = False
    if not known.any():
        raise InputError("no sentence has only tags that the model knows; there is nothing to fit to.")

    n = posterior.n_tokens if question is not None else int(np.diff(posterior.starts)[known].sum())

    def loss(log_t: float) -> float:
        tempered = posterior.tempered(float(np.exp(log_t)))
        if question is None:
            return -float(tempered.log_probability(codes)[known].sum()) / n
        answers = question(tempered)
        return float(np.mean((answers.y_prob - answers.y_true(codes)) ** 2))

    return least_loss(loss, "log loss per token" if question is None else "Brier score", n)


def least_loss(loss: Callable[[float], float], aim: str, n: int, tolerance: float = 1e-4) -> FittedTemperature:
    """The temperature of the least `loss`, a function of its logarithm; 1 if no other is better."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(loss, bounds=tuple(np.log(RANGE)), method="bounded", options={"xatol": tolerance})
    before, after = loss(0.0), float(found.fun)
    temperature = float(np.exp(found.x)) if after < before else 1.0
    return FittedTemperature(temperature, before, min(after, before), aim, n)
