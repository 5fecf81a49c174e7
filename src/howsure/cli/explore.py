"""`howsure explore [SOURCE]`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery, check_plot, progress


def explore(
    source: Annotated[
        str | None,
        typer.Argument(
            help="A folder of texts, a table, or a folder of Reuters, MUC or CoNLL-U; none: the stories that ship."
        ),
    ] = None,
    actors: Annotated[
        str | None, typer.Option(help="countries, muc-organisations, or a CSV file with code, name, words.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Only these actors: IRN,IRQ.")] = None,
    actor: Annotated[str | None, typer.Option(help="Show these actors over time: IRN,IRQ; two are compared.")] = None,
    verbs: Annotated[
        str, typer.Option(help="Lemmas: attack,bomb; or violence; or a CSV file with a column lemma.")
    ] = "attack",
    every: Annotated[str, typer.Option(help="day, week, month, quarter or year.")] = "quarter",
    out: Annotated[str | None, typer.Option(help="Folder of the results; an interrupted run goes on there.")] = None,
    text: Annotated[str | None, typer.Option(help="Column of texts, in a table.")] = None,
    date: Annotated[str | None, typer.Option(help="Column of dates, in a table.")] = None,
    id: Annotated[str | None, typer.Option(help="Column of ids, in a table.")] = None,
    title: Annotated[str | None, typer.Option(help="Column of titles, in a table.")] = None,
    where: Annotated[str | None, typer.Option(help="SQL condition on the rows of a table.")] = None,
    metadata: Annotated[
        str | None, typer.Option(help="CSV file with file and date, where dates are not in the files' names.")
    ] = None,
    encoding: Annotated[str, typer.Option(help="Encoding of text files.")] = "utf-8",
    format: Annotated[str | None, typer.Option(help="text, table, reuters, muc, nitf or conllu.")] = None,
    rules: Annotated[
        str, typer.Option(help="paper, or wide: also subjects that a parse does not spell out.")
    ] = "paper",
    samples: Annotated[int, typer.Option(help="Clusterings drawn for each document.")] = 400,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    temperature: Annotated[float, typer.Option(help="Flatten (above 1) or sharpen the coreference posterior.")] = 1.0,
    model: Annotated[str | None, typer.Option(help="Another English pipeline.")] = None,
    coref: Annotated[str | None, typer.Option(help="Another coreference model; none and simple are baselines.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; results do not depend on it.")] = None,
    engine: Annotated[
        str | None, typer.Option(help="spark: do the work on Spark; local (default): in processes of this machine.")
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(help="Spark's master: local[2], spark://host:7077, yarn; all cores of this machine if none."),
    ] = None,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Keep parses for the next run.")] = True,
    again: Annotated[bool, typer.Option("--again", help="Do everything again.")] = False,
    plot: options.Plot = None,
    csv_file: Annotated[str | None, typer.Option("--csv", help="Write the counts to this CSV file.")] = None,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
) -> int:
    """How many documents per period describe an actor's attack, and how sure is that number?

    Examples:

      howsure explore

      howsure explore news/ --actors countries --verbs attack --every quarter --out results/

      howsure explore wire.parquet --text body --date published --actors my-groups.csv --verbs attack,bomb --out results/
    """
    from howsure.files import write_whole
    from howsure.verbs.explore import actor_lexicon
    from howsure.verbs.explore import explore as run_explore

    read = (source, actors, verbs, metadata, model, coref)
    delivery = Delivery(as_json, markdown, latex, outputs=(csv_file, plot), inputs=read, deep=True)
    check_plot(plot)
    lexicon = actor_lexicon(actors, source)
    for name in options.listed(actor):
        lexicon.number(name)  # raises now, not after the work
    with progress("documents") as moved:
        found = run_explore(
            source,
            actors=lexicon,
            only=options.listed(only),
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
            progress=moved,
        )
    named = options.listed(actor)
    if csv_file is not None:
        write_whole(csv_file, found.as_file(".csv"))
    drawn = plot is not None and bool(found.chosen(named))
    if plot is not None and drawn:
        write_whole(plot, found.as_file(Path(plot).suffix.lower(), named))
    written = ", ".join(p for p in (out, csv_file, plot if drawn else None) if p)
    text = found.to_text(named).rstrip("\n") + (f"\n\nWritten: {written}" if written else "")
    return replace(delivery, outputs=()).deliver(found, data=found.to_dict(named or None), text=text)
