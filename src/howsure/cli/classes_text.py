"""A `MulticlassCalibration` in words and tables, 80 columns wide."""

from __future__ import annotations

import textwrap

from howsure.calibration.multiclass import COVERAGES, MulticlassCalibration
from howsure.calibration.result import Calibration
from howsure.cli.curve import curve
from howsure.cli.text import aligned, bins_table, slice_rows

MOST_CLASSES = 60


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
        textwrap.fill(m.verdict, 80),
        aligned(rows),
        "Each class, worst first:\n" + slice_rows(m.per_class, MOST_CLASSES, with_rows=False),
        f"Accuracy when only the surest share is answered\n  {abstain}",
        "The predicted class's probability\n" + bins_table(m.top),
        curve(m.top),
    ]
    return "\n\n".join(parts) + "\n"


def _error(c: Calibration) -> tuple[str, str]:
    if c.error is None:
        return "–", ""
    return f"{c.error.value:.4f}", f"[{c.error.low:.4f}, {c.error.high:.4f}]"
