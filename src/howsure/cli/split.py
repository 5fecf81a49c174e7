"""`howsure split FILE`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery


def split(
    file: options.Table,
    parts: Annotated[str | None, typer.Option(help="Parts with their weights [default: train=8,dev=1,test=1].")] = None,
    folds: Annotated[int | None, typer.Option(help="Number of folds instead, for cross-validation.")] = None,
    groups: Annotated[str | None, typer.Option(help="Column of what must stay together (document, author).")] = None,
    date: Annotated[str | None, typer.Option(help="Column of dates: each part is later than the one before.")] = None,
    stratify: Annotated[
        str | None, typer.Option(help="Column whose values are to be in proportion in every part.")
    ] = None,
    rng: Annotated[int, typer.Option(help="Seed of the shuffle.")] = 0,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", help="Folder for a table per part; with --folds also a file, with a column `fold`."
        ),
    ] = None,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """Split a table so that no group and no later date is on both sides.

    Examples:

      howsure split corpus.csv --groups author --parts train=8,dev=1,test=1 -o parts/

      howsure split corpus.csv --date published -o parts/

      howsure split corpus.csv --folds 5 --stratify label -o folds.csv
    """
    from howsure.verbs.split import split as run_split

    delivery = Delivery(as_json, markdown, latex)
    made = run_split(file, parts=parts, folds=folds, groups=groups, date=date, stratify=stratify, rng=rng, out=out)
    return delivery.deliver(made, text=made.to_text() + "".join(f"\nWritten: {path}" for path in made.files))
