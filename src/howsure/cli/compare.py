"""`howsure compare FILE…`."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from howsure.cli.engine_options import EngineOption, MasterOption, MemoryOption, SkipBadFilesOption, engine_from

if TYPE_CHECKING:
    from howsure.calibration.comparing.difference import Difference
    from howsure.calibration.comparing.result import Comparison

MOST_SLICES = 40


def compare(
    files: Annotated[list[str], typer.Argument(help="One table with a column per model, or a table per model.")],
    prob: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Columns of probabilities, one per model: a,b. With a file per model: the column in each."),
    ] = None,
    pred: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Columns of labels, one per system: a,b. --true then holds the gold labels."),
    ] = None,
    true: Annotated[Optional[str], typer.Option(help="Column of labels.")] = None,  # noqa: UP045
    metric: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="With --pred: accuracy, f1 (of --positive), macro-f1 or span-f1."),
    ] = None,
    sentence: Annotated[Optional[str], typer.Option(help="With span-f1: column of sentences.")] = None,  # noqa: UP045
    samples: Annotated[int, typer.Option(help="With --pred: resamples of the bootstrap.")] = 10_000,
    planned: Annotated[Optional[int], typer.Option(help="With --pred: tell the power of so many rows.")] = None,  # noqa: UP045
    key: Annotated[Optional[str], typer.Option(help="Column that identifies an item across files.")] = None,  # noqa: UP045
    groups: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Column of what is dependent (document, sentence)."),
    ] = None,
    by: Annotated[Optional[str], typer.Option(help="Compare on each value of this column too.")] = None,  # noqa: UP045
    positive: Annotated[Optional[str], typer.Option(help="The label that counts as 1.")] = None,  # noqa: UP045
    logits: Annotated[bool, typer.Option("--logits", help="The columns hold log-odds.")] = False,
    where: Annotated[Optional[str], typer.Option(help="SQL condition on the rows to keep.")] = None,  # noqa: UP045
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    engine: EngineOption = None,
    master: MasterOption = None,
    memory: MemoryOption = None,
    skip_bad_files: SkipBadFilesOption = False,
    html: Annotated[Optional[str], typer.Option(help="Write a report to this file.")] = None,  # noqa: UP045
    plot: Annotated[Optional[str], typer.Option(help="Draw the curves to this .svg, .png or .pdf file.")] = None,  # noqa: UP045
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Is B better than A, is it better calibrated, and is its score better?

    Examples:

      howsure compare predictions.csv --true y --prob model_a,model_b

      howsure compare predictions.csv --true y --prob model_a,model_b --groups doc --by tag

      howsure compare a.csv b.csv --key id --html comparison.html

      howsure compare predictions.csv --true gold --pred a,b --prob pa,pb --metric macro-f1 --groups doc
    """
    from howsure.cli.contest_text import contest_text
    from howsure.cli.output import say
    from howsure.cli.progress import quiet_progress
    from howsure.evaluation.contests.result import Contest
    from howsure.files import check_outputs, write_whole
    from howsure.plots.vega import check_plot_name
    from howsure.report.comparison_page import comparison_page
    from howsure.report.contest_page import contest_page
    from howsure.verbs.compare import compare as run_compare

    check_outputs(html, plot, inputs=files)
    if plot is not None:
        check_plot_name(plot)
    with quiet_progress() as progress:
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
            engine=engine_from(engine, master, memory, skip_bad_files),
        )
    in_words = contest_text(made) if isinstance(made, Contest) else comparison_text(made)
    said = json.dumps(made.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) if as_json else in_words
    if html is not None:
        write_whole(html, contest_page(made) if isinstance(made, Contest) else comparison_page(made))
    if plot is not None:
        made.save(plot)
    written = [] if as_json else [f"\n\nWritten: {path}" for path in (html, plot) if path]
    say(said.rstrip("\n") + "".join(written))
    return 0


def comparison_text(c: Comparison) -> str:
    """Verdict first, then the models, the differences and the slices."""
    from howsure.cli.text import printable

    def cut(name: str, width: int) -> str:
        return printable(name if len(name) <= width else name[: width - 1] + "…")

    groups = "" if c.n_groups is None else f" in {c.n_groups:,} groups"
    parts = [textwrap.fill(printable(c.verdict), 80)]
    lines = [
        f"{c.n:,} rows{groups}",
        f"  {'':<20} {'RMS error':>9}  {'interval':<16} {'bias':>8} {'Brier':>7} {'log loss':>9}",
    ]
    for name, k in zip(c.models, c.calibrations, strict=True):
        error = f"{k.error.value:>9.4f}  [{k.error.low:.4f}, {k.error.high:.4f}]" if k.error else f"{'–':>9}  {'':<16}"
        loss = "infinite" if k.log_loss.value is None else f"{k.log_loss.value:.4f}"
        lines.append(f"  {cut(name, 20):<20} {error} {k.bias.gap.value:>+8.4f} {k.brier.value:>7.4f} {loss:>9}")
    parts.append("\n".join(lines))
    lines = ["Differences (first less second; negative favours the first)"]
    for p in c.pairs:
        lines.append(f"  {cut(p.a, 30)} - {cut(p.b, 30)}")
        for label, d in (("squared error", p.error_squared), ("Brier score", p.brier), ("log loss", p.log_loss)):
            lines.append(f"    {label:<14} {_difference(d)}")
    parts.append("\n".join(lines))
    if c.slices:
        a, b = (cut(m, 12) for m in c.models[:2])
        lines = [
            f"By {printable(c.by or '')}, clearest difference first:",
            f"  {'':<24} {'rows':>9} {a:>12} {b:>12}  {'adjusted p':>10}",
        ]
        for s in c.slices[:MOST_SLICES]:
            errors = [f"{'–' if e is None else f'{e:.4f}':>12}" for e in s.errors[:2]]
            p_value = "–" if s.adjusted_p_value is None else f"{s.adjusted_p_value:.3g}"
            lines.append(f"  {cut(s.name, 24):<24} {s.n:>9,} {errors[0]} {errors[1]}  {p_value:>10}")
        if len(c.slices) > MOST_SLICES:
            lines.append(f"  … {len(c.slices) - MOST_SLICES:,} more (--json lists all)")
        parts.append("\n".join(lines))
    parts += [textwrap.fill(printable(n), 80) for n in c.notes]
    return "\n\n".join(parts) + "\n"


def _difference(d: Difference | None) -> str:
    if d is None:
        return "infinite for some rows"
    if d.low is None or d.p_value is None:
        return f"{d.value:+.5f}"
    p = "< 0.001" if d.p_value < 0.001 else f"= {d.p_value:.3f}"
    return f"{d.value:+.5f}  [{d.low:+.5f}, {d.high:+.5f}]  p {p}"
