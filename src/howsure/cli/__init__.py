"""One file per command: parse, call a verb, format. Errors become one line on stderr and exit status 2."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    from howsure.cli.application import run

    sys.exit(run(arguments))
