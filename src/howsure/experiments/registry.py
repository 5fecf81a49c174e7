"""The experiments by name. A module of this room with `settings` and `run` becomes one by a line in data/experiments.csv."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from howsure import _validate
from howsure.data import table
from howsure.errors import InputError
from howsure.experiments import data
from howsure.experiments.result import Reproduction
from howsure.experiments.work import Work


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
        return data.chosen(self.corpora) if self.corpora else ""

    def missing(self) -> InputError | None:
        """What keeps it from being done, if anything does."""
        return data.missing(self.name, self.corpora) if self.data is None else None

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
        return {**made, "experiment": self.name, "data": used, "data_fingerprint": data.fingerprint(used)}

    def run(self, settings: dict[str, Any], rng: np.random.Generator, work: Work) -> Reproduction:
        """Do it."""
        parts = import_module(self.module).run(settings, rng, work)
        on = {"data": data.title(settings["data"])} if self.corpora else {"data": "synthetic data"}
        return Reproduction(self.name, self.title, self.shows, settings, **{**on, **parts})


def _experiment(name: str, title: str, shows: str, module: str, corpora: str, figures: str) -> Experiment:
    wanted = tuple("" if c == "-" else c for c in corpora.split())
    return Experiment(name, title, shows, f"howsure.experiments.{module}", wanted, tuple(figures.split()))


EXPERIMENTS = {row["name"]: _experiment(**row) for row in table("experiments")}


def experiment(name: str) -> Experiment:
    """The experiment of that name, or of the figure of that number ("thesis-4.2")."""
    named = EXPERIMENTS | {f: e for e in EXPERIMENTS.values() for f in e.figures}
    if name not in named:
        raise InputError(f"there is no experiment {name!r}.{_validate.nearest(name, named)}")
    return named[name]
