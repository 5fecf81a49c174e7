"""`howsure reproduce NAME`."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from howsure.cli.progress import quiet_progress

if TYPE_CHECKING:
    from howsure.experiments.result import Reproduction

WIDTH = 80
EPILOG = """Examples:

  howsure reproduce --list

  howsure reproduce synthetic

  howsure reproduce all --out figures --json
"""


def reproduce(
    names: Annotated[
        Optional[list[str]],  # noqa: UP045  (typer reads this at run time)
        typer.Argument(help="Experiments, or `all`.", metavar="[NAME...|all]"),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    out: Annotated[str, typer.Option(help="Folder for figures, page and data.")] = "reproduction",
    rng: Annotated[int, typer.Option(help="Seed.")] = 0,
    again: Annotated[bool, typer.Option("--again", help="Compute anew what the folder already holds.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A small version, to see that it runs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Do the experiments of the paper and the thesis again: each claim confirmed or corrected."""
    from howsure.errors import InputError
    from howsure.experiments.registry import EXPERIMENTS, experiment
    from howsure.verbs.reproduce import reproduce as run_reproduce
    from howsure.verbs.reproduce import reproduction_index

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
        with quiet_progress() as say:
            tell = None if say is None else _teller(name, say)
            made = run_reproduce(name, out=out, rng=rng, again=again, quick=quick, progress=tell)
        if made.cached:
            print(f"howsure: {name} was done before, in {out}; --again computes it anew.", file=sys.stderr)
        if not as_json:
            print(_text(made))
        results.append(made)
    written = reproduction_index(out) if results else ()
    if not as_json:
        print("\n".join(f"Written: {path}" for path in written))
    else:
        whole = {r.name: r.to_dict() for r in results}
        print(json.dumps(whole, indent=2, allow_nan=False, ensure_ascii=False))
    return 0


def _list(as_json: bool) -> None:
    from howsure.experiments.registry import EXPERIMENTS

    if as_json:
        listed = [
            {"name": e.name, "title": e.title, "shows": e.shows, "corpora": e.corpora, "data": e.data}
            for e in EXPERIMENTS.values()
        ]
        print(json.dumps(listed, indent=2, ensure_ascii=False))
        return
    first = max(map(len, EXPERIMENTS))
    for e in EXPERIMENTS.values():
        head = f"  {e.name:<{first}}  "
        on = (
            "" if not e.corpora else f" [on {e.data}]" if e.data else f" [needs {' or '.join(filter(None, e.corpora))}]"
        )
        said = f"{e.title}: {e.shows}{on if e.data != '' else ''}"
        print(textwrap.fill(said, WIDTH, initial_indent=head, subsequent_indent=" " * len(head)))


def _text(r: Reproduction) -> str:
    """Title, findings and what was written, 80 columns wide."""
    parts = [r.title + (f"\nData: {r.data}" if r.data else "")]
    for f in r.findings:
        claim = textwrap.fill(
            f"{f.verdict.upper()}: {f.claim} ({f.source})", WIDTH, initial_indent="  ", subsequent_indent="  "
        )
        if f.paper or f.ours:
            claim += "\n" + textwrap.fill(
                f"source: {f.paper}; here: {f.ours}", WIDTH, initial_indent="    ", subsequent_indent="    "
            )
        parts.append(claim + "\n" + textwrap.fill(f.said, WIDTH, initial_indent="    ", subsequent_indent="    "))
    parts.append("\n".join(f"Written: {path}" for path in r.files))
    return "\n\n".join(parts) + "\n"


def _teller(name: str, say: Callable[[str], None]) -> Callable[[str], None]:
    return lambda said: say(f"{name}: {said} …")


reproduce.__doc__ = (reproduce.__doc__ or "") + "\n\n" + EPILOG
