"""`howsure compare` given labels: composes metric, tests and, where there are probabilities, their calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from howsure import _validate
from howsure.calibration.comparison import Comparison, compare_rows
from howsure.engines.labelled import LabelledRows, from_arrays, from_table
from howsure.engines.tables import Table
from howsure.errors import InputError
from howsure.evaluation.contest import Contest
from howsure.evaluation.contests import Field, Progress, duels, system_scores
from howsure.evaluation.contrast import METRICS
from howsure.evaluation.scoring import span_notes
from howsure.evaluation.spans import TagSet, span_units, spans_of
from howsure.evaluation.units import Units, label_units


def compare_labels(
    y_true: Any,
    y_preds: Mapping[str, Any] | None,
    y_probs: Mapping[str, Any] | None,
    *,
    groups: Any,
    sentence: Any,
    metric: str | None,
    positive: Any,
    samples: int,
    planned: int | None,
    level: float,
    rng: np.random.Generator,
    logits: bool,
    pred: Sequence[str] | str | None,
    prob: Sequence[str] | str | None,
    true: str | None,
    where: str | None,
    progress: Progress | None,
) -> Contest:
    """The contest of systems whose labels are arrays, or columns of a table."""
    metric = _metric(metric, positive)
    samples = _validate.count(samples, "samples")
    planned = None if planned is None else _validate.count(planned, "planned")
    tags = metric == "span-f1"
    if y_preds is not None:
        _enough(list(y_preds), None if y_probs is None else list(y_probs))
        rows = from_arrays(y_true, y_preds, groups=groups, sentence=sentence, probs=y_probs, logits=logits, tags=tags)
    else:
        preds, probs = _names(pred), _names(prob)
        _enough(preds, probs or None)
        tables = list(y_true) if isinstance(y_true, list | tuple) else [y_true]
        if len(tables) > 1:
            raise InputError("labels are compared as columns of one table; join the files first.")
        with Table(tables[0]) as table:
            rows = from_table(
                table,
                true,
                preds,
                groups=groups,
                sentence=sentence,
                probs=probs,
                where=where,
                logits=logits,
                tags=tags,
            )
    field, notes = _field(rows, metric, positive)
    return Contest(
        metric,
        system_scores(field, level),
        duels(field, samples, rng, level, progress),
        len(rows.gold),
        None if field.groups is None else int(field.groups.max()) + 1,
        level,
        None if positive is None else str(positive),
        planned,
        _calibration(rows, positive, level, rng),
        notes,
        rows.left_out,
        rows.source,
    )


def _metric(metric: str | None, positive: Any) -> str:
    if metric is None:
        return "accuracy" if positive is None else "f1"
    if metric not in METRICS:
        raise InputError(f"`metric` {metric!r} is not known.{_validate.nearest(metric, METRICS)}")
    if metric == "f1" and positive is None:
        raise InputError("F1 is of one class: name it with --positive (or take --metric macro-f1).")
    return metric


def _names(given: Sequence[str] | str | None) -> list[str]:
    return [p.strip() for p in given.split(",")] if isinstance(given, str) else list(given or ())


def _enough(preds: list[str], probs: list[str] | None) -> None:
    if len(preds) < 2:
        raise InputError("name two systems' columns at least with --pred a,b (one system: howsure score).")
    if probs is not None and len(probs) != len(preds):
        raise InputError(f"--pred names {len(preds)} columns and --prob {len(probs)}; each system needs its own.")
    if probs is not None and len(set(probs)) < len(probs):
        raise InputError("each --prob column may be named once.")


def _field(rows: LabelledRows, metric: str, positive: Any) -> tuple[Field, tuple[str, ...]]:
    names, preds = tuple(rows.preds), tuple(rows.preds.values())
    right = tuple((p == rows.gold).astype(np.int64) for p in preds)
    if metric == "span-f1":
        if rows.new_sentence is None or rows.clusters is None:
            raise InputError("spans need sentences: name their column with --sentence (or documents with --groups).")
        scheme, clusters, new = TagSet.of(rows.labels), rows.clusters, rows.new_sentence
        truth = spans_of(rows.gold, scheme, new)
        said = [spans_of(p, scheme, new) for p in preds]

        def units_of_spans(which: tuple[int, ...]) -> Units:
            return span_units(truth, tuple(said[i] for i in which), len(scheme.types), clusters)

        notes = span_notes({"gold": truth} | dict(zip(names, said, strict=True)))
        return Field(names, units_of_spans, right, clusters, metric, None), notes
    number = None
    if positive is not None:
        wanted = _label(positive)
        if wanted not in rows.labels:
            raise InputError(f"no label equals `positive` = {positive!r}.{_validate.nearest(wanted, rows.labels)}")
        number = rows.labels.index(wanted)

    def units(which: tuple[int, ...]) -> Units:
        return label_units(rows.gold, tuple(preds[i] for i in which), len(rows.labels), rows.groups)

    return Field(names, units, right, rows.groups, metric, number), _notes(rows)


def _label(value: Any) -> str:
    """A label as the columns spell it."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and value == int(value):
        return str(int(value))
    return str(value)


def _notes(rows: LabelledRows) -> tuple[str, ...]:
    in_gold = set(np.unique(rows.gold).tolist())
    notes = []
    for name, p in rows.preds.items():
        extra = [rows.labels[i] for i in np.unique(p).tolist() if i not in in_gold]
        if extra:
            shown = ", ".join(repr(x) for x in extra[:5]) + (", …" if len(extra) > 5 else "")
            notes.append(f"{name} predicts labels that are never in gold: {shown}.")
    if len(in_gold) == 1:
        notes.append("Gold has a single class: nothing is learnt about the others.")
    return tuple(notes)


def _calibration(rows: LabelledRows, positive: Any, level: float, rng: np.random.Generator) -> Comparison | None:
    """The probabilities: of the label given being right or, with `positive`, of the item being positive."""
    if rows.probs is None:
        return None
    probs = dict(zip(rows.preds, rows.probs.values(), strict=True))
    if positive is not None:
        truth = (rows.gold == rows.labels.index(_label(positive))).astype(np.uint8)
        own = dict.fromkeys(probs, truth)
    else:
        own = {name: (p == rows.gold).astype(np.uint8) for name, p in rows.preds.items()}
    calibrations, pairs = compare_rows(own, probs, rows.clusters, level, rng)
    n_groups = None if rows.clusters is None else int(rows.clusters.max()) + 1
    return Comparison(tuple(probs), calibrations, pairs, level, n_groups, source=rows.source)
