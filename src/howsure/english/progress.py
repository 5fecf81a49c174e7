"""A bar on stderr, for people only: characters parsed so far."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class Meter:
    """Counts characters; draws where `shown` and stderr is a terminal, else costs nothing."""

    def __init__(self, shown: bool, total: int | None = None) -> None:
        self.bar: Any = None
        if shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("parsing"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[done]}"),
            )
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task("parsing", total=total, done="")
        self.characters = 0

    def add(self, characters: int) -> None:
        self.characters += characters
        if self.bar is not None:
            self.bar.update(self.task, completed=self.characters, done=f"{self.characters / 1e6:.1f} M characters")

    def __enter__(self) -> Meter:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
