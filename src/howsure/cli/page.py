"""`howsure page RESULTS`."""

from __future__ import annotations

import json
from typing import Annotated, Optional

import typer


def page(
    results: Annotated[str, typer.Argument(help="A folder that howsure explore has written.")],
    out: Annotated[str, typer.Option("-o", "--out", help="The file to write.")] = "events.html",
    actor: Annotated[Optional[str], typer.Option(help="Only these actors, apart by commas.")] = None,  # noqa: UP045
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> int:
    """One file with the counts, their bands and the documents behind them, to open in a browser.

    Examples:

      howsure page results/ -o events.html

      howsure page results/ --actor IRN,IRQ
    """
    from howsure.cli.output import say
    from howsure.verbs.page import page as made_page

    made = made_page(results, out, actors=[a.strip() for a in (actor or "").split(",") if a.strip()])
    if as_json:
        say(json.dumps({"written": out, "bytes": len(made)}, indent=2, ensure_ascii=False))
    else:
        say(f"Written: {out} ({len(made) / 1e6:.1f} MB); open it in a browser.")
    return 0
