"""`howsure explore [SOURCE]`."""

from __future__ import annotations

import csv
import io
import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

if TYPE_CHECKING:
    from howsure.events.exploration import Exploration

MOST_ACTORS = 12
MOST_PERIODS = 40
FEW_TO_TIME = 200  # documents; fewer are not timed


def explore(
    source: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            help="A folder of texts, a table, or a folder of Reuters, MUC or CoNLL-U; none: the stories that ship."
        ),
    ] = None,
    actors: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="countries, muc-organisations, or a CSV file with code, name, words."),
    ] = None,
    only: Annotated[Optional[str], typer.Option(help="Only these actors: IRN,IRQ.")] = None,  # noqa: UP045
    actor: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Show these actors over time: IRN,IRQ; two are compared."),
    ] = None,
    verbs: Annotated[
        str, typer.Option(help="Lemmas: attack,bomb; or violence; or a CSV file with a column lemma.")
    ] = "attack",
    every: Annotated[str, typer.Option(help="day, week, month, quarter or year.")] = "quarter",
    out: Annotated[Optional[str], typer.Option(help="Folder of the results; an interrupted run goes on there.")] = None,  # noqa: UP045
    text: Annotated[Optional[str], typer.Option(help="Column of texts, in a table.")] = None,  # noqa: UP045
    date: Annotated[Optional[str], typer.Option(help="Column of dates, in a table.")] = None,  # noqa: UP045
    id: Annotated[Optional[str], typer.Option(help="Column of ids, in a table.")] = None,  # noqa: UP045
    title: Annotated[Optional[str], typer.Option(help="Column of titles, in a table.")] = None,  # noqa: UP045
    where: Annotated[Optional[str], typer.Option(help="SQL condition on the rows of a table.")] = None,  # noqa: UP045
    metadata: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="CSV file with file and date, where dates are not in the files' names."),
    ] = None,
    encoding: Annotated[str, typer.Option(help="Encoding of text files.")] = "utf-8",
    format: Annotated[Optional[str], typer.Option(help="text, table, reuters, muc, nitf or conllu.")] = None,  # noqa: UP045
    rules: Annotated[
        str, typer.Option(help="paper, or wide: also subjects that a parse does not spell out.")
    ] = "paper",
    samples: Annotated[int, typer.Option(help="Clusterings drawn for each document.")] = 400,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    temperature: Annotated[float, typer.Option(help="Flatten (above 1) or sharpen the coreference posterior.")] = 1.0,
    model: Annotated[Optional[str], typer.Option(help="Another English pipeline.")] = None,  # noqa: UP045
    coref: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Another coreference model; none and simple are baselines."),
    ] = None,
    workers: Annotated[Optional[int], typer.Option(help="Processes; results do not depend on it.")] = None,  # noqa: UP045
    engine: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="spark: do the work on Spark; local (default): in processes of this machine."),
    ] = None,
    master: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Spark's master: local[2], spark://host:7077, yarn; all cores of this machine if none."),
    ] = None,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Keep parses for the next run.")] = True,
    again: Annotated[bool, typer.Option("--again", help="Do everything anew.")] = False,
    plot: Annotated[Optional[str], typer.Option(help="Draw the counts to this .svg, .png or .pdf file.")] = None,  # noqa: UP045
    csv_file: Annotated[Optional[str], typer.Option("--csv", help="Write the counts to this CSV file.")] = None,  # noqa: UP045
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """How many documents per period describe an actor's attack, and how sure is that number?

    Examples:

      howsure explore

      howsure explore news/ --actors countries --verbs attack --every quarter --out results/

      howsure explore wire.parquet --text body --date published --actors my-groups.csv --verbs attack,bomb --out results/
    """
    from howsure.cli.output import say
    from howsure.files import check_outputs, write_whole
    from howsure.plots.timeline_vega import timeline_figure
    from howsure.plots.vega import check_plot_name, rendered
    from howsure.verbs.explore import actor_lexicon
    from howsure.verbs.explore import explore as run_explore

    check_outputs(plot, csv_file, inputs=[source, actors, verbs, metadata, model, coref], deep=True)
    if plot is not None:
        check_plot_name(plot)
    lexicon = actor_lexicon(actors, source)
    for name in _listed(actor):
        lexicon.number(name)  # raises now, not after the work
    with _Bar() as bar:
        found = run_explore(
            source,
            actors=lexicon,
            only=_listed(only),
            verbs=verbs,
            every=every,
            out=out,
            rules=rules,
            samples=samples,
            rng=seed,
            temperature=temperature,
            model=model,
            coref=coref,
            text=text,
            date=date,
            id=id,
            title=title,
            where=where,
            metadata=metadata,
            encoding=encoding,
            format=format,
            workers=workers,
            engine=engine,
            master=master,
            cache=cache,
            again=again,
            progress=bar.show,
        )
    chosen = [found.code(a) for a in _listed(actor)] or [code for code, _ in found.totals()[:2]]
    if as_json:
        said = json.dumps(found.to_dict(_listed(actor) or None), indent=2, allow_nan=False, ensure_ascii=False)
    else:
        said = exploration_text(found, chosen)
    if csv_file is not None:
        write_whole(csv_file, timelines_csv(found).encode())
    if plot is not None:
        drawn = {found.name(c): [count.to_dict() for count in found.timeline(c)] for c in chosen}
        if drawn:
            write_whole(plot, rendered(timeline_figure(drawn, _titled(found)), Path(plot).suffix.lower()))
    outputs = [p for p in (out, csv_file, plot if chosen else None) if p]
    say(said.rstrip("\n") + ("" if as_json or not outputs else "\n\nWritten: " + ", ".join(outputs)))
    return 0


def _listed(given: str | None) -> list[str]:
    return [part.strip() for part in (given or "").split(",") if part.strip()]


def _titled(found: Exploration) -> str:
    verbs = found.manifest["settings"]["verbs"]
    shown = ", ".join(verbs[:4]) + (", …" if len(verbs) > 4 else "")
    return f"Documents with an agent of: {shown} (per {found.every})"


class _Bar:
    """A progress bar on stderr with documents per second and the time left, where that is a terminal."""

    def __enter__(self) -> _Bar:
        self.progress: Any = None
        self.task: Any = None
        return self

    def show(self, done: int, total: int) -> None:
        if not sys.stderr.isatty():
            return
        if self.progress is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self.progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self.progress.start()
            self.task = self.progress.add_task("documents", total=total, completed=done, rate="")
        else:
            speed = self.progress.tasks[0].speed
            self.progress.update(self.task, completed=done, rate="" if speed is None else f"{speed:,.0f}/s")

    def __exit__(self, *_: object) -> None:
        if self.progress is not None:
            self.progress.stop()


def exploration_text(found: Exploration, chosen: list[str]) -> str:
    """Verdict first, then the actors, the chosen ones over time, what is left out."""
    from howsure.cli.text import printable

    parts = [textwrap.fill(printable(found.verdict), 80)]
    totals = found.totals()
    if totals:
        lines = [f"{'documents, all periods':<34} {'mean':>7} {'sd':>6}  {'95%':<11} {'one-best':>8}"]
        for code, law in totals[:MOST_ACTORS]:
            low, high = law.interval(0.95)
            best = sum(h.best > 0 for h in found.hits[code] if h.date is not None)
            name = printable(f"{code}  {found.name(code)}")
            shown = name if len(name) <= 34 else name[:33] + "…"
            lines.append(f"{shown:<34} {law.mean:>7.2f} {law.sd:>6.2f}  {f'{low} to {high}':<11} {best:>8}")
        if len(totals) > MOST_ACTORS:
            lines.append(f"… {len(totals) - MOST_ACTORS} more (--json lists all)")
        parts.append("\n".join(lines))
    parts += [_timeline_table(found, code) for code in chosen]
    if len(chosen) == 2:
        parts.append(_comparison_table(found, *chosen))
    if found.timing.get("documents", 0) >= FEW_TO_TIME:
        parts.append(textwrap.fill(run_time(found.timing), 80))
    parts += [textwrap.fill(n, 80, initial_indent="Note: ", subsequent_indent="  ") for n in notes(found)]
    return "\n\n".join(parts) + "\n"


def _timeline_table(found: Exploration, code: str) -> str:
    from howsure.cli.text import printable

    counts = found.timeline(code)
    title = printable(found.name(code))
    lines = [f"{title[:28]:<28} {'mean':>7} {'50%':>9} {'80%':>9} {'95%':>9} {'1-best':>6} {'more':>6}"]
    shown = counts if len(counts) <= MOST_PERIODS else [c for c in counts if c.mean > 0 or c.best > 0][:MOST_PERIODS]
    for c in shown:
        bands = [f"{low}–{high}" for low, high in c.intervals.values()]
        more = "" if c.more_than_before is None else f"{c.more_than_before:.2f}"
        docs = f"({c.n_documents:,} documents)"
        lines.append(
            f"  {c.period:<10} {docs:<16} {c.mean:>6.2f} {bands[0]:>9} {bands[1]:>9} {bands[2]:>9} {c.best:>6} {more:>6}"
        )
    if len(shown) < len(counts):
        lines.append(f"  … {len(counts) - len(shown):,} periods are not shown (--csv has all)")
    return "\n".join(lines)


def _comparison_table(found: Exploration, a: str, b: str) -> str:
    lines = [f"{a} against {b}: {'P(more)':>10} {'P(fewer)':>9} {'difference':>11}  95%"]
    whole = found.compare_all(a, b)
    low, high = whole.interval(0.95)
    width = len(f"{a} against {b}:") - 2
    rows = [("all", whole.above(0), 1.0 - whole.above(-1), whole.mean, low, high)]
    rows += [(p.period, p.more, p.fewer, p.difference, *p.interval) for p in found.compare(a, b)[:MOST_PERIODS]]
    for name, more, fewer, difference, lowest, highest in rows:
        lines.append(f"  {name:<{width}} {more:>10.3f} {abs(fewer):>9.3f} {difference:>+11.2f}  {lowest} to {highest}")
    return "\n".join(lines)


def notes(found: Exploration) -> list[str]:
    """What was left out or looks wrong, in words."""
    m = found.manifest
    made = []
    if m["n_undated"]:
        why = ", ".join(f"{n:,} {reason}" for reason, n in m["undated"].items())
        made.append(f"{_documents(m['n_undated'])} without a date ({why}): in the results, not in the periods.")
    if m["n_failed"]:
        why = "; ".join(f"{n:,}: {reason}" for reason, n in list(m["failures"].items())[:3])
        made.append(f"{_documents(m['n_failed'])} could not be used ({why}).")
    if m["n_future"]:
        made.append(f"{_documents(m['n_future'])} dated in the future.")
    if m["n_html"]:
        made.append(f"{_documents(m['n_html'])} in HTML; tags were taken off.")
    if m["corpus"] == "stories":
        made.append("the stories ship with howsure; their countries and events are made up.")
    if m["settings"]["coref"] == "simple":
        made.append("coreference is by rules set by hand, not by a trained model: its probabilities are rough.")
    made.append(
        "the bands hold the uncertainty of coreference alone, not that of parses, lexicon and verbs (docs/guides/explore.md)."
    )
    return made


def run_time(timing: dict[str, float]) -> str:
    """How long it took, and on what."""
    n, total = timing["documents"], max(timing["total"], 1e-9)
    after = timing["resolving"] + timing["asking"]
    return (
        f"{n:,.0f} documents in {total:,.0f} s, {n / total:,.1f} a second. CPU time: {timing['parsing']:,.0f} s for parsing, "
        f"{after:,.0f} s for all that follows."
    )


def _documents(n: int) -> str:
    return f"{n:,} document{'' if n == 1 else 's'}"


def timelines_csv(found: Exploration) -> str:
    """The counts of all actors with events, a row for each actor and period."""
    rows = [
        {"actor": code, "name": found.name(code), **count.to_dict()}
        for code, _ in found.totals()
        for count in found.timeline(code)
    ]
    file = io.StringIO()
    if rows:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        file.write("actor,name,period\n")
    return file.getvalue()
