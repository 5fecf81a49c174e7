"""The same as `grouping`, compiled: rows are dealt out to their groups by counting, and each group is summed on its own.

Indices are unsigned where they are read from arrays: Numba would test a signed one for counting from the end, which doubles the time.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from howsure.kernels.cells import BASE_KEY, N_CELLS, OFFSET_BITS, Floats, Ints
from howsure.kernels.compiling import array, kernel, ready
from howsure.kernels.grouping import PORTIONS, ROUNDING, Entries, Residuals, Resolution
from howsure.kernels.ragged import offsets
from howsure.kernels.threads import cores, portions

STEP = 1 << 20
HALVES = 2  # of the rows, each dealt out by a thread
_INTS, _FLOATS, _LABELS, _SMALL = array("int64"), array("float64"), array("uint8", order="A"), array("int32")


@kernel(f"UniTuple(int64, 2)({array('uint64')}, uint64[::1], int64[::1], uint64[::1], int32[::1], int64, int64)")
def _number(groups, keys, slots, ids, number, begin, used):
    """Number groups in order of appearance with the open-addressing table (keys, slots); stops where it is half full."""
    mask = np.uint64(keys.size - 1)
    for i in range(begin, groups.size):
        g = groups[i]
        mixed = g * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64((mixed ^ (mixed >> np.uint64(32))) & mask)
        while True:
            if slots[slot] < 0:
                if 2 * used >= keys.size:
                    return i, used
                keys[slot] = g
                slots[slot] = used
                ids[used] = g
                used += 1
                break
            if keys[slot] == g:
                break
            slot = (slot + 1) & np.int64(mask)
        number[i] = slots[slot]
    return groups.size, used


@kernel(f"void(int32[::1], {_INTS})")
def _renumber(number, rank):
    for i in range(number.size):
        number[i] = rank[np.uint32(number[i])]


@kernel(f"void({_FLOATS}, {_SMALL}, int32[::1])")
def _bins(q, table, made):
    for i in range(q.size):
        x = q[i]
        m = min(x, 1.0 - x)
        cell = (np.float64(m).view(np.int64) >> OFFSET_BITS) - BASE_KEY + 2
        if cell < 2:
            cell = np.int64(m > 0.0)
        cell += np.int64(x > 0.5) * (N_CELLS - 1 - 2 * cell)
        made[i] = table[cell]


@kernel(f"void({_SMALL}, int64[::1])")
def _count(number, found):
    for i in range(number.size):
        found[np.uint32(number[i])] += 1


@kernel(f"void({_SMALL}, int64[::1], {_LABELS}, {_FLOATS}, {_FLOATS}, uint8[::1], float64[::1], float64[::1])")
def _deal(number, place, y, q, weight, y_made, q_made, weight_made):
    """Rows in order of their group, as they come within it; `place` is where each group's next row goes, and is moved on."""
    for i in range(number.size):
        g = np.uint32(number[i])
        to = np.uint64(place[g])
        place[g] += 1
        y_made[to] = y[i]
        q_made[to] = q[i]
        if weight.size:
            weight_made[to] = weight[i]


@kernel(f"void({_INTS}, {_LABELS}, {_FLOATS}, {_FLOATS}, int64, int64, float64[:, ::1])")
def _totals(starts, y, q, weight, first, after, made):
    """Rows, positive, Σq, Σq² and Σqy of the groups first … after-1."""
    for g in range(first, after):
        rows = positive = sum_q = sum_qq = sum_qy = 0.0
        for k in range(starts[g], starts[g + 1]):
            w = weight[k] if weight.size else 1.0
            v = w * y[k]
            x = q[k]
            rows += w
            positive += v
            sum_q += w * x
            sum_qq += w * x * x
            sum_qy += v * x
        made[0, g] = rows
        made[1, g] = positive
        made[2, g] = sum_q
        made[3, g] = sum_qq
        made[4, g] = sum_qy


@kernel(f"void({_INTS}, {_SMALL}, int64, int64, int64, int64[::1])")
def _count_pairs(starts, bins, first, after, n_bins, found):
    """How many bins each of the groups first … after-1 occurs in."""
    seen = np.full(n_bins, -1, np.int64)
    for g in range(first, after):
        n = 0
        for k in range(np.uint64(starts[g]), np.uint64(starts[g + 1])):
            b = np.uint32(bins[k])
            if seen[b] != g:
                seen[b] = g
                n += 1
        found[g] = n


@kernel(
    f"void({_INTS}, {_SMALL}, {_LABELS}, {_FLOATS}, {_FLOATS}, int64, int64, int64, {_INTS}, boolean, int32[::1], float64[:, ::1])"
)
def _sum_pairs(starts, bins, y, q, weight, first, after, n_bins, offsets, less_q, bin_, sums):
    """Rows and Σ(y - q), or Σy, of the groups first … after-1 by bin, from `offsets` on."""
    where = np.full(n_bins, -1, np.int64)
    for g in range(first, after):
        at = offsets[g]
        n = 0
        for k in range(np.uint64(starts[g]), np.uint64(starts[g + 1])):
            b = np.uint32(bins[k])
            if where[b] < at:  # not seen in this group
                where[b] = at + n
                bin_[at + n] = b
                n += 1
        gap = 1  # Shell's sort, by insertion where there are few: NumPy's would take three times as long to compile as all of this
        while gap < n // 3:
            gap = 3 * gap + 1
        while gap > 0:
            for i in range(gap, n):
                b = bin_[at + i]
                j = i
                while j >= gap and bin_[at + j - gap] > b:
                    bin_[at + j] = bin_[at + j - gap]
                    j -= gap
                bin_[at + j] = b
            gap //= 3
        for i in range(n):
            where[bin_[at + i]] = at + i
            sums[0, at + i] = sums[1, at + i] = 0.0
        for k in range(np.uint64(starts[g]), np.uint64(starts[g + 1])):
            to = np.uint64(where[np.uint32(bins[k])])
            w = weight[k] if weight.size else 1.0
            sums[0, to] += w
            sums[1, to] += w * (y[k] - q[k] if less_q else np.float64(y[k]))


_SPARSE = f"{_INTS}, {_INTS}, {_SMALL}, {_FLOATS}"  # where each group begins and ends, bins and values


@kernel(f"void({_SPARSE}, {_SPARSE}, int64, int64, boolean, float64[:, ::1])")
def _products(starts, ends, bins, values, starts_y, ends_y, bins_y, values_y, first, after, same, made):
    """Adds XᵀY of the groups first … after-1; only its upper half where both are the same."""
    for g in range(first, after):
        for i in range(starts[g], ends[g]):
            v = values[i]
            row = made[np.uint32(bins[i])]
            for j in range(np.uint64(i if same else starts_y[g]), np.uint64(ends_y[g])):
                row[np.uint32(bins_y[j])] += v * values_y[j]


@kernel(f"void({_INTS}, {_SMALL}, {array('float64', 2)}, {array('int64', 2)}, int64, int64, float64[:, ::1])")
def _group_moments(starts, bins, sums, numbers, first, after, made):
    """Adds up by bin what the entries of a group sum to; numbers[i] are the bins of bin i, one of each level."""
    for g in range(first, after):
        end = starts[g + 1]
        for level in range(numbers.shape[1]):
            i = starts[g]
            while i < end:
                b = numbers[bins[i], level]
                n = s = 0.0
                while i < end and numbers[bins[i], level] == b:
                    n += sums[0, i]
                    s += sums[1, i]
                    i += 1
                made[0, b] += n
                made[1, b] += n * n
                made[2, b] += s
                made[3, b] += s * s
                made[4, b] += s * n


@kernel(
    f"void({_INTS}, {_SMALL}, {array('float64', 2)}, {_INTS}, {array('float64', 2)}, boolean, int64, int64, "
    "int64[::1], int32[::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[::1])"
)
def _residuals(
    starts, bins, sums, number, known, is_coarse, first, after, ends, bin_made, made, by_group, along, fourth
):
    """r and S of the groups first … after-1 by bin, each group from its start on, and their sums; see `grouping.residuals`."""
    for g in range(first, after):
        i, to, end = starts[g], starts[g], starts[g + 1]
        own_r = own_s = psi = psi_sign = squared = absolute = 0.0
        while i < end:
            b = number[bins[i]]
            n = s = 0.0
            while i < end and number[bins[i]] == b:
                n += sums[0, i]
                s += sums[1, i]
                i += 1
            all_n, all_s, a, d, n_around, d_around, of_squared, of_absolute = known[b]
            left = 1.0 - n / n_around
            r = (s - d_around * n) / np.sqrt(left) if left > 0.0 else 0.0
            if not is_coarse:
                d = (all_s - s) / (all_n - n) if all_n > n else 0.0
            weighted_r, weighted_s = a * r * r, a * s * s
            own_r += weighted_r
            own_s += weighted_s
            fourth[0] += weighted_r * weighted_r
            fourth[1] += weighted_s * weighted_s
            psi += d * r
            psi_sign += r if d > ROUNDING else -r if d < -ROUNDING else 0.0
            squared += of_squared * n
            absolute += of_absolute * n
            bin_made[to] = b
            made[0, to] = r
            made[1, to] = s
            to += 1
        ends[g] = to
        for i in range(starts[g], to):
            along[bin_made[i]] += made[0, i] * psi
        by_group[0, g] = own_r
        by_group[1, g] = own_s
        by_group[2, g] = psi
        by_group[3, g] = psi_sign
        by_group[4, g] = squared
        by_group[5, g] = absolute


compile_all = partial(ready, __name__)  # compiles or loads the kernels of this file; before any call of what follows


def numbered(groups: Any) -> tuple[Any, Ints]:
    """See `grouping.numbered`."""
    groups = np.ascontiguousarray(groups)
    size = 1 << 16
    ids = np.zeros(size // 2, np.uint64)
    number = np.zeros(len(groups), np.int32)
    done = used = 0
    while True:
        keys, slots = np.zeros(size, np.uint64), np.full(size, -1, np.int64)
        _number(ids[:used].copy(), keys, slots, ids, np.zeros(used, np.int32), 0, 0)
        done, used = _number(groups, keys, slots, ids, number, done, used)
        if done == len(groups):
            break
        size *= 8
        ids = np.concatenate([ids, np.zeros(size // 2 - len(ids), np.uint64)])
    order = np.argsort(ids[:used])
    _renumber(number, np.argsort(order))
    return ids[:used][order], number


def bins(table: Ints, q: Floats) -> Ints:
    """The bin table[c] of each probability, c its fixed cell."""
    q, small, made = np.ascontiguousarray(q), table.astype(np.int32), np.empty(len(q), np.int32)
    _each(lambda a: _bins(q[a : a + STEP], small, made[a : a + STEP]), range(0, len(q), STEP))
    return made


def dealt(
    number: Ints, n_groups: int, y: Any, q: Floats, weight: Floats | None
) -> tuple[Ints, Any, Floats, Floats | None]:
    """Where each group begins; labels, probabilities and weights in order of the groups."""
    weights = _weights(weight)
    rows = np.ascontiguousarray(number, np.int32), np.ascontiguousarray(y), np.ascontiguousarray(q), weights
    cuts = np.linspace(0, len(q), HALVES + 1).astype(int)
    halves = [[c[a:b] for c in rows] for a, b in pairwise(cuts)]
    found = np.zeros((HALVES, n_groups), np.int64)
    _each(lambda i: _count(halves[i][0], found[i]), range(HALVES))
    starts = offsets(found.sum(axis=0))
    places = starts[:-1] + np.cumsum(found, axis=0) - found
    made = np.empty(len(q), np.uint8), np.empty(len(q)), np.empty(len(weights))
    _each(lambda i: _deal(halves[i][0], places[i], *halves[i][1:], *made), range(HALVES))
    return starts, made[0], made[1], None if weight is None else made[2]


def totals(starts: Ints, y: Any, q: Floats, weight: Floats | None) -> Floats:
    """See `grouping.Arranged`."""
    made = np.zeros((5, len(starts) - 1))
    _each(lambda cut: _totals(starts, y, q, _weights(weight), *cut, made), _cuts(starts))
    return made


def binned_sums(
    starts: Ints, bins: Ints, y: Any, q: Floats, weight: Floats | None, less_q: bool
) -> tuple[Ints, Ints, Floats]:
    """See `grouping.binned_sums`."""
    bins, q, weights = np.ascontiguousarray(bins, np.int32), np.ascontiguousarray(q), _weights(weight)
    cuts, n_bins = _cuts(starts), int(bins.max(initial=0)) + 1
    found = np.zeros(len(starts) - 1, np.int64)
    _each(lambda cut: _count_pairs(starts, bins, *cut, n_bins, found), cuts)
    places = offsets(found)
    bin_, sums = np.empty(places[-1], np.int32), np.empty((2, places[-1]))
    _each(lambda cut: _sum_pairs(starts, bins, y, q, weights, *cut, n_bins, places, less_q, bin_, sums), cuts)
    return places, bin_, sums


def group_moments(starts: Ints, bins: Ints, sums: Floats, levels: Sequence[Ints]) -> list[Floats]:
    """See `grouping.group_moments`."""
    ends = np.cumsum([level[-1] + 1 for level in levels])
    numbers = np.stack([level + (end - level[-1] - 1) for level, end in zip(levels, ends, strict=True)], axis=1)
    filed, cuts = (starts, np.ascontiguousarray(bins, np.int32), np.ascontiguousarray(sums)), _cuts(starts)
    made = np.zeros((len(cuts), 5, ends[-1]))
    _each(lambda i: _group_moments(*filed, numbers, *cuts[i], made[i]), range(len(cuts)))
    return np.split(made.sum(axis=0), ends[:-1], axis=1)


def residuals(starts: Ints, bins: Ints, sums: Floats, at: Resolution, of_r: bool, of_s: bool) -> Residuals:
    """See `grouping.residuals`."""
    known = np.stack([at.n, at.s, at.a, at.d, at.n_around, at.d_around, *at.deviations()], axis=1)
    filed = starts, np.ascontiguousarray(bins, np.int32), np.ascontiguousarray(sums), at.number, known, at.is_coarse
    cuts, n_bins, ends = _cuts(starts), len(at.n), np.zeros(len(starts) - 1, np.int64)
    bin_, made, by_group = np.empty(len(bins), np.int32), np.empty((2, len(bins))), np.empty((6, len(ends)))
    along, fourth = np.zeros((len(cuts), n_bins)), np.zeros((len(cuts), 2))
    _each(lambda i: _residuals(*filed, *cuts[i], ends, bin_, made, by_group, along[i], fourth[i]), range(len(cuts)))

    def products_of(values: Floats) -> Floats:
        entries = starts, ends, bin_, values
        return _summed(entries, entries, n_bins, n_bins)

    r, s = (products_of(values) if asked else None for values, asked in zip(made, (of_r, of_s), strict=True))
    return Residuals(r, s, along.sum(axis=0), fourth.sum(axis=0), by_group)


def products(x: Entries, y: Entries, n_groups: int, n_x: int, n_y: int) -> Floats:
    """See `grouping.products`."""

    def sparse(entries: Entries) -> tuple[Any, ...]:
        starts = np.searchsorted(entries[0], np.arange(n_groups + 1))
        return starts, starts[1:], np.ascontiguousarray(entries[1], np.int32), np.ascontiguousarray(entries[2])

    left = sparse(x)
    return _summed(left, left if x is y else sparse(y), n_x, n_y)


def _summed(x: tuple[Any, ...], y: tuple[Any, ...], n_x: int, n_y: int) -> Floats:
    """XᵀY, each given as where groups begin and end, bins and values."""
    pairs = int((x[1] - x[0][:-1]) @ (y[1] - y[0][:-1]))  # a table of sums for each portion, where these are worth it
    cuts = _cuts(x[0], min(max(1, pairs // max(1, 4 * n_x * n_y)), PORTIONS))
    made = np.zeros((len(cuts), n_x, n_y))
    _each(lambda i: _products(*x, *y, *cuts[i], x is y, made[i]), range(len(cuts)))
    total: Floats = made[0] if len(made) == 1 else made.sum(axis=0)
    for i in range(n_x if x is y else 0):  # summed above the diagonal only; in place, for these tables are large
        total[i + 1 :, i] = total[i, i + 1 :]
    return total


def _weights(weight: Floats | None) -> Floats:
    return np.zeros(0) if weight is None else np.ascontiguousarray(weight)


def _cuts(starts: Ints, n: int = PORTIONS) -> list[tuple[int, int]]:
    """About n runs of groups with about as many rows each."""
    return portions(starts, max(1, -(-int(starts[-1]) // n)))


def _each(work: Callable[[Any], None], over: Any) -> None:
    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(work, over))
