"""`howsure score FILE`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from howsure.cli.engine_options import EngineOption, MasterOption, MemoryOption, SkipBadFilesOption, engine_from

if TYPE_CHECKING:
    from howsure.calibration.estimation.intervals import Estimate
    from howsure.evaluation.scores.confusion import Confusion
    from howsure.evaluation.scores.result import Averages, Score

WIDTH = 80
MOST_CLASSES = 60
MOST_COLUMNS = 9


def score(
    file: Annotated[str, typer.Argument(help="A table with a row each item; - reads standard input.")],
    true: Annotated[Optional[str], typer.Option(help="Column of gold labels.")] = None,  # noqa: UP045
    pred: Annotated[Optional[str], typer.Option(help="Column of the system's labels.")] = None,  # noqa: UP045
    groups: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Column of what is dependent (document, sentence)."),
    ] = None,
    spans: Annotated[bool, typer.Option("--spans", help="Labels are BIO, BIOES or IO tags: score spans.")] = False,
    sentence: Annotated[Optional[str], typer.Option(help="With --spans: column of sentences.")] = None,  # noqa: UP045
    second: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Column of a second annotator's labels: their score is the ceiling."),
    ] = None,
    beta: Annotated[float, typer.Option(help="Recall counts β times as much as precision in F.")] = 1.0,
    where: Annotated[Optional[str], typer.Option(help="SQL condition on the rows to keep.")] = None,  # noqa: UP045
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    engine: EngineOption = None,
    master: MasterOption = None,
    memory: MemoryOption = None,
    skip_bad_files: SkipBadFilesOption = False,
    html: Annotated[Optional[str], typer.Option(help="Write a report to this file.")] = None,  # noqa: UP045
    plot: Annotated[Optional[str], typer.Option(help="Draw the matrix to this .svg, .png or .pdf file.")] = None,  # noqa: UP045
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """How good are a system's labels, and how sure is that?

    Examples:

      howsure score predictions.csv --true gold --pred system --groups doc

      howsure score tokens.parquet --true gold --pred tag --spans --sentence sent --groups doc

      howsure score predictions.csv --true gold --pred system --second gold2 --html score.html
    """
    from howsure.cli.output import say
    from howsure.files import check_outputs, write_whole
    from howsure.plots.score_vega import score_figure
    from howsure.plots.vega import check_plot_name, rendered
    from howsure.report.score_page import score_page
    from howsure.verbs.score import score as run_score

    check_outputs(html, plot, inputs=[file])
    if plot is not None:
        check_plot_name(plot)
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
        engine=engine_from(engine, master, memory, skip_bad_files),
    )
    said = json.dumps(made.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) if as_json else score_text(made)
    if html is not None:
        write_whole(html, score_page(made))
    if plot is not None:
        write_whole(plot, rendered(score_figure(made), Path(plot).suffix.lower()))
    written = [] if as_json else [f"\n\nWritten: {path}" for path in (html, plot) if path]
    say(said.rstrip("\n") + "".join(written))
    return 0


def score_text(s: Score) -> str:
    """Verdict first, then the averages, the classes, the matrix and the bounds."""
    import textwrap

    from howsure.cli.text import printable

    groups = "" if s.n_groups is None else f" in {s.n_groups:,} {'clusters' if s.spans else 'groups'}"
    kind = "tokens" if s.spans else "rows"
    head = [
        f"{s.n:,} {kind}{groups}",
        f"  {'token accuracy' if s.spans else 'accuracy':<16} {_cell(s.accuracy)}".rstrip(),
    ]
    parts = [textwrap.fill(printable(s.verdict), WIDTH), "\n".join(head), _averages(s), _classes(s)]
    if s.confusion is not None:
        parts.append(matrix_text(s.confusion))
    if s.baselines:
        lines = [f"{'Bounds':<46} {'accuracy':>9} {'macro ' + s.f_name:>9}"]
        lines += [f"  {_cut(b.name, 44):<44} {b.accuracy:>9.4f} {b.macro_f:>9.4f}" for b in s.baselines]
        lines.append(f"  {'this system':<44} {s.accuracy.value:>9.4f} {s.macro.f.value:>9.4f}")
        if s.ceiling is not None:
            top = s.ceiling
            lines.append(f"  {'a second annotator (ceiling)':<44} {top.accuracy.value:>9.4f} {top.macro.f.value:>9.4f}")
        parts.append("\n".join(lines))
    elif s.ceiling is not None:
        parts.append(f"Ceiling, a second annotator: micro {s.f_name} {s.ceiling.micro.f!r}")
    parts += [textwrap.fill(printable(n), WIDTH, initial_indent="Note: ", subsequent_indent="  ") for n in s.notes]
    return "\n\n".join(parts) + "\n"


def _averages(s: Score) -> str:
    def line(name: str, a: Averages) -> str:
        return f"  {name:<10} {_cell(a.precision)}  {_cell(a.recall)}  {_cell(a.f)}".rstrip()

    heads = f"  {'':<10} {'precision':<22} {'recall':<22} {s.f_name:<22}".rstrip()
    return "\n".join([heads, line("macro", s.macro), line("micro", s.micro), line("weighted", s.weighted)])


def _cell(e: Estimate | None) -> str:
    if e is None:
        return f"{'–':<21}"
    limits = "" if e.low is None else f" [{e.low:.3f}, {e.high:.3f}]"
    return f"{e.value:.3f}{limits:<16}"


def _classes(s: Score) -> str:
    lines = [f"  {'':<16} {'gold':>7} {'pred.':>7}  {'prec.':>6} {'recall':>6}  {s.f_name} (interval)"]
    for c in s.classes[:MOST_CLASSES]:
        p, r = (f"{'–':>6}" if e is None else f"{e.value:>6.3f}" for e in (c.precision, c.recall))
        note = " *" if c.note else ""
        lines.append(f"  {_cut(c.label, 16):<16} {c.gold:>7,} {c.predicted:>7,}  {p} {r}  {_cell(c.f).rstrip()}{note}")
    if len(s.classes) > MOST_CLASSES:
        lines.append(f"  … {len(s.classes) - MOST_CLASSES:,} more (--json lists all)")
    if any(c.note for c in s.classes):
        lines.append("  * never in gold, or never predicted: – is 0/0, and counts as 0 in macro")
    return "\n".join(lines)


def matrix_text(c: Confusion) -> str:
    """The matrix itself where it fits, else the commonest mistakes."""
    if len(c.labels) > MOST_COLUMNS:
        lines = ["Commonest mistakes", f"  {'gold':<24} {'taken for':<24} {'rows':>9}  share of gold"]
        for m in c.most_confused():
            gold, said = _cut(m["gold"], 24), _cut(m["predicted"], 24)
            lines.append(f"  {gold:<24} {said:<24} {m['n']:>9,}  {100 * m['share']:.1f}%")
        return "\n".join(lines)
    wide = max(len(f"{x:,}") for x in c.counts.ravel().tolist())
    width = min(max([wide, *map(len, c.labels)]), max(wide, (WIDTH - 18) // (len(c.labels) + 1) - 1))
    lines = ["Confusion matrix: gold down, predicted across"]
    lines.append(f"  {'':<14}" + "".join(f" {_cut(x, width):>{width}}" for x in c.labels))
    for label, row in zip(c.labels, c.counts.tolist(), strict=True):
        lines.append(f"  {_cut(label, 14):<14}" + "".join(f" {x:>{width},}" for x in row))
    return "\n".join(lines)


def _cut(name: str, width: int) -> str:
    from howsure.cli.text import printable

    return printable(name if len(name) <= width else name[: width - 1] + "…")
