"""Counts over time with their uncertainty: what Figure 6 of the paper draws, for any actor and period."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from howsure import _validate
from howsure._result import Record
from howsure.errors import InputError
from howsure.kernels.cells import Floats
from howsure.kernels.poisson_binomial import poisson_binomial
from howsure.posteriors.answers import CountLaw

PERIODS = ("day", "week", "month", "quarter", "year")
MONTHS = {"month": 1, "quarter": 3, "year": 12}
MOST = 20_000
LEVELS = (0.5, 0.8, 0.95)
NORMAL = 1.96  # the paper's m ± 1.96 s


def check_period(every: str) -> str:
    """The name of a period."""
    return _validate.known(every, PERIODS, f"`every=`: there is no period `{every}`")


def period_start(day: date, every: str) -> date:
    """The first day of the period that a day is in; weeks begin on Mondays.

    >>> period_start(date(1999, 5, 17), "quarter")
    datetime.date(1999, 4, 1)
    """
    if every in ("day", "week"):
        return day - timedelta(days=min(day.weekday(), day.toordinal() - 1)) if every == "week" else day
    months = MONTHS[every]
    return date(day.year, (day.month - 1) // months * months + 1, 1)


def next_start(start: date, every: str) -> date:
    """The first day of the period that follows."""
    if every in ("day", "week"):
        return start + timedelta(days=1 if every == "day" else 7)
    year, month = divmod(12 * start.year + start.month - 1 + MONTHS[every], 12)
    return date(year, month + 1, 1)


def period_name(start: date, every: str) -> str:
    """1999-05-17, 1999-W20, 1999-05, 1999-Q2 or 1999."""
    if every == "week":
        year, week, _ = start.isocalendar()
        return f"{year}-W{week:02d}"
    if every == "quarter":
        return f"{start.year}-Q{(start.month + 2) // 3}"
    return {"day": start.isoformat(), "month": start.isoformat()[:7], "year": start.isoformat()[:4]}[every]


def all_periods(days: Sequence[date], every: str) -> list[date]:
    """The first days of all periods from the first date to the last, empty ones included."""
    if not days:
        return []
    at, end = period_start(min(days), every), period_start(max(days), every)
    made = [at]
    while made[-1] < end:
        if len(made) == MOST:
            raise InputError(
                f"the dates go from {min(days)} to {max(days)}: more than {MOST:,} periods of a {every}. "
                "Is a date wrong? Otherwise choose a longer period with `every=`."
            )
        made.append(next_start(made[-1], every))
    return made


@dataclass(frozen=True, slots=True)
class Hit:
    """One document and actor: the probability of an event, the law of the number of entities, the one best count."""

    document: str
    date: date | None
    probability: float
    law: tuple[float, ...]
    best: int


@dataclass(frozen=True, slots=True)
class Count(Record):
    """Summary numbers of the distribution of a count in one period; `n_documents` is how many documents the period has."""

    SHOWN = """period start documents=n_documents mean sd *bands best more_than_before entities_mean entities_sd
        entities_low95 entities_high95 entities_best"""

    period: str
    start: date
    n_documents: int
    mean: float
    sd: float
    intervals: dict[float, tuple[int, int]]
    normal: tuple[float, float]
    best: int
    more_than_before: float | None
    entities_mean: float
    entities_sd: float
    entities_low95: int
    entities_high95: int
    entities_best: int

    def __repr__(self) -> str:
        low, high = self.intervals[0.95]
        return f"Count({self.period}: {self.mean:.2f} documents, 95% between {low} and {high}, one-best {self.best})"

    @property
    def bands(self) -> dict[str, float]:
        """The ends of the intervals by name, then those of the paper's m ± 1.96 s."""
        ends = {f"{100 * level:.0f}": limits for level, limits in self.intervals.items()}
        made = {f"{side}{level}": v for level, e in ends.items() for side, v in zip(("low", "high"), e, strict=True)}
        return made | dict(zip(("normal_low", "normal_high"), self.normal, strict=True))


@dataclass(frozen=True, slots=True)
class PeriodComparison(Record):
    """Two actors in one period: P(n_A > n_B), P(n_A < n_B), and the difference with its interval."""

    SHOWN = "period start p_more=more p_fewer=fewer p_equal=equal difference low95 high95"

    period: str
    start: date
    more: float
    fewer: float
    difference: float
    low95: int  # of the difference
    high95: int

    @property
    def equal(self) -> float:
        """P(as many)."""
        return max(0.0, 1.0 - self.more - self.fewer)


def timeline(hits: Sequence[Hit], days: Sequence[date], every: str) -> list[Count]:
    """One actor's counts in every period; `days` are the dates of all documents, hit or not."""
    starts = all_periods(days, every)
    of = _by_period(hits, every)
    sizes = Counter(period_start(day, every) for day in days)
    made: list[Count] = []
    before: CountLaw | None = None
    for start in starts:
        here = of.get(start, [])
        law = document_count(np.array([h.probability for h in here]))
        entities = entity_count([h.law for h in here])
        intervals = {level: law.interval(level) for level in LEVELS}
        normal = law.mean - NORMAL * law.sd, law.mean + NORMAL * law.sd
        more = None if before is None else more_than(law, before)
        of_law = law.mean, law.sd, intervals, normal, sum(h.best > 0 for h in here), more
        of_entities = entities.mean, entities.sd, *entities.interval(0.95), sum(h.best for h in here)
        made.append(Count(period_name(start, every), start, sizes.get(start, 0), *of_law, *of_entities))
        before = law
    return made


def comparison(
    a: Sequence[Hit], b: Sequence[Hit], both: Mapping[str, float], days: Sequence[date], every: str
) -> list[PeriodComparison]:
    """Two actors, period by period; `both` is P(both have an event) for each document where that is above 0."""
    of_a, of_b = _by_period(a, every), _by_period(b, every)
    made = []
    for start in all_periods(days, every):
        law = hits_difference(of_a.get(start, []), of_b.get(start, []), both)
        numbers = law.above(0), float(law.probabilities[: -law.least].sum()), law.mean, *law.interval(0.95)
        made.append(PeriodComparison(period_name(start, every), start, *numbers))
    return made


def hits_difference(a: Sequence[Hit], b: Sequence[Hit], both: Mapping[str, float]) -> CountLaw:
    """The law of n_A - n_B over the documents of two actors."""
    p, q = ({h.document: h.probability for h in hits} for hits in (a, b))
    names = sorted(p.keys() | q.keys())
    only = (np.array([of.get(d, 0.0) - both.get(d, 0.0) for d in names]) for of in (p, q))
    return difference_count(*(np.maximum(v, 0.0) for v in only))


def _by_period(hits: Sequence[Hit], every: str) -> dict[date, list[Hit]]:
    made: dict[date, list[Hit]] = {}
    for hit in hits:
        if hit.date is not None:
            made.setdefault(period_start(hit.date, every), []).append(hit)
    return made


# Exact laws of counts: how many documents have an event, how many entities, which of two actors has more.
#
# Documents are independent given their own posteriors, so the law of a period's count is a convolution: Poisson-binomial
# for documents, of each document's law for entities, of differences for two actors.


def document_count(p: Floats) -> CountLaw:
    """How many documents have an event, given the probability of each."""
    return CountLaw(poisson_binomial(np.asarray(p, dtype=np.float64)))


def entity_count(laws: Sequence[Sequence[float]]) -> CountLaw:
    """How many entities there are in all, given each document's law of their number."""
    made = np.ones(1)
    for law in laws:
        if len(law) > 1:
            made = np.convolve(made, np.asarray(law, dtype=np.float64))
    return CountLaw(made)


def difference_count(only_a: Floats, only_b: Floats) -> CountLaw:
    """n_A - n_B, given each document's P(A has an event and B none) and P(B has one and A none)."""
    made, n = np.ones(1), len(only_a)
    for a, b in zip(only_a.tolist(), only_b.tolist(), strict=True):
        made = np.convolve(made, [b, 1.0 - a - b, a])
    return CountLaw(np.maximum(made, 0.0), -n)


def more_than(first: CountLaw, second: CountLaw) -> float:
    """P(first > second) for independent counts, such as those of two periods."""
    below = np.cumsum(second.probabilities)  # P(second ≤ least + k)
    k = np.arange(len(first.probabilities)) + first.least - 1 - second.least
    return float(first.probabilities @ np.where(k < 0, 0.0, below[np.clip(k, 0, len(below) - 1)]))
