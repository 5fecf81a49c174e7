"""`howsure count`: how many items are positive, from a model's probabilities and a few labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date as Day
from typing import Any

import numpy as np

from howsure import _validate
from howsure.counting.analysis import Layout, counts_of, regression_of
from howsure.counting.result import Counts
from howsure.counting.tally import Cell, Tally, tally_of
from howsure.engines.columns import PROB_NAMES, TRUE_NAMES, guessed_column, number_sql, value_sql
from howsure.engines.counted import KeyedLabels, TallyWork, day_sql, inclusion_probabilities, keyed_labels
from howsure.engines.engine import Engine, engine_of
from howsure.engines.items import ItemRows, is_table, items_from_table, open_table
from howsure.engines.slices import in_order
from howsure.engines.tables import Table, quoted
from howsure.errors import InputError
from howsure.events.timeline import all_periods, check_period, period_name
from howsure.kernels.cells import Floats, Ints

UNKNOWN = (
    "how were the labelled items chosen? If at random from all items, say `design='random'`; if with known probabilities, name "
    "their column with `design=`; `howsure.to_label` draws such a sample. If nobody knows, no method can tell what the "
    "labelled items say about the others."
)


def count(
    y: Any,
    y_prob: Any = None,
    *,
    cells: Any = None,
    design: Any = None,
    groups: Any = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    scale: str | None = None,
    logits: bool = False,
    prob: str | None = None,
    true: str | None = None,
    positive: Any = None,
    labels: Any = None,
    key: str | None = None,
    date: str | None = None,
    every: str = "month",
    by: str | None = None,
    formula: str | None = None,
    until: float | None = None,
    where: str | None = None,
    engine: Engine | str | None = None,
) -> Counts:
    """How many items are positive: in all, and in each period or group, with intervals.

    Parameters
    ----------
    y : array of 0, 1 and NaN (not labelled), shape (n,); or a table
        The labels of a few items. A path or data frame may be given instead, of which `prob` names the column of
        probabilities and `true` that of labels (empty where an item is not labelled).
    y_prob : array, shape (n,)
        The model's probability for every item.
    cells : array, shape (n,)
        Count in each of its values too. Numbers and dates are ordered in time, and have a trend.
    design : "random", or array of inclusion probabilities, or a column's name
        How the labelled items were chosen: a random sample of all items, or each with its own known probability. Labels
        that were drawn by `to_label` bring theirs along.
    groups : array, shape (n,); or a column's name
        What was drawn whole (documents): all items of a drawn group are labelled.
    confidence_level : float
        Of all intervals.
    rng : Generator, int or None
        Seeds the draws from which intervals of cells are made.
    scale, logits
        Of the probabilities, as in `howsure.check`; percentages are not recognised here.
    labels, key : table and a column's name
        Labels in a file of their own; `key` names the column that identifies an item in both.
    date, every, by : a column's name; {"day", "week", "month", "quarter", "year"}; a column's name
        For tables: count in each period, in each value of a column, or in both.
    formula : str
        Such as ``"y ~ month + team"``: regression of the label on columns, corrected for the model's errors.
    until : float
        Tell how many more labels an interval of ± `until` takes.
    positive, where, engine
        For tables: the label that counts as 1, an SQL condition, and where the work runs.

    Returns
    -------
    Counts
        Share and number of positives with their interval, beside the sum of probabilities and the labels alone; strata,
        cells with their changes, trend, coefficients, and a verdict.

    Notes
    -----
    Strata of probability and the tilted score interval for the total; for cells a curve shared by all, with an effect of
    each. Formulas and simulations: docs/evidence/theory.md.

    Examples
    --------
    >>> import numpy as np, howsure
    >>> rng = np.random.default_rng(0)
    >>> q = rng.beta(0.3, 3, 5000)
    >>> y = np.where(rng.random(5000) < 0.04, rng.random(5000) < q, np.nan)  # 4% are labelled, at random
    >>> howsure.count(y, q, design="random").share
    0.1091 [0.0754, 0.1490]
    """
    level = _validate.fraction(confidence_level, "confidence_level")
    generator = _validate.generator(rng)
    half = None if until is None else _validate.not_negative(until, "until")
    if half is not None and not 0 < half < 0.5:
        raise InputError(f"`until=` must be a half-width between 0 and 0.5, such as 0.02; got {until}.")
    if y_prob is not None:
        named = {"labels": labels, "key": key, "date": date, "by": by, "formula": formula, "where": where}
        _validate.absent("`{}` is for tables; with arrays, `cells` says what to count in.", **named)
        found = _from_arrays(y, y_prob, cells, design, groups, _validate.scale(scale, logits=logits), positive)
    elif not is_table(y):
        raise InputError("give the probabilities too: count(y, y_prob), or a table with its column `prob`.")
    else:
        if cells is not None:
            raise InputError("with a table, `date` and `by` name what to count in, not `cells`.")
        given = _validate.scale(scale, logits=logits)
        asked = Asked(prob, true, positive, labels, key, date, every, by, formula, design, groups, where, given)
        found = tallied(y, asked, engine_of(engine))
    about: dict[str, Any] = {"notes": found.notes, "source": found.source, "whole_groups": found.grouped}
    how: dict[str, Any] = {"design": found.checked_design(), "level": level, "rng": generator, "half_width": half}
    made = counts_of(found.tally.renumbered(found.cells, found.number), found.layout, **how, **about)
    if found.columns is not None:
        made = replace(made, coefficients=regression_of(found.tally, *found.columns, level, whole_groups=found.grouped))
    return made


@dataclass(frozen=True, slots=True)
class Asked:
    """Which columns of a table, and what of them."""

    prob: str | None = None
    true: str | None = None
    positive: Any = None
    labels: Any = None
    key: str | None = None
    date: str | None = None
    every: str = "month"
    by: str | None = None
    formula: str | None = None
    design: Any = None
    groups: Any = None
    where: str | None = None
    scale: str | None = None


@dataclass(frozen=True, slots=True)
class Tallied:
    """A tally, how its cells are laid out, and what is known of its labels."""

    tally: Tally
    cells: tuple[Cell, ...]  # those that are counted in
    number: Ints  # of each cell of the tally among them
    layout: Layout
    design: str | None
    notes: tuple[str, ...]
    source: str
    columns: tuple[Floats, list[str]] | None = None
    grouped: bool = False

    def checked_design(self) -> str:
        """How the labels were drawn; not to know it is an error, and so is to have none."""
        labels = self.tally.labels
        if not self.tally.n_items:
            raise InputError("there are no items to count.")
        if not len(labels):
            share = self.tally.sum.sum() / 2**32 / self.tally.n_items
            raise InputError(
                f"no item is labelled, so that nothing tells how far the model can be believed: its probabilities sum to "
                f"{share * self.tally.n_items:,.1f} of {self.tally.n_items:,} items ({share:.2%}). "
                "Draw items to label with `howsure.to_label`."
            )
        if len(labels) == self.tally.n_items:
            return "all labelled"
        if self.design is None:
            raise InputError(UNKNOWN)
        return self.design


def _from_arrays(
    y: Any, y_prob: Any, cells: Any, design: Any, groups: Any, scale: str | None, positive: Any
) -> Tallied:
    given = _validate.one_dimensional(y, "y", numbers=positive is None)
    if positive is not None:
        known = np.array([v is not None and v == v for v in given.tolist()])
        given = np.where(known, given == positive, np.nan)
    prob = _validate.one_dimensional(y_prob, "y_prob")
    named = {"cells": cells, "groups": groups}
    extra = {n: _validate.one_dimensional(v, n, numbers=False) for n, v in named.items() if v is not None}
    inclusion = None
    if design is not None and not isinstance(design, str):
        extra["design"] = inclusion = _validate.one_dimensional(design, "design").astype(np.float64)
    elif design not in (None, "random"):
        raise InputError(f'`design` must be "random" or an array of inclusion probabilities; got {design!r}.')
    _validate.same_length(y=given, y_prob=prob, **extra)
    q = _validate.probabilities(prob, _validate.Origin(), scale=scale)
    labelled = ~np.isnan(given) if given.dtype.kind == "f" else np.ones(len(given), bool)
    labels = np.zeros(len(given), np.uint8)
    rows = np.flatnonzero(labelled)
    if len(rows):
        origin = _validate.Origin(true="y", rows=rows)
        labels[rows] = _validate.labels(np.ascontiguousarray(given[rows]), origin)
        if inclusion is not None:
            inclusion_probabilities(inclusion[rows], "design", origin)
    names: tuple[Cell, ...] = ((),)
    code = np.zeros(len(q), np.int64)
    layout = Layout()
    if cells is not None:
        values = extra["cells"]
        missing = np.array([v is None or v != v for v in values.tolist()])
        if missing.any():
            raise InputError(f"`cells` is missing at index {int(np.argmax(missing))}; every item needs one.")
        found, code = np.unique(values, return_inverse=True)
        texts = tuple(f"{v:g}" if isinstance(v, float) else str(v) for v in found.tolist())
        names = tuple((t,) for t in texts)
        ordered = values.dtype.kind in "iufM" or (len(values) > 0 and isinstance(values[0], Day))
        place = np.arange(len(texts))
        layout = Layout(texts, (), place, None) if ordered else Layout((), texts, None, place, by="cells")
    group = None
    if groups is not None:
        group = np.unique(extra["groups"].astype(str), return_inverse=True)[1].astype(np.uint64) + np.uint64(1)
    tally = tally_of(q, labels, labelled, code, names, inclusion, group)
    drawn = "random" if isinstance(design, str) else None if design is None else "known inclusion probabilities"
    return Tallied(tally, names, np.arange(len(names)), layout, drawn, (), "arrays", grouped=groups is not None)


def tallied(source: Any, asked: Asked, engine: Engine) -> Tallied:
    """A table in one pass."""
    with open_table(source, engine) as table:
        opened = opened_items(table, asked)
        with opened.rows as rows:
            known = opened.keyed, opened.labelled, opened.inclusion
            tally = rows.rows.fold(TallyWork(rows.items, opened.roles, asked.date or "", *known)).in_order()
            notes = [*rows.notes, *opened.notes, *key_notes(tally, opened.keyed, str(source))]
            cells, number, layout = laid_out(tally.cells, asked, opened.roles)
            columns = _design_matrix(tally, opened, asked) if opened.terms else None
            about = opened.design, tuple(notes), rows.name, columns, asked.groups is not None
            return Tallied(tally, cells, number, layout, *about)


@dataclass(frozen=True, slots=True)
class Opened:
    """The rows of a table with the roles that a count needs."""

    rows: ItemRows
    roles: tuple[str, ...]  # of what cells are made of
    keyed: KeyedLabels | None
    labelled: bool
    inclusion: str | None
    design: str | None
    notes: tuple[str, ...]
    terms: tuple[tuple[str, str, bool], ...] = ()  # of the formula: name, role, whether a number


def opened_items(table: Table, asked: Asked, *, every_column: bool = False, labels_needed: bool = True) -> Opened:
    """Roles of the table's columns; labels in a file of their own are read here."""
    check_period(asked.every)
    if asked.labels is not None and asked.key is None:
        raise InputError("labels in a file of their own need `key=`: the column that identifies an item in both.")
    column = guessed_column(table, PROB_NAMES, "probability", "`prob=`", {asked.true, asked.key}, given=asked.prob)
    keyed, true, inclusion, design = None, None, None, None
    notes: tuple[str, ...] = ()
    if asked.design is not None and not isinstance(asked.design, str):
        raise InputError('with a table, `design` is "random" or names the column of inclusion probabilities.')
    drawn_by = None if asked.design in (None, "random") else str(asked.design)
    if asked.labels is not None:
        keyed, notes = keyed_labels(asked.labels, table, str(asked.key), asked.true, asked.positive, drawn_by)
        if not np.isnan(keyed.inclusion).any() and asked.design != "random":
            design = "known inclusion probabilities"
        elif asked.design == "random":
            keyed, design = replace(keyed, inclusion=np.full(len(keyed), np.nan)), "random"
    else:
        there = {c.name.lower(): c.name for c in table.columns}
        if labels_needed or asked.true is not None:
            skip = {column.name, there.get("inclusion", "")}
            how = "`true=`, or a file of labels with `labels=`; `howsure.to_label` draws items to label"
            true = guessed_column(table, TRUE_NAMES, "label", how, skip, given=asked.true)
        if asked.design == "random":
            design = "random"
        elif true is not None:
            inclusion = drawn_by or there.get("inclusion")
            design = None if inclusion is None else "known inclusion probabilities"
    if true is not None and true.name == column.name:
        raise InputError(f"`{column.name}` cannot be both the probability and the label; name the other one.")
    by = [] if asked.by is None else [table.column(asked.by).name]
    terms = []
    for name in _terms(asked.formula):
        if name in ("day", "week", "month", "quarter", "year") and asked.date and name == asked.every:
            terms.append((name, "day", True))
            continue
        found = table.column(name)
        if found.name not in by:
            by.append(found.name)
        terms.append((found.name, f"by{by.index(found.name)}", found.is_number and found.type != "BOOLEAN"))
    sql = {} if asked.date is None else {"day": day_sql(table.column(asked.date), asked.every)}
    sql |= {f"by{i}": value_sql(name) for i, name in enumerate(by)}
    roles = tuple(sql)
    sql |= {} if inclusion is None else {"inclusion": number_sql(table.column(inclusion).name)}
    sql |= {} if asked.key is None else {"key": value_sql(table.column(asked.key).name)}
    sql |= {f"whole{i}": quoted(c.name) for i, c in enumerate(table.columns if every_column else ())}
    given: dict[str, Any] = {"groups": asked.groups, "where": asked.where, "scale": asked.scale, "more": sql}
    given |= {"positive": asked.positive if keyed is None else None}
    rows = items_from_table(table, true=true, probs=[column], **given)
    return Opened(rows, roles, keyed, true is not None, inclusion, design, notes, tuple(terms))


def _terms(formula: str | None) -> list[str]:
    """The right side of a formula: names of columns, added."""
    if formula is None:
        return []
    rule = 'a formula is additive, such as "y ~ month + team"'
    left, tilde, right = formula.partition("~")
    names = [part.strip() for part in (right if tilde else left).split("+")]
    if not tilde or not left.strip() or not all(names) or any(c in right for c in "*:()^"):
        raise InputError(f"{rule}; got {formula!r}.")
    return list(dict.fromkeys(names))


def key_notes(tally: Tally, keyed: KeyedLabels | None, source: str) -> list[str]:
    if keyed is None:
        return []
    times = np.bincount(tally.labels.key, minlength=len(keyed))
    if (times > 1).any():
        i = int(np.argmax(times > 1))
        raise InputError(
            f"{source}: the key {keyed.keys[i].as_py()!r} stands in {times[i]:,} rows; a key must be unique."
        )
    lost = np.flatnonzero(times == 0)
    if not len(lost):
        return []
    first = keyed.keys[int(lost[0])].as_py()
    if len(lost) == len(keyed):
        raise InputError(f"none of the {len(keyed):,} labelled items is in {source} (the first is {first!r}).")
    return [
        f"{len(lost):,} of {len(keyed):,} labelled items are not in {source} (the first is {first!r}) and are left out: is "
        "this the table they were drawn from? If items were removed since, the count is of those that are left."
    ]


def laid_out(found: Sequence[Cell], asked: Asked, roles: Sequence[str]) -> tuple[tuple[Cell, ...], Ints, Layout]:
    """The cells to count in, of (period, group); the number of each cell of the tally among them; and their layout."""
    dated = asked.date is not None
    at_group = None if asked.by is None else (1 if dated else 0)
    periods = all_periods([Day.fromisoformat(c[0]) for c in found], asked.every) if dated else []
    place = {p.isoformat(): i for i, p in enumerate(periods)}
    groups = [] if at_group is None else in_order({c[at_group] for c in found})
    which = {g: i for i, g in enumerate(groups)}
    pairs = [(place[c[0]] if dated else 0, 0 if at_group is None else which[c[at_group]]) for c in found]
    cells = sorted(set(pairs))
    index = {pair: i for i, pair in enumerate(cells)}
    number = np.array([index[pair] for pair in pairs], np.int64)
    names = tuple(period_name(p, asked.every) for p in periods)
    in_time, in_group = np.array(cells, np.int64).reshape(-1, 2).T
    places = in_time if dated else None, in_group if groups else None
    layout = Layout(names, tuple(groups), *places, asked.every if dated else None, asked.by)
    made = tuple((names[t] if dated else "", groups[g] if groups else "") for t, g in cells)
    return made, number, layout


def _design_matrix(tally: Tally, opened: Opened, asked: Asked) -> tuple[Floats, list[str]]:
    """The regression's columns for each cell of the tally: intercept, numbers as they are, a dummy for all but one value."""
    columns, names = [np.ones(len(tally.cells))], ["(intercept)"]
    for name, role, number in opened.terms:
        values = [c[opened.roles.index(role)] for c in tally.cells]
        if role == "day":
            periods = all_periods([Day.fromisoformat(v) for v in values], asked.every)
            place = {p.isoformat(): i for i, p in enumerate(periods)}
            columns.append(np.array([place[v] for v in values], np.float64))
            names.append(name)
        elif number:
            try:
                columns.append(np.array([float(v) for v in values]))
            except ValueError:
                raise InputError(
                    f"`{name}` is missing in some rows; every item needs a value for `formula=`."
                ) from None
            names.append(name)
        else:
            for value in in_order(set(values))[1:]:
                columns.append(np.array([v == value for v in values], np.float64))
                names.append(f"{name}={value}")
    x = np.stack(columns, axis=1)
    if np.linalg.matrix_rank(x) < x.shape[1]:
        raise InputError(f"`formula={asked.formula!r}`: one column follows from the others; leave one out.")
    return x, names
