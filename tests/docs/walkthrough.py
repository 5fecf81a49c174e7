"""How the tests follow a page: its ```console blocks are run line by line, as a reader would, and their output compared.

A line that begins with "$ " is a command; the lines below it are what it prints. "…" stands for whatever is left out: lines,
when it is alone on one, or the rest of a line. A ```python block below "Save this as `name`" becomes a file.
"""

import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from howsure.cli.application import run

SKIPPED = ("pip install", "make ")  # tests/test_packaging.py installs, and `make` runs these tests
ANSWERS = "y\nn\n" * 60  # of the reader whom `howsure label` asks
SHELL = re.compile(r"[|;<>&$]")


@dataclass(frozen=True)
class Step:
    """A file to save, or a command with the output shown."""

    command: str
    shown: str = ""
    saved: str | None = None


def steps(page: Path) -> list[Step]:
    """What a page asks its reader to do, in order."""
    made = []
    for part in re.split(r"(?=^```(?:console|python)$)|(?=Save this as `)", page.read_text(), flags=re.M):
        found = re.match(r"(?:Save this as `([\w.-]+)`.*?)?```(console|python)\n(.*?)^```$", part, re.S | re.M)
        name = re.match(r"Save this as `([\w.-]+)`", part)
        if name and found is None:
            made.append(Step(name[1], saved=""))
        elif found and found[2] == "python" and made and made[-1].saved == "":
            made[-1] = Step(made[-1].command, saved=found[3])
        elif found and found[2] == "console":
            for piece in re.split(r"^\$ ", found[3], flags=re.M)[1:]:
                command, _, shown = piece.partition("\n")
                made.append(Step(command.split("  #")[0].strip(), shown))
    return made


def pattern(shown: str) -> re.Pattern[str]:
    """What is shown as an expression: "…" alone on a line is any number of lines, elsewhere any text."""
    made = ""
    for line in shown.splitlines():
        made += r"(?:.*\n)*?" if line.strip() == "…" else ".*".join(map(re.escape, line.split("…"))) + r" *\n"
    return re.compile(made)


def follow(page: Path, folder: Path, monkeypatch, capfd, *, shell: bool) -> int:
    """Do what the page says in `folder`; returns how many commands were run. `shell`: every one in a real shell."""
    monkeypatch.chdir(folder)
    done = 0
    for step in steps(page):
        if step.saved is not None:
            assert step.saved, f"{page.name}: no code below 'Save this as `{step.command}`'"
            (folder / step.command).write_text(step.saved)
            continue
        if step.command.startswith(SKIPPED):
            continue
        if shell or SHELL.search(step.command) or not step.command.startswith("howsure "):
            status, said = in_shell(step.command, folder)
        else:
            capfd.readouterr()
            monkeypatch.setattr(sys, "stdin", io.StringIO(ANSWERS))
            status = run(shlex.split(step.command)[1:])
            said = capfd.readouterr().out
        assert status == 0, f"$ {step.command}\n{said}"
        if step.shown:
            assert pattern(step.shown).fullmatch(said.rstrip("\n") + "\n"), (
                f"$ {step.command}\nshown:\n{step.shown}\nsaid:\n{said}"
            )
        else:
            assert said.strip() or not step.command.startswith("howsure ") or ">" in step.command, step.command
        done += 1
    return done


def in_shell(command: str, folder: Path) -> tuple[int, str]:
    """Run a line in bash with `howsure` and `python` on its path; status and everything printed, as a terminal shows it."""
    commands = folder / ".bin"
    if not commands.exists():
        commands.mkdir()
        for name, starts in (("howsure", '-m howsure "$@"'), ("python", '"$@"')):
            (commands / name).write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} {starts}\n")
            (commands / name).chmod(0o755)
    source = str(Path(__file__).parents[2] / "src")
    environment = os.environ | {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": source}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        input=ANSWERS,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout
