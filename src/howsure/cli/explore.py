"""`howsure explore`, and `top`, `page` and `serve`, which read what it has written; `howsure parse`."""

import json
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from howsure.cli import options
from howsure.cli.delivery import Delivery, called, progress, say, served
from howsure.cli.parser import argument, command, option
from howsure.files import check_output_folder, whole_file, write_whole

ENCODING = option("encoding", "Encoding of text files.", "utf-8")
PIPELINE = option("model", "Another English pipeline of spaCy, by name or folder.", reads="deep")


@command(
    argument(
        "source",
        "A folder of texts, a table, or a folder of Reuters, MUC or CoNLL-U; none: the stories that ship.",
        required=False,
        reads="deep",
    ),
    option(
        "actors",
        "Lexicons to add up: countries,organisations,mine.csv (code, name, words).",
        reads=lambda given: given.split(","),
    ),
    option("patients", "Count whom it is done to, not who does it.", False),
    option("who", "List agents and patients of these verbs, without a lexicon: acquire,buy."),
    option("only", "Only these actors: IRN,IRQ."),
    option("actor", "Speak of these actors first, over time and on the page: IRN,IRQ; two are compared."),
    option("verbs", "Lemmas: attack,bomb; or violence; or a CSV file with a column lemma.", "attack", reads="deep"),
    option("every", "day, week, month, quarter or year.", "quarter"),
    option("out", "Folder of the results; an interrupted run goes on there.", flags="--out -o"),
    option("text", "Column of texts, in a table."),
    option("date", "Column of dates, in a table."),
    option("id", "Column of ids, in a table."),
    option("title", "Column of titles, in a table."),
    options.WHERE,
    option("metadata", "CSV file with file and date, where dates are not in the files' names.", reads="deep"),
    ENCODING,
    option("format", "text, table, reuters, muc, nitf or conllu."),
    option("rules", "roles; or paper (subjects and agents of verbs), or wide.", "roles"),
    option("samples", "Clusterings drawn for each document.", 400),
    options.seed("the draws"),
    option("temperature", "Flatten (above 1) or sharpen the coreference posterior.", 1.0),
    PIPELINE,
    option("coref", "Another coreference model, or another system's scores (.jsonl); none; simple.", reads="deep"),
    option("parses", "Parses of the documents (CoNLL-U), by `# newdoc id`; or the documents.", reads="deep"),
    options.JOBS,
    *options.ENGINE[:2],
    *options.CACHE,
    options.AGAIN,
    options.PLOT,
    option("csv_file", "Write the counts to this CSV file.", flags="--csv", writes=True),
    option("tables", "Write counts, events and documents as CSV to this folder, and a paragraph on methods.", kind=str),
    *options.PRINTED,
)
def explore(
    deliver: Delivery,
    source: str | None,
    actors: str | None,
    only: str | None,
    actor: str | None,
    out: str | None,
    cache: str | None,
    no_cache: bool,
    csv_file: str | None,
    tables: str | None,
    who: str | None,
    **given: Any,
) -> int:
    """How many documents per period describe an event, and how sure?

    Examples:
      howsure explore
      howsure explore news/ --actors countries --verbs attack --every quarter --out results/
      howsure explore wire.parquet --text body --date published --actors my-groups.csv --verbs attack,bomb --out results/
      howsure explore --parses parses.conllu --coref fastcoref.jsonl --actors countries
    """
    from howsure.verbs.explore import actor_lexicon

    if tables is not None:
        check_output_folder(tables, [source, actors, *(given[k] for k in ("parses", "coref", "verbs", "metadata"))])
    kept = options.kept(cache, no_cache)
    if who is not None:
        wanted = ("text", "date", "id", "title", "where", "metadata", "encoding", "format", "model")
        chosen = {name: given[name] for name in wanted}
        listed = called("who.who", source, who, doing="documents", cache=kept, **chosen)
        return deliver.say(listed.to_text().rstrip(), listed.to_dict())
    lexicon, plot = actor_lexicon(actors, source or given["parses"]), deliver.plot
    asked: dict[str, Any] = {"actors": lexicon, "only": options.listed(only), "actor": options.listed(actor)}
    asked |= {"out": out, "cache": kept}
    found = called("explore.explore", source, doing="documents", **asked, **given)
    if csv_file is not None:
        write_whole(csv_file, found.as_file(".csv"))
    if tables is not None:
        found.save_tables(tables)
    plot = plot if found.chosen() else None
    if plot is not None:
        write_whole(plot, found.as_file(Path(plot).suffix.lower()))
    written = ", ".join(p for p in (out, csv_file, tables, plot) if p)
    text = found.to_text().rstrip("\n") + (f"\n\nWritten: {written}" if written else "")
    return replace(deliver, outputs=(), plot=None)(found, data=found.to_dict(), text=text)


@command(
    options.RESULTS,
    option("actor", "Only this actor."),
    option("uncertain", "The least certain first: nearest to one half.", False),
    options.limit("How many documents.", 10),
    *options.PRINTED,
)
def top(deliver: Delivery, results: str, **given: Any) -> int:
    """Documents by probability, with the sentences and links behind.

    Examples:
      howsure top results/
      howsure top results/ --actor IRQ --uncertain
    """
    return deliver(called("results.top", results, **given))


@command(
    options.RESULTS,
    replace(options.OUT, default="events.html"),
    option("actor", "Comma-separated actors to include."),
    replace(options.JSON, help="Print what was written as JSON."),
)
def page(deliver: Delivery, results: str, out: str, actor: str | None) -> int:
    """One file with counts, bands and documents, to open in a browser.

    Examples:
      howsure page results/ -o events.html
      howsure page results/ --actor IRN,IRQ
    """
    made = called("results.page", results, out, actors=options.listed(actor))
    text = f"Written: {out} ({len(made) / 1e6:.1f} MB); open it in a browser."
    return deliver.say(text, {"written": out, "bytes": len(made)})


@command(
    options.RESULTS,
    option("port", "The port on 127.0.0.1; 0 takes any that is free.", 8015),
    replace(options.JSON, help="Print the address as JSON."),
)
def serve(deliver: Delivery, results: str, port: int) -> int:
    """The same page from a server on this machine, for any size. Ctrl-C ends it.

    Examples:
      howsure serve results/
      howsure serve results/ --port 0
    """
    server = called("results.serve", results, port=port)
    as_json, as_text = f'{{"address": "{server.address}"}}', f"Open {server.address} in a browser. Ctrl-C ends it."
    served(server, as_json if deliver.as_json else as_text)
    return 0


@command(
    argument("source", "A text file, a folder of them, or - for standard input.", reads="deep"),
    replace(options.OUT, help="Write CoNLL-U to this file instead of standard output."),
    PIPELINE,
    ENCODING,
    options.JOBS,
    *options.CACHE,
    option(
        "probabilities", "Say how probable each tag and arc is: UposProb, XposProb, ArcProb in the last column.", False
    ),
    replace(options.JSON, help="Print JSON: all columns or, with -o, a summary."),
)
def parse(deliver: Delivery, source: str, out: str | None, cache: str | None, no_cache: bool, **given: Any) -> int:
    """From raw English to sentences, tags, lemmas and dependencies.

    Needs spaCy (pip install "howsure[text]") and no download: the model ships. A run that was stopped goes on where it was:
    finished documents are in the cache.

    Examples:
      howsure parse news.txt -o news.conllu
      howsure parse articles/ -o articles.conllu --jobs 4
      howsure parse news.txt --probabilities -o news.conllu
      echo "Colourless green ideas sleep furiously." | howsure parse -
    """
    from howsure.verbs.parse import ParseCount, conllu_text, document_dict, parsed

    kept = options.kept(cache, no_cache)
    bar = out is not None or not sys.stdout.isatty()  # on a terminal the parses themselves show how far it is
    count = ParseCount()
    with progress("parsing") if bar else nullcontext() as moved:
        made = parsed(source, cache=kept, progress=moved, **given)
        if out is not None:
            with whole_file(out) as file:
                for document in count(made):
                    file.write(conllu_text(document).encode("utf-8"))
            deliver.say(f"{count.verdict}\nWritten: {out}", count.to_dict())
        elif deliver.as_json:
            documents = [document_dict(d) for d in count(made)]
            say(json.dumps({**count.to_dict(), "documents": documents}, allow_nan=False, ensure_ascii=False))
        else:
            for document in count(made):
                say(conllu_text(document).rstrip("\n") + "\n")
    for line in count.note_lines():
        print(f"howsure: {line}", file=sys.stderr)
    return 0
