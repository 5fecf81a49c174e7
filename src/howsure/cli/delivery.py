"""How a command delivers: one result as text, JSON, Markdown, LaTeX, page and picture; progress on the way."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from howsure._result import PLOTS, Result, harmless, json_text
from howsure.errors import InputError
from howsure.files import check_outputs, write_whole

if TYPE_CHECKING:
    from howsure import Engine
    from howsure.processes import Progress


PLAIN = re.compile(r"[\w.,:/…%+-]*(\[[\w*,]+\])?")  # needs no quotes to be understood
COMMANDS_OF = {"to_label": "count --to-label"}  # functions that are options of a command


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is asked for, checked before the work starts; `outputs` are written by the command itself."""

    as_json: bool = False
    markdown: bool = False
    latex: bool = False
    html: str | None = None
    plot: str | None = None
    outputs: tuple[str | None, ...] = ()
    inputs: Sequence[object] = ()
    deep: Sequence[object] = ()  # inputs that may be folders of folders
    typed: Sequence[str] = ()  # the flags of the options that were given
    flags: Mapping[str, str] = field(default_factory=dict)  # of every parameter

    def __post_init__(self) -> None:
        forms = {"--json": self.as_json, "--markdown": self.markdown, "--latex": self.latex}
        if len(chosen := [name for name, given in forms.items() if given]) > 1:
            raise InputError(f"{chosen[0]} and {chosen[1]} cannot be combined.")
        check_outputs(*self.outputs, self.html, self.plot, inputs=self.inputs)
        check_outputs(*self.outputs, self.html, self.plot, inputs=self.deep, deep=True)
        if self.plot is not None and Path(self.plot).suffix.lower() not in PLOTS:
            raise InputError(f"--plot must name a file ending in {', '.join(PLOTS)}; got {self.plot!r}.")

    def refuse(self, flags: str, beside: str) -> None:
        """Raise if an option was given that means nothing beside another: naming it is better than ignoring it."""
        for flag in flags.split():
            if flag in self.typed:
                raise InputError(f"{flag} does not go with {beside}.")

    def __call__(
        self, result: Result, *, data: dict[str, Any] | None = None, text: str | None = None, more: str = ""
    ) -> int:
        """Print the result in the form asked for and write its files; `data` and `text` stand in for its own.

        Markdown is a summary: the verdict and the main table. `more` is a sentence to end with.
        """
        if self.as_json:
            said = json_text(result.to_dict() if data is None else data)
        elif self.latex:
            said = result.to_latex()
        elif self.markdown:
            said = in_shell(f"{result.verdict}\n\n{result.to_markdown()}" + (f"\n{more}\n" if more else ""), self.flags)
        else:
            said = result.to_text() if text is None else text
            said = in_shell(said + (f"\n{textwrap.fill(more, 80)}\n" if more else ""), self.flags)
        if self.html is not None:
            said_of, mark, drawn = result.to_html().decode().partition('<script type="application/json"')
            said_of = in_shell(said_of.replace("&#39;", "'"), self.flags)  # attributes stand in double quotes
            write_whole(self.html, f"{said_of}{mark}{drawn}".encode())
        if self.plot is not None:
            write_whole(self.plot, result.as_file(Path(self.plot).suffix.lower()))
        quiet = self.as_json or self.markdown or self.latex
        written = [path for path in (*self.outputs, self.html, self.plot) if path and not quiet]
        say(said.rstrip("\n") + "".join(f"\n\nWritten: {path}" for path in written))
        return 0

    def say(self, text: str, data: Any) -> int:
        """Print text or, if JSON is asked for, the data."""
        say(json_text(data) if self.as_json else text)
        return 0

    def sentences(self, applied: Any, shown: Sequence[str]) -> int:
        """Print what a model says of sentences, these columns and a blank line between two; or where it was written."""
        if applied.out is not None or self.markdown or self.latex:
            return replace(self, outputs=())(applied)
        rows = applied.data.drop_columns([c for c in applied.columns if c.startswith("p_")]).to_pylist()
        if self.as_json:
            say(json.dumps(rows, allow_nan=False, ensure_ascii=False))
            return 0
        lines: list[str] = []
        for i, row in enumerate(rows):
            lines += [""] if i and row["sentence"] != rows[i - 1]["sentence"] else []
            lines.append("\t".join(f"{row[c]:.4f}" if isinstance(row[c], float) else str(row[c]) for c in shown))
        say("\n".join(lines))
        return 0


def in_shell(text: str, flags: Mapping[str, str] | None = None) -> str:
    """What the library says in Python's words, in the shell's: `prob=` becomes --prob, `scale='logit'` --scale logit.

    `flags` are those of the command's parameters, by name. `howsure.check` becomes `howsure check`.
    """

    def option(found: re.Match[str]) -> str:
        name, value = found[1], found[2].strip("'\"")
        flag = (flags or {}).get(name) or f"--{name.replace('_', '-')}"
        return flag if value in ("", "True") else f"{flag} {value if PLAIN.fullmatch(value) else shlex.quote(value)}"

    text = re.sub(r"`([a-z][a-z0-9_]*)=([^`\n]*)`", option, text)
    return re.sub(r"`howsure\.([a-z_]+)`", lambda m: f"`howsure {COMMANDS_OF.get(m[1], m[1])}`", text)


def say(text: str) -> None:
    """Print all at once. What the terminal's encoding lacks is replaced; a closed pipe ends the output quietly."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        print(harmless(text), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def served(server: Any, said: str) -> None:
    """Say where a page is and serve it until Ctrl-C."""
    try:
        say(said)
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


def engine_from(
    engine: str | None, master: str | None, memory: str | None = None, skip_bad_files: bool = False
) -> Engine:
    """The engine that the options mean; --master alone means Spark."""
    from howsure import Engine

    return Engine(engine or ("spark" if master is not None else "auto"), master, memory, skip_bad_files)


def called(verb: str, *arguments: Any, doing: str = "", **options: Any) -> Any:
    """The result of a function of `howsure.verbs`, imported when it is called; with a bar that says what it is `doing`."""
    module, _, name = verb.rpartition(".")
    function = getattr(import_module(f"howsure.verbs.{module}"), name)
    if not doing:
        return function(*arguments, **options)
    with progress(doing) as moved:
        moved(0, None)
        return function(*arguments, progress=moved, **options)


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """Gives a callback (done, total, what is being done) that moves a bar on stderr; without a terminal it does nothing.

    The bar is there from the first call on.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total, at="": None
        return
    with ExitStack() as stack:

        @cache
        def bar() -> Any:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            texts = TextColumn("{task.description}"), TextColumn("{task.fields[count]}")
            columns = texts[0], BarColumn(), texts[1], TimeRemainingColumn()
            shown = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
            shown.add_task(what, total=None, count="")
            return shown

        def moved(done: float, total: float | None, at: str = "") -> None:
            task = bar().tasks[0]
            if isinstance(done, float):
                count = f"{done:.0%}"
            else:
                count = f"{done:,}/{total:,}" if total else f"{done:,}" if done else ""
                count += f" {task.speed:,.0f}/s" if task.speed else ""
            bar().update(task.id, completed=done, total=total, description=at or what, count=count)

        yield moved
