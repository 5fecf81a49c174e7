"""A `Calibration` in words, tables and a small curve; of one probability, of many classes, of a language model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.multiclass import COVERAGES, MulticlassCalibration
from howsure.calibration.recalibration.result import Recalibration
from howsure.calibration.result import Calibration, Slice
from howsure.kernels.cells import Floats
from howsure.report.text.layout import aligned, cut, filled, in_groups, joined, limits, notes, p_text, printable

if TYPE_CHECKING:
    from howsure.evaluation.model_checks import LanguageCalibration

MOST_BINS = 30
MOST_SLICES = 40
MOST_CLASSES = 60
COLUMNS, ROWS = 61, 17  # of the curve


def calibration_text(c: Calibration) -> str:
    """Verdict first, then the numbers, the bins, the slices and the curve."""
    slices = f"By {printable(c.by or '')}, worst first:\n" + slice_rows(c.slices, MOST_SLICES) if c.slices else ""
    return joined([filled(c.verdict), _numbers(c), bins_table(c), slices, curve(c), "\n".join(notes(c.notes))])


def _numbers(c: Calibration) -> str:
    rows = [
        ("rows", f"{c.n:,}{in_groups(c.n_groups)}{effective_text(c)}", f"base rate {c.base_rate:.4g}"),
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


def _with_limits(e: Estimate | None, level: float) -> tuple[str, str]:
    if e is None:
        return "–", "needs two rows or groups"
    return f"{e.value:.4f}", _limits(e, f"({100 * level:g}% interval)")


def _limits(e: Estimate, said: str = "") -> str:
    return f"{limits(e)} {said}".strip()


def bins_table(c: Calibration) -> str:
    b = c.bins
    head = f"  {'q from':>9} {'to':>9} {'rows':>11} {'mean q':>8} {'observed':>9}  {f'{100 * c.confidence_level:g}% interval':<17}"
    lines = [filled(f"Bins: {b.rule}."), head.rstrip()]
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


def slice_rows(slices: Sequence[Slice], most: int, *, with_rows: bool = True) -> str:
    """A line per slice; without the number of rows there is more room for names."""
    width = 20 if with_rows else 31
    rows = f"{'rows':>10} " if with_rows else ""
    lines = [f"  {'':<{width}} {rows}{'error':>7}  {'interval':<16} {'bias':>8} {'adjusted p':>11}"]
    for s in slices[:most]:
        x = s.calibration
        rows = f"{x.n:>10,} " if with_rows else ""
        error = f"{x.error.value:>7.4f}  [{x.error.low:.4f}, {x.error.high:.4f}]" if x.error else f"{'–':>7}  {'':<16}"
        p = "–" if s.adjusted_p_value is None else p_text(s.adjusted_p_value).removeprefix("= ")
        lines.append(f"  {cut(s.name, width):<{width}} {rows}{error} {x.bias.gap.value:>+8.4f} {p:>11}")
    if len(slices) > most:
        lines.append(f"  … {len(slices) - most:,} more (--json lists all)")
    return "\n".join(lines)


def _q(x: float) -> str:
    if 1e-4 <= x <= 1 - 1e-4 or x in (0.0, 1.0):
        return f"{x:.4f}"
    return f"{x:.1e}" if x < 0.5 else f"1-{1 - x:.0e}"


def curve(c: Calibration) -> str:
    """Observed frequency (up) against probability (right): bins ●, their intervals │, calibration ·."""
    return drawn_points(c.bins.mean_prob, c.bins.mean_true, c.bins.low, c.bins.high)


def drawn_points(q: Floats, p: Floats, low: Floats, high: Floats) -> str:
    """Points (q, p) with their intervals, beside the diagonal."""
    grid = [[" "] * COLUMNS for _ in range(ROWS)]

    def row(p: float) -> int:
        return round((1.0 - min(max(p, 0.0), 1.0)) * (ROWS - 1))

    for x in range(COLUMNS):
        grid[row(x / (COLUMNS - 1))][x] = "·"
    for i in range(len(q)):
        x = round(float(q[i]) * (COLUMNS - 1))
        for y in range(row(float(high[i])), row(float(low[i])) + 1):
            if grid[y][x] != "●":
                grid[y][x] = "│"
        grid[row(float(p[i]))][x] = "●"
    lines = ["observed   ● bin  │ its interval  · perfectly calibrated"]
    for y, cells in enumerate(grid):
        label = {0: "1.0", (ROWS - 1) // 2: "0.5", ROWS - 1: "0.0"}.get(y, "")
        lines.append(f"  {label:>4} ┤{''.join(cells)}".rstrip())
    lines.append("       └" + "─" * COLUMNS)
    lines.append(f"        0.0{'0.5':^{COLUMNS - 6}}1.0  q")
    return "\n".join(lines)


def classes_text(m: MulticlassCalibration) -> str:
    """Verdict first, then the numbers, the classes, what abstaining gains, and the predicted class's curve."""
    rows = [
        ("items", f"{m.n:,}", f"{len(m.classes)} classes"),
        ("accuracy", f"{m.accuracy:.4f}", ""),
        ("RMS error, predicted", *_error(m.top)),
        ("RMS error, all events", *_error(m.pooled)),
        ("RMS error, class-wise", f"{m.class_wise:.4f}", "root mean square over the classes"),
        ("Brier score", f"{m.brier:.4f}", "all classes"),
        ("log loss", "infinite" if m.log_loss is None else f"{m.log_loss:.4f}", "of the true class"),
    ]
    abstain = "  ".join(f"{100 * c:g}%: {m.risk_coverage.at(c):.3f}" for c in COVERAGES)
    parts = [
        filled(m.verdict),
        aligned(rows),
        "Each class, worst first:\n" + slice_rows(m.per_class, MOST_CLASSES, with_rows=False),
        f"Accuracy when only the surest share is answered\n  {abstain}",
        "The predicted class's probability\n" + bins_table(m.top),
        curve(m.top),
    ]
    return joined(parts)


def _error(c: Calibration) -> tuple[str, str]:
    return ("–", "") if c.error is None else (f"{c.error.value:.4f}", limits(c.error))


def language_text(m: LanguageCalibration) -> str:
    """Verdict first; the predicted word, then all words by frequency."""
    c = m.top
    rows = [
        ("places", f"{m.places:,}", "" if c.n_groups is None else f"in {c.n_groups:,} sentences"),
        ("predicted word right", f"{m.accuracy:.4f}", ""),
        ("RMS error", *_error(c)),
        ("mean q - mean y", f"{c.bias.gap.value:+.4f}", ""),
    ]
    lines = [
        f"All words at {m.sampled_places:,} places, by how often a word was seen in training:",
        f"  {'':<24} {'events':>11} {'mass given':>11} {'share true':>11} {'ratio':>6}",
    ]
    for s in m.all_words.slices:
        k = s.calibration
        share = k.base_rate * k.n / m.sampled_places
        mass = (k.base_rate + k.bias.gap.value) * k.n / m.sampled_places
        ratio = f"{mass / share:.2f}" if share > 0 else "–"
        lines.append(f"  {s.name:<24} {k.n:>11,} {mass:>11.4f} {share:>11.4f} {ratio:>6}")
    parts = [
        filled(m.verdict),
        aligned(rows),
        "The predicted word, by its frequency in training:\n" + slice_rows(c.slices, 10),
        bins_table(c),
        "\n".join(lines),
        curve(c),
    ]
    return joined(parts)


def recalibration_text(r: Recalibration) -> str:
    """Verdict first, then the table of methods and the fitted formula."""
    many = "" if r.n_classes == 2 else f", {r.n_classes} classes"
    lines = [
        f"{r.n:,} rows{in_groups(r.n_groups)}{many}, {r.n_folds}-fold cross-validation:",
        f"  {'method':<15} {'log loss':>9} {'Brier':>9} {'gain':>9}  {f'{r.confidence_level:.0%} interval':<20}",
        f"  {'none':<15} {r.before.log_loss:>9.4f} {r.before.brier:>9.4f}",
    ]
    for m in r.methods:
        interval = limits(m.gain, "+.4f")
        mark = "" if m.method != r.best else "  best" if r.declined or len(r.methods) > 1 else ""
        lines.append(
            f"  {m.method:<15} {m.log_loss:>9.4f} {m.brier:>9.4f} {m.gain.value:>+9.4f}  {interval:<20}{mark}".rstrip()
        )
    lines[1] = lines[1].rstrip()
    fitted = filled(f"Fitted to all rows: {r.recalibrator!r}", hanging="  ")
    return joined([filled(r.verdict), "\n".join(lines), fitted])
