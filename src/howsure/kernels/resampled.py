"""Weights of resamples, drawn through counts: how often each cell of a table is drawn, and how many of it are swapped."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.kernels import special
from howsure.kernels.cells import Ints
from howsure.kernels.ragged import offsets
from howsure.kernels.threads import cores

COMPILED_FROM = 300  # cells; below, NumPy's binomials are quick enough that nothing need be compiled
BLOCK = 256  # resamples at a time
SPARE = 4.0  # standard deviations that the Poisson total stays below n on average


def multinomial_sums(count: Ints, statistics: Any, samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Statistics of resamples, shape (samples, columns): rows of `statistics` (dense or sparse) times how often each is drawn.

    A resample draws Σ count rows, row i with probability count_i / Σ count. Put the largest cell last: it takes what
    remains and costs nothing.
    """
    n = int(count.sum())
    if len(count) >= COMPILED_FROM:
        return _compiled(count, n, statistics, samples, rng)
    made = np.empty((samples, statistics.shape[1]))
    rows = max(1, min(samples, 4_000_000 // max(len(count), 1)))
    for start in range(0, samples, rows):
        size = min(rows, samples - start)
        weights = _by_binomials(count, size, rng) if len(count) <= 16 else rng.multinomial(n, count / n, size)
        made[start : start + size] = _product(weights, statistics)
    return made


def _product(weights: NDArray[Any], statistics: Any) -> NDArray[Any]:
    """Sums that are whole numbers, exact in float32 only where the statistics come in it."""
    if isinstance(statistics, np.ndarray):
        return weights.astype(statistics.dtype, copy=False) @ statistics
    return (statistics.T @ weights.T.astype(np.float64)).T


def _by_binomials(count: Ints, size: int, rng: np.random.Generator) -> Ints:
    """The same through one vector of binomials a cell: the quickest for few cells."""
    made = np.empty((size, len(count)), np.int64)
    left = np.full(size, int(count.sum()), np.int64)
    rest = int(count.sum())
    for i, c in enumerate(count[:-1].tolist()):
        made[:, i] = rng.binomial(left, c / rest) if rest else 0
        left -= made[:, i]
        rest -= c
    made[:, -1] = left
    return made


def _compiled(count: Ints, n: int, statistics: Any, samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    from howsure.kernels.resampled_compiled import alias_table, compile_kernels, fill_weights

    compile_kernels()
    values, kind = np.unique(count, return_inverse=True)
    share = max(0.0, 1.0 - SPARE / np.sqrt(n))
    laws = [_poisson(float(v) * share) for v in values]
    sizes = [1 << max(0, (len(law) - 1).bit_length()) for _, law in laws]
    top = 1 << max(0, (len(count) - 1).bit_length())
    threshold, other = np.zeros(sum(sizes) + top, np.uint32), np.zeros(sum(sizes) + top, np.int32)
    first = offsets(sizes)
    for at, size, (_, law) in zip(first.tolist(), sizes, laws, strict=False):
        alias_table(law, threshold, other, at, size)
    alias_table(count.astype(np.float64), threshold, other, int(first[-1]), top)
    low = np.array([k for k, _ in laws], np.int64)[kind]
    mask = (np.array(sizes, np.uint64) - np.uint64(1))[kind]
    at_first = first[kind]
    # A state a resample: the same numbers whatever the number of threads.
    states = rng.integers(0, 2**64, samples, np.uint64)
    made = np.empty((samples, statistics.shape[1]))

    def block(start: int) -> None:
        part = states[start : start + BLOCK].copy()
        weights = np.empty((len(count), len(part)), np.float32)
        fill_weights(part, n, low, at_first, mask, threshold, other, int(first[-1]), np.uint64(top - 1), weights)
        made[start : start + len(part)] = _product(weights.T, statistics)

    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(block, range(0, samples, BLOCK)))
    return made


def _poisson(mean: float) -> tuple[int, NDArray[np.float64]]:
    """The smallest value that matters and the probabilities from there on; what is left out is below 1e-16."""
    if mean == 0.0:
        return 0, np.ones(1)
    reach = 9.0 * np.sqrt(mean) + 24.0
    k = np.arange(max(0, int(mean - reach)), int(mean + reach) + 1)
    p = np.exp(k * np.log(mean) - mean - special.gammaln(k + 1.0))
    kept = np.flatnonzero(p > 1e-17)
    return int(k[kept[0]]), np.ascontiguousarray(p[kept[0] : kept[-1] + 1])


def swap_sums(count: Ints, statistics: NDArray[Any], samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Rows of `statistics` times how many of each cell's units a random swap takes, shape (samples, columns).

    That is Binomial(count, ½), drawn as the number of ones among random bits; a cell of more than 64 units has several
    words of them.
    """
    words = -(-count // 64)
    cell = np.repeat(np.arange(len(count)), words)
    bits = np.full(len(cell), 64, np.int64)
    bits[np.cumsum(words) - 1] = count - 64 * (words - 1)
    mask = np.where(bits == 64, np.uint64(2**64 - 1), (np.uint64(1) << (bits % 64).astype(np.uint64)) - np.uint64(1))
    each = statistics[cell]
    single = bool(np.all(count == 1))
    made = np.empty((samples, statistics.shape[1]))
    rows = max(1, min(samples, (1 << 22) // max(len(cell), 1)))
    for start in range(0, samples, rows):
        size = min(rows, samples - start)
        if single:  # eight units to a byte
            packed = np.frombuffer(rng.bytes(size * -(-len(cell) // 8)), np.uint8).reshape(size, -1)
            taken = np.unpackbits(packed, axis=1, count=len(cell))
        else:
            taken = np.bitwise_count(rng.integers(0, 2**64, (size, len(cell)), np.uint64) & mask)
        made[start : start + size] = _product(taken, each)
    return made
