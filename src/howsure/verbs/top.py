"""`howsure top`: documents by probability or uncertainty, with the sentences and the links behind them."""

from __future__ import annotations

from pathlib import Path

from howsure.events.exploration import Exploration
from howsure.events.ranking import Ranking


def top(results: str | Path, *, actor: str | None = None, uncertain: bool = False, limit: int = 10) -> Ranking:
    """Documents of a folder that `howsure explore` has written, the most probable or the least certain first."""
    found = Exploration.open(results)
    documents = found.top(actor, uncertain=uncertain, limit=limit)
    return Ranking(tuple(documents), {d.actor: found.name(d.actor) for d in documents})
