"""Files that cannot be read, among many: which they are, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from howsure.errors import HowsureError, InputError

if TYPE_CHECKING:
    from howsure.engines.formats import TableFile

MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class BadFile:
    """A file and why it cannot be read."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} ({self.reason})"


def bad_files(files: list[TableFile], expressions: Iterable[str], where: str | None) -> list[BadFile]:
    """Read each file to its end; those where that fails."""
    from howsure.engines.tables import Table

    wanted, bad = list(expressions), []
    for file in files:
        try:
            with Table(file.path) as table:
                for _ in table.batches(wanted, where):
                    pass
        except HowsureError as error:
            bad.append(BadFile(str(file.path), _reason(error, str(file.path))))
    return bad


def bad_files_error(bad: list[BadFile], n_files: int) -> InputError:
    """All of them in one line."""
    are = "file" if len(bad) == 1 else "files"
    return InputError(
        f"{len(bad):,} of {n_files:,} {'files' if n_files > 1 else are} cannot be read: {named(bad)}. "
        "--skip-bad-files leaves them out."
    )


def left_out_note(bad: Iterable[BadFile], n_files: int) -> tuple[str, ...]:
    """What the result must say of files left out."""
    listed = list(bad)
    if not listed:
        return ()
    return (f"{len(listed):,} of {n_files:,} files could not be read and were left out: {named(listed)}.",)


def named(bad: list[BadFile]) -> str:
    """The first few."""
    shown = "; ".join(map(str, bad[:MOST_NAMED]))
    return shown + (f"; and {len(bad) - MOST_NAMED:,} more" if len(bad) > MOST_NAMED else "")


def _reason(error: Exception, path: str) -> str:
    said = str(error).removeprefix(path).strip(" :")
    return said.removeprefix("cannot be read").strip(" :.") or "cannot be read"
