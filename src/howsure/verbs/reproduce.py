"""`howsure reproduce`: do an experiment of the paper or the thesis again."""

import json
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np

from howsure import _validate
from howsure._version import __version__
from howsure.errors import InputError
from howsure.experiments.overview import overview, overview_page, page
from howsure.experiments.registry import CORPORA, EXPERIMENTS, Work, experiment
from howsure.experiments.result import Reproduction
from howsure.files import make_folder, write_whole
from howsure.plots.vega import rendered
from howsure.processes import Progress

__all__ = ["EXPERIMENTS", "experiment", "reproduce"]


def reproduce(
    name: str,
    *,
    out: str | Path | None = None,
    rng: np.random.Generator | int | None = 0,
    again: bool = False,
    quick: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """An experiment of the source done again, each of its claims confirmed or corrected.

    Parameters
    ----------
    name : str
        As `howsure reproduce --list` names it, or a figure of the thesis, such as "thesis-4.2".
    out : path or None
        A folder, made if need be, for the figures (`NAME-4.7.svg`), a page (`NAME.md`) and everything as data
        (`NAME.json`). A result found there, made by the same version with the same settings, data and seed, is used
        again; so are trained models, which go to the folder `models` in it. By default nothing is written.
    rng : Generator, int or None
        The seed. Only a result with a whole number for a seed is used again.
    again : bool
        Compute again what the folder holds.
    quick : bool
        A small version, to see that it runs.
    progress : callable or None
        Called with the number of steps begun, None (how many there are is not known) and what is being done.

    Returns
    -------
    Reproduction
        Findings, figures and tables; `.to_dict()`.

    Examples
    --------
    >>> import howsure
    >>> made = howsure.reproduce("synthetic", quick=True)
    >>> made.findings[1].verdict
    'confirmed'
    """
    found = experiment(name)
    name = found.name
    generator = _validate.generator(rng)
    settings = {**found.settings(quick=quick), "rng": int(rng) if isinstance(rng, int | np.integer) else None}
    steps = count(1)
    tell = (lambda _: None) if progress is None else lambda said: progress(next(steps), None, f"{name}: {said}")
    if out is None:
        return replace(found.run(settings, generator, Work(tell)), version=__version__)
    target = Path(out).resolve()
    for corpus in (c for c in CORPORA.values() if c.path is not None):
        if Path(str(corpus.path)).resolve() in (target, *target.parents):
            raise InputError(f"cannot write to {out}: it is in the corpus {corpus.folder}. Choose another folder.")
    folder = make_folder(str(out))
    work = Work(tell, folder / "models")
    fresh = again or not found.kept or settings["rng"] is None
    kept = None if fresh else _kept(folder, name)
    kept = kept if kept is not None and kept.settings == settings else None
    made = kept or replace(found.run(settings, generator, work), version=__version__)
    return replace(made, cached=kept is not None, files=_written(made, folder, kept is not None))


def _kept(folder: Path, name: str) -> Reproduction | None:
    """This version's result in the folder; anything unreadable is no result."""
    try:
        found = Reproduction.from_dict(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.version == __version__ and found.name == name else None


def _written(r: Reproduction, folder: Path, cached: bool) -> tuple[str, ...]:
    """Write the files, of a cached result those that are missing; the data last, as it vouches for the others."""
    figures = {folder / f"{r.name}-{f.name}.svg": f.specification for f in r.figures}
    text, data = folder / f"{r.name}.md", folder / f"{r.name}.json"
    for path, specification in figures.items():
        if not (cached and path.exists()):
            write_whole(str(path), rendered(specification, ".svg"))
    if not (cached and text.exists()):
        quick = " --quick" if r.settings.get("quick") else ""
        write_whole(str(text), page(r, f"howsure reproduce {r.name}{quick}").encode())
    if not cached:
        write_whole(str(data), json.dumps(r.to_dict(), allow_nan=False, ensure_ascii=False).encode())
    return tuple(str(p) for p in (*figures, text, data))


def kept_results(folder: str | Path) -> list[Reproduction]:
    """This version's results in a folder, in the order of the sources; what cannot be read is left out."""
    return [result for name in EXPERIMENTS if (result := _kept(Path(folder), name)) is not None]


def left_out(results: list[Reproduction]) -> list[str]:
    """The experiments that are not among the results, and why."""
    absent = EXPERIMENTS.keys() - {r.name for r in results}
    return [
        f"{e.name}: {e.title}{'' if e.title.endswith('?') else '.'} {e.missing() or 'Not run yet.'}"
        for e in EXPERIMENTS.values()
        if e.name in absent
    ]


def reproduction_index(folder: str | Path) -> tuple[str, ...]:
    """Write the page over all results that the folder holds; returns the files."""
    folder = Path(folder)
    results = kept_results(folder)
    absent = left_out(results)
    files = [folder / f"{r.name}-{f.name}.svg" for r in results for f in r.figures]
    drawings = {file.stem: file.read_bytes() for file in files if file.is_file()}
    write_whole(str(folder / "index.md"), overview(results, absent).encode())
    write_whole(str(folder / "index.html"), overview_page(results, drawings, absent))
    return str(folder / "index.md"), str(folder / "index.html")
