"""`howsure recalibrate`: better probabilities, when there is evidence that they are better."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import Origin
from howsure.calibration.recalibration.choosing import contest
from howsure.calibration.recalibration.methods import candidates, from_dict, read_saved
from howsure.calibration.recalibration.platt import Identity
from howsure.calibration.recalibration.recalibrator import Recalibrator
from howsure.calibration.recalibration.result import Recalibration
from howsure.engines.columns import class_columns, is_classes
from howsure.engines.engine import Engine, engine_of
from howsure.engines.items import is_table, open_table
from howsure.engines.tables import as_numpy
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.verbs.applying import Applied, added, check_out
from howsure.verbs.check import array_items, arrays_given, table_items

N_FOLDS = 5
FEWEST_ROWS = 10


def recalibrate(
    y_true: Any,
    y_prob: Any = None,
    *,
    method: str = "auto",
    groups: Any = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    scale: str | None = None,
    logits: bool = False,
    missing: str = "drop",
    prob: str | Sequence[str] | None = None,
    true: str | None = None,
    positive: Any = None,
    where: str | None = None,
) -> Recalibration:
    """Fit a map from predicted probabilities to better ones, and say what it gains on rows it has not seen.

    Parameters
    ----------
    y_true : array of labels, shape (n,); or a table
        0 and 1, or class numbers 0 … K-1. A path or a data frame may stand in place of the two arrays.
    y_prob : array of probabilities, shape (n,) or (n, K)
    method : str
        "auto", the default, takes the method of least cross-validated log loss, and none if its gain is not clear.
        Or "temperature", "platt", "beta", "isotonic-platt", "histogram-platt", "isotonic", "histogram" (two
        classes; the last two, as published, are tried only by name), "temperature", "vector" (more).
    groups : array, shape (n,); or a column's name
        What is dependent. Whole groups stay in one fold, and the interval is cluster-robust.
    confidence_level : float
        Of the gain's interval.
    rng : Generator, int or None
        Seeds the folds.
    scale, logits, missing
        How `y_prob` is to be read (two classes), and what becomes of rows without it or without a label, as in
        `howsure.check`. The saved recalibrator remembers the scale.
    prob, true, positive, where
        For tables, as in `howsure.check`. `prob` may be a glob, "p_*", of one column a class.

    Returns
    -------
    Recalibration
        `.transform(y_prob)`, `.verdict`, `.methods`, `.recalibrator`, `.to_json()` to save it.

    Notes
    -----
    Log losses are bounded by 30: a probability of 0 for what happened counts as 1e-13. Formulas: docs/evidence/theory.md.

    Examples
    --------
    >>> import numpy as np, howsure
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> q = p**2 / (p**2 + (1 - p) ** 2)                # overconfident
    >>> howsure.recalibrate(y, q).declined, howsure.recalibrate(y, p).declined
    (False, True)
    """
    level = _validate.fraction(confidence_level, "confidence_level")
    generator = _validate.generator(rng)
    scale, missing = _validate.scale(scale, logits=logits), _validate.missing_rule(missing)
    reading: dict[str, Any] = {"groups": groups, "scale": scale, "missing": missing}
    if y_prob is None:
        data = _table_data(y_true, prob, true, positive, where, reading)
    else:
        _validate.absent(_validate.OF_TABLES, prob=prob, true=true, where=where)
        data = _array_data(y_true, y_prob, positive, **reading)
    y, p, group_numbers, notes, classes, columns = data
    n_classes = 2 if p.ndim == 1 else p.shape[1]
    tried = candidates(method, n_classes)
    n_groups = None if group_numbers is None else len(np.unique(group_numbers))
    if len(y) < FEWEST_ROWS:
        kept = " (`where=` kept these)" if where else ""
        raise InputError(f"recalibration needs {FEWEST_ROWS} rows at least; got {len(y)}{kept}.")
    if n_groups is not None and n_groups < 2:
        raise InputError("all rows are in one group; recalibration needs two groups at least.")
    if (y == y[0]).all():
        raise InputError(f"all {len(y):,} labels are {y[0]}: there is nothing to learn from.")
    if p.ndim == 2 and n_classes == 2:
        p = p[:, 1]
    n_folds = min(N_FOLDS, n_groups or N_FOLDS)
    auto = method == "auto"
    how: dict[str, Any] = {"n_folds": n_folds, "confidence_level": level, "may_decline": auto, "rng": generator}
    held_out = contest(tried, p, y, group_numbers, **how)
    declined = auto and not held_out.clear
    final = (Identity() if declined else tried[held_out.best]).fit(p, y, groups=group_numbers)
    gained = held_out.clear, held_out.gain, held_out.brier_gain, held_out.before, held_out.scores
    about = (*gained, len(y), n_groups, n_folds, level, classes, columns, notes)
    return Recalibration(final, method, held_out.best, declined, *about)


def apply_recalibrator(
    model: Recalibration | Recalibrator | str | Path,
    source: Any,
    out: str | Path | None = None,
    *,
    prob: str | None = None,
    name: str | None = None,
    engine: Engine | str | None = None,
) -> Applied:
    """A table with recalibrated probabilities added: in memory or, with `out`, in a file.

    `model` is what `recalibrate` gave or saved; `prob` the column (or glob) if it is named otherwise than in the table
    fitted to; `name` the new column's name, by default `<prob>_recalibrated`. The table is streamed; on Spark it is
    written as a folder of Parquet files.
    """
    chosen = engine_of(engine)
    is_file = isinstance(model, (str, Path))
    if not chosen.is_spark:  # which writes to a new folder only
        check_out(out, [*([model] if is_file else []), source])
    saved = str(model) if is_file else "the recalibrator"
    data = (
        read_saved(str(model)) if is_file
        else model.saved() if isinstance(model, Recalibration)
        else model.to_dict()  # type: ignore[union-attr]
    )  # fmt: skip
    recalibrator = from_dict(data, saved)
    wanted = prob or data.get("prob")
    if wanted is None:
        raise InputError(f"{saved} does not say which column to recalibrate: name it with `prob=`.")
    is_wide, scale = is_classes(wanted), data.get("scale") or ("logit" if data.get("logits") else None)
    with open_table(source, chosen) as table:
        if is_wide:
            wide = class_columns(table, wanted)
            columns, fitted = list(wide.values()), data.get("classes")
            if len(columns) != recalibrator.n_classes_:
                raise InputError(
                    f"{saved} was fitted to {recalibrator.n_classes_} classes; `prob={wanted!r}` names {len(columns)}."
                )
            if fitted is not None:
                for c in wide:
                    _validate.known(c, fitted, f"{saved} was not fitted to class {c!r}")
                columns = [wide[c] for c in fitted]
        else:
            columns = [table.column(wanted)]
            if recalibrator.n_classes_ != 2:
                raise InputError(
                    f"{saved} was fitted to {recalibrator.n_classes_} classes; give a glob such as `prob='p_*'`."
                )
        if name is not None and is_wide:
            raise InputError("`name=` is for one column; columns named by a glob become <column>_recalibrated.")
        names = [name] if name is not None else [f"{c.name}_recalibrated" for c in columns]

        def add(read: list[Any], first: int | None) -> Sequence[Floats]:
            origin = Origin(prob=wanted, first=first or 0, from_file=True, numbered=first is not None)
            if not is_wide:
                q = _validate.probabilities(as_numpy(read[0]), origin, scale=scale)
                return [recalibrator.transform(q)]
            p = np.stack([as_numpy(column) for column in read], axis=1)
            made = recalibrator.transform(_validate.class_probabilities(p, origin))
            return list(np.ascontiguousarray(made.T))

        return added(table, columns, names, add, out)


# Labels, probabilities, groups, notes, names of classes, and what the saved recalibrator is to know of columns.
Data = tuple[Ints, Floats, NDArray[Any] | None, tuple[str, ...], tuple[str, ...] | None, dict[str, Any]]


def _array_data(y_true: Any, y_prob: Any, positive: Any, groups: Any, scale: str | None, missing: str) -> Data:
    given, notes = arrays_given(y_true, _validate.array(y_prob, "y_prob"), positive, groups=groups)
    y, p = given["y_true"], given["y_prob"]
    if p.ndim == 2:
        if scale not in (None, "probability"):
            raise InputError("`scale` is for two classes, shape (n,); give probabilities of more.")
        labels = _validate.class_labels(y, p.shape[1], Origin())
        return labels, _validate.class_probabilities(p, Origin()), given.get("groups"), (), None, {}
    with array_items(given, scale=scale, missing=missing, notes=notes) as rows:
        found, notes = rows.analysed(lambda read: (read.collected(), read.notes))
    assert found is not None
    return found.ys[0].astype(np.int64), found.qs[0], found.groups, notes, None, {}


def _table_data(
    source: Any, prob: Any, true: str | None, positive: Any, where: str | None, reading: dict[str, Any]
) -> Data:
    from howsure.engines.classes import classes_from_table

    if not is_table(source):
        raise InputError("give `y_true` and `y_prob`, or a path or a data frame.")
    nothing = InputError("there are no rows to learn from" + (": `where=` kept none." if where else "."))
    wide = prob is not None and is_classes(prob)
    if wide and (positive is not None or reading["scale"] is not None):
        raise InputError("`positive=` and `scale=` are for one column of probabilities, not a glob.")
    with open_table(source, engine_of(None)) as table:
        if table.log is not None:
            reading = reading | {"groups": table.log.groups(reading["groups"])}
        if prob is not None and (wide or not isinstance(prob, str)):
            as_given: dict[str, Any] = {"scale": "probability", "missing": reading["missing"]}
            held = classes_from_table(table, prob, true, where, reading["groups"], **as_given)
            if held is None:
                raise nothing
            named = {"prob": prob if isinstance(prob, str) else ",".join(prob)}
            return held.y, held.probs, held.groups, held.notes, held.classes, named
        with table_items(table, prob, true, positive, where, **reading) as rows:
            found, read = rows.analysed(lambda read: (read.collected(), read))
            if found is None:
                raise nothing
            y = found.ys[0].astype(np.int64)
            rows.check_positive(int(y.sum()))
            scale = read.items.scale_of(0)
            columns = {"prob": rows.items.probs[0]} | ({} if scale in (None, "probability") else {"scale": scale})
            return y, found.qs[0], found.groups, read.notes, None, columns
