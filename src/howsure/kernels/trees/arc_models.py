"""Features of an arc between two words, hashed; scores of all arcs, and training by the exact likelihood, compiled.

A word has four hashes: its form (0), its fine tag (1), its coarse tag (2) and the nearest function word before it (3). Row 0
of a sentence is the root. A feature counts with the arc's direction, and once more with its length.
"""

import math

import numpy as np

from howsure.kernels.compiling import kernel, piece
from howsure.kernels.trees.projective import tree_sums

# kinds of arguments
_T, _I, _W, _M = "uint64[:, ::1]", "int64[::1]", "float32[::1]", "float32[:, ::1]"
_TEXT = f"{_T}, {_I}, {_I}, {_I}"

_SALT, _K1, _K2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_HALF, _LESS = np.uint64(32), np.uint64(29)
_NONE = np.uint64(0x5851F42D4C957F2D)  # beyond a sentence's end
ARC = 104  # features of an arc at most
LEAST = 1e-4  # a difference of probabilities below this moves nothing
START = 1.0  # sums of squares begin here: one sentence does not move a rare feature far


@piece
def _both(a, b):
    """A hash of two hashes."""
    x = (a + _SALT) * _K1 ^ b
    return (x ^ (x >> _HALF)) * _K2


@piece
def _put(found, k, template, x, side, far, shift):
    """Append the feature with the arc's direction, and with its length too."""
    z = (x ^ (x >> _LESS)) * _K1 + (template * np.uint64(4) + side) * _SALT
    z = (z ^ (z >> _HALF)) * _K2
    found[k] = np.int64(z >> shift)
    z = (z ^ far) * _K1
    found[k + 1] = np.int64((z ^ (z >> _LESS)) * _K2 >> shift)
    return k + 2


@piece
def _distance(h, m):
    """A hash of the length."""
    d = abs(h - m)
    bucket = d if d <= 5 else 6 if d <= 7 else 7 if d <= 10 else 8 if d <= 15 else 9 if d <= 25 else 10
    return np.uint64(bucket + 7) * _SALT


@piece
def _near(t, i, c):
    """Hash `c` of row i; beyond the sentence a hash of its own."""
    return t[i, c] if 0 < i < t.shape[0] else _NONE


@piece
def arc_features(t, coarse, h, m, shift, found):
    """Write the features of the arc h → m (rows of `t`); returns their number. `coarse` numbers the coarse tags, below 62."""
    far, side = _distance(h, m), np.uint64(0 if h == 0 else 1 if h < m else 2)
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
        k = _put(found, k, template, x, side, far, shift)
        template += np.uint64(1)
    for c in (1, 2):
        two = x2 if c == 1 else p2
        ha, hb, ma, mb = _near(t, h - 1, c), _near(t, h + 1, c), _near(t, m - 1, c), _near(t, m + 1, c)
        for x in (
            _both(two, hb), _both(_both(two, ha), _SALT), _both(_both(two, ma), _K1), _both(_both(two, mb), _K2),
            _both(_both(two, hb), ma), _both(_both(two, ha), _both(ma, _K1)), _both(_both(two, hb), _both(mb, _K2)),
            _both(_both(two, ha), _both(mb, _SALT)),
        ):  # fmt: skip
            k = _put(found, k, template, x, side, far, shift)
            template += np.uint64(1)
    for x in (_both(p2, _near(t, m - 1, 0)), _both(p2, _near(t, m + 1, 0)), _both(p2, _near(t, h + 1, 0))):
        k = _put(found, k, template, x, side, far, shift)
        template += np.uint64(1)
    seen, number = 0, 0
    for b in range(min(h, m) + 1, max(h, m)):
        if not (seen >> coarse[b]) & 1:
            seen |= 1 << coarse[b]
            number += 1
            if number <= 7:
                k = _put(found, k, template, _both(p2, t[b, 2]), side, far, shift)
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


@piece
def _gaps(t, coarse, gold, w, shift, is_projective, found):
    """log P of the gold heads of one sentence, and P(arc) - is, its derivatives in the scores with their sign changed."""
    n = gold.size
    scores, q = np.empty((n + 1, n)), np.zeros((n + 1, n))
    _scores(t, coarse, w, shift, found, scores)
    wanted = n > 0  # a constant would compile the sums once more
    log_p = -tree_sums(scores, is_projective, wanted, q)
    for m in range(n):
        log_p += scores[gold[m], m]
        q[gold[m], m] -= 1.0
        q[m + 1, m] = 0.0
    return log_p, q


@kernel(f"float64({_TEXT}, {_I}, {_W}, {_W}, boolean[::1], uint64, boolean, float64, float64)")
def arc_epoch(tokens, coarse, starts, heads, order, w, squares, seen, shift, is_projective, rate, shrink):
    """One pass of AdaGrad over the sentences in `order`, each a step; `seen` says which features have weights. Returns log P."""
    found, touched = np.empty(ARC, np.int64), np.empty(w.size, np.int64)
    gradient, stamp = np.zeros(w.size, np.float32), np.zeros(w.size, np.int32)
    total = 0.0
    for step in range(order.size):
        s = order[step]
        a, z = starts[s] + s, starts[s + 1] + s + 1
        gold = heads[starts[s] : starts[s + 1]]
        log_p, q = _gaps(tokens[a:z], coarse[a:z], gold, w, shift, is_projective, found)
        total += log_p
        n_touched = 0
        for m in range(gold.size):
            for h in range(gold.size + 1):
                if abs(q[h, m]) > LEAST:
                    for k in range(arc_features(tokens[a:z], coarse[a:z], h, m + 1, shift, found)):
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
            w[f] -= rate * g / math.sqrt(squares[f] + START)
    return total


@kernel(f"void({_TEXT}, uint64, {_I})")
def arc_support(tokens, coarse, starts, heads, shift, counts):
    """How often each feature is that of a gold arc."""
    found = np.empty(ARC, np.int64)
    for s in range(starts.size - 1):
        a, z = starts[s] + s, starts[s + 1] + s + 1
        for m in range(z - a - 1):
            for k in range(arc_features(tokens[a:z], coarse[a:z], heads[starts[s] + m], m + 1, shift, found)):
                counts[found[k]] += 1


@piece
def _label_scores(t, coarse, h, m, w, shift, found, out):
    """Log probabilities of an arc's labels in `out`; leaves the features in `found` and returns their number.

    The features are those of the arc without its length, hashed to the rows of `w`.
    """
    n = arc_features(t, coarse, h, m, shift, found) // 2
    out[:] = 0.0
    for k in range(n):
        found[k] = found[2 * k]
        row = w[found[k]]
        for c in range(out.size):
            out[c] += row[c]
    top, total = out.max(), 0.0
    for c in range(out.size):
        total += math.exp(out[c] - top)
    top += math.log(total)
    for c in range(out.size):
        out[c] -= top
    return n


@kernel(f"void({_T}, {_I}, {_W}, uint64, {_M}, uint64, float64[:, :, ::1])")
def labelled_scores(t, coarse, w, shift, rows, row_shift, scores):
    """Scores of one sentence's arcs with labels, (n + 1, n, L): w · f + log P(label | arc)."""
    found = np.empty(ARC, np.int64)
    arcs = np.empty(scores.shape[:2])
    _scores(t, coarse, w, shift, found, arcs)
    for h in range(arcs.shape[0]):
        for m in range(arcs.shape[1]):
            _label_scores(t, coarse, h, m + 1, rows, row_shift, found, scores[h, m])
            for c in range(scores.shape[2]):
                scores[h, m, c] += arcs[h, m]


@kernel(f"float64({_TEXT}, {_I}, {_I}, {_M}, {_M}, uint64, float64, float64)")
def label_epoch(tokens, coarse, starts, heads, order, label, w, squares, shift, rate, shrink):
    """One pass of AdaGrad over gold arcs and their labels, a step each. Returns log P."""
    found, p = np.empty(ARC, np.int64), np.empty(w.shape[1])
    total = 0.0
    for step in range(order.size):
        s = order[step]
        a, z = starts[s] + s, starts[s + 1] + s + 1
        for i in range(starts[s], starts[s + 1]):
            n = _label_scores(tokens[a:z], coarse[a:z], heads[i], i - starts[s] + 1, w, shift, found, p)
            total += p[label[i]]
            for c in range(p.size):
                p[c] = math.exp(p[c]) - (1.0 if c == label[i] else 0.0)
                if abs(p[c]) > LEAST:
                    for k in range(n):
                        f = found[k]
                        g = p[c] + shrink * w[f, c]
                        squares[f, c] += g * g
                        w[f, c] -= rate * g / math.sqrt(squares[f, c] + START)
    return total
