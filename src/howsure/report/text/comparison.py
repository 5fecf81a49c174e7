"""A `Comparison` of probabilities and a `Contest` of labels, in words and tables."""

from __future__ import annotations

from collections.abc import Sequence

from howsure.calibration.comparing.difference import Difference
from howsure.calibration.comparing.result import Comparison
from howsure.evaluation.contests.result import Contest, Duel
from howsure.report.text.layout import cut, filled, in_groups, joined, limits, notes, p_text, printable

MOST_SLICES = 40
MOST_DUELS = 20


def comparison_text(c: Comparison) -> str:
    """Verdict first, then the models, the differences and the slices."""
    parts = [filled(printable(c.verdict))]
    lines = [
        f"{c.n:,} rows{in_groups(c.n_groups)}",
        f"  {'':<20} {'RMS error':>9}  {'interval':<16} {'bias':>8} {'Brier':>7} {'log loss':>9}",
    ]
    for name, k in zip(c.models, c.calibrations, strict=True):
        error = f"{k.error.value:>9.4f}  [{k.error.low:.4f}, {k.error.high:.4f}]" if k.error else f"{'–':>9}  {'':<16}"
        loss = "infinite" if k.log_loss.value is None else f"{k.log_loss.value:.4f}"
        lines.append(f"  {cut(name, 20):<20} {error} {k.bias.gap.value:>+8.4f} {k.brier.value:>7.4f} {loss:>9}")
    parts.append("\n".join(lines))
    lines = ["Differences (first less second; negative favours the first)"]
    for p in c.pairs:
        lines.append(f"  {cut(p.a, 30)} - {cut(p.b, 30)}")
        for label, d in (("squared error", p.error_squared), ("Brier score", p.brier), ("log loss", p.log_loss)):
            lines.append(f"    {label:<14} {_difference(d)}")
    parts.append("\n".join(lines))
    if c.slices:
        a, b = (cut(m, 12) for m in c.models[:2])
        lines = [
            f"By {printable(c.by or '')}, clearest difference first:",
            f"  {'':<24} {'rows':>9} {a:>12} {b:>12}  {'adjusted p':>10}",
        ]
        for s in c.slices[:MOST_SLICES]:
            errors = [f"{'–' if e is None else f'{e:.4f}':>12}" for e in s.errors[:2]]
            p_value = "–" if s.adjusted_p_value is None else f"{s.adjusted_p_value:.3g}"
            lines.append(f"  {cut(s.name, 24):<24} {s.n:>9,} {errors[0]} {errors[1]}  {p_value:>10}")
        if len(c.slices) > MOST_SLICES:
            lines.append(f"  … {len(c.slices) - MOST_SLICES:,} more (--json lists all)")
        parts.append("\n".join(lines))
    return joined([*parts, *(filled(printable(n)) for n in c.notes)])


def _difference(d: Difference | None) -> str:
    if d is None:
        return "infinite for some rows"
    if d.low is None or d.p_value is None:
        return f"{d.value:+.5f}"
    return f"{d.value:+.5f}  {limits(d, '+.5f')}  p {p_text(d.p_value)}"


def contest_text(c: Contest) -> str:
    """Verdict first, then the systems, the differences with their tests, and the power."""
    groups = in_groups(c.n_groups, "clusters" if c.metric == "span-f1" else "groups")
    also = c.metric != "accuracy"
    head = f"  {'':<24} {c.metric_name[:24]:<24}" + ("accuracy" if also else "")
    lines = [f"{c.n:,} rows{groups}", head.rstrip()]
    for s in c.systems:
        value = f"{s.value.value:.4f} {limits(s.value)}"
        right = f"{s.accuracy.value:.4f}" if also else ""
        lines.append(f"  {cut(s.name, 24):<24} {value:<24}{right}".rstrip())
    parts = [filled(printable(c.verdict)), "\n".join(lines)]
    shown = sorted(c.duels, key=lambda d: d.tests[0].p_value)[:MOST_DUELS] if len(c.duels) > 1 else c.duels
    parts.append("\n".join(["Differences (first less second; positive favours the first)", *_duels(c, shown)]))
    if len(c.duels) > MOST_DUELS:
        parts[-1] += f"\n  … {len(c.duels) - MOST_DUELS:,} more pairs (--json lists all)"
    if c.calibration is not None:
        parts.append("\n".join(_probabilities(c)))
    return joined([*parts, *notes(c.notes)])


def _duels(c: Contest, duels: Sequence[Duel]) -> list[str]:
    lines = []
    for d in duels:
        x = d.difference
        lines.append(f"  {cut(d.a, 24)} - {cut(d.b, 24)}")
        lines.append(f"    {'effect size δ(x)':<26} {x.value:+.4f}  {limits(x, '+.4f')}".rstrip())
        if d.a_only is not None:
            lines.append(f"    {'only one right':<26} first {d.a_only:,}, second {d.b_only:,}")
        for t in d.tests:
            one = f"  (one-sided {p_text(d.bootstrap.p_one_sided)})" if t.name == "paired bootstrap" else ""
            lines.append(f"    {t.name:<26} p {p_text(t.p_value)}{one}")
        if len(c.duels) > 1 and d.adjusted_p_value is not None:
            lines.append(f"    {'adjusted for all pairs':<26} p {p_text(d.adjusted_p_value)}")
        needed = d.power.rows_needed()
        if needed is not None:
            lines.append(f"    {'rows for power 80%':<26} {needed:,}")
        if c.planned is not None:
            lines.append(f"    {f'power with {c.planned:,} rows':<26} {100 * d.power.power(c.planned):.0f}%")
    return lines


def _probabilities(c: Contest) -> list[str]:
    assert c.calibration is not None
    what = "that the label is right" if c.positive is None else f"of {c.positive!r}"
    lines = [
        f"Probabilities {what}",
        f"  {'':<20} {'RMS error':<25} {'mean q - y':>10}  {'calibrated?':<12} {'Brier':>6}",
    ]
    for name, k in zip(c.calibration.models, c.calibration.calibrations, strict=True):
        error = "–" if k.error is None else repr(k.error)
        p = "–" if k.p_value is None else f"p {p_text(k.p_value)}"
        lines.append(f"  {cut(name, 20):<20} {error:<25} {k.bias.gap.value:>+10.4f}  {p:<12} {k.brier.value:>6.4f}")
    return lines
