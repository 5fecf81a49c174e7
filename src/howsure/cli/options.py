"""Options that several commands share, each with one name, type and help; and the engine that they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from howsure import Engine

# What is read
TABLE = "CSV, TSV, JSON lines, Parquet or Arrow; gzip or zstd; a glob; a folder; - for stdin."
Table = Annotated[str, typer.Argument(help=TABLE)]
Prob = Annotated[str | None, typer.Option(help="Column of probabilities; of many classes: 'p_*'.")]
Labels = Annotated[str | None, typer.Option(help="Column of labels.")]
Positive = Annotated[str | None, typer.Option(help="The label that counts as 1.")]
Logits = Annotated[bool, typer.Option("--logits", help="The column holds log-odds, not probabilities.")]
Where = Annotated[str | None, typer.Option(help="SQL condition on the rows to keep.")]
Groups = Annotated[
    str | None, typer.Option(help="Column of what is dependent (document, sentence): intervals allow for it.")
]
By = Annotated[str | None, typer.Option(help="Analyse each value of this column too.")]
Results = Annotated[str, typer.Argument(help="A folder that howsure explore has written.")]

# How it is done
Confidence = Annotated[float, typer.Option(help="Confidence level of the intervals.")]
Again = Annotated[bool, typer.Option("--again", help="Compute again what the folder already holds.")]
EngineName = Annotated[
    str | None, typer.Option("--engine", help="Where the work runs: files (streamed, the default), memory or spark.")
]
Master = Annotated[str | None, typer.Option("--master", help="Spark's master: local[2], spark://host:7077, yarn.")]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="A bound for memory, such as 1GB; the rest goes to the temporary folder."),
]
SkipBadFiles = Annotated[
    bool, typer.Option("--skip-bad-files", help="Leave out files that cannot be read, and say so.")
]

# What is written
ModelOut = Annotated[str, typer.Option("--out", "-o", help="Save the model to this .npz file.")]
Html = Annotated[str | None, typer.Option(help="Write a report to this file.")]
Plot = Annotated[str | None, typer.Option(help="Draw the picture to this .svg, .png or .pdf file.")]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")]
Latex = Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")]


def engine_from(engine: str | None, master: str | None, memory: str | None, skip_bad_files: bool) -> Engine:
    """The engine that the options mean; --master alone means Spark."""
    from howsure import Engine

    return Engine(engine or ("spark" if master is not None else "auto"), master, memory, skip_bad_files)


def listed(given: str | None) -> list[str]:
    """The parts of a comma-separated option."""
    return [part.strip() for part in (given or "").split(",") if part.strip()]
