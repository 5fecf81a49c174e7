"""`howsure check`: are these probabilities right?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from howsure import _validate
from howsure.calibration.analysis import analyse
from howsure.calibration.result import Calibration, Slice
from howsure.calibration.sketch import Sketch
from howsure.errors import InputError


def check(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: int | str | None = None,
    sample_weight: Any = None,
    by: Any = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    logits: bool = False,
    prob: str | None = None,
    true: str | None = None,
    positive: Any = None,
    where: str | None = None,
) -> Calibration:
    """How calibrated are predicted probabilities, given what came true?

    Parameters
    ----------
    y_true : array of 0 and 1, shape (n,); or a table
        Whether each prediction came true. A path (CSV, TSV, JSON lines, Parquet, Arrow; a glob; ``-``) or a data
        frame (pandas, polars, Arrow) may be given instead of two arrays.
    y_prob : array of probabilities, shape (n,)
        The probability that the model gave to 1.
    bins : int, "width:K", "isotonic" or None
        The bins drawn: of so many rows each, K of equal width, or the blocks of the isotonic fit. By default the
        number of rows of least leave-one-out risk. The error is estimated on bins of its own.
    sample_weight : array of whole numbers, shape (n,); or a column's name
        How often each row counts.
    by : array, shape (n,); or a column's name
        Analyse each of its values too.
    confidence_level : float
        Of all intervals.
    rng : Generator, int or None
        Seeds the simulated consistency band.
    logits : bool
        `y_prob` holds log-odds.
    prob, true, positive, where
        For tables: the columns' names when they cannot be guessed, the label that counts as 1, and an SQL
        condition on the rows.

    Returns
    -------
    Calibration
        Numbers with intervals, bins, tests, a verdict in words; `.plot()`, `.to_dict()`.

    Notes
    -----
    One pass, constant memory: see `howsure.calibration.sketch`. Formulas and simulations: docs/theory.md.

    References
    ----------
    Nguyen & O'Connor, Posterior calibration and exploratory analysis for NLP models, EMNLP 2015.

    Examples
    --------
    >>> import howsure
    >>> c = howsure.check([0, 0, 0, 1, 1, 1], [0.4, 0.3, 0.2, 0.1, 0.5, 0.9])
    >>> round(c.brier.value, 7), round(c.brier.miscalibration, 7)
    (0.2266667, 0.1016667)
    """
    bins = _validate.bins(bins)
    level = _validate.fraction(confidence_level, "confidence_level")
    generator = _validate.generator(rng)
    width = int(bins[6:]) if isinstance(bins, str) and bins.startswith("width:") else None
    if y_prob is None:
        sketch, slices, source, column = _from_table(
            y_true, prob, true, positive, where, sample_weight, by, logits, width
        )
    else:
        if any(v is not None for v in (prob, true, where)):
            raise InputError("`prob`, `true` and `where` name parts of a table; with arrays leave them out.")
        sketch, slices, column = _from_arrays(y_true, y_prob, positive, sample_weight, by, logits, width)
        source = "arrays"
    if sketch.n == 0:
        raise InputError("there are no rows to check" + (": --where kept none." if where else "."))
    whole = analyse(sketch, bins=bins, confidence_level=level, rng=generator, source=source)
    if slices is None:
        return whole
    return replace(whole, by=column, slices=_slice_table(slices, None if width else bins, level))


def _from_arrays(
    y_true: Any, y_prob: Any, positive: Any, sample_weight: Any, by: Any, logits: bool, width: int | None
) -> tuple[Sketch, dict[str, Sketch] | None, str | None]:
    from howsure.engines.memory import sketch_arrays

    y = _validate.one_dimensional(y_true, "y_true")
    q = _validate.one_dimensional(y_prob, "y_prob")
    if positive is not None:
        y = y == positive
    given = {"y_true": y, "y_prob": q}
    weight = None
    if sample_weight is not None:
        weight = given["sample_weight"] = _validate.one_dimensional(sample_weight, "sample_weight")
    if by is not None:
        given["by"] = _validate.one_dimensional(by, "by")
    _validate.same_length(**given)
    sketch = sketch_arrays(y, q, weight, logits=logits, width=width)
    if by is None:
        return sketch, None, None
    import pyarrow as pa

    from howsure.engines.slices import SlicedSketchBuilder, SliceNames

    origin = _validate.Origin()
    names, builder = SliceNames(), SlicedSketchBuilder()
    codes = names.codes(pa.array(given["by"], from_pandas=True))
    builder.add(
        codes,
        _validate.labels(y, origin),
        _validate.probabilities(q, origin, logits=logits),
        None if weight is None else _validate.weights(weight, origin),
    )
    return sketch, _named(builder.finish(), names.names), "by"


def _from_table(
    source: Any,
    prob: str | None,
    true: str | None,
    positive: Any,
    where: str | None,
    weight: str | None,
    by: str | None,
    logits: bool,
    width: int | None,
) -> tuple[Sketch, dict[str, Sketch] | None, str, str | None]:
    from howsure.engines.columns import check_positive, pair_columns
    from howsure.engines.files import Reading, read_batches, sketch_table
    from howsure.engines.slices import SlicedSketchBuilder, SliceNames
    from howsure.engines.tables import Table

    if not isinstance(source, str | Path) and not hasattr(source, "columns") and not hasattr(source, "column_names"):
        raise InputError("give `y_true` and `y_prob`, or a path or a data frame.")
    with Table(source) as table:
        columns = pair_columns(table, prob, true, positive, where)
        reading = Reading(
            columns,
            None if weight is None else table.column(weight).name,
            None if by is None else table.column(by).name,
            where=where,
            logits=logits,
        )
        slices = None
        if by is None:
            sketch = sketch_table(table, reading, width)
        else:
            from howsure.calibration.sketch import SketchBuilder

            names, builder, whole = SliceNames(), SlicedSketchBuilder(), SketchBuilder(width)
            for batch in read_batches(table, reading):
                whole.add(batch.y, batch.q, batch.weight)
                builder.add(names.codes(batch.by), batch.y, batch.q, batch.weight)
            sketch, slices = whole.finish(), _named(builder.finish(), names.names)
        check_positive(table, columns, sketch.n_positive, where)
        return sketch, slices, table.name, reading.by


def _named(sketches: dict[int, Sketch], names: list[str]) -> dict[str, Sketch]:
    return {names[code]: sketch for code, sketch in sketches.items()}


def _slice_table(slices: dict[str, Sketch], bins: int | str | None, level: float) -> tuple[Slice, ...]:
    """Each slice analysed, worst first: by the lower limit of its error, then the error, then the name."""
    found = [(name, analyse(s, bins=bins, confidence_level=level)) for name, s in slices.items()]
    adjusted = _benjamini_hochberg([c.p_value for _, c in found])
    made = [Slice(name, c, p) for (name, c), p in zip(found, adjusted, strict=True)]

    def badness(s: Slice) -> tuple[float, float, str]:
        e = s.calibration.error
        return (0.0, 0.0, s.name) if e is None else (-(e.low or 0.0), -e.value, s.name)

    return tuple(sorted(made, key=badness))


def _benjamini_hochberg(p_values: list[float | None]) -> list[float | None]:
    """Adjusted p-values; slices without one keep none."""
    known = np.array([p for p in p_values if p is not None])
    order = np.argsort(known)[::-1]
    scaled = known[order] * len(known) / (len(known) - np.arange(len(known)))
    adjusted = np.empty(len(known))
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    rest = iter(adjusted.tolist())
    return [None if p is None else next(rest) for p in p_values]
