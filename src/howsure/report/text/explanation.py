"""What each number means, in plain words, with its formula."""

from __future__ import annotations

from howsure.calibration.result import Calibration
from howsure.report.text.layout import filled

_MEANINGS = [
    (
        "RMS error",
        "How far the probabilities typically are from the frequencies they promise: 0.05 means that a stated 70% comes "
        "true about 65% or 75% of the time. Sampling noise has been subtracted, so a calibrated model gets about 0. "
        "It is the error that the bins named below it can see: as many as the rows can pay for, finer where that shows more.",
        "θ = sqrt(E[(q - P(y=1|q))²]); estimate sqrt(max(T, 0)), T = (1/N) Σ_bins (E² - Q)/(n-1), E = Σ(y-q), Q = Σ(y-q)²",
    ),
    (
        "ECE",
        "The same distance averaged without squaring, so large errors weigh less. Also debiased.",
        "E|q - P(y=1|q)|; estimate 2 Σ w|d| - Σ w E|N(d, s²/n)|, d a bin's mean of y - q",
    ),
    (
        "largest bin error",
        "The gap of the worst bin drawn. With many bins some gap is large by chance; it has no interval.",
        "max over bins of |mean q - frequency|",
    ),
    (
        "mean q - mean y",
        "Positive: too high on average. A model can be right on average and wrong everywhere, so read it with the slope.",
        "(1/N) Σ (q - y)",
    ),
    (
        "slope of y on q",
        "1 is right. Below 1 the probabilities are too extreme (overconfident): moving from 0.2 to 0.8 moves the "
        "frequency by less. Above 1 they are not extreme enough (underconfident).",
        "Σ(q - q̄)(y - ȳ) / Σ(q - q̄)²",
    ),
    (
        "Brier score",
        "Mean squared error of the probabilities; lower is better. Miscalibration is what recalibrating would save, "
        "discrimination what knowing q is worth, uncertainty the score of always saying the base rate.",
        "(1/N) Σ (y - q)² = miscalibration - discrimination + uncertainty (isotonic, CORP)",
    ),
    (
        "log loss",
        "Mean surprise in nats; lower is better. Infinite if something happened that q called impossible.",
        "-(1/N) Σ [y log q + (1-y) log(1-q)]",
    ),
    (
        "AUC",
        "How well q ranks: the chance that a random positive has a higher q than a random negative. Says nothing of "
        "calibration.",
        "P(q⁺ > q⁻) + ½ P(q⁺ = q⁻)",
    ),
    (
        "calibrated?",
        "If the model were perfectly calibrated, results this far off would happen with probability p. A small p says "
        "that it is not; with many rows even a harmless error gives a small p, so look at the size first.",
        "Cauchy combination (p cut at ½) of a test on T and a score test on (Σe, Σe(1-2q)); 0 if q = 0 or q = 1 was wrong",
    ),
]


def explanation(c: Calibration) -> str:
    """Every number of the output, explained."""
    said = ["\nWhat the numbers mean\n"]
    for name, words, formula in _MEANINGS:
        said.append(f"  {name}")
        said.append(filled(words, "    "))
        said.append(filled(formula, "      "))
    said.append(
        filled(
            f"Intervals hold the true value in {100 * c.confidence_level:g}% of samples; derivations and simulations are in "
            "docs/evidence/theory.md.",
            "  ",
        )
    )
    return "\n".join(said) + "\n"
