"""`howsure reproduce NAME` and `howsure doctor`."""

import sys
import textwrap
from typing import Any

from howsure._result import json_text
from howsure.cli import options
from howsure.cli.delivery import Delivery, called, say
from howsure.cli.parser import argument, command, option
from howsure.errors import InputError


@command(
    argument("names", "Experiments, or `all`.", required=False, many=True),
    option("listed", "List the experiments.", False, "--list"),
    option("out", "Folder for figures, page and data.", "reproduction", "--out -o"),
    options.seed("the experiments"),
    options.AGAIN,
    option("quick", "A small version, to see that it runs.", False),
    options.JSON,
)
def reproduce(
    deliver: Delivery, names: list[str] | None, listed: bool, out: str, rng: int, again: bool, quick: bool
) -> int:
    """The experiments of the paper and the thesis, done again.

    Each claim is confirmed or corrected.

    Examples:
      howsure reproduce --list
      howsure reproduce synthetic
      howsure reproduce all --out figures --json
    """
    from howsure.verbs.reproduce import EXPERIMENTS, experiment, reproduction_index

    if listed:
        return _list(deliver)
    if not names:
        raise InputError(f"name an experiment, or `all`. There are: {', '.join(EXPERIMENTS)}.")
    chosen = EXPERIMENTS if names == ["all"] else {experiment(n).name: experiment(n) for n in names}
    lacking = {name: e.missing() for name, e in chosen.items()}
    for why in (why for why in lacking.values() if why is not None):
        if names != ["all"]:
            raise why
        print(f"howsure: skipped: {why}", file=sys.stderr)
    results = []
    for name in (name for name, why in lacking.items() if why is None):
        how: dict[str, Any] = {"out": out, "rng": rng, "again": again, "quick": quick}
        made = called("reproduce.reproduce", name, doing=name, **how)
        if made.cached:
            print(f"howsure: {name} was done before, in {out}; --again computes it again.", file=sys.stderr)
        if not deliver.as_json:
            print(made.to_text())
        results.append(made)
    written = reproduction_index(out) if results else ()
    if deliver.as_json:
        print(json_text({r.name: r.to_dict() for r in results}))
    else:
        print("\n".join(f"Written: {path}" for path in written))
    return 0


def _list(deliver: Delivery) -> int:
    from howsure.verbs.reproduce import EXPERIMENTS

    first = max(map(len, EXPERIMENTS))
    lines, data = [], []
    for e in EXPERIMENTS.values():
        data.append({"name": e.name, "title": e.title, "shows": e.shows, "corpora": e.corpora, "data": e.data})
        head = f"  {e.name:<{first}}  "
        on = f" [on {e.data}]" if e.data else f" [needs {' or '.join(filter(None, e.corpora))}]" if e.corpora else ""
        said = f"{e.title}: {e.shows}{on if e.data != '' else ''}"
        lines.append(textwrap.fill(said, 80, initial_indent=head, subsequent_indent=" " * len(head)))
    say(json_text(data) if deliver.as_json else "\n".join(lines))
    return 0


@command(option("thorough", "Also import everything and parse a sentence.", False), *options.PRINTED)
def doctor(deliver: Delivery, thorough: bool) -> int:
    """What is installed, what is missing, and how to get it. Exit status 1 when the base is broken.

    Examples:
      howsure doctor
      howsure doctor --thorough --json
    """
    found = called("doctor.doctor", thorough=thorough)
    deliver(found)
    return 0 if found.is_well else 1
