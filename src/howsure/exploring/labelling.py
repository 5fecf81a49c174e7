"""Documents of an exploration to label: a sample by design, and what the answers say about the counts."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.counting.analysis import Layout, counts_of
from howsure.counting.answers import Answers, Item
from howsure.counting.design import Strata, allocation, systematic_sample
from howsure.counting.result import Counts
from howsure.counting.sample import strata_of_places
from howsure.counting.strata import grid_places
from howsure.counting.tally import tally_of
from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.events.reported import label_files, labels_of, prior_probabilities
from howsure.events.storage import read_table
from howsure.kernels.cells import Floats, Ints

KEY = "id"


class Documents:
    """All documents that name an actor, with the event layer's probability in each, and strata of these; nothing found is one."""

    def __init__(self, found: Exploration, actor: str) -> None:
        self.found, self.actor = found, found.code(actor)
        rows = [r for r in read_table(found.folder, "frame", ["id", "date", "actor"]) if r["actor"] == self.actor]
        self.ids = [r["id"] for r in rows]
        if not self.ids:
            raise InputError(f"no document names {self.actor}: there is nothing to check.")
        # By the prior, not by labels: strata and inclusion probabilities must not change while people label.
        self.q = prior_probabilities(found, self.actor)
        self._days = np.array([0 if r["date"] is None else r["date"].toordinal() for r in rows], np.int64)

    def sample(self, n: int, seed: int) -> tuple[Ints, NDArray[Any], Floats]:
        """Positions of n documents in random order, the name of their stratum and their inclusion probability."""
        none = np.zeros(len(self.q), np.uint8)
        tally = tally_of(self.q, none, none.astype(bool), np.zeros(len(self.q), np.int64), ((),))
        stratum = np.unique(strata_of_places(tally)[grid_places(self.q)], return_inverse=True)[1]
        size = np.bincount(stratum)
        zero = np.zeros(len(size), np.int64)
        wanted = allocation(Strata(size, np.bincount(stratum, self.q) / size, zero, zero), n)
        rng = np.random.default_rng([seed, *self.actor.encode()])
        drawn = rng.permutation(systematic_sample(stratum, wanted, self._days, rng))
        low, high = np.full(len(size), np.inf), np.zeros(len(size))
        np.minimum.at(low, stratum, self.q)
        np.maximum.at(high, stratum, self.q)
        names = np.array([f"{a:.6g} to {b:.6g}" for a, b in zip(low, high, strict=True)])
        return drawn, names[stratum[drawn]], (wanted / size)[stratum[drawn]]

    def items(self, n: int, seed: int, texts: dict[str, tuple[str, str]] | None = None) -> list[Item]:
        """The sample as items to label; `texts` gives title and text of each."""
        drawn, stratum, inclusion = self.sample(n, seed)
        made = []
        for i, h, p in zip(drawn.tolist(), stratum.tolist(), inclusion.tolist(), strict=True):
            title, text = ("", "") if texts is None else texts[self.ids[i]]
            made.append(Item(self.ids[i], text, (("title", title),) if title else (), h, repr(p)))
        return made

    def counts(self, labels: dict[str, bool], inclusion: dict[str, float]) -> Counts:
        """How many documents describe an event, from the labels of some."""
        labelled = np.array([i in labels for i in self.ids])
        y = np.array([labels.get(i, False) for i in self.ids], np.uint8)
        pi = np.array([inclusion.get(i, np.nan) for i in self.ids])
        tally = tally_of(self.q, y, labelled, np.zeros(len(self.q), np.int64), ((),), pi)
        design, source = "known inclusion probabilities", f"documents, {self.found.name(self.actor)}"
        return counts_of(tally, Layout(), design=design, level=0.95, rng=np.random.default_rng(0), source=source)


def answers_file(found: Exploration, actor: str, seed: int) -> Path:
    """Where the answers about an actor are kept: in the results folder."""
    return Path(found.folder) / f"{labels_of(actor)}-{seed}.csv"


def labelled_actors(found: Exploration) -> list[dict[str, Any]]:
    """What people's answers say, for each actor that was labelled: for the page."""
    made = []
    for code in found.reported().totals:
        for path in label_files(Path(found.folder), code):
            documents = Documents(found, code)
            answers = Answers(path, KEY, [Item(i, "") for i in documents.ids])
            labels = answers.settled()
            if not labels:
                continue
            counts = documents.counts(labels, answers.inclusions())
            strata = []
            for s in counts.strata:
                span = {"from": s.from_prob, "to": s.to_prob, "documents": s.n_items, "labelled": s.n_labels}
                strata.append(span | {"mean_q": s.mean_prob, "share_yes": s.share.value})
            about = {"name": found.name(code), "verdict": counts.verdict, "strata": strata}
            made.append(about | {"n_labelled": counts.n_labels, "n_documents": counts.n_items})
    return made
