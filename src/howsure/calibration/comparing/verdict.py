"""A comparison in words."""

from __future__ import annotations

from howsure.calibration.comparing.result import Comparison, Pair


def verdict(c: Comparison) -> str:
    """Who is better calibrated, who scores better, and on how many slices."""
    errors = {m: (None if k.error is None else k.error.value) for m, k in zip(c.models, c.calibrations, strict=True)}
    if not c.pairs:
        return "Too little to compare."
    said = (
        [_sentence(c, p, errors) for p in c.pairs[: len(c.models) - 1]] if len(c.models) == 2 else [_ranking(c, errors)]
    )
    if c.slices:
        a, b = c.models[:2]
        k = c.slice_counts
        said.append(
            f"By {c.by}, {a} is better calibrated on {k[a]} of {len(c.slices)} slices "
            f"({k[f'{a} significantly']} significantly), {b} on {k[b]} ({k[f'{b} significantly']})."
        )
    return " ".join(said)


def _sentence(c: Comparison, p: Pair, errors: dict[str, float | None]) -> str:
    alpha = 1.0 - c.confidence_level
    better, worse = (p.a, p.b) if p.error_squared.value > 0 else (p.b, p.a)
    numbers = f"RMS error {_number(errors[better])} against {_number(errors[worse])}"
    if p.error_squared.p_value is not None and p.error_squared.p_value < alpha:
        said = f"{better} is better calibrated than {worse}: {numbers} (p {_p(p.error_squared.p_value)})."
    else:
        said = f"No difference in calibration found: {numbers} (p {_p(p.error_squared.p_value)})."
    lower, higher = (p.a, p.b) if p.brier.value > 0 else (p.b, p.a)
    if p.brier.p_value is not None and p.brier.p_value < alpha:
        return f"{said} {lower} has the better Brier score, by {abs(p.brier.value):.4f} (p {_p(p.brier.p_value)})."
    return f"{said} Their Brier scores do not differ clearly ({lower} ahead of {higher} by {abs(p.brier.value):.4f})."


def _ranking(c: Comparison, errors: dict[str, float | None]) -> str:
    order = sorted(errors, key=lambda m: (errors[m] is None, errors[m]))
    ranked = ", ".join(f"{m} ({_number(errors[m])})" for m in order)
    alpha = (1.0 - c.confidence_level) / len(c.pairs)
    clear = sum(p.error_squared.p_value is not None and p.error_squared.p_value < alpha for p in c.pairs)
    return f"Best calibrated first, by RMS error: {ranked}. {clear} of {len(c.pairs)} pairs differ significantly (Bonferroni)."


def _number(x: float | None) -> str:
    return "–" if x is None else f"{x:.3f}"


def _p(p: float | None) -> str:
    if p is None:
        return "= –"
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"
