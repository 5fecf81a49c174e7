"""A count in words and tables."""

from typing import Any

from howsure.counting.result import CellCount, Counts, Drawn, Labelled, percent, percent_range
from howsure.report.text.layout import and_more, cut, filled, joined, notes, printable

MOST_CELLS = 60


def counts_text(c: Counts) -> str:
    """Verdict first, then the three counts side by side, the cells, the strata and what more labels would bring."""
    tables = [_cells(c), _coefficients(c) if c.coefficients else "", _strata(c)]
    need = "" if c.need is None else filled(need_words(c))
    return joined([filled(printable(c.verdict)), _headline(c), *tables, need, *notes(c.notes)])


def need_words(c: Counts) -> str:
    """How many more labels the interval takes."""
    assert c.need is not None
    low, high = c.share.limits
    now, goal = 100 * (high - low) / 2, 100 * c.need.half_width
    if not c.need.more:
        return f"The interval is ±{now:.2g} points: ±{goal:.3g} is reached, no more labels are needed."
    return f"The interval is ±{now:.2g} points. For ±{goal:.3g}: about {c.need.more:,} more labels, {c.need.n_labels:,} in all."


def _headline(c: Counts) -> str:
    def line(name: str, share: str, count: str, remark: str = "") -> str:
        return f"  {name:<22} {share:>24} {count:>12}  {remark}".rstrip()

    scale = max(c.share.value, (c.share.high or 0) / 2)
    between = f"{c.count.low:,.0f} to {c.count.high:,.0f}"
    rows = [
        f"{c.n_items:,} items, {c.n_labels:,} labelled ({c.n_positive:,} positive); design: {c.design}",
        line("", f"share ({100 * c.confidence_level:g}%)", "count"),
        line("labels and model", percent_range(c.share), f"{c.count.value:,.0f}", between),
        line("labels only", percent_range(c.labels_only), f"{c.labels_only.value * c.n_items:,.0f}"),
        line("sum of probabilities", f"{percent(c.raw_share, scale)}%", f"{c.raw:,.0f}", "not corrected"),
    ]
    return "\n".join(rows)


def _cells(c: Counts) -> str:
    titles = {
        f"Each {c.every or 'step'}": [x for x in c.cells if x.period and not x.group],
        f"Each {c.by}": [x for x in c.cells if x.group and not x.period],
        f"Each {c.every} and {c.by}": [x for x in c.cells if x.group and x.period],
    }
    return "\n\n".join(_section(printable(title), chosen) for title, chosen in titles.items() if chosen)


def _section(title: str, cells: list[CellCount]) -> str:
    width = min(max(len(x.name) for x in cells), 16)
    lines = [
        f"{title}; P(more): than {'in the period before' if cells[0].period else 'in all others'}",
        f"  {'':<{width}} {'items':>7} {'labels':>6} {'count':>7}  {'share':<20} {'sum of q':>8} P(more)",
    ]
    for x in cells[:MOST_CELLS]:
        more = "" if x.change is None else f"{x.change.p_more:.2f}"
        lines.append(
            f"  {cut(x.name, width):<{width}} {x.n_items:>7,} {x.n_labels:>6,} {x.count.value:>7,.0f}  "
            f"{'–' if x.share is None else percent_range(x.share):<20} {x.raw:>8,.0f} {more:>7}".rstrip()
        )
    lines += and_more(cells, MOST_CELLS)
    return "\n".join(lines)


def _coefficients(c: Counts) -> str:
    lines = ["Regression of the label, in points of the share", f"  {'':<28} {'corrected':<26} {'of q alone':>10}"]
    for b in c.coefficients:
        low, high = b.value.limits
        shown = f"{100 * b.value.value:+.2f} ({100 * low:+.2f} to {100 * high:+.2f})"
        lines.append(f"  {cut(b.name, 28):<28} {shown:<26} {100 * b.raw:>+10.2f}")
    return "\n".join(lines)


def _strata(c: Counts) -> str:
    lines = [
        "Strata of probability",
        f"  {'probability':<18} {'items':>9} {'labels':>6} {'mean q':>7}  {'positive':<20} next label",
    ]
    for s in c.strata:
        positive = f"{100 * s.mean_prob:>6.1f}%  {percent_range(s.share):<20}"
        lines.append(f"  {_span(s):<18} {s.n_items:>9,} {s.n_labels:>6,} {positive} {s.next_label:.2f}")
    lines.append("  next label: what one more label would bring there, relative to the best")
    return "\n".join(lines)


def drawn_text(d: Drawn) -> str:
    """Verdict first, then the strata."""
    lines = [f"  {'probability':<18} {'items':>10} {'labelled':>8} {'drawn':>6} {'inclusion':>10}"]
    for s in d.strata:
        lines.append(f"  {_span(s):<18} {s.n_items:>10,} {s.n_labels:>8,} {s.n_drawn:>6,} {s.inclusion:>10.3g}")
    return joined([filled(printable(d.verdict)), "\n".join(lines)])


def _span(s: Any) -> str:
    """The probabilities of a stratum."""
    return f"{s.from_prob:.2g}" if s.from_prob == s.to_prob else f"{s.from_prob:.2g} to {s.to_prob:.2g}"


def labelled_text(made: Labelled) -> str:
    """Verdict first; then what several people agree on and, of an exploration, the count."""
    parts = [filled(printable(made.verdict))]
    if len(made.people) > 1:
        lines = [f"  {'annotator':<20} {'items':>6} {'yes':>6}"]
        lines += [f"  {cut(who, 20):<20} {n:>6,} {yes:>6,}" for who, n, yes in made.people]
        parts.append("\n".join(lines))
    if made.agreement is not None:
        parts.append(made.agreement.to_text().rstrip("\n"))
    if made.counts is not None:
        parts += [_headline(made.counts), _strata(made.counts), *notes(made.counts.notes)]
    return joined(parts)
