"""The experiments by name, the data that one is done on, and what it is given to work with.

A module of this room with `settings` and `run` becomes an experiment by a line in data/experiments.csv. It names its corpora in order
of preference: the source's own where HOWSURE_DATA has them, else what is public. A corpus is there when its folder has a file of the pattern.
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from howsure import _validate
from howsure._version import __version__
from howsure.data import table
from howsure.errors import InputError
from howsure.experiments.result import Reproduction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder below HOWSURE_DATA, what lies there, and where it is to be had."""

    folder: str
    title: str
    pattern: str
    source: str
    public: bool = True

    @property
    def path(self) -> Path | None:
        """The folder, if it is there with a file of the pattern."""
        root = os.environ.get("HOWSURE_DATA")
        if not root:
            return None
        path = Path(root, self.folder)
        return path if next(path.glob(self.pattern), None) is not None else None


CORPORA = {row["folder"]: Corpus(**{**row, "public": row["public"] == "yes"}) for row in table("corpora")}  # type: ignore[arg-type]


def chosen(wanted: Sequence[str]) -> str | None:
    """The first of the corpora that is there; "a+b" is two together, "" no corpus at all."""
    return next((w for w in wanted if all(CORPORA[c].path for c in w.split("+") if c)), None)


def corpus_title(name: str) -> str:
    """What a choice is called on a page."""
    return " and ".join(CORPORA[c].title for c in name.split("+")) if name else "no corpus"


def fingerprint(name: str) -> str:
    """Changes when a file of the corpora comes, goes or has another size: a result of other data is not used again."""
    seen = hashlib.sha256()
    for folder in (c for c in name.split("+") if c):
        if (path := CORPORA[folder].path) is not None:
            for file in sorted(f for f in path.rglob("*") if f.is_file()):
                seen.update(f"{folder}/{file.relative_to(path)} {file.stat().st_size}\n".encode())
    return seen.hexdigest()[:16] if name else ""


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
    ) -> T:
        """A trained model or the like: read if the folder has it, else made and written.

        `key` is all that it depends on, as plain data; with the version it becomes part of the file's name, so that a
        thing of other settings or other data is another file. `save` must write whole or not at all. A file that
        cannot be read is made again.
        """
        if self.folder is None:
            return make()
        identity = json.dumps([__version__, name, key], sort_keys=True, ensure_ascii=False)
        path = self.folder / f"{name}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}.npz"
        if path.exists():
            try:
                return load(path)
            except InputError:
                pass
        made = make()
        self.folder.mkdir(parents=True, exist_ok=True)
        save(made, path)
        return made


@dataclass(frozen=True, slots=True)
class Experiment:
    """What can be done again, and the module that does it; the module is loaded when it is run.

    The module has `settings(quick)`, all that the result depends on but the seed and the data, as plain data; and
    `run(settings, rng, work)`, which returns findings, figures, tables and notes (and `data`, if more is to be said than
    the corpus's name) as keywords of `Reproduction`. With `KEPT = False` it is done each time. `work` is a `Work`: a progress callback and a cache of trained models. A module of several experiments finds its own under `settings["experiment"]`.

    `corpora` are folders of data/corpora.csv in order of preference ("a+b" is two together, "" at the end none);
    `settings["data"]` is the one to be used. With no corpora at all the experiment needs none.
    """

    name: str
    title: str
    shows: str
    module: str
    corpora: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()  # other names, by the number of a figure

    @property
    def data(self) -> str | None:
        """The corpus that would be used now, "" for none needed; None if what is needed is not there."""
        return chosen(self.corpora) if self.corpora else ""

    def missing(self) -> InputError | None:
        """What keeps it from being done, if anything does: what it needs, and where that is to be had, in one line."""
        if self.data is not None:
            return None
        where = os.environ.get("HOWSURE_DATA")
        folders = [w for w in self.corpora if w]
        named = " or ".join(" and ".join(f"{c}/" for c in w.split("+")) for w in folders)
        offered = [CORPORA[c] for w in folders for c in w.split("+")]
        easy = next((c for c in offered if c.public), offered[0])
        place = f"not below HOWSURE_DATA ({where})" if where else "HOWSURE_DATA names no folder"
        return InputError(f"{self.name} needs {named}, {place}: {easy.folder}/ is {easy.title} ({easy.source}).")

    @property
    def kept(self) -> bool:
        """Whether a result that the folder holds is used again."""
        return getattr(import_module(self.module), "KEPT", True)

    def settings(self, *, quick: bool = False) -> dict[str, Any]:
        """What the result depends on besides the seed; `quick` is a small version, to see that it runs."""
        made: dict[str, Any] = import_module(self.module).settings(quick)
        if not self.corpora:
            return made
        lacking = self.missing()
        if lacking is not None:
            raise lacking
        used = self.data or ""
        return {**made, "experiment": self.name, "data": used, "data_fingerprint": fingerprint(used)}

    def run(self, settings: dict[str, Any], rng: np.random.Generator, work: Work) -> Reproduction:
        """Do it."""
        parts = import_module(self.module).run(settings, rng, work)
        on = corpus_title(settings["data"]) if self.corpora else "synthetic data"
        return Reproduction(self.name, self.title, self.shows, settings, **{"data": on, **parts})


def _experiment(name: str, title: str, shows: str, module: str, corpora: str, figures: str) -> Experiment:
    wanted = tuple("" if c == "-" else c for c in corpora.split())
    return Experiment(name, title, shows, f"howsure.experiments.{module}", wanted, tuple(figures.split()))


EXPERIMENTS = {row["name"]: _experiment(**row) for row in table("experiments")}


def experiment(name: str) -> Experiment:
    """The experiment of that name, or of the figure of that number ("thesis-4.2")."""
    named = EXPERIMENTS | {f: e for e in EXPERIMENTS.values() for f in e.figures}
    return named[_validate.known(name, named, f"there is no experiment {name!r}")]
