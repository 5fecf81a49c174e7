"""`howsure split FILE`."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Annotated, Optional

import typer

if TYPE_CHECKING:
    from howsure.evaluation.splits import Split

MOST_LABELS = 20


def split(
    file: Annotated[
        str, typer.Argument(help="CSV, TSV, JSON lines, Parquet or Arrow; gzip or zstd; a glob; a folder; - for stdin.")
    ],
    parts: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Parts with their weights [default: train=8,dev=1,test=1]."),
    ] = None,
    folds: Annotated[Optional[int], typer.Option(help="So many folds instead, for cross-validation.")] = None,  # noqa: UP045
    groups: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Column of what must stay together (document, author)."),
    ] = None,
    date: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Column of dates: each part is later than the one before."),
    ] = None,
    stratify: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Column whose values are to be in proportion in every part."),
    ] = None,
    rng: Annotated[int, typer.Option(help="Seed of the shuffle.")] = 0,
    out: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--out", "-o", help="Folder for a table per part; with --folds also a file, with a column `fold`."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> int:
    """Split a table so that no group and no later date is on both sides.

    Examples:

      howsure split corpus.csv --groups author --parts train=8,dev=1,test=1 -o parts/

      howsure split corpus.csv --date published -o parts/

      howsure split corpus.csv --folds 5 --stratify label -o folds.csv
    """
    from howsure.cli.output import say
    from howsure.verbs.split import split as run_split

    made = run_split(file, parts=parts, folds=folds, groups=groups, date=date, stratify=stratify, rng=rng, out=out)
    if as_json:
        say(json.dumps(made.to_dict(), indent=2, allow_nan=False, ensure_ascii=False))
    else:
        say(split_text(made) + "".join(f"\nWritten: {path}" for path in made.files))
    return 0


def split_text(s: Split) -> str:
    """Verdict first, then the parts and, if stratified, their labels."""
    from howsure.cli.text import WIDTH, printable

    def cut(name: str, width: int) -> str:
        return printable(name if len(name) <= width else name[: width - 1] + "…")

    lines = [textwrap.fill(printable(s.verdict), WIDTH), ""]
    head = f"  {'fold' if s.is_folds else 'part':<12} {'rows':>10} {'share':>7} {'asked':>7}"
    head += "" if s.n_groups is None else f" {'groups':>8}"
    lines.append(head + ("" if s.dates is None else f"  {'dates':<19}".rstrip()))
    total = sum(s.sizes.values())
    for i, (name, size) in enumerate(s.sizes.items()):
        row = f"  {cut(name, 12):<12} {size:>10,} {size / total:>7.1%} {s.target[i]:>7.1%}"
        row += "" if s.n_groups is None else f" {s.n_groups[i]:>8,}"
        row += "" if s.dates is None else f"  {s.dates[i][0][:10]} – {s.dates[i][1][:10]}"
        lines.append(row)
    if s.label_counts is not None:
        lines += ["", "  shares of the labels"]
        shares = s.label_counts / s.label_counts.sum(axis=1, keepdims=True)
        names = [cut(n, 9) for n in s.names[:6]]
        lines.append(f"  {'':<20}" + "".join(f" {n:>9}" for n in names))
        for j, label in enumerate(s.labels[:MOST_LABELS]):
            lines.append(f"  {cut(label, 20):<20}" + "".join(f" {v:>9.1%}" for v in shares[:6, j]))
        if len(s.labels) > MOST_LABELS:
            lines.append(f"  … {len(s.labels) - MOST_LABELS:,} more (--json lists all)")
    for reason, rows in s.left_out.items():
        lines += ["", textwrap.fill(f"Left out: {rows:,} rows, because {reason}.", WIDTH)]
    return "\n".join(lines) + "\n"
