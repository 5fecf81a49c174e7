"""`howsure reproduce NAME`."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from typing import Annotated

import typer

from howsure._result import json_text
from howsure.cli import options
from howsure.cli.delivery import status

WIDTH = 80
EPILOG = """Examples:

  howsure reproduce --list

  howsure reproduce synthetic

  howsure reproduce all --out figures --json
"""


def reproduce(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments, or `all`.", metavar="[NAME...|all]")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    out: Annotated[str, typer.Option(help="Folder for figures, page and data.")] = "reproduction",
    rng: Annotated[int, typer.Option(help="Seed.")] = 0,
    again: Annotated[bool, typer.Option("--again", help="Compute again what the folder already holds.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A small version, to see that it runs.")] = False,
    as_json: options.Json = False,
) -> int:
    """Do the experiments of the paper and the thesis again: each claim confirmed or corrected."""
    from howsure.errors import InputError
    from howsure.verbs.reproduce import EXPERIMENTS, experiment, reproduction_index
    from howsure.verbs.reproduce import reproduce as run_reproduce

    if listed:
        _list(as_json)
        return 0
    if not names:
        raise InputError(f"name an experiment, or `all`. There are: {', '.join(EXPERIMENTS)}.")
    wanted = (
        list(EXPERIMENTS.values())
        if names == ["all"]
        else list({experiment(n).name: experiment(n) for n in names}.values())
    )
    results = []
    for e in wanted:
        lacking = e.missing()
        if lacking is not None and names != ["all"]:
            raise lacking
        if lacking is not None:
            print(f"howsure: skipped: {lacking}", file=sys.stderr)
    for name in (e.name for e in wanted if e.missing() is None):
        with status() as say:
            tell = None if say is None else _teller(name, say)
            made = run_reproduce(name, out=out, rng=rng, again=again, quick=quick, progress=tell)
        if made.cached:
            print(f"howsure: {name} was done before, in {out}; --again computes it again.", file=sys.stderr)
        if not as_json:
            print(made.to_text())
        results.append(made)
    written = reproduction_index(out) if results else ()
    if not as_json:
        print("\n".join(f"Written: {path}" for path in written))
    else:
        whole = {r.name: r.to_dict() for r in results}
        print(json_text(whole))
    return 0


def _list(as_json: bool) -> None:
    from howsure.verbs.reproduce import EXPERIMENTS

    if as_json:
        listed = [
            {"name": e.name, "title": e.title, "shows": e.shows, "corpora": e.corpora, "data": e.data}
            for e in EXPERIMENTS.values()
        ]
        print(json_text(listed))
        return
    first = max(map(len, EXPERIMENTS))
    for e in EXPERIMENTS.values():
        head = f"  {e.name:<{first}}  "
        on = (
            "" if not e.corpora else f" [on {e.data}]" if e.data else f" [needs {' or '.join(filter(None, e.corpora))}]"
        )
        said = f"{e.title}: {e.shows}{on if e.data != '' else ''}"
        print(textwrap.fill(said, WIDTH, initial_indent=head, subsequent_indent=" " * len(head)))


def _teller(name: str, say: Callable[[str], None]) -> Callable[[str], None]:
    return lambda said: say(f"{name}: {said} …")


reproduce.__doc__ = (reproduce.__doc__ or "") + "\n\n" + EPILOG
