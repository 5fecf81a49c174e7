"""`howsure explore`, and `top`, `page` and `serve`, which read what it has written; `howsure parse`."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howsure.cli import options
from howsure.cli.delivery import Delivery, progress, say
from howsure.cli.parser import argument, command, option

if TYPE_CHECKING:
    pass


@command(
    argument(
        "source",
        "A folder of texts, a table, or a folder of Reuters, MUC or CoNLL-U; none: the stories that ship.",
        required=False,
        reads="deep",
    ),
    option("actors", "countries, muc-organisations, or a CSV file with code, name, words.", reads="deep"),
    option("only", "Only these actors: IRN,IRQ."),
    option("actor", "Show these actors over time: IRN,IRQ; two are compared."),
    option("verbs", "Lemmas: attack,bomb; or violence; or a CSV file with a column lemma.", "attack", reads="deep"),
    option("every", "day, week, month, quarter or year.", "quarter"),
    option("out", "Folder of the results; an interrupted run goes on there."),
    option("text", "Column of texts, in a table."),
    option("date", "Column of dates, in a table."),
    option("id", "Column of ids, in a table."),
    option("title", "Column of titles, in a table."),
    option("where", "SQL condition on the rows of a table."),
    option("metadata", "CSV file with file and date, where dates are not in the files' names.", reads="deep"),
    option("encoding", "Encoding of text files.", "utf-8"),
    option("format", "text, table, reuters, muc, nitf or conllu."),
    option("rules", "paper, or wide: also subjects that a parse does not spell out.", "paper"),
    option("samples", "Clusterings drawn for each document.", 400),
    options.seed("the draws", "seed"),
    option("temperature", "Flatten (above 1) or sharpen the coreference posterior.", 1.0),
    option("model", "Another English pipeline.", reads="deep"),
    option("coref", "Another coreference model; none and simple are baselines.", reads="deep"),
    option("workers", "Processes; results do not depend on it.", kind=int),
    option("engine", "spark: do the work on Spark; local (default): in processes of this machine."),
    option("master", "Spark's master: local[2], spark://host:7077, yarn; all cores of this machine if none."),
    option("cache", "Keep parses for the next run.", True),
    option("again", "Do everything again.", False),
    options.PLOT,
    option("csv_file", "Write the counts to this CSV file.", flags="--csv", writes=True),
    *options.PRINTED,
)
def explore(
    deliver: Delivery,
    source: str | None,
    actors: str | None,
    only: str | None,
    actor: str | None,
    out: str | None,
    seed: int,
    csv_file: str | None,
    **given: Any,
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

    lexicon, named, plot = actor_lexicon(actors, source), options.listed(actor), deliver.plot
    for name in named:
        lexicon.number(name)  # raises now, not after the work
    with progress("documents") as moved:
        found = run_explore(
            source, actors=lexicon, only=options.listed(only), out=out, rng=seed, progress=moved, **given
        )
    if csv_file is not None:
        write_whole(csv_file, found.as_file(".csv"))
    drawn = plot is not None and bool(found.chosen(named))
    if plot is not None and drawn:
        write_whole(plot, found.as_file(Path(plot).suffix.lower(), named))
    written = ", ".join(p for p in (out, csv_file, plot if drawn else None) if p)
    text = found.to_text(named).rstrip("\n") + (f"\n\nWritten: {written}" if written else "")
    return replace(deliver, outputs=(), plot=None)(found, data=found.to_dict(named or None), text=text)


@command(
    options.RESULTS,
    option("actor", "Only this actor."),
    option("uncertain", "The least certain first: nearest to one half.", False),
    option("limit", "How many documents.", 10),
    *options.PRINTED,
)
def top(deliver: Delivery, results: str, **given: Any) -> int:
    """Documents by probability or uncertainty, with the sentences and the links behind them.

    Examples:
      howsure top results/
      howsure top results/ --actor IRQ --uncertain
    """
    from howsure.verbs.results import top as ranked

    return deliver(ranked(results, **given))


@command(
    options.RESULTS,
    option("out", "The file to write.", "events.html", "--out -o"),
    option("actor", "Comma-separated actors to include."),
    replace(options.JSON, help="Print what was written as JSON."),
)
def page(deliver: Delivery, results: str, out: str, actor: str | None) -> int:
    """One file with the counts, their bands and the documents behind them, to open in a browser.

    Examples:
      howsure page results/ -o events.html
      howsure page results/ --actor IRN,IRQ
    """
    from howsure.verbs.results import page as made_page

    made = made_page(results, out, actors=options.listed(actor))
    text = f"Written: {out} ({len(made) / 1e6:.1f} MB); open it in a browser."
    return deliver.say(text, {"written": out, "bytes": len(made)})


@command(
    options.RESULTS,
    option("port", "The port on 127.0.0.1; 0 takes any that is free.", 8015),
    replace(options.JSON, help="Print the address as JSON."),
)
def serve(deliver: Delivery, results: str, port: int) -> int:
    """The page of howsure page from a server on this machine, for results of any size. Ctrl-C ends it.

    Examples:
      howsure serve results/
      howsure serve results/ --port 0
    """
    from howsure.verbs.results import serve as made_server

    server = made_server(results, port=port)
    try:
        say(
            f'{{"address": "{server.address}"}}'
            if deliver.as_json
            else f"Open {server.address} in a browser. Ctrl-C ends it."
        )
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


@command(
    argument("source", "A text file, a folder of them, or - for standard input.", reads="deep"),
    option("output", "Write CoNLL-U to this file instead of standard output.", flags="--output -o", writes=True),
    option("model", "Another spaCy pipeline, by name or folder.", reads="deep"),
    option("encoding", "Of the text files.", "utf-8"),
    option("jobs", "Processes; one for each core if left out.", kind=int),
    option("cache", "Folder that keeps parses for the next run; the user's cache folder if left out."),
    option("no_cache", "Neither look up parses nor keep them.", False),
    replace(options.JSON, help="Print JSON: all columns or, with -o, a summary."),
)
def parse(deliver: Delivery, source: str, output: str | None, cache: str | None, no_cache: bool, **given: Any) -> int:
    """From raw English text to sentences, tags, lemmas and dependencies.

    Needs spaCy (pip install "howsure[text]") and no download: the model ships. A run that was stopped goes on where it was:
    finished documents are in the cache.

    Examples:
      howsure parse news.txt -o news.conllu
      howsure parse articles/ -o articles.conllu --jobs 4
      echo "Colourless green ideas sleep furiously." | howsure parse -
    """
    from howsure.errors import InputError
    from howsure.files import whole_file
    from howsure.verbs.parse import ParseCount, conllu_text, document_dict, parsed

    if cache is not None and no_cache:
        raise InputError("--cache and --no-cache exclude each other.")
    kept = False if no_cache else True if cache is None else cache
    bar = output is not None or not sys.stdout.isatty()  # on a terminal the parses themselves show how far it is
    count = ParseCount()
    with progress("parsing") if bar else nullcontext() as moved:
        made = parsed(source, cache=kept, progress=moved, **given)
        if output is not None:
            with whole_file(output) as file:
                for document in count(made):
                    file.write(conllu_text(document).encode("utf-8"))
            deliver.say(f"{count.verdict}\nWritten: {output}", count.to_dict())
        elif deliver.as_json:
            documents = [document_dict(d) for d in count(made)]
            say(json.dumps({**count.to_dict(), "documents": documents}, allow_nan=False, ensure_ascii=False))
        else:
            for document in count(made):
                say(conllu_text(document).rstrip("\n") + "\n")
    for line in count.note_lines():
        print(f"howsure: {line}", file=sys.stderr)
    return 0
