"""A `Calibration` in words, tables and a small curve, 80 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from howsure.calibration.estimation.copied import CopiedError
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.result import Calibration, Slice
from howsure.cli.curve import curve

WIDTH = 80
MOST_BINS = 30
MOST_SLICES = 40


def calibration_text(c: Calibration) -> str:
    """Verdict first, then the numbers, the bins, the slices and the curve."""
    parts = [textwrap.fill(c.verdict, WIDTH), _numbers(c), bins_table(c)]
    if c.slices:
        parts.append(_slices(c))
    parts.append(curve(c))
    if c.notes:
        parts.append(
            "\n".join(textwrap.fill(n, WIDTH, initial_indent="Note: ", subsequent_indent="  ") for n in c.notes)
        )
    return "\n\n".join(parts) + "\n"


def _numbers(c: Calibration) -> str:
    groups = "" if c.n_groups is None else f" in {c.n_groups:,} groups{effective_text(c)}"
    rows = [
        ("rows", f"{c.n:,}{groups}", f"base rate {c.base_rate:.4g}"),
        ("RMS error", *_with_limits(c.error, c.confidence_level)),
        *([] if c.resolution is None else [("  seen in", f"{c.resolution.bins:,} bins", c.resolution.words)]),
        ("ECE", *_with_limits(c.ece, c.confidence_level)),
        ("largest bin error", f"{c.max_error:.4f}", ""),
        ("mean q - mean y", f"{c.bias.gap.value:+.4f}", _limits(c.bias.gap)),
    ]
    if c.bias.slope is not None:
        rows.append(("slope of y on q", f"{c.bias.slope.value:.3f}", _limits(c.bias.slope, "(below 1: too extreme)")))
    for name, score in (("Brier score", c.brier), ("log loss", c.log_loss)):
        if score.value is None:
            rows.append((name, "infinite", f"{score.infinite_rows:,} impossible rows"))
        else:
            rows.append(
                (
                    name,
                    f"{score.value:.4f}",
                    f"= {score.miscalibration:.4f} miscalibrated - {score.discrimination:.4f} + {score.uncertainty:.4f}",
                )
            )
    if c.auc is not None:
        rows.append(("AUC", f"{c.auc:.4f}", ""))
    for test in c.tests[:1]:
        rows.append(("calibrated?", f"p {p_text(test.p_value)}", "combined test of perfect calibration"))
    return aligned(rows)


def effective_text(c: Calibration) -> str:
    """How many equal groups the groups are worth, where that is clearly fewer than there are."""
    worth = c.effective_groups
    return "" if worth is None or worth > 0.9 * (c.n_groups or 0) else f" (worth {worth:.3g} of equal size)"


def aligned(rows: list[tuple[str, str, str]]) -> str:
    """Name, value and remark in columns."""
    first, second = max(len(r[0]) for r in rows), max(len(r[1]) for r in rows)
    made = []
    for name, value, rest in rows:
        head = f"  {name:<{first}}  {value:>{second}}  "
        made.append(
            textwrap.fill(rest, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
            if rest
            else head.rstrip()
        )
    return "\n".join(made)


def _with_limits(e: Estimate | None, level: float) -> tuple[str, str]:
    if e is None:
        return "–", "needs two rows or groups"
    return f"{e.value:.4f}", _limits(e, f"({100 * level:g}% interval)")


def _limits(e: Estimate, said: str = "") -> str:
    if e.low is None or e.high is None:
        return said
    return f"[{e.low:.4f}, {e.high:.4f}] {said}".rstrip()


def bins_table(c: Calibration) -> str:
    b = c.bins
    head = f"  {'q from':>9} {'to':>9} {'rows':>11} {'mean q':>8} {'observed':>9}  {f'{100 * c.confidence_level:g}% interval':<17}"
    lines = [textwrap.fill(f"Bins: {b.rule}.", WIDTH), head.rstrip()]
    shown = (
        range(len(b)) if len(b) <= MOST_BINS else [*range(MOST_BINS // 2), -1, *range(len(b) - MOST_BINS // 2, len(b))]
    )
    for i in shown:
        if i < 0:
            lines.append(f"  … {len(b) - 2 * (MOST_BINS // 2):,} more bins (--json lists all) …")
            continue
        mark = "too high" if b.mean_prob[i] > b.high[i] else "too low" if b.mean_prob[i] < b.low[i] else ""
        lines.append(
            f"  {_q(b.from_prob[i]):>9} {_q(b.to_prob[i]):>9} {b.n[i]:>11,} {_q(b.mean_prob[i]):>8} {b.mean_true[i]:>9.4f}"
            f"  {b.low[i]:.4f} – {b.high[i]:.4f}  {mark}".rstrip()
        )
    return "\n".join(lines)


def _slices(c: Calibration) -> str:
    return f"By {printable(c.by or '')}, worst first:\n" + slice_rows(c.slices, MOST_SLICES)


def slice_rows(slices: Sequence[Slice], most: int, *, with_rows: bool = True) -> str:
    """A line per slice; without the number of rows there is more room for names."""
    width = 20 if with_rows else 31
    rows = f"{'rows':>10} " if with_rows else ""
    lines = [f"  {'':<{width}} {rows}{'error':>7}  {'interval':<16} {'bias':>8} {'adjusted p':>11}"]
    for s in slices[:most]:
        x = s.calibration
        name = s.name if len(s.name) <= width else s.name[: width - 1] + "…"
        rows = f"{x.n:>10,} " if with_rows else ""
        error = f"{x.error.value:>7.4f}  [{x.error.low:.4f}, {x.error.high:.4f}]" if x.error else f"{'–':>7}  {'':<16}"
        p = "–" if s.adjusted_p_value is None else p_text(s.adjusted_p_value).removeprefix("= ")
        lines.append(f"  {printable(name):<{width}} {rows}{error} {x.bias.gap.value:>+8.4f} {p:>11}")
    if len(slices) > most:
        lines.append(f"  … {len(slices) - most:,} more (--json lists all)")
    return "\n".join(lines)


def copied_text(e: CopiedError) -> str:
    """The copied error, and what it leaves out."""
    said = (
        f"As the widely copied script computes it (bins of {e.beta}, last bin left out): {e.value:.4f}, ignoring the "
        f"{e.ignored:,} most confident of {e.n:,} rows. With them it would be {e.with_all_rows:.4f}, sampling noise "
        "included; the debiased error above has neither fault."
    )
    return textwrap.fill(said, WIDTH) + "\n"


def printable(name: str) -> str:
    """Control characters in data never reach the terminal."""
    return "".join(ch if ch.isprintable() else "�" for ch in name)


def _q(x: float) -> str:
    if 1e-4 <= x <= 1 - 1e-4 or x in (0.0, 1.0):
        return f"{x:.4f}"
    return f"{x:.1e}" if x < 0.5 else f"1-{1 - x:.0e}"


def p_text(p: float) -> str:
    """A p-value with its relation."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
