"""What a CRF's regulariser, chosen by accuracy, does to its calibration."""

from __future__ import annotations

from dataclasses import dataclass

from howsure.calibration.estimation.intervals import Estimate
from howsure.experiments.measured import shown
from howsure.experiments.result import Finding, Table

NEAR = 0.01  # of the best accuracy on dev


@dataclass(frozen=True, slots=True)
class Tried:
    """One regulariser of a CRF: accuracy on dev and test, confidence less accuracy, and the calibration error."""

    l2: float
    on_dev: float
    accuracy: Estimate
    confidence_gap: Estimate
    error: Estimate


def tried_table(tried: tuple[Tried, ...], features: str, n: int, asked: str) -> Table:
    """A row for each regulariser."""
    rows = tuple((t.l2, t.on_dev, *map(shown, (t.accuracy, t.confidence_gap, t.error))) for t in tried)
    columns = ("l2", "accuracy on dev", "on test [95%]", "confidence less accuracy [95%]", "RMS error [95%]")
    caption = f"The CRF ({features}, {n:,} sentences) by regulariser: {asked}"
    return Table(f"l2-{features.replace(',', '-')}", caption, columns, rows)


def said_of(tried: tuple[Tried, ...]) -> tuple[str, list[float]]:
    """How far calibration moves among regularisers that accuracy on dev hardly tells apart; and their errors."""
    best = max(t.on_dev for t in tried)
    near = [t for t in tried if t.on_dev >= best - NEAR]
    errors, gaps = [t.error.value for t in near], [t.confidence_gap.value for t in near]
    said = (
        f"Of {len(tried)} regularisers {len(near)} are within {100 * NEAR:g}% (absolute) of the best accuracy on dev; their calibration "
        f"errors go from {min(errors):.4f} to {max(errors):.4f}, confidence less accuracy from {min(gaps):+.3f} to {max(gaps):+.3f}."
    )
    return said, errors


def regulariser(tried: tuple[Tried, ...]) -> Finding:
    """Does accuracy on dev, by which hyperparameters are chosen, see what they do to calibration?"""
    said, errors = said_of(tried)
    matters = max(errors) > 2 * min(errors)
    more = (
        "Accuracy hardly sees the regulariser and calibration does: how over- or underconfident a CRF is, is a matter of how it was "
        "tuned as much as of its kind."
        if matters
        else "The choice changes calibration little."
    )
    return Finding(
        "Models whose hyperparameters have the best accuracy on dev are fit to be compared for calibration.",
        "§4.2.1",
        "differs" if matters else "confirmed",
        f"{said} {more}",
        {"least error": min(errors), "largest error": max(errors), "regularisers": len(errors)},
        "hyperparameters by accuracy",
        f"error {min(errors):.4f} to {max(errors):.4f} at accuracies within {100 * NEAR:g}%",
    )
