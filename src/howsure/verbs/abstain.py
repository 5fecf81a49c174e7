"""`howsure abstain`: above which confidence may a model answer?"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from howsure import _validate
from howsure._result import SavedResult
from howsure._validate import Origin
from howsure.calibration.abstaining.result import Abstention, Certificate, cut_offs, least_costs
from howsure.calibration.abstaining.rule import abstention_rule, fewest
from howsure.calibration.multiclass import risk_coverage
from howsure.calibration.sketch import sketch_rows
from howsure.engines.columns import tells_right
from howsure.engines.engine import Engine, engine_of
from howsure.engines.items import ItemRows, is_table, open_table
from howsure.engines.tables import as_arrow
from howsure.errors import InputError
from howsure.verbs.applying import Applied, added, check_out
from howsure.verbs.check import array_items, arrays_given, table_items
from howsure.verbs.load import load

NEW = "answer"  # the column that `apply_abstention` adds


def abstain(
    y_true: Any,
    y_prob: Any = None,
    *,
    risk: float = 0.05,
    groups: Any = None,
    by: Any = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    scale: str | None = None,
    logits: bool = False,
    missing: str = "drop",
    prob: str | None = None,
    true: str | None = None,
    positive: Any = None,
    where: str | None = None,
    engine: Engine | str | None = None,
) -> Abstention:
    """The least confidence at which a model may answer, so that at most a share `risk` of its answers is wrong.

    Parameters
    ----------
    y_true : array of 0 and 1, shape (n,); or a table
        Whether each answer is right. A path, a data frame or a `howsure.Log` may be given instead. A column that is not
        called `correct` holds labels: the answer is then 1 where the probability is at least ½, and its confidence that of the answer.
    y_prob : array, shape (n,)
        The confidence in each answer. Only its order matters: it need not be calibrated.
    risk : float
        The share of wrong answers that is allowed among those given.
    groups : array, shape (n,); or a column's name
        What is dependent (conversations, documents): the promise then rests on groups, not answers, being drawn alike.
    by : array, shape (n,); or a column's name
        A threshold of its own for each value, all promises at once.
    confidence_level : float
        With which the promise holds, over draws of the labelled answers.
    rng : Generator, int or None
        Seeds the order in which groups are bet on.
    scale, logits, missing, prob, true, positive, where, engine
        As in `howsure.check`.

    Returns
    -------
    Abstention
        The threshold with its certificate, cut-offs with precision and recall, the risk-coverage curve, costs, a verdict.

    Notes
    -----
    Exact binomial tests of thresholds in order (bets on the totals of groups), by the fallback procedure. It holds for new answers that are exchangeable
    with the labelled ones. Formulas and simulations: docs/evidence/theory.md.

    References
    ----------
    Angelopoulos, Bates, Candès, Jordan & Lei, Learn then Test, 2022. Waudby-Smith & Ramdas, JRSS B 2024. Wiens, Pharm. Stat. 2003.

    Examples
    --------
    >>> import numpy as np, howsure
    >>> rng = np.random.default_rng(0)
    >>> q = rng.beta(4, 0.7, 2000)
    >>> made = howsure.abstain(rng.random(2000) < q, q, risk=0.05)
    >>> round(made.threshold, 3), round(made.certificates[0].share, 2)
    (0.936, 0.41)
    """
    level, allowed = _validate.fraction(confidence_level, "confidence_level"), _validate.fraction(risk, "risk", 1e-6)
    generator, scale = _validate.generator(rng), _validate.scale(scale, logits=logits)
    missing, chosen = _validate.missing_rule(missing), engine_of(engine)
    if y_prob is not None:
        q = _validate.one_dimensional(y_prob, "y_prob")
        given, notes = arrays_given(y_true, q, positive, groups=groups, by=by)
        with array_items(given, scale=scale, missing=missing, notes=notes) as rows:
            return rows.analysed(lambda found: _abstention(found, allowed, level, generator))
    if not is_table(y_true):
        raise InputError("give `y_true` and `y_prob`, or a path or a data frame.")
    with open_table(y_true, chosen) as table:
        groups = groups if table.log is None else table.log.groups(groups)
        asked: dict[str, Any] = {"by": by, "groups": groups, "scale": scale, "missing": missing}
        with table_items(table, prob, true, positive, where, **asked) as rows:
            return rows.analysed(lambda found: _abstention(found, allowed, level, generator))


def _abstention(rows: ItemRows, risk: float, level: float, rng: np.random.Generator) -> Abstention:
    batch = rows.collected()
    if batch is None:
        raise InputError("there are no labelled answers.")
    items, notes = rows.items, rows.notes
    rows.check_positive(int(batch.ys[0].sum()))
    q, right = batch.qs[0], batch.ys[0].astype(np.int64)
    if items.from_file and not tells_right(items.true):
        right = ((q >= 0.5) == (right == 1)).astype(np.int64)
        q = np.maximum(q, 1.0 - q)
        notes = (*notes, f"`{items.true}` is read as a label: the answer is 1 where `{items.probs[0]}` is at least ½.")
    groups = None if batch.groups is None else np.unique(batch.groups, return_inverse=True)[1]
    parts: dict[str, Any] = {"all": slice(None)}
    if batch.by is not None:
        names = np.array(["" if v is None else str(v) for v in batch.by.to_pylist()])
        parts = {str(name): np.flatnonzero(names == name) for name in np.unique(names)}
    delta = (1.0 - level) / len(parts)
    made = []
    for name, at in parts.items():
        own = None if groups is None else np.unique(groups[at], return_inverse=True)[1]
        n, least = len(q[at]), fewest(risk, delta, 1 if own is None else int(np.bincount(own).max()))
        if n < least and len(parts) == 1:
            raise InputError(
                f"{n:,} labelled answers are too few: even if none were wrong, {least:,} are needed to show a risk of {risk:g} "
                f"with {100 * level:g}% confidence."
            )
        rule = abstention_rule(q[at], right[at], risk=risk, delta=delta, groups=own, rng=rng)
        if n < least:
            notes = (*notes, f"{name}: {n:,} labelled answers are too few ({least:,} at least).")
        made.append(Certificate(name, n, rule.threshold, rule.answered, rule.wrong))
    chosen = [c.threshold for c in made if c.threshold is not None]
    one, alone = "answer", "answers are independent of each other: if some belong together (a conversation, a document)"
    alone += ", name that column as groups"
    if groups is not None:
        most = int(np.bincount(groups).max())
        one, alone = "group", f"no group has more than the {most:,} answers of the largest one here"
    rests = [f"new {one}s are drawn like the labelled ones (exchangeable): no drift, no choice of what to label", alone]
    rests.append("labels are right, and the threshold is used as it is, not chosen again on the same labels")
    if len(parts) > 1:
        rests.append(f"all {len(parts)} thresholds hold at once (each at {100 * (1 - delta):.4g}%)")
    covered = risk_coverage(sketch_rows(right.astype(np.uint8), q))
    found = tuple(made), cut_offs(q, right, level, chosen), least_costs(q, right), covered
    n_groups = None if groups is None else int(groups.max()) + 1
    about = (*found, n_groups, items.by, items.probs[0], tuple(rests), notes, rows.name)
    return Abstention(risk, level, len(q), float(right.mean()), *about)


def apply_abstention(
    made: Abstention | SavedResult | str | Path,
    source: Any,
    out: str | Path | None = None,
    *,
    prob: str | None = None,
    engine: Any = None,
) -> Applied:
    """Add a column `answer` to a table: 1 where the confidence reaches the threshold, 0 where the model should abstain.

    `made` is what `abstain` gave, or the `.json` file that its `save` wrote. `prob` names the column of confidences if it
    is called otherwise than in the labelled table. Values of `by` without a threshold, and those that the labelled table
    does not have, are never answered.
    """
    check_out(out, [source])
    said = (load(made) if isinstance(made, str | Path) else made).to_dict()
    if "certificates" not in said:
        raise InputError("give what `howsure.abstain` made or saved.")
    least = {c["name"]: c["threshold"] for c in said["certificates"]}
    if not any(t is not None for t in least.values()):
        raise InputError(f"there is no threshold to apply: {said['verdict']}")
    two_sided, by = any("is read as a label" in note for note in said["notes"]), said["by"]
    with open_table(source, engine_of(engine)) as table:
        columns = [table.column(prob or said["prob"]), *([] if by is None else [table.column(by)])]

        def add(read: list[Any], first: int | None) -> list[Any]:
            q = np.array([np.nan if v is None else float(v) for v in read[0].to_pylist()])
            known = ~np.isnan(q)
            _validate.probabilities(q[known], Origin(prob=columns[0].name, from_file=True, numbered=False))
            q = np.maximum(q, 1.0 - q) if two_sided else q
            if by is None:
                bound = np.full(len(q), least["all"])
            else:
                found = (least.get("" if v is None else str(v)) for v in read[1].to_pylist())
                bound = np.array([np.inf if t is None else t for t in found])
            return [as_arrow((known & (q >= bound)).astype(np.int64))]

        return replace(added(table, columns, [NEW], add, out, "VARCHAR"), what="rows")
