"""Figure 3: HMM against CRF of the same accuracy, every tag of every token asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure.calibration.comparing.result import Pair, compare_rows
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.paper import adaptive_bins, calibration_error, calibration_interval
from howsure.calibration.result import Calibration
from howsure.experiments import tagging
from howsure.experiments.registry import Work
from howsure.experiments.result import (
    CONFIDENCE_LEVEL,
    Figure,
    Finding,
    Table,
    calibrated,
    finding_on,
    height,
    judged,
    leaning,
    shown,
    side,
)
from howsure.experiments.tagging import (
    NEAR,
    Contest,
    Tried,
    near_best,
    pseudocount_table,
    regulariser,
    taggers_table,
    tried_table,
)
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
    """Two curves, the errors as we and as the paper estimate them: with the paper's pseudocount, with the one of best
    accuracy on dev, and where both models also know word classes."""
    tables, rows, found = [], [], {}
    for kind in KINDS:
        pseudocount = PSEUDOCOUNT if kind == PAPER else None
        made, shop, features, n = tagging.shop_and_contest(
            settings, work, classes=kind == CLASSES, pseudocount=pseudocount
        )
        work("calibration over all tags")
        p = pooled(made)
        for name, c in p.calibrations.items():
            alg = calibration_interval(p.y, p.q[name], settings["bin_size"], settings["samples"], rng)
            bins = adaptive_bins(p.y, p.q[name], settings["bin_size"])
            raw = calibration_error(p.y, p.q[name], settings["bin_size"])
            high = height(bins)
            interval = f"[{alg.low:.4f}, {alg.high:.4f}]"
            rows.append((kind, name, shown(c.error), raw, interval, f"{high.value:+.3f}", side(high), leaning(c)))
        found[kind] = made, p
        tables.append(_renamed(taggers_table(made), kind))
        if kind == PAPER:
            tried = shop.tried(features, n, settings["l2"])
            tables.append(tried_table(tried, features, n, "all tags"))
            counts = settings["pseudocounts"]
            hmms = [shop.measured(a, m) for a, m in zip(counts, shop.hmms(rare=0, pseudocounts=counts), strict=True)]
            tables.append(pseudocount_table(hmms, "all tags"))
    made, p = found[PAPER]
    columns = (
        "HMM",
        "model",
        "RMS error [95%]",
        f"Alg. 1, β = {settings['bin_size']:,}",
        "Alg. 2",
        "curve's mean height",
    )
    errors = Table("errors", "All tags of all tokens", (*columns, "by §3.3", "by its slope"), tuple(rows))
    drawn = {n: calibrated(p.y, q, p.group, settings["bin_size"]) for n, q in p.q.items()}
    title = f"All {len(made.tags)} tags of {len(made.gold):,} tokens"
    return {
        "findings": (lower(found), underconfident(made, hmms), overconfident(made, tried), regulariser(tried)),
        "figures": (Figure("3", f"{title}: HMM (pseudocount 1) and CRF.", curve_panels(drawn, title=title)),),
        "tables": (errors, *tables),
        "notes": (
            "Both models know words only, as in the paper; where it says so they also know a rare or unknown word by its shape and "
            "ending. The CRF has as many training sentences, spread evenly over the text, as give it the HMM's accuracy on dev.",
            "The curve's mean height is ∫ (p̂ - q̂) dq over the points of Algorithm 1: above 0 the curve is above the diagonal, which the paper's §3.3 "
            "calls underconfident. By its slope (of y on q; below 1 is too extreme) is our word for it.",
        ),
    }


PSEUDOCOUNT = 1.0  # the paper's
PAPER, TUNED, CLASSES = "pseudocount 1", "pseudocount by dev", "with word classes"
KINDS = (PAPER, TUNED, CLASSES)


def _renamed(t: Table, kind: str) -> Table:
    return Table(f"taggers-{KINDS.index(kind)}", f"{t.caption}: {kind}", t.columns, t.rows)


def lower(found: dict[str, tuple[Contest, Pooled]]) -> Finding:
    """The paper's claim on the size of the error."""
    made, p = found[PAPER]
    errors = {n: c.error for n, c in p.calibrations.items()}
    hmm, crf = errors["HMM"], errors["CRF"]
    assert hmm is not None
    assert crf is not None
    d = -p.pair.error_squared  # HMM less CRF
    accuracies = {s.name: s.accuracy for s in made.sides}
    others = "; ".join(
        f"{kind} HMM {shown(o.calibrations['HMM'].error)}, CRF {shown(o.calibrations['CRF'].error)}, {-o.pair.error_squared!r}"
        for kind, (_, o) in found.items()
        if kind != PAPER
    )
    return finding_on(
        "figure-3/lower",
        judged(d.low, d.high),
        f"With the paper's pseudocount of 1: HMM {shown(hmm)}, CRF {shown(crf)}; difference of squared calibration errors {d!r}, sentences counted together; "
        f"accuracy HMM {shown(accuracies['HMM'])}, CRF {shown(accuracies['CRF'])}. Otherwise: {others}.",
        {
            "HMM": hmm.value,
            "CRF": crf.value,
            "difference of squares": d.value,
            "accuracy HMM": accuracies["HMM"].value,
            "accuracy CRF": accuracies["CRF"].value,
        },
        f"accuracy {100 * accuracies['HMM'].value:.1f}% and {100 * accuracies['CRF'].value:.1f}%; error {hmm.value:.4f} and {crf.value:.4f}",
    )


def underconfident(made: Contest, hmms: Sequence[Tried]) -> Finding:
    """The HMM's curve, at the paper's pseudocount and at others."""
    its = next(t for t in hmms if t.setting == PSEUDOCOUNT)
    gap = next(s.confidence_gap for s in made.sides if s.name == "HMM")
    best = max(hmms, key=lambda t: t.on_dev)
    near = near_best(hmms)
    sides = sorted({side(t.height) for t in near})
    return finding_on(
        "figure-3/underconfident",
        judged(its.height.low, its.height.high),
        f"With the paper's pseudocount of 1 its curve lies on average {shown(its.height, 3)} above the diagonal, {side(its.height)} by §3.3; the predicted tag's "
        f"probability less the accuracy is {shown(gap)}, {confidence(gap)}. It is the pseudocount that decides: of {len(hmms)} tried, {len(near)} are within "
        f"{100 * NEAR:g}% of the best accuracy on dev and {' or '.join(sides)}; the best there, {best.setting:g}, is {side(best.height)} "
        f"({best.height.value:+.3f}).",
        {"height": its.height.value, "confidence less accuracy": gap.value, "height, best on dev": best.height.value},
        f"{side(its.height)} with pseudocount 1 (height {its.height.value:+.3f}, confidence less accuracy {gap.value:+.3f}); {side(best.height)} with {best.setting:g}",
    )


def overconfident(made: Contest, tried: Sequence[Tried]) -> Finding:
    """The CRF's curve, and whether it hangs on a regulariser that accuracy hardly tells from others."""
    best = max(tried, key=lambda t: t.on_dev)
    near = near_best(tried)
    signs = {t.height.value > 0 for t in near}
    gap = next(s.confidence_gap for s in made.sides if s.name == "CRF")
    by = "; ".join(f"l2 = {t.setting:g} {t.height.value:+.3f}" for t in near)
    return finding_on(
        "figure-3/overconfident",
        judged(best.height.low, best.height.high, above=False) if len(signs) == 1 else "undecided",
        f"Its curve lies on average {shown(best.height, 3)} above the diagonal (below 0: below it), {side(best.height)} by §3.3; the predicted tag's probability less "
        f"the accuracy is {shown(gap)}, {confidence(gap)}. Among regularisers within {100 * NEAR:g}% of the best accuracy on dev the height is {by}"
        + ("." if len(signs) == 1 else ": the side hangs on the tuning."),
        {"height": best.height.value, "confidence less accuracy": gap.value},
        f"{side(best.height)} (height {best.height.value:+.3f}, confidence less accuracy {gap.value:+.3f})",
    )


def confidence(gap: Estimate) -> str:
    """Of the mean probability of the predicted tag less accuracy, in words."""
    if gap.low is None or gap.high is None or gap.low <= 0 <= gap.high:
        return "neither over- nor underconfident"
    return "overconfident" if gap.value > 0 else "underconfident"
