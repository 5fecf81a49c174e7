"""Figures 4.1-4.6 of the thesis: HMM, CRF-Basic and CRF-Advanced on newswire and on tweets.

Asked is whether a word has the commonest kind of tag: NN in newswire, V in tweets. The HMM is fitted by maximum
likelihood and the CRFs with L2; all are trained on the whole training text, so that their accuracies differ.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from howsure.calibration.comparing.difference import mean_difference
from howsure.calibration.comparing.result import Pair, compare_rows
from howsure.calibration.paper import calibration_error, calibration_mse
from howsure.calibration.result import Calibration
from howsure.experiments import tagging
from howsure.experiments.findings import Finding, Verdict, finding_on, held, judged, notes_on, shown
from howsure.experiments.registry import Work
from howsure.experiments.result import CONFIDENCE_LEVEL, Figure, Table
from howsure.models.taggers.crf import Crf
from howsure.models.taggers.hmm import Hmm
from howsure.plots.panels import curve_panels

HMM, BASIC, ADVANCED = "HMM", "CRF-Basic", "CRF-Advanced"
NUMBERS = {"thesis-wsj": ("4.1", "4.2", "4.3"), "thesis-tweets": ("4.4", "4.5", "4.6")}
TAGS = {"thesis-wsj": "NN", "thesis-tweets": "V"}


def settings(quick: bool) -> dict[str, Any]:
    """What is tried on dev; the thesis's bins of √n rows."""
    l2 = {"basic": [0.1, 0.3, 0.03, 0.01, 0.003], "advanced": [0.1, 0.3, 0.03]}
    full = {"sentences": None, "iterations": 100, "l2": l2}
    small = {"sentences": [250, 100, 200], "iterations": 20, "l2": {"basic": [0.1], "advanced": [0.1]}}
    return {"quick": quick, **(small if quick else full)}


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Three curves, their errors and accuracies, and the thesis's claims."""
    name = settings["experiment"]
    tag = TAGS[name]
    shop = tagging.Workshop(settings, work)
    made = trained(shop)
    n = shop.train.n_sentences
    work("calibration")
    tried = {f: shop.tried(f, n, l2s, tag) for f, l2s in settings["l2"].items()}
    y, q = made.answers(tag)
    compared, pairs = compare_rows(y, q, made.sentence, CONFIDENCE_LEVEL, None)
    calibrations = dict(zip(q, compared, strict=True))
    by = {(p.a, p.b): p for p in pairs}
    rows = []
    size = max(2, round(np.sqrt(len(y))))
    for side, c in zip(made.sides, compared, strict=True):
        p = side.q[:, made.tags.index(tag)]
        scores = (calibration_error(y, p, size), calibration_mse(y, p, size), float(np.var(p)), c.brier.value)
        rows.append((side.name, shown(side.accuracy), shown(c.error), *scores))
    columns = ("model", "accuracy [95%]", "RMS error [95%]", "Alg. 1, β = √n", "MSE score", "variance of q", "Brier")
    figures = []
    for number, s in zip(NUMBERS[name], made.sides, strict=True):
        caption = f'{s.name}: "is this word {tag}?", accuracy {shown(s.accuracy, 3)}.'
        drawn = curve_panels({s.name: calibrations[s.name]}, title=f"{s.name}, {tag}")
        figures.append(Figure(number, caption, drawn))
    return {
        "findings": (wsj_findings if name == "thesis-wsj" else tweet_findings)(made, calibrations, by, tried["basic"]),
        "figures": tuple(figures),
        "tables": (
            Table("models", f'"Is this word {tag}?"', columns, tuple(rows)),
            tagging.taggers_table(made),
            *(tagging.tried_table(t, f, n, f'"is this word {tag}?"') for f, t in tried.items()),
        ),
        "notes": notes_on("thesis", tried=tagging.said_of(tried["basic"])[0], size=size),
    }


def trained(shop: tagging.Workshop) -> tagging.Contest:
    """The three taggers on the test text."""
    n = shop.train.n_sentences
    hmm = shop.hmm(rare=0, pseudocounts=[0.0])
    taggers: dict[str, tuple[Hmm | Crf, str]] = {HMM: (hmm, f"maximum likelihood, {n:,} sentences")}
    for name, features in ((BASIC, "basic"), (ADVANCED, "advanced")):
        crf = shop.best_crf(features, n, shop.settings["l2"][features])
        taggers[name] = (crf, f"l2 = {crf.settings['l2']:g}, {n:,} sentences")
    shop.work("posteriors on the test text")
    return tagging.contest(shop.train, shop.test, taggers)


Calibrations = dict[str, Calibration]
Pairs = dict[tuple[str, str], Pair]


def _errors(calibrations: Calibrations) -> dict[str, float]:
    return {n: c.error.value for n, c in calibrations.items() if c.error is not None}


def _basic(calibrations: Calibrations, pair: Pair, claim: str, tried: Sequence[tagging.Tried]) -> Finding:
    """The claim is undecided where regularisers that accuracy on dev hardly tells apart have both answers."""
    near, (hmm, basic) = tagging.near_best(tried), (calibrations[n].error for n in (HMM, BASIC))
    sides = {hmm is not None and t.error.value < hmm.value for t in near}
    settings = ", ".join(f"l2 = {t.setting:g} (accuracy on dev {t.on_dev:.4f}) {shown(t.error)}" for t in near)
    hangs = f" That hangs on the regulariser: {settings}." if len(sides) > 1 else ""
    v, d = _errors(calibrations), -pair.error_squared  # HMM less CRF-Basic
    numbers = {HMM: v[HMM], BASIC: v[BASIC], "difference of squares": d.value}
    if v[BASIC]:
        numbers["ratio"] = v[HMM] / v[BASIC]
    verdict: Verdict = "undecided" if hangs else judged(d)
    return finding_on(claim, verdict, numbers=numbers, hmm=hmm, basic=basic, d=d, hangs=hangs)


def wsj_findings(
    made: tagging.Contest, of: Calibrations, pairs: Pairs, tried: Sequence[tagging.Tried]
) -> tuple[Finding, ...]:
    """What the thesis says of newswire."""
    right = next(s.accuracy for s in made.sides if s.name == ADVANCED)
    d, from_hmm = (-pairs[n, ADVANCED].error_squared for n in (BASIC, HMM))
    apart = {s.name: (s.q[:, (k := made.tags.index("NN"))] - s.q[:, k].mean()) ** 2 for s in made.sides}
    spread = {n: float(a.mean()) for n, a in apart.items()}
    wider = mean_difference(apart[BASIC] - apart[HMM], made.sentence, CONFIDENCE_LEVEL)
    advanced, errors = of[ADVANCED], _errors(of)
    good = held(abs(right.value - 0.96) < 0.015 and errors[ADVANCED] < 0.03)
    return (
        finding_on("thesis/slip", "corrected", numbers={"0.035 / 0.019": 0.035 / 0.019}),
        _basic(of, pairs[HMM, BASIC], "thesis/basic-wsj", tried),
        finding_on("thesis/sharper", judged(wider), wider=wider, spread=spread, of=of),
        finding_on("thesis/best", good, right=right, advanced=advanced, d=d, from_hmm=from_hmm, errors=errors),
    )


def tweet_findings(
    made: tagging.Contest, of: Calibrations, pairs: Pairs, tried: Sequence[tagging.Tried]
) -> tuple[Finding, ...]:
    """What the thesis says of tweets."""
    right = next(s.accuracy for s in made.sides if s.name == ADVANCED)
    d, advanced, errors = -pairs[BASIC, ADVANCED].error_squared, of[ADVANCED], _errors(of)
    p = "" if advanced.p_value is None else f"; the test of perfect calibration has p = {advanced.p_value:.2g}"
    good = held(abs(right.value - 0.87) < 0.015 and errors[ADVANCED] < 0.05)
    return (
        _basic(of, pairs[HMM, BASIC], "thesis/basic-tweets", tried),
        finding_on("thesis/half", judged(d), basic=of[BASIC], advanced=advanced, d=d, errors=errors),
        finding_on("thesis/reliable", good, right=right, advanced=advanced, p=p, errors=errors),
    )
