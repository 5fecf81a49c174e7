"""Figure 4b: HMM against CRF, pairs of tags of two consecutive words."""

from typing import Any

import numpy as np

from howsure.experiments import tagging
from howsure.experiments.findings import Finding, finding_on, held, notes_on
from howsure.experiments.paper.figure_4a import MODELS, average_finding, contests
from howsure.experiments.questions import Average, Count, Question, error_records
from howsure.experiments.registry import Work
from howsure.experiments.result import Figure, short
from howsure.experiments.tagging import Contest
from howsure.plots.panels import error_dots, error_scatter
from howsure.posteriors.chain import top_pairs


def settings(quick: bool) -> dict[str, Any]:
    """As for the other tagging figures; the paper's numbers of pairs."""
    some = {"samples": 500, "top": [3, 10]} if quick else {"samples": 10_000, "top": [5, 100]}
    return {**tagging.settings(quick), "bin_size": 5_000, **some}


def pair_questions(made: Contest, most: int) -> list[Question]:
    """The commonest pairs of gold tags in the test text, asked wherever two tokens follow each other."""
    first = made.sides[0].posterior
    pairs = top_pairs(first, first.codes(list(made.tags))[made.gold], most)
    place = {t: i for i, t in enumerate(made.tags)}
    asked = []
    for a, b in pairs:
        q, at = {}, first.tags_are(a, b)
        for side in made.sides:
            known = {a, b} <= set(side.posterior.tags)
            q[side.name] = np.minimum(side.posterior.tags_are(a, b).y_prob, 1.0) if known else np.zeros(len(at))
        y = (made.gold[at.start] == place[a]) & (made.gold[at.start + 1] == place[b])
        group = np.unique(at.sentence, return_inverse=True)[1]
        asked.append(Question(f"{a} {b}", y.astype(np.uint8), q, group))
    return asked


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Errors on the commonest pairs, their averages, and how often either model is better."""
    few, many = settings["top"]
    _, answers, means, counts, tables = contests(
        settings, rng, work, ("pairs", "The commonest pairs"), lambda c: pair_questions(c, many), (few, many)
    )
    title = f"Calibration error on the {few} commonest pairs, and averages"
    drawn = error_dots(error_records(answers[:few], means, MODELS), title=title, models=MODELS)
    every = f"Calibration error on the {len(answers)} commonest pairs"
    points: list[dict[str, Any]] = []
    for a in answers:
        side = f"{MODELS[a.better]} significantly better" if a.significant else "neither"
        errors = zip(("first", "second"), (short(e.value) for e in a.errors), strict=True)
        points.append({"question": a.name, "side": side, **dict(errors)})
    return {
        "findings": findings(means, *counts),
        "figures": (
            Figure("4b", f"{title}.", drawn),
            Figure("4b-all", f"{every}.", error_scatter(points, title=every, models=MODELS)),
        ),
        "tables": tables,
        "notes": notes_on("figure-4b"),
    }


def findings(means: list[Average], count: Count, with_classes: Count) -> tuple[Finding, ...]:
    """The paper's claims on pairs."""
    verdict = held(0 < count.first < count.n / 2)
    better = finding_on("figure-4b/better", verdict, count=count, more=with_classes)
    return better, average_finding(means, "pairs", "figure-4b/average")
