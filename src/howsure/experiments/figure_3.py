"""Figure 3: HMM against CRF of the same accuracy, every tag of every token asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure.calibration.comparison import Pair, compare_rows
from howsure.calibration.paper import calibration_error, calibration_interval
from howsure.calibration.result import Calibration
from howsure.experiments import tagging
from howsure.experiments.measured import CONFIDENCE_LEVEL, leaning, shown
from howsure.experiments.result import Figure, Finding, Table
from howsure.experiments.tagging import Contest, taggers_table
from howsure.experiments.work import Work
from howsure.kernels.cells import Ints
from howsure.plots.curve_panels import curve_panels


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
    return {**tagging.settings(quick), "bin_size": 5_000, "samples": 500 if quick else 10_000}


def pooled(made: Contest) -> Pooled:
    """For each tag a row a token, one after another."""
    y = (made.gold[:, None] == np.arange(len(made.tags))).astype(np.uint8).ravel()
    q = {s.name: s.q.ravel() for s in made.sides}
    group = np.repeat(made.sentence, len(made.tags))
    calibrations, pairs = compare_rows(y, q, group, CONFIDENCE_LEVEL, None)
    return Pooled(y, q, group, dict(zip(q, calibrations, strict=True)), pairs[0])


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Two curves, the errors as we and as the paper estimate them, with words only and with word classes."""
    tables, rows, found = [], [], []
    for classes in (False, True):
        made = tagging.hmm_and_crf(settings, work, classes=classes)
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
    made, p = found[0]
    columns = ("knows", "model", "RMS error [95%]", f"Alg. 1, β = {settings['bin_size']:,}", "Alg. 2", "slope [95%]")
    errors = Table("errors", "All tags of all tokens", (*columns, "leaning"), tuple(rows))
    title = f"All {len(made.tags)} tags of {len(made.gold):,} tokens"
    return {
        "findings": findings(made, p, found[1][1]),
        "figures": (Figure("3", f"{title}: HMM and CRF.", curve_panels(p.calibrations, title=title)),),
        "tables": (errors, *tables),
        "notes": (
            "Both models know words only, as in the paper; the second pair also knows a rare or unknown word by its shape and "
            "ending. The CRF's training sentences are spread evenly over the training text.",
            "Slope: of the labels' log-odds on those of the probabilities; below 1 these are too extreme.",
        ),
    }


def _renamed(t: Table) -> Table:
    return Table("taggers-classes", f"{t.caption}, with word classes", t.columns, t.rows)


def findings(made: Contest, p: Pooled, with_classes: Pooled) -> tuple[Finding, ...]:
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
        "confirmed" if d.low is not None and d.low > 0 else "differs",
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
    leanings = {n: leaning(c) for n, c in p.calibrations.items()}
    others = {n: leaning(c) for n, c in with_classes.calibrations.items()}
    slopes = {n: c.bias.slope for n, c in p.calibrations.items()}
    as_said = leanings == {"HMM": "underconfident", "CRF": "overconfident"}
    directions = Finding(
        "The HMM is very underconfident, the CRF overconfident.",
        "§4.2.2, figure 3",
        "confirmed" if as_said else "differs",
        f"By the slope the HMM is {leanings['HMM']} ({shown(slopes['HMM'], 3)}), the CRF {leanings['CRF']} "
        f"({shown(slopes['CRF'], 3)}). With word classes: HMM {others['HMM']}, CRF {others['CRF']}. An HMM counts words that "
        "depend on each other as separate evidence, which makes it overconfident; heavy smoothing and unknown words work the "
        "other way. A CRF is fitted to its training text, and how extreme it is follows from its regulariser.",
        {f"slope {n}": s.value for n, s in slopes.items() if s is not None},
        "HMM underconfident, CRF overconfident",
        f"HMM {leanings['HMM']}, CRF {leanings['CRF']}",
    )
    return lower, directions
