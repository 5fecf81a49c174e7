"""The experiments by name. A module of this room with `settings` and `run` becomes one by a line here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from howsure import _validate
from howsure.errors import InputError
from howsure.experiments import data
from howsure.experiments.result import Reproduction
from howsure.experiments.work import Work


@dataclass(frozen=True, slots=True)
class Experiment:
    """What can be done again, and the module that does it; the module is loaded when it is run.

    The module has `settings(quick)`, all that the result depends on but the seed and the data, as plain data; and
    `run(settings, rng, work)`, which returns findings, figures, tables and notes (and `data`, if more is to be said than
    the corpus's name) as keywords of `Reproduction`. `work` is a `Work`: called with a few words it tells them, and it
    keeps trained models. A module of several experiments finds its own under `settings["experiment"]`.

    `corpora` are folders of `experiments/data.py` in order of preference ("a+b" is two together, "" at the end none);
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


_TAGGING = ("conll-2011", "ewt", "treebank")
_HERE = "howsure.experiments"

EXPERIMENTS = {
    e.name: e
    for e in (
        Experiment(
            "figure-1",
            "Equally wide against equally filled bins",
            "what bins show of a tagger's skewed probabilities of NN (paper §3.1, figure 1)",
            f"{_HERE}.paper.figure_1",
            _TAGGING,
        ),
        Experiment(
            "figure-2",
            "Naive Bayes against logistic regression",
            "F1 and calibration of two classifiers of tweets (paper §4.1, figure 2)",
            f"{_HERE}.paper.figure_2",
            ("tweet-sentiment",),
        ),
        Experiment(
            "figure-3",
            "HMM against CRF, all tags together",
            "the calibration of two taggers of the same accuracy (paper §4.2.2, figure 3)",
            f"{_HERE}.paper.figure_3",
            _TAGGING,
        ),
        Experiment(
            "figure-4a",
            "HMM against CRF, tag by tag",
            "on how many tags either is better calibrated (paper §4.2.2, figure 4a)",
            f"{_HERE}.paper.figure_4a",
            _TAGGING,
        ),
        Experiment(
            "figure-4b",
            "HMM against CRF, pairs of tags",
            "on how many pairs of consecutive tags either is better calibrated (paper §4.2.3, figure 4b)",
            f"{_HERE}.paper.figure_4b",
            _TAGGING,
        ),
        Experiment(
            "figure-5",
            "Are two mentions one entity",
            "how often two mentions corefer when the model says so with probability q (paper §5.3, figure 5)",
            f"{_HERE}.paper.figure_5",
            ("conll-2011", "gum"),
        ),
        Experiment(
            "figure-6",
            "Attacks over time",
            "how many documents per period describe an attack by an actor, with credible bands (paper §6, figure 6)",
            f"{_HERE}.paper.figure_6",
            ("nyt", "muc", ""),
        ),
        Experiment(
            "section-6.2",
            "Documents near probability ½",
            "what the doubt hangs on where the answer is least certain, and whether such answers are wrong more often (paper §6.2)",
            f"{_HERE}.paper.section_6_2",
            ("nyt", "muc", ""),
        ),
        Experiment(
            "thesis-wsj",
            "HMM, CRF-Basic and CRF-Advanced on newswire",
            "the calibration of three taggers on NN (thesis §4.1, figures 4.1-4.3)",
            f"{_HERE}.thesis.tagging_figures",
            ("conll-2011", "treebank"),
            ("thesis-4.1", "thesis-4.2", "thesis-4.3"),
        ),
        Experiment(
            "thesis-tweets",
            "HMM, CRF-Basic and CRF-Advanced on tweets",
            "the calibration of three taggers on V (thesis §4.2, figures 4.4-4.6)",
            f"{_HERE}.thesis.tagging_figures",
            ("ark-tweets",),
            ("thesis-4.4", "thesis-4.5", "thesis-4.6"),
        ),
        Experiment(
            "synthetic",
            "The MSE calibration score on synthetic pairs",
            "how the score moves with bin size and sample size when the truth is known (thesis §4.3, figures 4.7-4.11)",
            f"{_HERE}.thesis.synthetic",
            (),
            tuple(f"thesis-4.{i}" for i in range(7, 12)),
        ),
        Experiment(
            "course",
            "The tables of the course notes",
            "evaluation, agreement, significance and n-gram models: each printed number beside ours",
            f"{_HERE}.course.tables",
            ("conll2000", ""),
        ),
    )
}


def experiment(name: str) -> Experiment:
    """The experiment of that name, or of the figure of that number ("thesis-4.2")."""
    named = EXPERIMENTS | {f: e for e in EXPERIMENTS.values() for f in e.figures}
    if name not in named:
        raise InputError(f"there is no experiment {name!r}.{_validate.nearest(name, named)}")
    return named[name]
