"""From label numbers to a `Score`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.evaluation.confusion import Confusion
from howsure.evaluation.metrics import (
    Average,
    accuracy,
    class_estimates,
    estimated,
    f_measure,
    macro,
    micro,
    precision,
    present,
    recall,
    weighted,
)
from howsure.evaluation.score import Averages, Baseline, ClassScore, Score
from howsure.evaluation.spans import Spans, TagSet, span_units, spans_of
from howsure.evaluation.units import Totals, Units, label_units
from howsure.kernels.cells import Floats, Ints

MOST_LABELS = 2000  # with more, no confusion matrix is made


def score_labels(
    gold: Ints,
    pred: Ints,
    labels: tuple[str, ...],
    groups: Ints | None = None,
    confidence_level: float = 0.95,
    beta: float = 1.0,
) -> Score:
    """Score a column of label numbers; `groups` number what is dependent."""
    used = np.unique(np.concatenate([np.unique(gold), np.unique(pred)]))
    if len(used) < len(labels):
        gold, pred, labels = np.searchsorted(used, gold), np.searchsorted(used, pred), tuple(labels[i] for i in used)
    units = label_units(gold, (pred,), len(labels), groups)
    t = units.totals()
    made = _tables(units, t, labels, confidence_level, beta)
    notes = _label_notes(labels, t)
    return Score(
        n=len(gold),
        accuracy=estimated(accuracy(t), units, confidence_level, rows=float(len(gold))),
        confusion=Confusion.of(labels, gold, pred) if len(labels) <= MOST_LABELS else None,
        baselines=_baselines(labels, t.gold, beta),
        n_groups=units.n if units.clustered else None,
        beta=beta,
        confidence_level=confidence_level,
        notes=notes,
        **made,
    )


def score_spans(
    gold: Ints,
    pred: Ints,
    tags: tuple[str, ...],
    new_sentence: NDArray[np.bool_],
    clusters: Ints,
    confidence_level: float = 0.95,
    beta: float = 1.0,
) -> Score:
    """Score a column of tag numbers by the spans they mark; `clusters` number the sentences or documents."""
    scheme = TagSet.of(tags)
    truth, said = (spans_of(c, scheme, new_sentence) for c in (gold, pred))
    units = span_units(truth, (said,), len(scheme.types), clusters)
    tokens = label_units(gold, (pred,), len(tags), clusters)
    made = _tables(units, units.totals(), scheme.types, confidence_level, beta)
    return Score(
        n=len(gold),
        accuracy=estimated(accuracy(tokens.totals()), tokens, confidence_level),
        n_groups=units.n,
        spans=True,
        beta=beta,
        confidence_level=confidence_level,
        notes=span_notes({"gold": truth, "predicted": said}),
        **made,
    )


def span_notes(spans: dict[str, Spans]) -> tuple[str, ...]:
    """Spans that broke their scheme, said once a column."""
    return tuple(
        f"{s.irregular:,} of {len(s):,} {name} spans break their tagging scheme (an I without a B, or an unclosed one); "
        "they are read as conlleval does."
        for name, s in spans.items()
        if s.irregular
    )


def _tables(units: Units, t: Totals, labels: tuple[str, ...], level: float, beta: float) -> dict[str, Any]:
    p, r, f = precision(t), recall(t), f_measure(t, beta)
    pred, gold = units.pred[0], units.gold
    parts = ((p, t.pred, pred), (r, t.gold, gold), (f, f_rows(t, beta), pred + gold))
    columns = [class_estimates(m, units, rows, level, share) for m, rows, share in parts]
    classes = tuple(
        ClassScore(label, int(t.gold[i]), int(t.pred[i]), int(t.hit[i]), columns[0][i], columns[1][i], columns[2][i])
        for i, label in enumerate(labels)
    )
    total, rows = t.pooled, float(t.gold.sum())
    pooled = [float(x[0]) for x in (total.pred, total.gold, f_rows(total, beta))]

    def made(averages: list[Average], sizes: list[float]) -> Averages:
        return Averages(*(estimated(a, units, level, rows=s) for a, s in zip(averages, sizes, strict=True)))

    return {
        "classes": classes,
        "macro": made([macro(m, t) for m in (p, r, f)], [rows] * 3),
        "micro": made([micro(t, kind, beta) for kind in ("precision", "recall", "f")], pooled),
        "weighted": made([weighted(m, t) for m in (p, r, f)], [rows] * 3),
    }


def f_rows(t: Totals, beta: float) -> Floats:
    """The effective number of rows of F where its variance is 0: the limit of θ(1-θ)/Var θ at F = 0 and at F = 1.

    At 1 it depends on which mistakes were to come: both kinds alike.
    """
    b = beta * beta
    z = b * t.gold + t.pred
    return np.where(t.hit > 0, z * (1.0 + b) / (1.0 + b * b), z / (1.0 + b))


def _baselines(labels: tuple[str, ...], gold: Floats, beta: float) -> tuple[Baseline, ...]:
    """Always the commonest class; classes at random as often as they occur; and all alike."""
    n, k = float(gold.sum()), len(labels)
    share = gold / n

    def scored(said: Floats, name: str) -> Baseline:
        hit = share * said
        t = Totals(share, said, hit)
        return Baseline(name, float(hit.sum()), macro(f_measure(t, beta), t).value)

    commonest = int(np.argmax(gold))
    there = gold > 0
    return (
        scored((np.arange(k) == commonest).astype(np.float64), f"always {labels[commonest]!r}"),
        scored(share, "random, as often as in gold"),
        scored(there / there.sum(), "random, each class alike"),
    )


def _label_notes(labels: tuple[str, ...], t: Totals) -> tuple[str, ...]:
    notes = []
    for which, said in ((t.gold == 0, "predicted but never in gold"), (t.pred == 0, "in gold but never predicted")):
        names = [labels[i] for i in np.flatnonzero(which & present(t))]
        if names:
            shown = ", ".join(repr(x) for x in names[:5]) + (", …" if len(names) > 5 else "")
            notes.append(
                f"{len(names)} of the {len(labels)} labels {'is' if len(names) == 1 else 'are'} {said}: {shown}."
            )
    if int((t.gold > 0).sum()) == 1:
        notes.append("Gold has a single class: accuracy is its recall, and nothing is learnt about the others.")
    return tuple(notes)
