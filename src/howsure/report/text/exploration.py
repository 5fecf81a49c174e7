"""What `howsure explore` and `top` found, in words and tables."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from howsure.events.lexicons import lemma_hints
from howsure.report.text.layout import cut, filled, joined, printable
from howsure.report.text.layout import notes as note_lines

if TYPE_CHECKING:
    from howsure.events.exploration import Exploration
    from howsure.events.ranking import Ranking

MOST_ACTORS = 12
MOST_PERIODS = 40
FEW_TO_TIME = 200  # documents; fewer are not timed


def exploration_text(found: Exploration, actors: Sequence[str] = ()) -> str:
    """Verdict first, then the actors, those chosen over time (by default the first two), what is left out."""
    found = found.showing(actors)
    chosen = found.chosen()
    parts = [_layer_text(found), filled("By rules and coreference alone: " + printable(found.verdict))]
    all_totals = found.totals()
    totals = [t for t in all_totals if found.speaks_of(t[0])]
    if totals:
        lines = [f"{'rules and coreference alone':<34} {'mean':>7} {'sd':>6}  {'95%':<11} {'one-best':>8}"]
        for code, law in totals[:MOST_ACTORS]:
            band, shown = "{} to {}".format(*law.interval(0.95)), cut(f"{code}  {found.name(code)}", 34)
            lines.append(f"{shown:<34} {law.mean:>7.2f} {law.sd:>6.2f}  {band:<11} {found.best(code):>8}")
        if (more := len(all_totals) - len(totals[:MOST_ACTORS])) > 0:
            lines.append(f"… {more} more (--json lists all)")
        parts.append("\n".join(lines))
    parts += [_timeline_table(found, code) for code in chosen]
    if len(chosen) == 2:
        parts.append(_comparison_table(found, *chosen))
    parts.append(_funnel_text(found))
    if found.timing.get("documents", 0) >= FEW_TO_TIME:
        parts.append(filled(run_time(found.timing)))
    return joined([*parts, *note_lines(notes(found))])


def _layer_text(found: Exploration) -> str:
    """The event layer first: how far labels have checked it, then every actor's count and what its band is made of."""
    layer = found.reported()
    lines = [filled(layer.checked)]
    if not layer.totals:
        return "\n".join([*lines, "", "No document with a date names an actor."])
    lines += [
        "",
        f"{'documents that report it':<25} {'named':>6} {'mean':>7}  {'95%':<11} {'coref':>5} {'reading':>7} {'layer':>5} {'shift':>5}",
    ]
    listed = [(c, b) for c, b in layer.totals.items() if found.speaks_of(c)][:MOST_ACTORS]
    for code, b in listed:
        low, high = b.intervals[0.95]
        named = sum(n for _, n, _ in layer.periods[code])
        coref, outcomes, weights, shifts = (f"{share:.0%}" for share in b.parts.values())
        lines.append(
            f"{cut(f'{code}  {found.name(code)}', 25):<25} {named:>6,} {b.mean:>7.1f}  {f'{low} to {high}':<11} "
            f"{coref:>5} {outcomes:>7} {weights:>5} {shifts:>5}"
        )
    if len(layer.totals) > len(listed):
        lines.append(f"… {len(layer.totals) - len(listed)} more (--json lists all)")
    said = "what a document says given its probability"
    where = f"coreference, {said}, weights of the layer, shifts of actors and periods."
    pairs = [f"{a} → {b} {n:,}" for a, b, n in found.directed()[:6]]
    directed = [filled(f"Who to whom, documents: {', '.join(pairs)}.")] if pairs else []
    return "\n".join([*lines, filled("Shares of the variance: " + where), *directed])


def _funnel_text(found: Exploration) -> str:
    steps, to_try = found.funnel()
    few = steps[-1].n < max(steps[0].n // 50, 1)
    lines = ["Where documents are lost"]
    for s in steps:
        lines.append(f"  {s.name:<34} {s.n:>9,}")
        if few and s.sentences:
            lines += [filled(f"lost: {s.lost}", "    ", "    ")]
            lines += [_wrapped(x, "      ", 200) for x in s.sentences]
    return "\n".join(lines + [filled(f"try: {t}", "  ", "    ") for t in to_try])


def _timeline_table(found: Exploration, code: str) -> str:
    """An actor's periods: what documents report by the event layer, then what rules and coreference alone say."""
    counts = found.timeline(code)
    layer = {name: b for name, _, b in found.reported().periods.get(code, ())}
    lines = [
        f"{printable(found.name(code))[:28]:<30}{'reported':>16}   {'rules and coreference alone':>29}",
        f"{'':<30}{'mean':>6} {'95%':>9}   {'mean':>6} {'95%':>9} {'1-best':>6} {'more':>5}",
    ]
    shown = counts if len(counts) <= MOST_PERIODS else [c for c in counts if c.mean > 0 or c.best > 0][:MOST_PERIODS]
    for c in shown:
        low, high = c.intervals[0.95]
        more = "" if c.more_than_before is None else f"{c.more_than_before:.2f}"
        mean, band = "0.00", "0–0"  # no document of the period names the actor
        if c.period in layer:
            b = layer[c.period]
            mean, band = f"{b.mean:.2f}", "{}–{}".format(*b.intervals[0.95])
        docs = f"({c.n_documents:,} documents)"
        row = f"  {c.period:<10} {docs:<17}{mean:>6} {band:>9}   {c.mean:>6.2f} {f'{low}–{high}':>9} {c.best:>6} {more:>5}"
        lines.append(row.rstrip())
    if len(shown) < len(counts):
        lines.append(f"  … {len(counts) - len(shown):,} periods are not shown (--csv has all)")
    return "\n".join(lines)


def _comparison_table(found: Exploration, a: str, b: str) -> str:
    lines = [f"{a} against {b}: {'P(more)':>10} {'P(fewer)':>9} {'difference':>11}  95%   (rules and coreference)"]
    whole = found.compare_all(a, b)
    width = len(f"{a} against {b}:") - 2
    rows = [("all", whole.above(0), 1.0 - whole.above(-1), whole.mean, *whole.interval(0.95))]
    rows += [(p.period, p.more, p.fewer, p.difference, p.low95, p.high95) for p in found.compare(a, b)[:MOST_PERIODS]]
    for name, more, fewer, difference, lowest, highest in rows:
        lines.append(f"  {name:<{width}} {more:>10.3f} {abs(fewer):>9.3f} {difference:>+11.2f}  {lowest} to {highest}")
    return "\n".join(lines)


def notes(found: Exploration) -> list[str]:
    """What was left out or looks wrong, in words."""
    m = found.manifest
    made = []
    if m["n_undated"]:
        why = ", ".join(f"{n:,} {reason}" for reason, n in m["undated"].items())
        made.append(f"{_documents(m['n_undated'])} without a date ({why}): in the results, not in the periods.")
    if m["n_failed"]:
        why = "; ".join(f"{n:,}: {reason}" for reason, n in list(m["failures"].items())[:3])
        made.append(f"{_documents(m['n_failed'])} could not be used ({why}).")
    if m["n_future"]:
        made.append(f"{_documents(m['n_future'])} dated in the future.")
    if m["n_html"]:
        made.append(f"{_documents(m['n_html'])} in HTML; tags were taken off.")
    if m.get("shared"):
        (word, first, second), *more = m["shared"]
        also = f"; likewise {len(more):,} more words" if more else ""
        made.append(f'"{word}" stands in two lists, of {first} and {second}, and counts for the first{also}.')
    common = [found.name(c) for c in m.get("ambiguous", []) if c in found.reported().totals]
    if common:
        said = "also a first name or a common word; read some of its documents (howsure top)."
        made.append(f"{', '.join(common[:4])}: {said}")
    hints = lemma_hints(m["settings"]["verbs"])
    made += [f"{given} is not the lemma of a verb; {lemma} is." for given, lemma in hints.items()]
    if m["corpus"] == "stories":
        made.append("the stories ship with howsure; their countries and events are made up.")
    if m["settings"]["coref"] == "simple":
        made.append("coreference is by rules set by hand, not by a trained model: its probabilities are rough.")
    made.append("the columns of rules hold the uncertainty of coreference alone (docs/guides/explore.md).")
    return made


def run_time(timing: dict[str, float]) -> str:
    """How long it took, and on what."""
    n, total = timing["documents"], max(timing["total"], 1e-9)
    after = timing["resolving"] + timing["asking"]
    return (
        f"{n:,.0f} documents in {total:,.0f} s, {n / total:,.1f} a second. CPU time: {timing['parsing']:,.0f} s for parsing, "
        f"{after:,.0f} s for all that follows."
    )


def _documents(n: int) -> str:
    return f"{n:,} document{'' if n == 1 else 's'}"


def ranking_text(ranked: Ranking) -> str:
    """A paragraph for each document: probability, actor, day and title, then the sentences and links behind it."""
    if not ranked.documents:
        return ranked.verdict
    parts = []
    for d in ranked.documents:
        day = "undated" if d.date is None else d.date.isoformat()
        lines = [cut(f"{d.probability:.2f}  {ranked.names[d.actor]}  {day}  {d.title or d.id}", 80)]
        if d.title:
            lines.append(f"      {printable(d.id)}"[:80])
        for c in d.chains[:3]:
            lines.append(_wrapped(f"{c.probability:.2f}  {c.why}", "  "))
            lines.append(_wrapped(c.sentence, "        "))
            lines += [_wrapped(f"described by {x}", "        ") for x in c.described[:2]]
            if c.hangs_on:
                lines.append(_wrapped(f"hangs on {c.hangs_on}", "        "))
        parts.append("\n".join(lines))
    return joined(parts)


def _wrapped(text: str, indent: str, most: int = 400) -> str:
    return filled(printable(textwrap.shorten(text, most, placeholder=" …")), indent, indent + "  ")
