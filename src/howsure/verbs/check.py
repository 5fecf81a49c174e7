"""`howsure check`: are these probabilities right?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from howsure import _validate, _written
from howsure._validate import BadRow, Origin
from howsure.calibration.analysis import analyse, filing
from howsure.calibration.result import Calibration, slice_table
from howsure.calibration.sketch import Sketch, SketchBuilder
from howsure.errors import InputError
from howsure.kernels.cells import Floats

if TYPE_CHECKING:
    from howsure.calibration.by_source import SourceCalibrations
    from howsure.calibration.estimation.copied import CopiedError
    from howsure.calibration.multiclass import MulticlassCalibration
    from howsure.engines.classes import ClassRows
    from howsure.engines.engine import Engine
    from howsure.engines.items import ItemRows
    from howsure.engines.logs.table import Log
    from howsure.processes import Progress

ONE_THREAD = 1_000_000  # rows; from here on all cores sketch
FEW = 20  # numbers that may all be below 0 by chance
NO_BAND = "The smooth curve's band treats rows as independent; no version for groups is derived."


@overload
def check(y_true: Log, y_prob: None = ..., **options: Any) -> Calibration | SourceCalibrations: ...
@overload
def check(y_true: Any, y_prob: Any = ..., *, classes: Sequence[str], **options: Any) -> MulticlassCalibration: ...
@overload
def check(
    y_true: Any, y_prob: None = ..., *, prob: list[str] | tuple[str, ...], **options: Any
) -> MulticlassCalibration: ...
@overload
def check(y_true: Any, y_prob: Sequence[float], **options: Any) -> Calibration: ...
@overload
def check(y_true: Any, y_prob: Sequence[Sequence[float]], **options: Any) -> MulticlassCalibration: ...
@overload
def check(y_true: Any, y_prob: Any = ..., **options: Any) -> Calibration | MulticlassCalibration: ...
def check(  # type: ignore[misc]
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
    scale: str | None = None,
    logits: bool = False,
    missing: str = "drop",
    prob: str | Sequence[str] | None = None,
    true: str | None = None,
    positive: Any = None,
    where: str | None = None,
    normalise: bool = False,
    classes: Sequence[str] | None = None,
    engine: Engine | str | None = None,
    progress: Progress | None = None,
) -> Calibration | MulticlassCalibration | SourceCalibrations:
    """How calibrated are predicted probabilities, given what came true?

    Parameters
    ----------
    y_true : array of 0 and 1, shape (n,); or a table
        Whether each prediction came true; true and false, yes and no, or Y and N will do. A path (CSV, TSV, JSON lines, Parquet, Arrow; a glob; ``-``) or a data
        frame (pandas, polars, Arrow) or a `howsure.Log` may be given instead of two arrays.
    y_prob : array of probabilities, shape (n,) or (n, K)
        The probability that the model gave to 1; or to each of K classes, `y_true` holding the number of the class.
    bins : int, "width:K", "isotonic" or None
        The bins drawn: with this number of rows each, K of equal width, or the blocks of the isotonic fit. By default the
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
    scale : str
        Of `y_prob`: "probability", "percent", "logit" (log-odds) or "logprob" (natural logarithms). By default
        percentages are recognised, and said to be; other numbers outside [0, 1] are refused.
    logits : bool
        The same as ``scale="logit"``.
    missing : str
        Rows without a probability or a label: "drop" leaves them out and says how many, "error" refuses.
    prob, true, positive, where
        For tables: the columns' names when they cannot be guessed, the label that counts as 1, and an SQL
        condition on the rows. A pattern such as ``p_*``, a list of columns, or one column of lists, maps or structs,
        holds the probabilities of many classes.
    normalise : bool
        Divide the probabilities of many classes by their sum when it is not one.
    classes : sequence of str
        Names of the classes in the order of the columns of a (n, K) `y_prob`; labels are then names too.
    engine : Engine or str
        Where a table is read: "memory", "files" or "spark", or a `howsure.Engine` with its settings. Numbers are
        the same on all.
    progress : callable
        Called with how many slices are analysed and how many there are, where they are many.

    Returns
    -------
    Calibration, MulticlassCalibration for many classes, SourceCalibrations for a log with several sources of confidence
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
    chosen = None if engine is None else _engine(engine)
    bins, level = _validate.bins(bins), _validate.fraction(confidence_level, "confidence_level")
    how = _How(bins, level, _validate.generator(rng), curve, progress)
    scale, missing = _validate.scale(scale, logits=logits), _validate.missing_rule(missing)
    read: dict[str, Any] = {"scale": scale, "missing": missing}
    if y_prob is not None:
        _validate.absent(_validate.OF_TABLES, prob=prob, true=true, where=where)
        given = _validate.array(y_prob, "y_prob")
        if given.ndim == 2:
            _refuse_for_classes(sample_weight, positive, curve, chosen)
            from howsure.engines.classes import classes_from_arrays

            held: ClassRows | None = classes_from_arrays(
                y_true, given, classes, groups, by, normalise=normalise, **read
            )
            return _check_classes(held, how, None, "by")
        arrays, notes = arrays_given(y_true, given, positive, sample_weight=sample_weight, by=by, groups=groups)
        if groups is None and by is None:
            try:
                sketch = _sketched(arrays["y_true"], arrays["y_prob"], arrays.get("sample_weight"), scale, how.width)
                return _calibration(sketch, how, "arrays", notes=(*notes, *_all_below(sketch, scale)))
            except BadRow:  # a row is refused: read as tables are
                pass
        with array_items(arrays, notes=notes, **read) as rows:
            return rows.analysed(lambda found: _check_rows(found, how))
    from howsure.engines.columns import is_classes
    from howsure.engines.items import is_spark_frame, is_table, open_table

    if not is_table(y_true):
        raise InputError("give `y_true` and `y_prob`, or a path or a data frame.")
    if prob is not None and is_classes(prob):
        _refuse_for_classes(sample_weight, positive, curve, chosen)
    for keyword, value in (("sample_weight", sample_weight), ("by", by), ("groups", groups)):
        if value is not None and not isinstance(value, str):
            raise InputError(f"with a table, `{keyword}` names one of its columns; got a {type(value).__name__}.")
    chosen = chosen or _engine(None)
    with open_table(y_true, chosen) as table:
        groups = groups if table.log is None else table.log.groups(groups)
        roles: dict[str, Any] = {"weight": sample_weight, "by": by, "groups": groups}
        if table.log is not None and prob is None and len(table.log.sources) != 1:
            return _check_sources(table, how, true, positive, where, **roles, **read)
        may_nest = chosen.kind == "auto" and not is_spark_frame(y_true)
        if prob is not None and (
            not isinstance(prob, str) or is_classes(prob) or (may_nest and table.column(prob).is_nested)
        ):
            _refuse_for_classes(sample_weight, positive, curve, chosen)
            from howsure.engines.classes import classes_from_table

            held = classes_from_table(table, prob, true, where, groups, classes, by, normalise=normalise, **read)
            return _check_classes(held, how, where, by)
        with table_items(table, prob, true, positive, where, groups_apart=True, **roles, **read) as rows:
            return rows.analysed(lambda found: _check_rows(found, how))


class _How(NamedTuple):
    """How rows are analysed."""

    bins: int | str | None
    level: float
    rng: np.random.Generator
    curve: str | None
    progress: Progress | None

    @property
    def width(self) -> int | None:
        """The number of bins of equal width, where these are asked for."""
        return int(self.bins[6:]) if isinstance(self.bins, str) and self.bins.startswith("width:") else None

    @property
    def given(self) -> dict[str, Any]:
        """As `analyse` takes it."""
        return {"bins": self.bins, "confidence_level": self.level, "rng": self.rng}


def _check_sources(table: Any, how: _How, *named: Any, **given: Any) -> SourceCalibrations:
    """A log whose confidences have several sources: each apart."""
    from howsure.calibration.by_source import SourceCalibrations

    if not table.log.sources:
        lost = "".join(f" {n}" for n in table.notes if n.startswith("Confidences left out"))
        raise InputError(f"{table.name} holds no confidences, only right or wrong: there is nothing to check.{lost}")
    made, notes = {}, table.notes
    for source in table.log.sources:
        found = table_items(table, source, *named, **given).analysed(lambda read: _check_rows(read, how))
        made[source] = replace(found, notes=tuple(n for n in found.notes if n not in notes), source=source)
    return SourceCalibrations(made, how.level, notes, table.name)


def _engine(given: Engine | str | None) -> Engine:
    from howsure.engines.engine import engine_of

    return engine_of(given)


def _refuse_for_classes(sample_weight: Any, positive: Any, curve: str | None, engine: Engine | None) -> None:
    """Options that are for one probability a row."""
    said = "`{}=` does not go with the probabilities of many classes."
    _validate.absent(said, sample_weight=sample_weight, positive=positive, curve=curve)
    if engine is not None and (engine.kind != "auto" or engine.master or engine.memory or engine.skip_bad_files):
        raise InputError("the probabilities of many classes are read into memory: leave the engine's options out.")


def arrays_given(
    y_true: Any, y_prob: NDArray[Any], positive: Any, **more: Any
) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    """Arrays of one length, those that were given, and what to say of how they are read."""
    y, of_labels = _written.words_as_labels(_validate.positives(y_true, positive), "y_true")
    q, of_numbers = _written.texts_as_numbers(y_prob, "y_prob")
    given = {"y_true": y, "y_prob": q}
    for name, value in more.items():
        if value is not None:
            given[name] = _validate.one_dimensional(value, name, numbers=name == "sample_weight")
    _validate.same_length(**given)
    return given, (*of_labels, *of_numbers)


def array_items(given: dict[str, NDArray[Any]], **reading: Any) -> ItemRows:
    """The rows of such arrays; `reading` is their scale, what becomes of missing values, and notes."""
    from howsure.engines.items import items_from_arrays

    more: dict[str, Any] = {"by": given.get("by"), "groups": given.get("groups"), "weight": given.get("sample_weight")}
    return items_from_arrays(y=given["y_true"], probs={"y_prob": given["y_prob"]}, **more, **reading)


def _sketched(
    y: NDArray[Any], q: NDArray[Any], weight: NDArray[Any] | None, scale: str | None, width: int | None
) -> Sketch:
    """The sketch of arrays."""
    if len(q) <= ONE_THREAD:
        builder = SketchBuilder(width)
        builder.add(y, q, weight, Origin(), scale=scale)
        return builder.finish()
    from howsure.engines.rows import sketched_arrays

    return sketched_arrays(y, q, weight, scale, width)


def _check_rows(rows: ItemRows, how: _How) -> Calibration:
    """Rows of a table, or arrays with groups or slices."""
    from howsure.engines.scored import ScoredItems

    scored, items = ScoredItems(rows, ("",), how.width), rows.items
    found = None if items.by is None else scored.slices(None if how.width else how.bins, how.level, how.progress)
    sketch = scored.sketch() if found is None or how.width else found.whole
    rows.check_positive(sketch.n_positive)
    if sketch.n == 0:
        raise InputError("there are no rows to check" + (": `where=` kept none." if rows.where else "."))
    clusters = None if items.groups is None else scored.clusters(0, filing(sketch, how.bins, how.level))
    whole = _calibration(sketch, how, rows.name, clusters)
    if items.from_file:
        from howsure.engines.columns import tells_right

        whole = replace(whole, of_predicted=tells_right(items.true))
    if whole.n_groups == 1:
        raise InputError(f"all rows are in one group of `{items.groups}`; intervals need two groups at least.")
    whole = replace(whole, notes=(*rows.notes, *_all_below(sketch, items.scale), *whole.notes))
    return whole if found is None else replace(whole, by=items.by, slices=slice_table(found.found))


def _all_below(sketch: Sketch, scale: str | None) -> tuple[str, ...]:
    """Log-odds of which none is above 0 are more often the logarithms of probabilities."""
    if scale != "logit" or sketch.n < FEW or sketch.mean_q.max() > 0.5:
        return ()
    return ("No number is above 0: if these are log-probabilities, all of this is wrong; pass `scale='logprob'`.",)


def _calibration(
    sketch: Sketch, how: _How, source: str, clusters: Any = None, notes: tuple[str, ...] = ()
) -> Calibration:
    """A sketch and, with groups, the rows by group, analysed."""
    if sketch.n == 0:
        raise InputError("there are no rows to check.")
    smooth = None
    if how.curve is not None:
        from howsure.calibration.curves.smooth import smooth_curve

        smooth = smooth_curve(sketch, how.curve, how.level)
    whole = analyse(sketch, clusters=clusters, source=source, **how.given)
    no_band = [] if smooth is None or clusters is None else [NO_BAND]
    return replace(whole, curve=smooth, notes=(*notes, *whole.notes, *no_band))


def error_like(
    kind: str, source: Any, *, scale: str | None = None, logits: bool = False, **reading: Any
) -> CopiedError:
    """The calibration error of a table as others compute it, to compare with published numbers: "hle".

    `reading` is as of `held_pairs`.
    """
    from howsure.calibration.estimation.copied import copied_error

    if kind != "hle":
        raise InputError(f"`like=` knows hle; got {kind!r}.")
    if str(source) == "-":
        raise InputError("`like=` reads the rows again: give a file, not standard input.")
    y, q, _ = held_pairs(source, scale=_validate.scale(scale, logits=logits), **reading)
    return copied_error(y.astype(np.float64), q)


def held_pairs(
    source: Any,
    prob: str | None = None,
    true: str | None = None,
    positive: Any = None,
    where: str | None = None,
    **how: Any,
) -> tuple[NDArray[np.uint8], Floats, str]:
    """All labels and probabilities of a table in memory, and the table's name; `how` is their scale, and what is missing."""
    from howsure.engines.items import open_table

    with (
        open_table(source, _engine("files")) as table,
        table_items(table, prob, true, positive, where, **how) as rows,
    ):
        batch = rows.analysed(lambda found: found.collected())
        if batch is None:
            raise InputError("there are no rows to check" + (": `where=` kept none." if where else "."))
        rows.check_positive(int(batch.ys[0].sum()))
        return batch.ys[0], batch.qs[0], rows.name


def table_items(
    table: Any, prob: str | None, true: str | None, positive: Any, where: str | None, **more: Any
) -> ItemRows:
    """One model's probabilities in a table; `more` are the other roles, the scale and what becomes of missing values."""
    from howsure.engines.columns import pair_columns
    from howsure.engines.items import items_from_table

    label, q = pair_columns(table, prob, true)
    return items_from_table(table, true=label, probs=[q], positive=positive, where=where, **more)


def _check_classes(rows: ClassRows | None, how: _How, where: str | None, by: str | None) -> MulticlassCalibration:
    from howsure.calibration.multiclass import analyse_classes

    if rows is None:
        raise InputError("there are no rows to check" + (": `where=` kept none." if where else "."))
    groups = None
    if rows.groups is not None:
        from howsure.engines.labelled import as_appearing

        groups = as_appearing(rows.groups)
        if groups.max() < 1:
            raise InputError("all rows are in one group; intervals need two groups at least.")
    compared = None if rows.by is None else (by or "by", np.array(rows.by, dtype=object))
    about: dict[str, Any] = {"groups": groups, "by": compared, "source": rows.source, "notes": rows.notes}
    return analyse_classes(rows.y, rows.probs, rows.classes, **about, **how.given)


def shipped_example() -> Any:
    """The table of real predictions that ships."""
    from howsure.data import demo_table

    return demo_table()


def huggingface(file: str, labels: str | None = None) -> tuple[Any, dict[str, str]]:
    """What Hugging Face wrote, as a table, and the roles of its columns; `labels` is the file of labels beside a `.npy`."""
    from howsure.engines.huggingface import read_huggingface

    return read_huggingface(file, labels)
