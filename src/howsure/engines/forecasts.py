"""Predictive distributions to a sketch of PIT values: arrays, frozen distributions, and tables of any size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import Origin
from howsure.calibration.forecasts.pit import PitBuilder, PitSketch, for_draws, for_levels, for_values
from howsure.engines.columns import TRUE_NAMES, guessed_column
from howsure.engines.tables import Table, as_numpy, first_missing, quoted
from howsure.errors import InputError
from howsure.kernels.cells import Floats
from howsure.kernels.pit import fair_crps, level_spans, mean_pinball, rank_spans

CHUNK_VALUES = 1 << 21  # numbers in memory at a time


@dataclass(frozen=True, slots=True)
class ForecastColumns:
    """The columns of a table that hold outcomes and their forecasts: draws, or quantiles in order of their levels."""

    true: str
    names: tuple[str, ...]
    levels: tuple[float, ...] | None


class _Folder:
    """Takes batches of outcomes and forecasts, in order."""

    def __init__(self, n_columns: int, levels: Floats | None) -> None:
        self._levels = levels
        self.builder: PitBuilder = for_draws(n_columns) if levels is None else for_levels(levels)

    def add(self, y: NDArray[Any], x: NDArray[Any], origin: Origin, names: Sequence[str] | None = None) -> None:
        outcomes, forecasts = _validate.outcomes(y, origin), _validate.forecasts(x, origin, names)
        if self._levels is None:
            self.builder.add_spans(*rank_spans(outcomes, forecasts), fair_crps(outcomes, forecasts))
        else:
            _validate.uncrossed(forecasts, self._levels, origin)
            scores = mean_pinball(outcomes, forecasts, self._levels)
            self.builder.add_spans(*level_spans(outcomes, forecasts), scores)


def sketch_forecasts(y_true: NDArray[Any], forecasts: NDArray[Any], levels: Floats | None) -> PitSketch:
    """Arrays: draws when `levels` is None, else quantiles."""
    folder = _Folder(forecasts.shape[1], levels)
    origin = Origin(prob="draws" if levels is None else "quantiles")
    for part, here in _chunks(len(y_true), forecasts.shape[1], origin):
        folder.add(y_true[part], forecasts[part], here)
    return folder.builder.finish()


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


def sketch_forecast_table(table: Table, columns: ForecastColumns, where: str | None) -> PitSketch:
    """A table of any size, batch by batch."""
    names = columns.names
    folder = _Folder(len(names), None if columns.levels is None else np.array(columns.levels))
    origin = Origin(columns.true, "draws" if columns.levels is None else "quantiles", from_file=True)
    expressions = [f"TRY_CAST({quoted(name)} AS DOUBLE)" for name in (columns.true, *names)]
    for record in table.batches(expressions, where, rows=_rows_at_a_time(len(names))):
        for name, column in zip((columns.true, *names), record.columns, strict=True):
            if column.null_count:
                _explain_missing(table, name, first_missing(column), origin, where)
        matrix = np.empty((record.num_rows, len(names)))
        for i, column in enumerate(record.columns[1:]):
            matrix[:, i] = as_numpy(column)
        folder.add(as_numpy(record.columns[0]), matrix, origin, names)
        origin = replace(origin, first=origin.first + record.num_rows)
    return folder.builder.finish()


def forecast_columns(
    table: Table, true: str | None, draws: str | None = None, quantiles: str | None = None
) -> ForecastColumns:
    """The columns that a glob names; those of quantiles tell their level by the number at the end of their name."""
    glob, option = (draws, "--draws") if draws is not None else (quantiles, "--quantiles")
    assert glob is not None
    label = table.column(true).name if true else None
    found = [c.name for c in table.columns if fnmatchcase(c.name, glob) and c.name != label]
    if not found:
        hint = _validate.nearest(glob.strip("*?"), [c.name for c in table.columns])
        raise InputError(f"no column of {table.name} matches {option} {glob!r}.{hint}")
    if label is None:
        label = guessed_column(table, TRUE_NAMES, "outcome", "--true", skip=()).name
        found = [name for name in found if name != label]
    if len(found) < 2:
        raise InputError(f"{option} {glob!r} names one column of {table.name}; two at least are needed.")
    if draws is not None:
        return ForecastColumns(label, tuple(found), None)
    by_level = sorted((level_of(name), name) for name in found)
    for (one, a), (two, b) in pairwise(by_level):
        if one == two:
            raise InputError(f"`{a}` and `{b}` are both the quantile of level {one:.6g}; --quantiles must name one.")
    return ForecastColumns(label, tuple(name for _, name in by_level), tuple(level for level, _ in by_level))


def level_of(name: str) -> float:
    """The number at the end of a column's name: below 1 a level, from 1 up a percentage (q0.05, q05, q_5 and q5)."""
    match = re.search(r"(\d+(?:\.\d*)?|\.\d+)\D*$", name)
    value = float(match[1]) if match else 0.0
    level = value if value < 1.0 else round(value / 100.0, 12)
    if not 0.0 < level < 1.0:
        raise InputError(
            f"`{name}` does not tell its level: a column of quantiles ends in a number, "
            "below 1 a level (q0.05), from 1 to 99 a percentage (q5)."
        )
    return level


def _chunks(n: int, n_columns: int, origin: Origin) -> Iterator[tuple[slice, Origin]]:
    size = _rows_at_a_time(n_columns)
    for first in range(0, n, size):
        yield slice(first, first + size), replace(origin, first=first)


def _rows_at_a_time(n_columns: int) -> int:
    return max(CHUNK_VALUES // (n_columns + 1), 256)


def _explain_missing(table: Table, name: str, index: int, origin: Origin, where: str | None) -> None:
    """A value that is missing or could not be read as a number: say what stands there."""
    row = origin.first + index
    found = table.value_at(quoted(name), row, where)
    if found is None:
        raise _validate.BadRow(f"`{name}` is missing or NaN in {origin.at(index)}.", row)
    raise _validate.BadRow(f"`{name}` must hold numbers; got {found!r} in {origin.at(index)}.", row)
