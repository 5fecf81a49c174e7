"""The result of `howsure lm check`: is a language model's probability of the next word right?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from howsure._result import Result, drawn_by
from howsure.calibration.result import Calibration

# A word's band is the number of times it occurred in the training text.
BANDS = (
    ("never seen", 0),
    ("seen once", 1),
    ("seen 2-9 times", 2),
    ("seen 10-99 times", 10),
    ("seen 100-999 times", 100),
    ("seen 1000 times or more", 1000),
)


@dataclass(frozen=True, slots=True)
class LanguageCalibration(Result):
    """Calibration of the likeliest next word's probability, and of all words' probabilities."""

    SHOWN = "*top verdict model places accuracy sampled_places all_words"

    model: str
    source: str
    accuracy: float
    top: Calibration  # the predicted word; slices by its frequency in training
    all_words: Calibration  # every (place, word) event of a sample of places; slices by frequency
    places: int  # that the predicted word was checked at
    sampled_places: int  # that all words were checked at

    def __repr__(self) -> str:
        return f"LanguageCalibration(predicted word error={self.top.error!r}, {self.places:,} places)"

    @property
    def error(self) -> Any:
        """The RMS error of the predicted word's probability."""
        return self.top.error

    @property
    def verdict(self) -> str:
        """The answer in words."""
        return (
            f"Of the predicted next word's probability: {self.top.verdict} It is the right word "
            f"{100 * self.accuracy:.1f}% of the time. Over the whole vocabulary, probabilities are "
            f"{_lean(self)}."
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the predicted word's calibration curve on Matplotlib axes and return them."""
        return self.top.plot(ax)

    def table(self) -> list[dict[str, Any]]:
        """The predicted word, then by its frequency in training."""
        return self.top.table()

    def headline(self) -> dict[str, str]:
        """Of the predicted word."""
        return self.top.headline()

    def figure(self) -> dict[str, Any]:
        """The picture of `--plot`, a Vega-Lite specification."""
        return self.top.figure()

    to_text = drawn_by("howsure.report.text.calibration.language_text")
    to_html = drawn_by("howsure.report.pages.language_page")


def _lean(c: LanguageCalibration) -> str:
    """Which frequency bands are given too little or too much."""
    said = []
    for direction in ("too low", "too high"):
        names = [s.name for s in c.all_words.slices if s.calibration.bias.direction == direction]
        if names:
            said.append(f"{direction} for words " + ", ".join(names))
    return " and ".join(said) or "neither clearly too high nor too low in any frequency band"
