"""A page for each command, from what its `--help` says."""

from __future__ import annotations

import re
from functools import cache

from howsure.cli.application import application
from howsure.cli.parser import Command, Family, Parameter, summary

# The guide of a command, where it is not called the same.
GUIDES = {"parse": "english", "serve": "page", "top": "explore", "label": "explore", "completion": "doctor"}


@cache
def tree() -> dict[str, Command | Family]:
    """The commands by name, in the order of `howsure --help`."""
    return application().commands


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


def page(name: str, command: Command | Family) -> str:
    """One command, with the commands inside it."""
    text = section(f"howsure {name}", command, "#")
    for inner, sub in getattr(command, "commands", {}).items():
        text += section(f"howsure {name} {inner}", sub, "##")
    guide = GUIDES.get(name, name)
    return text + f"\nHow to use it, and how to read what it says: [the guide](../{guide}.md).\n"


def section(title: str, command: Command | Family, heading: str) -> str:
    """Usage, description, examples, arguments and options."""
    usage = f"{title} COMMAND ..." if isinstance(command, Family) else command.usage(title.partition(" ")[2])
    lines = [f"{heading} {title}", "", command.described.replace("*", r"\*"), "", "```text", usage, "```", ""]
    if isinstance(command, Family):
        return "\n".join(lines) + "\n"
    if command.examples:
        lines += ["Examples:", "", "```bash", *command.examples, "```", ""]
    for what, shown in (("Arguments", [p for p in command.parameters if not p.flags]), ("Options", command.options)):
        if shown:
            lines += [f"**{what}**", "", *map(entry, shown)]
    return "\n".join(lines) + "\n"


def entry(parameter: Parameter) -> str:
    """A parameter as a term and its definition."""
    said = re.sub(r"([<>*_|\[\]])", r"\\\1", parameter.definition)
    return f"`{parameter.term}`\n: {said}\n"


def see_also(name: str) -> str:
    """What a guide gets as its last line: the pages of its commands."""
    named = [command for command in tree() if GUIDES.get(command, command) == name]
    if not named:
        return ""
    links = ", ".join(f"[howsure {command}](commands/{command}.md)" for command in named)
    return f"\n\n---\n\nEvery option: {links}.\n"
