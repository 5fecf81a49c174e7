"""`howsure top`, `howsure page` and `howsure serve`: what `howsure explore` has found."""

from collections.abc import Sequence
from pathlib import Path

from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.events.ranking import Ranking
from howsure.events.storage import SCHEMAS
from howsure.exploring.page import ExplorerServer, whole_page
from howsure.files import check_outputs, write_whole


def top(
    results: str | Path | Exploration, *, actor: str | None = None, uncertain: bool = False, limit: int = 10
) -> Ranking:
    """Documents of a folder that `howsure explore` has written, the most probable or the least certain first."""
    found = opened(results)
    documents = found.top(actor, uncertain=uncertain, limit=limit)
    return Ranking(tuple(documents), {d.actor: found.name(d.actor) for d in documents})


def page(results: str | Path | Exploration, out: str | Path | None = None, *, actors: Sequence[str] = ()) -> bytes:
    """The explorer page: counts with their bands, and the documents behind each number.

    Parameters
    ----------
    results : path or Exploration
        A folder that `howsure explore` has written, or what it gave back.
    out : path or None
        The file to write; it is written whole or not at all.
    actors : sequence of str
        Codes or names; by default all actors with an event.

    Returns
    -------
    bytes
        The page, HTML that holds its data, scripts and styles.

    Examples
    --------
    >>> import howsure
    >>> howsure.page(howsure.explore()).startswith(b"<!doctype html>")
    True
    """
    found = opened(results)
    if out is not None:
        read = [found.folder / f"{table}.parquet" for table in SCHEMAS]
        check_outputs(str(out), inputs=[*read, found.folder / "manifest.json", f"{found.folder}/labels-*.csv"])
    made = whole_page(found, actors)
    if out is not None:
        write_whole(str(out), made)
    return made


def serve(results: str | Path | Exploration, *, port: int = 8015) -> ExplorerServer:
    """A server of the explorer page, listening; `serve_forever()` runs it. Port 0 takes any that is free."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65_535:
        raise InputError(f"`port=` must be a number from 0 to 65535; got {port!r}.")
    return ExplorerServer(opened(results), port)


def opened(results: str | Path | Exploration) -> Exploration:
    """Results by their folder, or as they are."""
    return results if isinstance(results, Exploration) else Exploration.open(results)
