"""Mentions of entities: their heads and kinds, and finding them in dependency parses."""

from collections.abc import Sequence

import numpy as np

from howsure.corpora.document import Document, Mention
from howsure.corpora.relations import NOMINAL, leaves_first
from howsure.data import word_list, word_rows
from howsure.errors import InputError
from howsure.kernels.cells import Ints

# Pronoun → (citation form, gender, number, person). Gender: m, f, n (thing), a (a person, either), or "" unknown.
PRONOUNS = {r["word"]: (r["citation"], r["gender"], r["number"], r["person"]) for r in word_rows("pronoun")}
CITATIONS = tuple(dict.fromkeys(citation for citation, *_ in PRONOUNS.values()))
MALE, FEMALE, PERSON, TITLES = (word_list(name) for name in ("male", "female", "person", "title"))
# Dependents that belong to the clause, not to the noun phrase, when a noun is a predicate ("he *is* a doctor").
CLAUSAL = word_list("clausal-relation")
EDGES = frozenset(["case", "cc", "punct", "mark", "discourse", "reparandum", "vocative", "parataxis", "dep"])
LEFT_BORDERS = frozenset(["case", "cc", "mark", "cop"])
LOOSE = frozenset(["advmod", "obl", "punct", "conj", "cc"])
NOT_PHRASES = frozenset(
    ["fixed", "flat", "goeswith", "reparandum", "discourse", "case", "cc", "mark", "cop", "aux", "punct", "advmod"]
)
NOT_OF = {"NUM": ("nummod", "compound", "appos", "dep", "list"), "PRON": ("expl", "det")}
PRONOUN_KINDS = frozenset(["i", "we", "you", "he", "she", "it", "they", "this", "that", "these", "those", "one"])


def check_spans(document: Document, mentions: Sequence[Mention]) -> None:
    """Mentions must lie inside the document and inside one sentence."""
    sentence = document.sentence_of().tolist()
    for m in mentions:
        if not 0 <= m.start < m.end <= len(document):
            raise InputError(
                f'document "{document.name}": the mention of tokens {m.start} to {m.end} is outside its '
                f"{len(document)} tokens."
            )
        if sentence[m.start] != sentence[m.end - 1]:
            raise InputError(
                f'document "{document.name}": the mention of tokens {m.start} to {m.end} is outside its sentence '
                f"(number {sentence[m.start] + 1}, which ends at token {int(document.starts[sentence[m.start] + 1])})."
            )


def mention_heads(document: Document, mentions: Sequence[Mention]) -> Ints:
    """The head token of each mention: the one whose own head is outside the span, a nominal one if there are several.

    Without a parse: the last token before the first comma, bracket or preposition inside the span.
    """
    upos = document.columns.get("upos")
    heads = None if document.heads is None else document.heads.tolist()
    found = np.empty(len(mentions), np.int64)
    for at, m in enumerate(mentions):
        if heads is None:
            end = m.start + 1
            while end < m.end and document.words[end].lower() not in STOPS:
                end += 1
            found[at] = end - 1
            continue
        tops = [i for i in range(m.start, m.end) if not m.start <= heads[i] < m.end]
        nominal = [i for i in tops if upos is not None and upos[i] in NOMINAL]
        found[at] = (nominal or tops or [m.end - 1])[0]
    return found


STOPS = word_list("phrase-end")


def detect_mentions(document: Document) -> tuple[Mention, ...]:
    """Candidate mentions from a dependency parse: pronouns, noun phrases, proper names, conjuncts and possessors.

    Each noun's phrase is the reach of its subtree without clause-level dependents and leading prepositions. The
    phrase of a coordination is given whole and as its first conjunct, one with an apposition whole and without it,
    so candidates nest. Meant to miss little: the model decides which corefer. Entity names are the candidates'
    numbers.
    """
    if not document.words:
        return ()
    if document.heads is None or "upos" not in document.columns or "relation" not in document.columns:
        raise InputError(
            f'document "{document.name}" has no dependency parse (heads, upos and relation); mentions cannot be found.'
            " Parse it first, or with `parse=True`."
        )
    spans: set[tuple[int, int]] = set()
    upos, relation, heads = document.columns["upos"], document.columns["relation"], document.heads.tolist()
    plain = {r: r.split(":")[0] for r in relation}
    bases = [plain[r] for r in relation]
    children = document.children()
    low, high = list(range(len(document))), list(range(1, len(document) + 1))
    for i in leaves_first(heads, children):
        h = heads[i]
        if h >= 0:
            low[h], high[h] = min(low[h], low[i]), max(high[h], high[i])
    for i, (word, base, tag) in enumerate(zip(map(str.lower, document.words), bases, upos, strict=True)):
        if word in PRONOUNS and tag in ("PRON", "DET"):
            alone = PRONOUNS[word][0] in PRONOUN_KINDS and not (tag == "DET" and base == "det")
            if alone and base not in ("expl", "fixed", "mark"):
                spans.add((i, i + 1))
                rest = any(bases[c] in ("acl", "nmod", "conj") for c in children[i])
                if rest and PRONOUNS[word][0] in ("those", "one", "that", "we", "you", "he", "they"):
                    spans.update(_phrases(i, children[i], bases, low, high, document))
            continue
        if tag not in ("NOUN", "PROPN", "PRON", "NUM") or base in NOT_PHRASES or base in NOT_OF.get(tag, ()):
            continue
        if base == "compound" and tag != "PROPN":
            continue
        if children[i]:
            spans.update(_phrases(i, children[i], bases, low, high, document))
        else:
            spans.add(_trimmed(i, i + 1, i, document))
    ordered = sorted(spans, key=lambda s: (s[0], -s[1]))
    return tuple(Mention(start, end, str(n)) for n, (start, end) in enumerate(ordered))


def _phrases(
    i: int, children: list[int], bases: list[str], low: list[int], high: list[int], document: Document
) -> list[tuple[int, int]]:
    """The spans of the phrase that token i heads: whole; without conjuncts; without appositions and the like."""
    own = {bases[c] for c in children}
    clause = bool(own & {"cop", "nsubj"})
    # A preposition or conjunction on the left ends the phrase there, with whatever stands before it.
    border = max((high[c] for c in children if c < i and bases[c] in LEFT_BORDERS), default=0)
    made: list[tuple[int, int]] = []
    before = None
    for dropped in DROPPED:
        if before is not None and own.isdisjoint(dropped - before):
            continue
        before = dropped
        start, end = i, i + 1
        for c in children:
            base = bases[c]
            if base in CLAUSAL or base in dropped or (clause and base in LOOSE):
                continue
            if c < i:
                if base not in EDGES and low[c] >= border and not (base == "advmod" and low[c] < start):
                    start = min(start, low[c])
            elif base not in EDGES or (base == "case" and document.columns["relation"][i] == "nmod:poss"):
                end = max(end, high[c])
        start, end = _trimmed(start, end, i, document)
        if (start, end) not in made:
            made.append((start, end))
    return made


DROPPED = (frozenset[str](), frozenset({"conj", "cc"}), frozenset({"conj", "cc", "appos", "acl", "parataxis"}))


def _trimmed(start: int, end: int, head: int, document: Document) -> tuple[int, int]:
    """Without punctuation at the edges; a quote or bracket stays, or is taken in, when its partner is inside."""
    upos = document.columns["upos"]
    words = document.words
    while start < head and upos[start] == "PUNCT" and not (words[start] in "(\"“‘'" and words[end - 1] in ")\"”’'"):
        start += 1
    if end < len(words) and words[end] in CLOSING and _closes(words[start : end + 1]):
        sentence_end = int(document.starts[np.searchsorted(document.starts, head, side="right")])
        end += end < sentence_end
    while end - 1 > head and upos[end - 1] == "PUNCT" and not _closes(words[start:end]):
        end -= 1
    return start, end


CLOSING = {")": "(", "]": "[", "”": "“", '"': '"'}


def _closes(words: Sequence[str]) -> bool:
    """Whether the last word closes what is opened inside the span."""
    last, before = words[-1], words[:-1]
    if last == '"':
        return before.count('"') % 2 == 1
    return last in CLOSING and before.count(CLOSING[last]) > before.count(last)
