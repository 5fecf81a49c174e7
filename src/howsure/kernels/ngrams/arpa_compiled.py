"""ARPA files as bytes: lines of log10 probability, words and weight, written and read without a Python object a line."""

from functools import partial

import numpy as np

from howsure.kernels.compiling import array, kernel, piece, ready
from howsure.kernels.ngrams.text_ids_compiled import BYTES, LONGS, SHORTS

LOWEST = -99.0
_SCALE = 10**9
_FLOATS = array("float64")


@piece
def put(out, at, *given):
    """Append bytes; returns where the next one goes."""
    for c in given:
        out[at] = c
        at += 1
    return at


@kernel(
    f"int64(int64, int64, int64, {SHORTS}, {SHORTS}, {BYTES}, {LONGS}, {_FLOATS}, {_FLOATS}, int64, int64[::1], uint8[::1])"
)
def write_lines(first, last, order, start, word, text, ends, log_p, log_b, has_weights, ancestors, out):
    """Lines of nodes first … last of an order, for which `out` must have room; returns the bytes written."""
    at = 0
    for node in range(first, last):
        child = node
        ancestors[order - 1] = node
        for k in range(order - 2, -1, -1):
            while np.int64(start[ancestors[k] + 1]) <= child:
                ancestors[k] += 1
            child = ancestors[k]
        for part in range(2 if has_weights else 1):
            value = log_b[node] if part else log_p[node]
            value = max(value, LOWEST)
            if part:
                at = put(out, at, 9)
            if value < 0:
                at = put(out, at, 45)
                value = -value
            fixed = np.int64(np.rint(value * _SCALE))
            whole = fixed // _SCALE
            fixed -= whole * _SCALE
            if whole >= 10:
                at = put(out, at, 48 + whole // 10 % 10)
            at = put(out, at, 48 + whole % 10)
            if fixed > 0:
                at = put(out, at, 46)
                digit = _SCALE // 10
                while fixed > 0:
                    at = put(out, at, 48 + fixed // digit)
                    fixed %= digit
                    digit //= 10
            if part:
                break
            for k in range(order):
                at = put(out, at, 32 if k else 9)
                w = np.int64(word[ancestors[k]])
                a = ends[w - 1] if w > 0 else 0
                if w == 0:
                    at = put(out, at, 60, 117, 110, 107, 62)  # <unk>
                elif ends[w] - a == 1 and text[a] == 32:
                    at = put(out, at, 0xE2, 0x96, 0x81)  # a space, in models of characters
                else:
                    for i in range(a, ends[w]):
                        at = put(out, at, text[i])
        at = put(out, at, 10)
    return at


@kernel(f"UniTuple(int64, 2)({BYTES}, int64, int64, int64, float64[::1], float64[::1], uint8[::1])")
def read_lines(data, begin, order, n_lines, log_p, log_b, words):
    """Parse up to `n_lines` lines from byte `begin`; the words of each go to `words`, a line each.

    Returns how many were read and the bytes of `words` filled. Stops at an empty line or one that begins with a
    backslash; a line that cannot be read gives minus its number as the count.
    """
    pos = begin
    n = data.size
    filled = made = 0
    while made < n_lines and pos < n and data[pos] != 10 and data[pos] != 92 and data[pos] != 13:
        for part in range(2):
            sign = -1.0 if data[pos] == 45 else 1.0
            if data[pos] == 45 or data[pos] == 43:
                pos += 1
            mantissa = 0.0
            scale = digits = 0
            after = False
            while pos < n and (48 <= data[pos] <= 57 or data[pos] == 46):
                if data[pos] == 46:
                    after = True
                else:
                    mantissa = mantissa * 10.0 + (np.int64(data[pos]) - 48)
                    digits += 1
                    scale += after
                pos += 1
            if pos < n and (data[pos] == 101 or data[pos] == 69):
                pos += 1
                down = False
                if pos < n and (data[pos] == 45 or data[pos] == 43):
                    down = data[pos] == 45
                    pos += 1
                power = 0
                while pos < n and 48 <= data[pos] <= 57:
                    power = min(power * 10 + np.int64(data[pos]) - 48, 100_000)
                    pos += 1
                scale += power if down else -power
            value = sign * mantissa / 10.0 ** min(scale, 300) if digits and scale >= -300 else np.nan
            if not np.isfinite(value):
                return -made - 1, filled
            if part == 1:
                log_b[made] = value
                break
            log_p[made] = value
            for _ in range(order):
                while pos < n and (data[pos] == 32 or data[pos] == 9):
                    pos += 1
                a = pos
                while pos < n and not (data[pos] == 32 or data[pos] == 9 or data[pos] == 10 or data[pos] == 13):
                    words[filled] = data[pos]
                    filled += 1
                    pos += 1
                if pos == a:
                    return -made - 1, filled
                if pos - a == 5 and data[a] == 60 and data[a + 1] == 117 and data[a + 2] == 110 and data[a + 3] == 107:
                    for i in range(2, 5):
                        words[filled - i] -= 32  # <unk> is <UNK> here
                words[filled] = 32
                filled += 1
            while pos < n and (data[pos] == 32 or data[pos] == 9 or data[pos] == 13):
                pos += 1
            if pos >= n or data[pos] == 10:
                break
        while pos < n and data[pos] != 10:
            if not (data[pos] == 32 or data[pos] == 9 or data[pos] == 13):
                return -made - 1, filled
            pos += 1
        pos += 1
        made += 1
    return made, filled


ready_arpa = partial(ready, __name__)
