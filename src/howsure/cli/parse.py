"""`howsure parse FILE|FOLDER`."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from typing import Annotated

import typer

from howsure.cli.delivery import progress, say, say_data


def parse(
    source: Annotated[str, typer.Argument(help="A text file, a folder of them, or - for standard input.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Write CoNLL-U to this file instead of standard output.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Another spaCy pipeline, by name or folder.")] = None,
    encoding: Annotated[str, typer.Option(help="Of the text files.")] = "utf-8",
    jobs: Annotated[int | None, typer.Option(help="Processes; one for each core if left out.")] = None,
    cache: Annotated[
        str | None, typer.Option(help="Folder that keeps parses for the next run; the user's cache folder if left out.")
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither look up parses nor keep them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: all columns or, with -o, a summary.")] = False,
) -> int:
    """From raw English text to sentences, tags, lemmas and dependencies.

    Needs spaCy (pip install "howsure[text]") and no download: the model ships. A run that was stopped goes on where it was:
    finished documents are in the cache.

    Examples:

      howsure parse news.txt -o news.conllu

      howsure parse articles/ -o articles.conllu --jobs 4

      echo "Colourless green ideas sleep furiously." | howsure parse -
    """
    from howsure.errors import InputError
    from howsure.files import check_outputs, whole_file
    from howsure.verbs.parse import ParseCount, conllu_text, document_dict, parsed

    if cache is not None and no_cache:
        raise InputError("--cache and --no-cache exclude each other.")
    check_outputs(output, inputs=[source, model], deep=True)
    kept = False if no_cache else True if cache is None else cache
    bar = output is not None or not sys.stdout.isatty()  # on a terminal the parses themselves show how far it is
    count = ParseCount()
    with progress("parsing") if bar else nullcontext() as moved:
        made = parsed(source, model=model, encoding=encoding, cache=kept, jobs=jobs, progress=moved)
        if output is not None:
            with whole_file(output) as file:
                for document in count(made):
                    file.write(conllu_text(document).encode("utf-8"))
            say_data(count.to_dict(), as_json, f"{count.verdict}\nWritten: {output}")
        elif as_json:
            documents = [document_dict(d) for d in count(made)]
            say(json.dumps({**count.to_dict(), "documents": documents}, allow_nan=False, ensure_ascii=False))
        else:
            for document in count(made):
                say(conllu_text(document).rstrip("\n") + "\n")
    for line in count.note_lines():
        typer.echo(f"howsure: {line}", err=True)
    return 0
