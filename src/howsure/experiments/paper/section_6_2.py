"""§6.2's error analysis: documents whose probability is near ½, and what their doubt hangs on.

The paper read such documents. Here the kinds of doubt are computed from each answer's chain of mentions, so that their
shares can be set beside those of sure answers; of the documents only names and numbers are kept.
"""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from howsure.calibration.estimation.intervals import Estimate
from howsure.evaluation.annotation.agreement import mean_share
from howsure.events.exploration import Exploration
from howsure.events.ranking import said_between
from howsure.events.storage import read_table
from howsure.experiments.explored import TITLES, Pair, asked, explored, gold_pairs, proposed_pairs
from howsure.experiments.findings import Finding, Verdict, finding_on, held, notes_on, shown, untested
from howsure.experiments.registry import Work
from howsure.experiments.result import Figure, Table
from howsure.models.coreference.mentions import PRONOUNS
from howsure.plots.panels import share_panels
from howsure.report.text.layout import limits

NEAR = 0.25  # from one half
SURE = 0.95
HINGE = 0.5  # what one link must change to decide the answer
SHOWN = 12
RANGES = ((0.0, 0.05), (0.05, 0.25), (0.25, 0.75), (0.75, 0.95), (0.95, 1.0))


@dataclass(frozen=True, slots=True)
class Doubt:
    """An answer (document, actor) and its likeliest chain of mentions, in numbers."""

    document: str
    actor: str
    probability: float
    pronoun: bool  # the agent of the verb is one
    links: int  # between the agent and a mention that names the actor
    hinge: float  # what the most uncertain link changes in the probability
    sentences: int  # from the agent back to that mention
    rivals: int  # other actors that may be the agent in this document

    @property
    def kinds(self) -> tuple[bool, ...]:
        """One for each of `KINDS`."""
        return (self.links > 0, self.hinge >= HINGE, self.pronoun, self.sentences > 2, self.links == 0, self.rivals > 0)


KINDS = (
    "the agent is not named where it acts: a link to another mention is needed",
    "one link decides: with it or without it the probability differs by ½ or more",
    "the agent is a pronoun",
    "the actor is named more than two sentences from where it acts",
    "no link is needed: the agent itself is named",
    "another actor may be the agent in the same document",
)


@dataclass(frozen=True, slots=True)
class Range:
    """Answers whose probability lies in a range: how many, and how often the one-best answer is wrong."""

    low: float
    high: float
    n: int
    wrong: Estimate | None


def settings(quick: bool) -> dict[str, Any]:
    """As figure 6, whose explorations are used."""
    return {"quick": quick, "limit": 60 if quick else None, "samples": 400}


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Doubts of both questions; errors where people have said who did it."""
    found = {q: explored(work, settings, q, samples=settings["samples"]) for q in asked(settings)}
    doubted = {q: doubts(e) for q, e in found.items()}
    errors: dict[str, list[Range]] = {}
    if settings["data"] == "muc":
        for q, e in found.items():
            required, optional = gold_pairs(q)
            errors[q] = ranges(proposed_pairs(e, required, optional))
    both = [d for ds in doubted.values() for d in ds]
    near_and_sure = {"low": 0.5 - NEAR, "high": 0.5 + NEAR, "sure": SURE}
    by_question = ", ".join(f"{q}: {len(ds):,}" for q, ds in doubted.items())
    tables = [_kinds(both)]
    if errors:
        rows = tuple((q, f"{r.low:g} – {r.high:g}", r.n, shown(r.wrong, 2)) for q, rs in errors.items() for r in rs)
        columns = ("question", "probability", "answers", "wrong [95%]")
        tables.append(Table("errors", "How often the one-best answer is wrong", columns, rows))
    return {
        "findings": findings(both, errors),
        "figures": (_figure(errors),) if errors else (),
        "tables": (*tables, _nearest(doubted)),
        "notes": notes_on("section-6.2", **near_and_sure, n=len(both), by_question=by_question),
        "data": TITLES[settings["data"]],
    }


def doubts(found: Exploration) -> list[Doubt]:
    """Every answer of an exploration with a probability above 0 and a chain, the nearest to ½ first."""
    columns = ["id", "text", "token_starts", "token_ends", "sentence_starts"]
    documents = {d["id"]: d for d in read_table(found.folder, "documents", columns)}
    rows = read_table(found.folder, "events", ["id", "actor", "probability"])
    answers = {(r["id"], r["actor"]): r["probability"] for r in rows if r["probability"] > 0}
    rivals = Counter(document for document, _ in answers)
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for chain in read_table(found.folder, "chains"):
        key = chain["id"], chain["actor"]
        if key in answers and (key not in best or chain["probability"] > best[key]["probability"]):
            best[key] = chain
    made = [_doubt(documents[d], c, answers[d, a], rivals[d] - 1) for (d, a), c in best.items()]
    return sorted(made, key=lambda d: (abs(d.probability - 0.5), d.document, d.actor))


def _doubt(document: dict[str, Any], chain: dict[str, Any], probability: float, rivals: int) -> Doubt:
    start, sentences = chain["agent_start"], document["sentence_starts"]
    agent = said_between(document, start, chain["agent_end"]).lower()
    at = bisect_right(sentences, start)
    named = [abs(at - bisect_right(sentences, d["word"])) for d in chain["described"]]
    hinge = 0.0 if chain["with_link"] is None else chain["with_link"] - chain["without_link"]
    numbers = len(chain["links"]), hinge, min(named, default=0), rivals
    return Doubt(chain["id"], chain["actor"], probability, agent in PRONOUNS, *numbers)


def ranges(pairs: list[Pair]) -> list[Range]:
    """How often the one-best answer is not what people say, by the probability of an event."""
    q = np.array([p.probability for p in pairs])
    wrong = np.array([p.best != p.gold for p in pairs], dtype=float)
    document = np.unique([p.document for p in pairs], return_inverse=True)[1].astype(np.int64)
    made = []
    for low, high in RANGES:
        inside = (q >= low) & ((q < high) | (high == 1.0))
        share = mean_share(wrong[inside], document[inside], 0.95) if inside.any() else None
        made.append(Range(low, high, int(inside.sum()), share))
    return made


def near(d: Doubt) -> bool:
    """Whether an answer is near ½."""
    return abs(d.probability - 0.5) <= NEAR


def _kinds(doubted: list[Doubt]) -> Table:
    close, sure = _near_and_sure(doubted)
    rows = []
    for i, kind in enumerate(KINDS):
        counts = [(sum(d.kinds[i] for d in group), len(group)) for group in (close, sure)]
        rows.append((kind, *(f"{n} ({n / of:.0%})" if of else "–" for n, of in counts)))
    columns = ("kind of doubt", f"near ½ (n = {len(close)})", f"sure (n = {len(sure)})")
    return Table("kinds", "What the doubt hangs on (an answer may have several)", columns, tuple(rows))


def _nearest(doubted: dict[str, list[Doubt]]) -> Table:
    rows = tuple(
        (d.document, q, d.actor, f"{d.probability:.3f}", d.links, f"{d.hinge:.2f}", d.sentences, d.rivals)
        for q, ds in doubted.items()
        for d in ds[:SHOWN]
        if near(d)
    )
    columns = ("document", "question", "actor", "probability", "links", "one link changes", "sentences apart", "rivals")
    return Table("nearest", "The documents nearest to ½", columns, rows)


def _figure(errors: dict[str, list[Range]]) -> Figure:
    caption = "How often the one-best answer is wrong, by the probability given"
    records = []
    for q, r in ((q, r) for q, rs in errors.items() for r in rs):
        if r.wrong is not None:
            low, high = (r.wrong.value if end is None else end for end in (r.wrong.low, r.wrong.high))
            at = {"panel": q, "range": f"{r.low:g} – {r.high:g}", "share": r.wrong.value, "low": low, "high": high}
            records.append({**at, "label": f"n = {r.n}"})
    drawn = share_panels(records, title=caption, y_title="one-best is wrong")
    return Figure("errors", caption + ", with 95% intervals over documents.", drawn)


def findings(doubted: list[Doubt], errors: dict[str, list[Range]]) -> tuple[Finding, ...]:
    """The claims in the paper's order."""
    return wrong_where_unsure(errors), hangs_on_links(doubted), many_actors(doubted)


def wrong_where_unsure(errors: dict[str, list[Range]]) -> Finding:
    """Are uncertain answers wrong more often?"""
    claim = "section-6-2/wrong-where-unsure"
    if not errors:
        why = "There are no labels to tell: MUC's keys are not below HOWSURE_DATA."
        return replace(untested(claim, why), paper="–")
    rs = errors["violence" if "violence" in errors else "attack"]
    asked = {"near ½": rs[2], "sure of an event (q ≥ 0.95)": rs[-1], "sure of none (q < 0.05)": rs[0]}
    middle, yes, no = asked.values()
    shares = [0.0 if r.wrong is None else r.wrong.value for r in asked.values()]
    told = []
    for (name, r), s in zip(asked.items(), shares, strict=True):
        told.append(f"{name} {s:.0%} of {r.n} {limits(r.wrong, '.0%')}".rstrip())
    near, than_yes, than_no = "more often than on either side.", _above(middle, yes), _above(middle, no)
    if not (than_yes and than_no):
        near = (
            f"{'more often than' if than_no else 'no more often, clearly, than'} where there is surely no event, and "
            f"{'more often than' if than_yes else 'not clearly more often than'} where there surely is one. A probability of 0.95 and more should be wrong "
            "in 5% at most: that doubt is not about coreference, and this posterior does not know of it. What it is was not studied."
        )
    return finding_on(claim, "extended", doubted=", ".join(told), near=near, shares=shares, n=middle.n)


def _above(a: Range, b: Range) -> bool:
    """Whether one share is above another, their 95% intervals apart."""
    if a.wrong is None or b.wrong is None or a.wrong.low is None or b.wrong.high is None:
        return False
    return a.wrong.low > b.wrong.high


def _near_and_sure(doubted: list[Doubt]) -> tuple[list[Doubt], list[Doubt]]:
    return [d for d in doubted if near(d)], [d for d in doubted if d.probability >= SURE]


def hangs_on_links(doubted: list[Doubt]) -> Finding:
    """Does a single link decide?"""
    close, sure = _near_and_sure(doubted)
    n, linked = len(close), sum(d.links > 0 for d in close)
    decided = sum(d.hinge >= HINGE for d in close)
    named = f" In {n - linked} the agent itself is named, and doubted because it may be one entity with another actor, "
    named += "which the rule of a unique actor then throws out."
    return finding_on(
        "section-6-2/hangs-on-links",
        "not tested" if not n else held(linked > n / 2),
        {"n": n, "linked": linked, "decided": decided, "share": decided / n if n else 0.0},
        pronouns=sum(d.pronoun for d in close),
        n_sure=len(sure),
        easy=sum(d.links > 0 for d in sure),
        named=named if linked < n else "",
    )


def many_actors(doubted: list[Doubt]) -> Finding:
    """Do many actors in a document make doubt?"""
    close, sure = _near_and_sure(doubted)
    shares = [sum(d.rivals > 0 for d in g) / len(g) if g else 0.0 for g in (close, sure)]
    verdict: Verdict = "not tested" if not close or not sure else held(shares[0] > shares[1])
    return finding_on("section-6-2/many-actors", verdict, shares=shares, n=len(close), n_sure=len(sure))
