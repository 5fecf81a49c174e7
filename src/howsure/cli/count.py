"""`howsure count TABLE`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from howsure.cli import options
from howsure.cli.delivery import Delivery
from howsure.cli.parser import command, option
from howsure.errors import InputError

BATCH = 100  # labels to draw at once with --until: the next batch follows what this one says


@command(
    options.TABLE,
    option("prob", "Column of the model's probabilities."),
    option("true", "Column of labels, empty where an item has none; with --labels, in that file."),
    options.POSITIVE,
    option("labels", "A file of labels; --key says which items they belong to.", reads=True),
    option("key", "Column that identifies an item, here and in --labels."),
    option("design", "How labelled items were chosen: random, or the column of their inclusion probabilities."),
    option("date", "Column of dates: count in each period."),
    option("every", "The period: day, week, month, quarter or year.", "month"),
    option("by", "Count in each value of this column."),
    option("formula", 'Regression of the label on columns, such as "y ~ month + team".'),
    option("groups", "Column of what was drawn whole (documents), all its items labelled."),
    option("until", "How many more labels for an interval of ± this (0.02 is two points).", kind=float),
    option("to_label", "Draw this many items to label, those that tell most, to the file -o.", kind=int),
    option("out", "Table to write drawn items to; with --until, the next batch.", None, "--out -o", writes=True),
    options.WHERE,
    options.LOGITS,
    options.CONFIDENCE,
    option("rng", "Seed of what is drawn.", 0, "--seed"),
    *options.ENGINE,
    *options.DELIVERY,
)
def count(deliver: Delivery, file: str, to_label: int | None, out: str | None, **given: Any) -> int:
    """How many items are positive, from a model's probabilities and a few labels?

    The sum of probabilities is wrong wherever the model is. A few labels, drawn by design, correct it and tell how sure
    the number is: in all, in each period and in each group.

    Examples:
      howsure count posts.parquet --prob p --to-label 200 -o to-label.csv
      howsure count posts.parquet --prob p --true hateful --design random
      howsure count posts.parquet --prob p --labels labels.csv --key id --date day --every month --html counts.html
      howsure count judged.parquet --prob p --labels labels.csv --key id --by model --until 0.02
    """
    from howsure.verbs.count import count as run_count
    from howsure.verbs.count import to_label as draw

    if (to_label is not None and out is None) or (out is not None and to_label is None and given["until"] is None):
        raise InputError("--to-label says how many items to draw, and -o where to write them: give both.")
    drawing = {k: v for k, v in given.items() if k not in ("design", "formula", "until", "confidence_level")}
    if to_label is not None:
        deliver.refuse("--until --design --formula --html --plot", "--to-label")
        return deliver(draw(file, to_label, out=out, **drawing))
    made = run_count(file, **given)
    if out is not None and made.need is not None:
        if not made.need.more:
            return replace(deliver, outputs=())(made)
        draw(file, min(made.need.more, BATCH), out=out, **drawing)
    return deliver(made)
