"""One block of documents from text to rows of the results: parse, resolve, ask. A document that fails is recorded."""

import hashlib
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

import numpy as np

from howsure.corpora.dated import DatedText
from howsure.corpora.document import Document, Mention
from howsure.errors import HowsureError, InputError
from howsure.events.baselines import no_links, simple_links
from howsure.events.documents import Asked, Chain, DocumentEvents, Resolved, asked, document_events, pair_rows
from howsure.events.frame import Pair
from howsure.events.lexicons import Actor, Lexicon
from howsure.events.roles import SAYS
from howsure.events.rules import rule_set, span_heads
from howsure.events.storage import Rows
from howsure.models.coreference.mentions import detect_mentions
from howsure.models.coreference.others import SystemScores, read_system
from howsure.posteriors.antecedents import AntecedentPosterior

# Of a document, its mentions and a number: the posterior over that many first mentions.
Linker = Callable[[Document, Sequence[Mention], int], AntecedentPosterior]
Seconds = dict[str, float]  # CPU time by stage
Answer = tuple[DocumentEvents, Asked, list[Pair]]
DESCRIBED = ("start", "end", "word", "why", "together")
LINK = ("later_start", "later_end", "earlier_start", "earlier_end", "probability")
LOADING = 1.0  # seconds of resolving one block that make compiled kernels worth loading
BASELINES: dict[str, Linker] = {
    "none": lambda document, mentions, n: no_links(document, mentions[:n]),
    "simple": lambda document, mentions, n: simple_links(document, mentions[:n]),
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of every document; travels to other processes as JSON."""

    actors: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...]
    verbs: tuple[str, ...]
    rules: str
    samples: int
    seed: int
    temperature: float
    model: str | None
    coref: str | None
    cache: bool | str = True
    patients: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Self:
        actors = tuple((code, name, tuple(words), tuple(seats)) for code, name, words, seats in given["actors"])
        return cls(**{**given, "actors": actors, "verbs": tuple(given["verbs"])})


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of a block, and the seconds of CPU time spent on parsing, on resolving and on the rest."""

    rows: Rows
    seconds: Seconds


@cache
def _lexicon(work: Question) -> Lexicon:
    return Lexicon("given", tuple(Actor(*a) for a in work.actors))


@cache
def linker(name: str | None) -> Linker | SystemScores:
    """The coreference model: the one that ships (None), a file, another system's scores (.jsonl), or a baseline by name."""
    chosen = coref_path(name)
    if isinstance(chosen, str):
        return BASELINES[chosen]
    if chosen.suffix.lower() in (".jsonl", ".json"):
        return read_system(chosen)
    from howsure.models.coreference.ranker import CorefModel

    return CorefModel.load(chosen).posterior


def coref_path(name: str | None) -> Path | str:
    """The file of a coreference model, or the name of a baseline; "simple" where no model ships."""
    if name in BASELINES:
        return str(name)
    if name is None:
        shipped = Path(str(files("howsure.english"))) / "model" / "coref.npz"
        return shipped if shipped.is_file() else "simple"
    if not Path(name).is_file():
        raise InputError(f"`coref=`: there is no file {name} (and {' and '.join(BASELINES)} are the baselines).")
    return Path(name)


def coref_version(name: str | None) -> str:
    """What identifies the links: a baseline's name, or a file's hash."""
    chosen = coref_path(name)
    if isinstance(chosen, str):
        return chosen
    return f"{chosen.stem}-{hashlib.blake2b(chosen.read_bytes(), digest_size=8).hexdigest()}"


def block_rows(texts: Sequence[DatedText], work: Question) -> Block:
    """The rows of a block's documents."""
    began = time.process_time()
    parsed = parsed_texts(texts, work)
    parsing = time.process_time() - began
    rows: Rows = {"documents": [], "events": [], "frame": [], "pairs": [], "chains": []}
    resolving = 0.0
    link, lexicon, rules = linker(work.coref), _lexicon(work), rule_set(work.rules)
    for given, document in zip(texts, parsed, strict=True):
        failure = document if isinstance(document, str) else given.failure
        answer: Answer | None = None
        if isinstance(document, Document) and not failure:
            try:
                known = asked(document, lexicon, work.verbs, rules, work.patients)
                found, resolved = DocumentEvents((), (), (), -1, len(known.agents)), None
                if known.needs_entities:
                    start = time.process_time()
                    resolved = resolved_document(document, link, work.temperature, known)
                    resolving += time.process_time() - start
                    found = document_events(resolved, lexicon, work.verbs, rules, work.samples, work.seed, known=known)
                pairs = pair_rows(document, known, resolved, lexicon, work.samples, work.seed, found, work.temperature)
                answer = found, known, pairs
            except Exception as error:
                failure = _reason(error)
        row: dict[str, Any] = {"id": given.id, "date": given.date, "title": given.title or None}
        row |= {"undated": given.undated or None, "failure": failure or None, "text": given.text}
        if isinstance(document, Document):
            row["n_tokens"] = len(document)
            if answer is not None:
                row |= add_answer(rows, given, document, answer, [a.code for a in lexicon.actors])
        rows["documents"].append(row)
    asking = time.process_time() - began - parsing - resolving
    if resolving > LOADING and "numba" not in sys.modules:
        import numba  # noqa: F401 - from the next block on, kernels are compiled ones, which give the same numbers
    return Block(rows, {"parsing": parsing, "resolving": resolving, "asking": asking})


def resolved_document(
    document: Document, link: Linker | SystemScores, temperature: float, known: Asked | None = None
) -> Resolved:
    """A parsed document with its mentions (of the scores, its own, or those found) and their posterior, tempered.

    With `known`, of the mentions up to the last that matters: later ones are nobody's antecedents.
    """
    if isinstance(link, SystemScores):
        ordered, posterior = list(link.candidates(document)), link.posterior(document)
    else:
        mentions = document.mentions if document.mentions is not None else detect_mentions(document)
        once = {(m.start, m.end): m for m in reversed(mentions)}
        ordered = sorted(once.values(), key=lambda m: (m.start, -m.end))
    starts, ends = (np.array([getattr(m, side) for m in ordered], dtype=np.int64) for side in ("start", "end"))
    if not isinstance(link, SystemScores):
        n = len(ordered)
        if known is not None:
            tokens = [a.token for a in known.agents] + [e.token for e in known.evidence]
            matters = np.isin(span_heads(document, starts, ends), tokens)
            n = int(np.flatnonzero(matters).max(initial=-1)) + 1
        posterior = link(document, ordered, n)
    return Resolved(document, starts, ends, posterior.tempered(temperature))


def parsed_texts(texts: Sequence[DatedText], work: Question) -> list[Document | str | None]:
    """A parse of each text, why there is none, or None where the text has failed before."""
    made: list[Document | str | None] = [t.document for t in texts]
    wanted = [i for i, t in enumerate(texts) if t.document is None and not t.failure]
    if not wanted:
        return made
    from howsure.english.parsing import parse

    def parses(items: Iterable[int]) -> list[Document]:
        pairs = [(texts[i].id, texts[i].text) for i in items]
        return list(parse(pairs, model=work.model, cache=work.cache, jobs=1))

    try:
        found: list[Document | str] = list(parses(wanted))
    except HowsureError:
        raise  # no model, no spaCy: nothing to do with the documents
    except Exception:
        found = []
        for i in wanted:
            try:
                found += parses([i])
            except Exception as error:
                found.append(_reason(error))
    for i, document in zip(wanted, found, strict=True):
        empty = isinstance(document, Document) and not len(document)
        made[i] = "no words" if empty else document
    return made


def _reason(error: Exception) -> str:
    return " ".join((str(error) if isinstance(error, HowsureError) else f"{type(error).__name__}: {error}").split())


def packed(text: DatedText) -> dict[str, Any]:
    """A text as plain data, for JSON."""
    d, made = text.document, {f.name: getattr(text, f.name) for f in fields(text)}
    made |= {"date": None if text.date is None else text.date.isoformat(), "document": None}
    if d is not None:
        heads = None if d.heads is None else d.heads.tolist()
        mentions = None if d.mentions is None else [[m.start, m.end, m.entity] for m in d.mentions]
        made["document"] = {"words": d.words, "starts": d.starts.tolist(), "columns": d.columns}
        made["document"] |= {"heads": heads, "mentions": mentions}
    return made


def unpacked(given: dict[str, Any]) -> DatedText:
    """The text again."""
    d = given["document"]
    document = d and Document(
        given["id"],
        tuple(d["words"]),
        np.array(d["starts"], dtype=np.int64),
        {k: tuple(v) for k, v in d["columns"].items()},
        None if d["heads"] is None else np.array(d["heads"], dtype=np.int64),
        mentions=None if d["mentions"] is None else tuple(Mention(*m) for m in d["mentions"]),
    )
    day = None if given["date"] is None else date.fromisoformat(given["date"])
    return DatedText(**{**given, "date": day, "document": document})


def add_answer(
    rows: Rows, given: DatedText, document: Document, answer: Answer, codes: Sequence[str]
) -> dict[str, Any]:
    """Adds a document's events, pairs of actors, chains and frame to the tables; returns what its own row says of them."""
    found, known, pairs = answer
    made: dict[str, Any] = {"n_agents": found.n_agents, "n_events": len(known.mentions)}
    made["n_mentions"] = None if found.n_mentions < 0 else found.n_mentions
    own = {"id": given.id, "date": given.date}
    for e in found.actors:
        row = {"actor": codes[e.actor], "probability": e.probability, "law": list(e.law), "best": e.best}
        rows["events"].append(own | row)
    rows["pairs"] += [{"id": given.id, "a": codes[a], "b": codes[b], "both": p} for a, b, p in found.pairs]
    rows["chains"] += [{"id": given.id, "actor": codes[c.actor], **_chain_row(document, c)} for c in found.chains]
    if not (found.actors or pairs or known.mentions):
        return made
    starts, ends = _offsets(document, given.text)
    if found.actors:
        made |= {"token_starts": starts, "token_ends": ends, "sentence_starts": document.starts[:-1].tolist()}

    def place(s: int) -> tuple[int, int]:
        return starts[int(document.starts[s])], ends[int(document.starts[s + 1]) - 1]

    if known.mentions:
        first = int(document.sentence_of()[known.mentions[0].token])
        made["event_start"], made["event_end"] = place(first)
    for p in pairs:
        row = {"actor": codes[p.actor], "features": p.features, "words": p.words, "document_words": p.document_words}
        row |= {"reasons": ";".join(p.reasons), "done_by": ";".join(codes[a] for a in p.done_by)}
        rows["frame"].append(own | row | dict(zip(("start", "end"), place(p.sentence), strict=True)))
    return made


def _chain_row(document: Document, c: Chain) -> dict[str, Any]:
    agent = " ".join(document.words[c.agent[0] : c.agent[1]])
    says = SAYS | {r.name: r.says for name in ("paper", "wide") for r in rule_set(name)}
    kept = ("probability", "verb", "rule", "uncertain", "with_link", "without_link", "best")
    return {name: getattr(c, name) for name in kept} | {
        "agent_start": c.agent[0],
        "agent_end": c.agent[1],
        "lemma": document.columns["lemma"][c.verb].lower(),
        "why": f'"{agent}" {says[c.rule]} "{document.words[c.verb]}"',
        "described": [dict(zip(DESCRIBED, (*d.mention, d.word, d.why, d.together), strict=True)) for d in c.described],
        "links": [dict(zip(LINK, (*later, *earlier, p), strict=True)) for later, earlier, p in c.links],
    }


def _offsets(document: Document, text: str) -> tuple[list[int], list[int]]:
    """Where each token begins and ends in the text; a token that is not there to the letter is empty."""
    starts, ends, at = [], [], 0
    for word in document.words:
        found = text.find(word, at, at + 200 + len(word))
        starts.append(at if found < 0 else found)
        at = at if found < 0 else found + len(word)
        ends.append(at)
    return starts, ends
