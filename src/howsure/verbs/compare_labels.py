"""`howsure compare` given labels: composes metric, tests and, where there are probabilities, their calibration."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from howsure import _validate, _written
from howsure.calibration.comparing.result import Comparison, Scored, compared
from howsure.engines.engine import Engine
from howsure.engines.items import is_spark_frame, label_texts, open_table
from howsure.engines.joined import Join, LabelJoin, join_key, joined_labels, joined_logs
from howsure.engines.labelled import (
    LabelledItems,
    LabelSequences,
    as_appearing,
    labels_from_arrays,
    labels_from_table,
)
from howsure.errors import InputError
from howsure.evaluation.contests.analysis import Field, adjusted_slices, contest_slice, duels, ranks_of, system_scores
from howsure.evaluation.contests.contrast import METRICS
from howsure.evaluation.contests.result import Contest
from howsure.evaluation.scores.analysis import span_notes
from howsure.evaluation.scores.spans import TagSet, span_units, spans_of
from howsure.evaluation.units import Units, label_units
from howsure.kernels.cells import Ints
from howsure.processes import Progress


@dataclass(frozen=True)
class Wanted:
    """How systems are compared, checked."""

    metric: str
    positive: Any
    samples: int
    planned: int | None
    level: float
    rng: np.random.Generator
    progress: Progress | None

    @classmethod
    def of(cls, metric: str | None, positive: Any, samples: Any, planned: Any, *how: Any) -> Self:
        name, n = _metric(metric, positive), _validate.count(samples, "samples")
        return cls(name, positive, n, None if planned is None else _validate.count(planned, "planned"), *how)


def compare_labels(
    y_true: Any,
    y_preds: Mapping[str, Any] | None,
    y_probs: Mapping[str, Any] | None,
    wanted: Wanted,
    *,
    groups: Any,
    sentence: Any,
    scale: str | None,
    pred: list[str],
    prob: list[str],
    true: str | None,
    where: str | None = None,
    key: str | None = None,
    engine: Engine,
) -> Contest:
    """The contest of systems whose labels are arrays, columns of a table, or a column of a table each."""
    tables = list(y_true) if y_preds is None and isinstance(y_true, list | tuple) else [y_true]
    if len(tables) > 1:
        columns = {"groups": groups, "sentence": sentence, "true": true}
        on = join_key(key, where, "system", pred=pred, prob=prob)
        join = LabelJoin(on, pred=next(iter(pred), None), prob=next(iter(prob), None), **columns)
        with joined_labels(tables, join, engine) as (path, systems, sure):
            one: dict[str, Any] = {role: name and role for role, name in columns.items()} | {"true": "gold"}
            one |= {"pred": systems, "prob": sure, "scale": scale, "engine": engine}
            made = compare_labels(str(path), None, None, wanted, **one)
        return replace(made, source=", ".join(systems))
    if key is not None:
        raise InputError("`key=` joins a table per system; columns of one table need none.")
    if y_preds is not None:
        _enough(list(y_preds), None if y_probs is None else list(y_probs))
    else:
        _enough(pred, prob or None)
    in_order = wanted.metric == "span-f1" or sentence is not None
    given: dict[str, Any] = {"groups": groups, "scale": scale} | ({"sentence": sentence} if in_order else {})
    if y_preds is not None:
        with labels_from_arrays(y_true, y_preds, probs=y_probs, **given) as rows:
            return _compared(LabelledItems(rows), in_order, wanted)
    if in_order and (engine.is_spark or is_spark_frame(tables[0])):
        raise InputError("sentences need the order of rows, which Spark does not keep: compare them from files.")
    with (
        open_table(tables[0], engine) as table,
        labels_from_table(table, true, pred, probs=prob, where=where, **given) as rows,
    ):
        return _compared(LabelledItems(rows), in_order, wanted)


def compare_logs(logs: list[Any], join: Join, where: Any, missing: str, engine: Engine, wanted: Wanted) -> Contest:
    """The contest of models that have a log each: who is right more often, and whose confidence is better."""
    paired = joined_logs(logs, join, where, missing, engine)
    rows = paired.rows
    field = replace(_field(rows, "accuracy", None)[0], item=paired.item)
    about = {"notes": paired.notes, "left_out": paired.left_out}
    made = _contest(field, paired.judged, wanted, ", ".join(rows.preds), **about)
    if paired.by is None:
        return made
    codes, names = paired.by
    slices = []
    for code, name in enumerate(names):
        held = codes == code
        groups = None if rows.groups is None else as_appearing(rows.groups[held])
        right = {model: p[held] for model, p in rows.preds.items()}
        part, _ = _field(LabelSequences(rows.labels, rows.gold[held], right, groups), "accuracy", None)
        slices.append(contest_slice(name, part, wanted.level))
    return replace(made, by=join.by, slices=adjusted_slices(slices))


def _compared(rows: LabelledItems, in_order: bool, wanted: Wanted) -> Contest:
    label = None if wanted.positive is None else _label(wanted.positive)
    if in_order:
        held = rows.in_order(tags=wanted.metric == "span-f1")
        field, notes = _field(held, wanted.metric, wanted.positive)
        about = {"notes": (*rows.notes, *notes), "left_out": held.left_out}
        return _contest(field, held.scored(label), wanted, rows.name, **about)
    field, notes = _counted_field(rows, wanted.metric, wanted.positive)
    judged, scored = rows.scored(label) or (nullcontext(), None)
    with judged:
        if scored is not None:
            scored.sketches()  # bad probabilities are found before the long work
        about = {"notes": (*rows.notes, *notes), "left_out": rows.counted.left_out}
        return _contest(field, scored, wanted, rows.name, **about)


def _contest(field: Field, scored: Scored | None, wanted: Wanted, source: str, **about: Any) -> Contest:
    level, rng = wanted.level, wanted.rng
    scores, found = system_scores(field, level), duels(field, wanted.samples, rng, level, wanted.progress)
    calibration = None
    if scored is not None:
        calibrations, pairs = compared(scored, level, rng)
        n_groups = calibrations[0].n_groups
        if wanted.positive is None:  # not, with `positive`, whether the item is positive
            calibrations = tuple(replace(c, of_predicted=True) for c in calibrations)
        calibration = Comparison(scored.models, calibrations, pairs, level, n_groups, source=source)
    groups = None if field.groups is None else int(field.groups.max()) + 1
    positive = None if wanted.positive is None else str(wanted.positive)
    about |= {"planned": wanted.planned, "calibration": calibration, "source": source, "ranks": ranks_of(field, level)}
    return Contest(wanted.metric, scores, found, field.n, groups, level, positive, **about)


def _metric(metric: str | None, positive: Any) -> str:
    if metric is None:
        return "accuracy" if positive is None else "f1"
    _validate.known(metric, METRICS, f"`metric={metric!r}` is not known")
    if metric == "f1" and positive is None:
        raise InputError("F1 is of one class: name it with `positive=` (or take `metric='macro-f1'`).")
    return metric


def _enough(preds: list[str], probs: list[str] | None) -> None:
    if len(preds) < 2:
        raise InputError("name two systems' columns at least with `pred='a,b'` (one system: `howsure.score`).")
    if probs is not None and len(probs) != len(preds):
        raise InputError(f"`pred=` names {len(preds)} columns and `prob=` {len(probs)}; each system needs its own.")
    if probs is not None and len(set(probs)) < len(probs):
        raise InputError("each `prob=` column may be named once.")


def _field(rows: LabelSequences, metric: str, positive: Any) -> tuple[Field, tuple[str, ...]]:
    if metric != "span-f1":
        notes = _notes(rows.labels, rows.gold, rows.preds)
        return _label_field(rows, metric, _positive(rows.labels, positive)), notes
    if rows.new_sentence is None or rows.clusters is None:
        raise InputError("spans need sentences: name their column with `sentence=` (or documents with `groups=`).")
    scheme, clusters, new = TagSet.of(rows.labels), rows.clusters, rows.new_sentence
    truth = spans_of(rows.gold, scheme, new)
    said = {name: spans_of(p, scheme, new) for name, p in rows.preds.items()}
    each = list(said.values())

    def units(which: tuple[int, ...]) -> Units:
        return span_units(truth, tuple(each[i] for i in which), len(scheme.types), clusters)

    right = tuple((p == rows.gold).astype(np.int64) for p in rows.preds.values())
    return Field(tuple(said), units, right, clusters, metric, None), span_notes({"gold": truth} | said)


def _label_field(rows: LabelSequences, metric: str, positive: int | None, count: Ints | None = None) -> Field:
    each = tuple(rows.preds.values())

    def units(which: tuple[int, ...]) -> Units:
        return label_units(rows.gold, tuple(each[i] for i in which), len(rows.labels), rows.groups, count)

    right = tuple((p == rows.gold).astype(np.int64) for p in each)
    return Field(tuple(rows.preds), units, right, rows.groups, metric, positive, count)


def _counted_field(rows: LabelledItems, metric: str, positive: Any) -> tuple[Field, tuple[str, ...]]:
    """The same from distinct rows with their counts: of all rows, or of each group."""
    groups, (codes, count, labels, _) = None, rows.counted
    number = _positive(labels, positive)
    notes = _notes(labels, codes["gold"], {name: codes[key] for name, key in rows.preds.items()})
    if rows.groups is not None:
        groups, codes, count = rows.group_counts()
    preds = {name: codes[key] for name, key in rows.preds.items()}
    return _label_field(LabelSequences(labels, codes["gold"], preds, groups), metric, number, count), notes


def _positive(labels: tuple[str, ...], positive: Any) -> int | None:
    if positive is None:
        return None
    return labels.index(_validate.known(_label(positive), labels, f"no label equals `positive={positive!r}`"))


def _label(value: Any) -> str:
    """A label as the columns spell it."""
    return str(label_texts(np.array([value]))[0])


def _notes(labels: tuple[str, ...], gold: Ints, preds: dict[str, Ints]) -> tuple[str, ...]:
    in_gold = set(np.unique(gold).tolist())
    notes = []
    for name, p in preds.items():
        extra = [labels[i] for i in np.unique(p).tolist() if i not in in_gold]
        if extra:
            notes.append(f"{name} predicts labels that are never in gold: {_validate.some(extra)}.")
    notes += _written.spelt_alike(labels)
    if len(in_gold) == 1:
        notes.append("Gold has a single class: nothing is learnt about the others.")
    return tuple(notes)
