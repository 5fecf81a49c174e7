"""`howsure score FILE`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery


def score(
    file: Annotated[str, typer.Argument(help="A table with a row each item; - reads standard input.")],
    true: Annotated[str | None, typer.Option(help="Column of gold labels.")] = None,
    pred: Annotated[str | None, typer.Option(help="Column of the system's labels.")] = None,
    groups: options.Groups = None,
    spans: Annotated[bool, typer.Option("--spans", help="Labels are BIO, BIOES or IO tags: score spans.")] = False,
    sentence: Annotated[str | None, typer.Option(help="With --spans: column of sentences.")] = None,
    second: Annotated[
        str | None, typer.Option(help="Column of a second annotator's labels: their score is the ceiling.")
    ] = None,
    beta: Annotated[float, typer.Option(help="Recall counts β times as much as precision in F.")] = 1.0,
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
    """How good are a system's labels, and how sure is that?

    Examples:

      howsure score predictions.csv --true gold --pred system --groups doc

      howsure score tokens.parquet --true gold --pred tag --spans --sentence sent --groups doc

      howsure score predictions.csv --true gold --pred system --second gold2 --html score.html
    """
    from howsure.verbs.score import score as run_score

    delivery = Delivery(as_json, markdown, latex, html, plot, inputs=(file,))
    made = run_score(
        file,
        true=true,
        pred=pred,
        groups=groups,
        spans=spans,
        sentence=sentence,
        second=second,
        beta=beta,
        where=where,
        confidence_level=confidence,
        engine=options.engine_from(engine, master, memory, skip_bad_files),
    )
    return delivery.deliver(made)
