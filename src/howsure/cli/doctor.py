"""`howsure doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery


def doctor(
    thorough: Annotated[bool, typer.Option(help="Also import everything and parse a sentence.")] = False,
    as_json: options.Json = False,
) -> int:
    """What is installed, what is missing, and how to get it. Exit status 1 when the base is broken.

    Examples:

      howsure doctor

      howsure doctor --thorough --json
    """
    from howsure.verbs.doctor import doctor as examine

    found = examine(thorough=thorough)
    Delivery(as_json).deliver(found)
    return 0 if found.is_well else 1
