"""`howsure classify`: text classifiers that say how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from howsure.corpora.tweet_tokens import labelled_by_emoticons
from howsure.engines.coded import read_texts
from howsure.engines.columns import text_column
from howsure.engines.tables import Table
from howsure.errors import InputError
from howsure.evaluation.cross_validation import CrossValidation
from howsure.evaluation.model_checks import ClassifierCheck
from howsure.kernels.cells import Floats, Ints
from howsure.models.classifiers import ClassifierTraining, TextClassifier, fit_classifier
from howsure.processes import Progress
from howsure.verbs.applying import Applied, added, check_out
from howsure.verbs.load import model_of

if TYPE_CHECKING:
    from howsure.models.ngrams.classifier import NgramClassifier

Classifier: TypeAlias = "TextClassifier | NgramClassifier"


def train_classifier(
    source: Any,
    *,
    method: str = "logistic",
    text: str | None = None,
    true: str | None = None,
    dev: Any = None,
    positive: str | None = None,
    emoticons: bool = False,
    where: str | None = None,
    progress: Progress | None = None,
    **fitting: Any,
) -> ClassifierTraining:
    """Train on a table of texts and labels: the model, and the number of rows left out.

    Parameters
    ----------
    source, dev : path or data frame
        Texts to learn from, and to choose the hyperparameter on (best F1).
    method : "logistic", "naive-bayes" or "ngrams"
    text, true : str
        Columns, when they cannot be guessed.
    emoticons : bool
        There are no labels: 1 is a text with ":)", which is then taken away (the emoticon trick).
    **fitting
        How to fit: tokens ("tweets" or "words"), strength, min_count, ngrams, vectors, order, units; see
        `howsure.models.classifiers.fit_classifier`.
    """
    if emoticons and true is not None:
        raise InputError("with `emoticons=True` the labels come from the texts: leave `true=` out.")
    texts, labels, left_out, _ = _labelled(source, text, true, emoticons, where)
    held_out = None
    if dev is not None:
        dev_texts, dev_labels, dev_left_out, _ = _labelled(dev, text, true, emoticons, None)
        held_out, left_out = (dev_texts, dev_labels), left_out + dev_left_out
    if positive is not None and positive not in labels:
        raise InputError(f'no training text has the label "{positive}".')
    made = fit_classifier(texts, labels, method=method, dev=held_out, positive=positive, progress=progress, **fitting)
    return ClassifierTraining(made, left_out)


def cv_classifier(
    source: Any,
    *,
    method: str = "logistic",
    folds: int = 10,
    text: str | None = None,
    true: str | None = None,
    second: str | None = None,
    groups: str | None = None,
    emoticons: bool = False,
    strength: float | None = None,
    where: str | None = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    progress: Progress | None = None,
    **fitting: Any,
) -> CrossValidation:
    """k-fold cross-validation of a classifier: train on k - 1 folds, predict the other, for each in turn.

    Labels are in proportion in every fold; texts of the same `groups` (author) stay in one, and intervals allow for them.
    `second` is the column of a second annotator, whose accuracy is the ceiling. Without `strength` the hyperparameter (of
    n-gram models the temperature) is chosen in each fold, on a tenth of its training texts. `fitting` is as of `train_classifier`.
    """
    from howsure.verbs.cross_validation import cross_validated
    from howsure.verbs.split import split

    more = tuple(dict.fromkeys(c for c in (groups, second) if c is not None))
    texts, labels, left_out, columns = _labelled(source, text, true, emoticons, where, more)
    grouped = None if groups is None else [str(g) for g in columns[groups]]
    if folds < 2:
        raise InputError(f"`folds=` must be 2 or more; got {folds}.")
    dealt = split(len(texts), folds=folds, groups=grouped, stratify=labels, rng=rng)

    def trained(train: Ints, test: Ints) -> tuple[Sequence[str], Any, Sequence[str]]:
        mine = [labels[i] for i in train.tolist()]
        inner = np.zeros(len(train), bool)
        if strength is None:
            inside = None if grouped is None else [grouped[i] for i in train.tolist()]
            inner[split(len(train), folds=10, groups=inside, stratify=mine, rng=0).part == 0] = True
        kept, tuned = (([texts[i] for i in rows], [labels[i] for i in rows]) for rows in (train[~inner], train[inner]))
        model = fit_classifier(*kept, method=method, dev=tuned if tuned[0] else None, strength=strength, **fitting)
        posterior = model.posterior([texts[i] for i in test.tolist()])
        seen, counts = np.unique(mine, return_counts=True)
        return posterior.best(), posterior.marginals().max(axis=1), [str(seen[counts.argmax()])] * len(test)

    about: dict[str, Any] = {"method": method, "what": "texts", "baseline": "the commonest label of the training folds"}
    about |= {"second": None if second is None else [str(v) for v in columns[second]], "left_out": left_out}
    how: dict[str, Any] = {"groups": grouped, "confidence_level": confidence_level, "progress": progress}
    return cross_validated(labels, dealt.part, trained, **about, **how)


def check_classifier(
    model: Classifier | ClassifierTraining | str | Path,
    source: Any,
    *,
    text: str | None = None,
    true: str | None = None,
    positive: str | None = None,
    emoticons: bool = False,
    groups: str | None = None,
    by: str | None = None,
    where: str | None = None,
    temperature: float = 1.0,
    confidence_level: float = 0.95,
) -> ClassifierCheck:
    """Score a classifier on a labelled table and check its probabilities.

    Of two classes the probability checked is that of `positive`, by default the last by name; of more, all classes'.
    """
    from howsure.verbs.check import check
    from howsure.verbs.score import score

    more = tuple(dict.fromkeys(c for c in (groups, by) if c is not None))
    texts, labels, left_out, columns = _labelled(source, text, true, emoticons, where, more)
    used = _model(model)
    unseen = sorted(set(labels) - set(used.classes))
    if unseen:
        known = ", ".join(used.classes[:10])
        raise InputError(f'the label "{unseen[0]}" was not in training, which had {known}.')
    posterior = used.posterior(texts).tempered(temperature)
    notes: tuple[str, ...] = ()
    if isinstance(used, TextClassifier):
        shares = np.array([labels.count(c) for c in used.classes]) / len(labels)
        notes = used.unlike(used.unknown(texts), shares, len(texts), labelled=True)
    grouped = None if groups is None else columns[groups]
    read = Path(source).name if isinstance(source, str | Path) else "texts"
    scored = score(labels, posterior.best(), groups=grouped, confidence_level=confidence_level)
    given: dict[str, Any] = {"groups": grouped, "confidence_level": confidence_level}
    if len(used.classes) == 2:
        wanted = used.classes[1] if positive is None else positive
        hits = np.array([label == wanted for label in labels], dtype=np.uint8)
        slices = None if by is None else columns[by]
        calibration: Any = check(hits, posterior.label_is(wanted), by=slices, **given)
        return ClassifierCheck(scored, replace(calibration, source=read), wanted, left_out, notes)
    if positive is not None or by is not None:
        raise InputError("`positive=` and `by=` go with two classes; this model has more.")
    calibration = check(labels, posterior.marginals(), classes=used.classes, **given)
    return ClassifierCheck(scored, replace(calibration, source=read), None, left_out, notes)


def apply_classifier(
    model: Classifier | ClassifierTraining | str | Path,
    source: Any,
    out: str | Path | None = None,
    *,
    text: str | None = None,
) -> Applied:
    """A table with a column `p_<class>` for each class: in memory or, with `out`, in a file, as a stream."""
    check_out(out, [source])
    used = _model(model)
    names = [f"p_{c}" for c in used.classes]
    unknown, sums, n = np.zeros(2), np.zeros(len(names)), 0
    with Table(source) as table:
        column = table.column(text_column(table, text))

        def add(read: list[Any], first: int | None) -> Sequence[Floats]:
            nonlocal unknown, sums, n
            texts = read[0].to_pylist()
            q = used.posterior(texts).marginals()
            unknown = unknown + (used.unknown(texts) if isinstance(used, TextClassifier) else 0)
            sums, n = sums + q.sum(axis=0), n + len(q)
            return list(np.ascontiguousarray(q.T))

        made = added(table, [column], names, add, out, "VARCHAR")
    notes = used.unlike(unknown, sums / max(n, 1), n) if isinstance(used, TextClassifier) else ()
    return replace(made, notes=notes)


def _model(given: Any) -> Classifier:
    from howsure.models.ngrams.classifier import NgramClassifier

    return model_of(given, TextClassifier, NgramClassifier)


def _labelled(
    source: Any, text: str | None, true: str | None, emoticons: bool, where: str | None, more: tuple[str, ...] = ()
) -> tuple[list[str], list[str], int, dict[str, list[str | None]]]:
    with Table(source) as table:
        rows = read_texts(table, text, true, labelled=not emoticons, more=more, where=where)
    if not emoticons:
        return rows.texts, rows.labels, rows.left_out, rows.more
    numbers, stripped = labelled_by_emoticons(rows.texts)
    return stripped, [str(n) for n in numbers], rows.left_out, rows.more
