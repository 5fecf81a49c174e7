"""From label numbers to a `Score`."""

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.calibration.estimation.intervals import Estimate
from howsure.evaluation.scores import metrics
from howsure.evaluation.scores.result import Averages, Baseline, ClassScore, Confusion, Score
from howsure.evaluation.scores.spans import Spans, TagSet, span_units, spans_of
from howsure.evaluation.units import Totals, Units, distinct, label_units
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
    (cell_gold, cell_pred), count = distinct([gold, pred], len(labels))
    units = None if groups is None else label_units(gold, (pred,), len(labels), groups)
    spreading = None if units is None else lambda look: look(units)
    return score_cells(cell_gold, cell_pred, count, labels, spreading, confidence_level, beta)


def score_cells(
    gold: Ints,
    pred: Ints,
    count: Ints,
    labels: tuple[str, ...],
    spreading: metrics.Spreading | None = None,
    confidence_level: float = 0.95,
    beta: float = 1.0,
) -> Score:
    """Score pairs of label numbers, each with its count; `spreading` looks at the groups, if there are any."""
    cells = label_units(gold, (pred,), len(labels), None, count)
    t = cells.totals()
    look = _look(t, beta)
    spread = look(cells) if spreading is None else spreading(look)
    clustered = spreading is not None
    used = np.flatnonzero(metrics.present(t))
    made = _tables(look, spread, clustered, t, labels, used, confidence_level, beta)
    names = tuple(labels[i] for i in used)
    if len(used) <= MOST_LABELS:
        made["confusion"] = Confusion.of(names, np.searchsorted(used, gold), np.searchsorted(used, pred), count)
    made |= {"n_groups": spread.n_units if clustered else None, "beta": beta, "confidence_level": confidence_level}
    baselines, notes = _baselines(labels, t.gold, beta), _label_notes(labels, t)
    return Score(n=int(count.sum()), baselines=baselines, notes=notes, **made)


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
    t = units.totals()
    look = _look(t, beta)
    every = np.arange(len(scheme.types))
    made = _tables(look, look(units), True, t, scheme.types, every, confidence_level, beta)
    made["accuracy"] = metrics.estimated(metrics.accuracy(tokens.totals()), tokens, confidence_level)
    made |= {"n_groups": units.n, "beta": beta, "confidence_level": confidence_level}
    return Score(n=len(gold), spans=True, notes=span_notes({"gold": truth, "predicted": said}), **made)


def macro_f1(units: Units, confidence_level: float) -> Estimate:
    """The macro F1 of one system's units."""
    t = units.totals()
    look = _look(t, 1.0)
    made = _tables(look, look(units), units.clustered, t, (), np.zeros(0, np.int64), confidence_level, 1.0)
    return made["macro"].f


def _look(t: Totals, beta: float) -> metrics.SpreadLook:
    """Accuracy, then macro, micro and weighted averages of precision, recall and F; and those of each class."""
    kinds = ("precision", "recall", "f")
    each = tuple(metrics.per_class(t, kind, beta) for kind in kinds)
    pooled = [metrics.micro(t, kind, beta) for kind in kinds]
    means = (metrics.macro(m, t) for m in each), pooled, (metrics.weighted(m, t) for m in each)
    return metrics.SpreadLook((metrics.accuracy(t), *chain(*means)), each)


def span_notes(spans: dict[str, Spans]) -> tuple[str, ...]:
    """Spans that broke their scheme, said once a column."""
    return tuple(
        f"{s.irregular:,} of {len(s):,} {name} spans break their tagging scheme (an I without a B, or an unclosed one); "
        "they are read as conlleval does."
        for name, s in spans.items()
        if s.irregular
    )


def _tables(
    look: metrics.SpreadLook,
    spread: metrics.Spread,
    clustered: bool,
    t: Totals,
    labels: tuple[str, ...],
    used: Ints,
    level: float,
    beta: float,
) -> dict[str, Any]:
    n, factor = spread.n_units, metrics.correction(spread.n_units, clustered)
    shares = spread.with_class if clustered else np.stack([t.pred, t.gold, f_rows(t, beta)])
    own = zip(look.classes, factor * spread.classes, shares, strict=True)
    columns = [metrics.class_intervals(m, v, share, n, clustered, level) for m, v, share in own]
    counts = np.stack([t.gold, t.pred, t.hit], axis=1).astype(int).tolist()
    classes = tuple(ClassScore(labels[i], *counts[i], *(c[i] for c in columns)) for i in used)
    total, rows = t.pooled, float(t.gold.sum())
    pooled = [float(x[0]) for x in (total.pred, total.gold, f_rows(total, beta))]
    sizes = [rows, *[rows] * 3, *pooled, *[rows] * 3]
    whole = [(a.value, factor * float(v)) for a, v in zip(look.averages, spread.averages, strict=True)]
    made = [metrics.interval(*e, n, clustered, level, size) for e, size in zip(whole, sizes, strict=True)]
    here = np.flatnonzero(metrics.present(t))
    for i, column in enumerate(columns):
        each = [column[c] for c in here], factor * spread.classes[i][here]
        made[1 + i] = metrics.macro_interval(*whole[1 + i], *each, n, clustered, level)
    averages = {"macro": Averages(*made[1:4]), "micro": Averages(*made[4:7]), "weighted": Averages(*made[7:])}
    return {"accuracy": made[0], "classes": classes, **averages}


def f_rows(t: Totals, beta: float) -> Floats:
    """The effective number of rows of F where its variance is 0: the limit of θ(1-θ)/Var θ at F = 0 and at F = 1.

    At 1 it depends on which mistakes were to come: both kinds alike.
    """
    b = beta * beta
    z = b * t.gold + t.pred
    return np.where(t.hit > 0, z * (1.0 + b) / (1.0 + b * b), z / (1.0 + b))


def _baselines(labels: tuple[str, ...], gold: Floats, beta: float) -> tuple[Baseline, ...]:
    """Always the commonest class; classes at random as often as they occur; and all alike."""
    share, there = gold / float(gold.sum()), gold > 0

    def scored(said: Floats, name: str) -> Baseline:
        hit = share * said
        t = Totals(share, said, hit)
        return Baseline(name, float(hit.sum()), metrics.macro(metrics.f_measure(t, beta), t).value)

    commonest = int(np.argmax(gold))
    return (
        scored(np.eye(1, len(labels), commonest)[0], f"always {labels[commonest]!r}"),
        scored(share, "random, as often as in gold"),
        scored(there / there.sum(), "random, each class alike"),
    )


def _label_notes(labels: tuple[str, ...], t: Totals) -> tuple[str, ...]:
    notes, here = [], metrics.present(t)
    for which, said in ((t.gold == 0, "predicted but never in gold"), (t.pred == 0, "in gold but never predicted")):
        names = [labels[i] for i in np.flatnonzero(which & here)]
        if names:
            are = f"{len(names)} of the {here.sum()} labels {'is' if len(names) == 1 else 'are'}"
            notes.append(f"{are} {said}: {_validate.some(names)}.")
    if int((t.gold > 0).sum()) == 1:
        notes.append("Gold has a single class: accuracy is its recall, and nothing is learnt about the others.")
    return tuple(notes)
