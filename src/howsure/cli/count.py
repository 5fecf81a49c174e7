"""`howsure count TABLE`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery


def count(
    file: options.Table,
    prob: Annotated[str | None, typer.Option(help="Column of the model's probabilities.")] = None,
    true: Annotated[
        str | None, typer.Option(help="Column of labels, empty where an item has none; with --labels, in that file.")
    ] = None,
    positive: options.Positive = None,
    labels: Annotated[str | None, typer.Option(help="A file of labels; --key says which items they belong to.")] = None,
    key: Annotated[str | None, typer.Option(help="Column that identifies an item, here and in --labels.")] = None,
    design: Annotated[
        str | None,
        typer.Option(help="How labelled items were chosen: random, or the column of their inclusion probabilities."),
    ] = None,
    date: Annotated[str | None, typer.Option(help="Column of dates: count in each period.")] = None,
    every: Annotated[str, typer.Option(help="The period: day, week, month, quarter or year.")] = "month",
    by: Annotated[str | None, typer.Option(help="Count in each value of this column.")] = None,
    formula: Annotated[
        str | None, typer.Option(help='Regression of the label on columns, such as "y ~ month + team".')
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="Column of what was drawn whole (documents), all its items labelled.")
    ] = None,
    until: Annotated[
        float | None, typer.Option(help="How many more labels for an interval of ± this (0.02 is two points).")
    ] = None,
    where: options.Where = None,
    logits: options.Logits = False,
    confidence: options.Confidence = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of what is drawn.")] = 0,
    engine: options.EngineName = None,
    master: options.Master = None,
    memory: options.Memory = None,
    skip_bad_files: options.SkipBadFiles = False,
    html: options.Html = None,
    plot: options.Plot = None,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """How many items are positive, from a model's probabilities and a few labels?

    The sum of probabilities is wrong wherever the model is. A few labels, drawn by design, correct it and tell how sure
    the number is: in all, in each period and in each group.

    Examples:

      howsure count posts.parquet --prob p --true hateful --design random

      howsure count posts.parquet --prob p --labels labels.csv --key id --date day --every month --html counts.html

      howsure count judged.parquet --prob p --labels labels.csv --key id --by model --until 0.02
    """
    from howsure.verbs.count import count as run_count

    delivery = Delivery(as_json, markdown, latex, html, plot, inputs=(file, labels))
    made = run_count(
        file,
        prob=prob,
        true=true,
        positive=positive,
        labels=labels,
        key=key,
        design=design,
        date=date,
        every=every,
        by=by,
        formula=formula,
        groups=groups,
        until=until,
        where=where,
        logits=logits,
        confidence_level=confidence,
        rng=seed,
        engine=options.engine_from(engine, master, memory, skip_bad_files),
    )
    return delivery.deliver(made)
