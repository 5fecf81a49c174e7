"""Runs, pairs and entropy of a chain, from its forward messages: read backwards the posterior is a Markov chain.

P(y_t = i | y_{t+1} = k) = α_t[i] exp(transitions[i, k] + scores[t+1, k]) / (c_{t+1} α_{t+1}[k]), so any run of tags has
probability P(y_e) Π P(y_t | y_{t+1}): no sum is taken, and nothing can cancel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from howsure.posteriors.chain_passes import Chain, Messages

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def backward_step(chain: Chain, m: Messages, token: Ints, tag: Ints | np.int64, following: Ints | np.int64) -> Floats:
    """P(y_t = tag | y_{t+1} = following) for tokens t that are not last; 0 where `following` is impossible."""
    ahead = m.log_alpha[token + 1, following]
    possible = np.isfinite(ahead)
    log_p = (
        m.log_alpha[token, tag]
        + chain.transitions[tag, following]
        + chain.scores[token + 1, following]
        - m.log_c[token + 1]
        - np.where(possible, ahead, 0.0)
    )
    made: Floats = np.where(possible, np.exp(np.minimum(log_p, 0.0)), 0.0)
    return made


def run_probability(chain: Chain, m: Messages, first: Ints, run: Ints) -> Floats:
    """P(y_t … = run) at each token t of `first`."""
    length = len(run)
    q = m.marginals[first + length - 1, run[-1]]
    for d in range(length - 2, -1, -1):
        q = q * backward_step(chain, m, first + d, run[d], run[d + 1])
    return q


def pairs_between(chain: Chain, m: Messages, tokens: Ints) -> Floats:
    """P(y_t = i, y_{t+1} = j), (len(tokens), T, T), for tokens t that are not last."""
    every = np.arange(chain.scores.shape[1])
    step = backward_step(chain, m, tokens[:, None, None], every[None, :, None], every[None, None, :])
    made: Floats = step * m.marginals[tokens + 1][:, None, :]
    return made


def entropy(chain: Chain, m: Messages) -> Floats:
    """Σ_t H(y_t | y_{t+1}) + H(y_L), each sentence, in nats."""
    n_tags = chain.scores.shape[1]
    ends = chain.starts[1:] - 1
    per_token = np.zeros(len(chain.scores))
    per_token[ends] = -_x_log_x(m.marginals[ends]).sum(axis=1)
    inner = np.ones(len(chain.scores), bool)
    inner[ends] = False
    tokens, every = np.flatnonzero(inner), np.arange(n_tags)
    part = max(1, 2_000_000 // n_tags**2)
    for a in range(0, len(tokens), part):
        t = tokens[a : a + part]
        step = backward_step(chain, m, t[:, None, None], every[None, :, None], every[None, None, :])
        per_token[t] = -(_x_log_x(step).sum(axis=1) * m.marginals[t + 1]).sum(axis=1)
    return np.maximum(np.add.reduceat(per_token, chain.starts[:-1]), 0.0) if len(ends) else np.zeros(0)


def _x_log_x(x: Floats) -> Floats:
    return x * np.log(np.where(x > 0, x, 1.0))


def log_weight(chain: Chain, codes: NDArray[np.integer]) -> Floats:
    """Log weight of one tag sequence for each sentence; -inf where it has a tag below 0."""
    at = np.maximum(codes.astype(np.int64), 0)
    per_token = chain.scores[np.arange(len(at)), at]
    step = np.zeros(len(at))
    if len(at) > 1:
        step[1:] = chain.transitions[at[:-1], at[1:]]
    first, last = chain.starts[:-1], chain.starts[1:] - 1
    step[first] = chain.initial[at[first]]
    per_token = per_token + step
    per_token[last] += chain.final[at[last]]
    per_token[codes < 0] = -np.inf
    made: Floats = np.add.reduceat(per_token, first) if len(first) else np.zeros(0)
    return made
