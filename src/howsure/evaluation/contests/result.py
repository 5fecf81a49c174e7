"""Systems' labels on the same items: which is better, by how much, and how surely. The result of `howsure compare --pred`."""

from dataclasses import dataclass
from typing import Any

from howsure._result import Record, Result, drawn_by, shown_as
from howsure.calibration.comparing.difference import Difference
from howsure.calibration.comparing.result import Comparison
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.estimation.perfection import p_words
from howsure.calibration.gate import Regression
from howsure.calibration.result import Calibration
from howsure.evaluation.contests.ranks import Ranks
from howsure.evaluation.contests.significance import Bootstrap, Power, Test
from howsure.evaluation.scores.result import left_out_text


@dataclass(frozen=True, slots=True)
class SystemScore(Record):
    """One system: the metric compared, and its accuracy."""

    name: str
    value: Estimate
    accuracy: Estimate


@dataclass(frozen=True, slots=True)
class Duel(Record):
    """By how much system `a` is better than system `b`: a positive difference favours `a`. The first test is the one that counts."""

    SHOWN = """a b effect_size=difference.value difference adjusted_p_value tests bootstrap power
        only_a_right=a_only only_b_right=b_only share_of_runs?"""
    __repr__ = shown_as("{a} - {b}: {difference!r}")

    a: str
    b: str
    difference: Difference
    tests: tuple[Test, ...]
    bootstrap: Bootstrap
    power: Power
    adjusted_p_value: float | None = None
    a_only: int | None = None  # rows that only `a` has right
    b_only: int | None = None
    share_of_runs: float | None = None  # of the variance, where items are answered several times


@dataclass(frozen=True, slots=True)
class ContestSlice(Record):
    """One value of the `by` column: accuracy of each system, and the difference of the first two, p adjusted."""

    SHOWN = "slice=name n accuracies difference adjusted_p_value"

    name: str
    n: int
    accuracies: tuple[float, ...]
    difference: Difference
    adjusted_p_value: float | None = None


@dataclass(frozen=True, slots=True)
class Contest(Result):
    """How systems compare on the same items. Made by `howsure.compare` when it is given labels."""

    SHOWN = "verdict metric positive n n_groups confidence_level systems pairs=duels ranks? by? slices? left_out notes"

    metric: str
    systems: tuple[SystemScore, ...]
    duels: tuple[Duel, ...]
    n: int
    n_groups: int | None = None
    confidence_level: float = 0.95
    positive: str | None = None
    planned: int | None = None
    calibration: Comparison | None = None  # of the probabilities, where given
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()
    source: str = "arrays"
    ranks: Ranks | None = None  # of three systems or more
    by: str | None = None
    slices: tuple[ContestSlice, ...] = ()

    def __repr__(self) -> str:
        scores = ", ".join(f"{s.name} {s.value!r}" for s in self.systems)
        return f"Contest({self.metric}: {scores}, n={self.n:,})"

    @property
    def metric_name(self) -> str:
        """The metric as people write it."""
        names = {"accuracy": "accuracy", "macro-f1": "macro F1", "span-f1": "span F1"}
        return names.get(self.metric, f"F1 of {self.positive!r}")

    @property
    def verdict(self) -> str:
        """Who is better and how surely; with probabilities, whether the best one's can be believed."""
        said = _sentence(self, self.duels[0]) if len(self.systems) == 2 else _ranking(self)
        known = "" if self.calibration is None else _probabilities(self)
        return " ".join(filter(None, (said, known, left_out_text(self.left_out) if self.left_out else "")))

    @property
    def regressions(self) -> tuple[Regression, ...]:
        """Each later system against the first: is it shown to be worse?"""
        later = [d for d in self.duels if d.a == self.systems[0].name]
        return tuple(Regression(d.b, d.a, {self.metric_name: d.difference.estimate}) for d in later)

    def to_dict(self) -> dict[str, Any]:
        made = Result.to_dict(self) | {"left_out": dict(self.left_out)}
        if self.planned is not None:
            made["planned"] = {"rows": self.planned, "power": [d.power.power(self.planned) for d in self.duels]}
        return made | ({} if self.calibration is None else {"calibration": self.calibration.to_dict()})

    def table(self) -> list[dict[str, Any]]:
        """One row a system."""
        places = {} if self.ranks is None else {r.name: {"place": r.places} for r in self.ranks.each}
        rows = []
        for s in self.systems:
            row = {"": s.name, self.metric_name: s.value, "accuracy": s.accuracy.value}
            rows.append(row | places.get(s.name, {}))
        return rows

    figure = drawn_by("howsure.plots.labels.contest_figure")
    to_text = drawn_by("howsure.report.text.labels.contest_text")
    to_html = drawn_by("howsure.report.pages.contest_page")


def _sentence(c: Contest, d: Duel) -> str:
    alpha = 1.0 - c.confidence_level
    better, worse = (d.a, d.b) if d.difference.value > 0 else (d.b, d.a)
    points = f"{100 * abs(d.difference.value):.1f} points of {c.metric_name}"
    p = d.tests[0].p_value
    if p < alpha:
        limits, sign = "", 100 if d.difference.value > 0 else -100
        if d.difference.low is not None and d.difference.high is not None:
            low, high = sorted((sign * d.difference.low + 0.0, sign * d.difference.high + 0.0))
            limits = f", {100 * c.confidence_level:g}% interval {low:.1f} to {high:.1f}"
        return f"{better} is better than {worse} by {points}{limits} (p {p_words(p)})."
    if d.difference.value == 0.0:
        return f"{d.a} and {d.b} have the same {c.metric_name}."
    needed = d.power.rows_needed()
    more = f" If it is real, about {needed:,} rows would show it (power 80%)." if needed and needed > c.n else ""
    return f"No clear difference: {better} is ahead of {worse} by {points} (p {p_words(p)}).{more}"


def _ranking(c: Contest) -> str:
    order = sorted(c.systems, key=lambda s: -s.value.value)
    ranked = ", ".join(f"{s.name} ({s.value.value:.3f})" for s in order)
    none = "They cannot be ranked: there are no two independent units."
    return f"By {c.metric_name}: {ranked}. {c.ranks.sentence(c.confidence_level) if c.ranks else none}"


def _probabilities(c: Contest) -> str:
    assert c.calibration is not None
    best = max(c.systems, key=lambda s: s.value.value).name
    said = {name: _state(k) for name, k in c.calibration.by_model.items()}
    rest = "; ".join(f"{name}'s {state}" for name, state in said.items() if name != best)
    return f"{best}'s probabilities are {said[best]}; {rest}."


def _state(k: Calibration) -> str:
    """Whether probabilities are right, and if not how they are off."""
    if k.error is None or k.p_value is None:
        return "too few to judge"
    if k.p_value > 1.0 - k.confidence_level and not k.error.low:
        beyond = "" if k.error.high is None else f" (an RMS error above {k.error.high:.3f} is ruled out)"
        return f"not found to be wrong{beyond}"
    how = " and ".join(x for x in (k.confidence or k.bias.direction, k.bias.extremity) if x) or "off"
    if k.p_value > 1.0 - k.confidence_level and k.error.high is not None:  # the interval says so, and the test does not
        return f"{how} (RMS error {k.error.value:.3f}, between {k.error.low:.3f} and {k.error.high:.3f})"
    return f"{how} (RMS error {k.error.value:.3f}, p {p_words(k.p_value)})"
