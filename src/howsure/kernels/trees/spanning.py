"""Dependency trees without a bound on crossing, one root: their number (weighted) and how often each arc is in them.

Words are eliminated one by one. Let w[h, m] be the weight of the arc from h to m (row 0: from the root), and
D = Σ_h w[h, k] over the words h that are left. Without k, an arc h → m also stands for h → k → m:
w'[h, m] = w[h, m] + w[h, k] w[k, m] / D. Then Z = Π D × w'[0, last]. This is the matrix-tree theorem, eliminated as
Grassmann, Taksar and Heyman (1985) do for Markov chains: nothing is subtracted, so nothing cancels, whatever the scores.
The marginals are the derivatives, taken backwards through the same steps.
"""

import math

import numpy as np

from howsure.kernels.compiling import piece

LEAST, MOST = 1e-200, 1e200  # beyond these a step in probability space may lose something: log space is used


@piece
def log_add(a, b):
    """log(exp a + exp b)."""
    if a < b:
        a, b = b, a
    return a if b == -math.inf else a + math.log1p(math.exp(b - a))


@piece
def _incoming(w, n, k, log):
    """Σ over the words h < n of w[h, k], in logs or not."""
    total = -math.inf if log else 0.0
    for h in range(1, n + 1):
        if h != k + 1:
            total = log_add(total, w[h, k]) if log else total + w[h, k]
    return total


@piece
def _swap(w, k, t):
    """Let words k and t change places."""
    if k != t:
        for h in range(w.shape[0]):
            w[h, k], w[h, t] = w[h, t], w[h, k]
        for m in range(w.shape[1]):
            w[k + 1, m], w[t + 1, m] = w[t + 1, m], w[k + 1, m]


@piece
def eliminated(scores, log, wanted, q):
    """log Z of one sentence, and the marginals in `q` if wanted; NaN if probability space is not safe."""
    n = scores.shape[1]
    w = np.empty((n + 1, n))
    log_z = 0.0
    for m in range(n):
        top = -math.inf
        for h in range(n + 1):
            if h != m + 1:
                top = max(top, scores[h, m])
        if top == -math.inf:
            return -math.inf
        log_z += top
        for h in range(n + 1):
            x = scores[h, m] - top if h != m + 1 else -math.inf
            w[h, m] = x if log else math.exp(x)
    swapped = np.arange(n)
    shares = np.empty((n * n * (n + 1)) // 3 + n * n if wanted else 0)
    head = np.empty((n + 1, n if wanted else 1))
    at = 0
    for t in range(n - 1, 0, -1):
        total = _incoming(w, t + 1, t, log)
        if not log and not LEAST < total < MOST:
            return math.nan
        k = t
        while k > 0 and total == -math.inf:  # only the root can be its head: it stays to the end
            k -= 1
            total = _incoming(w, t + 1, k, log)
        if total == -math.inf:
            return total
        swapped[t] = k
        _swap(w, k, t)
        log_z += total if log else math.log(total)
        column = t if wanted else 0
        for h in range(t + 1):
            p = w[h, t] - total if log else w[h, t] / total
            head[h, column] = math.exp(min(p, 0.0)) if log else p
            for m in range(t):
                via = p + w[t + 1, m] if log else p * w[t + 1, m]
                made = log_add(w[h, m], via) if log else w[h, m] + via
                w[h, m] = made
                if wanted:
                    if log:
                        shares[at + h * t + m] = 0.0 if via == -math.inf else math.exp(via - made)
                    else:
                        shares[at + h * t + m] = via / made if made > 0.0 else 0.0
        at += t * (t + 1)
    log_z += w[0, 0] if log else (math.log(w[0, 0]) if w[0, 0] > 0.0 else -math.inf)
    if not log and not LEAST < w[0, 0] < MOST:
        return math.nan
    if not wanted or log_z == -math.inf:
        return log_z
    made = np.zeros((n + 1, n))
    made[0, 0] = 1.0
    for t in range(1, n):
        at -= t * (t + 1)
        through = 0.0
        for h in range(t + 1):
            of_head = 0.0
            for m in range(t):
                if h != m + 1:
                    f = made[h, m] * shares[at + h * t + m]
                    made[h, m] -= f
                    made[t + 1, m] += f
                    of_head += f
            made[h, t] += of_head
            through += of_head
        for h in range(1, t + 1):
            made[h, t] += head[h, t] * (1.0 - through)
        _swap(made, swapped[t], t)
    for h in range(n + 1):
        for m in range(n):
            q[h, m] = min(max(made[h, m], 0.0), 1.0)
    return log_z


@piece
def counted(scores, wanted, q):
    """log Z of one sentence, and the marginals in `q` if wanted."""
    log_z = eliminated(scores, False, wanted, q)
    return eliminated(scores, True, wanted, q) if math.isnan(log_z) else log_z
