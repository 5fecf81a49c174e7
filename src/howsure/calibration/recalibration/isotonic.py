"""Isotonic recalibration: plain, and blended with Platt, safe near 0 and 1 and as smooth as the data ask for."""

import numpy as np

from howsure.calibration.recalibration.platt import platt_line
from howsure.calibration.recalibration.recalibrator import INNER_FOLDS, Recalibrator, log_odds, sigmoid
from howsure.kernels.cells import Floats, Ints


class Isotonic(Recalibrator):
    """The non-decreasing curve nearest to the labels, as it is: scikit-learn's `IsotonicRegression` with `clip`.

    Between two blocks it is a straight line in q. Blocks at the ends often have frequency 0 or 1, where one later
    surprise costs an infinite log loss; `IsotonicPlatt` has none.

    References
    ----------
    Zadrozny & Elkan, Transforming classifier scores into accurate multiclass probability estimates, KDD 2002.

    Examples
    --------
    >>> made = Isotonic().fit([0.1, 0.1, 0.8, 0.8, 0.8], [0, 0, 1, 1, 1])
    >>> made.transform([0.1, 0.45, 0.8]).round(4).tolist()
    [0.0, 0.5, 1.0]
    """

    method = "isotonic"
    knots_: Floats  # q where each block begins and ends
    heights_: Floats  # frequencies there

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: Ints) -> None:
        from scipy.optimize import isotonic_regression

        values, n, k = _by_value(x, y, weight)
        starts = isotonic_regression(k / n, weights=n).blocks[:-1]
        frequencies = np.add.reduceat(k, starts) / np.add.reduceat(n, starts)
        ends = np.append(starts[1:], len(values)) - 1
        self.knots_ = sigmoid(values[np.stack([starts, ends], axis=1).ravel()])
        self.heights_ = np.repeat(frequencies, 2)

    def _curve(self, x: Floats) -> Floats:
        return np.interp(sigmoid(x), self.knots_, self.heights_)

    def _formula(self) -> str:
        return f"isotonic, {len(self.heights_) // 2} blocks"


class IsotonicPlatt(Recalibrator):
    """The isotonic curve with three repairs, blended with the Platt curve.

    1. A block of n rows and k ones counts as (k + ½)/(n + 1): never 0 or 1, where one later surprise costs an infinite
       log loss. Blocks that this puts out of order are pooled again.
    2. Blocks are joined at their centres by straight lines in log-odds rather than steps.
    3. With `blend`, the curve is mixed with the Platt curve: q̂ = λ isotonic + (1-λ) Platt. λ is the weight of least
       cross-validated log loss (five folds). Both are non-decreasing, so the mixture is.

    Parameters
    ----------
    blend : bool
        Whether to mix with the Platt curve. Without it the error falls only as n^-⅓.

    References
    ----------
    Zadrozny & Elkan, KDD 2002; Oron & Flournoy, Centered isotonic regression, 2017 (joining centres); Breiman, Stacked
    regressions, 1996 (the weight).

    Examples
    --------
    >>> made = IsotonicPlatt(blend=False).fit([0.1, 0.1, 0.8, 0.8, 0.8], [0, 0, 1, 1, 1])
    >>> made.frequencies_.tolist(), made.transform([0.1, 0.8]).round(4).tolist()
    ([0.0, 1.0], [0.1667, 0.875])
    """

    method = "isotonic-platt"
    cross_validates = True
    frequencies_: Floats  # of the blocks before any repair
    first_: Floats  # log-odds where each of these blocks begins
    centres_: Floats  # log-odds of the pooled blocks' centres
    heights_: Floats  # log-odds of the repaired frequencies there
    weight_: float  # λ
    intercept_: float
    slope_: float

    def __init__(self, *, blend: bool = True) -> None:
        self.blend = blend

    def _fit_binary(self, x: Floats, y: Floats, weight: Floats, fold: Ints) -> None:
        self.first_, self.frequencies_, self.centres_, self.heights_ = _blocks(x, y, weight)
        self.intercept_, self.slope_, self.weight_ = 0.0, 1.0, 1.0
        if self.blend:
            self.intercept_, self.slope_ = platt_line(x, y, weight)
            self.weight_ = _stacking_weight(x, y, weight, fold)

    def _curve(self, x: Floats) -> Floats:
        line = sigmoid(self.intercept_ + self.slope_ * x)
        return self.weight_ * _joined(x, self.centres_, self.heights_) + (1.0 - self.weight_) * line

    def _formula(self) -> str:
        return f"{self.weight_:.3g} isotonic ({len(self.frequencies_)} blocks) + {1 - self.weight_:.3g} Platt"


def _blocks(x: Floats, y: Floats, weight: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Where blocks begin and their frequencies; then centres and log-odds of the blocks as repaired."""
    from scipy.optimize import isotonic_regression

    values, n, k = _by_value(x, y, weight)
    starts = isotonic_regression(k / n, weights=n).blocks[:-1]
    n, k, sums = (np.add.reduceat(v, starts) for v in (n, k, n * values))
    first, frequencies = values[starts], k / n
    again = isotonic_regression((k + 0.5) / (n + 1.0), weights=n + 1.0)
    starts = again.blocks[:-1]
    centres = np.add.reduceat(sums, starts) / np.add.reduceat(n, starts)
    return first, frequencies, centres, log_odds(again.x[starts])


def _by_value(x: Floats, y: Floats, weight: Floats) -> tuple[Floats, Floats, Floats]:
    """The distinct x of weight, how much lies there, and how much of it is 1."""
    kept = weight > 0
    values, number = np.unique(x[kept], return_inverse=True)
    n, k = (np.bincount(number, w[kept]).astype(np.float64) for w in (weight, weight * y))
    return values, n, k


def _joined(x: Floats, centres: Floats, heights: Floats) -> Floats:
    return sigmoid(np.interp(x, centres, heights))


def _stacking_weight(x: Floats, y: Floats, weight: Floats, fold: Ints) -> float:
    """λ in [0, 1] of least log loss on rows that neither curve has seen. The loss is convex in λ: bisection."""
    isotonic, line = np.full(len(x), 0.5), np.full(len(x), 0.5)
    for f in range(INNER_FOLDS):
        out, rest = fold == f, fold != f
        if not out.any() or not weight[rest].sum() > 0:
            continue
        *_, centres, heights = _blocks(x[rest], y[rest], weight[rest])
        a, b = platt_line(x[rest], y[rest], weight[rest])
        isotonic[out], line[out] = _joined(x[out], centres, heights), sigmoid(a + b * x[out])
    # Probabilities given to the label that came.
    isotonic, line = np.where(y > 0, isotonic, 1.0 - isotonic), np.where(y > 0, line, 1.0 - line)
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        falling = float(np.sum(weight * (isotonic - line) / (middle * isotonic + (1.0 - middle) * line))) > 0.0
        low, high = (middle, high) if falling else (low, middle)
    return 0.5 * (low + high)
