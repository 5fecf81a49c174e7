"""Linear chains in log space, many at once: scores padded to (B, L, T). For small inputs, and the oracle of the compiled.

A chain's weight is exp(initial[y₁] + Σ scores[t, y_t] + Σ transitions[y_{t-1}, y_t] + final[y_L]). The forward message
log α_t is kept normalised, Σ_j α_t[j] = 1, with log c_t what was divided out: log Z = Σ log c_t + log Σ_j α_L[j] F[j].
"""

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import Floats, Ints

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def padded(flat: Floats, starts: Ints) -> tuple[Floats, Ints]:
    """Rows of a ragged batch as (B, L, …), zeros behind each chain; and the chains' lengths."""
    lengths = np.diff(starts)
    made = np.zeros((len(lengths), int(lengths.max(initial=0)), *flat.shape[1:]), flat.dtype)
    made[inside(lengths)] = flat
    return made, lengths


def inside(lengths: Ints) -> NDArray[np.bool_]:
    """(B, L): which positions of a padded batch are tokens."""
    return np.arange(int(lengths.max(initial=0)))[None, :] < lengths[:, None]


def not_last(starts: Ints) -> Ints:
    """The tokens that are not the last of their chain."""
    inner = np.ones(starts[-1], bool)
    inner[starts[1:] - 1] = False
    return np.flatnonzero(inner)


def log_sum(x: Floats, axis: int) -> Floats:
    """log Σ exp along an axis; -inf where all are."""
    top = x.max(axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        summed: Floats = np.log(np.exp(x - top).sum(axis=axis)) + np.squeeze(top, axis)
    return summed


def forward(scores: Floats, transitions: Floats, initial: Floats) -> tuple[Floats, Floats]:
    """log α, normalised, and log c. Positions behind a chain's end hold numbers without meaning."""
    log_alpha, log_c = np.empty_like(scores), np.empty(scores.shape[:2])
    before = np.broadcast_to(initial, scores[:, 0].shape)
    for t in range(scores.shape[1]):
        value = before + scores[:, t]
        total = log_sum(value, 1)
        log_c[:, t] = total
        log_alpha[:, t] = value - np.where(np.isfinite(total), total, 0.0)[:, None]
        before = log_sum(log_alpha[:, t, :, None] + transitions[None], 1)
    return log_alpha, log_c


def log_partition(log_alpha: Floats, log_c: Floats, lengths: Ints, final: Floats) -> Floats:
    """log Z of each chain."""
    last = log_alpha[np.arange(len(lengths)), lengths - 1]
    total: Floats = np.where(inside(lengths), log_c, 0.0).sum(axis=1) + log_sum(last + final, 1)
    return total


def marginals(scores: Floats, log_alpha: Floats, lengths: Ints, transitions: Floats, final: Floats) -> Floats:
    """P(y_t = j), (B, L, T); rows behind a chain's end have no meaning."""
    made = np.empty_like(scores)
    log_beta = np.broadcast_to(final, scores[:, 0].shape)
    for t in range(scores.shape[1] - 1, -1, -1):
        if t + 1 < scores.shape[1]:
            step = log_sum(transitions[None] + (scores[:, t + 1] + log_beta)[:, None, :], 2)
            top = step.max(axis=1, keepdims=True)
            step = step - np.where(np.isfinite(top), top, 0.0)
            log_beta = np.where((lengths == t + 1)[:, None], final, step)
        both = log_alpha[:, t] + log_beta
        total = log_sum(both, 1)
        made[:, t] = np.exp(both - np.where(np.isfinite(total), total, 0.0)[:, None])
    return made


def k_best(
    scores: Floats, lengths: Ints, transitions: Floats, initial: Floats, final: Floats, k: int
) -> tuple[Ints, Floats]:
    """The k heaviest sequences of each chain, (B, k, L), and their log weights, -inf where there are fewer than k.

    Ties go to the sequence whose last tag, then the one before, … comes first.
    """
    batch, length, n_tags = scores.shape
    value = np.full((batch, n_tags, k), -np.inf)
    value[:, :, 0] = initial + scores[:, 0]
    pointers = np.zeros((length, batch, n_tags, k), np.int64)
    ends = [value]
    for t in range(1, length):
        candidates = (value[:, :, None, :] + transitions[None, :, :, None]).transpose(0, 2, 1, 3)
        flat = candidates.reshape(batch, n_tags, n_tags * k)
        order = np.argsort(-flat, axis=2, kind="stable")[:, :, :k]
        pointers[t] = order
        value = np.take_along_axis(flat, order, 2) + scores[:, t, :, None]
        ends.append(value)
    made = np.zeros((batch, k, length), np.int64)
    weights = np.empty((batch, k))
    for b in range(batch):
        last = int(lengths[b]) - 1
        flat = (ends[last][b] + final[:, None]).ravel()
        state = np.argsort(-flat, kind="stable")[:k]
        weights[b, : len(state)] = flat[state]
        weights[b, len(state) :] = -np.inf
        for t in range(last, -1, -1):
            made[b, : len(state), t] = state // k
            state = pointers[t, b, state // k, state % k]
    return made, weights


def uniforms(seed: int, chains: Ints, samples: int, lengths: Ints) -> Floats:
    """(B, samples, L) numbers in [0, 1): a stream of its own for each chain, by its number (SplitMix64)."""
    with np.errstate(over="ignore"):
        key = mixed(np.uint64(seed & MASK) ^ mixed(chains.astype(np.uint64) + np.uint64(GOLDEN)))
        length = int(lengths.max(initial=0))
        count = np.arange(samples, dtype=np.uint64)[None, :, None] * lengths.astype(np.uint64)[:, None, None]
        count = count + np.arange(1, length + 1, dtype=np.uint64)[None, None, :]
        bits = mixed(key[:, None, None] + np.uint64(GOLDEN) * count)
    made: Floats = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return made


def mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def samples(log_alpha: Floats, lengths: Ints, transitions: Floats, final: Floats, u: Floats) -> NDArray[np.int16]:
    """Exact posterior samples, (B, n, L), by sampling backwards from the filtered forward messages."""
    batch, n, length = u.shape
    made = np.zeros((batch, n, length), np.int16)
    following = np.zeros((batch, n), np.int64)
    for t in range(length - 1, -1, -1):
        is_last = (lengths == t + 1)[:, None, None]
        ahead = np.where(is_last, final, transitions.T[following])
        log_weight = log_alpha[:, t][:, None, :] + ahead
        top = log_weight.max(axis=2, keepdims=True)
        total = np.cumsum(np.exp(log_weight - np.where(np.isfinite(top), top, 0.0)), axis=2)
        picked = (total <= u[:, :, t, None] * total[:, :, -1:]).sum(axis=2)
        following = np.minimum(picked, log_alpha.shape[2] - 1)
        made[:, :, t] = following
    return made
