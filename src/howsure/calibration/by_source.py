"""Confidences of several sources in one log, each analysed apart: the result of `howsure check` on such a log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from howsure._result import Result, drawn_by
from howsure.calibration.result import Calibration


@dataclass(frozen=True, slots=True)
class SourceCalibrations(Result):
    """The `Calibration` of each source of confidence. Made by `howsure.check` of a `howsure.Log`."""

    SHOWN = "verdict confidence_level sources notes"

    sources: Mapping[str, Calibration]
    confidence_level: float = 0.95
    notes: tuple[str, ...] = ()
    source: str = ""

    def __repr__(self) -> str:
        return f"SourceCalibrations({', '.join(f'{name}: {c.error!r}' for name, c in self.sources.items())})"

    @property
    def title(self) -> str:
        """Of the page."""
        return f"Sources of confidence: {self.source}"

    @property
    def verdict(self) -> str:
        """Which sources are off, and by how much, the nearest first."""
        known = sorted((c.error.value, c.error.low, c.error.high, name) for name, c in self.sources.items() if c.error)
        if not known:
            return "Too few answers to judge any source of confidence."
        off = [f"`{name}`" for _, low, _, name in known if low > 0.0]
        shown = f"{len(off)} of {len(known)} sources of confidence {'is' if len(off) == 1 else 'are'} shown to be off"
        said = ", ".join(f"`{name}` {error:.3f} ({low:.3f} to {high:.3f})" for error, low, high, name in known)
        listed = f": {', '.join(off)}" if off else ""
        return f"{shown}{listed}. RMS calibration error ({100 * self.confidence_level:g}% intervals): {said}."

    def table(self) -> list[dict[str, Any]]:
        """One row a source."""
        return [
            {
                "source": name,
                "n": c.n,
                "RMS error": c.error,
                "ECE": c.ece and c.ece.value,
                "confidence less accuracy": c.bias.gap.value,
                "Brier": c.brier.value,
                "AUC": c.auc,
            }
            for name, c in self.sources.items()
        ]

    layers = drawn_by("howsure.plots.curves.source_layers")
    to_text = drawn_by("howsure.report.text.calibration.sources_text")
    to_html = drawn_by("howsure.report.pages.table_page")
