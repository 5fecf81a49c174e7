"""The experiments by name. A module of this room with `settings` and `run` becomes one by a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from howsure import _validate
from howsure.errors import InputError
from howsure.experiments.result import Reproduction

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Experiment:
    """What can be done again, and the module that does it; the module is loaded when it is run.

    The module has `settings(quick)`, all that the result depends on but the seed, as plain data; and
    `run(settings, rng, progress)`, which returns findings, figures, tables and notes as keywords of `Reproduction`.
    """

    name: str
    title: str
    shows: str
    module: str

    def settings(self, *, quick: bool = False) -> dict[str, Any]:
        """What the result depends on besides the seed; `quick` is a small version, to see that it runs."""
        made: dict[str, Any] = import_module(self.module).settings(quick)
        return made

    def run(self, settings: dict[str, Any], rng: np.random.Generator, progress: Progress) -> Reproduction:
        """Do it."""
        parts = import_module(self.module).run(settings, rng, progress)
        return Reproduction(self.name, self.title, self.shows, settings, **parts)


EXPERIMENTS = {
    e.name: e
    for e in (
        Experiment(
            "synthetic",
            "The MSE calibration score on synthetic pairs",
            "how the score moves with bin size and sample size when the truth is known (thesis §4.3, figures 4.7-4.11)",
            "howsure.experiments.synthetic",
        ),
    )
}


def experiment(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise InputError(f"there is no experiment {name!r}.{_validate.nearest(name, EXPERIMENTS)}")
    return EXPERIMENTS[name]
