"""The verdict in words, before any table.

"Too high" and "too low" compare q with the observed frequency; "overconfident" and "underconfident" are said of the
probability of the predicted class alone, confidence above or below accuracy; a slope below 1 is "too extreme", above 1 "too
timid". The glossary has the same words.
"""

from howsure.calibration.estimation.bias import Region
from howsure.calibration.estimation.perfection import p_words
from howsure.calibration.result import Calibration

LOOSE = 0.1  # an upper limit of the error beyond this rules out little


def verdict(c: Calibration) -> str:
    """One to three sentences: calibrated or not, by how much, in which direction, where."""
    if c.error is None or c.p_value is None:
        return f"Too little to judge: {c.n:,} row{'s' * (c.n != 1)}."
    tested = c.p_value <= 1.0 - c.confidence_level
    low, high = c.error.limits
    if not tested and low == 0.0:
        above = f"an error above {_number(high)}"
        ruled_out = f", but they rule out only {above}" if high > LOOSE else f": {above} is ruled out"
        return f"No miscalibration found in {c.n:,} rows (p {p_words(c.p_value)}){ruled_out}."
    if low == 0.0:  # the tests see a direction, and the size cannot be distinguished from noise
        said = f"Not calibrated, p {p_words(c.p_value)}, but these rows cannot tell by how much: the error is between 0 and"
        return " ".join([f"{said} {_number(high)} (root mean square).", *_direction(c)])
    how_bad = "Badly miscalibrated" if low >= 0.1 else "Slightly miscalibrated" if high < 0.02 else "Not calibrated"
    limits = f"{100 * c.confidence_level:g}% interval {_number(low)} to {_number(high)}"
    p = f", p {p_words(c.p_value)}" if tested else ""
    off = f"off by {_number(c.error.value)} (root mean square; {limits}){p}"
    return " ".join([f"{how_bad}: the probabilities are {off}.", *_direction(c)])


def _direction(c: Calibration) -> list[str]:
    said = []
    gap, where = c.bias.gap.value, _where(c)
    if c.confidence:
        sure = f"confidence is {_number(c.base_rate + gap)} on average, accuracy {_number(c.base_rate)}"
        said.append(f"The model is {c.confidence}: {sure}." + (f" The probabilities are {where}." if where else ""))
    elif c.bias.direction:
        said.append(
            f"They are {c.bias.direction} by {_number(abs(gap))} on average" + (f", {where}." if where else ".")
        )
    elif where:
        said.append(f"They are {where}.")
    if (c.confidence, c.bias.extremity) in (("overconfident", "too timid"), ("underconfident", "too extreme")):
        said.append(f"The surer it is, the less {c.confidence}.")  # the slope, in words that go with the level's
    elif c.bias.extremity:
        said.append(f"They are {c.bias.extremity}{': too near the base rate' * (c.bias.extremity == 'too timid')}.")
    return said


def _where(c: Calibration) -> str:
    """All regions of each side, the side of more weight (rows times gap) first; of more than two, from where to where."""
    sides: dict[str, list[Region]] = {}
    for region in c.bias.regions:
        sides.setdefault(region.direction, []).append(region)

    def weight(found: list[Region]) -> float:
        return sum(r.n * abs(r.mean_prob - r.mean_true) for r in found)

    parts = []
    for direction, found in sorted(sides.items(), key=lambda item: -weight(item[1])):
        if len(found) > 2:
            hull = f"between {_number(found[0].from_prob)} and {_number(found[-1].to_prob)}"
            parts.append(f"mostly {direction} {hull}")
        else:
            parts.append(f"{direction} {' and '.join(_span(r) for r in found)}")
    return (", " if any(f" and {word}" in p for p in parts for word in ("between", "near", "at ")) else " and ").join(
        parts
    )


def _span(r: Region) -> str:
    if r.from_prob == r.to_prob:
        return f"at {_number(r.from_prob)}"
    low, high = _number(r.from_prob), _number(r.to_prob)
    return f"near {low}" if low == high else f"between {low} and {high}"


def _number(x: float) -> str:
    if 0.0 < x < 0.001:
        return f"{x:.2g}"
    return f"{x:.4f}" if 0.999 < x < 0.99995 else f"{x:.3f}"
