"""Figure 6: documents per period that describe an attack by an actor, with credible bands (§6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from howsure.events.counts import CountLaw, document_count, more_than
from howsure.events.exploration import Exploration
from howsure.events.periods import all_periods, period_start
from howsure.experiments.explored import PLANS, explored, gold_counts, gold_pairs, proposed_pairs
from howsure.experiments.paper.figure_6_findings import findings
from howsure.experiments.result import Figure, Table
from howsure.experiments.work import Work
from howsure.plots.timeline_vega import timeline_figure

ACTORS = 6  # that are compared two by two
SURE = 0.95
TEMPERATURES = (0.5, 2.0)
PUBLISHED = 10  # samples, of the paper's footnote 11


@dataclass(frozen=True, slots=True)
class Cell:
    """An actor in a period: the law of its count, the one-best count, the mean number of entities."""

    actor: str
    start: date
    law: CountLaw
    best: int
    entities: float


@dataclass(frozen=True, slots=True)
class Changes:
    """Differences that one-best counts show, and how many of them the posterior is sure of."""

    n: int
    sure: int
    overlapping: int  # of these the 95% intervals overlap
    sure_overlapping: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of cells with a gold or a proposed event, how many gold counts the 95% interval holds."""

    cells: int
    held: int
    reachable_cells: int
    reachable_held: int


def settings(quick: bool) -> dict[str, Any]:
    """All documents, or the first few."""
    return {"quick": quick, "limit": 60 if quick else None, "samples": 400}


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Explore, draw, and say what the bands do to the paper's readings. The seed of all draws is a document's name."""
    every = PLANS[settings["data"]]["every"]
    asked = ("attack",) if settings["data"] == "nyt" or settings["quick"] else ("attack", "violence")
    main = {q: explored(work, settings, q, samples=settings["samples"]) for q in asked}
    base = main["attack"]
    laid = {q: cells(e, every) for q, e in main.items()}
    others: dict[str, list[Cell]] = {}
    if settings["data"] != "nyt":  # each is a run of its own; on two hundred thousand articles that is too long
        few = explored(work, settings, "attack", samples=PUBLISHED)
        others["few"] = cells(few, every)
        for t in TEMPERATURES:
            others[f"{t:g}"] = cells(
                explored(work, settings, "attack", samples=settings["samples"], temperature=t), every
            )
    held = _coverages(main, settings, every)
    return {
        "findings": findings(laid, others, held, every),
        "figures": _figures(main, every),
        "tables": (_totals(main),),
        "notes": _notes(base, settings),
        "data": {"nyt": "New York Times, world news", "muc": "MUC-3 and MUC-4", "": "the sixty stories that ship, made up"}[settings["data"]],
    }  # fmt: skip


def cells(found: Exploration, every: str) -> list[Cell]:
    """Every actor with an event in every period."""
    starts = all_periods(found.days, every)
    made = []
    for actor, _ in found.totals():
        hits: dict[date, list[Any]] = {s: [] for s in starts}
        for h in found.hits[actor]:
            if h.date is not None:
                hits[period_start(h.date, every)].append(h)
        for start, here in hits.items():
            law = document_count(np.array([h.probability for h in here]))
            entities = sum(float(np.arange(len(h.law)) @ np.array(h.law)) for h in here)
            made.append(Cell(actor, start, law, sum(h.best > 0 for h in here), entities))
    return made


def over_time(laid: list[Cell]) -> Changes:
    """One-best counts that change from a period to the next."""
    pairs = [(a, b) for a, b in pairwise(laid) if a.actor == b.actor]
    return _changes(pairs)


def between_actors(laid: list[Cell]) -> Changes:
    """One-best counts of two actors that differ in a period, each actor's own law taken as independent."""
    names = list(dict.fromkeys(c.actor for c in laid))[:ACTORS]
    by = {(c.actor, c.start): c for c in laid}
    starts = list(dict.fromkeys(c.start for c in laid))
    return _changes([(by[a, s], by[b, s]) for a, b in combinations(names, 2) for s in starts])


def _changes(pairs: list[tuple[Cell, Cell]]) -> Changes:
    n = sure = overlapping = sure_overlapping = 0
    for a, b in pairs:
        if a.best == b.best:
            continue
        up, down = (b, a) if b.best > a.best else (a, b)
        is_sure = more_than(up.law, down.law) >= SURE
        overlaps = up.law.interval(0.95)[0] <= down.law.interval(0.95)[1]
        n, sure = n + 1, sure + is_sure
        overlapping, sure_overlapping = overlapping + overlaps, sure_overlapping + (overlaps and is_sure)
    return Changes(n, sure, overlapping, sure_overlapping)


def _coverages(main: dict[str, Exploration], settings: dict[str, Any], every: str) -> dict[str, Coverage]:
    """Against MUC's keys, where they are."""
    if settings["data"] != "muc":
        return {}
    made = {}
    for question, found in main.items():
        required, optional = gold_pairs(question)
        proposed = proposed_pairs(found, required, optional)
        known = {(p.document, p.actor) for p in proposed}
        days = {(p.actor, period_start(p.day, every)) for p in proposed if p.day is not None}
        laws = {(c.actor, c.start): c.law for c in cells(found, every)}
        counts = [gold_counts(found, r, every) for r in (required, required & known)]
        inside = []
        for gold in counts:
            wanted = set(gold) | days
            none = document_count(np.zeros(0))
            held = 0
            for cell in wanted:
                low, high = laws.get(cell, none).interval(0.95)
                held += low <= gold.get(cell, 0) <= high
            inside += [len(wanted), held]
        made[question] = Coverage(*inside)
    return made


def _figures(main: dict[str, Exploration], every: str) -> tuple[Figure, ...]:
    figures = []
    for letter, (question, found) in zip("ab", main.items(), strict=False):
        codes = [code for code, _ in found.totals()[:2]]
        drawn = (
            "period",
            "start",
            "mean",
            "best",
            "documents",
            *(f"{end}{level}" for end in ("low", "high") for level in (50, 80, 95)),
        )
        lines = {
            found.name(c): [{k: t[k] for k in drawn} for t in (x.to_dict() for x in found.timeline(c, every))]
            for c in codes
        }
        what = "“attack”" if question == "attack" else "22 violent verbs, wide rules"
        caption = f"Documents per {every} with an agent of {what}"
        specification = _with_years(timeline_figure(_rounded(lines), caption))
        figures.append(
            Figure(f"6{letter}", f"{caption}: mean, 50, 80 and 95% bands, and one-best (dashed).", specification)
        )
    return tuple(figures)


def _with_years(specification: dict[str, Any]) -> dict[str, Any]:
    """Months alone would not say which year; names of organisations are long."""
    for layer in specification["layer"]:
        layer["encoding"]["x"]["axis"] = {"format": "%b %Y", "tickCount": 9, "grid": False, "labelOverlap": True}
        layer["encoding"]["color"]["legend"] |= {"labelLimit": 300}
    return specification


def _rounded(lines: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    return {
        name: [{k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in count.items()} for count in counts]
        for name, counts in lines.items()
    }


def _totals(main: dict[str, Exploration]) -> Table:
    rows = []
    for question, found in main.items():
        for code, law in found.totals()[:ACTORS]:
            low, high = law.interval(0.95)
            best = sum(h.best > 0 for h in found.hits[code] if h.date is not None)
            rows.append((question, found.name(code), f"{law.mean:.2f}", f"{low} – {high}", f"{law.mean - 1.96 * law.sd:.2f} – {law.mean + 1.96 * law.sd:.2f}", best))  # fmt: skip
    columns = ("question", "actor", "documents, mean", "95%", "m ± 1.96 s", "one-best")
    return Table("totals", "Documents over the whole corpus", columns, tuple(rows))


def _notes(base: Exploration, settings: dict[str, Any]) -> tuple[str, ...]:
    n, undated = base.manifest["n_documents"], base.manifest["n_undated"]
    first = f"{n:,} documents ({undated:,} without a date), {base.manifest['first']} to {base.manifest['last']}; {settings['samples']} clusterings a document."
    made = [
        first,
        "The bands hold the uncertainty of coreference and nothing else: not the parser's, the lexicon's or the writer's.",
    ]
    if not settings["data"]:
        made.append("There is no corpus below HOWSURE_DATA: the stories, their countries and their events are made up. They show the method, not the world.")  # fmt: skip
    if settings["data"] == "muc":
        made.append("News of 1988 to 1990 in upper case about Latin America; actors are organisations rather than countries, periods months rather than quarters, as there are only nine quarters.")  # fmt: skip
    return tuple(made)
