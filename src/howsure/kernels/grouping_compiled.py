"""The same as `grouping`, compiled: rows are dealt out to their groups by counting, and each group is summed on its own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from howsure.kernels.cells import BASE_KEY, N_CELLS, OFFSET_BITS, Floats, Ints
from howsure.kernels.compiling import array, kernel, piece, ready
from howsure.kernels.grouping import PORTIONS, Entries
from howsure.kernels.threads import cores, portions

STEP = 1 << 20
_INTS, _FLOATS, _LABELS = array("int64"), array("float64"), array("uint8", order="A")


@kernel(f"UniTuple(int64, 2)({array('uint64')}, uint64[::1], int64[::1], uint64[::1], int64[::1], int64, int64)")
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


@kernel(f"void(int64[::1], {_INTS})")
def _renumber(number, rank):
    for i in range(number.size):
        number[i] = rank[number[i]]


@kernel(f"void({_FLOATS}, {_INTS}, int64[::1])")
def _bins(q, table, made):
    for i in range(q.size):
        x = q[i]
        m = min(x, 1.0 - x)
        cell = (np.float64(m).view(np.int64) >> OFFSET_BITS) - BASE_KEY + 2
        if cell < 2:
            cell = np.int64(m > 0.0)
        cell += np.int64(x > 0.5) * (N_CELLS - 1 - 2 * cell)
        made[i] = table[cell]


@kernel(f"void({_INTS}, int64[::1], {_LABELS}, {_FLOATS}, {_FLOATS}, uint8[::1], float64[::1], float64[::1])")
def _deal(number, place, y, q, weight, y_made, q_made, weight_made):
    """Rows in order of their group, as they come within it; `place` is where each group begins, and is moved on."""
    for i in range(number.size):
        g = number[i]
        to = place[g]
        place[g] = to + 1
        y_made[to] = y[i]
        q_made[to] = q[i]
        if weight.size:
            weight_made[to] = weight[i]


@kernel(f"void({_INTS}, {_INTS}, int64, int64, int64, int64[::1])")
def _count_pairs(starts, bins, first, after, n_bins, found):
    """How many bins each of the groups first … after-1 occurs in."""
    seen = np.full(n_bins, -1, np.int64)
    for g in range(first, after):
        n = 0
        for k in range(starts[g], starts[g + 1]):
            if seen[bins[k]] != g:
                seen[bins[k]] = g
                n += 1
        found[g] = n


@kernel(
    f"void({_INTS}, {_INTS}, {_LABELS}, {_FLOATS}, {_FLOATS}, int64, int64, int64, {_INTS}, int64[::1], int64[::1], float64[:, ::1])"
)
def _sum_pairs(starts, bins, y, q, weight, first, after, n_bins, offsets, group, bin_, sums):
    """Sums of the groups first … after-1 by bin, from `offsets` on."""
    where = np.full(n_bins, -1, np.int64)
    for g in range(first, after):
        at = offsets[g]
        n = 0
        for k in range(starts[g], starts[g + 1]):
            b = bins[k]
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
            group[at + i] = g
        for k in range(starts[g], starts[g + 1]):
            to = where[bins[k]]
            w = weight[k] if weight.size else 1.0
            v = w * y[k]
            x = q[k]
            sums[0, to] += w
            sums[1, to] += v
            if sums.shape[0] > 2:
                sums[2, to] += w * x
            if sums.shape[0] > 3:
                sums[3, to] += w * x * x
                sums[4, to] += v * x


@kernel(f"void({_INTS}, {_INTS}, {_FLOATS}, {_INTS}, {_INTS}, {_FLOATS}, int64, int64, boolean, float64[:, ::1])")
def _products(starts, bins, values, starts_y, bins_y, values_y, first, after, same, made):
    """Adds XᵀY of the groups first … after-1; only its upper half where both are the same."""
    for g in range(first, after):
        for i in range(starts[g], starts[g + 1]):
            v = values[i]
            row = made[bins[i]]
            for j in range(i if same else starts_y[g], starts_y[g + 1]):
                row[bins_y[j]] += v * values_y[j]


@kernel(f"int64({_INTS}, {_INTS}, {array('float64', 2)}, {_INTS}, int64[::1], int64[::1], float64[:, ::1])")
def _join(group, bins, sums, number, group_made, bin_made, made):
    """Runs of entries with one group and one bin, as `number` has it, added up; returns how many."""
    at = -1
    for i in range(group.size):
        b = number[bins[i]]
        if at < 0 or group_made[at] != group[i] or bin_made[at] != b:
            at += 1
            group_made[at] = group[i]
            bin_made[at] = b
            for k in range(made.shape[0]):
                made[k, at] = 0.0
        for k in range(made.shape[0]):
            made[k, at] += sums[k, i]
    return at + 1


@piece
def _note(made, b, n, s):
    made[0, b] += n
    made[1, b] += n * n
    made[2, b] += s
    made[3, b] += s * s
    made[4, b] += s * n


@kernel(f"void({_INTS}, {_INTS}, {array('float64', 2)}, {array('int64', 2)}, float64[:, ::1])")
def _group_moments(group, bins, sums, numbers, made):
    """Adds up by bin what runs of entries with one group and one bin sum to; numbers[i] are the bins of bin i, one of each level."""
    levels = numbers.shape[1]
    now, n, s = np.full(levels, -1), np.zeros(levels), np.zeros(levels)
    for i in range(group.size):
        for k in range(levels):
            b = numbers[bins[i], k]
            if b != now[k] or group[i] != group[i - 1]:
                if i > 0:
                    _note(made, now[k], n[k], s[k])
                now[k] = b
                n[k] = s[k] = 0.0
            n[k] += sums[0, i]
            s[k] += sums[1, i]
    for k in range(levels if group.size else 0):
        _note(made, now[k], n[k], s[k])


_compiled = partial(ready, __name__)


def numbered(groups: Any) -> tuple[Any, Ints]:
    """See `grouping.numbered`."""
    _compiled()
    groups = np.ascontiguousarray(groups)
    size = 1 << 16
    ids = np.zeros(size // 2, np.uint64)
    number = np.zeros(len(groups), np.int64)
    done = used = 0
    while True:
        keys, slots = np.zeros(size, np.uint64), np.full(size, -1, np.int64)
        _number(ids[:used].copy(), keys, slots, ids, np.zeros(used, np.int64), 0, 0)
        done, used = _number(groups, keys, slots, ids, number, done, used)
        if done == len(groups):
            break
        size *= 8
        ids = np.concatenate([ids, np.zeros(size // 2 - len(ids), np.uint64)])
    order = np.argsort(ids[:used])
    rank = np.zeros(used, np.int64)
    rank[order] = np.arange(used)
    _renumber(number, rank)
    return ids[:used][order], number


def bins(table: Ints, q: Floats) -> Ints:
    """The bin table[c] of each probability, c its fixed cell."""
    _compiled()
    q, made = np.ascontiguousarray(q), np.zeros(len(q), np.int64)
    _each(lambda a: _bins(q[a : a + STEP], table, made[a : a + STEP]), range(0, len(q), STEP))
    return made


def dealt(number: Ints, starts: Ints, y: Any, q: Floats, weight: Floats | None) -> tuple[Any, Floats, Floats | None]:
    """Labels, probabilities and weights in order of the groups."""
    _compiled()
    weights = _weights(weight)
    made = np.zeros(len(q), np.uint8), np.zeros(len(q)), np.zeros(len(weights))
    _deal(*map(np.ascontiguousarray, (number, starts[:-1].copy(), y, q)), weights, *made)
    return made[0], made[1], None if weight is None else made[2]


def binned_sums(
    starts: Ints, bins: Ints, y: Any, q: Floats, weight: Floats | None, n_sums: int
) -> tuple[Ints, Ints, Floats]:
    """See `grouping.binned_sums`."""
    _compiled()
    bins, q, weights = np.ascontiguousarray(bins), np.ascontiguousarray(q), _weights(weight)
    cuts, n_bins, n_groups = _cuts(starts), int(bins.max(initial=0)) + 1, len(starts) - 1
    found = np.zeros(n_groups, np.int64)
    _each(lambda cut: _count_pairs(starts, bins, *cut, n_bins, found), cuts)
    offsets = np.zeros(n_groups + 1, np.int64)
    np.cumsum(found, out=offsets[1:])
    k = int(offsets[-1])
    group, bin_, sums = np.zeros(k, np.int64), np.zeros(k, np.int64), np.zeros((n_sums, k))
    _each(lambda cut: _sum_pairs(starts, bins, y, q, weights, *cut, n_bins, offsets, group, bin_, sums), cuts)
    return group, bin_, sums


def joined(group: Ints, bins: Ints, sums: Floats, number: Ints) -> tuple[Ints, Ints, Floats]:
    """See `grouping.Filed`."""
    _compiled()
    made = np.empty(len(group), np.int64), np.empty(len(group), np.int64), np.empty(sums.shape)
    n = _join(*map(np.ascontiguousarray, (group, bins, sums, number)), *made)
    return made[0][:n], made[1][:n], np.ascontiguousarray(made[2][:, :n])


def group_moments(group: Ints, bins: Ints, sums: Floats, levels: Sequence[Ints]) -> list[Floats]:
    """See `grouping.group_moments`."""
    _compiled()
    ends = np.cumsum([level[-1] + 1 for level in levels])
    numbers = np.stack([level + (end - level[-1] - 1) for level, end in zip(levels, ends, strict=True)], axis=1)
    made = np.zeros((5, ends[-1]))
    _group_moments(*map(np.ascontiguousarray, (group, bins, sums, numbers)), made)
    return np.split(made, ends[:-1], axis=1)


def products(x: Entries, y: Entries, n_groups: int, n_x: int, n_y: int) -> Floats:
    """See `grouping.products`."""
    _compiled()
    begins, begins_y = (np.searchsorted(e[0], np.arange(n_groups + 1)) for e in (x, y))
    left, right = ((b, *map(np.ascontiguousarray, e[1:])) for b, e in ((begins, x), (begins_y, y)))
    pairs = int(np.diff(begins) @ np.diff(begins_y))  # a table of sums for each portion, where these are worth it
    cuts = _cuts(begins, min(max(1, pairs // max(1, 4 * n_x * n_y)), PORTIONS))
    made = np.zeros((len(cuts), n_x, n_y))
    _each(lambda i: _products(*left, *right, *cuts[i], x is y, made[i]), range(len(cuts)))
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
