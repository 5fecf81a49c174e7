"""A calibration as the paper computes it, in words, numbers and a small curve."""

from __future__ import annotations

from howsure.calibration.paper import PaperCalibration, PaperNumbers
from howsure.report.text.calibration import drawn_points
from howsure.report.text.layout import aligned, filled, joined, notes

MOST_BINS = 30


def paper_text(c: PaperCalibration) -> str:
    """Verdict first, then Algorithms 1 and 2 and Eq. 1, the same with ties shared, the bins and the curve."""
    loss = "infinite" if c.log_loss is None else f"{c.log_loss:.4f}"
    letter = [
        ("rows", f"{c.n:,}", f"in {c.to_the_letter.n_bins:,} bins of β = {c.bin_size:,}; S = {c.n_samples:,} samples"),
        *_numbers(c.to_the_letter, "Algorithm 1", "Algorithm 2"),
        ("Brier score", f"{c.brier:.4f}", "L2"),
        ("log loss", loss, "Lℓ, in nats"),
    ]
    parts = [filled(c.verdict), f"To the letter (tied rows in the order given):\n{aligned(letter)}"]
    if c.tied_rows:
        numbers = _numbers(c.ties_shared, "with shared ties", "the same")
        parts.append(f"Each row with the mean label of its ties (not the paper's; in any order):\n{aligned(numbers)}")
    b = c.bins
    drawn = drawn_points(b.mean_prob, b.mean_true, b.low, b.high)
    return joined([*parts, _table(c), drawn, "\n".join(notes(c.notes))])


def _numbers(x: PaperNumbers, first: str, second: str) -> list[tuple[str, str, str]]:
    i = x.interval
    rest = f"{'+' if x.within_bins >= 0 else '-'} {abs(x.within_bins):.4f} within bins"
    return [
        ("CalibErr", f"{x.calib_err:.4f}", f"{first}; its square is the thesis's MSE score"),
        ("interval", f"{i.value:.4f}", f"[{i.low:.4f}, {i.high:.4f}] {second}: mean ± 1.96 s"),
        ("calibration", f"{x.calibration:.4f}", "Eq. 1: mean of (q̂ - p̂)²"),
        ("+ refinement", f"{x.refinement:.4f}", f"Eq. 1: mean of p̂(1 - p̂); {rest} = Brier score"),
    ]


def _table(c: PaperCalibration) -> str:
    records = c.bins.to_dict()
    half = MOST_BINS // 2
    lines = [f"  {'rows':>11} {'q̂':>9} {'p̂':>9}  p̂ ± 1.96 se"]
    for i, r in enumerate(records):
        if len(records) > MOST_BINS and half <= i < len(records) - half:
            if i == half:
                lines.append(f"  … {len(records) - MOST_BINS:,} more bins (--json lists all) …")
            continue
        side = r["side"] or ""
        lines.append(
            f"  {r['n']:>11,} {r['mean_prob']:>9.4f} {r['mean_true']:>9.4f}  {r['low']:.4f} – {r['high']:.4f}  {side}".rstrip()
        )
    return "\n".join(lines)
