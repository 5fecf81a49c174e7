"""Explorations that experiments share: the paper's predicate on the New York Times, on MUC, or on the stories that ship."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Any

from howsure._version import __version__
from howsure.corpora.news import muc_keys, muc_texts, nitf_texts
from howsure.corpora.reading import corpus_path
from howsure.events.exploration import Exploration
from howsure.events.lexicons import actors
from howsure.events.storage import read_table
from howsure.events.timeline import period_start
from howsure.experiments.registry import Work
from howsure.verbs.explore import explore

WORLD = "Top/News/World"  # the paper's articles are about world news
PLANS: dict[str, dict[str, Any]] = {
    "nyt": {"actors": "countries", "every": "quarter"},
    "muc": {"actors": "muc-organisations", "every": "month"},
    "": {"actors": "stories", "every": "quarter"},
}
QUESTIONS = {"attack": {"verbs": "attack", "rules": "paper"}, "violence": {"verbs": "violence", "rules": "wide"}}
KINDS = {"attack": ("ATTACK", "BOMBING"), "violence": ("ATTACK", "BOMBING", "ARSON", "KIDNAPPING", "ROBBERY")}


TITLES = {"nyt": "New York Times, world news", "muc": "MUC-3 and MUC-4", "": "the sixty stories that ship, made up"}


@dataclass(frozen=True, slots=True)
class Pair:
    """A document and an actor: the probability of an event, the one-best answer, and whether people say so."""

    document: str
    actor: str
    day: date | None
    probability: float
    best: bool
    gold: bool


def asked(settings: dict[str, Any]) -> tuple[str, ...]:
    """The questions: both where there is time for them."""
    return ("attack",) if settings["data"] == "nyt" or settings["quick"] else ("attack", "violence")


def explored(
    work: Work, settings: dict[str, Any], question: str, *, samples: int = 400, temperature: float = 1.0
) -> Exploration:
    """Who attacked, asked of every document; kept in the folder of models, where an interrupted run goes on."""
    options = {**PLANS[settings["data"]], **QUESTIONS[question], "samples": samples, "temperature": temperature}
    source = _source(settings)
    folder = None
    if work.folder is not None:
        of = [settings[k] for k in ("data", "data_fingerprint", "limit")]
        identity = json.dumps([__version__, *of, options], sort_keys=True)
        folder = work.folder / f"explore-{question}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}"

    def say(done: float, total: float | None, _: str = "") -> None:
        work(f"{question}, {samples} samples, temperature {temperature:g}: {done:,} of {total:,} documents")

    return explore(source, out=folder, progress=say, **options)


def _source(settings: dict[str, Any]) -> Any:
    """What `explore` is to read; a table of texts where only some documents of a folder are wanted."""
    corpus, limit = settings["data"], settings["limit"]
    if not corpus:
        return None
    if corpus == "muc" and limit is None:
        return str(corpus_path("muc", "texts"))
    import pyarrow as pa

    texts = muc_texts(corpus_path("muc", "texts")) if corpus == "muc" else nitf_texts(corpus_path("nyt"), WORLD)
    rows = list(islice(texts, limit))
    columns = {name: [getattr(t, name) for t in rows] for name in ("id", "date", "title", "text")}
    return pa.table(columns | {"date": pa.array(columns["date"], pa.date32())})


def gold_pairs(question: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """MUC's keys: (document, actor) pairs that people filled in, and those that they left optional."""
    lexicon = actors("muc-organisations")
    required: set[tuple[str, str]] = set()
    optional: set[tuple[str, str]] = set()
    for incident in muc_keys(corpus_path("muc", "keys"))[1]:
        if not {k.strip() for k in incident.type.split("/")} & set(KINDS[question]):
            continue
        for name in (n for names in incident.organisations for n in names):
            found = (lexicon.actors[a].code for a in lexicon.find(re.findall(r"[\w.'-]+", name)).actor if a >= 0)
            (optional if incident.optional else required).update((incident.document, code) for code in found)
    return required, optional - required


def proposed_pairs(
    found: Exploration, required: Iterable[tuple[str, str]] = (), optional: Iterable[tuple[str, str]] = ()
) -> list[Pair]:
    """Every document and actor with a probability above 0, less those that only an optional template has."""
    right, skipped = set(required), set(optional)
    return [
        Pair(h.document, code, h.date, h.probability, h.best > 0, (h.document, code) in right)
        for code, hits in found.hits.items()
        for h in hits
        if h.probability > 0 and (h.document, code) not in skipped
    ]


def gold_counts(found: Exploration, required: Iterable[tuple[str, str]], every: str) -> dict[tuple[str, date], int]:
    """How many documents people counted for an actor in a period; documents of the exploration that have a date."""
    day = {r["id"]: r["date"] for r in read_table(found.folder, "documents", ["id", "date"]) if r["date"] is not None}
    return Counter((code, period_start(day[document], every)) for document, code in required if document in day)
