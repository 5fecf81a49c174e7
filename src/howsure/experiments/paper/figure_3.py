"""Figure 3: HMM against CRF of the same accuracy, every tag of every token asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure.calibration.comparing.result import Pair, compare_rows
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.paper import calibration_error, calibration_interval
from howsure.calibration.result import Calibration
from howsure.experiments import tagging
from howsure.experiments.result import CONFIDENCE_LEVEL, Figure, Finding, Table, calibrated, judged, leaning, shown
from howsure.experiments.tagging import Contest, regulariser, taggers_table, tried_table
from howsure.experiments.work import Work
from howsure.kernels.cells import Ints
from howsure.plots.panels import curve_panels


@dataclass(frozen=True, slots=True)
class Pooled:
    """Both models over all (token, tag) pairs, and their difference: HMM less CRF."""

    y: np.ndarray
    q: dict[str, np.ndarray]
    group: Ints
    calibrations: dict[str, Calibration]
    pair: Pair


def settings(quick: bool) -> dict[str, Any]:
    """As for the other tagging figures; the paper's bin size and samples."""
    return {**tagging.settings(quick), "bin_size": 500 if quick else 5_000, "samples": 500 if quick else 10_000}


def pooled(made: Contest) -> Pooled:
    """For each tag a row a token, one after another."""
    y = made.all_answers("HMM")[0]
    q = {s.name: made.all_answers(s.name)[1] for s in made.sides}
    group = np.repeat(made.sentence, len(made.tags))
    calibrations, pairs = compare_rows(y, q, group, CONFIDENCE_LEVEL, None)
    return Pooled(y, q, group, dict(zip(q, calibrations, strict=True)), pairs[0])


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Two curves, the errors as we and as the paper estimate them, with words only and with word classes."""
    tables, rows, found = [], [], []
    for classes in (False, True):
        made, shop, features, n = tagging.shop_and_contest(settings, work, classes=classes)
        work("calibration over all tags")
        p = pooled(made)
        kind = "words and classes" if classes else "words"
        for name, c in p.calibrations.items():
            alg = calibration_interval(p.y, p.q[name], settings["bin_size"], settings["samples"], rng)
            raw = calibration_error(p.y, p.q[name], settings["bin_size"])
            slope = shown(c.bias.slope, 3)
            rows.append((kind, name, shown(c.error), raw, f"[{alg.low:.4f}, {alg.high:.4f}]", slope, leaning(c)))
        found.append((made, p))
        tables.append(taggers_table(made) if not classes else _renamed(taggers_table(made)))
        if not classes:
            tried = shop.tried(features, n, settings["l2"])
            tables.append(tried_table(tried, features, n, "all tags"))
    made, p = found[0]
    columns = ("knows", "model", "RMS error [95%]", f"Alg. 1, β = {settings['bin_size']:,}", "Alg. 2", "slope [95%]")
    errors = Table("errors", "All tags of all tokens", (*columns, "leaning"), tuple(rows))
    drawn = {n: calibrated(p.y, q, p.group, settings["bin_size"]) for n, q in p.q.items()}
    title = f"All {len(made.tags)} tags of {len(made.gold):,} tokens"
    return {
        "findings": (*findings(made, p, *found[1]), regulariser(tried)),
        "figures": (Figure("3", f"{title}: HMM and CRF.", curve_panels(drawn, title=title)),),
        "tables": (errors, *tables),
        "notes": (
            "Both models know words only, as in the paper; the second pair also knows a rare or unknown word by its shape and "
            "ending. The CRF's training sentences are spread evenly over the training text.",
            "Slope: of the labels' log-odds on those of the probabilities; below 1 these are too extreme.",
        ),
    }


def _renamed(t: Table) -> Table:
    return Table("taggers-classes", f"{t.caption}, with word classes", t.columns, t.rows)


def findings(made: Contest, p: Pooled, made_classes: Contest, with_classes: Pooled) -> tuple[Finding, ...]:
    """The paper's claims on all tags together."""
    hmm, crf = p.calibrations["HMM"], p.calibrations["CRF"]
    d = p.pair.error_squared
    other = with_classes.pair.error_squared
    also = {n: shown(c.error) for n, c in with_classes.calibrations.items()}
    assert hmm.error is not None
    assert crf.error is not None
    accuracies = {s.name: s.accuracy for s in made.sides}
    lower = Finding(
        "At the same accuracy the CRF's calibration error over all tags is lower than the HMM's.",
        "§4.2.2, figure 3",
        judged(d.low, d.high),
        f"HMM {shown(hmm.error)}, CRF {shown(crf.error)}; difference of squared errors {d!r}, sentences counted together. "
        f"Where both also know word classes: HMM {also['HMM']}, CRF {also['CRF']}, {other!r}. Accuracy: HMM "
        f"{shown(accuracies['HMM'])}, CRF {shown(accuracies['CRF'])}.",
        {
            "HMM": hmm.error.value,
            "CRF": crf.error.value,
            "difference of squares": d.value,
            "accuracy HMM": accuracies["HMM"].value,
            "accuracy CRF": accuracies["CRF"].value,
        },
        "accuracy 88.7% of both; errors drawn only",
        f"accuracy {100 * accuracies['HMM'].value:.1f}% and {100 * accuracies['CRF'].value:.1f}%; error {hmm.error.value:.4f} and "
        f"{crf.error.value:.4f}",
    )
    gaps = {s.name: s.confidence_gap for s in made.sides}
    words = {n: confidence(g) for n, g in gaps.items()}
    others = {s.name: f"{confidence(s.confidence_gap)} ({shown(s.confidence_gap)})" for s in made_classes.sides}
    as_said = words == {"HMM": "underconfident", "CRF": "overconfident"}
    slopes = {n: shown(c.bias.slope, 3) for n, c in p.calibrations.items()}
    directions = Finding(
        "The HMM is very underconfident, the CRF overconfident.",
        "§4.2.2, figure 3",
        "confirmed" if as_said else "differs",
        f"The mean probability of the predicted tag less the accuracy is {shown(gaps['HMM'])} for the HMM, {words['HMM']}, and "
        f"{shown(gaps['CRF'])} for the CRF, {words['CRF']}; slopes over all tags {slopes['HMM']} and {slopes['CRF']}. With word "
        f"classes the HMM is {others['HMM']}, the CRF {others['CRF']}. The table by regulariser shows how far this is a "
        "property of its strength.",
        {f"confidence less accuracy, {n}": g.value for n, g in gaps.items()},
        "HMM underconfident, CRF overconfident",
        f"HMM {words['HMM']} ({gaps['HMM'].value:+.3f}), CRF {words['CRF']} ({gaps['CRF'].value:+.3f})",
    )
    return lower, directions


def confidence(gap: Estimate) -> str:
    """Of the mean probability of the predicted tag less accuracy, in words."""
    if gap.low is None or gap.high is None or gap.low <= 0 <= gap.high:
        return "neither over- nor underconfident"
    return "overconfident" if gap.value > 0 else "underconfident"
