"""`howsure recalibrate fit FILE -o cal.json` and `howsure recalibrate apply cal.json FILE -o OUT`."""

from __future__ import annotations

import inspect
import textwrap
from typing import Annotated

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery, say_data

recalibrate = typer.Typer(
    help="Learn better probabilities, and apply them to new rows.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FIT_EPILOG = """Examples:

  howsure recalibrate fit held-out.csv -o cal.json

  howsure recalibrate fit dev.parquet --prob q --groups doc_id -o cal.json

  howsure recalibrate fit dev.csv --prob 'p_*' --true gold -o cal.json
"""

APPLY_EPILOG = """Examples:

  howsure recalibrate apply cal.json new.csv -o new-recalibrated.csv

  howsure recalibrate apply cal.json 'run-*.parquet' --prob q -o out.parquet
"""


def fit(
    file: options.Table,
    out: Annotated[str, typer.Option("--out", "-o", help="Save the recalibrator to this JSON file.")],
    method: Annotated[
        str,
        typer.Option(
            help="auto, temperature, platt, beta, isotonic-platt, histogram-platt; isotonic and histogram as published; "
            "vector for many classes."
        ),
    ] = "auto",
    prob: Annotated[
        str | None, typer.Option(help="Column of probabilities; or a glob, 'p_*', of one column a class.")
    ] = None,
    true: options.Labels = None,
    positive: options.Positive = None,
    logits: options.Logits = False,
    where: options.Where = None,
    groups: Annotated[
        str | None,
        typer.Option(help="Column of what is dependent (document, sentence): kept together in cross-validation."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of the gain's interval.")] = 0.95,
    rng: Annotated[int, typer.Option(help="Seed of the folds.")] = 0,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """Learn a recalibrator from labelled predictions.

    It is judged on rows it has not seen; when the gain is not clear, what is saved changes nothing.
    """
    from howsure.files import write_whole
    from howsure.verbs.recalibrate import recalibrate as run_recalibrate

    delivery = Delivery(as_json, markdown, latex, outputs=(out,), inputs=(file,))
    result = run_recalibrate(
        file,
        method=method,
        prob=prob,
        true=true,
        positive=positive,
        logits=logits,
        where=where,
        groups=groups,
        confidence_level=confidence,
        rng=rng,
    )
    write_whole(out, result.to_json().encode())
    return delivery.deliver(result)


def apply(
    saved: Annotated[str, typer.Argument(help="The JSON file that `howsure recalibrate fit` wrote.")],
    file: options.Table,
    out: Annotated[
        str, typer.Option("--out", "-o", help="The table to write: .csv, .tsv or .jsonl (and .gz), or .parquet.")
    ],
    prob: Annotated[
        str | None,
        typer.Option(help="Column of probabilities, or a glob, when named otherwise than where it was fitted."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The new column; by default <prob>_recalibrated.")] = None,
    engine: options.EngineName = None,
    master: options.Master = None,
    memory: options.Memory = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> int:
    """Add recalibrated probabilities to a table.

    The table may have any size; rows keep their order and the other columns stay as they are.
    """
    from howsure.verbs.recalibrate import apply_recalibrator

    chosen = options.engine_from(engine, master, memory, False)
    rows, names = apply_recalibrator(saved, file, out, prob=prob, name=name, engine=chosen)
    shown = f"`{names[0]}`" if len(names) == 1 else f"`{names[0]}` and {len(names) - 1} more columns"
    text = textwrap.fill(f"Written: {out}, {rows:,} rows with {shown}.", 80, break_long_words=False)
    return say_data({"rows": rows, "columns": names, "written": out}, as_json, text)


for _command, _examples in ((fit, FIT_EPILOG), (apply, APPLY_EPILOG)):
    _command.__doc__ = inspect.cleandoc(_command.__doc__ or "") + "\n\n" + _examples
    recalibrate.command()(_command)
