"""A calibration error as a widely copied script computes it, to tell such numbers from right ones.

The script (Hendrycks et al.'s `calib_err`, β = 100, used by Humanity's Last Exam among others) sorts by confidence, makes
⌊n/β⌋ bins of β rows, stretches the last one to the end, and then sums over all bins *but the last*: the β to 2β - 1 most
confident rows are ignored, though the sum is still divided by n.
"""

from dataclasses import dataclass

import numpy as np

from howsure._result import Result, shown_as
from howsure.errors import InputError
from howsure.kernels.cells import Floats


@dataclass(frozen=True, slots=True)
class CopiedError(Result):
    """The number as published, the same with no row left out, and how many rows were."""

    DRAWN = "-it is one number; check the same rows for the curve"
    SHOWN = "value with_all_rows ignored n beta"
    __repr__ = shown_as("{value:.4f}, ignoring {ignored:,} of {n:,} rows; {with_all_rows:.4f} with them")

    value: float
    with_all_rows: float
    ignored: int
    n: int
    beta: int

    @property
    def verdict(self) -> str:
        """The copied error, and what it leaves out."""
        return (
            f"As the widely copied script computes it (bins of {self.beta}, last bin left out): {self.value:.4f}, ignoring "
            f"the {self.ignored:,} most confident of {self.n:,} rows. With them it would be {self.with_all_rows:.4f}, "
            "sampling noise included; the debiased error above has neither fault."
        )


def copied_error(y_true: Floats, y_prob: Floats, beta: int = 100) -> CopiedError:
    """The β-binned RMS error with the last bin left out, beside the one with it."""
    n = len(y_prob)
    count = n // beta
    if count < 2:
        raise InputError(f"the copied error needs 2 x {beta} rows at least; there are {n:,}.")
    order = np.argsort(y_prob, kind="stable")
    gap = (y_prob - y_true)[order]
    starts = np.arange(count) * beta
    size = np.diff(np.append(starts, n))
    square = size * (np.add.reduceat(gap, starts) / size) ** 2 / n
    return CopiedError(float(np.sqrt(square[:-1].sum())), float(np.sqrt(square.sum())), int(size[-1]), n, beta)
