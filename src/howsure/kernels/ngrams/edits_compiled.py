"""Edits between words: distances with swaps, alignments counted, and the cost of a noisy channel's best path."""

from functools import partial

import numpy as np

from howsure.kernels.compiling import array, kernel, piece, ready
from howsure.kernels.ngrams.text_ids_compiled import BYTES, LONGS

START = 27  # the code of "before the first letter"
_TABLE = array("float64", 2, "A")


@piece
def swapped(typed, i, meant, k):
    """Whether the last two of the first i letters are the last two of the first k, the other way round."""
    return i > 1 and k > 1 and typed[i - 1] == meant[k - 2] and typed[i - 2] == meant[k - 1]


@kernel(f"int64[::1]({BYTES}, {BYTES}, {LONGS}, int64)")
def edit_distances(typed, text, ends, most):
    """Damerau-Levenshtein distance (adjacent swaps, each letter edited once) from `typed` to every word, if at most `most`."""
    n = typed.size
    out = np.full(ends.size, most + 1, np.int64)
    rows = np.zeros((3, 256), np.int64)
    for j in range(ends.size):
        meant = text[ends[j - 1] if j > 0 else 0 : ends[j]]
        m = meant.size
        if m == 0 or abs(m - n) > most or m > 250 or n > 250:
            continue
        for k in range(m + 1):
            rows[0, k] = k
        here = 0
        for i in range(1, n + 1):
            before = here
            here = i % 3
            two = (i + 1) % 3
            rows[here, 0] = i
            least = i
            for k in range(1, m + 1):
                change = 0 if typed[i - 1] == meant[k - 1] else 1
                best = min(rows[before, k] + 1, rows[here, k - 1] + 1, rows[before, k - 1] + change)
                if swapped(typed, i, meant, k):
                    best = min(best, rows[two, k - 2] + 1)
                rows[here, k] = best
                least = min(least, best)
            if least > most:
                break
        else:
            out[j] = min(out[j], rows[here, m])
    return out


@kernel(f"void({BYTES}, {BYTES}, float64[:, :, ::1])")
def align_pair(typed, meant, tables):
    """Count the steps of one shortest alignment: change (or copy), drop, put, swap, into tables[0 … 3]."""
    n, m = typed.size, meant.size
    d = np.zeros((n + 1, m + 1), np.int64)
    d[:, 0], d[0] = np.arange(n + 1), np.arange(m + 1)
    for i in range(1, n + 1):
        for k in range(1, m + 1):
            best = min(d[i - 1, k] + 1, d[i, k - 1] + 1, d[i - 1, k - 1] + (0 if typed[i - 1] == meant[k - 1] else 1))
            if swapped(typed, i, meant, k):
                best = min(best, d[i - 2, k - 2] + 1)
            d[i, k] = best
    i, k = n, m
    while i > 0 or k > 0:
        if i > 0 and k > 0 and d[i, k] == d[i - 1, k - 1] + (0 if typed[i - 1] == meant[k - 1] else 1):
            i, k = i - 1, k - 1
            tables[0, meant[k], typed[i]] += 1
        elif swapped(typed, i, meant, k) and d[i, k] == d[i - 2, k - 2] + 1:
            i, k = i - 2, k - 2
            tables[3, meant[k], meant[k + 1]] += 1
        elif k > 0 and d[i, k] == d[i, k - 1] + 1:
            k -= 1
            tables[1, meant[k - 1] if k > 0 else START, meant[k]] += 1
        else:
            i -= 1
            tables[2, meant[k - 1] if k > 0 else START, typed[i]] += 1


@kernel(f"float64[::1]({BYTES}, {BYTES}, {LONGS}, {LONGS}, {_TABLE}, {_TABLE}, {_TABLE}, {_TABLE})")
def channel_costs(typed, text, ends, words, change, drop, put, swap):
    """-log probability of the channel's likeliest way from each word to `typed`."""
    n = typed.size
    out = np.empty(words.size, np.float64)
    d = np.zeros((n + 1, 256), np.float64)
    for j in range(words.size):
        w = words[j]
        meant = text[ends[w - 1] if w > 0 else 0 : ends[w]][:250]
        m = meant.size
        for i in range(n + 1):
            for k in range(m + 1):
                if i == 0 and k == 0:
                    d[0, 0] = 0.0
                    continue
                best = 1e300
                before = meant[k - 1] if k > 0 else START
                if i > 0:
                    best = d[i - 1, k] + put[before, typed[i - 1]]
                if k > 0:
                    last = meant[k - 2] if k > 1 else START
                    best = min(best, d[i, k - 1] + drop[last, meant[k - 1]])
                if i > 0 and k > 0:
                    best = min(best, d[i - 1, k - 1] + change[meant[k - 1], typed[i - 1]])
                if swapped(typed, i, meant, k):
                    best = min(best, d[i - 2, k - 2] + swap[meant[k - 2], meant[k - 1]])
                d[i, k] = best
        out[j] = d[n, m]
    return out


ready_edits = partial(ready, __name__)
