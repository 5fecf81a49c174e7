"""`howsure agree FILE`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Optional

import typer

if TYPE_CHECKING:
    from howsure.evaluation.annotation.result import Agreement


def agree(
    file: Annotated[
        str, typer.Argument(help="CSV, TSV, JSON lines, Parquet or Arrow; gzip or zstd; a glob; a folder; - for stdin.")
    ],
    item: Annotated[Optional[str], typer.Option(help="Column that names the item.")] = None,  # noqa: UP045
    annotator: Annotated[Optional[str], typer.Option(help="Column that names the annotator.")] = None,  # noqa: UP045
    label: Annotated[Optional[str], typer.Option(help="Column of labels.")] = None,  # noqa: UP045
    annotators: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="A column of labels per annotator, instead: ann,bob,cy."),
    ] = None,
    gold: Annotated[Optional[str], typer.Option(help="Column of each item's true label.")] = None,  # noqa: UP045
    groups: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Column of what items come from (document): intervals allow for it."),
    ] = None,
    order: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Order of the labels (low,mid,high), for weighted κ and ordinal α."),
    ] = None,
    where: Annotated[Optional[str], typer.Option(help="SQL condition on the rows to keep.")] = None,  # noqa: UP045
    target: Annotated[float, typer.Option(help="Certainty wanted of an item's label.")] = 0.95,
    reject_below: Annotated[
        float, typer.Option(help="Reject annotators whose skill is below this even at its upper limit.")
    ] = 0.4,
    smoothing: Annotated[float, typer.Option(help="Labels added to each row of an annotator's confusion.")] = 1.0,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    rng: Annotated[int, typer.Option(help="Seed of the simulation of labels needed.")] = 0,
    posteriors: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Write each item's label probabilities (.csv, .tsv, .jsonl or .parquet)."),
    ] = None,
    html: Annotated[Optional[str], typer.Option(help="Write a report to this file.")] = None,  # noqa: UP045
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Do the annotators agree beyond chance, where not, and whom can one trust?

    Examples:

      howsure agree labels.csv --item item --annotator worker --label label --gold gold

      howsure agree labels.csv --annotators ann,bob,cy --groups doc --order low,mid,high

      howsure agree labels.csv --gold gold --posteriors p.csv

      howsure check p.csv --prob 'p_*' --true gold
    """
    from howsure.cli.agree_text import agreement_text
    from howsure.cli.output import say
    from howsure.cli.progress import progress
    from howsure.errors import InputError
    from howsure.files import check_outputs, write_whole
    from howsure.report.agree_page import agreement_page
    from howsure.verbs.agree import agree as run_agree

    check_outputs(posteriors, html, inputs=[file])
    if posteriors is not None:
        from howsure.engines.writing import output

        output(posteriors)  # its name must tell a format
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
    if posteriors is not None and made.crowd is None:
        raise InputError(f"there are no probabilities to write: {made.notes[0]}")
    said = (
        json.dumps(made.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) if as_json else agreement_text(made)
    )
    page = None if html is None else agreement_page(made)
    if posteriors is not None:
        _write_posteriors(made, posteriors)
    if html is not None and page is not None:
        write_whole(html, page)
    written = [] if as_json else [f"\n\nWritten: {path}" for path in (posteriors, html) if path]
    say(said.rstrip("\n") + "".join(written))
    return 0


def _write_posteriors(made: Agreement, path: str) -> None:
    from howsure.engines.writing import output, write_columns
    from howsure.evaluation.annotation.crowds import posterior_rows

    assert made.crowd is not None
    write_columns(posterior_rows(made.ratings, made.crowd.model), output(path))
