"""`howsure recalibrate fit FILE -o cal.json` and `howsure recalibrate apply cal.json FILE -o OUT`."""

from __future__ import annotations

import inspect
import json
import textwrap
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from howsure.cli.engine_options import EngineOption, MasterOption, MemoryOption, engine_from

if TYPE_CHECKING:
    from howsure.calibration.recalibration.result import Recalibration

WIDTH = 80

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
    file: Annotated[
        str, typer.Argument(help="CSV, TSV, JSON lines, Parquet or Arrow; gzip or zstd; a glob; a folder; - for stdin.")
    ],
    out: Annotated[str, typer.Option("--out", "-o", help="Save the recalibrator to this JSON file.")],
    method: Annotated[
        str, typer.Option(help="auto, temperature, platt, beta, isotonic or histogram; vector for many classes.")
    ] = "auto",
    prob: Annotated[
        Optional[str],  # noqa: UP045  (typer reads this at run time)
        typer.Option(help="Column of probabilities; or a glob, 'p_*', of one column a class."),
    ] = None,
    true: Annotated[Optional[str], typer.Option(help="Column of labels.")] = None,  # noqa: UP045
    positive: Annotated[Optional[str], typer.Option(help="The label that counts as 1.")] = None,  # noqa: UP045
    logits: Annotated[bool, typer.Option("--logits", help="The column holds log-odds, not probabilities.")] = False,
    where: Annotated[Optional[str], typer.Option(help="SQL condition on the rows to keep.")] = None,  # noqa: UP045
    groups: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Column of what is dependent (document, sentence): kept together in cross-validation."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of the gain's interval.")] = 0.95,
    rng: Annotated[int, typer.Option(help="Seed of the folds.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Learn a recalibrator from labelled predictions.

    It is judged on rows it has not seen; when the gain is not clear, what is saved changes nothing.
    """
    from howsure.files import check_outputs, write_whole
    from howsure.verbs.recalibrate import recalibrate as run_recalibrate

    check_outputs(out, inputs=[file])
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
    if as_json:
        print(json.dumps(result.to_dict(), indent=2, allow_nan=False, ensure_ascii=False))
    else:
        print(f"{recalibration_text(result)}\n\nWritten: {out}")
    return 0


def apply(
    saved: Annotated[str, typer.Argument(help="The JSON file that `howsure recalibrate fit` wrote.")],
    file: Annotated[
        str, typer.Argument(help="CSV, TSV, JSON lines, Parquet or Arrow; gzip or zstd; a glob; a folder; - for stdin.")
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", help="The table to write: .csv, .tsv or .jsonl (and .gz), or .parquet.")
    ],
    prob: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Column of probabilities, or a glob, when named otherwise than where it was fitted."),
    ] = None,
    name: Annotated[Optional[str], typer.Option(help="The new column; by default <prob>_recalibrated.")] = None,  # noqa: UP045
    engine: EngineOption = None,
    master: MasterOption = None,
    memory: MemoryOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> int:
    """Add recalibrated probabilities to a table.

    The table may have any size; rows keep their order and the other columns stay as they are.
    """
    from howsure.verbs.recalibrate import apply_recalibrator

    chosen = engine_from(engine, master, memory, False)
    rows, names = apply_recalibrator(saved, file, out, prob=prob, name=name, engine=chosen)
    if as_json:
        print(json.dumps({"rows": rows, "columns": names, "written": out}, indent=2, ensure_ascii=False))
    else:
        shown = f"`{names[0]}`" if len(names) == 1 else f"`{names[0]}` and {len(names) - 1} more columns"
        print(textwrap.fill(f"Written: {out}, {rows:,} rows with {shown}.", WIDTH, break_long_words=False))
    return 0


for _command, _examples in ((fit, FIT_EPILOG), (apply, APPLY_EPILOG)):
    _command.__doc__ = inspect.cleandoc(_command.__doc__ or "") + "\n\n" + _examples
    recalibrate.command()(_command)


def recalibration_text(r: Recalibration) -> str:
    """Verdict first, then the table of methods and the fitted formula."""
    groups = "" if r.n_groups is None else f" in {r.n_groups:,} groups"
    many = "" if r.n_classes == 2 else f", {r.n_classes} classes"
    lines = [
        f"{r.n:,} rows{groups}{many}, {r.n_folds}-fold cross-validation:",
        f"  {'method':<12} {'log loss':>9} {'Brier':>9} {'gain':>9}  {f'{r.confidence_level:.0%} interval':<20}",
        f"  {'none':<12} {r.before.log_loss:>9.4f} {r.before.brier:>9.4f}",
    ]
    for m in r.methods:
        limits = f"[{m.gain.low:+.4f}, {m.gain.high:+.4f}]"
        mark = "" if m.method != r.best else "  best" if r.declined or len(r.methods) > 1 else ""
        lines.append(
            f"  {m.method:<12} {m.log_loss:>9.4f} {m.brier:>9.4f} {m.gain.value:>+9.4f}  {limits:<20}{mark}".rstrip()
        )
    lines[1] = lines[1].rstrip()
    fitted = textwrap.fill(f"Fitted to all rows: {r.recalibrator!r}", WIDTH, subsequent_indent="  ")
    return "\n\n".join([textwrap.fill(r.verdict, WIDTH), "\n".join(lines), fitted])
