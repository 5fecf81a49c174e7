"""Calibration of probabilities and of forecasts in words and tables, and what each number means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from howsure.data import table
from howsure.report.text.layout import (
    aligned,
    and_more,
    cut,
    filled,
    in_groups,
    joined,
    limits,
    notes,
    p_text,
    printable,
    shortened,
)

if TYPE_CHECKING:
    import howsure
    from howsure.calibration.curves.bins import Bins
    from howsure.calibration.estimation.intervals import Estimate
    from howsure.calibration.paper import PaperBins, PaperNumbers
    from howsure.calibration.result import Slice
    from howsure.evaluation.model_checks import LanguageCalibration

BIAS = "mean of the probability q less that of y (1: came true, 0: not)"
MOST_BINS = 30
MOST_SLICES = 40
MOST_CLASSES = 60
COLUMNS, ROWS = 61, 17  # of the curve


def calibration_text(c: howsure.Calibration) -> str:
    """Verdict first, then the numbers, the bins, the slices and the curve."""
    return joined([filled(c.verdict), _numbers(c), bins_table(c), _by(c), curve(c.bins), "\n".join(notes(c.notes))])


def _by(c: howsure.Calibration, said: str = "By") -> str:
    """The slices of a calibration, if it has any."""
    return f"{said} {printable(c.by or '')}, worst first:\n{slice_rows(c.slices, MOST_SLICES)}" if c.slices else ""


def abstention_text(a: howsure.Abstention) -> str:
    """The rule, what it rests on, and what other thresholds would give."""
    facts = [("labelled answers", f"{a.n:,}", f"{in_groups(a.n_groups)}, {100 * a.accuracy:.1f}% right".lstrip(", "))]
    for g in a.certificates:
        name = "threshold" if a.by is None else cut(f"{a.by} = {g.name}", 34)
        found = "none" if g.threshold is None else f"{g.threshold:.4g}"
        said = f"{g.answered:,} of {g.n:,} answered, {g.wrong:,} wrong" if g.threshold is not None else f"of {g.n:,}"
        facts.append((printable(name), found, said))
    rests = "The promise rests on this:\n" + "\n".join(filled(r, "  - ", "    ") for r in a.rests_on)
    level = f"{100 * a.confidence_level:g}% interval"
    rows = [f"  {'at least':>10}  {'answered':>8}  {'wrong':>7}  {level:<18}  {'precision':>9}  {'recall':>6}"]
    for k in a.cut_offs:
        mark = "  chosen" if any(k.threshold == c.threshold for c in a.certificates) else ""
        risk = f"{k.risk.value:>7.2%}  {limits(k.risk):<18}"
        rows.append(f"  {k.threshold:>10.4g}  {k.answered:>8.1%}  {risk}  {k.precision:>9.4f}  {k.recall:>6.3f}{mark}")
    costs = [f"  {'a wrong one costs':>17}  {'at least':>10}  {'answered':>8}  cost of 1,000"]
    for c in a.costs:
        least = "never" if c.threshold is None else f"{c.threshold:.4g}"
        costs.append(f"  {c.wrong:>17}  {least:>10}  {c.answered:>8.1%}  {c.per_thousand:>13,.1f}")
    head = "Cheapest on these answers (one not given costs 1; not certified):"
    tables = "Cut-offs (each interval by itself):\n" + "\n".join(rows), head + "\n" + "\n".join(costs)
    return joined([filled(a.verdict), aligned(facts), rests, *tables, "\n".join(notes(a.notes))])


def sources_text(s: howsure.SourceCalibrations) -> str:
    """A line for each source of confidence, then its slices."""
    rows = [f"  {'source':<12} {'n':>9}  {'RMS error':>9} {'':<18} {'bias':>8} {'Brier':>7} {'AUC':>6}"]
    for name, c in s.sources.items():
        error = "    –    " if c.error is None else f"{c.error.value:9.4f}"
        last = f"{c.bias.gap.value:+8.4f} {c.brier.value:7.4f} " + ("     –" if c.auc is None else f"{c.auc:6.3f}")
        rows.append(f"  {name:<12} {c.n:>9,}  {error} {limits(c.error):<18} {last}")
    slices = [_by(c, f"`{name}` by") for name, c in s.sources.items()]
    every = dict.fromkeys(note for c in s.sources.values() for note in c.notes if ": left out (`" not in note)
    of = {note: ", ".join(f"`{name}`" for name, c in s.sources.items() if note in c.notes) for note in every}
    said = [*s.notes, *(f"{names}: {note}" for note, names in of.items())]
    return joined([filled(s.verdict), "\n".join(rows), *slices, "\n".join(notes(said))])


def _numbers(c: howsure.Calibration) -> str:
    rows = [
        ("rows", f"{c.n:,}", f"{in_groups(c.n_groups)}{effective_text(c)}; base rate {c.base_rate:.4g}".lstrip("; ")),
        ("RMS error", *_with_limits(c.error, c.confidence_level)),
        *([] if c.resolution is None else [("  seen in", f"{c.resolution.bins:,} bins", c.resolution.words)]),
        ("ECE", *_with_limits(c.ece, c.confidence_level)),
        ("largest bin error", f"{c.max_error:.4f}", ""),
        ("bias", f"{c.bias.gap.value:+z.4f}", f"{limits(c.bias.gap)} {BIAS}".strip()),
    ]
    if c.bias.slope is not None:
        said = f"{limits(c.bias.slope)} (below 1: too extreme)".strip()
        rows.append(("slope of y on q", f"{c.bias.slope.value:.3f}", said))
    for name, score in (("Brier score", c.brier), ("log loss", c.log_loss)):
        if score.value is None:
            rows.append((name, "infinite", f"{score.infinite_rows:,} impossible rows"))
        else:
            gained = f"{score.miscalibration:.4f} miscalibration - {score.discrimination:.4f} discrimination"
            rows.append((name, f"{score.value:.4f}", f"= {gained} + {score.uncertainty:.4f} uncertainty"))
    if c.auc is not None:
        rows.append(("AUC", f"{c.auc:.4f}", ""))
    for test in c.tests[:1]:
        rows.append(("calibrated?", f"p {p_text(test.p_value)}", "combined test of perfect calibration"))
    return aligned(rows)


def effective_text(c: howsure.Calibration) -> str:
    """How many equal groups the groups are worth, where that is clearly fewer than there are."""
    worth = c.effective_groups
    return "" if worth is None or worth > 0.9 * (c.n_groups or 0) else f" (worth {worth:.3g} of equal size)"


def _with_limits(e: Estimate | None, level: float) -> tuple[str, str]:
    if e is None:
        return "–", "needs two rows or groups"
    return f"{e.value:.4f}", f"{limits(e)} ({100 * level:g}% interval)".strip()


def bins_table(c: howsure.Calibration) -> str:
    b = c.bins
    head = (
        f"  {'q from':>9} {'to':>9} {'rows':>11} {'mean q':>8} {'observed':>9}  {100 * c.confidence_level:g}% interval"
    )
    lines = []
    for i in range(len(b)):
        mark = "too high" if b.mean_prob[i] > b.high[i] else "too low" if b.mean_prob[i] < b.low[i] else ""
        q = f"{_q(b.from_prob[i]):>9} {_q(b.to_prob[i]):>9} {b.n[i]:>11,} {_q(b.mean_prob[i]):>8}"
        lines.append(f"  {q} {b.mean_true[i]:>9.4f}  {b.low[i]:.4f} – {b.high[i]:.4f}  {mark}".rstrip())
    first = filled(f"Bins of the probability q: {b.rule}.")
    return "\n".join([first, head, *shortened(lines, MOST_BINS)])


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
    lines += and_more(slices, most)
    return "\n".join(lines)


def _q(x: float) -> str:
    if 1e-4 <= x <= 1 - 1e-4 or x in (0.0, 1.0):
        return f"{x:.4f}"
    return f"{x:.1e}" if x < 0.5 else f"1-{1 - x:.0e}"


def curve(b: Bins | PaperBins) -> str:
    """Observed frequency (up) against probability (right): bins ●, their intervals │, calibration ·."""
    grid = [[" "] * COLUMNS for _ in range(ROWS)]

    def row(p: float) -> int:
        return round((1.0 - min(max(p, 0.0), 1.0)) * (ROWS - 1))

    for x in range(COLUMNS):
        grid[row(x / (COLUMNS - 1))][x] = "·"
    for q, p, low, high in zip(*(v.tolist() for v in (b.mean_prob, b.mean_true, b.low, b.high)), strict=True):
        x = round(q * (COLUMNS - 1))
        for y in range(row(high), row(low) + 1):
            if grid[y][x] != "●":
                grid[y][x] = "│"
        grid[row(p)][x] = "●"
    lines = ["observed, against the probability q   ● bin  │ its interval  · calibrated"]
    for y, cells in enumerate(grid):
        label = {0: "1.0", (ROWS - 1) // 2: "0.5", ROWS - 1: "0.0"}.get(y, "")
        lines.append(f"  {label:>4} ┤{''.join(cells)}".rstrip())
    return "\n".join([*lines, "       └" + "─" * COLUMNS, f"        0.0{'0.5':^{COLUMNS - 6}}1.0  q"])


def classes_text(m: howsure.MulticlassCalibration) -> str:
    """Verdict first, then the numbers, the classes, what abstaining gains, and the predicted class's curve."""
    from howsure.calibration.multiclass import COVERAGES

    rows = [
        ("items", f"{m.n:,}", f"{len(m.classes)} classes"),
        ("accuracy", f"{m.accuracy:.4f}", ""),
        ("RMS error, predicted", *_error(m.top)),
        *([] if m.top.ece is None else [("ECE, predicted", f"{m.top.ece.value:.4f}", limits(m.top.ece))]),
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
        _by(m.top, "The predicted class by"),
        f"Accuracy when only the surest share is answered\n  {abstain}",
        "The predicted class's probability\n" + bins_table(m.top),
        curve(m.top.bins),
        "\n".join(notes(m.top.notes)),
    ]
    return joined(parts)


def _error(c: howsure.Calibration) -> tuple[str, str]:
    return ("–", "") if c.error is None else (f"{c.error.value:.4f}", limits(c.error))


def language_text(m: LanguageCalibration) -> str:
    """Verdict first; the predicted word, then all words by frequency."""
    c = m.top
    rows = [
        ("places", f"{m.places:,}", "" if c.n_groups is None else f"in {c.n_groups:,} sentences"),
        ("predicted word right", f"{m.accuracy:.4f}", ""),
        ("RMS error", *_error(c)),
        ("bias", f"{c.bias.gap.value:+z.4f}", BIAS),
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
    by = "The predicted word, by its frequency in training:\n" + slice_rows(c.slices, 10)
    return joined([filled(m.verdict), aligned(rows), by, bins_table(c), "\n".join(lines), curve(c.bins)])


def recalibration_text(r: howsure.Recalibration) -> str:
    """Verdict first, then the table of methods and the fitted formula."""
    many = "" if r.n_classes == 2 else f", {r.n_classes} classes"
    lines = [
        f"{r.n:,} rows{in_groups(r.n_groups)}{many}, {r.n_folds}-fold cross-validation:",
        f"  {'method':<15} {'log loss':>9} {'Brier':>9} {'gain':>9}  {r.confidence_level:.0%} interval",
        f"  {'none':<15} {r.before.log_loss:>9.4f} {r.before.brier:>9.4f}",
    ]
    for m in r.methods:
        gain = f"{m.gain.value:>+9.4f}  {limits(m.gain, '+.4f'):<20}"
        mark = "  best" if m.method == r.best and (r.declined or len(r.methods) > 1) else ""
        lines.append(f"  {m.method:<15} {m.log_loss:>9.4f} {m.brier:>9.4f} {gain}{mark}".rstrip())
    fitted = filled(f"Fitted to all rows (probability q): {r.recalibrator!r}", hanging="  ")
    return joined([filled(r.verdict), "\n".join(lines), fitted, "\n".join(notes(r.notes))])


def explanation(c: howsure.Calibration) -> str:
    """Every number of the output, explained."""
    said = ["\nWhat the numbers mean\n"]
    for number in table("meanings"):
        said += [f"  {number['name']}", filled(number["words"], "    "), filled(number["formula"], "      ")]
    hold = f"Intervals hold the true value in {100 * c.confidence_level:g}% of samples"
    said.append(filled(f"{hold}; derivations and simulations are in docs/evidence/theory.md.", "  "))
    return "\n".join(said) + "\n"


BAR = 40  # characters of the longest bar


def continuous_text(c: howsure.ContinuousCalibration) -> str:
    """Verdict first, then the numbers, the central intervals and the histogram."""
    rows = [
        ("rows", f"{c.n:,}", "" if c.detail is None else f"{c.detail:,} {c.kind} each"),
        ("spread", f"{c.spread.value:.4f}", f"{limits(c.spread)} (above 1: too narrow)"),
        ("shift", f"{c.shift.value:+z.4f}", f"{limits(c.shift)} (above 0: y above the forecasts)"),
        ("mean PIT", f"{c.mean_pit:.4f}", "½ if calibrated"),
        ("variance of PIT", f"{c.variance_pit:.4f}", "0.0833 if calibrated"),
    ]
    if c.crps is not None:
        rows.append((c.score_name, f"{c.crps.value:.5g}", f"{limits(c.crps, '.5g')} {c.crps_method}"))
    for name, test in zip(("calibrated?", "", "", "", ""), c.tests, strict=True):
        rows.append((name, f"p {p_text(test.p_value)}", f"{test.name} test" + " (headline)" * (name != "")))
    coverage = _coverage(c) if c.coverage else ""
    return joined([filled(c.verdict), aligned(rows), coverage, _pit_histogram(c), "\n".join(notes(c.notes))])


def _coverage(c: howsure.ContinuousCalibration) -> str:
    lines = ["Central intervals:", f"  {'should hold':>11} {'hold':>9}  {c.confidence_level:.0%} interval"]
    for k in c.coverage:
        mark = k.observed.side(k.nominal, "too few", "too many") or ""
        ends = f"{(k.observed.low or 0.0) * 100:.2f}% – {(k.observed.high or 1.0) * 100:.2f}%"
        lines.append(f"  {k.nominal * 100:>10.4g}% {k.observed.value * 100:>8.2f}%  {ends}  {mark}".rstrip())
    return "\n".join(lines)


def _pit_histogram(c: howsure.ContinuousCalibration) -> str:
    h = c.histogram
    scale = BAR / max(float(h.density.max()), float(h.high.max()))
    head = "PIT, where y falls in its forecast:   █ observed density  ┊ 1, if calibrated"
    lines, one = [head, "    from      to     rows"], round(scale)
    for i in range(len(h)):
        bar = list("█" * round(float(h.density[i]) * scale) + " " * (BAR + 1))[: BAR + 1]
        if bar[one] == " ":
            bar[one] = "┊"
        mark = "many" if h.density[i] > h.high[i] else "few" if h.density[i] < h.low[i] else ""
        lines.append(f"  {h.from_pit[i]:6.4f}  {h.to_pit[i]:6.4f} {h.n[i]:>8,} {''.join(bar)} {mark}".rstrip())
    return "\n".join(lines)


def paper_text(c: howsure.PaperCalibration) -> str:
    """Verdict first, then Algorithms 1 and 2 and Eq. 1, the same with ties shared, the bins and the curve."""
    loss = "infinite" if c.log_loss is None else f"{c.log_loss:.4f}"
    bins = f"in {c.to_the_letter.n_bins:,} bins of the probability, β = {c.bin_size:,}; S = {c.n_samples:,}"
    letter = [
        ("rows", f"{c.n:,}", bins),
        *_paper_numbers(c.to_the_letter, "Algorithm 1", "Algorithm 2"),
        ("Brier score", f"{c.brier:.4f}", "L2"),
        ("log loss", loss, "Lℓ, in nats"),
    ]
    parts = [filled(c.verdict), f"To the letter (tied rows in the order given):\n{aligned(letter)}"]
    if c.tied_rows:
        numbers = _paper_numbers(c.ties_shared, "with shared ties", "the same")
        parts.append(f"Each row with the mean label of its ties (not the paper's; in any order):\n{aligned(numbers)}")
    lines = []
    for r in c.bins.to_dict():
        ends = f"{r['low']:.4f} – {r['high']:.4f}  {r['side'] or ''}".rstrip()
        lines.append(f"  {r['n']:>11,} {r['mean_prob']:>9.4f} {r['mean_true']:>9.4f}  {ends}")
    head = "Bins: q̂ the mean probability, p̂ how often it came true"
    columns = f"  {'rows':>11} {'q̂':>9} {'p̂':>9}  p̂ ± 1.96 se"
    table = "\n".join([head, columns, *shortened(lines, MOST_BINS)])
    return joined([*parts, table, curve(c.bins), "\n".join(notes(c.notes))])


def _paper_numbers(x: PaperNumbers, first: str, second: str) -> list[tuple[str, str, str]]:
    i = x.interval
    rest = f"{'+' if x.within_bins >= 0 else '-'} {abs(x.within_bins):.4f} within bins"
    return [
        ("CalibErr", f"{x.calib_err:.4f}", f"{first}; its square is the thesis's MSE score"),
        ("interval", f"{i.value:.4f}", f"[{i.low:.4f}, {i.high:.4f}] {second}: mean ± 1.96 s"),
        ("calibration", f"{x.calibration:.4f}", "Eq. 1: mean of (q̂ - p̂)²"),
        ("+ refinement", f"{x.refinement:.4f}", f"Eq. 1: mean of p̂(1 - p̂); {rest} = Brier score"),
    ]
