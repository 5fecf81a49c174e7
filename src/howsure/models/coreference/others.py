"""Other systems' coreference, laid over our documents: antecedent scores or clusters with their mentions, as JSON lines.

    {"text": …, "spans": [[0, 3], …], "logits": [[…], …]}          fastcoref's spans and `coref_logit`: characters, ends exclusive
    {"text": …, "clusters": [[[0, 3], …], …]}                      fastcoref's `output_file`: the same, clusters alone
    {"tokens": […], "clusters_token_offsets": [[[0, 0], …], …]}    maverick's `predict`: tokens, ends inclusive
    {"name": …, "mentions": [[0, 1], …], "logits": [[…], …]}       tokens of our documents, ends exclusive

"logits" is a matrix (N, N + 1): row i holds those of the antecedents 0 … i-1 and, last, that of starting an entity.
Words need not be cut alike: characters other than white space are counted on both sides, and must be the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.corpora.document import Document, Mention
from howsure.corpora.reading import json_documents
from howsure.errors import InputError
from howsure.posteriors.antecedents import AntecedentPosterior

Spans = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class SystemDocument:
    """One document of a system: spans in the system's order, ends exclusive, and the posterior over them.

    Spans count characters of `letters`, a text without white space; where that is None, tokens of the document.
    """

    where: str
    name: str | None
    spans: Spans
    letters: str | None
    posterior: AntecedentPosterior

    def mentions(self, document: Document) -> tuple[Mention, ...]:
        """The spans as mentions of the document: all tokens that they touch."""
        spans = self.spans
        if self.letters is not None:
            own, theirs = _letters(document.words), self.letters
            if own != theirs:
                same = zip(own, theirs, strict=False)
                at = next((i for i, (a, b) in enumerate(same) if a != b), min(len(own), len(theirs)))
                raise InputError(
                    f'{self.where}: its text is not that of document "{document.name}": behind {at:,} characters the system '
                    f'has "{theirs[at : at + 20]}" and the document "{own[at : at + 20]}" (white space apart).'
                )
            ends = _lengths(document.words)[1:]
            first, last = (np.searchsorted(ends, [s[k] for s in spans], "right" if k == 0 else "left") for k in (0, 1))
            spans = list(zip(first.tolist(), (last + 1).tolist(), strict=True))
        outside = next((s for s in spans if not 0 <= s[0] < s[1] <= len(document)), None)
        if outside is not None:
            raise InputError(
                f'{self.where}: the mention {list(outside)} is outside the {len(document):,} tokens of document "{document.name}".'
            )
        return tuple(Mention(start, end, str(n)) for n, (start, end) in enumerate(spans))


class SystemScores:
    """The documents of a system, found by name or by text; asked like a `CorefModel`. Made by `read_system`."""

    keeps_singletons, temperature = False, 1.0

    def __init__(self, path: str, given: Sequence[SystemDocument]) -> None:
        self.path = path
        self._by_name = {g.name: g for g in given if g.name is not None}
        self._by_text = {g.letters: g for g in given if g.name is None}
        if len(self._by_name) + len(self._by_text) < len(given):
            raise InputError(f"{path}: two documents have one name, or one text and no name.")

    def clusters(self, posterior: AntecedentPosterior) -> NDArray[np.int64]:
        """One clustering, of large expected F."""
        return posterior.minimum_risk()

    def of(self, document: Document) -> SystemDocument:
        """What the system says of a document: by its name or, where the file has no names, by its text."""
        found = self._by_name.get(document.name) or self._by_text.get(_letters(document.words))
        if found is None:
            raise InputError(f'{self.path} has no document "{document.name}": neither its name nor its text is there.')
        return found

    def candidates(self, document: Document, mentions: str | None = None) -> tuple[Mention, ...]:
        """The system's mentions in the document."""
        if mentions is not None:
            raise InputError("the mentions are those of the scores: leave `mentions=` out.")
        return self.of(document).mentions(document)

    def posterior(
        self, document: Document, mentions: Sequence[Mention] | None = None, *, temperature: float | None = None
    ) -> AntecedentPosterior:
        """The posterior over the system's own mentions, under the document's name."""
        made = self.of(document).posterior
        return AntecedentPosterior(made.antecedents, made.new, name=document.name).tempered(temperature or 1.0)


def read_system(path: str | Path) -> SystemScores:
    """The documents of a file of JSON lines; the forms are those named above. An error names file and line."""
    made = list(json_documents(path, _document))
    if not made:
        raise InputError(f"{path} holds no documents.")
    return SystemScores(str(path), made)


def _document(record: dict[str, Any], where: str) -> SystemDocument:
    name = None if record.get("name") is None else str(record["name"])
    if "clusters_token_offsets" in record:
        ends, letters = _lengths(record["tokens"]), _letters(record["tokens"])
        pieces = [[(int(ends[s]), int(ends[e + 1])) for s, e in c] for c in record["clusters_token_offsets"]]
        return SystemDocument(where, name, *_clustered(pieces, letters, where))
    key = next((k for k in ("clusters", "spans", "mentions") if k in record), None)
    if key is None or (key != "mentions" and not isinstance(record.get("text"), str)):
        raise InputError(f'{where}: a document has "spans" or "clusters" of its "text", or "mentions" of tokens.')
    text = str(record.get("text"))
    if key == "clusters":
        pieces = [_shrunk(c, text, where) for c in record[key]]
        return SystemDocument(where, name, *_clustered(pieces, _letters([text]), where))
    posterior = AntecedentPosterior.from_logits(record["logits"], name=where)
    spans = [(int(s), int(e)) for s, e in record[key]]
    if len(spans) != len(posterior):
        raise InputError(f"{where}: {len(spans)} mentions, but logits of {len(posterior)}.")
    if key == "mentions":
        return SystemDocument(where, name or where, spans, None, posterior)
    return SystemDocument(where, name, _shrunk(spans, text, where), _letters([text]), posterior)


def _letters(words: Sequence[str]) -> str:
    return "".join("".join(words).split())


def _lengths(words: Sequence[str]) -> np.ndarray:
    """The number of characters other than white space before each word, and in all."""
    return np.concatenate([[0], np.cumsum([len(_letters([w])) for w in words], dtype=np.int64)])


def _shrunk(spans: Sequence[Any], text: str, where: str) -> Spans:
    """Spans of a text as spans of its characters other than white space."""
    kept = _lengths(text)
    for start, end in spans:
        if not 0 <= start < end <= len(text) or kept[start] == kept[end]:
            raise InputError(
                f"{where}: the span [{start}, {end}] is outside its text of {len(text):,} characters, or blank."
            )
    return [(int(kept[start]), int(kept[end])) for start, end in spans]


def _clustered(clusters: list[Spans], letters: str, where: str) -> tuple[Spans, str, AntecedentPosterior]:
    """Clusters as a posterior of zeros and ones: each mention takes the one before it in its cluster."""
    entity = {span: n for n, c in enumerate(clusters) for span in c}
    spans = sorted(entity, key=lambda s: (s[0], -s[1]))
    links, last = np.zeros((len(spans), len(spans))), dict[int, int]()
    for i, span in enumerate(spans):
        if entity[span] in last:
            links[i, last[entity[span]]] = 1.0
        last[entity[span]] = i
    return spans, letters, AntecedentPosterior(links, name=where)
