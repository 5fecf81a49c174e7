"""Standard output: everything is said at once, and a reader that leaves early is no error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def say(text: str) -> None:
    """Print `text`. What the terminal's encoding lacks is replaced; a closed pipe ends the output quietly."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def quiet_progress() -> Iterator[Callable[[str], None] | None]:
    """What is at work, on one line of a terminal's stderr that vanishes; None where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading …") as status:
        yield status.update
