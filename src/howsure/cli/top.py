"""`howsure top RESULTS`."""

from __future__ import annotations

import json
import textwrap
from typing import Annotated, Optional

import typer


def top(
    results: Annotated[str, typer.Argument(help="A folder that howsure explore has written.")],
    actor: Annotated[Optional[str], typer.Option(help="Only this actor.")] = None,  # noqa: UP045
    uncertain: Annotated[
        bool, typer.Option("--uncertain", help="The least certain first: nearest to one half.")
    ] = False,
    limit: Annotated[int, typer.Option(help="How many documents.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Documents by probability or uncertainty, with the sentences and the links behind them.

    Examples:

      howsure top results/

      howsure top results/ --actor IRQ --uncertain
    """
    from howsure import _validate
    from howsure.cli.output import say
    from howsure.cli.text import printable
    from howsure.events.exploration import Exploration
    from howsure.events.ranking import ranked_documents

    found = Exploration.open(results)
    ranked = ranked_documents(found, actor, uncertain=uncertain, limit=_validate.count(limit, "limit"))
    if as_json:
        made = {"documents": [d.to_dict() for d in ranked]}
        say(json.dumps(made, indent=2, allow_nan=False, ensure_ascii=False))
        return 0
    if not ranked:
        say("No document has an event of an actor.")
        return 0
    parts = []
    for d in ranked:
        day = "undated" if d.date is None else d.date.isoformat()
        head = printable(f"{d.probability:.2f}  {found.name(d.actor)}  {day}  {d.title or d.id}")
        lines = [head if len(head) <= 80 else head[:79] + "…"]
        if d.title:
            lines.append(f"      {printable(d.id)}"[:80])
        for c in d.chains[:3]:
            lines.append(_filled(f"{c.probability:.2f}  {c.why}", "  "))
            lines.append(_filled(c.sentence, "        "))
            lines += [_filled(f"described by {x}", "        ") for x in c.described[:2]]
            if c.hangs_on:
                lines.append(_filled(f"hangs on {c.hangs_on}", "        "))
        parts.append("\n".join(lines))
    say("\n\n".join(parts))
    return 0


def _filled(text: str, indent: str) -> str:
    from howsure.cli.text import printable

    return textwrap.fill(
        printable(textwrap.shorten(text, 400, placeholder=" …")),
        80,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
    )
