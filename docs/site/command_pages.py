"""A page for each command, from what its `--help` says."""

from __future__ import annotations

import re
import textwrap
from functools import cache
from typing import Any

import typer

from howsure.cli.application import application

# The guide of a command, where it is not called the same.
GUIDES = {"parse": "english", "serve": "page", "top": "explore", "label": "explore"}


@cache
def tree() -> dict[str, Any]:
    """The commands by name, in the order of `howsure --help`."""
    return dict(typer.main.get_command(application()).commands)


def pages() -> dict[str, str]:
    """Name of page -> Markdown: one for each command, and their list."""
    made = {f"commands/{name}": page(name, command) for name, command in tree().items()}
    lines = ["# Commands", "", "What `--help` says, on a page for each command.", ""]
    for name, command in tree().items():
        lines.append(f"- [`howsure {name}`]({name}.md): {summary(command)}")
        for inner, sub in getattr(command, "commands", {}).items():
            lines.append(f"  - [`howsure {name} {inner}`]({name}.md#howsure-{name}-{inner}): {summary(sub)}")
    lines += [
        "",
        "`howsure --version` prints the version. Every command takes `--help`, and nearly every one `--json`.",
    ]
    lines += ["", "```{toctree}", ":hidden:", "", *tree(), "```"]
    return made | {"commands/index": "\n".join(lines) + "\n"}


def page(name: str, command: Any) -> str:
    """One command, with the commands inside it."""
    text = section(f"howsure {name}", command, "#")
    for inner, sub in getattr(command, "commands", {}).items():
        text += section(f"howsure {name} {inner}", sub, "##")
    guide = GUIDES.get(name, name)
    return text + f"\nHow to use it, and how to read what it says: [the guide](../{guide}.md).\n"


def section(title: str, command: Any, heading: str) -> str:
    """Usage, description, examples, arguments and options."""
    described, examples = parted(command.help or "")
    context = command.make_context(title.split()[-1], [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"{heading} {title}", "", described, "", "```text", f"{title} {usage}", "```", ""]
    if examples:
        lines += ["Examples:", "", "```bash", *examples, "```", ""]
    shown = [p for p in command.params if not getattr(p, "hidden", False)]
    for what, kind in (("Arguments", "argument"), ("Options", "option")):
        chosen = [p for p in shown if p.param_type_name == kind]
        if chosen:
            lines += [f"**{what}**", ""] + [entry(p, context) for p in chosen]
    return "\n".join(lines) + "\n"


def entry(parameter: Any, context: Any) -> str:
    """A parameter as a term and its definition."""
    name, said = parameter.get_help_record(context) or (parameter.name, "")
    said = re.sub(r"\s+", " ", said or "").strip()
    said = re.sub(r"([<>*_|\[\]])", r"\\\1", said)
    return f"`{name}`\n: {said or '–'}\n"


def parted(text: str) -> tuple[str, list[str]]:
    """The description of a command, and its examples as lines."""
    described, _, examples = textwrap.dedent(text).partition("Examples:")
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n", examples) if block.strip()]
    return described.strip().replace("*", r"\*"), blocks


def summary(command: Any) -> str:
    """The first sentence of its description."""
    first = parted(command.help or "")[0].split("\n\n")[0]
    return " ".join(first.split())


def see_also(name: str) -> str:
    """What a guide gets as its last line: the pages of its commands."""
    named = [command for command in tree() if GUIDES.get(command, command) == name]
    if not named:
        return ""
    links = ", ".join(f"[howsure {command}](commands/{command}.md)" for command in named)
    return f"\n\n---\n\nEvery option: {links}.\n"
