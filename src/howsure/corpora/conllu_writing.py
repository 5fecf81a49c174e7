"""Documents as CoNLL-U: what `read_conllu` reads back is the same document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

from howsure.corpora.document import Document, Mention
from howsure.errors import InputError

LAYOUT = "GRP-etype"


def write_conllu(documents: Iterable[Document], file: IO[str]) -> None:
    """Writes documents one after the other to an open text file."""
    for document in documents:
        file.write(conllu_text(document))


def conllu_text(document: Document) -> str:
    """One document, with `# newdoc id`, its metadata, `# text` of each sentence, and mentions as `Entity=` brackets."""
    return "".join(_lines(document))


def _lines(document: Document) -> Iterator[str]:
    yield f"# newdoc id = {_one_line(document.name, document.name)}\n"
    metadata = dict(document.metadata)
    if document.mentions is not None:
        metadata["global.Entity"] = LAYOUT
    for key, value in metadata.items():
        shown = key if key.startswith("global.") else f"meta::{key}"
        yield f"# {_one_line(shown, document.name)} = {_one_line(value, document.name)}\n"
    n = len(document)
    empty = ("_",) * n
    lemma, upos, xpos, features, relation, misc = (
        document.columns.get(name, empty) for name in ("lemma", "upos", "xpos", "features", "relation", "misc")
    )
    brackets = None if document.mentions is None else _brackets(document.name, document.mentions)
    for number, part in enumerate(document.sentences()):
        comments = document.sentence_metadata[number] if document.sentence_metadata else {}
        for key, value in comments.items():
            yield f"# {_one_line(key, document.name)}{f' = {_one_line(value, document.name)}' if value else ''}\n"
        if "text" not in comments:
            text = _one_line(_sentence_text(document, part), document.name)
            yield f"# text = {text}\n" if text else "# text\n"
        for i in range(part.start, part.stop):
            word = document.words[i]
            if not word or set("\t\n\r") & set(word):
                raise InputError(f'document "{document.name}": CoNLL-U cannot hold word {i + 1}, {word!r}.')
            head = "_" if document.heads is None else _head(int(document.heads[i]), part, document.name, i)
            spaced = True if document.space_after is None else bool(document.space_after[i])
            last = _misc(misc[i], spaced, None if brackets is None else brackets.get(i, ""))
            fields = (
                str(i - part.start + 1),
                word,
                lemma[i],
                upos[i],
                xpos[i],
                features[i],
                head,
                relation[i],
                "_",
                last,
            )
            yield "\t".join(fields) + "\n"
        yield "\n"


def _head(head: int, part: slice, name: str, token: int) -> str:
    if head == -1:
        return "0"
    if not part.start <= head < part.stop:
        raise InputError(f'document "{name}": the head of word {token + 1} is outside its sentence.')
    return str(head - part.start + 1)


def _misc(kept: str, spaced: bool, bracket: str | None) -> str:
    """The last column: what it held, with the space and the brackets that the document says."""
    entries = [e for e in kept.split("|") if e != "_" and not e.startswith("SpaceAfter=")]
    if bracket is not None:
        entries = [e for e in entries if not e.startswith("Entity=")]
        if bracket:
            entries.append(f"Entity={bracket}")
    if not spaced:
        entries.append("SpaceAfter=No")
    return "|".join(entries) or "_"


def _brackets(name: str, mentions: tuple[Mention, ...]) -> dict[int, str]:
    """The brackets at each token: what closes there, then what opens; the longest opens first and closes last."""
    opens: dict[int, list[str]] = {}
    closes: dict[int, list[str]] = {}
    alone: dict[int, list[str]] = {}
    for m in sorted(mentions, key=lambda m: (m.start, -m.end)):
        if set("()-|[]") & set(m.entity + m.type) or not m.entity:
            raise InputError(f'document "{name}": an entity\'s name in CoNLL-U has none of ()-|[]; got "{m.entity}".')
        label = f"({m.entity}-{m.type}" if m.type else f"({m.entity}"
        if m.end == m.start + 1:
            alone.setdefault(m.start, []).append(f"{label})")
        else:
            opens.setdefault(m.start, []).append(label)
    for m in sorted(mentions, key=lambda m: (m.end, -m.start)):
        if m.end > m.start + 1:
            closes.setdefault(m.end - 1, []).append(f"{m.entity})")
    _refuse_crossing(name, mentions)
    tokens = opens.keys() | closes.keys() | alone.keys()
    return {t: "".join([*closes.get(t, ()), *opens.get(t, ()), *alone.get(t, ())]) for t in tokens}


def _refuse_crossing(name: str, mentions: tuple[Mention, ...]) -> None:
    """Brackets nest: spans that overlap in part cannot be read back."""
    waiting: list[Mention] = []
    for m in sorted(mentions, key=lambda m: (m.start, -m.end)):
        while waiting and waiting[-1].end <= m.start:
            waiting.pop()
        if waiting and m.end > waiting[-1].end:
            raise InputError(
                f'document "{name}": mentions of entities "{waiting[-1].entity}" and "{m.entity}" overlap in part; '
                "brackets of CoNLL-U must nest."
            )
        waiting.append(m)


def _sentence_text(document: Document, part: slice) -> str:
    words = document.words[part]
    if document.space_after is None:
        return " ".join(words)
    spaces = document.space_after[part].tolist()
    return "".join(w + " " * s for w, s in zip(words, spaces, strict=True)).strip()


def _one_line(value: str, name: str) -> str:
    if "\n" in value or "\r" in value:
        raise InputError(f'document "{name}": a comment of CoNLL-U is one line; got {value[:40]!r}.')
    return value
