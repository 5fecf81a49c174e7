"""`howsure score`: how good are a system's labels, and how sure is that?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from howsure import _validate, _written
from howsure.engines.engine import Engine, engine_of
from howsure.engines.items import is_spark_frame, is_table, open_table
from howsure.engines.labelled import LabelledItems, labels_from_arrays, labels_from_table
from howsure.engines.tables import Table
from howsure.errors import InputError
from howsure.evaluation.scores.analysis import score_cells, score_spans
from howsure.evaluation.scores.result import Score

if TYPE_CHECKING:
    from howsure.evaluation.scores.benchmark import Benchmark


@overload
def score(y_true: Any, y_pred: None = None, **options: Any) -> Score | Benchmark: ...
@overload
def score(y_true: Any, y_pred: Any, **options: Any) -> Score: ...
def score(  # type: ignore[misc]
    y_true: Any,
    y_pred: Any = None,
    *,
    groups: Any = None,
    sentence: Any = None,
    second: Any = None,
    spans: bool = False,
    beta: float = 1.0,
    confidence_level: float = 0.95,
    true: str | None = None,
    pred: str | None = None,
    where: str | None = None,
    value: str | None = None,
    item: str | None = None,
    model: str | None = None,
    by: str | None = None,
    half_width: float = 0.02,
    engine: Engine | str | None = None,
) -> Score | Benchmark:
    """Accuracy, precision, recall and F of labels, each with its interval; or the scores of models' answers to items.

    Parameters
    ----------
    y_true : array of labels, shape (n,); or a table
        The gold. A path or data frame with the columns `true` and `pred` may be given instead.
    y_pred : array of labels, shape (n,)
        The system's.
    groups : array, shape (n,); or a column's name
        What is dependent (documents, sentences): intervals allow for it.
    sentence : array, shape (n,); or a column's name
        For `spans`: a new sentence begins where its value changes. Sentences are the groups if none are given.
    second : array, shape (n,); or a column's name
        A second annotator's labels; their score against the gold is the ceiling.
    spans : bool
        Labels are BIO, BIOES or IO tags: score the spans they mark, as conlleval and seqeval do.
    beta : float
        Of F: recall counts β times as much as precision.
    confidence_level : float
        Of all intervals.
    true, pred, where
        For tables: columns, and an SQL condition.
    value : str
        A table with a row each answer of a model to an item: the column, or SQL expression, that scores it. A `howsure.Log` has one.
    item, model, by : str
        With `value`: columns of the item, of the model, and of parts (tasks) that are scored apart and averaged.
    half_width : float
        With `value`: of an interval for which to tell the items needed.
    engine : Engine or str
        Where a table is read: "memory", "files" or "spark", or a `howsure.Engine` with its settings. Numbers are the
        same on all. Labels are counted as they are read; `spans`, which depend on the order of rows, hold them in memory.

    Returns
    -------
    Score or Benchmark
        Of labels: confusion matrix, metrics with intervals, baselines, ceiling, and a verdict. Of answers: each model on each part with
        its interval, what its runs vary by, items needed, and the places that each model can have, all at once.

    Notes
    -----
    Averages are over the classes that are gold or predicted somewhere; one whose metric is 0/0 counts as 0 there, as in
    scikit-learn with `zero_division=0`, and is shown empty. Rows with a missing label are left out and counted.

    Examples
    --------
    >>> import howsure
    >>> howsure.score(["spam", "ham", "spam", "ham"], ["spam", "ham", "ham", "ham"]).accuracy.value
    0.75
    """
    from howsure.engines.logs.table import Log

    level = _validate.fraction(confidence_level, "confidence_level")
    weight = _validate.not_negative(beta, "beta")
    chosen = engine_of(engine)
    roles = {"item": item, "model": model, "by": by}
    if value is pred is true is y_pred is None:
        y_true = _answers(y_true)
    if value is not None or (isinstance(y_true, Log) and pred is None and true is None):
        if y_pred is not None or not is_table(y_true):
            raise InputError("`value=` scores a table of answers: give a path, a data frame or a `howsure.Log`.")
        labels = {"true": true, "pred": pred, "second": second, "sentence": sentence, "spans": spans or None}
        _validate.absent("answers are scored by their value: leave `{}=` out.", **labels)
        return _of_answers(y_true, {"value": value, "groups": groups, **roles}, where, level, half_width, chosen)
    _validate.absent("`{}=` is about answers of models: say what scores them with `value=`.", **roles)
    if y_pred is not None:
        extra = {"groups": groups, "second": second} | ({"sentence": sentence} if spans else {})
        with labels_from_arrays(y_true, {"y_pred": y_pred}, **extra) as rows:
            return _scored(LabelledItems(rows), spans, weight, level)
    if not is_table(y_true):
        raise InputError("give the system's labels too: score(y_true, y_pred), or a table with `true` and `pred`.")
    if spans and (chosen.is_spark or is_spark_frame(y_true)):
        raise InputError("spans need the order of rows, which Spark does not keep: score them from files.")
    with open_table(y_true, chosen) as table:
        given = {"groups": groups, "second": second, "where": where} | ({"sentence": sentence} if spans else {})
        with labels_from_table(table, true, [pred] if pred else None, **given) as rows:
            return _scored(LabelledItems(rows), spans, weight, level)


def _answers(source: Any) -> Any:
    """A file of JSON lines whose first says whether an answer is right, and names no prediction, as a `Log`; else as it is."""
    from howsure.engines.columns import PREDICTIONS, plain_name
    from howsure.engines.logs.answers import SURELY_RIGHT
    from howsure.engines.logs.records import records
    from howsure.engines.logs.table import Log

    if not isinstance(source, str | Path) or ".jsonl" not in Path(source).name.lower() or not Path(source).is_file():
        return source
    first = next((found for _, found in records(str(source), "llm") if isinstance(found, dict)), {})
    predicted = any(plain_name(key) in PREDICTIONS for key in first)
    return source if predicted or not SURELY_RIGHT & first.keys() else Log(str(source), "llm")


def _of_answers(
    source: Any, roles: dict[str, str | None], where: str | None, level: float, half_width: float, engine: Engine
) -> Benchmark:
    """The scores of models' answers, a row each."""
    from howsure.engines.coded import answers_of
    from howsure.evaluation.scores.benchmark import benchmark

    if engine.is_spark or is_spark_frame(source):
        raise InputError("answers are scored on this machine, not on Spark: leave `engine=` out.")
    if not _validate.not_negative(half_width, "half_width"):
        raise InputError("`half_width=` must be above 0.")
    with Table(source, engine) as table:
        answers, left_out = answers_of(table, roles, where)
        by = roles["by"] or (None if table.log is None else "task")
        about: dict[str, Any] = {"metric": roles["value"] or "value", "by": by}
        about["notes"] = table.notes if table.log is None else table.log.notes
        return benchmark(answers, level, half_width, **about, left_out=left_out, source=table.name)


def _scored(rows: LabelledItems, spans: bool, beta: float, level: float) -> Score:
    """The system's score and, of a second annotator, the ceiling."""
    if spans:
        held = rows.in_order(tags=True)
        if held.new_sentence is None or held.clusters is None:
            raise InputError("spans need sentences: name their column with `sentence=` (or documents with `groups=`).")
        every = [*held.preds.values(), *([] if held.second is None else [held.second])]
        both = [
            score_spans(held.gold, said, held.labels, held.new_sentence, held.clusters, level, beta) for said in every
        ]
        labels, left_out = held.labels, held.left_out
    else:
        codes, count, labels, left_out = rows.counted
        both = [
            score_cells(codes["gold"], said, count, labels, rows.spreading(c), level, beta)
            for c, said in codes.items()
            if c != "gold"
        ]
    ceiling = both[1] if both[1:] else None
    notes = (*rows.notes, *both[0].notes, *_written.spelt_alike(labels))
    return replace(both[0], ceiling=ceiling, left_out=left_out, source=rows.name, notes=notes)
