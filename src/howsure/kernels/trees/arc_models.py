"""Features of an arc between two words, hashed; scores of all arcs, and training by the exact likelihood, compiled.

A word has four hashes: its form (0), its fine tag (1), its coarse tag (2) and the nearest function word before it (3). Row 0
of a sentence is the root. A feature counts by itself and with the arc's direction and length.
"""

import math

import numpy as np

from howsure.kernels.compiling import kernel, piece
from howsure.kernels.trees.projective import summed
from howsure.kernels.trees.spanning import counted

_SALT, _K1, _K2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_HALF, _LESS = np.uint64(32), np.uint64(29)
_NONE = np.uint64(0x5851F42D4C957F2D)  # beyond a sentence's end
ARC, LABEL = 104, 40  # features of an arc at most, of an arc's label
LEAST = 1e-4  # a difference of probabilities below this moves nothing


@piece
def _both(a, b):
    """A hash of two hashes."""
    x = (a + _SALT) * _K1 ^ b
    return (x ^ (x >> _HALF)) * _K2


@piece
def _put(found, k, template, x, far, shift):
    """Append the feature by itself and with direction and length."""
    z = (x ^ (x >> _LESS)) * _K1 + template * _SALT
    z = (z ^ (z >> _HALF)) * _K2
    found[k] = np.int64(z >> shift)
    z = (z ^ far) * _K1
    found[k + 1] = np.int64((z ^ (z >> _LESS)) * _K2 >> shift)
    return k + 2


@piece
def _distance(h, m):
    """A hash of direction and length."""
    d = abs(h - m)
    bucket = d if d <= 5 else 6 if d <= 7 else 7 if d <= 10 else 8 if d <= 15 else 9 if d <= 25 else 10
    return np.uint64(bucket * 2 + (1 if h < m else 0) + (40 if h == 0 else 0) + 7) * _SALT


@piece
def _near(t, i, c):
    """Hash `c` of row i; beyond the sentence a hash of its own."""
    return t[i, c] if 0 < i < t.shape[0] else _NONE


@piece
def arc_features(t, coarse, h, m, shift, found):
    """Write the features of the arc h → m (rows of `t`); returns their number. `coarse` numbers the coarse tags, below 62."""
    far = _distance(h, m)
    hw, hx, hp = t[h, 0], t[h, 1], t[h, 2]
    mw, mx, mp, mc = t[m, 0], t[m, 1], t[m, 2], t[m, 3]
    hwx, mwx, x2, p2 = _both(hw, hx), _both(mw, mx), _both(hx, mx), _both(hp, mp)
    k = 0
    template = np.uint64(1)
    for x in (
        hw, hx, hp, hwx, mw, mx, mp, mwx, _both(hwx, mwx), _both(hx, mwx), _both(hw, mwx), _both(hwx, mx), _both(hwx, mw),
        _both(hw, mw), x2, p2, _both(hw, mp), _both(hp, mw), _both(hw, mx), _both(hx, mw), _both(x2, mc), _both(hw, mc),
        _both(_both(hw, mc), mp), _both(_both(p2, mc), mw), _both(p2, t[h, 3]),
    ):  # fmt: skip
        k = _put(found, k, template, x, far, shift)
        template += np.uint64(1)
    for c in (1, 2):
        two = x2 if c == 1 else p2
        ha, hb, ma, mb = _near(t, h - 1, c), _near(t, h + 1, c), _near(t, m - 1, c), _near(t, m + 1, c)
        for x in (
            _both(two, hb), _both(_both(two, ha), _SALT), _both(_both(two, ma), _K1), _both(_both(two, mb), _K2),
            _both(_both(two, hb), ma), _both(_both(two, ha), _both(ma, _K1)), _both(_both(two, hb), _both(mb, _K2)),
            _both(_both(two, ha), _both(mb, _SALT)),
        ):  # fmt: skip
            k = _put(found, k, template, x, far, shift)
            template += np.uint64(1)
    for x in (_both(p2, _near(t, m - 1, 0)), _both(p2, _near(t, m + 1, 0)), _both(p2, _near(t, h + 1, 0))):
        k = _put(found, k, template, x, far, shift)
        template += np.uint64(1)
    seen, number = 0, 0
    for b in range(min(h, m) + 1, max(h, m)):
        if not (seen >> coarse[b]) & 1:
            seen |= 1 << coarse[b]
            number += 1
            if number <= 7:
                k = _put(found, k, template, _both(p2, t[b, 2]), far, shift)
    return k


@piece
def label_features(t, h, m, shift, found):
    """The features of the label of the arc h → m; returns their number."""
    far = _distance(h, m)
    side = np.uint64(1 if h == 0 else 2 if h < m else 3)
    hw, hx, hp = t[h, 0], t[h, 1], t[h, 2]
    mw, mx, mp, mc = t[m, 0], t[m, 1], t[m, 2], t[m, 3]
    x2, p2 = _both(hx, mx), _both(hp, mp)
    k = 0
    template = np.uint64(101)
    for x in (
        mw, mx, hw, x2, _both(hw, mx), _both(hx, mw), _both(p2, mc), _both(hw, mw), _both(hw, mp), _both(hp, mw),
        _both(_both(mx, hp), _near(t, m - 1, 2)), _both(_both(mx, hp), _near(t, m + 1, 2)), _both(mp, mc),
        _both(_both(p2, _near(t, m - 1, 0)), _SALT), _both(_both(p2, _near(t, m + 1, 0)), _K1), _both(p2, far),
        _both(_both(hw, mc), mp), _both(_both(p2, _near(t, h + 1, 2)), _K2), _both(_both(p2, _near(t, h - 1, 2)), _K1),
    ):  # fmt: skip
        _put(found, k, template, x, side * _K1, shift)
        found[k] = found[k + 1]  # always with the direction
        k += 1
        template += np.uint64(1)
    return k


@piece
def _scores(t, coarse, w, shift, found, scores):
    n = t.shape[0] - 1
    for m in range(1, n + 1):
        for h in range(n + 1):
            total = -math.inf
            if h != m:
                total = 0.0
                for k in range(arc_features(t, coarse, h, m, shift, found)):
                    total += w[found[k]]
            scores[h, m - 1] = total


@kernel
def arc_scores(tokens, coarse, starts, at, w, shift, first, after, scores):
    """Scores of all arcs of sentences; the rows of sentence s begin at starts[s] + s, with its root."""
    found = np.empty(ARC, np.int64)
    for s in range(first, after):
        n = starts[s + 1] - starts[s]
        a = starts[s] + s
        out = scores[at[s] : at[s] + n * (n + 1)].reshape((n + 1, n))
        _scores(tokens[a : a + n + 1], coarse[a : a + n + 1], w, shift, found, out)


@kernel
def arc_gradient(t, coarse, heads, w, shift, is_projective, gradient):
    """log P(heads) of one sentence; adds its gradient in the weights, Σ (is - P(arc)) × features."""
    n = t.shape[0] - 1
    found, scores, q = np.empty(ARC, np.int64), np.empty((n + 1, n)), np.zeros((n + 1, n))
    _scores(t, coarse, w, shift, found, scores)
    log_p = -(summed(scores, True, q) if is_projective else counted(scores, True, q))
    for m in range(n):
        log_p += scores[heads[m], m]
        q[heads[m], m] -= 1.0
    for m in range(n):
        for h in range(n + 1):
            if abs(q[h, m]) > LEAST and h != m + 1:
                for k in range(arc_features(t, coarse, h, m + 1, shift, found)):
                    gradient[found[k]] -= q[h, m]
    return log_p


@kernel
def arc_epoch(tokens, coarse, starts, heads, order, w, squares, seen, shift, is_projective, rate, shrink):
    """One pass of AdaGrad over the sentences in `order`, each a step; `seen` says which features have weights. Returns log P."""
    found = np.empty(ARC, np.int64)
    gradient, stamp = np.zeros(w.size, np.float32), np.zeros(w.size, np.int32)
    touched = np.empty(w.size, np.int64)
    total = 0.0
    for step in range(order.size):
        s = order[step]
        n = starts[s + 1] - starts[s]
        a = starts[s] + s
        t, of_tag, gold = tokens[a : a + n + 1], coarse[a : a + n + 1], heads[starts[s] : starts[s + 1]]
        scores, q = np.empty((n + 1, n)), np.zeros((n + 1, n))
        _scores(t, of_tag, w, shift, found, scores)
        log_z = summed(scores, True, q) if is_projective else counted(scores, True, q)
        total -= log_z
        for m in range(n):
            total += scores[gold[m], m]
            q[gold[m], m] -= 1.0
        n_touched = 0
        for m in range(n):
            for h in range(n + 1):
                if abs(q[h, m]) > LEAST and h != m + 1:
                    for k in range(arc_features(t, of_tag, h, m + 1, shift, found)):
                        f = found[k]
                        if seen[f]:
                            if stamp[f] != step + 1:
                                stamp[f] = step + 1
                                gradient[f] = 0.0
                                touched[n_touched] = f
                                n_touched += 1
                            gradient[f] += q[h, m]
        for k in range(n_touched):
            f = touched[k]
            g = gradient[f] + shrink * w[f]
            squares[f] += g * g
            w[f] -= rate * g / math.sqrt(squares[f] + 1e-6)
    return total


@kernel
def arc_support(tokens, coarse, starts, heads, shift, counts):
    """How often each feature is that of a gold arc."""
    found = np.empty(ARC, np.int64)
    for s in range(starts.size - 1):
        a, n = starts[s] + s, starts[s + 1] - starts[s]
        t, of_tag = tokens[a : a + n + 1], coarse[a : a + n + 1]
        for m in range(n):
            for k in range(arc_features(t, of_tag, heads[starts[s] + m], m + 1, shift, found)):
                counts[found[k]] += 1


@piece
def _label_scores(t, h, m, w, shift, found, out):
    n = label_features(t, h, m, shift, found)
    top = -math.inf
    out[:] = 0.0
    for k in range(n):
        row = w[found[k]]
        for c in range(out.size):
            out[c] += row[c]
    for c in range(out.size):
        top = max(top, out[c])
    total = 0.0
    for c in range(out.size):
        total += math.exp(out[c] - top)
    top += math.log(total)
    for c in range(out.size):
        out[c] -= top
    return n


@kernel
def label_log_probs(tokens, base, last, head, dependent, w, shift, out):
    """log P(label | arc) of arcs head → dependent, rows of sentences from `base` up to `last`."""
    found = np.empty(LABEL, np.int64)
    for i in range(head.size):
        _label_scores(tokens[base[i] : last[i]], head[i], dependent[i], w, shift, found, out[i])


@kernel
def label_epoch(tokens, base, last, head, dependent, label, order, w, squares, shift, rate, shrink):
    """One pass of AdaGrad over gold arcs and their labels. Returns log P."""
    found, p = np.empty(LABEL, np.int64), np.empty(w.shape[1])
    total = 0.0
    for step in range(order.size):
        i = order[step]
        n = _label_scores(tokens[base[i] : last[i]], head[i], dependent[i], w, shift, found, p)
        total += p[label[i]]
        for c in range(p.size):
            p[c] = math.exp(p[c]) - (1.0 if c == label[i] else 0.0)
        for k in range(n):
            f = found[k]
            for c in range(p.size):
                if abs(p[c]) > LEAST:
                    g = p[c] + shrink * w[f, c]
                    squares[f, c] += g * g
                    w[f, c] -= rate * g / math.sqrt(squares[f, c] + 1e-6)
    return total


_T, _I, _W, _M = "uint64[:, ::1]", "int64[::1]", "float32[::1]", "float32[:, ::1]"
_TEXT = f"{_T}, {_I}, {_I}"
SIGNATURES = {
    arc_scores: f"void({_TEXT}, {_I}, {_W}, uint64, int64, int64, float64[::1])",
    arc_gradient: f"float64({_T}, {_I}, {_I}, {_W}, uint64, boolean, float64[::1])",
    arc_epoch: f"float64({_TEXT}, {_I}, {_I}, {_W}, {_W}, boolean[::1], uint64, boolean, float64, float64)",
    arc_support: f"void({_TEXT}, {_I}, uint64, {_I})",
    label_log_probs: f"void({_T}, {_I}, {_I}, {_I}, {_I}, {_M}, uint64, float64[:, ::1])",
    label_epoch: f"float64({_T}, {_I}, {_I}, {_I}, {_I}, {_I}, {_I}, {_M}, {_M}, uint64, float64, float64)",
}
