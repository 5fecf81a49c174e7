"""One file per command: parse, call a verb, format. Errors become one line on stderr and exit status 2."""

from __future__ import annotations

import os
import sys


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    from howsure.cli.application import run

    status = run(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` perhaps, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)
