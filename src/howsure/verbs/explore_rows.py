"""A document's events as rows of the result tables (their columns: events/storage.py)."""

from __future__ import annotations

from howsure.corpora.document import Document
from howsure.corpora.news.dated import DatedText
from howsure.events.documents import DocumentEvents
from howsure.events.lexicons import Lexicon
from howsure.events.rules import rule_set
from howsure.events.storage import Rows


def add_rows(
    rows: Rows,
    given: DatedText,
    document: Document | None,
    found: DocumentEvents | None,
    failure: str,
    lexicon: Lexicon,
) -> None:
    """Adds a document to the tables: itself, and where it has any its events, pairs and chains."""
    hit = found is not None and bool(found.actors)
    starts, ends = _offsets(document, given.text) if hit and document is not None else (None, None)
    rows["documents"].append(
        {
            "id": given.id,
            "date": given.date,
            "title": given.title or None,
            "undated": given.undated or None,
            "failure": failure or None,
            "n_tokens": None if document is None else len(document),
            "n_mentions": None if found is None or found.n_mentions < 0 else found.n_mentions,
            "n_agents": None if found is None else found.n_agents,
            "text": given.text,
            "token_starts": starts,
            "token_ends": ends,
            "sentence_starts": document.starts[:-1].tolist() if hit and document is not None else None,
        }
    )
    if found is None or document is None:
        return
    codes = [a.code for a in lexicon.actors]
    says = {r.name: r.says for name in ("paper", "wide") for r in rule_set(name)}
    rows["events"] += [
        {
            "id": given.id,
            "date": given.date,
            "actor": codes[e.actor],
            "probability": e.probability,
            "law": list(e.law),
            "best": e.best,
        }
        for e in found.actors
    ]
    rows["pairs"] += [{"id": given.id, "a": codes[a], "b": codes[b], "both": p} for a, b, p in found.pairs]
    for c in found.chains:
        agent = " ".join(document.words[c.agent[0] : c.agent[1]])
        rows["chains"].append(
            {
                "id": given.id,
                "actor": codes[c.actor],
                "probability": c.probability,
                "agent_start": c.agent[0],
                "agent_end": c.agent[1],
                "verb": c.verb,
                "lemma": document.columns["lemma"][c.verb].lower(),
                "rule": c.rule,
                "why": f'"{agent}" {says[c.rule]} "{document.words[c.verb]}"',
                "described": [
                    {"start": d.mention[0], "end": d.mention[1], "word": d.word, "why": d.why, "together": d.together}
                    for d in c.described
                ],
                "links": [
                    {
                        "later_start": later[0],
                        "later_end": later[1],
                        "earlier_start": earlier[0],
                        "earlier_end": earlier[1],
                        "probability": p,
                    }
                    for later, earlier, p in c.links
                ],
                "uncertain": c.uncertain,
                "with_link": c.with_link,
                "without_link": c.without_link,
                "best": c.best,
            }
        )


def _offsets(document: Document, text: str) -> tuple[list[int], list[int]]:
    """Where each token begins and ends in the text; a token that is not there to the letter is empty."""
    starts, ends, at = [], [], 0
    for word in document.words:
        found = text.find(word, at)
        if found < 0 or found - at > 200:
            starts.append(at)
            ends.append(at)
            continue
        at = found + len(word)
        starts.append(found)
        ends.append(at)
    return starts, ends
