"""`howsure score`: how good are a system's labels, and how sure is that?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from howsure import _validate
from howsure.errors import InputError
from howsure.evaluation.score import Score
from howsure.evaluation.scoring import score_labels, score_spans


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
    from howsure.engines.labelled import from_arrays, from_table
    from howsure.engines.tables import Table

    level = _validate.fraction(confidence_level, "confidence_level")
    weight = _validate.not_negative(beta, "beta")
    if y_pred is not None:
        rows = from_arrays(y_true, {"y_pred": y_pred}, groups=groups, sentence=sentence, second=second, tags=spans)
    else:
        if not (isinstance(y_true, str | Path) or hasattr(y_true, "columns") or hasattr(y_true, "column_names")):
            raise InputError("give the system's labels too: score(y_true, y_pred), or a table with `true` and `pred`.")
        with Table(y_true) as table:
            named = pred or _guessed(table, true)
            rows = from_table(
                table, true, [named], groups=groups, sentence=sentence, second=second, where=where, tags=spans
            )
    if spans and rows.new_sentence is None:
        raise InputError("spans need sentences: name their column with --sentence (or documents with --groups).")
    (said,) = rows.preds.values()

    def scored(labels: Any) -> Score:
        if not spans:
            return score_labels(rows.gold, labels, rows.labels, rows.groups, level, weight)
        assert rows.new_sentence is not None
        assert rows.clusters is not None
        return score_spans(rows.gold, labels, rows.labels, rows.new_sentence, rows.clusters, level, weight)

    made = scored(said)
    ceiling = None if rows.second is None else scored(rows.second)
    return replace(made, ceiling=ceiling, left_out=rows.left_out, source=rows.source)


def _guessed(table: Any, true: str | None) -> str:
    from howsure.engines.columns import guessed_column

    names = ["pred", "preds", "prediction", "predicted", "ypred", "system", "output", "predictedlabel"]
    return guessed_column(table, names, "prediction", "--pred", skip={true}).name
