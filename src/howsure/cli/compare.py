"""`howsure compare FILE…`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery, status


def compare(
    files: Annotated[list[str], typer.Argument(help="One table with a column per model, or a table per model.")],
    prob: Annotated[
        str | None,
        typer.Option(help="Columns of probabilities, one per model: a,b. With a file per model: the column in each."),
    ] = None,
    pred: Annotated[
        str | None, typer.Option(help="Columns of labels, one per system: a,b. --true then holds the gold labels.")
    ] = None,
    true: options.Labels = None,
    metric: Annotated[
        str | None, typer.Option(help="With --pred: accuracy, f1 (of --positive), macro-f1 or span-f1.")
    ] = None,
    sentence: Annotated[str | None, typer.Option(help="With span-f1: column of sentences.")] = None,
    samples: Annotated[int, typer.Option(help="With --pred: resamples of the bootstrap.")] = 10_000,
    planned: Annotated[int | None, typer.Option(help="With --pred: power with this number of rows.")] = None,
    key: Annotated[str | None, typer.Option(help="Column that identifies an item across files.")] = None,
    groups: options.Groups = None,
    by: options.By = None,
    positive: options.Positive = None,
    logits: options.Logits = False,
    where: options.Where = None,
    confidence: options.Confidence = 0.95,
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
    """Is B better than A, is it better calibrated, and is its score better?

    Examples:

      howsure compare predictions.csv --true y --prob model_a,model_b

      howsure compare predictions.csv --true y --prob model_a,model_b --groups doc --by tag

      howsure compare a.csv b.csv --key id --html comparison.html

      howsure compare predictions.csv --true gold --pred a,b --prob pa,pb --metric macro-f1 --groups doc
    """
    from howsure.verbs.compare import compare as run_compare

    delivery = Delivery(as_json, markdown, latex, html, plot, inputs=tuple(files))
    with status() as progress:
        made = run_compare(
            list(files),
            prob=prob,
            pred=pred,
            metric=metric,
            sentence=sentence,
            samples=samples,
            planned=planned,
            progress=progress,
            true=true,
            key=key,
            groups=groups,
            by=by,
            positive=positive,
            logits=logits,
            where=where,
            confidence_level=confidence,
            engine=options.engine_from(engine, master, memory, skip_bad_files),
        )
    return delivery.deliver(made)
