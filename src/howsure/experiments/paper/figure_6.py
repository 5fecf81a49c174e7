"""Figure 6: documents per period that describe an attack by an actor, with credible bands (§6)."""

from dataclasses import asdict, astuple, dataclass
from datetime import date
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from howsure.events.exploration import Exploration
from howsure.events.timeline import all_periods, document_count, more_than, period_start
from howsure.experiments.explored import PLANS, TITLES, asked, explored, gold_counts, gold_pairs, proposed_pairs
from howsure.experiments.findings import Finding, Verdict, finding_on, held, notes_on
from howsure.experiments.registry import Work
from howsure.experiments.result import Figure, Table, short
from howsure.plots.timelines import timeline_figure
from howsure.posteriors.answers import CountLaw

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
    main = {q: explored(work, settings, q, samples=settings["samples"]) for q in asked(settings)}
    laid = {q: cells(e, every) for q, e in main.items()}
    others: dict[str, list[Cell]] = {}
    if settings["data"] != "nyt":  # each is a run of its own; on two hundred thousand articles that is too long
        others["few"] = cells(explored(work, settings, "attack", samples=PUBLISHED), every)
        for t in TEMPERATURES:
            warm = explored(work, settings, "attack", samples=settings["samples"], temperature=t)
            others[f"{t:g}"] = cells(warm, every)
    covered = _coverages(main, settings, every)
    notes = notes_on("figure-6", of=main["attack"].manifest, samples=settings["samples"])
    if settings["data"] != "nyt":
        notes += notes_on("figure-6, muc" if settings["data"] else "figure-6, stories")
    return {
        "findings": findings(laid, others, covered, every),
        "figures": _figures(main, every),
        "tables": (_totals(main),),
        "notes": notes,
        "data": TITLES[settings["data"]],
    }


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
    return _changes([(a, b) for a, b in pairwise(laid) if a.actor == b.actor])


def between_actors(laid: list[Cell]) -> Changes:
    """One-best counts of two actors that differ in a period, each actor's own law taken as independent."""
    names = list(dict.fromkeys(c.actor for c in laid))[:ACTORS]
    by = {(c.actor, c.start): c for c in laid}
    starts = list(dict.fromkeys(c.start for c in laid))
    return _changes([(by[a, s], by[b, s]) for a, b in combinations(names, 2) for s in starts])


def _changes(pairs: list[tuple[Cell, Cell]]) -> Changes:
    sure, overlaps = [], []
    for down, up in (sorted(pair, key=lambda c: c.best) for pair in pairs if pair[0].best != pair[1].best):
        sure.append(more_than(up.law, down.law) >= SURE)
        overlaps.append(up.law.interval(0.95)[0] <= down.law.interval(0.95)[1])
    return Changes(len(sure), sum(sure), sum(overlaps), sum(map(all, zip(sure, overlaps, strict=True))))


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
            bands = {cell: laws.get(cell, none).interval(0.95) for cell in wanted}
            inside += [len(wanted), sum(low <= gold.get(cell, 0) <= high for cell, (low, high) in bands.items())]
        if inside[2]:  # in a few documents there may be no event to reach
            made[question] = Coverage(*inside)
    return made


def _figures(main: dict[str, Exploration], every: str) -> tuple[Figure, ...]:
    figures = []
    for letter, (question, found) in zip("ab", main.items(), strict=False):
        codes = [code for code, _ in found.totals()[:2]]
        bands = (f"{end}{level}" for end in ("low", "high") for level in (50, 80, 95))
        kept = ("period", "start", "mean", "best", "documents", *bands)
        lines = {
            found.name(c): [
                {k: short(t[k], 5) if isinstance(t[k], float) else t[k] for k in kept}
                for t in (x.to_dict() for x in found.timeline(c, every))
            ]
            for c in codes
        }
        what = "“attack”" if question == "attack" else "22 violent verbs, wide rules"
        caption = f"Documents per {every} with an agent of {what}"
        drawn = timeline_figure(lines, caption, every)
        for layer in drawn["layer"]:  # names of organisations are long
            layer["encoding"]["color"]["legend"] |= {"labelLimit": 300}
        figures.append(Figure(f"6{letter}", f"{caption}: mean, 50, 80 and 95% bands, and one-best (dashed).", drawn))
    return tuple(figures)


def _totals(main: dict[str, Exploration]) -> Table:
    rows = []
    for question, found in main.items():
        for code, law in found.totals()[:ACTORS]:
            normal = f"{law.mean - 1.96 * law.sd:.2f} – {law.mean + 1.96 * law.sd:.2f}"
            numbers = f"{law.mean:.2f}", "{} – {}".format(*law.interval(0.95)), normal, found.best(code)
            rows.append((question, found.name(code), *numbers))
    columns = ("question", "actor", "documents, mean", "95%", "m ± 1.96 s", "one-best")
    return Table("totals", "Documents over the whole corpus", columns, tuple(rows))


def findings(
    laid: dict[str, list[Cell]], others: dict[str, list[Cell]], covered: dict[str, Coverage], every: str
) -> tuple[Finding, ...]:
    """The claims in the paper's order."""
    made = [
        unreal({q: over_time(c) for q, c in laid.items()}, every),
        unreal({q: between_actors(c) for q, c in laid.items()}, every, "figure-6/two-actors"),
        normal([c for cells in laid.values() for c in cells]),
        entities(laid["attack"]),
    ]
    if others:
        made.insert(3, few_samples(laid["attack"], others["few"]))
        made.append(narrow(laid["attack"], others["0.5"], others["2"]))
    return (*made, gold(covered)) if covered else tuple(made)


def unreal(changes: dict[str, Changes], every: str, claim: str = "figure-6/unreal") -> Finding:
    """Bumps of a one-best line, or who did more: whether the posterior leaves open a twentieth of such differences."""
    n, sure, overlapping, both = (sum(c) for c in zip(*map(astuple, changes.values()), strict=True))
    told = "; ".join(f"{q}: {c.n - c.sure} of {c.n}" for q, c in changes.items())
    share = 1 - sure / n if n else 0.0
    made = {"n": n, "sure": sure, "overlapping": overlapping, "both": both, "share": share}
    verdict: Verdict = "not tested" if not n else held(share >= 0.05)
    return finding_on(claim, verdict, {**made, "unsure": n - sure, "told": told, "every": every})


def normal(laid: list[Cell]) -> Finding:
    """m ± 1.96 s."""
    laws = [c.law for c in laid if c.law.mean > 0.005]
    below = sum(law.mean - 1.96 * law.sd < 0 for law in laws)
    masses, exact = [], []
    for law in laws:
        near = np.abs(np.arange(len(law.probabilities)) - law.mean) <= 1.96 * law.sd + 1e-12
        low, high = law.interval(0.95)
        masses.append(float(law.probabilities[near].sum()))
        exact.append(float(law.probabilities[low : high + 1].sum()))
    least, least_exact = min(masses, default=1.0), min(exact, default=1.0)
    numbers = {"n": len(laws), "below": below, "short": sum(m < 0.95 for m in masses)}
    return finding_on("figure-6/normal", "extended", numbers, least=least, least_exact=least_exact)


def few_samples(laid: list[Cell], few: list[Cell]) -> Finding:
    """Footnote 11: ten samples do."""
    of = {(c.actor, c.start): c for c in few}
    both = [(c.law, of[c.actor, c.start].law) for c in laid if (c.actor, c.start) in of and c.law.sd > 0.05]
    off = np.array([abs(a.mean - b.mean) for a, b in both])
    sd = np.array([a.sd for a, _ in both])
    same = sum(a.interval(0.95) == b.interval(0.95) for a, b in both)
    worst = float(off.max(initial=0.0))
    relative = float(np.sqrt(np.mean((off / sd) ** 2))) if len(off) else 0.0
    verdict: Verdict = "not tested" if not both else held(relative <= 0.5)
    return finding_on("figure-6/few-samples", verdict, n=len(both), relative=relative, worst=worst, same=same)


def entities(laid: list[Cell]) -> Finding:
    """Footnote 11: counting entities."""
    means = np.array([c.law.mean for c in laid])
    others = np.array([c.entities for c in laid])
    r = float(np.corrcoef(means, others)[0, 1]) if len(laid) > 2 and means.std() and others.std() else 0.0
    extra = float(others.sum() / means.sum() - 1) if means.sum() else 0.0
    return finding_on("figure-6/entities", held(r > 0.95), n=len(laid), r=r, extra=extra)


def narrow(laid: list[Cell], sharp: list[Cell], flat: list[Cell]) -> Finding:
    """An overconfident posterior."""

    def width(cells: list[Cell]) -> float:
        return float(sum(b - a for c in cells for a, b in [c.law.interval(0.95)]))

    widths = width(sharp), width(laid), width(flat)
    return finding_on("figure-6/narrow", held(widths[0] < widths[1] < widths[2]), widths=widths)


def gold(covered: dict[str, Coverage]) -> Finding:
    """Bands against what people counted."""
    said = "; ".join(
        f"{q}: {c.held} of {c.cells} gold counts ({c.held / c.cells:.0%}), of the reachable ones {c.reachable_held} of {c.reachable_cells} ({c.reachable_held / c.reachable_cells:.0%})"
        for q, c in covered.items()
    )
    numbers = {f"{q}_{k}": v for q, c in covered.items() for k, v in asdict(c).items()}
    share = min(c.held / c.cells for c in covered.values())
    best = max(c.reachable_held / c.reachable_cells for c in covered.values())
    no = "" if share >= 0.9 else "not "
    return finding_on("figure-6/gold", "extended", numbers=numbers, no=no, said=said, share=share, best=best)
