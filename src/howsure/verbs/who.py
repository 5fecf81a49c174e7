"""`howsure explore --who`: agents and patients of verbs in a corpus, without a lexicon, and the lines they stand in."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from howsure import _validate
from howsure._result import Record
from howsure.corpora.document import Document
from howsure.events import lexicons
from howsure.events.roles import event_mentions
from howsure.exploring.blocks import Question, parsed_texts
from howsure.exploring.corpus import DocumentColumns, blocks, open_corpus
from howsure.processes import Progress
from howsure.report.text.layout import cut, filled, printable

CONTEXT = 36  # characters on either side of a keyword
LINES = 10
NAMES = ("compound", "flat", "amod", "nmod:poss", "nmod:desc")


@dataclass(frozen=True)
class Who(Record):
    """Who does it and to whom: phrases with the number of documents, and keywords in context."""

    SHOWN = "verdict verbs n_documents n_with agents patients lines hints"

    verbs: tuple[str, ...]
    n_documents: int
    n_with: int
    agents: tuple[tuple[str, int], ...]
    patients: tuple[tuple[str, int], ...]
    lines: tuple[str, ...] = field(repr=False)  # keywords in context
    hints: dict[str, str] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """What was found, in words."""
        hint = "".join(f" Give lemmas: {word} → {lemma}." for word, lemma in self.hints.items())
        what = ", ".join(self.verbs)
        if not self.n_with:
            return f"No document of {self.n_documents:,} has {what} or a noun of it.{hint}"
        return (
            f"{self.n_with:,} of {self.n_documents:,} documents have {what} or a noun of it, with {len(self.agents):,} different agents "
            f"and {len(self.patients):,} patients.{hint}"
        )

    def to_text(self) -> str:
        """Agents beside patients, then keywords in context."""
        lines = [filled(self.verdict), "", f"{'agents':<32} {'documents':>9}   {'patients':<25} {'documents':>9}"]
        for i in range(min(max(len(self.agents), len(self.patients)), 2 * LINES)):
            (a, n), (b, m) = (x[i] if i < len(x) else ("", "") for x in (self.agents, self.patients))
            lines.append(f"{cut(printable(a), 32):<32} {n:>9}   {cut(printable(b), 25):<25} {m:>9}")
        return "\n".join([*lines, "", *(printable(line)[:80] for line in self.lines)]) + "\n"


def who(
    source: Any = None, verbs: Any = "attack", *, model: str | None = None, cache: bool | str = True,
    progress: Progress | None = None, metadata: str | None = None, encoding: str = "utf-8", format: str | None = None,
    **columns: str | None,
) -> Who:  # fmt: skip
    """List the agents and patients of verbs in a corpus, without any lexicon.

    Parameters
    ----------
    source, metadata, encoding, format, columns
        The documents, as of `howsure.explore`.
    verbs : str or sequence of str
        Lemmas; their nouns are looked for too.

    Examples
    --------
    >>> from howsure.verbs.who import who
    >>> who(verbs="attack").agents[0][1] > 0
    True
    """
    lemmas = lexicons.verbs(verbs)
    wanted_nouns = lexicons.nouns(lemmas)
    corpus = open_corpus(source, DocumentColumns(**columns), metadata=metadata, encoding=encoding, format=format)
    work = Question((), lemmas, "roles", 1, 0, _validate.temperature(1.0), model, None, cache)
    n = n_with = 0
    counted: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    lines: list[str] = []
    for block in blocks(corpus):
        for document in parsed_texts(block, work):
            if not isinstance(document, Document):
                continue
            mentions = event_mentions(document, lemmas, wanted_nouns)
            n_with += bool(mentions)
            for number, part in enumerate(("agents", "patients")):
                counted[number].update({_phrase(document, r.token) for m in mentions for r in getattr(m, part)})
            for m in mentions[:1] if len(lines) < LINES else ():
                left = " ".join(document.words[max(m.token - 12, 0) : m.token])[-CONTEXT:]
                lines.append(f"{left:>{CONTEXT}} {' '.join(document.words[m.token : m.token + 13])}")
        n += len(block)
        if progress is not None:
            progress(n, n)
    ordered = [tuple(sorted(c.items(), key=lambda x: (-x[1], x[0]))) for c in counted]
    return Who(lemmas, n, n_with, ordered[0], ordered[1], tuple(lines), lexicons.lemma_hints(lemmas))


def _phrase(document: Document, token: int) -> str:
    """A word with the names and modifiers before it."""
    relation, first = document.columns["relation"], token
    heads = document.heads if document.heads is not None else ()
    while first and heads[first - 1] == token and relation[first - 1] in NAMES:
        first -= 1
    end = token + 1
    while end < len(document) and heads[end] == token and relation[end] == "flat":
        end += 1
    return " ".join(document.words[first:end])
