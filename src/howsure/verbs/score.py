"""`howsure score`: how good are a system's labels, and how sure is that?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from howsure import _validate
from howsure.errors import InputError
from howsure.evaluation.scores.analysis import score_cells, score_spans
from howsure.evaluation.scores.result import Score

if TYPE_CHECKING:
    from howsure.engines.engine import Engine


def score(
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
    engine: Engine | str | None = None,
) -> Score:
    """Accuracy, precision, recall and F of labels, per class and averaged, each with its interval.

    Parameters
    ----------
    y_true : array of labels, shape (n,); or a table
        The gold. A path or data frame with the columns `true` and `pred` may be given instead.
    y_pred : array of labels, shape (n,)
        The system's.
    groups : array, shape (n,); or a column's name
        What is dependent (documents, sentences): intervals allow for it.
    sentence : array, shape (n,); or a column's name
        For `spans`: a new sentence begins where its value changes. Sentences are the clusters if there are no `groups`.
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
    engine : Engine or str
        Where a table is read: "memory", "files" or "spark", or a `howsure.Engine` with its settings. Numbers are the
        same on all. Labels are counted as they are read; `spans`, which depend on the order of rows, hold them in memory.

    Returns
    -------
    Score
        Confusion matrix, metrics with intervals, baselines, ceiling, and a verdict.

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
    from howsure.engines.engine import engine_of
    from howsure.engines.label_rows import labels_from_arrays, labels_from_table
    from howsure.engines.sources import is_table

    level = _validate.fraction(confidence_level, "confidence_level")
    weight = _validate.not_negative(beta, "beta")
    chosen = engine_of(engine)
    if y_pred is None and not is_table(y_true):
        raise InputError("give the system's labels too: score(y_true, y_pred), or a table with `true` and `pred`.")
    if spans:
        return _score_spans(y_true, y_pred, groups, sentence, second, weight, level, true, pred, where, chosen)
    if y_pred is not None:
        rows = labels_from_arrays(y_true, {"y_pred": y_pred}, groups=groups, second=second)
    else:
        rows = labels_from_table(
            y_true, true, [pred] if pred else None, groups=groups, second=second, where=where, engine=chosen
        )
    with rows:

        def scored(column: str) -> Score:
            cells = rows.codes["gold"], rows.codes[column]
            return score_cells(*cells, rows.count, rows.labels, rows.spreading(column), level, weight)

        made = scored("pred0")
        ceiling = scored("second") if second is not None else None
        notes = (*rows.notes, *made.notes)
        return replace(made, ceiling=ceiling, left_out=rows.left_out, source=rows.name, notes=notes)


def _score_spans(
    y_true: Any,
    y_pred: Any,
    groups: Any,
    sentence: Any,
    second: Any,
    beta: float,
    level: float,
    true: str | None,
    pred: str | None,
    where: str | None,
    engine: Engine,
) -> Score:
    """Spans depend on the order of rows, which are held in memory as numbers."""
    from howsure.engines.label_rows import predicted_column
    from howsure.engines.labelled import from_arrays, from_table
    from howsure.engines.sources import is_spark_frame
    from howsure.engines.tables import Table

    if y_pred is not None:
        rows = from_arrays(y_true, {"y_pred": y_pred}, groups=groups, sentence=sentence, second=second, tags=True)
    else:
        if engine.is_spark or is_spark_frame(y_true):
            raise InputError("spans need the order of rows, which Spark does not keep: score them from files.")
        with Table(y_true, engine) as table:
            named = pred or predicted_column(table, true)
            rows = from_table(
                table, true, [named], groups=groups, sentence=sentence, second=second, where=where, tags=True
            )
    if rows.new_sentence is None or rows.clusters is None:
        raise InputError("spans need sentences: name their column with --sentence (or documents with --groups).")
    (said,) = rows.preds.values()
    both = [
        score_spans(rows.gold, labels, rows.labels, rows.new_sentence, rows.clusters, level, beta)
        for labels in (said, rows.second)
        if labels is not None
    ]
    notes = (*rows.notes, *both[0].notes)
    return replace(
        both[0], ceiling=both[1] if both[1:] else None, left_out=rows.left_out, source=rows.source, notes=notes
    )
