"""A score in words."""

from __future__ import annotations

from howsure.calibration.estimation.intervals import Estimate
from howsure.evaluation.scores.result import Score


def verdict(s: Score) -> str:
    """How good, against what, and where it fails."""
    level = f"{100 * s.confidence_level:g}%"
    name = f"span {s.f_name}" if s.spans else "accuracy"
    head = s.micro.f if s.spans else s.accuracy
    limits = "" if head.low is None else f" ({level} interval {_share(head.low)} to {_share(head.high)})"
    said = [f"{_share(head.value)} {name}{limits}, macro {s.f_name} {_share(s.macro.f.value)}."]
    if s.baselines:
        said.append(_against(s))
    if s.ceiling is not None:
        top = s.ceiling.micro.f if s.spans else s.ceiling.accuracy
        said.append(_below(head, top, name))
    worst = [c for c in s.classes if c.f is not None and c.gold > 0]
    if len(worst) > 2:
        low = min(worst, key=lambda c: 0.0 if c.f is None else c.f.value)
        value = 0.0 if low.f is None else low.f.value
        said.append(f"Weakest on {low.label!r} ({s.f_name} {_share(value)} of {low.gold:,}).")
    if s.left_out:
        said.append(left_out_text(s.left_out))
    return " ".join(said)


def left_out_text(left_out: tuple[tuple[str, int], ...]) -> str:
    """How many rows were left out, and why."""
    total = sum(n for _, n in left_out)
    why = ", ".join(f"{n:,} without {name}" for name, n in left_out)
    return f"{total:,} row{'s' if total > 1 else ''} left out: {why}."


def _against(s: Score) -> str:
    majority = s.baselines[0]
    by = f"{majority.name} would get {_share(majority.accuracy)}"
    if s.accuracy.low is not None and s.accuracy.low > majority.accuracy:
        return f"Better than no look at the items: {by}."
    if s.accuracy.high is not None and s.accuracy.high < majority.accuracy:
        return f"Worse than no look at the items: {by}."
    return f"Not clearly better than no look at the items: {by}."


def _below(head: Estimate, top: Estimate, name: str) -> str:
    second = f"a second annotator's {name} is {_share(top.value)}"
    if head.low is not None and top.high is not None and top.low is not None and head.high is not None:
        if head.high < top.low:
            return f"There is room: {second}."
        if head.low > top.high:
            return f"Above the ceiling: {second}."
        return f"Not clearly below the ceiling: {second}."
    return f"For comparison, {second}."


def _share(x: float | None) -> str:
    return "–" if x is None else f"{x:.3f}"
