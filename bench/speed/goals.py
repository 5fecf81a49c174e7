"""A row of a bench: what, howsure beside the other, their ratio, the goal and whether it holds. And how things are timed."""

import time


def taken_by(work, clock=time.perf_counter):
    """Seconds of one call."""
    began = clock()
    work()
    return clock() - began


def best_of(times, *works, clock=time.perf_counter):
    """The least seconds of each of several works, taken in turn; one number for one work."""
    taken = [min(each) for each in zip(*([taken_by(f, clock) for f in works] for _ in range(times)), strict=True)]
    return taken[0] if len(works) == 1 else taken


def heading(title):
    """What the rows below it are about."""
    print(f"\n{title:<64} {'howsure':>11} {'other':>11} {'ratio':>9}  {'goal':<13} holds", flush=True)


def row(what, ours, other=None, *, at_most=None, at_least=None, unit="s"):
    """A goal is `at_most` so many times the other (or, with no other, so many of the unit), or `at_least` so many times as fast."""
    ratio = None if other is None else other / ours if at_least is not None else ours / other
    reached = ours if ratio is None else ratio
    goal, holds = "", ""
    if at_most is not None:
        goal, holds = f"<= {at_most:,g} {unit if other is None else 'x'}", reached <= at_most
    elif at_least is not None:
        goal, holds = f">= {at_least:,g} {unit if other is None else 'x'}", reached >= at_least
    cells = [
        _number(ours, unit),
        "" if other is None else _number(other, unit),
        "" if ratio is None else f"{ratio:,.2f} x",
    ]
    said = {True: "yes", False: "NO", "": ""}[holds if holds == "" else bool(holds)]
    print(f"{what:<64} {cells[0]:>11} {cells[1]:>11} {cells[2]:>9}  {goal:<13} {said}".rstrip(), flush=True)


def _number(x, unit):
    return f"{x:,.0f} {unit}" if x >= 1000 else f"{x:,.3g} {unit}"
