"""A `Calibration` as a LaTeX table (booktabs)."""

from __future__ import annotations

from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.result import Calibration

_SPECIAL = {c: "\\" + c for c in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


def latex_table(c: Calibration) -> str:
    """One row for all rows, then one per slice."""
    lines = [
        r"\begin{tabular}{lrrrrr}",
        r"\toprule",
        rf" & $n$ & RMS error & {c.confidence_level * 100:g}\% interval & ECE & Brier \\",
        r"\midrule",
        _row("all", c),
    ]
    if c.slices:
        lines += [r"\midrule", *(_row(_escaped(s.name), s.calibration) for s in c.slices)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _row(name: str, c: Calibration) -> str:
    error = "--" if c.error is None else f"{c.error.value:.4f}"
    ece = "--" if c.ece is None else f"{c.ece.value:.4f}"
    return rf"{name} & {c.n:,} & {error} & {_limits(c.error)} & {ece} & {c.brier.value:.4f} \\".replace(",", "{,}")


def _limits(e: Estimate | None) -> str:
    return "--" if e is None or e.low is None else f"[{e.low:.4f}--{e.high:.4f}]"


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(ch, ch) for ch in text if ch.isprintable())
