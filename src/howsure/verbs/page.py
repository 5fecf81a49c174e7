"""`howsure page`: results of `howsure explore` as one file that opens in a browser, with no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from howsure.events.exploration import Exploration
from howsure.events.storage import SCHEMAS
from howsure.exploring.page import whole_page
from howsure.files import check_outputs, write_whole


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
        check_outputs(str(out), inputs=[*read, found.folder / "manifest.json", f"{found.folder}/labels-*.jsonl"])
    made = whole_page(found, actors)
    if out is not None:
        write_whole(str(out), made)
    return made


def opened(results: str | Path | Exploration) -> Exploration:
    """Results by their folder, or as they are."""
    return results if isinstance(results, Exploration) else Exploration.open(results)
