"""Figure 1: the probabilities of "is this token NN?" are skewed; equally wide bins against equally filled ones."""

from typing import Any

import numpy as np

from howsure.calibration.paper import calibration_error
from howsure.calibration.result import Calibration
from howsure.experiments import tagging
from howsure.experiments.findings import Finding, finding_on, held, notes_on, shown
from howsure.experiments.registry import Work
from howsure.experiments.result import Figure, Table, calibrated
from howsure.experiments.tagging import taggers_table
from howsure.kernels.cells import Floats
from howsure.plots.panels import curve_panels

TAG = "NN"
EXTREME = 0.01  # q so near to 0 or 1


def settings(quick: bool) -> dict[str, Any]:
    """As for the other tagging figures; the paper's bins."""
    return {**tagging.settings(quick), "widths": [0.02, 0.1], "bin_size": 100 if quick else 1_000}


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Four panels of the CRF's answers, a table of both models', and the claims on bins."""
    made = tagging.hmm_and_crf(settings, work)
    y, answers = made.answers(TAG)
    rules: dict[str, int | str] = {f"width {w:g}": f"width:{round(1 / w)}" for w in settings["widths"]}
    rules[f"{settings['bin_size']:,} rows each"] = settings["bin_size"]
    binned = {}
    for model, q in answers.items():
        binned[model] = {name: calibrated(y, q, made.sentence, rule) for name, rule in rules.items()}
    curves, title = binned["CRF"], f"Is this token {TAG}? The CRF's probabilities in three kinds of bins"
    named = {f"({letter}) {n}": c for letter, (n, c) in zip("bcd", curves.items(), strict=False)}
    said = {n: f"{len(c.bins)} bins, widest interval {widest(c):.2f}" for n, c in named.items()}
    drawn = curve_panels(named, title=title, said=said, distribution_of="(a) distribution")
    return {
        "findings": findings(y, answers["CRF"], curves, settings["bin_size"]),
        "figures": (Figure("1", f"{title}: equally wide, and of {settings['bin_size']:,} rows each.", drawn),),
        "tables": (_table(y, answers, binned, settings), taggers_table(made)),
        "notes": notes_on("figure-1"),
    }


def widest(c: Calibration) -> float:
    """The widest interval of a bin."""
    return float(np.max(c.bins.high - c.bins.low))


def within(c: Calibration) -> int:
    """Bins whose mean probability is in the middle of the scale."""
    return int(np.sum((c.bins.mean_prob > 0.1) & (c.bins.mean_prob < 0.9)))


def findings(y: np.ndarray, q: Floats, curves: dict[str, Calibration], bin_size: int) -> tuple[Finding, ...]:
    """What the paper says of the picture."""
    *wide, adaptive = curves.values()
    names, widths = list(curves), [widest(c) for c in curves.values()]
    near = float(np.mean((q < EXTREME) | (q > 1 - EXTREME)))
    middle = float(np.mean((q > 0.1) & (q < 0.9)))
    count, bins = within(adaptive), len(adaptive.bins)
    numbers = {"near": near, "n": len(q), "middle": middle}
    skewed = finding_on("figure-1/skewed", held(near > 0.5), numbers, tag=TAG, extreme=EXTREME)
    intervals = finding_on(
        "figure-1/intervals",
        held(widths[-1] < min(widths[:-1])),
        numbers={f"widest interval, {n}": w for n, w in zip(names, widths, strict=True)},
        listed=", ".join(f"{widest(c):.3f} ({n}, {len(c.bins)} bins)" for n, c in curves.items()),
        small=", ".join(str(int(np.sum(c.bins.n < 100))) for c in wide),
        bin_size=bin_size,
        bound=1.96 / np.sqrt(bin_size),
        widths=" against ".join(f"{w:.3f}" for w in widths),
    )
    others = ", ".join(f"{within(c)} of {len(c.bins)} ({n})" for n, c in zip(names, wide, strict=False))
    few = count <= max(1, round(2 * middle * bins) + 1)
    price = finding_on("figure-1/price", held(few), count=count, bins=bins, others=others)
    return skewed, intervals, price


def _table(
    y: np.ndarray, answers: dict[str, Floats], binned: dict[str, dict[str, Calibration]], settings: dict[str, Any]
) -> Table:
    rows = []
    for model, curves in binned.items():
        for name, c in curves.items():
            b = c.bins
            raw = float(np.sqrt(np.sum(b.n * b.gap**2) / b.n.sum()))
            if c is list(curves.values())[-1]:
                raw = calibration_error(y, answers[model], settings["bin_size"])
            rows.append((model, name, len(b), int(b.n.min()), widest(c), within(c), raw, shown(c.error)))
    columns = ("model", "bins", "number", "fewest rows", "widest interval", "between 0.1 and 0.9", "raw error")
    return Table("bins", f'Bins for "is this token {TAG}?"', (*columns, "debiased error [95%]"), tuple(rows))
