"""The page over all experiments in a folder of `howsure reproduce`: index.md, and index.html to be opened in a browser."""

from __future__ import annotations

import json
from pathlib import Path

from howsure._version import __version__
from howsure.experiments.overview import LEGEND, SOURCES, TITLE, overview, tally
from howsure.experiments.registry import EXPERIMENTS
from howsure.experiments.result import Reproduction
from howsure.experiments.slips import BEYOND, SLIPS
from howsure.files import write_whole
from howsure.report.reproduction_page import reproduction_page


def kept_results(folder: str | Path) -> list[Reproduction]:
    """This version's results in a folder, in the order of the sources; what cannot be read is left out."""
    made = []
    for name in EXPERIMENTS:
        try:
            kept = json.loads((Path(folder) / f"{name}.json").read_text(encoding="utf-8"))
            result = Reproduction.from_dict(kept)
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if result.version == __version__ and result.name == name:
            made.append(result)
    return made


def left_out(results: list[Reproduction]) -> list[str]:
    """The experiments that are not among the results, and why."""
    done = {r.name for r in results}
    said = []
    for e in EXPERIMENTS.values():
        if e.name not in done:
            lacking = e.missing()
            said.append(f"{e.name}: {e.title}. {'Not run yet.' if lacking is None else lacking}")
    return said


def reproduction_index(folder: str | Path) -> tuple[str, ...]:
    """Write the page over all results that the folder holds; returns the files."""
    folder = Path(folder)
    results = kept_results(folder)
    absent = left_out(results)
    text = overview(results, absent)
    drawings = {}
    for r in results:
        for f in r.figures:
            name = f"{r.name}-{f.name}"
            file = folder / f"{name}.svg"
            if file.is_file():
                drawings[name] = file.read_bytes()
    html = reproduction_page(
        results,
        drawings,
        title=TITLE,
        legend=LEGEND,
        sources=SOURCES,
        tally=tally(results),
        slips=SLIPS,
        beyond=BEYOND,
        left_out=absent,
    )
    write_whole(str(folder / "index.md"), text.encode())
    write_whole(str(folder / "index.html"), html)
    return str(folder / "index.md"), str(folder / "index.html")
