"""`howsure check`: are these probabilities right?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from howsure import _validate
from howsure.calibration.analysis import analyse, filing
from howsure.calibration.curves.smooth import Curve, smooth_curve
from howsure.calibration.packed_slices import slice_table
from howsure.calibration.result import Calibration
from howsure.engines.engine import engine_of
from howsure.errors import InputError

if TYPE_CHECKING:
    from howsure.calibration.estimation.copied import CopiedError
    from howsure.calibration.multiclass import MulticlassCalibration
    from howsure.engines.engine import Engine
    from howsure.engines.pair_rows import PairRows


def check(
    y_true: Any,
    y_prob: Any = None,
    *,
    bins: int | str | None = None,
    curve: str | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    by: Any = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    logits: bool = False,
    prob: str | None = None,
    true: str | None = None,
    positive: Any = None,
    where: str | None = None,
    normalise: bool = False,
    classes: Sequence[str] | None = None,
    engine: Engine | str | None = None,
) -> Calibration | MulticlassCalibration:
    """How calibrated are predicted probabilities, given what came true?

    Parameters
    ----------
    y_true : array of 0 and 1, shape (n,); or a table
        Whether each prediction came true. A path (CSV, TSV, JSON lines, Parquet, Arrow; a glob; ``-``) or a data
        frame (pandas, polars, Arrow) may be given instead of two arrays.
    y_prob : array of probabilities, shape (n,) or (n, K)
        The probability that the model gave to 1; or to each of K classes, `y_true` holding the number of the class.
    bins : int, "width:K", "isotonic" or None
        The bins drawn: of so many rows each, K of equal width, or the blocks of the isotonic fit. By default the
        number of rows of least leave-one-out risk. The error is estimated on bins of its own.
    curve : str
        A curve without bins too: "kernel", "local-linear" (both also ":logit"), "kernel-bootstrap",
        "neighbours", "isotonic" or "gp".
    sample_weight : array of whole numbers, shape (n,); or a column's name
        How often each row counts.
    groups : array, shape (n,); or a column's name
        What is dependent: the document, sentence or annotator a row comes from. Intervals and tests then treat
        groups, not rows, as independent.
    by : array, shape (n,); or a column's name
        What is compared: each of its values is analysed too.
    confidence_level : float
        Of all intervals.
    rng : Generator, int or None
        Seeds the simulated consistency band.
    logits : bool
        `y_prob` holds log-odds.
    prob, true, positive, where
        For tables: the columns' names when they cannot be guessed, the label that counts as 1, and an SQL
        condition on the rows. A pattern such as ``p_*``, or a column of lists, maps or structs, holds the
        probabilities of many classes.
    normalise : bool
        Divide the probabilities of many classes by their sum when it is not one.
    classes : sequence of str
        Names of the classes in the order of the columns of a (n, K) `y_prob`; labels are then names too.
    engine : Engine or str
        Where a table is read: "memory", "files" or "spark", or a `howsure.Engine` with its settings. Numbers are
        the same on all.

    Returns
    -------
    Calibration, or MulticlassCalibration for many classes
        Numbers with intervals, bins, tests, a verdict in words; `.plot()`, `.to_dict()`.

    Notes
    -----
    One pass, constant memory: see `howsure.calibration.sketch`. Formulas and simulations: docs/evidence/theory.md.

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
    chosen = engine_of(engine)
    if has_classes(y_true, y_prob, prob, chosen):
        for keyword, value in (("by", by), ("sample_weight", sample_weight), ("positive", positive), ("curve", curve)):
            if value is not None:
                raise InputError(f"`{keyword}` does not go with the probabilities of many classes.")
        if logits:
            raise InputError("give many classes as probabilities, not logits.")
        if chosen.kind != "auto" or chosen.master or chosen.memory or chosen.skip_bad_files:
            raise InputError("the probabilities of many classes are read into memory: leave the engine's options out.")
        return _check_classes(y_true, y_prob, prob, true, where, groups, normalise, classes, bins, level, generator)
    if y_prob is None:
        rows = _table_rows(y_true, prob, true, positive, where, sample_weight, by, groups, logits, chosen)
    else:
        if any(v is not None for v in (prob, true, where)):
            raise InputError("`prob`, `true` and `where` name parts of a table; with arrays leave them out.")
        rows = _array_rows(y_true, y_prob, positive, sample_weight, by, groups, logits)
    with rows:
        return _check_rows(rows, bins, level, generator, curve, width)


def _check_rows(
    rows: PairRows, bins: int | str | None, level: float, rng: np.random.Generator, curve: str | None, width: int | None
) -> Calibration:
    slice_bins = None if width else bins
    found = None if rows.by is None else rows.slices(slice_bins, level)
    sketch = rows.sketch(width) if found is None or width else found.whole
    rows.check_positive(sketch.n_positive)
    if sketch.n == 0:
        raise InputError("there are no rows to check" + (": --where kept none." if rows.where else "."))
    smooth = None if curve is None else smooth_curve(sketch, curve, level)
    with rows.grouped(filing(sketch, bins, level)) as clusters:
        whole = analyse(sketch, bins=bins, confidence_level=level, rng=rng, clusters=clusters, source=rows.name)
    if whole.n_groups == 1:
        raise InputError(f"all rows are in one group of `{rows.groups}`; intervals need two groups at least.")
    notes = (*rows.notes, *whole.notes, *_curve_notes(smooth, whole.n_groups))
    whole = replace(whole, curve=smooth, notes=notes)
    return whole if found is None else replace(whole, by=rows.by, slices=slice_table(found.found))


def _curve_notes(curve: Curve | None, n_groups: int | None) -> tuple[str, ...]:
    if curve is None or n_groups is None:
        return ()
    return ("The smooth curve's band treats rows as independent; no version for groups is derived.",)


def error_like(
    kind: str,
    source: Any,
    *,
    prob: str | None = None,
    true: str | None = None,
    positive: Any = None,
    where: str | None = None,
    logits: bool = False,
) -> CopiedError:
    """The calibration error of a table as others compute it, to compare with published numbers: "hle"."""
    from howsure.calibration.estimation.copied import copied_error

    if kind != "hle":
        raise InputError(f"--like knows hle; got {kind!r}.")
    if str(source) == "-":
        raise InputError("--like reads the rows again: give a file, not standard input.")
    with _table_rows(source, prob, true, positive, where, None, None, None, logits, engine_of("files")) as rows:
        batch = rows.collected()
    if not len(batch.y):
        raise InputError("there are no rows to check.")
    return copied_error(batch.y.astype(np.float64), batch.q)


def has_classes(y_true: Any, y_prob: Any, prob: str | None, engine: Engine | None = None) -> bool:
    """Whether the input is the probabilities of many classes."""
    if y_prob is not None:
        return np.ndim(y_prob) == 2
    if prob is None or not (isinstance(y_true, str | Path) or hasattr(y_true, "columns")):
        return False
    if any(c in prob for c in "*?["):
        return True
    from howsure.engines.sources import is_spark_frame
    from howsure.engines.tables import Table

    if (engine is not None and engine.kind != "auto") or is_spark_frame(y_true):
        return False  # a nested column is refused there
    if str(y_true) == "-":  # standard input can be read once: a pattern says that there are classes
        return False
    with Table(y_true) as table:
        return table.column(prob).is_nested


def _array_rows(
    y_true: Any, y_prob: Any, positive: Any, sample_weight: Any, by: Any, groups: Any, logits: bool
) -> PairRows:
    from howsure.engines.pair_rows import pairs_from_arrays

    given = {
        "y_true": _validate.positives(y_true, positive),
        "y_prob": _validate.one_dimensional(y_prob, "y_prob"),
    }
    for name, value in (("sample_weight", sample_weight), ("by", by), ("groups", groups)):
        if value is not None:
            given[name] = _validate.one_dimensional(value, name, numbers=name == "sample_weight")
    _validate.same_length(**given)
    return pairs_from_arrays(**given, logits=logits)


def _table_rows(
    source: Any,
    prob: str | None,
    true: str | None,
    positive: Any,
    where: str | None,
    weight: str | None,
    by: str | None,
    groups: str | None,
    logits: bool,
    engine: Engine,
) -> PairRows:
    from howsure.engines.pair_rows import pairs_from_table
    from howsure.engines.sources import is_table

    if not is_table(source):
        raise InputError("give `y_true` and `y_prob`, or a path or a data frame.")
    for keyword, value in (("sample_weight", weight), ("by", by), ("groups", groups)):
        if value is not None and not isinstance(value, str):
            raise InputError(f"with a table, `{keyword}` names one of its columns; got a {type(value).__name__}.")
    return pairs_from_table(
        source,
        prob=prob,
        true=true,
        positive=positive,
        where=where,
        weight=weight,
        by=by,
        groups=groups,
        logits=logits,
        engine=engine,
    )


def _check_classes(
    y_true: Any,
    y_prob: Any,
    prob: str | None,
    true: str | None,
    where: str | None,
    groups: Any,
    normalise: bool,
    classes: Sequence[str] | None,
    bins: int | str | None,
    level: float,
    rng: np.random.Generator,
) -> MulticlassCalibration:
    from howsure.calibration.multiclass import analyse_classes
    from howsure.engines.classes import classes_from_arrays, classes_from_table
    from howsure.engines.tables import Table

    if y_prob is not None:
        rows = classes_from_arrays(y_true, y_prob, classes, groups, normalise)
    else:
        with Table(y_true) as table:
            assert prob is not None
            rows = classes_from_table(table, prob, true, where, groups, classes, normalise)
    if rows.groups is not None and rows.groups.max() < 1:
        raise InputError("all rows are in one group; intervals need two groups at least.")
    return analyse_classes(
        rows.y,
        rows.probs,
        rows.classes,
        groups=rows.groups,
        bins=bins,
        confidence_level=level,
        rng=rng,
        source=rows.source,
    )
