"""Algorithms 1 and 2 of Nguyen & O'Connor (2015), their Eq. 1 and the thesis's MSE score.

They are here to reproduce published numbers. Algorithm 1 counts sampling noise as miscalibration and Algorithm 2
adds that noise a second time, so its interval misses the truth on well-calibrated data; `howsure.check` is debiased.

Bins hold exactly β rows, so rows with the same q may fall into different bins. Which ones, the paper leaves to the sort.
There are two versions, chosen by `ties`:

- "order": to the letter, with a stable sort. Tied rows keep the order in which they were given, and another order of
  the same rows may give another number.
- "shared": each row counts with the mean label of its ties, so that no order matters. This is not the paper's algorithm.

Without ties the two are the same.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._result import Columns, Record, Result, drawn_by, finite, shown_as
from howsure.calibration.estimation.intervals import Estimate
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints

Z = 1.96  # the paper's normal quantile
BIN_SIZE, N_SAMPLES = 5_000, 10_000  # the paper's (§4)
LEAST_BIN_SIZE = 200  # the paper uses none smaller (§3.2)
_BLOCK = 1 << 20  # simulated frequencies held at a time
Ties = Literal["order", "shared"]


@dataclass(frozen=True, slots=True)
class PaperBins(Columns):
    """Bins of exactly `bin_size` rows, the last short one merged: size, p̂, q̂ and p̂ ± 1.96 se."""

    SHOWN = "n mean_prob mean_true low high side=words"

    n: Ints
    mean_prob: Floats
    mean_true: Floats
    low: Floats
    high: Floats

    def __repr__(self) -> str:
        return f"PaperBins({len(self.n)} bins, n={int(self.n.sum()):,})"

    @property
    def side(self) -> Ints:
        """Of each point of the curve: 1 above the diagonal, -1 below, 0 where q̂ lies within p̂ ± 1.96 se."""
        return (self.mean_prob < self.low).astype(np.int64) - (self.mean_prob > self.high)

    @property
    def words(self) -> NDArray[Any]:
        """The sides in the words of §3.3: where the curve is above the diagonal, and where below."""
        return np.array([None, "underconfident", "overconfident"], object)[self.side]


def adaptive_bins(y_true: Any, y_prob: Any, bin_size: int = BIN_SIZE, *, ties: Ties = "order") -> PaperBins:
    """Steps 1-4 of Algorithm 1, with the thesis's interval p̂ ± 1.96 √(p̂(1-p̂)/n) for each bin.

    >>> adaptive_bins([0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.5], bin_size=2).n
    array([2, 3])
    """
    size = _validate.bins(bin_size)
    if not isinstance(size, int):
        raise InputError(f"Algorithm 1 has bins of a number of rows; got {bin_size!r}.")
    if ties not in ("order", "shared"):
        raise InputError(f"`ties` must be 'order' or 'shared'; got {ties!r}.")
    y, q = _sorted(y_true, y_prob)
    if ties == "shared":
        y = shared_labels(y, q)
    starts = bin_starts(len(q), size)
    n = np.diff(np.append(starts, len(q)))
    p = np.clip(np.add.reduceat(y, starts) / n, 0.0, 1.0)
    half = Z * np.sqrt(p * (1.0 - p) / n)
    return PaperBins(n, np.add.reduceat(q, starts) / n, p, p - half, p + half)


def _sorted(y_true: Any, y_prob: Any) -> tuple[Floats, Floats]:
    """Step 1: labels and probabilities, checked, in order of q; tied rows as given."""
    origin = _validate.Origin()
    y_array = _validate.one_dimensional(y_true, "y_true")
    q_array = _validate.one_dimensional(y_prob, "y_prob")
    _validate.same_length(y_true=y_array, y_prob=q_array)
    q = _validate.probabilities(q_array, origin)
    order = np.argsort(q, kind="stable")
    return _validate.labels(y_array, origin)[order].astype(np.float64), q[order]


def shared_labels(y: Floats, q: Floats) -> Floats:
    """Labels in order of q, each replaced by the mean label of the rows with the same q.

    >>> shared_labels(np.array([0.0, 1.0, 1.0]), np.array([0.2, 0.2, 0.7]))
    array([0.5, 0.5, 1. ])
    """
    ties = np.flatnonzero(np.diff(q, prepend=-1.0))
    count = np.diff(np.append(ties, len(q)))
    return np.repeat(np.add.reduceat(y, ties) / count, count)


def bin_starts(total: int, bin_size: int) -> Ints:
    """First row of each bin of `bin_size` rows out of `total`; a short last bin joins the one before.

    >>> bin_starts(7, 2)
    array([0, 2, 4])
    """
    return np.arange(max(1, total // bin_size)) * bin_size


def calibration_mse(y_true: Any, y_prob: Any, bin_size: int = BIN_SIZE, *, ties: Ties = "order") -> float:
    """The thesis's score, N⁻¹ Σ |B| (q̂ - p̂)².

    >>> round(calibration_mse([0, 1], [0.2, 0.6], bin_size=1), 6)
    0.1
    """
    return _mse(adaptive_bins(y_true, y_prob, bin_size, ties=ties))


def _mse(bins: PaperBins) -> float:
    return float(np.sum(bins.n * (bins.mean_prob - bins.mean_true) ** 2) / bins.n.sum())


def calibration_error(y_true: Any, y_prob: Any, bin_size: int = BIN_SIZE, *, ties: Ties = "order") -> float:
    """Algorithm 1: the root mean square of q̂ - p̂ over the bins. With ties="shared" it is not the paper's.

    >>> round(calibration_error([0, 1], [0.2, 0.6], bin_size=1), 6)
    0.316228
    """
    return float(np.sqrt(calibration_mse(y_true, y_prob, bin_size, ties=ties)))


def calibration_interval(
    y_true: Any, y_prob: Any, bin_size: int, n_samples: int = N_SAMPLES, rng: np.random.Generator | int | None = None
) -> Estimate:
    """Algorithm 2: draw p̂ ~ N(p̂, p̂(1-p̂)/n) per bin, clip to [0, 1], and compute the error of each draw;
    the interval is their mean, plus and minus 1.96 times their standard deviation.

    >>> calibration_interval([0, 1] * 500, [0.5] * 1000, bin_size=100, rng=0)
    0.0488 [0.0272, 0.0704]
    """
    return _interval(adaptive_bins(y_true, y_prob, bin_size), n_samples, _validate.generator(rng))


def _interval(bins: PaperBins, n_samples: int, rng: np.random.Generator) -> Estimate:
    sd = np.sqrt(bins.mean_true * (1.0 - bins.mean_true) / bins.n)
    weight = bins.n / bins.n.sum()
    errors = np.empty(n_samples)
    step = max(1, _BLOCK // len(bins.n))
    for first in range(0, n_samples, step):
        part = errors[first : first + step]
        p_samples = np.clip(rng.normal(bins.mean_true, sd, (len(part), len(sd))), 0.0, 1.0)
        part[:] = np.sqrt((p_samples - bins.mean_prob) ** 2 @ weight)
    centre, half = float(errors.mean()), float(Z * errors.std())
    return Estimate(centre, centre - half, centre + half)


@dataclass(frozen=True, slots=True)
class PaperNumbers(Record):
    """What the paper computes of one set of bins.

    `calibration` and `refinement` are the terms of Eq. 1, Σ w (q̂ - p̂)² and Σ w p̂ (1 - p̂). Their sum is the Brier score
    when each bin holds one value of q; `within_bins` is what it lacks otherwise.
    """

    __repr__ = shown_as("CalibErr {calib_err:.4f}, {n_bins} bins")

    calib_err: float
    interval: Estimate
    calibration: float
    refinement: float
    within_bins: float
    n_bins: int


@dataclass(frozen=True, slots=True)
class PaperCalibration(Result):
    """A calibration as the paper computes and draws it. Made by `howsure.check_paper`."""

    SHOWN = """verdict n bin_size n_samples tied_rows brier log_loss to_the_letter ties_shared underconfident_rows
        overconfident_rows bins notes source"""
    __repr__ = shown_as("CalibErr {to_the_letter.calib_err:.4f}, bin_size={bin_size:,}, n={n:,}")

    n: int
    bin_size: int
    n_samples: int
    tied_rows: int  # rows whose q another row has too
    brier: float
    log_loss: float | None  # None where a label came up that q had ruled out
    to_the_letter: PaperNumbers
    ties_shared: PaperNumbers
    bins: PaperBins  # to the letter
    notes: tuple[str, ...] = ()
    source: str = field(default="", compare=False)

    @property
    def underconfident_rows(self) -> int:
        """Rows in bins above the diagonal."""
        return int(self.bins.n[self.bins.side > 0].sum())

    @property
    def overconfident_rows(self) -> int:
        """Rows in bins below the diagonal."""
        return int(self.bins.n[self.bins.side < 0].sum())

    @property
    def verdict(self) -> str:
        """CalibErr, Algorithm 2's interval, and where the curve lies."""
        a = self.to_the_letter
        sides = {"under": ("above", self.underconfident_rows), "over": ("below", self.overconfident_rows)}
        where = [
            f"{side}confident (curve {place} the diagonal) in {100 * rows / self.n:.1f}% of the rows"
            for side, (place, rows) in sides.items()
            if rows
        ]
        return (
            f"CalibErr {a.calib_err:.4f} by Algorithm 1 with bins of {self.bin_size:,} rows; Algorithm 2 gives "
            f"{a.interval!r}. In the words of §3.3: {' and '.join(where) or 'the curve leaves the diagonal nowhere'}."
        )

    def table(self) -> list[dict[str, Any]]:
        """One row a bin."""
        return self.bins.to_dict()

    figure = drawn_by("howsure.plots.curves.paper_figure")
    layers = drawn_by("howsure.plots.curves.paper_layers")
    to_text = drawn_by("howsure.report.text.calibration.paper_text")
    to_html = drawn_by("howsure.report.pages.paper_page")


def analyse_paper(
    y_true: Any, y_prob: Any, bin_size: int, n_samples: int, rng: np.random.Generator, source: str = ""
) -> PaperCalibration:
    """Algorithms 1 and 2 in both versions, and Eq. 1."""
    y, q = _sorted(y_true, y_prob)
    brier = float(np.mean((y - q) ** 2))
    with np.errstate(divide="ignore"):
        loss = float(-np.mean(np.where(y > 0, np.log(q), np.log1p(-q))))
    seed = int(rng.integers(1 << 62))  # both versions draw alike, so that they differ by their bins only
    drawn = adaptive_bins(y, q, bin_size)
    letter = _numbers(drawn, brier, n_samples, seed)
    shared = _numbers(adaptive_bins(y, q, bin_size, ties="shared"), brier, n_samples, seed)
    count = np.diff(np.append(np.flatnonzero(np.diff(q, prepend=-1.0)), len(q)))
    tied = int(count[count > 1].sum())
    parted = tied if abs(letter.calib_err - shared.calib_err) > 1e-12 else 0
    notes = _notes(len(q), bin_size, parted)
    return PaperCalibration(
        len(q), bin_size, n_samples, tied, brier, finite(loss), letter, shared, drawn, notes, source
    )


def _numbers(bins: PaperBins, brier: float, n_samples: int, seed: int) -> PaperNumbers:
    mse = _mse(bins)
    refinement = float(np.sum(bins.n * bins.mean_true * (1.0 - bins.mean_true)) / bins.n.sum())
    interval = _interval(bins, n_samples, np.random.default_rng(seed))
    return PaperNumbers(float(np.sqrt(mse)), interval, mse, refinement, brier - mse - refinement, len(bins))


def _notes(n: int, bin_size: int, parted: int) -> tuple[str, ...]:
    said = []
    if n < 2 * bin_size:
        said.append(
            f"{n:,} rows make one bin of {bin_size:,}: there is no curve. The paper's smallest bins have {LEAST_BIN_SIZE} rows; "
            f"`bin_size={LEAST_BIN_SIZE}` uses them."
        )
    elif bin_size < LEAST_BIN_SIZE:
        said.append(f"The paper uses bins of {LEAST_BIN_SIZE} rows at least, for its normal approximation.")
    if parted:
        said.append(
            f"{parted:,} rows share their q with others, and bins cut through them: to the letter the number depends on the order "
            "of the rows. With ties shared it does not; that version is ours."
        )
    said.append(
        "Algorithm 1 counts sampling noise as miscalibration, and Algorithm 2 adds it a second time. `howsure.check` "
        "estimates the error without that noise."
    )
    return tuple(said)
