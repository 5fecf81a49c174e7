"""Progress on stderr, when that is a terminal: a bar, or what is at work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(what: str) -> Iterator[Callable[..., None]]:
    """Gives a function (done, total, saying) that moves the bar; nothing is drawn where stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total, saying=what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total, saying=what: shown.update(task, completed=done, total=total, description=saying)


@contextmanager
def quiet_progress() -> Iterator[Callable[[str], None] | None]:
    """What is at work, on one line of a terminal's stderr that vanishes; None where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading …") as status:
        yield status.update
