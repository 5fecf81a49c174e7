"""Figure 3: HMM against CRF of the same accuracy, every tag of every token asked about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure.calibration.comparing.result import Pair, compare_rows
from howsure.calibration.paper import adaptive_bins, calibration_error, calibration_interval
from howsure.calibration.result import Calibration
from howsure.experiments import tagging
from howsure.experiments.findings import Finding, finding_on, height, judged, leaning, notes_on, shown, side
from howsure.experiments.registry import Work
from howsure.experiments.result import CONFIDENCE_LEVEL, Figure, Table, calibrated
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


def pooled(made: tagging.Contest) -> Pooled:
    """For each tag a row a token, one after another."""
    y = made.all_answers("HMM")[0]
    q = {s.name: made.all_answers(s.name)[1] for s in made.sides}
    group = np.repeat(made.sentence, len(made.tags))
    calibrations, pairs = compare_rows(y, q, group, CONFIDENCE_LEVEL, None)
    return Pooled(y, q, group, dict(zip(q, calibrations, strict=True)), pairs[0])


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Two curves, the errors as we and as the paper estimate them: with the paper's pseudocount, with the one of best
    accuracy on dev, and where both models also know word classes."""
    tables, rows, found = [], [], {}
    for kind in KINDS:
        given = PSEUDOCOUNT if kind == PAPER else None
        made, shop, features, n = tagging.shop_and_contest(settings, work, classes=kind == CLASSES, pseudocount=given)
        work("calibration over all tags")
        p = pooled(made)
        for name, c in p.calibrations.items():
            alg = calibration_interval(p.y, p.q[name], settings["bin_size"], settings["samples"], rng)
            raw = calibration_error(p.y, p.q[name], settings["bin_size"])
            high = height(adaptive_bins(p.y, p.q[name], settings["bin_size"]))
            interval = f"[{alg.low:.4f}, {alg.high:.4f}]"
            rows.append((kind, name, shown(c.error), raw, interval, f"{high.value:+.3f}", side(high), leaning(c)))
        found[kind] = made, p
        t = tagging.taggers_table(made)
        tables.append(Table(f"taggers-{KINDS.index(kind)}", f"{t.caption}: {kind}", t.columns, t.rows))
        if kind == PAPER:
            tried = shop.tried(features, n, settings["l2"])
            tables.append(tagging.tried_table(tried, features, n, "all tags"))
            hmms = shop.tried_pseudocounts()
            tables.append(tagging.pseudocount_table(hmms, "all tags"))
    made, p = found[PAPER]
    alg_1 = f"Alg. 1, β = {settings['bin_size']:,}"
    columns = ("HMM", "model", "RMS error [95%]", alg_1, "Alg. 2", "curve's mean height", "by §3.3", "by its slope")
    errors = Table("errors", "All tags of all tokens", columns, tuple(rows))
    drawn = {n: calibrated(p.y, q, p.group, settings["bin_size"]) for n, q in p.q.items()}
    title = f"All {len(made.tags)} tags of {len(made.gold):,} tokens"
    return {
        "findings": (lower(found), underconfident(made, hmms), overconfident(made, tried), tagging.regulariser(tried)),
        "figures": (Figure("3", f"{title}: HMM (pseudocount 1) and CRF.", curve_panels(drawn, title=title)),),
        "tables": (errors, *tables),
        "notes": notes_on("figure-3"),
    }


PSEUDOCOUNT = 1.0  # the paper's
PAPER, TUNED, CLASSES = "pseudocount 1", "pseudocount by dev", "with word classes"
KINDS = (PAPER, TUNED, CLASSES)


def lower(found: dict[str, tuple[tagging.Contest, Pooled]]) -> Finding:
    """The paper's claim on the size of the error."""
    made, p = found[PAPER]
    hmm, crf = (p.calibrations[n].error for n in ("HMM", "CRF"))
    d = -p.pair.error_squared  # HMM less CRF
    accuracy = {s.name: s.accuracy for s in made.sides}
    others = "; ".join(
        f"{kind} HMM {shown(o.calibrations['HMM'].error)}, CRF {shown(o.calibrations['CRF'].error)}, {-o.pair.error_squared!r}"
        for kind, (_, o) in found.items()
        if kind != PAPER
    )
    return finding_on("figure-3/lower", judged(d), hmm=hmm, crf=crf, d=d, accuracy=accuracy, others=others)


def _confidence(made: tagging.Contest, model: str) -> dict[str, Any]:
    """A model's mean probability of the predicted tag less its accuracy, and in words."""
    gap = next(s.confidence_gap for s in made.sides if s.name == model)
    return {"gap": gap, "confidence": side(gap, "overconfident", "underconfident"), "within": 100 * tagging.NEAR}


def underconfident(made: tagging.Contest, hmms: Sequence[tagging.Tried]) -> Finding:
    """The HMM's curve, at the paper's pseudocount and at others."""
    its = next(t for t in hmms if t.setting == PSEUDOCOUNT)
    best, near = max(hmms, key=lambda t: t.on_dev), tagging.near_best(hmms)
    more = {"tried": len(hmms), "n_near": len(near), "sides": " or ".join(sorted({t.side for t in near}))}
    verdict = judged(its.height)
    return finding_on("figure-3/underconfident", verdict, more, its=its, best=best, **_confidence(made, "HMM"))


def overconfident(made: tagging.Contest, tried: Sequence[tagging.Tried]) -> Finding:
    """The CRF's curve, and whether it hangs on a tagging.regulariser that accuracy hardly tells from others."""
    best, near = max(tried, key=lambda t: t.on_dev), tagging.near_best(tried)
    by = "; ".join(f"l2 = {t.setting:g} {t.height.value:+.3f}" for t in near) + "."
    verdict = judged(best.height, above=False)
    if len({t.height.value > 0 for t in near}) > 1:
        verdict, by = "undecided", by[:-1] + ": the side hangs on the tuning."
    return finding_on("figure-3/overconfident", verdict, best=best, by=by, **_confidence(made, "CRF"))
