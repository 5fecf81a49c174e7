"""`howsure agree`: do the annotators agree beyond chance, and whom can one trust?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from howsure import _validate, _written
from howsure.calibration.comparing.difference import mean_difference
from howsure.calibration.multiclass import analyse_classes
from howsure.engines.coded import annotators_columns, long_ratings, wide_ratings
from howsure.engines.tables import Table
from howsure.engines.writing import output, write_columns
from howsure.errors import InputError
from howsure.evaluation.annotation import agreement, crowds, disagreement
from howsure.evaluation.annotation.annotators import crowd_shares, judged_annotators, labels_needed
from howsure.evaluation.annotation.crowds import posterior_rows
from howsure.evaluation.annotation.ratings import Ratings
from howsure.evaluation.annotation.result import Agreement, Crowd, GoldCheck
from howsure.processes import Progress

MOST_CLASSES = 100  # of a crowd model; more are numbers rather than classes
MANY_NUMBERS = 10  # labels with an order, beyond which equality is too much to ask
MOST_CONFUSION = 50_000_000  # annotators × labels × labels


def agree(
    labels: Any,
    *,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    annotators: Sequence[str] | str | None = None,
    gold: str | None = None,
    groups: str | None = None,
    where: str | None = None,
    order: Sequence[str] | str | None = None,
    pseudocount: float = 1.0,
    reject_below: float = 0.4,
    target: float = 0.95,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    progress: Progress | None = None,
) -> Agreement:
    """Agreement of annotators beyond chance, where they disagree and, of three or more, one label per item.

    Parameters
    ----------
    labels : table
        A path, a data frame or a mapping of columns, with a row per label or, with `annotators`, a column per annotator.
    item, annotator, label : str
        Columns of a table with a row per label; guessed when named so.
    annotators : names of columns, or "a,b,c"
        A column per annotator; empty cells are labels not given. Found where no column is named like an annotator and two
        or more columns hold the same few labels.
    gold : str
        Column of the true label of each item, where it is known.
    groups : str
        Column of what items come from (documents): intervals then treat groups, not items, as independent.
    where : str
        SQL condition on the rows.
    order : labels, or "low,mid,high"
        Their order, for weighted κ and for ordinal α, by which agreement is then judged. Labels that are numbers have one
        for the coefficients; give it to judge by them.
    pseudocount : float
        Labels added to each row of an annotator's confusion matrix, spread evenly (see `dawid_skene`).
    reject_below : float
        Annotators whose skill (0 chance, 1 perfect) is below this even at its upper limit are to be rejected.
    target : float
        Certainty wanted of an item's label, for the number of labels needed.
    confidence_level : float
        Of all intervals.
    rng : Generator, int or None
        Seeds the simulation of labels needed.
    progress : callable
        Called with the iteration of EM and the largest number of iterations.

    Returns
    -------
    Agreement

    Notes
    -----
    Items are what is sampled; formulas and simulated coverage: docs/evidence/theory.md.

    Examples
    --------
    >>> import howsure
    >>> made = howsure.agree({"ann": ["N", "N", "V", "V", "N"], "bob": ["N", "V", "V", "V", "N"]}, annotators="ann,bob")
    >>> round(made.pairs[0].kappa.value, 4), round(made.pairs[0].kappa.expected, 4)
    (0.6154, 0.48)
    """
    level = _validate.fraction(confidence_level, "confidence_level")
    threshold = _validate.fraction(reject_below, "reject_below")
    wanted = _validate.fraction(target, "target")
    extra = _validate.not_negative(pseudocount, "pseudocount")
    generator = _validate.generator(rng)
    roles = {"item": item, "annotator": annotator, "label": label, "gold": gold, "groups": groups}
    ratings, notes = _read(labels, annotators, roles, where, None if order is None else _validate.listed(order))
    pairable = agreement.Pairable(ratings)
    pairs: tuple[disagreement.AnnotatorPair, ...] = ()
    if disagreement.n_rating_pairs(ratings) <= disagreement.MOST_ROWS:
        pairs = disagreement.annotator_pairs(ratings, level)
    else:
        notes.append("Pairs of annotators are left out: there are too many pairs of labels.")
    crowd, why = _crowd(ratings, extra, threshold, wanted, level, generator, progress)
    notes += [*why, *_written.spelt_alike(ratings.labels), *_label_notes(ratings)]
    if ratings.values is not None and len(ratings.labels) > MANY_NUMBERS:
        notes.append(
            "The labels are many numbers: ordinal and interval α count near misses as such, the others do not."
        )
    alone = len(ratings.items) - pairable.n
    if alone:
        notes.append(f"{alone:,} of {len(ratings.items):,} items have one label only and say nothing about agreement.")
    alphas = (agreement.krippendorff_alpha(pairable, m, level) for m in agreement.METRICS)
    coefficients = (agreement.fleiss_kappa(pairable, level), *alphas, agreement.gwet_ac1(ratings, pairable))
    found = pairs, disagreement.confused_labels(ratings, pairable), disagreement.disputed_items(ratings, pairable)
    about = (*found, crowd, level, tuple(notes), ratings.left_out, order is not None and len(ratings.labels) > 2)
    observed = agreement.observed_agreement(pairable, level)
    return Agreement(ratings, pairable.n, observed, coefficients, *about)


def _read(
    source: Any,
    annotators: Sequence[str] | str | None,
    roles: dict[str, str | None],
    where: str | None,
    order: list[str] | None,
) -> tuple[Ratings, list[str]]:
    """The ratings, and what to say of how they were read."""
    if isinstance(source, Mapping):
        columns = {str(k): _validate.one_dimensional(v, str(k), numbers=False) for k, v in source.items()}
        _validate.same_length(**columns)
        source = {k: v.tolist() for k, v in columns.items()}
    elif not isinstance(source, str | Path) and not hasattr(source, "columns") and not hasattr(source, "column_names"):
        raise InputError("give a path, a data frame or a mapping of columns.")
    names = None if annotators is None else _validate.listed(annotators)
    is_wide = roles["annotator"] is None and roles["label"] is None
    with Table(source) as table:
        notes = []
        if names is None and is_wide:
            names = annotators_columns(table, set(roles.values()), where)
            if names:
                notes.append(f"Read as a column per annotator: {', '.join(names)}; `annotators=` says otherwise.")
        if names is None:
            return long_ratings(table, roles, where, order), []
        if not is_wide:
            raise InputError("`annotators=` names a column per annotator; leave `annotator=` and `label=` out.")
        return wide_ratings(table, names, roles, where, order), notes


def _label_notes(ratings: Ratings) -> list[str]:
    """Labels that one annotator alone uses: a misspelling, or guidelines read differently."""
    k = len(ratings.labels)
    users = np.bincount(np.unique(ratings.annotator * k + ratings.label) % k, minlength=k)
    alone = [ratings.labels[i] for i in np.flatnonzero(users == 1).tolist()]
    if not alone:
        return []
    which = "the label" if len(alone) == 1 else "each of the labels"
    return [f"Only one annotator uses {which} {_validate.some(alone)}."]


def _crowd(
    ratings: Ratings,
    smoothing: float,
    reject_below: float,
    target: float,
    level: float,
    rng: np.random.Generator,
    progress: Progress | None,
) -> tuple[Crowd | None, list[str]]:
    n_annotators, k = len(ratings.annotators), len(ratings.labels)
    if n_annotators < 3:
        return None, ["With two annotators there is no telling who is right: a crowd model needs three at least."]
    if k < 2:
        return None, [f"All labels are {ratings.labels[0]!r}: there is nothing for a crowd model to tell apart."]
    if k > MOST_CLASSES or n_annotators * k * k > MOST_CONFUSION:
        return None, [f"{k:,} different labels are too many for a crowd model: are they numbers rather than classes?"]
    votes = crowds.majority_vote(ratings)
    model = crowds.dawid_skene(ratings, smoothing=smoothing, progress=progress)
    judged = judged_annotators(ratings, model, level, reject_below)
    each = np.bincount(ratings.annotator, minlength=n_annotators)
    rejected = {a.name for a in judged if a.verdict == "reject"}
    out = [name in rejected for name in ratings.annotators]
    needed = labels_needed(model, crowd_shares(each), target, rng)
    without = labels_needed(model, crowd_shares(each, out), target, rng) if 0 < sum(out) < n_annotators else None
    if len(ratings.items) <= crowds.MOST_AVERAGED:
        model = replace(model, posterior=crowds.posterior_over_models(ratings, model, np.random.default_rng(0)))
    notes = [] if model.converged else [f"Dawid-Skene stopped after {model.iterations:,} iterations, not converged."]
    checked = None if ratings.gold is None else _against_gold(ratings, votes, model, level, rng)
    if checked is None:
        notes.append(
            "The model's probabilities allow for items that make annotators guess, but not for items that mislead most of them: there "
            "the probabilities are too high; gold labels would tell."
        )
    return Crowd(votes, model, judged, needed, without, reject_below, smoothing, checked), notes


def _against_gold(
    ratings: Ratings, votes: crowds.MajorityVote, model: crowds.DawidSkene, level: float, rng: np.random.Generator
) -> GoldCheck:
    assert ratings.gold is not None
    known = np.flatnonzero(ratings.gold >= 0)
    gold = ratings.gold[known]
    groups = None if ratings.groups is None else np.unique(ratings.groups[known], return_inverse=True)[1]
    by_vote = votes.leaders[known, gold]
    by_model = (model.label[known] == gold).astype(np.float64)
    calibration = None
    if len(known) >= 2 and (groups is None or groups.max() > 0):
        how: dict[str, Any] = {"confidence_level": level, "rng": rng, "source": "Dawid-Skene's probabilities"}
        calibration = analyse_classes(gold, model.posterior[known], ratings.labels, groups=groups, **how)
    vote, fitted = (agreement.mean_share(right, groups, level) for right in (by_vote, by_model))
    gain = mean_difference(by_model - by_vote, groups, level)
    return GoldCheck(len(known), vote, float(np.mean(votes.label[known] == gold)), fitted, gain, calibration)


def check_posteriors(path: str) -> None:
    """Raise if the name of a file for posteriors tells no format of tables."""
    output(path)


def write_posteriors(made: Agreement, path: str) -> None:
    """Write each item's label probabilities as a table."""
    assert made.crowd is not None
    write_columns(posterior_rows(made.ratings, made.crowd.model), output(path))
