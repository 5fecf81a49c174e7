"""`howsure serve`: the explorer page from a small server on this machine, for results too large for one file."""

from __future__ import annotations

from pathlib import Path

from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.exploring.server import ExplorerServer
from howsure.verbs.page import opened


def serve(results: str | Path | Exploration, *, port: int = 8015) -> ExplorerServer:
    """A server of the explorer page, listening; `serve_forever()` runs it. Port 0 takes any that is free."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65_535:
        raise InputError(f"`port` must be a number from 0 to 65535; got {port!r}.")
    return ExplorerServer(opened(results), port)
