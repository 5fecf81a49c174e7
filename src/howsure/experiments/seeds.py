"""Every item of the paper, the thesis and the notes: a row with its command, the source's number and ours.

The rows are data/seeds.csv. `command` is run as it stands, in a folder that holds the files of data/seeds; a row without one
is an item that is not done. `take` turns the output into our number: text in which `{path}` or `{path:format}` is
replaced by what stands there in the JSON (names and positions joined by dots; `name=value` picks the record that has it),
or `/expression/`, the first group of a regular expression on the output. `howsure reproduce NAME` is not run again: the
result that the folder holds is read. `expected` is what the source prints; where it is nothing but numbers, ours must be
the same as printed, otherwise it stands beside ours. An empty `expected` with `findings.N` is taken from that finding.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from operator import le
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from howsure._version import __version__
from howsure.data import table
from howsure.errors import InputError
from howsure.experiments.findings import Finding, notes_on
from howsure.experiments.registry import Work
from howsure.experiments.result import Table

SOURCES = {"P": "The paper", "T": "The thesis", "N": "The course notes"}
FIELD = re.compile(r"\{([^{}:]+)(?::([^{}]*))?\}")
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)%?")
ONLY_NUMBERS = re.compile(rf"{NUMBER.pattern}(?:(?:,|;| and) {NUMBER.pattern})*")
WITHIN = re.compile(r"findings\.\d+")
STATES = ("same", "not the same", "beside", "confirmed", "corrected", "differs", "undecided", "not tested", "extended")
LACKING = ("not done", "not run", "failed")
LONGEST = 1800  # seconds
QUICK = 3  # commands
KEPT = False  # done each time: it reads the other experiments' results


@dataclass(frozen=True, slots=True)
class Item:
    """A row of data/seeds.csv."""

    number: int
    source: str
    section: str
    what: str
    command: str
    take: str
    expected: str


@dataclass(frozen=True, slots=True)
class Filled:
    """An item with its number."""

    item: Item
    expected: str
    ours: str
    state: str

    @property
    def row(self) -> tuple[Any, ...]:
        """For the page."""
        i = self.item
        command = f"`{i.command}`" if i.command else "–"
        return i.number, i.section, i.what, command, self.expected or "–", self.ours, self.state


ITEMS = tuple(Item(**{**row, "number": int(row["number"])}) for row in table("seeds"))  # type: ignore[arg-type]


def settings(quick: bool) -> dict[str, Any]:
    """The rows, and where the corpora are not."""
    seen = hashlib.sha256("".join(map(repr, ITEMS)).encode()).hexdigest()[:16]
    return {"quick": quick, "rows": seen, "corpora": "HOWSURE_DATA" in os.environ}


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Run each command once and fill in the rows."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as made:
        results = Path(made) if work.folder is None else work.folder.parent
        folder = Path(made) / "seeds"
        folder.mkdir()
        for file in (files("howsure.data") / "seeds").iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        commands = list(dict.fromkeys(i.command for i in ITEMS if i.command))
        outputs = {}
        for n, command in enumerate(commands, 1):
            work(f"command {n} of {len(commands)}: {command[:60]}")
            skipped = settings["quick"] and n > QUICK
            outputs[command] = Unavailable("--quick runs few commands") if skipped else output(command, folder, results)
    filled = [fill(i, outputs.get(i.command, "")) for i in ITEMS]
    columns = ("#", "section", "what", "command", "its number", "ours", "")
    rows = {key: tuple(f.row for f in filled if f.item.source == key) for key in SOURCES}
    tables = tuple(Table(f"seeds-{key}", title, columns, rows[key]) for key, title in SOURCES.items())
    found = {"findings": (_finding(filled),), "tables": tables, "notes": notes_on("seeds")}
    return {**found, "data": "the data that each command names"}


def _finding(filled: Sequence[Filled]) -> Finding:
    said = [f.state for f in filled]
    counts = {s: said.count(s) for s in (*STATES, *LACKING) if s in said}
    produced = sum(n for s, n in counts.items() if s not in LACKING)
    gaps = [str(f.item.number) for f in filled if f.state in LACKING]
    listed = ", ".join(f"{n} {s}" for s, n in counts.items())
    told = f"{produced} of {len(filled)} rows: {listed}." + (f" Without a number: {', '.join(gaps)}." if gaps else "")
    claim, ours = "Which items of the sources does a command produce?", f"{produced} produced"
    return Finding(claim, "all sources", "extended", told, dict(counts), f"{len(filled)} items", ours)


class Unavailable(Exception):
    """A command that cannot be run here, and why."""


def output(command: str, folder: Path, results: Path) -> str | Unavailable | InputError:
    """What the command prints; why it cannot be run here; or its error."""
    words = shlex.split(command)
    if words[:2] == ["howsure", "reproduce"] and len(words) == 3:
        return _kept(words[2], results)
    if "$HOWSURE_DATA" in command and not os.environ.get("HOWSURE_DATA"):
        return Unavailable("needs a corpus of HOWSURE_DATA")
    program = {"howsure": [sys.executable, "-m", "howsure"], "python": [sys.executable]}
    arguments = [*program[words[0]], *map(os.path.expandvars, words[1:])]
    try:
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return InputError(f"took longer than {LONGEST} seconds")
    if done.returncode:
        return InputError((done.stderr.strip().splitlines() or ["failed"])[-1])
    return done.stdout


def _kept(name: str, results: Path) -> str | Unavailable:
    """The result of another experiment as JSON, if this version made it."""
    try:
        said = (results / f"{name}.json").read_text(encoding="utf-8")
        made = json.loads(said)["version"]
    except (OSError, ValueError, KeyError):
        return Unavailable(f"howsure reproduce {name} was not run in this folder")
    return said if made == __version__ else Unavailable(f"howsure reproduce {name} was run by another version")


def fill(item: Item, said: str | Unavailable | InputError) -> Filled:
    """The row with our number, and how that stands to the source's."""
    if not item.command:
        return Filled(item, item.expected, "–", "not done")
    if isinstance(said, Exception):
        return Filled(item, item.expected, str(said), "not run" if isinstance(said, Unavailable) else "failed")
    try:
        if WITHIN.fullmatch(item.take):
            found = at(json.loads(said), item.take)
            return Filled(item, item.expected or found["paper"], found["ours"], found["verdict"])
        ours = taken(said, item.take)
    except (ValueError, KeyError, IndexError, TypeError, StopIteration) as error:
        return Filled(item, item.expected, f"{item.take} is not in the output ({type(error).__name__})", "failed")
    return Filled(item, item.expected, ours, state(item.expected, ours))


def taken(said: str, take: str) -> str:
    """Our number, by `take`.

    >>> taken('{"brier": {"value": 0.25}}', "Brier {brier.value:.3f}")
    'Brier 0.250'
    >>> taken("perplexity 12.5", "/perplexity ([0-9.]+)/")
    '12.5'
    """
    if len(take) > 1 and take[0] == take[-1] == "/":
        found = re.search(take[1:-1], said)
        if found is None:
            raise ValueError(take)
        return found.group(1)
    data = json.loads(said)
    return FIELD.sub(lambda field: format(at(data, field[1]), field[2] or ""), take)


def at(data: Any, path: str) -> Any:
    """What stands at a path.

    >>> at({"a": [{"name": "x", "n": 1}, {"name": "y", "n": 2}]}, "a.name=y.n")
    2
    """
    for step in path.split("."):
        if isinstance(data, list) and "=" in step:
            key, _, value = step.partition("=")
            data = next(record for record in data if str(record.get(key)) == value)
        else:
            data = data[int(step)] if isinstance(data, list) else data[step]
    return data


def state(expected: str, ours: str) -> str:
    """Whether numbers are those printed, in order and to the printed digit; numbers beside words only stand beside.

    >>> state(".60, .73", "0.6004 and 0.7302"), state("2", "3"), state("962 on other text", "565")
    ('same', 'not the same', 'beside')
    """
    if not ONLY_NUMBERS.fullmatch(expected):
        return "beside"
    wanted, found = ([x.strip("%").replace(",", "") for x in NUMBER.findall(said)] for said in (expected, ours))
    near = [0.5000001 * 10.0 ** -len(w.partition(".")[2]) for w in wanted]
    off = [abs(float(w) - float(f)) for w, f in zip(wanted, found, strict=False)]
    return "same" if len(off) == len(wanted) and all(map(le, off, near)) else "not the same"
