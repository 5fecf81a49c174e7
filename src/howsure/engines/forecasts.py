"""Predictive distributions to a sketch of PIT values: arrays, frozen distributions, and tables on any engine."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import Origin
from howsure.calibration.forecasts.pit import PitSketch, for_draws, for_levels, for_values
from howsure.engines.rows import ArrayRows, Chunk
from howsure.errors import InputError
from howsure.kernels.pit import fair_crps, level_spans, mean_pinball, rank_spans

CHUNK_VALUES = 1 << 21  # numbers in memory at a time


@dataclass(frozen=True, slots=True)
class PitWork:
    """Outcomes `y` and their draws or, with `levels`, quantiles: columns of a table, or one matrix."""

    true: str
    names: tuple[str, ...]  # of the columns; none of a matrix
    levels: tuple[float, ...] | None
    n_columns: int

    def __call__(self, chunks: Iterator[Chunk]) -> PitSketch:
        levels = None if self.levels is None else np.array(self.levels)
        builder = for_draws(self.n_columns) if levels is None else for_levels(levels)
        what, step = "draws" if levels is None else "quantiles", rows_at_a_time(self.n_columns)
        for whole in chunks:
            for start in range(0, len(whole["y"]), step):
                part, first = slice(start, start + step), (whole.first or 0) + start
                origin = Origin(self.true, what, "", first, bool(self.names), whole.first is not None)
                y = _validate.outcomes(_numbers(whole["y"][part]), origin)
                parts = [_numbers(whole[f"q{i}"][part]) for i in range(len(self.names))]
                matrix = np.stack(parts, axis=1) if parts else whole["x"][part]
                x = _validate.forecasts(matrix, origin, self.names or None)
                if levels is None:
                    builder.add_spans(*rank_spans(y, x), fair_crps(y, x))
                else:
                    _validate.uncrossed(x, levels, origin)
                    builder.add_spans(*level_spans(y, x), mean_pinball(y, x, levels))
        return builder.finish()


def _numbers(column: Any) -> NDArray[Any]:
    if isinstance(column, np.ndarray):
        return column
    from howsure.engines.tables import as_numpy

    return as_numpy(column)


def rows_at_a_time(n_columns: int) -> int:
    """How many rows of forecasts are worked on at once."""
    return max(CHUNK_VALUES // (n_columns + 1), 256)


def sketch_forecasts(y_true: NDArray[Any], forecasts: NDArray[Any], levels: NDArray[np.float64] | None) -> PitSketch:
    """Arrays: draws when `levels` is None, else quantiles."""
    work = PitWork("y_true", (), None if levels is None else tuple(levels.tolist()), forecasts.shape[1])
    return ArrayRows({"y": y_true, "x": forecasts}).fold(work)


def sketch_distribution(y_true: NDArray[Any], distribution: Any, rng: np.random.Generator) -> PitSketch:
    """A frozen distribution: F(y) or, if it has a `pmf`, a random place between F(y-) and F(y)."""
    origin = Origin(prob="distribution.cdf")
    y = _validate.outcomes(y_true, origin)
    pit = np.asarray(distribution.cdf(y))
    if pit.shape != y.shape:
        raise InputError(
            f"`distribution.cdf` gave shape {pit.shape} for {len(y):,} outcomes; parameters must fit them."
        )
    if hasattr(distribution, "pmf"):  # 0 everywhere for SciPy's newer continuous ones, which does no harm
        pit = np.clip(pit - rng.random(len(y)) * np.asarray(distribution.pmf(y)), 0.0, 1.0)
    builder = for_values()
    builder.add_values(_validate.probabilities(pit, origin))
    return builder.finish()
