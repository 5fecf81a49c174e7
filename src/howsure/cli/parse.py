"""`howsure parse FILE|FOLDER`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Optional

import typer

if TYPE_CHECKING:
    from howsure.corpora.document import Document

MOST_NOTES = 5


def parse(
    source: Annotated[str, typer.Argument(help="A text file, a folder of them, or - for standard input.")],
    output: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--output", "-o", help="Write CoNLL-U to this file instead of standard output."),
    ] = None,
    model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Another spaCy pipeline, by name or folder."),
    ] = None,
    encoding: Annotated[str, typer.Option(help="Of the text files.")] = "utf-8",
    jobs: Annotated[Optional[int], typer.Option(help="Processes; one for each core if left out.")] = None,  # noqa: UP045
    cache: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Folder that keeps parses for the next run; the user's cache folder if left out."),
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
    from howsure.cli.output import say
    from howsure.cli.progress import progress
    from howsure.corpora.conllu import conllu_text
    from howsure.english.result import document_dict
    from howsure.errors import InputError
    from howsure.files import check_outputs, whole_file
    from howsure.verbs.parse import parsed

    if cache is not None and no_cache:
        raise InputError("--cache and --no-cache exclude each other.")
    check_outputs(output, inputs=[source, model], deep=True)
    kept = False if no_cache else True if cache is None else cache
    bar = output is not None or not sys.stdout.isatty()  # on a terminal the parses themselves show how far it is
    count = _Count()
    with progress("parsing") if bar else nullcontext() as moved:
        made = parsed(source, model=model, encoding=encoding, cache=kept, jobs=jobs, progress=moved)
        if output is not None:
            with whole_file(output) as file:
                for document in count(made):
                    file.write(conllu_text(document).encode("utf-8"))
            say(
                json.dumps(count.to_dict(), indent=2, ensure_ascii=False)
                if as_json
                else f"{count.verdict}\nWritten: {output}"
            )
        elif as_json:
            documents = [document_dict(d) for d in count(made)]
            say(json.dumps({**count.to_dict(), "documents": documents}, allow_nan=False, ensure_ascii=False))
        else:
            for document in count(made):
                say(conllu_text(document).rstrip("\n") + "\n")
    count.tell_notes()
    return 0


class _Count:
    """Counts documents as they go by."""

    def __init__(self) -> None:
        self.documents = self.sentences = self.words = 0
        self.notes: list[tuple[str, str]] = []

    def __call__(self, documents: Iterable[Document]) -> Iterator[Document]:
        for document in documents:
            self.documents += 1
            self.sentences += document.n_sentences
            self.words += len(document)
            if "note" in document.metadata:
                self.notes.append((document.name, document.metadata["note"]))
            yield document

    @property
    def verdict(self) -> str:
        from howsure.english.result import summary

        return summary(self.documents, self.sentences, self.words, len(self.notes))

    def to_dict(self) -> dict[str, object]:
        return {
            "verdict": self.verdict,
            "n_documents": self.documents,
            "n_sentences": self.sentences,
            "n_words": self.words,
            "notes": [{"document": name, "note": note} for name, note in self.notes],
        }

    def tell_notes(self) -> None:
        from howsure.cli.text import printable

        for name, note in self.notes[:MOST_NOTES]:
            typer.echo(f"howsure: {printable(name)}: {printable(note)}", err=True)
        if len(self.notes) > MOST_NOTES:
            typer.echo(f"howsure: … and {len(self.notes) - MOST_NOTES:,} documents more.", err=True)
