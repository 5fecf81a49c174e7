"""What an experiment is given to work with: a progress callback and a cache of trained models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from howsure._version import __version__
from howsure.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Work:
    """Called with a few words it tells them; `kept` makes a thing once for all experiments and all runs."""

    tell: Callable[[str], None] = lambda _: None
    folder: Path | None = None

    def __call__(self, said: str) -> None:
        self.tell(said)

    def kept(
        self,
        name: str,
        key: dict[str, Any],
        make: Callable[[], T],
        save: Callable[[T, Path], None],
        load: Callable[[Path], T],
        suffix: str = ".npz",
    ) -> T:
        """A trained model or the like: read if the folder has it, else made and written.

        `key` is all that it depends on, as plain data; with the version it becomes part of the file's name, so that a
        thing of other settings or other data is another file. `save` must write whole or not at all. A file that
        cannot be read is made again.
        """
        if self.folder is None:
            return make()
        told = json.dumps([__version__, name, key], sort_keys=True, ensure_ascii=False)
        path = self.folder / f"{name}-{hashlib.sha256(told.encode()).hexdigest()[:12]}{suffix}"
        if path.exists():
            try:
                return load(path)
            except InputError:
                pass
        made = make()
        self.folder.mkdir(parents=True, exist_ok=True)
        save(made, path)
        return made
