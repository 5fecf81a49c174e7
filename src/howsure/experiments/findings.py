"""What is said of a claim of the source: whether it holds, in words filled in with the numbers found."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from string import Formatter
from typing import Any, Literal

import numpy as np

from howsure._result import plain, shown_as
from howsure.calibration.comparing.difference import Difference
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.paper import PaperBins
from howsure.calibration.result import Calibration
from howsure.report.text.layout import limits

Verdict = Literal["confirmed", "corrected", "differs", "undecided", "not tested", "extended"]
Values = dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim of the source, whether it holds, and the numbers that say so.

    A claim is *confirmed*; *corrected* where it is wrong of itself, whatever the data; it *differs* where these data and
    models show another thing; *undecided* where it was tested and chance, or a choice of tuning, may explain what was found;
    *not tested* where it could not be. A claim that the source does not make, or a step that it leaves open, is *extended*. `paper` and `ours` are the number that the source
    prints and ours, in a few words each, to stand side by side.
    """

    claim: str
    source: str
    verdict: Verdict
    said: str
    numbers: dict[str, float | int]
    paper: str = ""
    ours: str = ""

    __repr__ = shown_as("{verdict}: {claim}")


CLAIMS: dict[str, dict[str, str]] = tomllib.loads((files("howsure.data") / "claims.toml").read_text(encoding="utf-8"))
NOTES: dict[str, Any] = CLAIMS.pop("notes")  # by experiment
OVERVIEW = CLAIMS.pop("overview")


class _Words(Formatter):
    """Fills in words: an estimate is shown with its interval, to as many digits as its format says; a method is called."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        value, used = super().get_field(field_name, args, kwargs)
        return value() if callable(value) else value, used

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None or isinstance(value, Estimate):
            return shown(value, int(format_spec or 4))
        return str(super().format_field(value, format_spec))


def finding_on(
    claim: str, verdict: Verdict, values: Values = None, /, *, numbers: Values = None, **more: Any
) -> Finding:
    """The finding on a claim of data/claims.toml: its words are filled in with the values, and some of these kept as numbers."""
    filled_in = {**(values or {}), **more}
    row = CLAIMS[claim]
    words, fill = CLAIMS[row["like"]] | row if "like" in row else row, _Words()
    if numbers is None:
        kept = (part.strip().partition("=") for part in words.get("numbers", "").split(";"))
        numbers = {name: plain(fill.get_field(path or name, (), filled_in)[0]) for name, _, path in kept if name}
    said, ours = (fill.vformat(words[part], (), filled_in) for part in ("said", "ours"))
    return Finding(row["claim"], row["source"], verdict, said, numbers, row["paper"], ours)


def notes_on(experiment: str, **values: Any) -> tuple[str, ...]:
    """What data/claims.toml says of how an experiment was done."""
    return tuple(_Words().vformat(note, (), values) for note in NOTES[experiment])


def untested(claim: str, why: str) -> Finding:
    """The finding on a claim that cannot be tested here."""
    row = CLAIMS[claim]
    return Finding(row["claim"], row["source"], "not tested", why, {}, row["paper"], "–")


def judged(e: Estimate | Difference, *, above: bool = True) -> Verdict:
    """Of a claim that a difference is above 0 (or below): what its interval says."""
    if e.low is None or e.high is None or e.low <= 0 <= e.high:
        return "undecided"
    return "confirmed" if (e.low > 0) == above else "differs"


def held(holds: bool | np.bool_, otherwise: Verdict = "differs") -> Verdict:
    """Of a claim that is seen to hold, or not."""
    return "confirmed" if holds else otherwise


def height(bins: PaperBins, low: float = 0.0, high: float = 1.0) -> Estimate:
    """Mean height of the paper's curve above the diagonal between two values of q: above 0 is underconfident by §3.3.

    ∫ (p̂ - q̂) dq over the lines that join the points, divided by the length that they span; the interval takes the points'
    frequencies for independent binomials, as Algorithm 2 does. One value where fewer than two points lie there.

    >>> from howsure.calibration.paper import adaptive_bins
    >>> height(adaptive_bins([0, 1] * 4, [0.2] * 4 + [0.4] * 4, 4)).value.__round__(3)
    0.2
    """
    inside = (bins.mean_prob >= low) & (bins.mean_prob <= high)
    q, p, n = (v[inside] for v in (bins.mean_prob, bins.mean_true, bins.n))
    if len(q) < 2 or q[-1] == q[0]:
        return Estimate(float((p - q).mean()) if len(q) else 0.0)
    width = np.diff(q)
    weight = 0.5 * (np.append(width, 0.0) + np.append(0.0, width)) / (q[-1] - q[0])
    value = float(weight @ (p - q))
    half = 1.96 * float(np.sqrt(weight**2 @ (p * (1.0 - p) / n)))
    return Estimate(value, value - half, value + half)


def side(e: Estimate, above: str = "underconfident", below: str = "overconfident") -> str:
    """A curve's height in the words of the paper's §3.3; of confidence less accuracy the words are the other way round."""
    return e.side(0.0, below, above) or "neither over- nor underconfident"


def shown(e: Estimate | None, digits: int = 4) -> str:
    """A number with its interval.

    >>> shown(Estimate(0.12345, 0.1, 0.2), 3)
    '0.123 [0.100, 0.200]'
    """
    return "–" if e is None else f"{e.value:.{digits}f} {limits(e, f'.{digits}f')}".rstrip()


def leaning(c: Calibration) -> str:
    """Too extreme, too timid, or neither, by the slope's interval."""
    return c.bias.extremity or "neither too extreme nor too timid"
