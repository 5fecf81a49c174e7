"""The options that say where the work runs; the same for every command that reads big tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

if TYPE_CHECKING:
    from howsure.engines.engine import Engine

EngineOption = Annotated[
    Optional[str],  # noqa: UP045  (typer reads this at run time)
    typer.Option("--engine", help="Where the work runs: files (streamed, the default), memory or spark."),
]
MasterOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--master", help="Spark's master: local[2], spark://host:7077, yarn."),
]
MemoryOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--memory", help="A bound for memory, such as 1GB; the rest goes to the temporary folder."),
]
SkipBadFilesOption = Annotated[
    bool, typer.Option("--skip-bad-files", help="Leave out files that cannot be read, and say so.")
]


def engine_from(engine: str | None, master: str | None, memory: str | None, skip_bad_files: bool) -> Engine:
    """The engine that the options mean; --master alone means Spark."""
    from howsure.engines.engine import Engine

    kind = engine or ("spark" if master is not None else "auto")
    return Engine(kind, master, memory, skip_bad_files)
