"""Histogram recalibration: plain, and as shifts of the Platt curve."""

import numpy as np

from howsure import _validate
from howsure.calibration.recalibration.platt import platt_line
from howsure.calibration.recalibration.recalibrator import INNER_FOLDS, Recalibrator, sigmoid
from howsure.kernels.cells import Floats, Ints

CANDIDATES = (2, 3, 5, 8, 12, 20, 32, 50, 80)
FEWEST_ROWS = 20  # a bin, of those tried


class Histogram(Recalibrator):
    """Histogram binning as it is: each probability becomes the frequency of its bin.

    Bins hold equal numbers of rows; rows with the same q are never parted, and a boundary lies halfway between the
    values on its sides. What q says inside a bin is lost, and frequencies may be 0 or 1; `HistogramPlatt` has neither fault.

    Parameters
    ----------
    n_bins : int
        Number of bins; ten in the original.

    References
    ----------
    Zadrozny & Elkan, Obtaining calibrated probability estimates from decision trees and naive Bayesian classifiers,
    ICML 2001.

    Examples
    --------
    >>> made = Histogram(n_bins=2).fit([0.2] * 50 + [0.7] * 50, [0] * 40 + [1] * 10 + [0] * 15 + [1] * 35)
    >>> made.transform([0.0, 0.44, 0.46, 1.0]).tolist()
    [0.2, 0.2, 0.7, 0.7]
    """

    method = "histogram"
    FORMULA = "frequencies of {#frequencies_} bins"
    edges_: Floats  # q between the bins
    frequencies_: Floats

    def __init__(self, *, n_bins: int = 10) -> None:
        self.n_bins = n_bins

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: Ints) -> None:
        kept = weight > 0
        x, y, weight = x[kept], y[kept], weight[kept]
        b = equal_mass(x, weight, _validate.count(self.n_bins, "n_bins"))
        q, number = sigmoid(x), np.arange(int(b.max()) + 1)
        first = np.array([q[b == i].min() for i in number])
        last = np.array([q[b == i].max() for i in number])
        self.edges_ = 0.5 * (last[:-1] + first[1:])
        self.frequencies_ = np.bincount(b, weight * y) / np.bincount(b, weight)

    def _curve(self, x: Floats) -> Floats:
        return self.frequencies_[np.searchsorted(self.edges_, sigmoid(x), side="right")]


class HistogramPlatt(Recalibrator):
    """logit q̂ = Platt line + the shift of the bin, with shifts joined by straight lines between the bins' centres.

    Bins hold equal numbers of rows; rows with the same q are never parted. A bin of n rows and k ones, where the Platt
    curve expects e, has the shift

        ln (k + ½)/(e + ½) - ln (n - k + ½)/(n - e + ½)

    that is, both what was seen and what was expected are shrunk by half a row of each label. Plain steps at the bins'
    frequencies would lose what q says inside a bin.

    Parameters
    ----------
    n_bins : int or None
        By default the smallest number, of 2 to 80, whose cross-validated log loss (five folds) is within one standard
        error of the least.

    References
    ----------
    Zadrozny & Elkan, ICML 2001 (histogram binning); the shift and the lines are ours.

    Examples
    --------
    >>> made = HistogramPlatt(n_bins=2).fit([0.2] * 50 + [0.7] * 50, [0] * 40 + [1] * 10 + [0] * 15 + [1] * 35)
    >>> made.transform([0.2, 0.7]).round(4).tolist()
    [0.2, 0.7]
    """

    method = "histogram-platt"
    FORMULA = "logit q' = {intercept_:.4g} + {slope_:.4g} logit q + shift of {#centres_} bins"
    cross_validates = True
    intercept_: float
    slope_: float
    centres_: Floats
    shifts_: Floats

    def __init__(self, *, n_bins: int | None = None) -> None:
        self.n_bins = n_bins

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: Ints) -> None:
        n_bins = None if self.n_bins is None else _validate.count(self.n_bins, "n_bins")
        wanted = _best_number(x, y, weight, fold) if n_bins is None else n_bins
        self.intercept_, self.slope_ = platt_line(x, y, weight)
        z = self.intercept_ + self.slope_ * x
        self.centres_, self.shifts_ = _shifts(x, z, y, weight, wanted)

    def _curve(self, x: Floats) -> Floats:
        return sigmoid(self.intercept_ + self.slope_ * x + np.interp(x, self.centres_, self.shifts_))


def _shifts(x: Floats, z: Floats, y: Floats, weight: Floats, n_bins: int) -> tuple[Floats, Floats]:
    """Centres and shifts of equal-mass bins around the curve with log-odds z."""
    kept = weight > 0
    x, z, y, weight = x[kept], z[kept], y[kept], weight[kept]
    b = equal_mass(x, weight, n_bins)
    n, k, e = (np.bincount(b, weight * v) for v in (np.ones_like(x), y, sigmoid(z)))
    shifts = np.log((k + 0.5) / (e + 0.5)) - np.log((n - k + 0.5) / (n - e + 0.5))
    return np.bincount(b, weight * x) / n, shifts


def equal_mass(x: Floats, weight: Floats, n_bins: int) -> Ints:
    """The number of each row's bin, bins of equal weight; rows with the same x are never parted."""
    number = np.unique(x, return_inverse=True)[1]
    mass = np.bincount(number, weight)
    middle = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    return np.asarray(np.unique((n_bins * middle).astype(np.int64), return_inverse=True)[1][number])


def _best_number(x: Floats, y: Floats, weight: Floats, fold: Ints) -> int:
    """The fewest bins whose log loss on rows left out is within a standard error of the least."""
    tried = [b for b in CANDIDATES if b * FEWEST_ROWS <= weight.sum()] or [1]
    loss = np.zeros((len(tried), len(x)))
    for f in range(INNER_FOLDS):
        out, rest = fold == f, fold != f
        if not out.any() or not weight[rest].sum() > 0:
            continue
        intercept, slope = platt_line(x[rest], y[rest], weight[rest])
        z = intercept + slope * x
        for i, n_bins in enumerate(tried):
            centres, shifts = _shifts(x[rest], z[rest], y[rest], weight[rest], n_bins)
            shifted = z[out] + np.interp(x[out], centres, shifts)
            loss[i, out] = np.logaddexp(0.0, shifted) - y[out] * shifted
    share = weight / weight.sum()
    more = loss - loss[np.argmin(loss @ share)]  # than the least
    mean = more @ share
    error = np.sqrt(np.maximum(more**2 @ share - mean**2, 0.0) / weight.sum())
    return tried[int(np.argmax(mean <= error))]
