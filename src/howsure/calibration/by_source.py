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
        known = sorted(
            ((c.error, name) for name, c in self.sources.items() if c.error), key=lambda e: (e[0].value, e[1])
        )
        if not known:
            return "Too few answers to judge any source of confidence."
        off = [f"`{name}`" for error, name in known if error.low]
        shown = f"{len(off)} of {len(known)} sources of confidence {'is' if len(off) == 1 else 'are'} shown to be off"
        listed = f": {', '.join(off)}" if off else ""
        said = (
            f"`{name}` {e.value:.3f}" + ("" if e.low is None else f" ({e.low:.3f} to {e.high:.3f})")
            for e, name in known
        )
        level = f"{100 * self.confidence_level:g}% intervals"
        return f"{shown}{listed}. RMS calibration error ({level}): {', '.join(said)}."

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
