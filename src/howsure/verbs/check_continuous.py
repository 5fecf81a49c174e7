"""`howsure check --draws` and `--quantiles`: are these predictive distributions right?"""

from pathlib import Path
from typing import Any

import numpy as np

from howsure import _validate
from howsure.calibration.forecasts.analysis import analyse_pit
from howsure.calibration.forecasts.pit import PitSketch
from howsure.calibration.forecasts.result import ContinuousCalibration
from howsure.engines.engine import Engine, engine_of
from howsure.engines.forecasts import PitWork, rows_at_a_time, sketch_distribution, sketch_forecasts
from howsure.errors import InputError

_NO_CRPS = "The CRPS is left out: howsure computes it from draws or quantiles, not from a distribution."


def check_continuous(
    y_true: Any,
    draws: Any = None,
    *,
    quantiles: Any = None,
    levels: Any = None,
    distribution: Any = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    true: str | None = None,
    where: str | None = None,
    engine: Engine | str | None = None,
) -> ContinuousCalibration:
    """How calibrated are predictive distributions of a number, given what happened?

    Each outcome is placed in its own forecast: PIT = F(y), the share of the forecast below y. Calibrated, PIT values
    are uniform on [0, 1]. Too many near 0 and 1: the forecasts are too narrow; too few: too wide.

    Parameters
    ----------
    y_true : array, shape (n,); or a table
        What happened. A path or a data frame may be given instead; then `draws` or `quantiles` is a glob of columns.
    draws : array, shape (n, S); or a glob such as "s_*"
        S ≥ 2 independent draws from each row's forecast.
    quantiles : array, shape (n, L); or a glob such as "q*"
        Quantiles of each row's forecast. In a table the number at the end of a column's name is its level: below 1
        as it is (q0.05), from 1 up in per cent (q5, q05, q_5).
    levels : array, shape (L,)
        Levels of the quantiles, increasing, strictly between 0 and 1.
    distribution : object with a vectorised `cdf`
        Such as ``scipy.stats.norm(mean, sd)`` with n means. If it has a `pmf` it is taken as discrete.
    confidence_level : float
        Of the simultaneous band and all intervals.
    rng : Generator, int or None
        Seeds the places of outcomes between draws or quantiles (see Notes).
    true, where
        For tables: the column of outcomes when it cannot be guessed, and an SQL condition on the rows.
    engine : Engine or str
        Where a table is read: "memory", "files" or "spark", or a `howsure.Engine` with its settings. Numbers are
        the same on all.

    Returns
    -------
    ContinuousCalibration
        Shift and spread, coverage of central intervals, CRPS, tests, a verdict in words; `.plot()`, `.to_dict()`.

    Notes
    -----
    S draws do not tell F(y), only its place among them: with r draws below y and t equal to it, F(y) is put at random
    between r/(S+1) and (r+t+1)/(S+1). Without the random part PIT values would lie on S+1 points, or fewer with ties,
    and could not be uniform even for perfect forecasts. Quantiles tell F(y) between two levels; it is put at random
    there too. (Linear interpolation is not used: it assumes a shape of F, and rejects calibrated forecasts.)

    Rows are taken as independent. One pass, constant memory: see `howsure.calibration.forecasts.pit`. Formulas and simulations:
    docs/evidence/theory.md.

    References
    ----------
    Cook, Gelman & Rubin, Validation of software for Bayesian models using posterior quantiles, JCGS 2006.
    Säilynoja, Bürkner & Vehtari, Graphical test for discrete uniformity, Statistics and Computing 2022.

    Examples
    --------
    >>> import numpy as np, howsure
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.normal(size=2000)
    >>> y = rng.normal(mean, 1.0)
    >>> draws = rng.normal(mean[:, None], 0.5, (2000, 99))
    >>> howsure.check_continuous(y, draws).width
    'overconfident'
    """
    level = _validate.fraction(confidence_level, "confidence_level")
    generator = _validate.generator(rng)
    given = {"draws": draws, "quantiles": quantiles, "distribution": distribution}
    kinds = [name for name, value in given.items() if value is not None]
    if len(kinds) != 1:
        raise InputError(
            "give one of `draws`, `quantiles` and `distribution`" + (f"; got {' and '.join(kinds)}." if kinds else ".")
        )
    kind, name = kinds[0], "data"
    if isinstance(given[kind], str):
        sketch, name = _from_table(y_true, (true, draws, quantiles), levels, where, engine)
    else:
        if true is not None or where is not None:
            raise InputError("`true` and `where` name parts of a table; with arrays leave them out.")
        sketch = _from_arrays(y_true, kind, given[kind], levels, generator)
    if sketch.n == 0:
        raise InputError("there are no rows to check" + (": `where=` kept none." if where else "."))
    notes = (_NO_CRPS,) if kind == "distribution" else ()
    return analyse_pit(sketch, kind, confidence_level=level, rng=generator, source=name, notes=notes)


def _from_arrays(y_true: Any, kind: str, forecast: Any, levels: Any, rng: np.random.Generator) -> PitSketch:
    if isinstance(y_true, str | Path):
        raise InputError(f"with a path, `{kind}` must be a glob of column names, such as 's_*'.")
    y = _validate.one_dimensional(y_true, "y_true")
    if kind != "quantiles" and levels is not None:
        raise InputError("`levels` go with `quantiles`; leave them out.")
    if kind == "distribution":
        if not callable(getattr(forecast, "cdf", None)):
            raise InputError(f"`distribution` must have a `cdf`, as scipy.stats.norm(mean, sd) has; got {forecast!r}.")
        _validate.same_length(y_true=y)
        return sketch_distribution(y, forecast, rng)
    matrix = _validate.two_dimensional(forecast, kind, 2)
    _validate.same_length(**{"y_true": y, kind: matrix})
    if kind == "quantiles" and levels is None:
        raise InputError("`quantiles` need their `levels`, such as [0.05, 0.5, 0.95].")
    return sketch_forecasts(y, matrix, None if levels is None else _validate.levels(levels, matrix.shape[1]))


def _from_table(
    source: Any, named: tuple[str | None, ...], levels: Any, where: str | None, engine: Engine | str | None
) -> tuple[PitSketch, str]:
    from howsure.engines.columns import forecast_columns
    from howsure.engines.items import is_table, items_from_table, open_table

    if levels is not None:
        raise InputError("in a table the names of the columns tell the levels; leave `levels` out.")
    if not is_table(source):
        raise InputError("a glob of columns needs a path or a data frame.")
    with open_table(source, engine_of(engine)) as table:
        outcome, columns, found = forecast_columns(table, *named)
        k = len(columns)
        asked: dict[str, Any] = {"where": where, "outcome": True, "batch_rows": rows_at_a_time(k)}
        with items_from_table(table, true=outcome, probs=columns, **asked) as rows:
            work = PitWork(outcome.name, rows.items.probs, None if found is None else tuple(found), k)
            return rows.rows.fold(work), rows.name
