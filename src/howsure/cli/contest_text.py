"""A `Contest` in words and tables, 80 columns wide."""

from __future__ import annotations

import textwrap

from howsure.cli.text import WIDTH, p_text, printable
from howsure.evaluation.contests.result import Contest, Duel

MOST_DUELS = 20


def contest_text(c: Contest) -> str:
    """Verdict first, then the systems, the differences with their tests, and the power."""
    groups = "" if c.n_groups is None else f" in {c.n_groups:,} {'clusters' if c.metric == 'span-f1' else 'groups'}"
    also = c.metric != "accuracy"
    head = f"  {'':<24} {c.metric_name[:24]:<24}" + ("accuracy" if also else "")
    lines = [f"{c.n:,} rows{groups}", head.rstrip()]
    for s in c.systems:
        value = f"{s.value.value:.4f} " + ("" if s.value.low is None else f"[{s.value.low:.4f}, {s.value.high:.4f}]")
        right = f"{s.accuracy.value:.4f}" if also else ""
        lines.append(f"  {_cut(s.name, 24):<24} {value:<24}{right}".rstrip())
    parts = [textwrap.fill(printable(c.verdict), WIDTH), "\n".join(lines)]
    shown = sorted(c.duels, key=lambda d: d.tests[0].p_value)[:MOST_DUELS] if len(c.duels) > 1 else c.duels
    parts.append("\n".join(["Differences (first less second; positive favours the first)", *_duels(c, shown)]))
    if len(c.duels) > MOST_DUELS:
        parts[-1] += f"\n  … {len(c.duels) - MOST_DUELS:,} more pairs (--json lists all)"
    if c.calibration is not None:
        parts.append("\n".join(_probabilities(c)))
    parts += [textwrap.fill(printable(n), WIDTH, initial_indent="Note: ", subsequent_indent="  ") for n in c.notes]
    return "\n\n".join(parts) + "\n"


def _duels(c: Contest, duels: tuple[Duel, ...] | list[Duel]) -> list[str]:
    lines = []
    for d in duels:
        x = d.difference
        limits = "" if x.low is None else f"  [{x.low:+.4f}, {x.high:+.4f}]"
        lines.append(f"  {_cut(d.a, 24)} - {_cut(d.b, 24)}")
        lines.append(f"    {'effect size δ(x)':<26} {x.value:+.4f}{limits}")
        if d.a_only is not None:
            lines.append(f"    {'only one right':<26} first {d.a_only:,}, second {d.b_only:,}")
        for t in d.tests:
            lines.append(f"    {t.name:<26} p {p_text(t.p_value)}")
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
        lines.append(f"  {_cut(name, 20):<20} {error:<25} {k.bias.gap.value:>+10.4f}  {p:<12} {k.brier.value:>6.4f}")
    return lines


def _cut(name: str, width: int) -> str:
    return printable(name if len(name) <= width else name[: width - 1] + "…")
