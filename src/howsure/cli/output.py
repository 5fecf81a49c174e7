"""Standard output: everything is said at once, and a reader that leaves early is no error."""

from __future__ import annotations

import os
import sys


def say(text: str) -> None:
    """Print `text`. What the terminal's encoding lacks is replaced; a closed pipe ends the output quietly."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
