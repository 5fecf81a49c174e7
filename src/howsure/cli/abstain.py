"""`howsure abstain`."""

from __future__ import annotations

from typing import Any

from howsure.cli import options
from howsure.cli.delivery import Delivery
from howsure.cli.parser import command, option
from howsure.errors import InputError


@command(
    options.TABLE,
    option("risk", "Share of wrong answers allowed among those given.", 0.05),
    option("prob", "Column of confidences."),
    option("true", "Column that says whether the answer is right; or of labels, for probabilities of 1."),
    options.POSITIVE,
    *options.SCALE,
    options.MISSING,
    options.WHERE,
    option("groups", "Column of what is dependent (conversation, document): the promise allows for it."),
    option("by", "A threshold for each value of this column, all promises at once."),
    options.CONFIDENCE,
    options.seed("the order of groups"),
    option("apply", "A table to add the column `answer` to (1: answer, 0: abstain), written to -o.", reads=True),
    option("out", "The table to write with --apply.", None, "--out -o", writes=True),
    *options.LOG,
    *options.ENGINE,
    *options.DELIVERY,
)
def abstain(deliver: Delivery, file: Any, apply: str | None, out: str | None, **given: Any) -> int:
    """Above which confidence may the model answer?

    So that, with 95% confidence, at most a given share of the answers is wrong. Works for any column of confidences,
    calibrated or not; says on what the promise rests, and refuses when labels are too few.

    Examples:
      howsure abstain answers.jsonl --prob confidence --true correct --risk 0.05 --groups conversation
      howsure abstain labelled.csv --risk 0.02 --by language --html answering.html
      howsure abstain labelled.csv --risk 0.05 --apply new.csv -o answered.csv
    """
    from howsure.verbs.abstain import abstain as run_abstain
    from howsure.verbs.abstain import apply_abstention

    if (apply is None) != (out is None):
        raise InputError("--apply names the table to add a column to, and -o where to write it: give both.")
    made = run_abstain(file, **given)
    if apply is not None:
        apply_abstention(made, apply, out, engine=given["engine"])
    return deliver(made)
