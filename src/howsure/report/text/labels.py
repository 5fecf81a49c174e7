"""Scores, splits, agreement and comparisons in words and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from howsure.report.text.layout import WIDTH, and_more, cut, filled, in_groups, joined, limits, notes, p_text, printable

if TYPE_CHECKING:
    import howsure
    from howsure.calibration.comparing.difference import Difference
    from howsure.calibration.estimation.intervals import Estimate
    from howsure.evaluation.annotation.result import Crowd
    from howsure.evaluation.contests.ranks import Ranks
    from howsure.evaluation.contests.result import Duel
    from howsure.evaluation.scores.result import Confusion

MOST_CLASSES = 60
MOST_COLUMNS = 9
MOST_LABELS = 20


def score_text(s: howsure.Score) -> str:
    """Verdict first, then the averages, the classes, the matrix and the bounds."""
    rows = f"{s.n:,} {'tokens' if s.spans else 'rows'}{in_groups(s.n_groups)}"
    right = f"  {'token accuracy' if s.spans else 'accuracy':<16} {_cell(s.accuracy)}".rstrip()
    means = [f"  {'':<10} {'precision':<22} {'recall':<22} {s.f_name:<22}".rstrip()]
    for name, m in (("macro", s.macro), ("micro", s.micro), ("weighted", s.weighted)):
        means.append(f"  {name:<10} {_cell(m.precision)}  {_cell(m.recall)}  {_cell(m.f)}".rstrip())
    parts = [filled(printable(s.verdict)), f"{rows}\n{right}", "\n".join(means), _classes(s)]
    if s.confusion is not None:
        parts.append(matrix_text(s.confusion))
    if s.baselines:
        lines = [f"{'Bounds':<46} {'accuracy':>9} {'macro ' + s.f_name:>9}"]
        bounds = [(b.name, b.accuracy, b.macro_f) for b in s.baselines]
        bounds.append(("this system", s.accuracy.value, s.macro.f.value))
        if s.ceiling is not None:
            bounds.append(("a second annotator (ceiling)", s.ceiling.accuracy.value, s.ceiling.macro.f.value))
        parts.append("\n".join(lines + [f"  {cut(name, 44):<44} {a:>9.4f} {f:>9.4f}" for name, a, f in bounds]))
    elif s.ceiling is not None:
        parts.append(f"Ceiling, a second annotator: micro {s.f_name} {s.ceiling.micro.f!r}")
    return joined([*parts, *notes(s.notes)])


def _cell(e: Estimate | None) -> str:
    if e is None:
        return f"{'–':<21}"
    return f"{e.value:.3f} {limits(e, '.3f'):<15}"


def _classes(s: howsure.Score) -> str:
    lines = [f"  {'':<16} {'gold':>7} {'pred.':>7}  {'prec.':>6} {'recall':>6}  {s.f_name} (interval)"]
    for c in s.classes[:MOST_CLASSES]:
        p, r = (f"{'–':>6}" if e is None else f"{e.value:>6.3f}" for e in (c.precision, c.recall))
        note = " *" if c.note else ""
        lines.append(f"  {cut(c.label, 16):<16} {c.gold:>7,} {c.predicted:>7,}  {p} {r}  {_cell(c.f).rstrip()}{note}")
    lines += and_more(s.classes, MOST_CLASSES)
    if any(c.note for c in s.classes):
        lines.append("  * never in gold, or never predicted: – is 0/0, and counts as 0 in macro")
    return "\n".join(lines)


def matrix_text(c: Confusion) -> str:
    """The matrix itself where it fits, else the commonest mistakes."""
    if len(c.labels) > MOST_COLUMNS:
        lines = ["Commonest mistakes", f"  {'gold':<24} {'taken for':<24} {'rows':>9}  share of gold"]
        for m in c.most_confused():
            gold, said = cut(m["gold"], 24), cut(m["predicted"], 24)
            lines.append(f"  {gold:<24} {said:<24} {m['n']:>9,}  {100 * m['share']:.1f}%")
        return "\n".join(lines)
    wide = max(len(f"{x:,}") for x in c.counts.ravel().tolist())
    width = min(max([wide, *map(len, c.labels)]), max(wide, (WIDTH - 18) // (len(c.labels) + 1) - 1))
    lines = ["Confusion matrix: gold down, predicted across"]
    lines.append(f"  {'':<14}" + "".join(f" {cut(x, width):>{width}}" for x in c.labels))
    for label, row in zip(c.labels, c.counts.tolist(), strict=True):
        lines.append(f"  {cut(label, 14):<14}" + "".join(f" {x:>{width},}" for x in row))
    return "\n".join(lines)


def split_text(s: howsure.Split) -> str:
    """Verdict first, then the parts and, if stratified, their labels."""
    lines = [filled(printable(s.verdict)), ""]
    head = f"  {'fold' if s.is_folds else 'part':<12} {'rows':>10} {'share':>7} {'asked':>7}"
    head += "" if s.n_groups is None else f" {'groups':>8}"
    lines.append(head + ("" if s.dates is None else f"  {'dates':<19}".rstrip()))
    total = sum(s.sizes.values())
    for i, (name, size) in enumerate(s.sizes.items()):
        row = f"  {cut(name, 12):<12} {size:>10,} {size / total:>7.1%} {s.target[i]:>7.1%}"
        row += "" if s.n_groups is None else f" {s.n_groups[i]:>8,}"
        row += "" if s.dates is None else f"  {s.dates[i][0][:10]} – {s.dates[i][1][:10]}"
        lines.append(row)
    if s.label_counts is not None:
        lines += ["", "  shares of the labels"]
        shares = s.label_counts / s.label_counts.sum(axis=1, keepdims=True)
        names = [cut(n, 9) for n in s.names[:6]]
        lines.append(f"  {'':<20}" + "".join(f" {n:>9}" for n in names))
        for j, label in enumerate(s.labels[:MOST_LABELS]):
            lines.append(f"  {cut(label, 20):<20}" + "".join(f" {v:>9.1%}" for v in shares[:6, j]))
        lines += and_more(s.labels, MOST_LABELS)
    for reason, rows in s.left_out.items():
        lines += ["", filled(f"Left out: {rows:,} rows, because {reason}.")]
    return "\n".join(lines) + "\n"


MOST_PAIRS = 10
MOST_CONFUSED = 10
MOST_ITEMS = 10
MOST_ANNOTATORS = 15


def agreement_text(a: howsure.Agreement) -> str:
    """Verdict first, then the coefficients, pairs, confusions, items to look at, and the crowd."""
    parts = [filled(printable(a.verdict)), _coefficients(a)]
    if len(a.ratings.annotators) > 2 or a.pairs:
        parts.append(_pairs(a))
    if len(a.ratings.labels) > 2 and a.confused:
        lines = ["Labels taken for one another", f"  {'':<40} {'of disagreement':>15} {'by chance':>10} {'items':>8}"]
        for c in a.confused[:MOST_CONFUSED]:
            name = f"{cut(c.a, 18)} / {cut(c.b, 18)}"
            lines.append(f"  {name:<40} {c.share:>15.1%} {c.chance:>10.1%} {c.n_items:>8,}")
        parts.append("\n".join(lines))
    if a.disputed:
        lines = ["Items with most disagreement: look at these to revise the guidelines"]
        for d in a.disputed[:MOST_ITEMS]:
            lines.append(f"  {cut(d.item, 24):<24} {d.disagreement:>6.0%} of pairs   {cut(d.described, 36)}")
        parts.append("\n".join(lines))
    if a.crowd is not None:
        parts.append(_crowd(a, a.crowd))
    said = [f"Left out: {rows:,}, {reason}." for reason, rows in a.left_out.items()]
    said += [f"Note: {printable(note)}" for note in a.notes]
    return joined([*parts, "\n".join(filled(line, hanging="  ") for line in said)])


def _coefficients(a: howsure.Agreement) -> str:
    r = a.ratings
    lines = [
        f"{len(r.label):,} labels ({len(r.labels)} classes) of {len(r.items):,} items{in_groups(a.n_groups)} "
        f"by {len(r.annotators):,} annotators",
        f"  {'':<30} {'value':>7}  {f'{a.confidence_level:.0%} interval':<17} {'agreed':>7} {'by chance':>10}",
    ]
    if a.observed is not None:
        lines.append(f"  {'raw agreement':<30} {a.observed.value:>7.3f}  {limits(a.observed, '.3f')}".rstrip())
    empty = []
    for c in a.shown_coefficients:
        if c.value is None:
            empty.append(filled(f"{c.name}: – ({c.reason})", "  ", "    "))
            continue
        seen = "" if c.observed is None or c.expected is None else f"{c.observed:>7.3f} {c.expected:>10.3f}"
        lines.append(f"  {c.name:<30} {c.value:>7.3f}  {limits(c, '.3f'):<17} {seen}".rstrip())
    return "\n".join(lines + empty)


def _pairs(a: howsure.Agreement) -> str:
    if not a.pairs:
        return "No two annotators have an item in common." if not a.notes else ""
    shown = a.pairs[:MOST_PAIRS]
    lines = [
        "Pairs of annotators, most items in common first"
        if len(a.pairs) > 1
        else f"{cut(shown[0].a, 30)} and {cut(shown[0].b, 30)}",
        f"  {'':<25} {'items':>6} {'agreed':>7} {'chance':>7} {'Cohen κ':>8}  interval",
    ]
    for p in shown:
        c = p.kappa
        name = f"{cut(p.a, 12)} / {cut(p.b, 12)}" if len(a.pairs) > 1 else ""
        value = "–" if c.value is None else f"{c.value:.3f}"
        chance = "" if c.expected is None else f"{c.expected:.3f}"
        row = f"  {name:<27} {p.n:>4,} {p.observed:>7.3f} {chance:>7} {value:>8}  {limits(c, '.3f')}"
        lines.append(row.rstrip())
        for x in p.coefficients[1:] if len(a.pairs) == 1 else ():
            one = f"  {x.name}: –" if x.value is None else f"  {x.name:<48} {x.value:>8.3f}  {limits(x, '.3f')}"
            lines.append(one.rstrip())
    empty = dict.fromkeys(p.kappa.reason for p in shown if p.kappa.reason)
    lines += [filled(f"–: {reason}", "  ", "    ") for reason in empty]
    if len(a.pairs) > MOST_PAIRS:
        lines.append(f"  … {len(a.pairs) - MOST_PAIRS:,} more (--json lists all, with Scott's π and weighted κ)")
    return "\n".join(lines)


def _crowd(a: howsure.Agreement, c: Crowd) -> str:
    r = a.ratings
    lines = [f"One label per item ({c.majority.n_ties:,} of {len(r.items):,} votes are tied)"]
    if c.gold is not None:
        g = c.gold
        lines.append(f"  {f'right, of {g.n:,} with gold':<30} {'share':>7}  interval")
        for name, e in (("majority vote (ties are shared)", g.majority), ("Dawid-Skene", g.dawid_skene)):
            lines.append(f"  {name:<31} {e.value:>6.3f}  {limits(e, '.3f')}".rstrip())
        if g.calibration is not None and (off := g.calibration.error) is not None:
            lines.append(f"  calibration error of its P(label) {off.value:.3f} {limits(off, '.3f')}, see howsure check")
    for said, needed in (("", c.needed), (", without those to reject", c.needed_without)):
        if needed is not None:
            many = f"more than {len(needed.certainty)}" if needed.n is None else f"{needed.n}"
            lines.append(f"  {f'labels an item needs to be {needed.target:.0%} sure{said}':<61} {many}")
    shown, head = c.rejected, f"Annotators to reject: skill (0 is chance) surely below {c.reject_below:g}; agree on"
    if not shown:
        shown, head = c.annotators, "None to reject. Annotators by skill (0 is chance, 1 is perfect); agree on"
    lines += ["", head]
    for m in shown[:MOST_ANNOTATORS]:
        skill = "–" if m.skill is None else f"{m.skill:.3f}"
        evidence = cut(m.evidence.removeprefix("agrees with the others on "), 36)
        lines.append(f"  {cut(m.name, 16):<16} {skill:>6} {limits(m, '.3f'):<17} {evidence}")
    lines += and_more(shown, MOST_ANNOTATORS)
    if c.n_unclear:
        who = "more" if c.rejected else "of them"
        lines.append(f"  {c.n_unclear:,} {who} labelled too little to distinguish from chance")
    return "\n".join(lines)


MOST_SLICES = 40
MOST_DUELS = 20
DIFFERENCES = "Differences: by how much the first is better (positive favours the first)"


def comparison_text(c: howsure.Comparison) -> str:
    """Verdict first, then the models, the differences and the slices."""
    parts = [filled(printable(c.verdict))]
    lines = [
        f"{c.n:,} rows{in_groups(c.n_groups)}",
        f"  {'':<20} {'RMS error':>9}  {'interval':<16} {'bias':>8} {'Brier':>7} {'log loss':>9}",
    ]
    for name, k in c.by_model.items():
        error = f"{k.error.value:>9.4f}  [{k.error.low:.4f}, {k.error.high:.4f}]" if k.error else f"{'–':>9}  {'':<16}"
        loss = "infinite" if k.log_loss.value is None else f"{k.log_loss.value:.4f}"
        lines.append(f"  {cut(name, 20):<20} {error} {k.bias.gap.value:>+8.4f} {k.brier.value:>7.4f} {loss:>9}")
    parts.append("\n".join(lines))
    lines = [DIFFERENCES]
    for p in c.pairs:
        lines.append(f"  {cut(p.a, 30)} against {cut(p.b, 30)}")
        losses = {"squared calibration error": p.error_squared, "Brier score": p.brier, "log loss": p.log_loss}
        lines += [f"    {label:<26} {_difference(d)}" for label, d in losses.items()]
    parts.append("\n".join(lines))
    if c.slices:
        parts.append(_slices(c.by, c.models, [(s, s.errors) for s in c.slices]))
    return joined([*parts, *notes(c.notes)])


def _slices(by: str | None, names: Sequence[str], slices: Sequence[tuple[Any, Sequence[float | None]]]) -> str:
    """Slices with the numbers of the first two systems, and the p-value of their difference."""
    a, b = (cut(m, 12) for m in names[:2])
    lines = [
        f"By {printable(by or '')}, clearest difference first:",
        f"  {'':<24} {'rows':>9} {a:>12} {b:>12}  {'adjusted p':>10}",
    ]
    for s, numbers in slices[:MOST_SLICES]:
        shown = [f"{'–' if e is None else f'{e:.4f}':>12}" for e in numbers[:2]]
        p_value = "–" if s.adjusted_p_value is None else f"{s.adjusted_p_value:.3g}"
        lines.append(f"  {cut(s.name, 24):<24} {s.n:>9,} {shown[0]} {shown[1]}  {p_value:>10}")
    return "\n".join(lines + and_more(slices, MOST_SLICES))


def _difference(d: Difference | None) -> str:
    if d is None:
        return "infinite for some rows"
    if d.low is None or d.p_value is None:
        return f"{d.value:+.5f}"
    return f"{d.value:+.5f}  {limits(d, '+.5f')}  p {p_text(d.p_value)}"


def benchmark_text(b: howsure.Benchmark) -> str:
    """Verdict first, then each model on each part, what runs vary by, and neighbours in the order."""
    from howsure.report.tables import verdict_and_table

    head, main = b.scores[0], b.main
    parts = [verdict_and_table(b).rstrip("\n")]
    repeated = [s.runs for s in b.scores if s.runs is not None]
    if repeated:
        said = (
            f"Runs: an item has {head.answers / head.items:.3g} answers of a model. They make up to "
            f"{max(r.share for r in repeated):.0%} of a score's variance: twice the runs would narrow its interval by "
            f"{max(r.twice for r in repeated):.0%}, twice the items by 29%."
        )
        parts.append(filled(said))
    return joined([*parts, "" if main is None else _neighbours(main, b.confidence_level, "items")])


def _neighbours(r: Ranks, level: float, what: str) -> str:
    """Neighbours in the order of systems, with limits that hold for all pairs at once."""
    head = f"Neighbours in the order, on {r.n:,} {what}; limits hold for all pairs at once ({100 * level:g}%)"
    lines = [head, f"  {'':<37} ahead by{what + ' for power 80%':>31}"]
    for p in r.next_pairs[:MOST_DUELS]:
        name, needed = f"{cut(p.a, 17)} / {cut(p.b, 17)}", p.power.rows_for_80_percent
        ahead = f"{p.difference:.4f} {limits(p, '+.4f')}"
        lines.append(f"  {name:<37} {ahead:<26} {'–' if needed is None else f'{needed:,}':>12}")
    return "\n".join(lines + and_more(r.next_pairs, MOST_DUELS))


def contest_text(c: howsure.Contest) -> str:
    """Verdict first, then the systems, the differences with their tests, and the power."""
    also = c.metric != "accuracy"
    head = f"  {'':<24} {c.metric_name[:24]:<24}" + ("accuracy  " if also else "") + ("place" if c.ranks else "")
    lines = [f"{c.n:,} rows{in_groups(c.n_groups)}", head.rstrip()]
    for s in c.systems:
        value = f"{s.value.value:.4f} {limits(s.value)}"
        right = f"{s.accuracy.value:.4f}    " if also else ""
        place = c.ranks.by_name[s.name].places if c.ranks else ""
        lines.append(f"  {cut(s.name, 24):<24} {value:<24}{right}{place}".rstrip())
    parts = [filled(printable(c.verdict)), "\n".join(lines)]
    parts += [] if c.ranks is None else [_neighbours(c.ranks, c.confidence_level, "rows")]
    shown = sorted(c.duels, key=lambda d: d.tests[0].p_value)[:MOST_DUELS] if len(c.duels) > 1 else c.duels
    more = [f"  … {len(c.duels) - MOST_DUELS:,} more pairs (--json lists all)"] if len(c.duels) > MOST_DUELS else []
    parts.append("\n".join([DIFFERENCES, *_duels(c, shown), *more]))
    if c.slices:
        parts.append(_slices(c.by, [s.name for s in c.systems], [(s, s.accuracies) for s in c.slices]))
    if c.calibration is not None:
        what = "that the label is right" if c.positive is None else f"of {c.positive!r}"
        columns = f"  {'':<20} {'RMS error':<25} {'bias':>10}  {'calibrated?':<12} {'Brier':>6}"
        lines = [f"Probabilities {what}", columns]
        for name, k in c.calibration.by_model.items():
            error = "–" if k.error is None else repr(k.error)
            p = "–" if k.p_value is None else f"p {p_text(k.p_value)}"
            lines.append(f"  {cut(name, 20):<20} {error:<25} {k.bias.gap.value:>+10.4f}  {p:<12} {k.brier.value:>6.4f}")
        parts.append("\n".join(lines))
    return joined([*parts, *notes(c.notes)])


def _duels(c: howsure.Contest, duels: Sequence[Duel]) -> list[str]:
    lines = []
    for d in duels:
        said = {"effect size δ(x)": f"{d.difference.value:+z.4f}  {limits(d.difference, '+.4f')}"}
        if d.a_only is not None:
            said["only one right"] = f"first {d.a_only:,}, second {d.b_only:,}"
        said |= {t.name: f"p {p_text(t.p_value)}" for t in d.tests}
        said["paired bootstrap"] += f"  (one-sided {p_text(d.bootstrap.p_one_sided)})"
        if len(c.duels) > 1 and d.adjusted_p_value is not None:
            said["adjusted for all pairs"] = f"p {p_text(d.adjusted_p_value)}"
        if d.share_of_runs is not None:
            said["variance from runs"] = f"{d.share_of_runs:.0%}"
        if (needed := d.power.rows_needed()) is not None:
            said["rows for power 80%"] = f"{needed:,}"
        if c.planned is not None:
            said[f"power with {c.planned:,} rows"] = f"{100 * d.power.power(c.planned):.0f}%"
        lines.append(f"  {cut(d.a, 24)} against {cut(d.b, 24)}")
        lines += [f"    {name:<26} {value}".rstrip() for name, value in said.items()]
    return lines
