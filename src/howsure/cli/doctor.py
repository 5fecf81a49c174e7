"""`howsure doctor`."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from howsure.verbs.doctor_result import Diagnosis

WIDTH = 80


def doctor(
    thorough: Annotated[bool, typer.Option(help="Also import everything and parse a sentence.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """What is installed, what is missing, and how to get it. Exit status 1 when the base is broken.

    Examples:

      howsure doctor

      howsure doctor --thorough --json
    """
    from howsure.cli.output import say
    from howsure.verbs.doctor import doctor as examine

    found = examine(thorough=thorough)
    say(json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else diagnosis_text(found))
    return 0 if found.is_well else 1


def diagnosis_text(d: Diagnosis) -> str:
    """Verdict first, then packages, extras, the machine, the folders and the corpora."""
    lines = [textwrap.fill(d.verdict, WIDTH, break_on_hyphens=False), "", "Base"]
    for p in d.base:
        lines.append(f"  {p.name:<18} {p.version or '–':<14} {p.trouble or ''}".rstrip())
    lines.append(f"  {'English model':<18} {d.english or 'its files are whole'}")
    lines += ["", "Extras"]
    for e in d.extras:
        there = ", ".join(f"{p.name} {p.version}" for p in e.packages) if e.is_there else "missing"
        remark = f", {e.remark}" if e.remark else ""
        lines.append(_entry(e.name, f"{there}{remark}: {e.purpose}"))
        if e.remedy is not None:
            lines.append(f"  {'':<18} {e.remedy}")
    m = d.machine
    memory = "memory unknown" if m.memory is None else f"{m.memory / 1e9:.1f} GB of memory"
    lines += ["", "Machine"]
    lines.append(_entry("Python", f"{m.python} on {m.platform}"))
    lines.append(_entry("cores", f"{m.cores}, {memory}"))
    lines.append(_entry("temporary folder", f"{m.temporary}, {m.free_disk / 1e9:.1f} GB free"))
    for f in d.folders:
        size = "empty yet" if f.size is None else f"{'' if f.is_whole else 'at least '}{f.size / 1e6:.1f} MB"
        state = "" if f.is_writable else ", NOT WRITABLE: nothing is kept"
        lines.append(_entry(f.what, f"{f.path}, {size}{state}"))
    lines += ["", "Corpora (only the studies need them)"]
    if d.data is None:
        lines.append(_entry("HOWSURE_DATA", "not set"))
    else:
        lines.append(_entry("HOWSURE_DATA", d.data))
        lines.append(_entry("found", ", ".join(d.corpora) or "none of those that howsure knows"))
    return "\n".join(lines) + "\n"


def _entry(name: str, said: str) -> str:
    head = f"  {name:<18} "
    return textwrap.fill(
        said,
        WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_on_hyphens=False,
        break_long_words=False,
    )
