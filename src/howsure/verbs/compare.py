"""`howsure compare`: on the same items, which system is better, which is better calibrated, and how surely?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from howsure import _validate, _written
from howsure.calibration.comparing.result import Comparison, ComparisonSlice, compared
from howsure.calibration.estimation.perfection import benjamini_hochberg
from howsure.engines.columns import pair_columns
from howsure.engines.engine import Engine, engine_of
from howsure.engines.items import ItemRows, items_from_arrays, items_from_table, open_table
from howsure.engines.joined import Join, join_key, joined_tables
from howsure.engines.logs.table import Log
from howsure.engines.scored import ScoredItems
from howsure.errors import InputError
from howsure.processes import Progress

if TYPE_CHECKING:
    from howsure.evaluation.contests.result import Contest


@overload
def compare(y_true: Any, y_probs: Any = ..., *, y_preds: Mapping[str, Any], **options: Any) -> Contest: ...
@overload
def compare(y_true: Any, y_probs: None = ..., *, pred: Sequence[str] | str, **options: Any) -> Contest: ...
@overload
def compare(y_true: list[Log], y_probs: None = ..., **options: Any) -> Contest: ...
@overload
def compare(y_true: Any, y_probs: Mapping[str, Any] | None = ..., **options: Any) -> Comparison: ...
def compare(  # type: ignore[misc]
    y_true: Any,
    y_probs: Mapping[str, Any] | None = None,
    *,
    y_preds: Mapping[str, Any] | None = None,
    groups: Any = None,
    by: Any = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    scale: str | None = None,
    logits: bool = False,
    missing: str = "drop",
    prob: Sequence[str] | str | None = None,
    pred: Sequence[str] | str | None = None,
    true: str | None = None,
    key: str | None = None,
    positive: Any = None,
    where: str | None = None,
    metric: str | None = None,
    sentence: Any = None,
    samples: int = 10_000,
    planned: int | None = None,
    progress: Progress | None = None,
    engine: Engine | str | None = None,
) -> Comparison | Contest:
    """Compare two or more models on the same items: their labels, their probabilities, or both.

    Parameters
    ----------
    y_true : array of 0 and 1, shape (n,); or a table, or a list of tables
        Whether each item came true. A path or data frame whose columns `prob` hold the models' probabilities may be
        given instead; or several, one per model, joined on the column `key` (a `howsure.Log` each: on its own).
    y_probs : mapping of name to array, shape (n,)
        The probabilities of each model.
    y_preds : mapping of name to array of labels, shape (n,)
        The labels of each system; `y_true` then holds the gold labels, and `y_probs`, if given, is in the same order: the
        probability that each label is right or, with `positive`, that the item is positive.
    groups : array, shape (n,); or a column's name
        What is dependent (documents, sentences): intervals and tests allow for it.
    by : array, shape (n,); or a column's name
        Compare on each of its values too, p-values adjusted (Benjamini-Hochberg).
    confidence_level : float
        Of all intervals.
    rng : Generator, int or None
        Seeds the simulated consistency bands.
    scale, logits, missing
        How probabilities are to be read, and what becomes of rows without one or without a label, as in
        `howsure.check`.
    metric : {"accuracy", "f1", "macro-f1", "span-f1"}
        What labels are compared by; F1 of `positive` if that is given, else accuracy.
    sentence : array, shape (n,); or a column's name
        For span F1: a new sentence begins where its value changes.
    samples : int
        Resamples of the bootstrap and of permutations that cannot be done exactly.
    planned : int
        The size of a test set to tell the power for.
    prob, pred, true, key, positive, where
        For tables: columns, label that counts as 1, and an SQL condition (one table only, or on each log).
    progress : callable
        Called with the number of pairs done and of all, and the pair at work.
    engine : Engine or str
        Where tables are read: "memory", "files" or "spark", or a `howsure.Engine` with its settings. Numbers are the
        same on all.

    Returns
    -------
    Comparison or Contest
        Of probabilities: each model's `Calibration`, the differences of every pair with intervals and p-values, slices, a
        verdict. Of labels: each system's metric, the differences with tests, effect size and power, a verdict; and
        the `Comparison` of the probabilities within.

    Notes
    -----
    The difference of squared calibration errors is tested, not of errors: when one error is near 0 the latter has no honest
    interval, and the sign is the same. Formulas and simulations: docs/evidence/theory.md.

    Examples
    --------
    >>> import numpy as np, howsure
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(4000)
    >>> made = howsure.compare(rng.random(4000) < p, {"right": p, "squared": p**2})
    >>> made.pairs[0].error_squared.value > 0  # a is better
    True
    """
    level = _validate.fraction(confidence_level, "confidence_level")
    generator = _validate.generator(rng)
    scale, missing = _validate.scale(scale, logits=logits), _validate.missing_rule(missing)
    chosen = engine_of(engine)
    several = isinstance(y_true, list | tuple) and len(y_true) > 1 and pred is None
    if several and all(isinstance(each, Log) for each in y_true):
        from howsure.verbs.compare_labels import Wanted, compare_logs

        said = "logs say what is right: leave `{}=` out."
        _validate.absent(said, true=true, positive=positive, sentence=sentence, metric=metric)
        names = _validate.listed(prob)
        if len(names) > 1:
            raise InputError("with a log per model, `prob=` names the one confidence that each of them has.")
        wanted = Wanted.of(None, None, samples, planned, level, generator, progress)
        join = Join(key or "key", next(iter(names), None), groups=groups, by=by, scale=scale)
        return compare_logs(list(y_true), join, where, missing, chosen, wanted)
    if y_preds is not None or pred is not None:
        from howsure.verbs.compare_labels import Wanted, compare_labels

        if by is not None:
            raise InputError("`by=` compares probabilities; of labels, compare each part by itself with `where=`.")
        wanted = Wanted.of(metric, positive, samples, planned, level, generator, progress)
        columns: dict[str, Any] = {"groups": groups, "sentence": sentence, "true": true, "where": where, "key": key}
        columns |= {"pred": _validate.listed(pred), "prob": _validate.listed(prob)}
        return compare_labels(y_true, y_preds, y_probs, wanted, scale=scale, engine=chosen, **columns)
    said = "`{}=` is about labels: name the systems' columns with `pred='a,b'`."
    _validate.absent(said, metric=metric, sentence=sentence, planned=planned)
    reading: dict[str, Any] = {"groups": groups, "by": by, "scale": scale, "missing": missing}
    names = _validate.listed(prob)
    if y_probs is not None:
        rows, models = _from_arrays(y_true, y_probs, positive, reading), tuple(y_probs)
    elif not isinstance(y_true, list | tuple) or len(y_true) == 1:
        table = y_true[0] if isinstance(y_true, list | tuple) else y_true
        rows = _from_table(table, chosen, names, true, positive=positive, where=where, **reading)
        models = rows.items.probs
    else:
        join = Join(join_key(key, where, "model", prob=names), next(iter(names), None), true, positive, **reading)
        rows, models = joined_tables(list(y_true), join, chosen)

    def analysis(found: ItemRows) -> Comparison:
        scored = ScoredItems(found, models)
        calibrations, pairs = compared(scored, level, generator)
        n_groups = calibrations[0].n_groups
        if n_groups == 1:
            raise InputError("all rows are in one group; intervals need two groups at least.")
        slices = _slices(scored, level)
        return Comparison(models, calibrations, pairs, level, n_groups, found.items.by, slices, found.name, found.notes)

    with rows:
        return rows.analysed(analysis)


def _slices(scored: ScoredItems, level: float) -> tuple[ComparisonSlice, ...]:
    """Each slice's errors and first pair, the most different first."""
    found = sorted(scored.compared_slices(level), key=lambda s: s.name)
    adjusted = benjamini_hochberg([None if s.pair is None else s.pair.error_squared.p_value for s in found])
    made = [ComparisonSlice(s.name, s.n, s.errors, s.pair, p) for s, p in zip(found, adjusted, strict=True)]
    return tuple(sorted(made, key=lambda s: (s.adjusted_p_value is None, s.adjusted_p_value, s.name)))


def _from_arrays(y_true: Any, y_probs: Mapping[str, Any], positive: Any, reading: dict[str, Any]) -> ItemRows:
    if len(y_probs) < 2:
        raise InputError("a comparison needs two models at least.")
    y, said = _written.words_as_labels(_validate.positives(y_true, positive), "y_true")
    read = {name: _written.texts_as_numbers(_validate.one_dimensional(q, name), name) for name, q in y_probs.items()}
    probs = {name: q for name, (q, _) in read.items()}
    given = {name: reading[name] for name in ("groups", "by") if reading[name] is not None}
    extra = {name: _validate.one_dimensional(value, name, numbers=False) for name, value in given.items()}
    _validate.same_length(**({"y_true": y} | probs | extra))
    notes = [*said, *(n for _, notes in read.values() for n in notes)]
    return items_from_arrays(y=y, probs=probs, notes=notes, **(reading | extra))


def _from_table(source: Any, engine: Engine, names: list[str], true: str | None, **reading: Any) -> ItemRows:
    if len(names) < 2:
        raise InputError("name the models' columns with `prob='a,b'` (or give a file per model, and `key=`).")
    table = open_table(source, engine)
    try:
        names = [table.column(p).name for p in names]
        if len(set(names)) < len(names):
            raise InputError("each `prob=` column may be named once.")
        found = [pair_columns(table, name, true) for name in names]
        return items_from_table(table, true=found[0][0], probs=[q for _, q in found], **reading)
    except BaseException:
        table.close()
        raise
