"""What a command takes, how its arguments are read, and what `--help` says.

    @command(argument("file", "A table."), option("prob", "Column of probabilities."), *options.DELIVERY)
    def check(deliver: Delivery, file: str, **given: Any) -> int: ...

A command gets its values by the names of its parameters, and first the `Delivery` of its result.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from howsure.cli.delivery import Delivery, engine_from, in_shell, say
from howsure.errors import HowsureError, InputError

WIDTH = 80
HELP = ("--help", "-h")
KINDS = {str: ("TEXT", "text"), int: ("INTEGER", "a whole number"), float: ("NUMBER", "a number")}


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument (without flags) or an option; `many` takes all arguments that are left."""

    name: str
    help: str
    default: Any = None
    kind: type = str  # or int, float; an option of kind bool takes no value
    flags: tuple[str, ...] = ()
    required: bool = False
    many: bool = False
    part_of: str = ""  # "engine", "deliver" and "log" are made of several options
    reads: bool | str | Callable[[str], Iterable[object]] = False  # "deep": with the folders inside a folder
    writes: bool = False

    @property
    def off(self) -> str:
        """The flag that turns off what is on by default."""
        return f"--no-{self.flags[0][2:]}" if self.default is True else ""

    @property
    def term(self) -> str:
        """How it is written: `-o, --out TEXT`, `[FILE]`."""
        if not self.flags:
            name = self.name.upper() + "..." * self.many
            return name if self.required else f"[{name}]"
        flags = ", ".join(sorted(self.flags, key=len)) + (f" / {self.off}" if self.off else "")
        return flags if self.kind is bool else f"{flags} {KINDS[self.kind][0]}"

    @property
    def definition(self) -> str:
        """What it means, and its value if it is left out."""
        if self.required and self.flags:
            return f"{self.help} [required]"
        shown = self.kind is not bool and self.default not in (None, "")
        return f"{self.help} [default: {self.default}]" if shown else self.help

    def value(self, given: str) -> Any:
        """What is meant by the text given."""
        try:
            return self.kind(given)
        except ValueError:
            raise InputError(f"{self.flags[0]} must be {KINDS[self.kind][1]}; got {given!r}.") from None


def argument(name: str, help: str, default: Any = None, *, required: bool = True, **more: Any) -> Parameter:
    """An argument, known by its place."""
    return Parameter(name, help, default, required=required and default is None, **more)


def option(
    name: str, help: str, default: Any = None, flags: str = "", kind: type | None = None, **more: Any
) -> Parameter:
    """An option `--name`, or with other flags; without a default it holds text."""
    named = tuple(flags.split()) or (f"--{name.replace('_', '-')}",)
    return Parameter(name, help, default, kind or (str if default is None else type(default)), named, **more)


@dataclass(frozen=True, slots=True)
class Command:
    """A function with the parameters it declares."""

    function: Callable[..., int]
    parameters: tuple[Parameter, ...]

    @property
    def name(self) -> str:
        """The function's, but for the underscore that keeps it apart from a word of Python."""
        return self.function.__name__.rstrip("_")

    @property
    def described(self) -> str:
        """What it does, in the words of its docstring."""
        return inspect.cleandoc(self.function.__doc__ or "").partition("\n\nExamples:")[0]

    @property
    def examples(self) -> list[str]:
        """Lines that show its use."""
        lines = inspect.cleandoc(self.function.__doc__ or "").partition("\n\nExamples:")[2].splitlines()
        return [line.strip() for line in lines if line.strip()]

    def usage(self, path: str) -> str:
        """How it is called."""
        return " ".join([f"howsure {path} [OPTIONS]", *(p.term for p in self.parameters if not p.flags)])

    def help(self, path: str) -> str:
        """What `--help` prints."""
        parts = [f"Usage: {self.usage(path)}", *(_filled(p) for p in self.described.split("\n\n"))]
        if self.examples:
            parts.append("\n".join(["Examples:", *(f"  {e}" for e in self.examples)]))
        for title, of in (("Arguments", [p for p in self.parameters if not p.flags]), ("Options", self.options)):
            if of:
                parts.append(_table(title, [(p.term, p.definition) for p in of]))
        return "\n\n".join(parts)

    @property
    def options(self) -> list[Parameter]:
        """Its parameters with flags."""
        return [p for p in self.parameters if p.flags]

    def run(self, path: str, arguments: Sequence[str]) -> int:
        """Read the arguments and call the function."""
        if asks_for_help(arguments):
            say(self.help(path))
            return 0
        try:
            values, typed = read(self.parameters, arguments)
        except InputError as error:
            raise InputError(f"{error} Try 'howsure {path} --help'.") from None
        flags = {p.name: p.flags[0] if p.flags else p.name.upper() for p in self.parameters}
        try:
            return self._call(values, typed, flags)
        except HowsureError as error:
            error.args = (in_shell(str(error), flags), *error.args[1:])
            raise

    def _call(self, values: dict[str, Any], typed: list[str], flags: dict[str, str]) -> int:
        inputs: list[object] = []
        deep: list[object] = []
        for p in (p for p in self.parameters if p.reads):
            given = values[p.name] if p.many else [values[p.name]]
            (deep if p.reads == "deep" else inputs).extend(given)
            if callable(p.reads):
                inputs += [file for one in given if one is not None for file in p.reads(one)]
        parts: dict[str, dict[str, Any]] = {"deliver": {}}
        for p in (p for p in self.parameters if p.part_of):
            parts.setdefault(p.part_of, {})[p.name] = values.pop(p.name)
        if "engine" in parts:
            values["engine"] = engine_from(**parts["engine"])
        if "log" in parts:
            from howsure.verbs.logs import logged

            asked = parts["log"]
            if "file" in values:
                values["file"] = logged(values["file"], *asked.values())
            else:
                values["files"] = [logged(each, *asked.values()) for each in values["files"]]
        outputs = tuple(values[p.name] for p in self.parameters if p.writes)
        delivery = Delivery(**parts["deliver"], outputs=outputs, inputs=inputs, deep=deep, typed=typed, flags=flags)
        return self.function(delivery, **values)


def command(*parameters: Parameter) -> Callable[[Callable[..., int]], Command]:
    """Makes a function a command with these parameters."""
    return lambda function: Command(function, parameters)


@dataclass(frozen=True, slots=True)
class Family:
    """Commands under one name."""

    described: str
    commands: dict[str, Command | Family]
    groups: Mapping[str, Iterable[str]] = field(default_factory=dict)  # names of commands by what they are for

    def help(self, path: str) -> str:
        """What `--help` prints."""
        usage = " ".join(["Usage: howsure", *path.split(), "COMMAND ..."])
        width = max(map(len, self.commands)) + 4
        parts = [usage, _filled(self.described)]
        for title, names in (self.groups or {"Commands": self.commands}).items():
            parts.append(_table(title, [(name, summary(self.commands[name])) for name in names], width))
        ending = [] if path else ["  howsure --version prints the version; howsure COMMAND --help tells more."]
        return "\n\n".join([*parts, *ending])

    def run(self, path: str, arguments: Sequence[str]) -> int:
        """Run the command that the arguments name; without one, say what there is."""
        if not arguments or arguments[0] in HELP:
            say(self.help(path))
            return 0 if arguments else 2
        name = arguments[0]
        if name not in self.commands:
            hint = " ".join(["howsure", *path.split(), "--help"])
            raise InputError(f"No such command {name!r}.{_nearest(name, self.commands)} Try '{hint}'.")
        return self.commands[name].run(f"{path} {name}".strip(), arguments[1:])


def family(described: str, *commands: Command) -> Family:
    """Commands under one name, by theirs."""
    return Family(described, {c.name: c for c in commands})


def summary(of: Command | Family) -> str:
    """The first sentence of a description, on one line."""
    return re.split(r"(?<=[.?]) ", " ".join(of.described.split()), maxsplit=1)[0]


def read(parameters: Sequence[Parameter], arguments: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The value of each parameter, and the flags of the options that were typed."""
    flags = {flag: p for p in parameters for flag in (*p.flags, p.off) if flag}
    values = {p.name: p.default for p in parameters}
    typed: list[str] = []
    rest: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        if word == "--":
            rest += reversed(waiting)
            break
        if word == "-" or not word.startswith("-"):
            rest.append(word)
            continue
        flag, attached, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        if flag not in flags:
            raise InputError(f"No such option: {flag}.{_nearest(flag, flags)}")
        p = flags[flag]
        if p.kind is bool:
            if attached:
                raise InputError(f"{flag} takes no value; got {value!r}.")
            values[p.name] = flag != p.off
        else:
            if not attached and not waiting:
                raise InputError(f"{flag} needs a value.")
            values[p.name] = p.value(value if attached else waiting.pop())
        typed.append(p.flags[0])
    for p in (p for p in parameters if not p.flags):
        taken, rest = (rest, []) if p.many else (rest[:1], rest[1:])
        if taken:
            values[p.name] = taken if p.many else taken[0]
        elif p.required:
            raise InputError(f"Missing argument {p.name.upper()}.")
    for p in parameters:
        if p.required and p.flags and p.flags[0] not in typed:
            raise InputError(f"Missing option {' or '.join(p.flags)}.")
    if rest:
        raise InputError(f"Unexpected argument {rest[0]!r}.")
    return values, typed


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Whether an argument before `--` is one of `HELP`."""
    end = arguments.index("--") if "--" in arguments else None
    return any(a in HELP for a in arguments[:end])


def _nearest(name: str, valid: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, list(valid), n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(close)}?" if close else ""


def _filled(paragraph: str, first: str = "  ", rest: str = "  ") -> str:
    text = " ".join(paragraph.split())
    return textwrap.fill(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
    )


def _table(title: str, rows: Sequence[tuple[str, str]], width: int = 0) -> str:
    """Terms with their definitions beside them; a long term stands above its definition."""
    width = width or min(max(len(term) for term, _ in rows), 26) + 4
    lines = [f"{title}:"]
    for term, definition in rows:
        above = len(term) > width - 4
        lines += [f"  {term}"] if above else []
        lines.append(_filled(definition, " " * width if above else f"  {term}".ljust(width), " " * width))
    return "\n".join(lines)
