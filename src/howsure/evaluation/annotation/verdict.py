"""An `Agreement` in a few sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from howsure.evaluation.annotation.result import Agreement, Crowd

RELIABLE, TENTATIVE = 0.8, 0.667  # Krippendorff's limits for drawing conclusions, and for tentative ones


def verdict(a: Agreement) -> str:
    """Agreement beside chance, what α allows, and what became of the crowd."""
    return " ".join([_agreement(a), *([] if a.crowd is None else _crowd(a.crowd))])


def _agreement(a: Agreement) -> str:
    who = "The two annotators" if len(a.ratings.annotators) == 2 else f"The {len(a.ratings.annotators):,} annotators"
    if a.observed is None:
        return f"{who} have no item in common: agreement cannot be measured."
    alpha = a.alpha
    said = f"{who} agree on {_percent(a.observed.value)} of pairs of labels"
    if alpha.value is None or alpha.expected is None:
        return f"{said}, but {alpha.reason}."
    said += f", where chance alone gives {_percent(alpha.expected)}: Krippendorff's α is {alpha.value:.2f}"
    if alpha.low is None or alpha.high is None:
        return f"{said}, on too few items for an interval."
    said += f" [{alpha.low:.2f}, {alpha.high:.2f}],"
    if alpha.low >= RELIABLE:
        return f"{said} reliable."
    if alpha.value >= RELIABLE:
        return f"{said} reliable at best: the interval reaches below {RELIABLE}."
    if alpha.value >= TENTATIVE:
        return f"{said} enough for tentative conclusions only ({RELIABLE} is usually asked for)."
    if alpha.low > 0.0:
        return f"{said} better than chance but below the {TENTATIVE} usually asked for: mend the guidelines."
    return f"{said} not clearly better than chance."


def _crowd(c: Crowd) -> list[str]:
    said = []
    if c.gold is not None:
        g = c.gold
        sure = ""
        if g.difference.p_value is not None:
            clear = g.difference.p_value < 0.05
            sure = "a clear difference" if clear else "no clear difference"
            sure = f" ({sure}, p {'< 0.001' if g.difference.p_value < 0.001 else f'= {g.difference.p_value:.3f}'})"
        said.append(
            f"Against gold, Dawid-Skene is right on {_percent(g.dawid_skene.value)} of {g.n:,} items, majority vote on "
            f"{_percent(g.majority.value)}{sure}."
        )
    if c.rejected:
        number = len(c.rejected)
        said.append(f"{number:,} annotator{' is' if number == 1 else 's are'} hardly better than chance.")
    return said


def _percent(share: float) -> str:
    """Never 100% unless all."""
    shown = f"{100 * share:.1f}%"
    return "more than 99.9%" if shown == "100.0%" and share < 1.0 else shown
