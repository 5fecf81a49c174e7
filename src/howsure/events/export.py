"""An exploration as plain tables for R, Stata and spreadsheets, with a paragraph on how they were made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from howsure._result import csv_text
from howsure.events.storage import read_table
from howsure.files import make_folder, whole_files

if TYPE_CHECKING:
    from howsure.events.exploration import Exploration

FILES = ("counts.csv", "events.csv", "documents.csv", "methods.txt")
COUNTS = ("actor", "name", "period", "start", "documents")  # the columns of a table without rows
EVENTS = ("id", "date", "actor", "name", "probability", "entities", "one_best")
DOCUMENTS = ("id", "date", "title", "tokens", "mentions", "agents", "undated", "failure")


def save_tables(made: Exploration, folder: str | Path) -> list[Path]:
    """Write counts.csv, events.csv, documents.csv and methods.txt to a folder, all or none.

    UTF-8 with commas, a line of names of at most 32 small letters, digits and underscores, dates as 2024-12-31, empty cells
    for what is missing. `id` joins documents and events; `actor` joins events and counts.
    """
    events: list[dict[str, Any]] = []
    for r in read_table(made.folder, "events"):
        r |= {"name": made.name(r["actor"]), "one_best": r["best"]}
        r["entities"] = sum(k * p for k, p in enumerate(r["law"]))
        events.append({k: r[k] for k in EVENTS})
    read = [f"n_{k}" if k in ("tokens", "mentions", "agents") else k for k in DOCUMENTS]
    documents = [dict(zip(DOCUMENTS, r.values(), strict=True)) for r in read_table(made.folder, "documents", read)]
    tables = ((COUNTS, made.table()), (EVENTS, events), (DOCUMENTS, documents))
    texts = [csv_text(rows) if rows else ",".join(columns) + "\n" for columns, rows in tables]
    paths = [make_folder(str(folder)) / name for name in FILES]
    with whole_files(paths) as temporary:
        for name, text in zip(temporary, [*texts, methods(made)], strict=True):
            Path(name).write_text(text, encoding="utf-8")
    return paths


def methods(made: Exploration) -> str:
    """A paragraph for the section on methods: what was counted, how, and what the intervals hold."""
    m, s = made.manifest, made.manifest["settings"]
    verbs = ", ".join(s["verbs"][:12]) + (f" and {len(s['verbs']) - 12} more" if len(s["verbs"]) > 12 else "")
    of = "the verb" if len(s["verbs"]) == 1 else "one of the verbs"
    from_to = f" dated {m['first']} to {m['last']}" if m.get("first") else ""
    lost = {"n_undated": "without a date", "n_failed": "that could not be read"}
    left = [f"{m[k]:,} {what}" for k, what in lost.items() if m[k]]
    coref = {"none": "without coreference", "simple": "with exact matches of names as coreference"}.get(str(s["coref"]))
    clusterings = f"{s['samples']:,} coreference clusterings of each document"
    drawn = f"drawing {clusterings} from a mention-ranking model's posterior"
    tempered = f" (temperature {s['temperature']:g})" if s["temperature"] != 1.0 and coref is None else ""
    return (
        f"We analysed {m['n_documents']:,} documents{from_to}"
        + (f" ({' and '.join(left)} left out of the counts)" if left else "")
        + f" with howsure {m['version']}. A document counts for an actor if an entity that the lexicon ({s['actors']}, "
        f"{len(m['actors']):,} actors) assigns to the actor is an agent of {of} {verbs} (rules: {s['rules']}). The probability "
        f"of this was estimated by parsing each document and {coref or drawn}{tempered} (seed {s['seed']}). Given these probabilities the "
        f"number of documents per {s['every']} is Poisson-binomial; we report its mean and its exact 50%, 80% and 95% intervals. The "
        "intervals hold the uncertainty of coreference alone, not that of the parses, the lexicon or the choice of verbs. The columns that "
        "begin with layer_ count the documents that report such an event by a logistic regression on features of each document and actor, "
        f"with the prior that comes with howsure and {made.reported().layer.n_labels:,} labels of our own; their intervals are quantiles of "
        "joint draws of its weights, of shifts of actors and periods, and of the documents' outcomes. "
        f"Fingerprint of the analysis: {m['fingerprint']}.\n"
    )
