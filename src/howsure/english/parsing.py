"""Raw English text to documents with tags, lemmas and dependencies, as a stream: any number, any length, all cores.

Parses are cached on disk by the text and the model that made them: a second run, or one that was killed, goes on quickly.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from howsure import _validate
from howsure.corpora.conllu import conllu_documents, conllu_text
from howsure.corpora.document import Document
from howsure.corpora.relations import universal
from howsure.english.annotating import Parsed, annotated, joined
from howsure.english.lemmas import MOST_UNKNOWN, Vocabulary
from howsure.english.shipped import CURVES, OWN, SHIPPED, Model, known_words, model_version, spacy_module
from howsure.english.shipped import model as load
from howsure.english.tokens import LONGEST_PIECE, pieces
from howsure.errors import HowsureError, InputError
from howsure.files import user_cache, whole_file
from howsure.kernels.threads import cores
from howsure.processes import Here, Pool, Progress

COLUMNS = "columns"
SHORTEST = 200  # characters; shorter texts are parsed sooner than looked up
# Below this many batches of text (of 20,000 characters each) the work is done before another process is up.
FEW_BATCHES = 12
AHEAD = 4  # batches in flight for each job
LOST = "a parsing process ended before its work was done (out of memory?); fewer `jobs=` may help."


@dataclass(frozen=True, slots=True)
class ParseCache:
    """One gzipped CoNLL-U file a text. A file that cannot be read counts as absent and is replaced."""

    folder: Path
    version: str

    def get(self, text: str) -> Document | None:
        """The parse of a text, where it is there."""
        path = self._path(text)
        if path is None:
            return None
        try:
            lines = gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")
            return _restored(next(conllu_documents(enumerate(lines, 1), str(path), "cached")))
        except (OSError, EOFError, ValueError, KeyError, StopIteration, zlib.error):  # absent, cut short, not ours
            return None

    def put(self, text: str, document: Document) -> None:
        """Stores a parse. Write errors are ignored; the cache is optional."""
        path = self._path(text)
        if path is None or not len(document):
            return
        named = document.with_(name="cached", metadata=document.metadata | {COLUMNS: " ".join(document.columns)})
        content = gzip.compress(conllu_text(named).encode("utf-8"), 1, mtime=0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(path, durable=False) as file:
                file.write(content)
        except (OSError, InputError):
            return

    def _path(self, text: str) -> Path | None:
        if len(text) < SHORTEST:
            return None
        key = hashlib.sha256(f"{self.version}\n{text}".encode()).hexdigest()
        return self.folder / self.version / key[:2] / f"{key[2:40]}.conllu.gz"


def _restored(kept: Document) -> Document:
    """The document that was put: CoNLL-U tells no column of nothing but "_" from one that is not there."""
    metadata = dict(kept.metadata)
    names = metadata.pop(COLUMNS).split()
    columns = {name: kept.columns.get(name, ("_",) * len(kept)) for name in names}
    return kept.with_(columns=columns, metadata=metadata, sentence_metadata=())


def cache_folder(given: str | Path | None = None) -> Path:
    """The folder given, or HOWSURE_CACHE, or the user's cache folder."""
    folder = user_cache("parses") if given is None else Path(given)
    if given is not None and folder.exists() and not folder.is_dir():
        raise InputError(f"the cache {given} is not a folder.")
    return folder


def parse(
    texts: Iterable[str | tuple[str, str] | Document] | str,
    *,
    model: Any = None,
    cache: bool | str | Path = True,
    jobs: int | None = None,
    progress: Progress | None = None,
    total: int | None = None,
    probabilities: bool = False,
) -> Iterator[Document]:
    """Parse English texts; documents come out in the order of the texts, as they are ready.

    Parameters
    ----------
    texts : iterable of str, (name, str) or Document; or one str
        A `Document` that has heads is passed on; one without is parsed from its text.
    model : str, spaCy pipeline or None
        The pipeline that ships; or the name of any installed spaCy pipeline, or one already loaded. Relations of other
        label schemes (nsubjpass, pobj) become Universal Dependencies; those of none that is known are refused.
    cache : bool or path
        Whether, or in which folder, parses are kept for the next run; by default the user's cache folder.
    jobs : int or None
        Processes; by default one for each core, and none but this one for little text.
    progress : callable or None
        Called with the number of characters parsed so far and `total`, the number of all where it is known.
    probabilities : bool
        Whether "misc" also tells how probable each word's tags and arc are; `howsure.english.probabilities` reads them.

    Yields
    ------
    Document
        Words, `space_after`, sentences, `heads`, and the columns "lemma", "upos", "xpos", "features", "relation"; "misc"
        tells the white space, so that `original_text(document)` is the text to the letter. `metadata["note"]` says so
        where most words are unknown to the model.

    Notes
    -----
    Texts longer than 20,000 characters are parsed in stretches cut at empty lines or ends of sentences; a stretch's end
    is a sentence's end. An empty line ends a sentence too. The outcome does not depend on `jobs`.
    """
    given = [texts] if isinstance(texts, str) else texts
    ready, name, version = _chosen(model)
    if probabilities:
        if version is None or not version.startswith(OWN):
            raise InputError("probabilities come with the pipeline that ships; another's are not known to be right.")
        curves = Path(model or SHIPPED, CURVES)
        version += f"-{zlib.crc32(curves.read_bytes()) if curves.is_file() else 0:08x}"
    keeper = None
    if version is not None and cache is not False:
        keeper = ParseCache(cache_folder(None if cache is True else cache), version)
    n_jobs = cores() if jobs is None else _validate.count(jobs, "jobs")
    known = ready.known if ready is not None else known_words(name)
    about = keeper, known, probabilities, progress or (lambda done, total: None), total
    return _Stream(ready, name, 1 if ready is not None else n_jobs, *about).run(given)


@dataclass(slots=True)
class _Pending:
    """A document in the making: finished, or its text and where the parses of its stretches will be."""

    name: str
    done: Document | None = None
    text: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    parts: list[tuple[_Batch, int]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Batch:
    """Stretches of text that go through the pipeline together."""

    texts: list[str] = field(default_factory=list)
    size: int = 0
    result: Future[list[Parsed]] | None = None


@dataclass(slots=True)
class _Stream:
    ready: Model | None
    name: str | None
    jobs: int
    keeper: ParseCache | None
    known: Vocabulary | None
    probabilities: bool
    tell: Callable[[int, int | None], None]
    total: int | None
    pending: deque[_Pending] = field(default_factory=deque)
    open: _Batch = field(default_factory=_Batch)
    waiting: list[_Batch] = field(default_factory=list)  # full, and nobody chosen yet to do them
    in_flight: deque[_Batch] = field(default_factory=deque)
    runner: Here | Pool | None = None
    characters: int = 0

    def run(self, texts: Iterable[Any]) -> Iterator[Document]:
        try:
            for number, item in enumerate(texts, 1):
                self._take(number, item)
                yield from self._finished(wait=len(self.in_flight) > AHEAD * self.jobs)
            self._send(last=True)
            while self.pending:
                yield from self._finished(wait=True)
        finally:
            if self.runner is not None:
                self.runner.close()

    def _take(self, number: int, item: Any) -> None:
        made = _named(item, number)
        if made.done is None and self.keeper is not None and (found := self.keeper.get(made.text)) is not None:
            self._count(len(made.text))
            made.done = found.with_(name=made.name, metadata=found.metadata | made.metadata)
        for piece in pieces(made.text) if made.done is None else ():
            if self.open.texts and self.open.size + len(piece) > LONGEST_PIECE:
                self._send()
            made.parts.append((self.open, len(self.open.texts)))
            self.open.texts.append(piece)
            self.open.size += len(piece)
        self.pending.append(made)

    def _send(self, last: bool = False) -> None:
        """Hands the open batch and what waits to a pool, or does it here when it is little."""
        if self.open.texts:
            self.waiting.append(self.open)
            self.open = _Batch()
        if not self.waiting or (self.runner is None and not last and len(self.waiting) <= FEW_BATCHES):
            return
        if self.runner is None:
            if last or self.jobs == 1:
                ready = self.ready if self.ready is not None else load(self.name)
                self.runner = Here(lambda texts: list(annotated(ready, texts, self.probabilities)))
            else:
                entry, setup = "howsure.english.parsing:annotator", [self.name, self.probabilities]
                self.runner = Pool(entry, setup, self.jobs, packed=lambda texts: texts, lost=LOST)
        for batch in self.waiting:
            batch.result = self.runner.submit(batch.texts)
            batch.result.add_done_callback(partial(self._count, batch.size))
            self.in_flight.append(batch)
        self.waiting = []

    def _count(self, size: int, _: Any = None) -> None:
        self.characters += size
        self.tell(self.characters, self.total)

    def _finished(self, wait: bool) -> Iterator[Document]:
        """Documents at the head of the line that are ready; with `wait`, one at least is waited for."""
        while self.pending:
            first = self.pending[0]
            results = [batch.result for batch, _ in first.parts]
            if first.done is None and any(r is None or not (wait or r.done()) for r in results):
                return
            self.pending.popleft()
            document = first.done if first.done is not None else self._made(first)
            wait = False
            while self.in_flight and self.in_flight[0].result is not None and self.in_flight[0].result.done():
                self.in_flight.popleft()
            yield universal(document)

    def _made(self, made: _Pending) -> Document:
        """A document from its stretches. What needs all of a document, such as coreference, belongs here."""
        parts = [batch.result.result()[at] for batch, at in made.parts if batch.result is not None]
        document = joined(made.name, parts, {})
        unknown = None if self.known is None else self.known.unknown_share(document.words)
        if unknown is not None and unknown > MOST_UNKNOWN:
            document.metadata["note"] = f"{100 * unknown:.0f}% of the words are unknown to the model; is this English?"
        if self.keeper is not None:
            self.keeper.put(made.text, document)
        return document.with_(metadata=document.metadata | made.metadata)


def _named(item: Any, number: int) -> _Pending:
    if isinstance(item, Document):
        if item.heads is not None:
            return _Pending(item.name, done=item)
        made = _Pending(item.name, text=item.text(), metadata=item.metadata)
    elif isinstance(item, str):
        made = _Pending(f"text-{number}", text=item)
    elif isinstance(item, tuple) and len(item) == 2 and all(isinstance(part, str) for part in item):
        made = _Pending(item[0], text=item[1])
    else:
        rule = "must be a string, a pair (name, text) or a Document"
        raise InputError(f"text {number} {rule}; got {type(item).__name__}.")
    try:
        made.text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"{made.name}: character {error.start + 1:,} is half a surrogate pair, not text.") from None
    return made


def _chosen(model: Any) -> tuple[Model | None, str | None, str | None]:
    """A pipeline already loaded, or the name of one that is loaded when there is something to parse; its version."""
    spacy_module()
    if model is None or isinstance(model, str):
        return None, model, model_version(model)
    if not hasattr(model, "pipe") or not hasattr(model, "vocab"):
        raise InputError(f"`model` must be a spaCy pipeline or the name of one; got {type(model).__name__}.")
    return Model(model, "given", model.tokenizer), None, None


def annotator(setup: tuple[str | None, bool]) -> Callable[[list[str]], list[Parsed]]:
    """What a worker process does with a batch of texts; it is told the model, and whether to give probabilities."""
    name, probabilities = setup

    def run(texts: list[str]) -> list[Parsed]:
        try:
            return list(annotated(load(name), texts, probabilities))
        except Exception as error:  # the parent raises it
            raise HowsureError(f"parsing failed: {error.__class__.__name__}: {error}") from error

    return run
