"""Linear chains compiled: ragged batches, one sentence after another, buffers of one sentence.

Two ways. In probability space (`scaled_…`): each token's scores less their largest, exponentials of the transitions
computed once, α and β divided by their sums. What underflows there has posterior probability below exp(R - 708), R the
range of the transitions, because one step can favour a tag by no more than exp(R): it is used when R is at most
`WIDEST` (posteriors/chain_passes.py). Marginals alone go in step (in_step.py). In log space (`log_…`): any scores, forbidden transitions (-inf) too.
"""

import math
from functools import partial

import numpy as np

from howsure.kernels.compiling import array, inlined, kernel, mix, ready

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
_VECTOR, _MATRIX, _WHOLE = array("float64"), array("float64", 2), array("int64")
_SCALED = f"{_MATRIX}, {_WHOLE}, {_MATRIX}, {_MATRIX}, {_VECTOR}, {_VECTOR}, int64, int64"
_PLAIN = f"{_MATRIX}, {_WHOLE}, {_MATRIX}, {_VECTOR}, {_VECTOR}, int64, int64"
_OUT = "float64[:, ::1], float64[::1]"


@inlined
def exp_below(x):
    """exp of a number up to 700, in a form that is vectorised: 2^k e^r, |r| ≤ ln 2 / 2, Taylor to r^13; ≤ 1 ulp off.

    Below -708 it is 0.
    """
    y = max(x, -708.0)
    k = math.floor(y * LOG2_E + 0.5)
    r = y - k * LN2_HIGH - k * LN2_LOW
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    made = p * np.int64((np.int64(k) + 1023) << 52).view(np.float64)
    return made if x >= -708.0 else 0.0


@inlined
def longest_of(starts, first, last):
    """Number of tokens of the longest sentence."""
    longest = 0
    for s in range(first, last):
        longest = max(longest, starts[s + 1] - starts[s])
    return longest


@inlined
def sum_of(x):
    """Σ x by four sums side by side: one alone would wait for itself."""
    n = x.size
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(n // 4):
        i = 4 * k
        a += x[i]
        b += x[i + 1]
        c += x[i + 2]
        d += x[i + 3]
    for i in range(n - n % 4, n):
        a += x[i]
    return (a + b) + (c + d)


@inlined
def max_of(x):
    """The largest, in the same way."""
    n = x.size
    a = b = c = d = x[0]
    for k in range(n // 4):
        i = 4 * k
        a = max(a, x[i])
        b = max(b, x[i + 1])
        c = max(c, x[i + 2])
        d = max(d, x[i + 3])
    for i in range(n - n % 4, n):
        a = max(a, x[i])
    return max(max(a, b), max(c, d))


@inlined
def times(vector, matrix, out):
    """out = vector @ matrix, four rows at a time; the inner loop runs along rows and is vectorised."""
    n = vector.size
    for j in range(n):
        out[j] = 0.0
    i = 0
    while i + 4 <= n:
        v0, v1, v2, v3 = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        r0, r1, r2, r3 = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        for j in range(n):
            out[j] += (v0 * r0[j] + v1 * r1[j]) + (v2 * r2[j] + v3 * r3[j])
        i += 4
    while i < n:
        v0, r0 = vector[i], matrix[i]
        for j in range(n):
            out[j] += v0 * r0[j]
        i += 1


@inlined
def scaled_forward(score, e, e_initial, alpha, p, work):
    """Fill α and p = exp(score - its largest) of one sentence; returns the log of all that was divided out."""
    length, n_tags = score.shape
    log_total = 0.0
    for t in range(length):
        score_t, p_t, alpha_t = score[t], p[t], alpha[t]
        top = max_of(score_t)
        for j in range(n_tags):
            p_t[j] = exp_below(score_t[j] - top)
        if t == 0:
            for j in range(n_tags):
                work[j] = e_initial[j]
        else:
            times(alpha[t - 1], e, work)
        for j in range(n_tags):
            work[j] *= p_t[j]
        total = sum_of(work)
        inverse = 1.0 / total
        for j in range(n_tags):
            alpha_t[j] = work[j] * inverse
        log_total += math.log(total) + top
    return log_total


@kernel(f"void({_SCALED}, {_OUT}, {_OUT})", fused=True)
def scaled_messages(scores, starts, e, e_transposed, e_initial, e_final, first, last, alphas, log_c, out, log_z):
    """Marginals, log Z, and the normalised forward messages with what was divided out at each token."""
    n_tags = scores.shape[1]
    longest = longest_of(starts, first, last)
    p = np.empty((longest, n_tags))
    beta, b, work = np.empty(n_tags), np.empty(n_tags), np.empty(n_tags)
    for s in range(first, last):
        a, z = starts[s], starts[s + 1]
        length = z - a
        alpha = alphas[a:z]
        log_total = 0.0
        for t in range(length):  # scaled_forward, one token at a time, to keep each divisor
            one = scores[a + t : a + t + 1]
            if t == 0:
                part = scaled_forward(one, e, e_initial, alpha[0:1], p[0:1], work)
            else:
                times(alpha[t - 1], e, b)
                part = scaled_forward(one, e, b, alpha[t : t + 1], p[t : t + 1], work)
            log_c[a + t] = part
            log_total += part
        for j in range(n_tags):
            beta[j] = e_final[j]
        for t in range(length - 1, -1, -1):
            for j in range(n_tags):
                work[j] = alpha[t, j] * beta[j]
            total = sum_of(work)
            if t == length - 1:
                log_z[s] = log_total + math.log(total)
            inverse = 1.0 / total
            for j in range(n_tags):
                out[a + t, j] = work[j] * inverse
                b[j] = p[t, j] * beta[j] * inverse
            if t > 0:
                times(b, e_transposed, beta)


@inlined
def log_sum_of(x):
    top = x[0]
    for j in range(1, x.size):
        top = max(top, x[j])
    if top == -np.inf:
        return top
    total = 0.0
    for j in range(x.size):
        total += math.exp(x[j] - top)
    return top + math.log(total)


@kernel(f"void({_PLAIN}, {_OUT}, {_OUT})")
def log_messages(scores, starts, transitions, initial, final, first, last, log_alpha, log_c, out, log_z):
    """As `scaled_messages`, in log space. A sentence that no tag sequence fits has log Z = -inf and NaN marginals."""
    n_tags = scores.shape[1]
    beta, b, work = np.empty(n_tags), np.empty(n_tags), np.empty(n_tags)
    for s in range(first, last):
        a, z = starts[s], starts[s + 1]
        log_total = 0.0
        for t in range(a, z):
            for j in range(n_tags):
                if t == a:
                    work[j] = initial[j] + scores[t, j]
                else:
                    for i in range(n_tags):
                        b[i] = log_alpha[t - 1, i] + transitions[i, j]
                    work[j] = log_sum_of(b) + scores[t, j]
            total = log_sum_of(work)
            log_c[t] = total
            log_total += total
            for j in range(n_tags):
                log_alpha[t, j] = work[j] - total
        for j in range(n_tags):
            beta[j] = final[j]
            work[j] = log_alpha[z - 1, j] + beta[j]
        log_z[s] = log_total + log_sum_of(work)
        for t in range(z - 1, a - 1, -1):
            for j in range(n_tags):
                work[j] = log_alpha[t, j] + beta[j]
            total = log_sum_of(work)
            for j in range(n_tags):
                out[t, j] = math.exp(work[j] - total)
            if t > a:
                for i in range(n_tags):
                    for j in range(n_tags):
                        b[j] = transitions[i, j] + scores[t, j] + beta[j]
                    work[i] = log_sum_of(b)
                top = work[0]
                for j in range(1, n_tags):
                    top = max(top, work[j])
                for j in range(n_tags):
                    beta[j] = work[j] - top


@kernel(f"void({_PLAIN}, int16[::1], float64[::1])")
def viterbi(scores, starts, transitions, initial, final, first, last, best, weight):
    """The heaviest sequence of each sentence, and its log weight. Ties go to the first tag, from the last token on."""
    n_tags = scores.shape[1]
    longest = longest_of(starts, first, last)
    pointers = np.empty((longest, n_tags), np.int32)
    value, reached = np.empty(n_tags), np.empty(n_tags)
    for s in range(first, last):
        a, z = starts[s], starts[s + 1]
        for j in range(n_tags):
            value[j] = initial[j] + scores[a, j]
        for t in range(a + 1, z):
            pointer = pointers[t - a]
            for j in range(n_tags):
                reached[j] = value[0] + transitions[0, j]
                pointer[j] = 0
            for i in range(1, n_tags):
                v = value[i]
                for j in range(n_tags):
                    x = v + transitions[i, j]
                    better = x > reached[j]
                    reached[j] = x if better else reached[j]
                    pointer[j] = i if better else pointer[j]
            for j in range(n_tags):
                value[j] = reached[j] + scores[t, j]
        at = 0
        for j in range(n_tags):
            value[j] += final[j]
            if value[j] > value[at]:
                at = j
        weight[s] = value[at]
        for t in range(z - 1, a - 1, -1):
            best[t] = at
            at = pointers[t - a, at]


@kernel(f"void({_PLAIN}, int16[:, ::1], float64[:, ::1])")
def k_best(scores, starts, transitions, initial, final, first, last, best, weight):
    """The k heaviest sequences: `best` (tokens, k), `weight` (sentences, k), -inf where there are fewer than k.

    Each (token, tag) keeps a list of k in order; ties keep the order in which tags are numbered.
    """
    n_tags, k = scores.shape[1], best.shape[1]
    longest = longest_of(starts, first, last)
    pointers = np.empty((longest, n_tags, k), np.int32)
    value, reached = np.empty((n_tags, k)), np.empty((n_tags, k))
    for s in range(first, last):
        a, z = starts[s], starts[s + 1]
        for j in range(n_tags):
            for r in range(k):
                value[j, r] = -np.inf
            value[j, 0] = initial[j] + scores[a, j]
        for t in range(a + 1, z):
            for j in range(n_tags):
                list_of, pointer = reached[j], pointers[t - a, j]
                for r in range(k):
                    list_of[r] = -np.inf
                    pointer[r] = r
                for i in range(n_tags):
                    step = transitions[i, j]
                    for q in range(k):
                        x = value[i, q] + step
                        if not x > list_of[k - 1]:
                            break  # the rest of this list is no heavier
                        r = k - 1
                        while r > 0 and x > list_of[r - 1]:
                            list_of[r], pointer[r] = list_of[r - 1], pointer[r - 1]
                            r -= 1
                        list_of[r], pointer[r] = x, i * k + q
            for j in range(n_tags):
                for r in range(k):
                    value[j, r] = reached[j, r] + scores[t, j]
        ends = np.full(k, -np.inf)
        states = np.zeros(k, np.int64)
        for j in range(n_tags):
            for q in range(k):
                x = value[j, q] + final[j]
                if not x > ends[k - 1]:
                    break
                r = k - 1
                while r > 0 and x > ends[r - 1]:
                    ends[r], states[r] = ends[r - 1], states[r - 1]
                    r -= 1
                ends[r], states[r] = x, j * k + q
        for r in range(k):
            weight[s, r] = ends[r]
            at = states[r]
            for t in range(z - 1, a - 1, -1):
                best[t, r] = at // k
                at = pointers[t - a, at // k, at % k]


@kernel(f"void({_MATRIX}, {_WHOLE}, {_MATRIX}, {_VECTOR}, uint64, int64, int64, int16[:, ::1])", fused=True)
def sample(log_alpha, starts, transposed, final, seed, first, last, made):
    """Exact samples into `made` (n, tokens), backwards from the forward messages; the same stream as `chains.uniforms`."""
    n_tags = log_alpha.shape[1]
    total = np.empty(n_tags)
    golden = np.uint64(0x9E3779B97F4A7C15)
    for s in range(first, last):
        a, z = starts[s], starts[s + 1]
        key = mix(seed ^ mix(np.uint64(s) + golden))
        for d in range(made.shape[0]):
            following = 0
            for t in range(z - 1, a - 1, -1):
                ahead = final if t == z - 1 else transposed[following]
                top = -np.inf
                for j in range(n_tags):
                    total[j] = log_alpha[t, j] + ahead[j]
                    top = max(top, total[j])
                for j in range(n_tags):
                    total[j] = exp_below(total[j] - top)
                for j in range(1, n_tags):
                    total[j] += total[j - 1]
                count = np.uint64(d) * np.uint64(z - a) + np.uint64(t - a + 1)
                u = np.float64(mix(key + golden * count) >> np.uint64(11)) * 2.0**-53
                wanted = u * total[n_tags - 1]
                at = 0
                while at < n_tags - 1 and total[at] <= wanted:
                    at += 1
                made[d, t] = at
                following = at


compile_all = partial(ready, __name__)  # compiles or loads the kernels of this file
