"""What the documents near ½ say of the paper's error analysis; every number and verdict is computed from the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howsure.experiments.result import Finding

if TYPE_CHECKING:
    from howsure.experiments.paper.section_6_2 import Doubt, Range


def findings(told: list[Doubt], errors: dict[str, list[Range]]) -> tuple[Finding, ...]:
    """The claims in the paper's order."""
    return wrong_where_unsure(errors), hangs_on_links(told), many_actors(told)


def wrong_where_unsure(errors: dict[str, list[Range]]) -> Finding:
    """Are uncertain answers wrong more often?"""
    claim = "The more uncertain a prediction of a calibrated model is, the more likely it is wrong."
    if not errors:
        why = "There are no labels to tell: MUC's keys are not below HOWSURE_DATA."
        return Finding(claim, "paper §6.2", "not tested", why, {}, paper="–", ours="–")
    rs = errors["violence" if "violence" in errors else "attack"]
    middle, yes, no = rs[2], rs[-1], rs[0]
    shares = [0.0 if r.wrong is None else r.wrong.value for r in (middle, yes, no)]
    told = ", ".join(
        f"{name} {s:.0%} of {r.n}"
        + ("" if r.wrong is None or r.wrong.low is None else f" [{r.wrong.low:.0%}, {r.wrong.high:.0%}]")
        for name, r, s in zip(
            ("near ½", "sure of an event (q ≥ 0.95)", "sure of none (q < 0.05)"), (middle, yes, no), shares, strict=True
        )
    )
    apart = [_above(middle, r) for r in (yes, no)]
    return Finding(
        claim,
        "paper §6.2",
        "confirmed" if all(apart) else "differs",
        f"The one-best answer is wrong: {told} (MUC's keys). "
        + (
            "Near ½ it is wrong more often than on either side."
            if all(apart)
            else f"Near ½ it is wrong {'more often than' if apart[1] else 'no more often, clearly, than'} where there is surely no event, and "
            f"{'more often than' if apart[0] else 'not clearly more often than'} where there surely is one. A probability of 0.95 and more should be wrong "
            "in 5% at most: that doubt is not about coreference, and this posterior does not know of it. What it is was not studied."
        ),
        {
            "wrong_near_half": shares[0],
            "wrong_sure_yes": shares[1],
            "wrong_sure_no": shares[2],
            "n_near_half": middle.n,
        },
        paper="postulated",
        ours=f"wrong near ½ {shares[0]:.0%}; sure of an event {shares[1]:.0%}; sure of none {shares[2]:.0%}",
    )


def _above(a: Range, b: Range) -> bool:
    """Whether one share is above another, their 95% intervals apart."""
    if a.wrong is None or b.wrong is None or a.wrong.low is None or b.wrong.high is None:
        return False
    return a.wrong.low > b.wrong.high


def hangs_on_links(told: list[Doubt]) -> Finding:
    """Does a single link decide?"""
    from howsure.experiments.paper.section_6_2 import HINGE, SURE, near

    close, sure = [d for d in told if near(d)], [d for d in told if d.probability >= SURE]
    linked, decided = sum(d.links > 0 for d in close), sum(d.hinge >= HINGE for d in close)
    pronouns = sum(d.pronoun for d in close)
    easy = sum(d.links > 0 for d in sure)
    n = len(close)
    share = decided / n if n else 0.0
    return Finding(
        "Documents near ½ are hard cases of coreference: an agent is the actor only if it is linked to an earlier mention.",
        "paper §6.2 (“Mr. Hussein” and “President Saddam Hussein of Iraq”)",
        "not tested" if not n else "confirmed" if linked > n / 2 else "differs",
        f"Of {n} answers near ½, {linked} need a link between the agent and a mention that names the actor ({easy} of {len(sure)} sure ones do); in {decided} one "
        f"link decides (the probability with it and without it differ by ½ or more), and {pronouns} have a pronoun for an agent."
        + (
            f" In {n - linked} the agent itself is named, and doubted because it may be one entity with another actor, which the rule of a "
            "unique actor then throws out."
            if linked < n
            else ""
        ),
        {
            "near_half": n,
            "linked": linked,
            "one_link_decides": decided,
            "pronouns": pronouns,
            "sure": len(sure),
            "sure_linked": easy,
        },
        paper="one article: linked in 50% of samples",
        ours=f"{linked} of {n} need a link, {decided} ({share:.0%}) hang on one",
    )


def many_actors(told: list[Doubt]) -> Finding:
    """Do many actors in a document make doubt?"""
    from howsure.experiments.paper.section_6_2 import SURE, near

    close, sure = [d for d in told if near(d)], [d for d in told if d.probability >= SURE]
    shares = [sum(d.rivals > 0 for d in g) / len(g) if g else 0.0 for g in (close, sure)]
    return Finding(
        "Such documents are difficult because they name many countries, and mentions of one are clustered with another's.",
        "paper §6.2",
        "not tested" if not close or not sure else "confirmed" if shares[0] > shares[1] else "differs",
        f"Another actor has a probability above 0 of being the agent in the same document for {shares[0]:.0%} of the {len(close)} answers near ½ and for "
        f"{shares[1]:.0%} of the {len(sure)} sure ones.",
        {"near_half": shares[0], "sure": shares[1]},
        paper="more than 10 countries in the article",
        ours=f"rivals in {shares[0]:.0%} near ½, {shares[1]:.0%} of the sure",
    )
