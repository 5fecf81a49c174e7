"""`howsure agree FILE`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery, progress


def agree(
    file: options.Table,
    item: Annotated[str | None, typer.Option(help="Column that names the item.")] = None,
    annotator: Annotated[str | None, typer.Option(help="Column that names the annotator.")] = None,
    label: options.Labels = None,
    annotators: Annotated[
        str | None, typer.Option(help="A column of labels per annotator, instead: ann,bob,cy.")
    ] = None,
    gold: Annotated[str | None, typer.Option(help="Column of each item's true label.")] = None,
    groups: Annotated[
        str | None, typer.Option(help="Column of what items come from (document): intervals allow for it.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="Order of the labels (low,mid,high), for weighted κ and ordinal α.")
    ] = None,
    where: options.Where = None,
    target: Annotated[float, typer.Option(help="Certainty wanted of an item's label.")] = 0.95,
    reject_below: Annotated[
        float, typer.Option(help="Reject annotators whose skill is below this even at its upper limit.")
    ] = 0.4,
    smoothing: Annotated[float, typer.Option(help="Labels added to each row of an annotator's confusion.")] = 1.0,
    confidence: options.Confidence = 0.95,
    rng: Annotated[int, typer.Option(help="Seed of the simulation of labels needed.")] = 0,
    posteriors: Annotated[
        str | None, typer.Option(help="Write each item's label probabilities (.csv, .tsv, .jsonl or .parquet).")
    ] = None,
    html: options.Html = None,
    plot: options.Plot = None,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """Do the annotators agree beyond chance, where not, and whom can one trust?

    Examples:

      howsure agree labels.csv --item item --annotator worker --label label --gold gold

      howsure agree labels.csv --annotators ann,bob,cy --groups doc --order low,mid,high

      howsure agree labels.csv --gold gold --posteriors p.csv

      howsure check p.csv --prob 'p_*' --true gold
    """
    from howsure.errors import InputError
    from howsure.verbs.agree import agree as run_agree
    from howsure.verbs.agree import check_posteriors, write_posteriors

    delivery = Delivery(as_json, markdown, latex, html, plot, outputs=(posteriors,), inputs=(file,))
    if posteriors is not None:
        check_posteriors(posteriors)
    with progress("Dawid-Skene") as moved:
        made = run_agree(
            file,
            item=item,
            annotator=annotator,
            label=label,
            annotators=annotators,
            gold=gold,
            groups=groups,
            order=order,
            where=where,
            target=target,
            reject_below=reject_below,
            smoothing=smoothing,
            confidence_level=confidence,
            rng=rng,
            progress=moved,
        )
    if posteriors is not None:
        if made.crowd is None:
            raise InputError(f"there are no probabilities to write: {made.notes[0]}")
        write_posteriors(made, posteriors)
    return delivery.deliver(made)
