"""Days, weeks, months, quarters and years: the period of a date, its name, and all periods between two."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from howsure import _validate
from howsure.errors import InputError

PERIODS = ("day", "week", "month", "quarter", "year")
MOST = 20_000


def check_period(every: str) -> str:
    """The name of a period."""
    if every not in PERIODS:
        raise InputError(f"--every: there is no period `{every}`.{_validate.nearest(every, PERIODS)}")
    return every


def period_start(day: date, every: str) -> date:
    """The first day of the period that a day is in; weeks begin on Mondays.

    >>> period_start(date(1999, 5, 17), "quarter")
    datetime.date(1999, 4, 1)
    """
    if every == "day":
        return day
    if every == "week":
        return day - timedelta(days=min(day.weekday(), day.toordinal() - 1))
    if every == "month":
        return day.replace(day=1)
    if every == "quarter":
        return date(day.year, 3 * ((day.month - 1) // 3) + 1, 1)
    return date(day.year, 1, 1)


def next_start(start: date, every: str) -> date:
    """The first day of the period that follows."""
    if every in ("day", "week"):
        return start + timedelta(days=1 if every == "day" else 7)
    months = {"month": 1, "quarter": 3, "year": 12}[every]
    year, month = divmod(12 * start.year + start.month - 1 + months, 12)
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
                "Is a date wrong? Otherwise choose a longer period with --every."
            )
        made.append(next_start(made[-1], every))
    return made
