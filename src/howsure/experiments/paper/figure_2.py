"""Figure 2: naive Bayes against logistic regression on tweets labelled by their emoticons."""

import csv
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from howsure.calibration.comparing.result import Pair, compare_rows
from howsure.calibration.paper import adaptive_bins, calibration_error, calibration_interval
from howsure.calibration.result import Calibration
from howsure.corpora.reading import corpus_path
from howsure.evaluation.contests.analysis import Field, duels, system_scores
from howsure.evaluation.contests.result import Duel, SystemScore
from howsure.evaluation.units import Units, label_units
from howsure.experiments.findings import Finding, Verdict, finding_on, height, held, judged, leaning, notes_on, shown
from howsure.experiments.registry import Work
from howsure.experiments.result import CONFIDENCE_LEVEL, Figure, Table, error_of
from howsure.kernels.cells import Floats
from howsure.models.classifiers import TextClassifier, fit_classifier
from howsure.plots.panels import curve_panels

METHODS = {"naive Bayes": "naive-bayes", "logistic regression": "logistic"}
SHARES = (0.6, 0.8)  # of the time in training, and up to the end of dev
Rows = tuple[list[str], list[str]]  # texts, labels


def settings(quick: bool) -> dict[str, Any]:
    """The paper's bin size and samples; classes of equal size in each part, as there."""
    some = {"texts": 3_000, "samples": 500} if quick else {"texts": None, "samples": 10_000}
    return {"quick": quick, "bin_size": 200, "balanced": True, **some}


def tweets(most: int | None) -> tuple[Rows, Rows, Rows]:
    """Train, dev and test, separated by time; of the larger class in each as many as of the smaller, at equal distances."""
    with open(corpus_path("tweet-sentiment", "emoticon.tsv"), encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), key=lambda r: r["date"])
    if most is not None and len(rows) > most:
        rows = [rows[i] for i in (np.arange(most) * len(rows) // most).tolist()]
    cuts = [0, *(int(s * len(rows)) for s in SHARES), len(rows)]
    first, second, third = (_balanced(rows[a:b]) for a, b in pairwise(cuts))
    return first, second, third


def _balanced(rows: list[dict[str, str]]) -> Rows:
    sides = [np.flatnonzero([r["label"] == label for r in rows]) for label in ("0", "1")]
    n = min(map(len, sides))
    kept = np.sort(np.concatenate([side[np.arange(n) * len(side) // max(n, 1)] for side in sides])).tolist()
    return [rows[i]["text"] for i in kept], [rows[i]["label"] for i in kept]


@dataclass(frozen=True, slots=True)
class Compared:
    """Both classifiers on the test tweets."""

    y: np.ndarray
    q: dict[str, Floats]
    calibrations: dict[str, Calibration]
    pair: Pair
    scores: tuple[SystemScore, ...]  # F1 of the positive class
    duel: Duel


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Two curves, errors and F1."""
    work("reading")
    train, dev, test = tweets(settings["texts"])
    models = {}
    for name, method in METHODS.items():
        work(f"training {name}")
        key = {k: settings[k] for k in ("data", "data_fingerprint", "texts", "balanced")} | {"method": method}
        models[name] = work.kept(
            f"classifier-{method}",
            key,
            lambda m=method: fit_classifier(*train, method=m, dev=dev, positive="1"),  # type: ignore[misc]
            TextClassifier.save,
            TextClassifier.load,
        )
    work("calibration")
    c = compared({n: m.posterior(test[0]).label_is("1") for n, m in models.items()}, test[1], rng)
    sizes = [len(t) for t, _ in (train, dev, test)]
    title = f"Is this tweet happy? {sizes[2]:,} tweets"
    return {
        "findings": findings(c, settings["bin_size"]),
        "figures": (Figure("2", f"{title}.", curve_panels(c.calibrations, title=title)),),
        "tables": (_table(c, models, settings, rng),),
        "notes": notes_on("figure-2", sizes=sizes, bin_size=settings["bin_size"]),
    }


def compared(q: dict[str, Floats], labels: list[str], rng: np.random.Generator) -> Compared:
    """Calibration and F1 of the two, and their differences."""
    gold = np.array([int(v) for v in labels], np.int64)
    y = gold.astype(np.uint8)
    probs = {n: np.ascontiguousarray(np.minimum(p, 1.0)) for n, p in q.items()}
    calibrations, pairs = compare_rows(y, probs, None, CONFIDENCE_LEVEL, rng)
    said = tuple((p > 0.5).astype(np.int64) for p in probs.values())

    def units(which: tuple[int, ...]) -> Units:
        return label_units(gold, tuple(said[i] for i in which), 2, None)

    field = Field(tuple(probs), units, tuple((s == gold).astype(np.int64) for s in said), None, "f1", 1)
    duel = duels(field, 10_000, rng, CONFIDENCE_LEVEL)[0]
    named = dict(zip(probs, calibrations, strict=True))
    return Compared(y, probs, named, pairs[0], system_scores(field, CONFIDENCE_LEVEL), duel)


def findings(c: Compared, bin_size: int) -> tuple[Finding, ...]:
    """The paper's claims on naive Bayes and logistic regression."""
    bayes, logistic = c.calibrations.values()
    f = [s.value for s in c.scores]
    gain = c.duel.difference
    d = -c.pair.error_squared  # naive Bayes less logistic regression
    errors = [error_of(k).value for k in (bayes, logistic)]
    ratio = errors[1] / errors[0] if errors[0] else float("inf")
    higher = finding_on("figure-2/higher", judged(gain), f=f, gain=gain)
    half: Verdict = "differs" if ratio >= 0.5 else judged(d)
    lower = finding_on("figure-2/lower", half, bayes=bayes, logistic=logistic, ratio=ratio, d=d)
    curves = {n: adaptive_bins(c.y, q, bin_size) for n, q in c.q.items()}
    ends = {n: (height(b, 0.0, 0.5), height(b, 0.5, 1.0)) for n, b in curves.items()}
    signs = [judged(e, above=e is a) for a, b in ends.values() for e in (a, b)]
    sizes = [a.value - b.value for a, b in ends.values()]
    more = held("undecided" not in signs, "undecided")
    if "differs" in signs or sizes[0] <= sizes[1]:
        more = "differs"
    extreme = finding_on(
        "figure-2/extreme",
        more,
        numbers={f"slope {n}": k.bias.slope.value for n, k in c.calibrations.items() if k.bias.slope is not None},
        heights="; ".join(f"{n} {shown(a, 3)} below ½ and {shown(b, 3)} above" for n, (a, b) in ends.items()),
        bayes=(bayes.bias.slope, leaning(bayes)),
        logistic=(logistic.bias.slope, leaning(logistic)),
        listed="; ".join(f"{n} {a.value:+.3f} below ½, {b.value:+.3f} above" for n, (a, b) in ends.items()),
    )
    return higher, lower, extreme


def _table(c: Compared, models: dict[str, TextClassifier], settings: dict[str, Any], rng: np.random.Generator) -> Table:
    rows, size = [], settings["bin_size"]
    for (name, k), s in zip(c.calibrations.items(), c.scores, strict=True):
        raw = calibration_error(c.y, c.q[name], size)
        alg = calibration_interval(c.y, c.q[name], size, settings["samples"], rng)
        first = name, f"{models[name].settings['strength']:.3g}", shown(s.value, 3), shown(k.error, 3), raw
        rows.append((*first, f"[{alg.low:.3f}, {alg.high:.3f}]", k.log_loss.value, shown(k.bias.slope, 2)))
    columns = ("model", "strength", "F1 [95%]", "RMS error [95%]", f"Alg. 1, β = {size}", "Alg. 2", "log loss", "slope")
    return Table("classifiers", "Both classifiers on the test tweets", columns, tuple(rows))
