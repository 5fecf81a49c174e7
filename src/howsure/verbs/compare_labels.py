"""`howsure compare` given labels: composes metric, tests and, where there are probabilities, their calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure import _validate
from howsure.calibration.comparing.result import Comparison, HeldRows, Scored, compared
from howsure.engines.engine import Engine
from howsure.engines.label_rows import LabelRows, labels_from_arrays, labels_from_table
from howsure.engines.labelled import LabelledRows, from_arrays, from_table
from howsure.engines.sources import is_spark_frame
from howsure.engines.tables import Table
from howsure.errors import InputError
from howsure.evaluation.contests.analysis import Field, Progress, duels, system_scores
from howsure.evaluation.contests.contrast import METRICS
from howsure.evaluation.contests.result import Contest
from howsure.evaluation.scores.analysis import span_notes
from howsure.evaluation.scores.spans import TagSet, span_units, spans_of
from howsure.evaluation.units import Units, label_units
from howsure.kernels.cells import Ints


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
    engine: Engine,
) -> Contest:
    """The contest of systems whose labels are arrays, or columns of a table."""
    metric = _metric(metric, positive)
    samples = _validate.count(samples, "samples")
    planned = None if planned is None else _validate.count(planned, "planned")
    if y_preds is not None:
        _enough(list(y_preds), None if y_probs is None else list(y_probs))
        preds, probs, source = [], [], None
    else:
        preds, probs = _names(pred), _names(prob)
        _enough(preds, probs or None)
        tables = list(y_true) if isinstance(y_true, list | tuple) else [y_true]
        if len(tables) > 1:
            raise InputError("labels are compared as columns of one table; join the files first.")
        source = tables[0]
    if metric == "span-f1" or sentence is not None:
        tags = metric == "span-f1"
        if y_preds is not None:
            held = from_arrays(
                y_true, y_preds, groups=groups, sentence=sentence, probs=y_probs, logits=logits, tags=tags
            )
        else:
            if engine.is_spark or is_spark_frame(source):
                raise InputError(
                    "sentences need the order of rows, which Spark does not keep: compare them from files."
                )
            with Table(source, engine) as table:
                held = from_table(
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
        field, notes = _field(held, metric, positive)
        of_probs = _held_probs(held, positive)
        read = _Read(of_probs, held.left_out, held.source, held.notes)
        return _contest(field, notes, read, metric, positive, samples, planned, level, rng, progress)
    if y_preds is not None:
        rows = labels_from_arrays(y_true, y_preds, groups=groups, probs=y_probs, logits=logits)
    else:
        rows = labels_from_table(
            source, true, preds, groups=groups, probs=probs, logits=logits, where=where, engine=engine
        )
    with rows:
        field, notes = _counted_field(rows, metric, positive)
        judged = rows.judged(None if positive is None else _label(positive))
        with judged or nullcontext():
            if judged is not None:
                judged.sketches()  # bad probabilities are found before the long work
            read = _Read(judged, rows.left_out, rows.name, rows.notes)
            return _contest(field, notes, read, metric, positive, samples, planned, level, rng, progress)


@dataclass(frozen=True)
class _Read:
    """What was read beside the labels."""

    probs: Scored | None
    left_out: tuple[tuple[str, int], ...]
    source: str
    notes: tuple[str, ...]


def _contest(
    field: Field,
    notes: tuple[str, ...],
    read: _Read,
    metric: str,
    positive: Any,
    samples: int,
    planned: int | None,
    level: float,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Contest:
    n_groups = None if field.groups is None else int(field.groups.max()) + 1
    return Contest(
        metric,
        system_scores(field, level),
        duels(field, samples, rng, level, progress),
        field.n,
        n_groups,
        level,
        None if positive is None else str(positive),
        planned,
        _calibration(read, level, rng),
        (*read.notes, *notes),
        read.left_out,
        read.source,
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
    number = _positive(rows.labels, positive)

    def units(which: tuple[int, ...]) -> Units:
        return label_units(rows.gold, tuple(preds[i] for i in which), len(rows.labels), rows.groups)

    return Field(names, units, right, rows.groups, metric, number), _notes(rows.labels, rows.gold, rows.preds)


def _counted_field(rows: LabelRows, metric: str, positive: Any) -> tuple[Field, tuple[str, ...]]:
    """The same from distinct rows with their counts: of all rows, or of each group."""
    number = _positive(rows.labels, positive)
    groups = None
    codes, count = rows.codes, rows.count
    notes = _notes(rows.labels, codes["gold"], {name: codes[key] for name, key in rows.preds.items()})
    if rows.groups is not None:
        groups, codes, count = rows.group_counts()
    gold, preds = codes["gold"], [codes[key] for key in rows.preds.values()]
    right = tuple((p == gold).astype(np.int64) for p in preds)

    def units(which: tuple[int, ...]) -> Units:
        return label_units(gold, tuple(preds[i] for i in which), len(rows.labels), groups, count)

    return Field(tuple(rows.preds), units, right, groups, metric, number, count), notes


def _positive(labels: tuple[str, ...], positive: Any) -> int | None:
    if positive is None:
        return None
    wanted = _label(positive)
    if wanted not in labels:
        raise InputError(f"no label equals `positive` = {positive!r}.{_validate.nearest(wanted, labels)}")
    return labels.index(wanted)


def _label(value: Any) -> str:
    """A label as the columns spell it."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, float | np.floating) and value == int(value):
        return str(int(value))
    return str(value)


def _notes(labels: tuple[str, ...], gold: Ints, preds: dict[str, Ints]) -> tuple[str, ...]:
    in_gold = set(np.unique(gold).tolist())
    notes = []
    for name, p in preds.items():
        extra = [labels[i] for i in np.unique(p).tolist() if i not in in_gold]
        if extra:
            shown = ", ".join(repr(x) for x in extra[:5]) + (", …" if len(extra) > 5 else "")
            notes.append(f"{name} predicts labels that are never in gold: {shown}.")
    if len(in_gold) == 1:
        notes.append("Gold has a single class: nothing is learnt about the others.")
    return tuple(notes)


def _held_probs(rows: LabelledRows, positive: Any) -> HeldRows | None:
    """The probabilities: of the label given being right or, with `positive`, of the item being positive."""
    if rows.probs is None:
        return None
    if positive is not None:
        truth = (rows.gold == rows.labels.index(_label(positive))).astype(np.uint8)
        own = (truth,) * len(rows.preds)
    else:
        own = tuple((p == rows.gold).astype(np.uint8) for p in rows.preds.values())
    groups = None if rows.clusters is None else rows.clusters.astype(np.uint64)
    return HeldRows(tuple(rows.preds), own, tuple(rows.probs.values()), groups)


def _calibration(read: _Read, level: float, rng: np.random.Generator) -> Comparison | None:
    if read.probs is None:
        return None
    calibrations, pairs = compared(read.probs, level, rng)
    n_groups = calibrations[0].n_groups
    return Comparison(read.probs.models, calibrations, pairs, level, n_groups, source=read.source)
