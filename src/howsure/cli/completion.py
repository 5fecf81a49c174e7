"""`howsure completion`: what a shell needs to complete commands, options and files, from the lists of options."""

import shlex
from collections.abc import Iterator
from importlib.resources import files

from howsure.cli.delivery import Delivery, say
from howsure.cli.parser import Command, Family, Parameter, argument, command, summary
from howsure.errors import InputError

SHELLS = ("bash", "zsh", "fish")


@command(argument("shell", "bash, zsh or fish."))
def completion(deliver: Delivery, shell: str) -> int:
    """Print what makes a shell complete commands, options and files.

    Examples:
      eval "$(howsure completion bash)"      (in ~/.bashrc)
      eval "$(howsure completion zsh)"      (in ~/.zshrc, after compinit)
      howsure completion fish > ~/.config/fish/completions/howsure.fish
    """
    from howsure.cli.application import application

    if shell not in SHELLS:
        raise InputError(f"SHELL must be one of {', '.join(SHELLS)}; got {shell!r}.")
    say({"bash": bash, "zsh": zsh, "fish": fish}[shell](application()))
    return 0


def commands(of: Family, path: str = "") -> Iterator[tuple[str, Command | Family]]:
    """Each command and family with its path, the whole first."""
    yield path, of
    for name, inner in of.commands.items():
        below = f"{path} {name}".strip()
        if isinstance(inner, Family):
            yield from commands(inner, below)
        else:
            yield below, inner


def flags(p: Parameter) -> list[str]:
    """What may be typed for it."""
    return [*p.flags, *([p.off] if p.off else [])]


def is_file(p: Parameter) -> bool:
    """Whether its value is a file or a folder."""
    return bool(
        p.reads or p.writes or p.name in ("html", "plot", "out") or (not p.flags and p.name in ("model", "results"))
    )


def _script(shell: str, whole: Family, cases: list[str]) -> str:
    """The shell's function, which completes by the path of the command: a line for each."""
    families = "|".join(shlex.quote(path) for path, at in commands(whole) if isinstance(at, Family) and path)
    text = (files("howsure.data") / f"completion.{shell}").read_text(encoding="utf-8")
    return text.replace("@families@", families).replace("@cases@", "\n".join(cases))


def bash(whole: Family) -> str:
    """A function that completes from one table: by command, its words, and which options take a file or another value."""
    cases = []
    for path, at in commands(whole):
        if isinstance(at, Family):
            cases.append(f"    {shlex.quote(path)}) words={shlex.quote(' '.join([*at.commands, '--help']))} ;;")
            continue
        valued = [p for p in at.options if p.kind is not bool]
        named = " ".join(f for p in valued if is_file(p) for f in p.flags)
        others = " ".join(f for p in valued if not is_file(p) for f in p.flags)
        words = " ".join([*(f for p in at.options for f in flags(p)), "--help"])
        cases.append(
            f"    {shlex.quote(path)}) words={shlex.quote(words)} files={shlex.quote(named)} others={shlex.quote(others)} ;;"
        )
    return _script("bash", whole, cases)


def zsh(whole: Family) -> str:
    """The same for zsh, with what each command and option means."""

    def meant(text: str) -> str:
        return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:").replace("`", "")

    cases = []
    for path, at in commands(whole):
        if isinstance(at, Family):
            named = " ".join(shlex.quote(f"{name}:{summary(inner)}") for name, inner in at.commands.items())
            cases.append(f"    {shlex.quote(path)}) named=({named}); _describe command named ;;")
            continue
        specs = []
        for p in at.options:
            value = "" if p.kind is bool else f":{p.name}:" + ("_files" if is_file(p) else "")
            specs += [shlex.quote(f"{flag}[{meant(p.help)}]{value}") for flag in flags(p)]
        cases.append(f"    {shlex.quote(path)}) _arguments {' '.join([*specs, shlex.quote('*:file:_files')])} ;;")
    return _script("zsh", whole, cases)


def fish(whole: Family) -> str:
    """The same for fish."""
    lines = []
    for path, at in commands(whole):
        if isinstance(at, Family):
            depth = len(path.split()) + 1
            here = f"test (count (commandline -opc)) -eq {depth}; and __howsure_at {path}"
            lines += [
                f"complete -c howsure -f -n {_fish(here)} -a {name} -d {_fish(summary(inner))}"
                for name, inner in at.commands.items()
            ]
            continue
        for p in at.options:
            value = "" if p.kind is bool else " -rF" if is_file(p) else " -x"
            for flag in flags(p):
                which = f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                lines.append(
                    f"complete -c howsure -n {_fish(f'__howsure_at {path}')} {which}{value} -d {_fish(p.help)}"
                )
    return _script("fish", whole, lines)


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
