"""Two systems on the same units, as the few counts that their difference depends on.

Accuracy, F1, macro-F1 and span F1 are one form, the mean over classes of 2H/Z: H counts hits and Z = gold + pred (twice
the rows for accuracy). Classes with Z = 0 are 0/0 and are not in the mean, which is then scikit-learn's.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.evaluation.scores.metrics import Average, accuracy, f_measure, macro, micro
from howsure.evaluation.units import Totals, Units
from howsure.kernels.cells import Floats, Ints

METRICS = ("accuracy", "f1", "macro-f1", "span-f1")
EXACT_FLOAT32 = 1 << 23  # whole numbers up to twice this are exact in float32
MOST_DENSE = 20_000_000  # entries of a dense table of statistics
CLOSE = 1e-9  # differences nearer than this to a threshold are compared as fractions


@dataclass(frozen=True)
class Contrast:
    """T kinds of units, `count` of each; columns of `table`: H of A, Z of A, H of B, Z of B, K classes each."""

    count: Ints
    table: Any  # (T, 4K), whole numbers, dense or sparse
    n_classes: int

    @property
    def totals(self) -> Ints:
        """Sums over all units."""
        return np.rint(np.asarray(self.table.T @ self.count.astype(np.float64))).astype(np.int64)

    @property
    def difference(self) -> float:
        """δ(x): the metric of A less that of B."""
        return float(differences(self.totals[None, :], self.n_classes)[0])


def contrast(units: Units, metric: str, positive: int | None) -> Contrast:
    """What the difference of two systems depends on, units that are alike put together."""
    from scipy.sparse import csr_array, hstack

    gold, pred, hit = units.gold, units.pred, units.hit
    if metric == "f1":
        assert positive is not None
        blocks = [m[:, [positive]] for s in (0, 1) for m in (hit[s], gold + pred[s])]
    elif metric == "macro-f1":
        blocks = [m for s in (0, 1) for m in (hit[s], gold + pred[s])]
    else:
        size = gold.sum(axis=1)
        blocks = []
        for s in (0, 1):
            below = 2.0 * size if metric == "accuracy" else size + pred[s].sum(axis=1)
            blocks += [csr_array(np.asarray(m).reshape(-1, 1)) for m in (hit[s].sum(axis=1), below)]
        if metric == "accuracy":  # both denominators are one: what both have right cancels
            common = blocks[0].minimum(blocks[2])
            blocks[0], blocks[2] = blocks[0] - common, blocks[2] - common
    k = blocks[0].shape[1]
    count, table = _collapsed(units.count, csr_array(hstack(blocks)))
    if table.shape[0] * table.shape[1] <= MOST_DENSE:
        most = float((table.T @ count.astype(np.float64)).max(initial=0.0))
        table = table.toarray().astype(np.float32 if most < EXACT_FLOAT32 else np.float64)
    return Contrast(count, table, k)


def _collapsed(count: Ints, table: Any) -> tuple[Ints, Any]:
    """Equal rows once, with their counts added; the commonest last. Rows are compared by a random 64-bit sum."""
    keys = np.random.default_rng(20150917).integers(-(2**62), 2**62, table.shape[1])
    whole = table.astype(np.int64)
    with np.errstate(over="ignore"):
        key = whole @ keys
    _, first, where = np.unique(key, return_index=True, return_inverse=True)
    size = np.rint(np.bincount(where, count)).astype(np.int64)
    order = np.argsort(size, kind="stable")
    return size[order], table[first[order]]


def differences(sums: NDArray[Any], n_classes: int) -> Floats:
    """δ of each row of totals."""
    return _mean(sums[:, : 2 * n_classes], n_classes) - _mean(sums[:, 2 * n_classes :], n_classes)


def _mean(sums: NDArray[Any], k: int) -> Floats:
    h, z = sums[:, :k], sums[:, k:]
    there = z > 0
    ratio = np.divide(2.0 * h, z, out=np.zeros(h.shape), where=there)
    return ratio.sum(axis=1) / np.maximum(there.sum(axis=1), 1)


def exact_difference(sums: NDArray[Any], n_classes: int) -> Fraction:
    """δ of one row of totals as a fraction."""

    def mean(part: list[int]) -> Fraction:
        pairs = [(h, z) for h, z in zip(part[:n_classes], part[n_classes:], strict=True) if z > 0]
        return sum((Fraction(2 * h, z) for h, z in pairs), Fraction(0)) / max(len(pairs), 1)

    whole = [int(x) for x in np.rint(sums)]
    return mean(whole[: 2 * n_classes]) - mean(whole[2 * n_classes :])


def at_least(sums: NDArray[Any], n_classes: int, threshold: Fraction) -> NDArray[np.bool_]:
    """Whether δ of each row of totals is at least `threshold`, compared in whole numbers where they are close."""
    if n_classes == 1 and abs(threshold.numerator) < 2**31 and threshold.denominator < 2**31:
        h_a, z_a, h_b, z_b = np.rint(sums).astype(np.int64).T
        if np.array_equal(z_a, z_b) and (not len(z_a) or z_a.max() < 2**31):
            both = z_a > 0
            return np.where(both, 2 * (h_a - h_b) * threshold.denominator >= threshold.numerator * z_a, threshold <= 0)
    delta, t = differences(sums, n_classes), float(threshold)
    made = delta >= t
    close = np.flatnonzero(np.abs(delta - t) < CLOSE)
    if len(close):
        rows, where = np.unique(sums[close], axis=0, return_inverse=True)
        made[close] = np.array([exact_difference(r, n_classes) >= threshold for r in rows])[where.ravel()]
    return np.asarray(made)


def metric_of(t: Totals, metric: str, positive: int | None) -> Average:
    """One system's metric, with the gradient that its interval needs."""
    if metric == "accuracy":
        return accuracy(t)
    if metric == "span-f1":
        return micro(t, "f")
    each = f_measure(t)
    if metric == "macro-f1":
        return macro(each, t)
    w = (np.arange(len(t.gold)) == positive).astype(np.float64)
    return Average(float(w @ each.value), w * each.d_hit, w * each.d_gold, w * each.d_pred)
