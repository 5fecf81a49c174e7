"""An `Agreement` in words and tables."""

from __future__ import annotations

from howsure.evaluation.annotation.agreement import Coefficient
from howsure.evaluation.annotation.result import Agreement, Crowd
from howsure.report.text.layout import cut, filled, in_groups, joined, limits, printable

MOST_PAIRS = 10
MOST_CONFUSED = 10
MOST_ITEMS = 10
MOST_ANNOTATORS = 15


def agreement_text(a: Agreement) -> str:
    """Verdict first, then the coefficients, pairs, confusions, items to look at, and the crowd."""
    parts = [filled(printable(a.verdict)), _coefficients(a)]
    if len(a.ratings.annotators) > 2 or len(a.pairs[:1]):
        parts.append(_pairs(a))
    if len(a.ratings.labels) > 2 and a.confused:
        parts.append(_confused(a))
    if a.disputed:
        parts.append(_items(a))
    if a.crowd is not None:
        parts.append(_crowd(a, a.crowd))
    said = [f"Left out: {rows:,}, {reason}." for reason, rows in a.left_out.items()]
    said += [f"Note: {printable(note)}" for note in a.notes]
    if said:
        parts.append("\n".join(filled(line, hanging="  ") for line in said))
    return joined(parts)


def _coefficients(a: Agreement) -> str:
    r = a.ratings
    groups = in_groups(a.n_groups)
    lines = [
        f"{len(r.label):,} labels ({len(r.labels)} classes) of {len(r.items):,} items{groups} "
        f"by {len(r.annotators):,} annotators",
        f"  {'':<30} {'value':>7}  {f'{a.confidence_level:.0%} interval':<17} {'agreed':>7} {'by chance':>10}",
    ]
    if a.observed is not None:
        interval = limits(a.observed, ".3f")
        lines.append(f"  {'raw agreement':<30} {a.observed.value:>7.3f}  {interval:<17}".rstrip())
    empty = []
    for c in a.shown_coefficients:
        if c.value is None:
            empty.append(filled(f"{c.name}: – ({c.reason})", "  ", "    "))
            continue
        seen = "" if c.observed is None or c.expected is None else f"{c.observed:>7.3f} {c.expected:>10.3f}"
        lines.append(f"  {c.name:<30} {c.value:>7.3f}  {limits(c, '.3f'):<17} {seen}".rstrip())
    return "\n".join(lines + empty)


def _pairs(a: Agreement) -> str:
    if not a.pairs:
        return "No two annotators have an item in common." if not a.notes else ""
    shown = a.pairs[:MOST_PAIRS]
    lines = [
        "Pairs of annotators, most items in common first"
        if len(a.pairs) > 1
        else f"{cut(shown[0].a, 30)} and {cut(shown[0].b, 30)}",
        f"  {'':<25} {'items':>6} {'agreed':>7} {'chance':>7} {'Cohen κ':>8}  interval",
    ]
    empty: dict[str, int] = {}
    for p in shown:
        c = p.kappa
        name = f"{cut(p.a, 12)} / {cut(p.b, 12)}" if len(a.pairs) > 1 else ""
        value = "–" if c.value is None else f"{c.value:.3f}"
        chance = "" if c.expected is None else f"{c.expected:.3f}"
        interval = limits(c, ".3f")
        lines.append(f"  {name:<27} {p.n:>4,} {p.observed:>7.3f} {chance:>7} {value:>8}  {interval:<17}".rstrip())
        if c.reason:
            empty[c.reason] = empty.get(c.reason, 0) + 1
        if len(a.pairs) == 1:
            lines += [_one(x) for x in p.coefficients[1:]]
    lines += [filled(f"–: {reason}", "  ", "    ") for reason in empty]
    if len(a.pairs) > MOST_PAIRS:
        lines.append(f"  … {len(a.pairs) - MOST_PAIRS:,} more (--json lists all, with Scott's π and weighted κ)")
    return "\n".join(lines)


def _one(c: Coefficient) -> str:
    if c.value is None:
        return f"  {c.name}: –"
    return f"  {c.name:<48} {c.value:>8.3f}  {limits(c, '.3f')}".rstrip()


def _confused(a: Agreement) -> str:
    lines = [
        "Labels taken for one another",
        f"  {'':<40} {'of disagreement':>15} {'by chance':>10} {'items':>8}",
    ]
    for c in a.confused[:MOST_CONFUSED]:
        name = f"{cut(c.a, 18)} / {cut(c.b, 18)}"
        lines.append(f"  {name:<40} {c.share:>15.1%} {c.chance:>10.1%} {c.n_items:>8,}")
    return "\n".join(lines)


def _items(a: Agreement) -> str:
    lines = ["Items with most disagreement: look at these to revise the guidelines"]
    for d in a.disputed[:MOST_ITEMS]:
        lines.append(f"  {cut(d.item, 24):<24} {d.disagreement:>6.0%} of pairs   {cut(d.described, 36)}")
    return "\n".join(lines)


def _crowd(a: Agreement, c: Crowd) -> str:
    r = a.ratings
    lines = [f"One label per item ({c.majority.n_ties:,} of {len(r.items):,} votes are tied)"]
    if c.gold is not None:
        g = c.gold
        lines.append(f"  {f'right, of {g.n:,} with gold':<30} {'share':>7}  {'interval':<17}".rstrip())
        for name, e in (("majority vote (ties are shared)", g.majority), ("Dawid-Skene", g.dawid_skene)):
            lines.append(f"  {name:<31} {e.value:>6.3f}  {limits(e, '.3f')}".rstrip())
        if g.calibration is not None and g.calibration.error is not None:
            e = g.calibration.error
            lines.append(
                f"  {'calibration error of its P(label)':<33} {e.value:.3f} {limits(e, '.3f')}, see howsure check"
            )
    for said, needed in (("labels an item", c.needed), ("without those to reject", c.needed_without)):
        if needed is not None:
            many = f"more than {len(needed.certainty)}" if needed.n is None else f"{needed.n}"
            lines.append(f"  {said + f' needs to be {needed.target:.0%} sure':<52} {many}")
    shown = [m for m in c.annotators if m.verdict == "reject"] or list(c.annotators)
    head = (
        f"Annotators to reject: skill (0 is chance) surely below {c.reject_below:g}; agree on"
        if c.rejected
        else "None to reject. Annotators by skill (0 is chance, 1 is perfect); agree on"
    )
    lines += ["", head]
    for m in shown[:MOST_ANNOTATORS]:
        interval = limits(m, ".3f")
        skill = "–" if m.skill is None else f"{m.skill:.3f}"
        lines.append(
            f"  {cut(m.name, 16):<16} {skill:>6} {interval:<17} {cut(m.evidence.removeprefix('agrees with the others on '), 36)}"
        )
    rest = len(shown) - MOST_ANNOTATORS
    if rest > 0:
        lines.append(f"  … {rest:,} more (--json lists all)")
    if c.n_unclear:
        lines.append(f"  {c.n_unclear:,} more labelled too little to be told from chance")
    return "\n".join(lines)
