"""Scores and training of a mention-ranking model, compiled; the features are those of `kernels.coreference.ranking`."""

from typing import Any

import numpy as np

from howsure.kernels.compiling import kernel, ready
from howsure.kernels.coreference.ranking import CROSS, FOLD, K1, K2, LINKED, LINKED_TO, NEW, RELATION, SALT, SPREAD

_K1, _K2, _SALT, _SPREAD, _FOLD = (np.uint64(x) for x in (K1, K2, SALT, SPREAD, FOLD))
_NEW, _LINKED, _LINKED_TO, _RELATION, _CROSS = (np.uint64(x) for x in (NEW, LINKED, LINKED_TO, RELATION, CROSS))
_MANY = 32  # kinds of mentions at most
_LEAST = 1e-4  # a difference of probabilities below this moves nothing
_F32, _F64, _U64 = "float32[::1]", "float64[::1]", "uint64"
_DOCUMENT = "uint8[::1], uint64[:,::1], uint8[:,::1], int64[:,::1]"


@kernel("int64(uint64, uint64)")
def _at(x, shift):
    x = (x ^ (x >> np.uint64(32))) * _FOLD
    return np.int64((x ^ (x >> np.uint64(29))) >> shift)


@kernel(f"void(uint8[::1], uint64[:,::1], {_F32}, {_U64}, float64[:,::1], float64[:,::1], {_F64})")
def _tables(kind, values, w, shift, linked, linked_to, new):
    """Scores that need one mention and the kind of the other."""
    n, f = values.shape
    present = np.zeros(_MANY, np.bool_)
    for i in range(n):
        present[kind[i]] = True
    for i in range(n):
        k = np.uint64(kind[i]) + np.uint64(1)
        total = base = bare = 0.0
        linked[i], linked_to[i] = 0.0, 0.0
        for c in range(f):
            v = values[i, c]
            x = v + (_NEW + np.uint64(c)) * _SALT
            total += 0.0 + w[_at(x, shift)] + w[_at(x + k * _K1, shift)]
            x = v + (_LINKED + np.uint64(c)) * _SALT
            base += 0.0 + w[_at(x, shift)] + w[_at(x + k * _K1, shift)]
            y = v + (_LINKED_TO + np.uint64(c)) * _SALT
            bare += w[_at(y, shift)]
            for t in range(_MANY):
                if present[t]:
                    u = np.uint64(t) + np.uint64(1)
                    linked[i, t] += w[_at(x + k * _K1 + u * _K2, shift)]
                    linked_to[i, t] += 0.0 + w[_at(y + u * _K1, shift)] + w[_at(y + u * _K1 + k * _K2, shift)]
        new[i] = total
        linked[i] += base
        linked_to[i] += bare


@kernel(f"float64({_U64}, {_U64}, {_U64}, {_F32}, {_U64})")
def _with_kinds(v, one, both, w, shift):
    """The weights of a feature, of the feature with one mention's kind, and with both; sums are float64, as everywhere here."""
    return 0.0 + w[_at(v, shift)] + w[_at(v + one, shift)] + w[_at(v + both, shift)]


@kernel(f"void({_DOCUMENT}, {_F32}, {_U64}, {_F64}, {_F64})")
def _scores(kind, values, codes, crossed, w, shift, pair, new):
    n = len(kind)
    linked, linked_to = np.empty((n, _MANY)), np.empty((n, _MANY))
    _tables(kind, values, w, shift, linked, linked_to, new)
    r, x = codes.shape[1], crossed.shape[0]
    which = np.zeros(_MANY, np.int64)  # numbers, from 1, of the kinds that are there
    number = 0
    for i in range(n):
        if which[kind[i]] == 0:
            number += 1
            which[kind[i]] = number
    first = np.zeros(r + 1, np.int64)  # where the codes of each relation begin
    for at in range(len(codes)):
        for c in range(r):
            first[c + 1] = max(first[c + 1], codes[at, c] + 1)
    for c in range(r):
        first[c + 1] += first[c]
    known = np.full((first[r], number * number), np.nan)  # what a code adds for two kinds, once it was asked for
    at = 0
    for i in range(n):
        ki = (np.uint64(kind[i]) + np.uint64(1)) * _K1
        for j in range(i):
            both = ki + (np.uint64(kind[j]) + np.uint64(1)) * _K2
            kinds = (which[kind[i]] - 1) * number + which[kind[j]] - 1
            total = linked[i, kind[j]] + linked_to[j, kind[i]]
            for c in range(r):
                row = first[c] + codes[at, c]
                if np.isnan(known[row, kinds]):
                    v = np.uint64(codes[at, c]) * _SPREAD + (_RELATION + np.uint64(c)) * _SALT
                    known[row, kinds] = _with_kinds(v, ki, both, w, shift)
                total += known[row, kinds]
            for c in range(x):
                v = values[i, crossed[c, 0]] * _SPREAD + values[j, crossed[c, 1]] + (_CROSS + np.uint64(c)) * _SALT
                total += _with_kinds(v, ki, both, w, shift)
            pair[at] = total
            at += 1


@kernel(f"int64({_F32}, uint8[::1], int64[::1], int64, int64, float64)")
def _add(g, stamp, touched, count, at, d):
    if stamp[at] == 0:
        stamp[at] = 1
        touched[count] = at
        count += 1
    g[at] += d
    return count


@kernel(f"int64({_F32}, uint8[::1], int64[::1], int64, uint64, uint64, uint64, float64, {_U64})")
def _add_with_kinds(g, stamp, touched, count, v, one, both, d, shift):
    """To the weights of a feature, of the feature with one mention's kind, and with both."""
    count = _add(g, stamp, touched, count, _at(v, shift), d)
    count = _add(g, stamp, touched, count, _at(v + one, shift), d)
    return _add(g, stamp, touched, count, _at(v + both, shift), d)


@kernel(f"float64({_F64}, {_F64}, int64[::1], {_F64}, {_F64}, {_F64})")
def _differences(pair, new, gold, costs, d_pair, d_new):
    """The model's less the gold-only distribution of each mention's antecedents, scores raised by costs; returns
    -Σ_i log P(a_i among the gold antecedents), whose derivative by the scores that is."""
    loss = 0.0
    for i in range(len(new)):
        first = i * (i - 1) // 2
        has = False
        for j in range(i):
            if gold[j] == gold[i]:
                has = True
        top = new[i] + (costs[0] if has else 0.0)
        d_new[i] = top
        for j in range(i):
            x = pair[first + j]
            if gold[j] != gold[i]:
                x += costs[1] if has else costs[2]
            d_pair[first + j] = x
            top = max(top, x)
        total = np.exp(d_new[i] - top)
        good = 0.0 if has else total
        for j in range(i):
            p = np.exp(d_pair[first + j] - top)
            total += p
            if has and gold[j] == gold[i]:
                good += p
        good = max(good, 1e-300)
        loss += np.log(total) - np.log(good)
        d_new[i] = np.exp(d_new[i] - top) / total - (0.0 if has else 1.0)
        for j in range(i):
            p = np.exp(d_pair[first + j] - top)
            d_pair[first + j] = p / total - (p / good if has and gold[j] == gold[i] else 0.0)
    return loss


@kernel(f"void({_DOCUMENT}, {_F64}, {_F64}, {_F32}, {_F32}, {_F32}, uint8[::1], int64[::1], float64, float64, {_U64})")
def _step(kind, values, codes, crossed, d_pair, d_new, w, squares, g, stamp, touched, rate, decay, shift):
    """One AdaGrad step, given the loss's derivatives by the scores."""
    n, f = values.shape
    r, x = codes.shape[1], crossed.shape[0]
    d_linked, d_linked_to = np.zeros((n, _MANY)), np.zeros((n, _MANY))
    count = 0
    for i in range(n):
        first = i * (i - 1) // 2
        d = d_new[i]
        ki = (np.uint64(kind[i]) + np.uint64(1)) * _K1
        if abs(d) > _LEAST:
            for c in range(f):
                v = values[i, c] + (_NEW + np.uint64(c)) * _SALT
                count = _add(g, stamp, touched, count, _at(v, shift), d)
                count = _add(g, stamp, touched, count, _at(v + ki, shift), d)
        for j in range(i):
            d = d_pair[first + j]
            if abs(d) <= _LEAST:
                continue
            d_linked[i, kind[j]] += d
            d_linked_to[j, kind[i]] += d
            both = ki + (np.uint64(kind[j]) + np.uint64(1)) * _K2
            for c in range(r):
                v = np.uint64(codes[first + j, c]) * _SPREAD + (_RELATION + np.uint64(c)) * _SALT
                count = _add_with_kinds(g, stamp, touched, count, v, ki, both, d, shift)
            for c in range(x):
                v = values[i, crossed[c, 0]] * _SPREAD + values[j, crossed[c, 1]] + (_CROSS + np.uint64(c)) * _SALT
                count = _add_with_kinds(g, stamp, touched, count, v, ki, both, d, shift)
    for i in range(n):
        k = np.uint64(kind[i]) + np.uint64(1)
        for t in range(_MANY):
            u = np.uint64(t) + np.uint64(1)
            for d, salt, own, other in ((d_linked[i, t], _LINKED, k, u), (d_linked_to[i, t], _LINKED_TO, u, k)):
                for c in range(f if d != 0.0 else 0):
                    v, one = values[i, c] + (salt + np.uint64(c)) * _SALT, own * _K1
                    count = _add_with_kinds(g, stamp, touched, count, v, one, one + other * _K2, d, shift)
    for c in range(count):
        at = touched[c]
        d = g[at] + decay * w[at]
        squares[at] += d * d
        w[at] -= rate * d / np.sqrt(squares[at] + 1e-8)
        g[at] = 0.0
        stamp[at] = 0


def scores(kind: Any, values: Any, codes: Any, crossed: Any, w: Any, shift: int) -> Any:
    """As `kernels.coreference.ranking.scores`."""
    ready(_at, _tables, _with_kinds, _scores, _add)
    n = len(kind)
    pair, new = np.empty(n * (n - 1) // 2), np.empty(n)
    _scores(kind, values, codes, crossed, w, np.uint64(shift), pair, new)
    return pair, new


def differences(pair: Any, new: Any, gold: Any, costs: Any) -> Any:
    """Derivatives of -Σ_i log P(a_i among the gold antecedents) by the scores, of pairs and of NEW; and that sum."""
    ready(_differences)
    d_pair, d_new = np.empty_like(pair), np.empty_like(new)
    return d_pair, d_new, _differences(pair, new, gold, costs, d_pair, d_new)


class Trainer:
    """Weights and AdaGrad's sums of squares; a call of `step` learns from one document."""

    def __init__(self, bits: int) -> None:
        ready(__name__)
        self.shift = np.uint64(64 - bits)
        size = 1 << bits
        self.w, self.squares, self.g = (np.zeros(size, np.float32) for _ in range(3))
        self.stamp, self.touched = np.zeros(size, np.uint8), np.empty(size, np.int64)

    def step(
        self, kind: Any, values: Any, codes: Any, crossed: Any, d_pair: Any, d_new: Any, rate: float, decay: float
    ) -> None:
        """Learn from a document, given the loss's derivatives by its scores."""
        state = (self.w, self.squares, self.g, self.stamp, self.touched)
        _step(kind, values, codes, crossed, d_pair, d_new, *state, rate, decay, self.shift)
