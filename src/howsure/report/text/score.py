"""A `Score` and a `Split` in words and tables."""

from __future__ import annotations

from howsure.calibration.estimation.intervals import Estimate
from howsure.evaluation.scores.result import Averages, Confusion, Score
from howsure.evaluation.splits import Split
from howsure.report.text.layout import WIDTH, cut, filled, in_groups, joined, limits, notes, printable

MOST_CLASSES = 60
MOST_COLUMNS = 9
MOST_LABELS = 20


def score_text(s: Score) -> str:
    """Verdict first, then the averages, the classes, the matrix and the bounds."""
    groups = in_groups(s.n_groups, "clusters" if s.spans else "groups")
    kind = "tokens" if s.spans else "rows"
    head = [
        f"{s.n:,} {kind}{groups}",
        f"  {'token accuracy' if s.spans else 'accuracy':<16} {_cell(s.accuracy)}".rstrip(),
    ]
    parts = [filled(printable(s.verdict)), "\n".join(head), _averages(s), _classes(s)]
    if s.confusion is not None:
        parts.append(matrix_text(s.confusion))
    if s.baselines:
        lines = [f"{'Bounds':<46} {'accuracy':>9} {'macro ' + s.f_name:>9}"]
        lines += [f"  {cut(b.name, 44):<44} {b.accuracy:>9.4f} {b.macro_f:>9.4f}" for b in s.baselines]
        lines.append(f"  {'this system':<44} {s.accuracy.value:>9.4f} {s.macro.f.value:>9.4f}")
        if s.ceiling is not None:
            top = s.ceiling
            lines.append(f"  {'a second annotator (ceiling)':<44} {top.accuracy.value:>9.4f} {top.macro.f.value:>9.4f}")
        parts.append("\n".join(lines))
    elif s.ceiling is not None:
        parts.append(f"Ceiling, a second annotator: micro {s.f_name} {s.ceiling.micro.f!r}")
    return joined([*parts, *notes(s.notes)])


def _averages(s: Score) -> str:
    def line(name: str, a: Averages) -> str:
        return f"  {name:<10} {_cell(a.precision)}  {_cell(a.recall)}  {_cell(a.f)}".rstrip()

    heads = f"  {'':<10} {'precision':<22} {'recall':<22} {s.f_name:<22}".rstrip()
    return "\n".join([heads, line("macro", s.macro), line("micro", s.micro), line("weighted", s.weighted)])


def _cell(e: Estimate | None) -> str:
    if e is None:
        return f"{'–':<21}"
    return f"{e.value:.3f} {limits(e, '.3f'):<15}"


def _classes(s: Score) -> str:
    lines = [f"  {'':<16} {'gold':>7} {'pred.':>7}  {'prec.':>6} {'recall':>6}  {s.f_name} (interval)"]
    for c in s.classes[:MOST_CLASSES]:
        p, r = (f"{'–':>6}" if e is None else f"{e.value:>6.3f}" for e in (c.precision, c.recall))
        note = " *" if c.note else ""
        lines.append(f"  {cut(c.label, 16):<16} {c.gold:>7,} {c.predicted:>7,}  {p} {r}  {_cell(c.f).rstrip()}{note}")
    if len(s.classes) > MOST_CLASSES:
        lines.append(f"  … {len(s.classes) - MOST_CLASSES:,} more (--json lists all)")
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


def split_text(s: Split) -> str:
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
        if len(s.labels) > MOST_LABELS:
            lines.append(f"  … {len(s.labels) - MOST_LABELS:,} more (--json lists all)")
    for reason, rows in s.left_out.items():
        lines += ["", filled(f"Left out: {rows:,} rows, because {reason}.")]
    return "\n".join(lines) + "\n"
