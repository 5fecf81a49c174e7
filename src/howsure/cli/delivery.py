"""How a command delivers: one result as text, JSON, Markdown, LaTeX, page and picture; progress on the way."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from howsure._result import PLOTS, Result, json_text
from howsure.errors import InputError
from howsure.files import check_outputs, write_whole


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is asked for, checked before the work starts; `outputs` are written by the command itself."""

    as_json: bool = False
    markdown: bool = False
    latex: bool = False
    html: str | None = None
    plot: str | None = None
    outputs: tuple[str | None, ...] = ()
    inputs: tuple[object, ...] = ()
    deep: bool = False  # inputs may be folders of folders

    def __post_init__(self) -> None:
        forms = {"--json": self.as_json, "--markdown": self.markdown, "--latex": self.latex}
        if len(chosen := [name for name, given in forms.items() if given]) > 1:
            raise InputError(f"{chosen[0]} and {chosen[1]} cannot be combined.")
        check_outputs(*self.outputs, self.html, self.plot, inputs=self.inputs, deep=self.deep)
        check_plot(self.plot)

    def deliver(self, result: Result, *, data: dict[str, Any] | None = None, text: str | None = None) -> int:
        """Print the result in the form asked for and write its files; `data` and `text` stand in for its own."""
        if self.as_json:
            said = json_text(result.to_dict() if data is None else data)
        elif self.markdown or self.latex:
            said = result.to_markdown() if self.markdown else result.to_latex()
        else:
            said = result.to_text() if text is None else text
        if self.html is not None:
            write_whole(self.html, result.to_html())
        if self.plot is not None:
            write_whole(self.plot, result.as_file(Path(self.plot).suffix.lower()))
        quiet = self.as_json or self.markdown or self.latex
        written = [path for path in (*self.outputs, self.html, self.plot) if path and not quiet]
        say(said.rstrip("\n") + "".join(f"\n\nWritten: {path}" for path in written))
        return 0


def check_plot(path: str | None) -> None:
    """A picture's name must end in a format that is drawn."""
    if path is not None and Path(path).suffix.lower() not in PLOTS:
        raise InputError(f"--plot must name a file ending in {', '.join(PLOTS)}; got {path!r}.")


def say(text: str) -> None:
    """Print all at once. What the terminal's encoding lacks is replaced; a closed pipe ends the output quietly."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_data(data: Any, as_json: bool, text: str) -> int:
    """Print plain data as JSON, or else the text."""
    say(json_text(data) if as_json else text)
    return 0


@contextmanager
def progress(what: str) -> Iterator[Callable[..., None]]:
    """Gives a callback (done, total, description) that moves a bar on stderr; it does nothing without a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total, saying=what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None, count="")

        def moved(done: float, total: float | None, saying: str = what) -> None:
            speed = shown.tasks[0].speed
            count = f"{done:.0%}" if isinstance(done, float) else f"{done:,}/{total:,}" if total else f"{done:,}"
            count += f" {speed:,.0f}/s" if speed and not isinstance(done, float) else ""
            shown.update(task, completed=done, total=total, description=saying, count=count)

        yield moved


@contextmanager
def status() -> Iterator[Callable[[str], None] | None]:
    """Gives a callback that shows what is at work on one line of a terminal's stderr; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading …") as line:
        yield line.update
