"""Figure 6: documents per period that describe an attack by an actor, with credible bands (§6)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from howsure.events.exploration import Exploration
from howsure.events.timeline import all_periods, document_count, more_than, period_start
from howsure.experiments.explored import PLANS, TITLES, asked, explored, gold_counts, gold_pairs, proposed_pairs
from howsure.experiments.registry import Work
from howsure.experiments.result import Figure, Finding, Table, Verdict, finding_on, short
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
    base = main["attack"]
    laid = {q: cells(e, every) for q, e in main.items()}
    others: dict[str, list[Cell]] = {}
    if settings["data"] != "nyt":  # each is a run of its own; on two hundred thousand articles that is too long
        few = explored(work, settings, "attack", samples=PUBLISHED)
        others["few"] = cells(few, every)
        for t in TEMPERATURES:
            warm = explored(work, settings, "attack", samples=settings["samples"], temperature=t)
            others[f"{t:g}"] = cells(warm, every)
    held = _coverages(main, settings, every)
    return {
        "findings": findings(laid, others, held, every),
        "figures": _figures(main, every),
        "tables": (_totals(main),),
        "notes": _notes(base, settings),
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
        bands = (f"{end}{level}" for end in ("low", "high") for level in (50, 80, 95))
        drawn = ("period", "start", "mean", "best", "documents", *bands)
        lines = {
            found.name(c): [
                {k: short(t[k], 5) if isinstance(t[k], float) else t[k] for k in drawn}
                for t in (x.to_dict() for x in found.timeline(c, every))
            ]
            for c in codes
        }
        what = "“attack”" if question == "attack" else "22 violent verbs, wide rules"
        caption = f"Documents per {every} with an agent of {what}"
        specification = _with_long_names(timeline_figure(lines, caption, every))
        figures.append(
            Figure(f"6{letter}", f"{caption}: mean, 50, 80 and 95% bands, and one-best (dashed).", specification)
        )
    return tuple(figures)


def _with_long_names(specification: dict[str, Any]) -> dict[str, Any]:
    """Names of organisations are long."""
    for layer in specification["layer"]:
        layer["encoding"]["color"]["legend"] |= {"labelLimit": 300}
    return specification


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


def findings(
    laid: dict[str, list[Cell]], others: dict[str, list[Cell]], held: dict[str, Coverage], every: str
) -> tuple[Finding, ...]:
    """The claims in the paper's order."""
    made = [
        unreal({q: over_time(c) for q, c in laid.items()}, every),
        two_actors({q: between_actors(c) for q, c in laid.items()}, every),
        normal([c for cells in laid.values() for c in cells]),
    ]
    if "few" in others:
        made.append(few_samples(laid["attack"], others["few"]))
    made.append(entities(laid["attack"]))
    if "0.5" in others:
        made.append(narrow(laid["attack"], others["0.5"], others["2"]))
    if held:
        made.append(gold(held))
    return tuple(made)


def _told(changes: dict[str, Changes]) -> str:
    return "; ".join(f"{q}: {c.n - c.sure} of {c.n}" for q, c in changes.items())


def unreal(changes: dict[str, Changes], every: str) -> Finding:
    """Bumps of a one-best line."""
    n, sure = sum(c.n for c in changes.values()), sum(c.sure for c in changes.values())
    share = 1 - sure / n if n else 0.0
    return finding_on(
        "figure-6/unreal",
        "not tested" if not n else "confirmed" if share >= 0.05 else "differs",
        f"One-best counts of an actor change {n} times from one {every} to the next. The posterior is sure of the direction (95%) "
        f"{sure} times, and does not know in {n - sure} ({_told(changes)}).",
        {"changes": n, "sure": sure, "share_unsure": share},
        f"{n - sure} of {n} changes ({share:.0%}) are not sure",
    )


def two_actors(changes: dict[str, Changes], every: str) -> Finding:
    """Who did more, and whether overlapping intervals answer that."""
    n, sure = sum(c.n for c in changes.values()), sum(c.sure for c in changes.values())
    overlapping = sum(c.overlapping for c in changes.values())
    both = sum(c.sure_overlapping for c in changes.values())
    share = 1 - sure / n if n else 0.0
    return finding_on(
        "figure-6/two-actors",
        "not tested" if not n else "confirmed" if share >= 0.05 else "differs",
        f"Of {n} comparisons of two actors in a {every} whose one-best counts differ, P(more) is below 95% in {n - sure} ({_told(changes)}). The paper reads "
        f"this off overlapping intervals; the probability itself is exact and sharper: in {both} of the {overlapping} comparisons whose 95% intervals "
        "overlap it is above 95% all the same. `howsure explore --actor A,B` uses each document's joint as well.",
        {"comparisons": n, "sure": sure, "overlapping": overlapping, "sure_overlapping": both},
        f"{n - sure} of {n} ({share:.0%}) not conclusive; of {overlapping} overlaps {both} are",
    )


def normal(laid: list[Cell]) -> Finding:
    """m ± 1.96 s."""
    alive = [c for c in laid if c.law.mean > 0.005]
    below = sum(c.law.mean - 1.96 * c.law.sd < 0 for c in alive)
    masses = [
        float(sum(p for k, p in enumerate(c.law.probabilities) if abs(k - c.law.mean) <= 1.96 * c.law.sd + 1e-12))
        for c in alive
    ]
    short = sum(m < 0.95 for m in masses)
    exact = [
        float(c.law.probabilities[a : b + 1].sum()) for c in alive for a, b in [c.law.interval(0.95)]
    ]  # fmt: skip
    return finding_on(
        "figure-6/normal",
        "extended",
        f"That is a normal approximation, and called one. A count is Poisson-binomial given the documents' probabilities, so its quantiles are exact. Of {len(alive)} counts with a mean above "
        f"0.005, m ± 1.96 s begins below 0 in {below} and holds less than 95% of the posterior in {short} (at worst {min(masses, default=1.0):.1%}; the quantile "
        f"interval {min(exact, default=1.0):.1%}).",
        {"counts": len(alive), "below_zero": below, "short": short, "least_mass": min(masses, default=1.0)},
        f"exact quantiles; m ± 1.96 s dips below 0 in {below} of {len(alive)}",
    )


def few_samples(laid: list[Cell], few: list[Cell]) -> Finding:
    """Footnote 11: ten samples do."""
    of = {(c.actor, c.start): c for c in few}
    both = [(c, of[c.actor, c.start]) for c in laid if (c.actor, c.start) in of and c.law.sd > 0.05]
    off = np.array([abs(a.law.mean - b.law.mean) for a, b in both])
    sd = np.array([a.law.sd for a, _ in both])
    same = sum(a.law.interval(0.95) == b.law.interval(0.95) for a, b in both)
    worst = float(off.max()) if len(off) else 0.0
    relative = float(np.sqrt(np.mean((off / sd) ** 2))) if len(off) else 0.0
    verdict: Verdict = "not tested" if not both else "confirmed" if relative <= 0.5 else "differs"
    return finding_on(
        "figure-6/few-samples",
        verdict,
        f"Over the {len(both)} counts that are uncertain (sd above 0.05), the means of 10 samples differ from those of 400 by {relative:.0%} of the posterior's sd "
        f"(root mean square; at worst by {worst:.2f} documents), and {same} of the 95% intervals are the same. Noise of S samples is sd/√S: "
        "32% with 10, 10% with 100, 5% with 400.",
        {"counts": len(both), "relative_rms": relative, "worst": worst, "same_intervals": same},
        f"means within {relative:.0%} of an sd; {same} of {len(both)} intervals the same",
    )


def entities(laid: list[Cell]) -> Finding:
    """Footnote 11: counting entities."""
    means = np.array([c.law.mean for c in laid])
    others = np.array([c.entities for c in laid])
    r = float(np.corrcoef(means, others)[0, 1]) if len(laid) > 2 and means.std() and others.std() else 0.0
    extra = float(others.sum() / means.sum() - 1) if means.sum() else 0.0
    return finding_on(
        "figure-6/entities",
        "confirmed" if r > 0.95 else "differs",
        f"Over {len(laid)} counts of an actor in a period the two means correlate by {r:.3f}; there are {extra:.1%} more entities than documents.",
        {"correlation": r, "more_entities": extra},
        f"correlation {r:.3f}, {extra:+.1%}",
    )


def narrow(laid: list[Cell], sharp: list[Cell], flat: list[Cell]) -> Finding:
    """An overconfident posterior."""

    def width(cells: list[Cell]) -> float:
        return float(sum(b - a for c in cells for a, b in [c.law.interval(0.95)]))

    widths = width(sharp), width(laid), width(flat)
    return finding_on(
        "figure-6/narrow",
        "confirmed" if widths[0] < widths[1] < widths[2] else "differs",
        f"With its scores sharpened (temperature ½) the 95% intervals are together {widths[0]:.0f} documents wide, as they are {widths[1]:.0f}, flattened (temperature 2) "
        f"{widths[2]:.0f}. Which is right only labels can tell: docs/studies/muc-study.md sets them against MUC's keys, docs/guides/explore.md has `howsure label`.",
        {"sharpened": widths[0], "as_is": widths[1], "flattened": widths[2]},
        f"total width {widths[0]:.0f}, {widths[1]:.0f} and {widths[2]:.0f} at temperatures ½, 1 and 2",
    )


def gold(held: dict[str, Coverage]) -> Finding:
    """Bands against what people counted."""
    said = "; ".join(
        f"{q}: {c.held} of {c.cells} gold counts ({c.held / c.cells:.0%}), of the reachable ones {c.reachable_held} of {c.reachable_cells} ({c.reachable_held / c.reachable_cells:.0%})"
        for q, c in held.items()
    )
    share = min(c.held / c.cells for c in held.values())
    best = max(c.reachable_held / c.reachable_cells for c in held.values())
    return finding_on(
        "figure-6/gold",
        "extended",
        f"They are {'' if share >= 0.9 else 'not '}here. The paper had no labels. MUC has: which organisation did it, document by document. The 95% bands hold {said}; reachable are events that "
        "get any probability at all. The bands are of coreference alone: of another verb, or an agent that the parse does not show, they know nothing, and they "
        "are not intervals for what people would count. docs/studies/muc-study.md says where events are lost.",
        {f"{q}_{k}": v for q, c in held.items() for k, v in asdict(c).items()},
        f"95% bands hold {share:.0%} of gold counts at worst, {best:.0%} of reachable ones at best",
    )
