"""`howsure count TABLE`."""

from __future__ import annotations

from typing import Any

from howsure.cli import options
from howsure.cli.delivery import Delivery
from howsure.cli.parser import command, option


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
    options.WHERE,
    options.LOGITS,
    options.CONFIDENCE,
    option("rng", "Seed of what is drawn.", 0, "--seed"),
    *options.ENGINE,
    *options.DELIVERY,
)
def count(deliver: Delivery, file: str, **given: Any) -> int:
    """How many items are positive, from a model's probabilities and a few labels?

    The sum of probabilities is wrong wherever the model is. A few labels, drawn by design, correct it and tell how sure
    the number is: in all, in each period and in each group.

    Examples:
      howsure count posts.parquet --prob p --true hateful --design random
      howsure count posts.parquet --prob p --labels labels.csv --key id --date day --every month --html counts.html
      howsure count judged.parquet --prob p --labels labels.csv --key id --by model --until 0.02
    """
    from howsure.verbs.count import count as run_count

    return deliver(run_count(file, **given))
