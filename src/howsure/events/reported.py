"""What documents report, by the event layer: counts with bands from the frame and people's labels, and where counts are lost."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from howsure.events import layer as event_layer
from howsure.events.frame import FEATURES
from howsure.events.layer import LEVELS, PARTS, Band, Layer, Pairs, fitted_layer, shipped_prior
from howsure.events.lexicons import alike, lemma_hints, nouns
from howsure.events.storage import read_table
from howsure.events.timeline import all_periods, period_name, period_start
from howsure.kernels.cells import Floats

if TYPE_CHECKING:
    from howsure.events.exploration import Exploration

FEW = 20  # labels; with fewer, calibration is not checked
SHOWN = 3  # sentences at each loss
SIDES = ("low", "high")


def labels_of(code: str) -> str:
    """How the names of files of answers about an actor begin; a seed follows."""
    return "labels-" + "".join(c if c.isalnum() else "-" for c in code)


def label_files(folder: Path, code: str) -> list[Path]:
    """The files of answers about an actor."""
    named = labels_of(code)
    return sorted(p for p in folder.glob(f"{named}-*.csv") if p.stem.rpartition("-")[0] == named)


def read_labels(folder: Path, codes: Sequence[str]) -> dict[tuple[str, str], bool]:
    """(document, actor) → the label that most people gave."""
    votes = Counter[tuple[str, str]]()
    for code, path in ((c, path) for c in codes for path in label_files(folder, c)):
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                votes[row["id"], code] += 1 if row["label"] == "1" else -1
    return {k: v > 0 for k, v in votes.items() if v}


@dataclass(frozen=True)
class Reported:
    """Counts of documents that report an event, by actor and period, from the event layer."""

    layer: Layer
    ids: list[str] = field(repr=False)
    codes: list[str] = field(repr=False)
    probability: Floats = field(repr=False)
    n_outside: int  # labels of documents that do not name the actor
    periods: dict[str, list[tuple[str, int, Band]]] = field(repr=False)  # name, pairs, band
    totals: dict[str, Band] = field(repr=False)
    calibration: dict[str, float] | None  # labels against the layer without their documents

    @property
    def checked(self) -> str:
        """How far labels have checked the numbers, in words."""
        if not self.layer.n_labels:
            held = " and ".join(f"{m['coverage']:.0%} ({name})" for name, m in self.layer.prior.measured.items())
            return (
                "No label has checked these numbers. The event layer's prior was trained on other news (mostly MUC, 1988 to 1990). "
                f"There, on documents left out of training, 95% bands held {held} of monthly counts. `howsure label` checks it here."
            )
        outside = f" {self.n_outside:,} more are of documents that do not name the actor." if self.n_outside else ""
        made = f"{self.layer.n_labels:,} labels, {self.layer.n_positive:,} of them yes, have moved the event layer.{outside}"
        c = self.calibration
        if c is None:
            return f"{made} With fewer than {FEW} its calibration is not checked."
        return (
            f"{made} Labels against the layer without their documents: mean probability {c['mean']:.2f}, observed {c['observed']:.2f} "
            f"(difference {c['mean'] - c['observed']:+.2f}, 95% from {c['low']:+.2f} to {c['high']:+.2f})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything that is shown."""
        return {
            "checked": self.checked,
            "n_labels": self.layer.n_labels,
            "n_outside": self.n_outside,
            "calibration": self.calibration,
            "weights": {
                k: {"weight": w, "sd": sd, "says": FEATURES.get(k, "")} for k, (w, sd) in self.layer.weights().items()
            },
            "totals": [{"actor": c, **band_dict(b)} for c, b in self.totals.items()],
        }


NOTHING = Band(0.0, 0.0, dict.fromkeys(LEVELS, (0, 0)), dict.fromkeys(PARTS, 0.0))  # of a period that names nobody


def band_dict(b: Band) -> dict[str, float]:
    """A band's numbers by name."""
    ends = {f"{side}{round(100 * level)}": v[i] for level, v in b.intervals.items() for i, side in enumerate(SIDES)}
    return {"mean": b.mean, "sd": b.sd, **ends, **{f"part_{k}": v for k, v in b.parts.items()}}


def frame_words(folder: Path) -> Floats:
    """Coordinates of the words of all dated rows of the frame."""
    table = pq.read_table(folder / "frame.parquet", columns=["date", "words", "document_words"])
    table = table.filter(table["date"].is_valid())
    return event_layer.word_coordinates(table["words"].to_pylist(), table["document_words"].to_pylist())


def reported(found: Exploration, every: str) -> Reported:
    """The layer's counts of an exploration; labels in its folder are used."""
    table = pq.read_table(found.folder / "frame.parquet")
    table = table.filter(table["date"].is_valid())
    ids, actors, days = (table[c].to_pylist() for c in ("id", "actor", "date"))
    features = np.array(table["features"].to_pylist(), np.float64).reshape(len(ids), len(FEATURES))
    codes = sorted(set(actors))
    labels = read_labels(found.folder, list(found.actor_names))
    starts = all_periods(found.days, every)
    place = {d: i for i, d in enumerate(starts)}
    rows = {key: i for i, key in enumerate(zip(ids, actors, strict=True))}
    known = np.full(len(ids), np.nan)
    for key, yes in labels.items():
        if key in rows:
            known[rows[key]] = float(yes)
    given = np.flatnonzero(~np.isnan(known))
    words = found.words if len(given) else np.zeros((len(ids), 0))
    number = {c: i for i, c in enumerate(codes)}
    actor = np.array([number[a] for a in actors], np.int64)
    period = np.array([place[period_start(d, every)] for d in days], np.int64)
    pairs = Pairs(features, actor, period, words)
    layer = fitted_layer(shipped_prior(), pairs.some(given), known[given])
    seed = int(found.manifest["settings"]["seed"])
    drawn = event_layer.cell_draws(layer, pairs, known, dict(enumerate(codes)), seed=seed)
    periods: dict[str, list[tuple[str, int, Band]]] = {}
    totals: dict[str, Band] = {}
    for c, code in enumerate(codes):
        place_of, sizes = np.unique(period[actor == c], return_counts=True)
        own = [(t, n, drawn[c, t]) for t, n in zip(place_of.tolist(), sizes.tolist(), strict=True)]
        periods[code] = [(period_name(starts[t], every), n, cell.band()) for t, n, cell in own]
        totals[code] = reduce(add, [cell for _, _, cell in own]).band()
    probability = np.where(np.isnan(known), layer.probability(pairs), known)
    checked = _calibration(pairs, known, given, ids) if len(given) >= FEW else None
    totals = dict(sorted(totals.items(), key=lambda t: (-t[1].mean, t[0])))
    return Reported(layer, ids, actors, probability, len(labels) - len(given), periods, totals, checked)


def prior_probabilities(found: Exploration, code: str) -> Floats:
    """The probability of each pair of an actor in the frame before any label."""
    rows = [r["features"] for r in read_table(found.folder, "frame", ["actor", "features"]) if r["actor"] == code]
    n, none = len(rows), np.zeros(len(rows), np.int64)
    pairs = Pairs(np.array(rows, np.float64).reshape(n, len(FEATURES)), none, none, np.zeros((n, 0)))
    return fitted_layer(shipped_prior(), pairs.some(none[:0]), np.zeros(0)).probability(pairs)


def _calibration(pairs: Pairs, known: Floats, given: Any, ids: Sequence[str]) -> dict[str, float]:
    names, document = np.unique([ids[i] for i in given], return_inverse=True)
    fold = (np.random.default_rng(0).permutation(len(names)) % 5)[document]
    p = np.zeros(len(given))
    for k in range(5):
        train, test = given[fold != k], given[fold == k]
        if len(test):
            p[fold == k] = fitted_layer(shipped_prior(), pairs.some(train), known[train]).probability(pairs.some(test))
    gap = p - known[given]
    sums = np.bincount(document, gap - gap.mean())
    half = 1.96 * float(np.sqrt(np.sum(sums**2) * len(names) / max(len(names) - 1, 1))) / len(given)
    means = {"mean": float(p.mean()), "observed": float(known[given].mean())}
    return {"n": len(given), **means, "low": float(gap.mean()) - half, "high": float(gap.mean()) + half}


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the funnel: how many documents are left, and sentences of some that were lost there."""

    name: str
    n: int
    lost: str
    sentences: tuple[str, ...]


def funnel(found: Exploration) -> tuple[list[Step], list[str]]:
    """Documents → with an event → with an actor → agent found → asserted → counted (p ≥ ½); and what to try."""
    columns = ["id", "failure", "n_events", "event_start", "event_end"]
    documents = [d for d in read_table(found.folder, "documents", columns) if not d["failure"]]
    frame = read_table(found.folder, "frame", ["id", "actor", "features", "reasons", "start", "end"])
    at_q = list(FEATURES).index("found")
    events = {d["id"] for d in documents if d["n_events"]}
    named = {r["id"] for r in frame}
    asserted = {r["id"] for r in frame if r["features"][at_q] > 0}
    agents = asserted | {r["id"] for r in frame if r["reasons"]}
    counts = found.reported()
    counted = {i for i, p in zip(counts.ids, counts.probability, strict=True) if p >= 0.5}
    first = {d["id"]: (d["event_start"], d["event_end"]) for d in documents if d["n_events"]}
    spans: dict[str, tuple[int, int, str]] = {}
    for r in sorted(frame, key=lambda r: not r["reasons"]):
        spans.setdefault(r["id"], (r["start"], r["end"], r["reasons"]))
    both, undated = events & named, " or no date" if found.manifest["n_undated"] else ""
    steps = [
        ("documents", {d["id"] for d in documents}, set[str](), ""),
        ("with an actor", named, events - named, "an event, and no word of an actor"),
        ("with a verb or noun of the event", both, named - events, "an actor, and no verb or noun of the event"),
        ("agent found", agents, both - agents, "both, and no agent that is the actor"),
        ("asserted", asserted, agents - asserted, "an agent, of an event that is not said to have happened"),
        ("counted, p ≥ ½", counted & asserted, asserted - counted, f"an agent, and p below ½{undated}"),
    ]
    wanted = {i for _, _, lost, _ in steps for i in sorted(lost)[:SHOWN]}
    texts = {}
    if wanted:
        only = [("id", "in", sorted(wanted))]
        rows = pq.read_table(found.folder / "documents.parquet", columns=["id", "text"], filters=only)
        texts = dict(zip(rows["id"].to_pylist(), rows["text"].to_pylist(), strict=True))

    def sentence(i: str, why: str) -> str:
        start, end, reasons = (*first[i], "") if why.startswith("an event") else spans[i]
        said = " ".join(texts[i][start:end].split())
        return f"{said} [{reasons.replace(';', ', ')}]" if reasons and "not said" in why else said

    made = []
    for name, ids, lost, why in steps:
        made.append(Step(name, len(ids), why, tuple(sentence(i, why) for i in sorted(lost)[:SHOWN])))
    return made, _to_try(found, len(documents), len(events), len(named), len(both), len(agents))


def _to_try(found: Exploration, n: int, events: int, named: int, both: int, agents: int) -> list[str]:
    settings = found.manifest["settings"]
    verbs = settings["verbs"]
    made = [f"`verbs=` takes lemmas: {word} → {lemma}" for word, lemma in lemma_hints(verbs).items()]
    if events < n / 20:
        near = [v for v in alike(verbs) if nouns([v])][:8]
        made += [f"few documents have the verb or its nouns; verbs that are alike: {', '.join(near)}"] if near else []
    if named < n / 20:
        made.append("few documents name an actor: `actors='countries,organisations'`, or a file of your own")
    if both and agents < both / 5 and settings["rules"] != "roles":
        made.append("`rules='roles'` finds agents through nouns, titles, conjuncts and control")
    if both and agents < both / 5:
        made.append(f"`who='{verbs[0]}'` lists who does it in these documents, without a lexicon")
    return made
