"""The tables of the course notes: evaluation, agreement, significance and n-gram models, with the public verbs."""

from typing import Any

import numpy as np

from howsure.experiments.course import models as notes
from howsure.experiments.course.models import model_findings
from howsure.experiments.findings import Finding, finding_on, held, notes_on, shown
from howsure.experiments.registry import Work
from howsure.experiments.result import Table
from howsure.kernels.cells import Floats
from howsure.verbs.agree import agree
from howsure.verbs.compare import compare
from howsure.verbs.score import score


def settings(quick: bool) -> dict[str, Any]:
    """Resamples of the bootstrap, and sentences of the corpus that perplexity is taken on."""
    return {"quick": quick, "samples": 2_000 if quick else 100_000, "sentences": 1_000 if quick else None}


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Each number of the notes beside the same from `score`, `agree`, `compare` and `lm`."""
    work("scores and agreement")
    scored, averages = _averages()
    found = [averages, _accuracy(), _kappa(), _significance(settings["samples"], rng)]
    work("language models")
    more, tables, on = model_findings(settings, work)
    return {
        "findings": (*found, *more),
        "tables": (scored, *tables),
        "notes": notes_on("course"),
        "data": f"numbers printed in the notes, the sixty stories that ship{on}",
    }


def _averages() -> tuple[Table, Finding]:
    """Precision and recall of the three kinds of mail (§2.3)."""
    pairs = [
        (gold, system)
        for i, system in enumerate(notes.CLASSES)
        for j, gold in enumerate(notes.CLASSES)
        for _ in range(notes.CONFUSION[i][j])
    ]
    made = score([g for g, _ in pairs], [s for _, s in pairs])
    by: dict[str, Any] = {c.label: c for c in made.classes}
    values = [by[c].precision.value for c in notes.CLASSES]
    total, right = len(pairs), sum(c.hit for c in made.classes)
    pooled = (right, total - right, total - right, (len(by) - 1) * total - (total - right))
    means = {"macro": ("0.60", made.macro), "micro": ("0.73", made.micro)}
    macro, micro = made.macro.precision.value, made.micro.precision.value
    same = [f"{v:.2f}" for v in values] == list(notes.PRECISION) and pooled == notes.POOLED
    same = same and all(f"{e.precision.value:.2f}" == printed for printed, e in means.values())
    shown_of = {c: (printed, by[c]) for c, printed in zip(notes.CLASSES, notes.PRECISION, strict=True)} | means
    rows = tuple((n, printed, shown(e.precision, 3), shown(e.recall, 3)) for n, (printed, e) in shown_of.items())
    columns = ("class", "notes", "precision [95%]", "recall [95%]")
    found = finding_on(
        "course/averages",
        held(same, "corrected"),
        {"pooled": pooled, "by": by, "made": made, "macro": macro, "micro": micro},
        by_class=", ".join(f"{v:.2f}".lstrip("0") for v in values),
    )
    return Table("mail", "Precision of three kinds of mail", columns, rows), found


def _accuracy() -> Finding:
    """A classifier that never says cancer (§2.2)."""
    made = score(["cancer"] + ["not"] * 99, ["not"] * 100)
    recall = next(c.recall for c in made.classes if c.label == "cancer")
    found = 0.0 if recall is None else recall.value
    best = max(b.accuracy for b in made.baselines)
    right = held(round(made.accuracy.value, 10) == 0.99 and found == 0, "corrected")
    return finding_on("course/accuracy", right, found=found, best=best, made=made)


def _kappa() -> Finding:
    """Two annotators who say noun nine times in ten (§1.2)."""
    table = {"noun": (81, 9), "other": (9, 1)}  # independent of one another
    first = [a for a, row in table.items() for n in row for _ in range(n)]
    second = [b for row in table.values() for b, n in zip(table, row, strict=True) for _ in range(n)]
    kappa = agree({"a": first, "b": second}, annotators="a,b").pairs[0].kappa
    chance = float(kappa.expected or 0.0)
    verdict = held(abs(chance - 0.81) < 0.005, "corrected")
    return finding_on("course/kappa", verdict, kappa=float(kappa.value or 0.0), chance=chance)


def exact_bootstrap() -> tuple[float, float]:
    """P(δ* ≥ δ) and P(δ* ≥ 2δ) over all resamples of the ten items: ten draws of -1, 0 or +1, convolved."""
    n = notes.BOTH + notes.ONLY_A + notes.ONLY_B + notes.NEITHER
    step = np.array([notes.ONLY_B, notes.BOTH + notes.NEITHER, notes.ONLY_A]) / n
    law: Floats = np.ones(1)
    for _ in range(n):
        law = np.convolve(law, step)
    delta = notes.ONLY_A - notes.ONLY_B
    return float(law[n + delta :].sum()), float(law[n + 2 * delta :].sum())


def _significance(samples: int, rng: np.random.Generator) -> Finding:
    """The paired bootstrap of ten items (§2.4)."""
    shape = (notes.BOTH, notes.ONLY_A, notes.ONLY_B, notes.NEITHER)
    a = np.repeat([1, 1, 0, 0], shape)
    b = np.repeat([1, 0, 1, 0], shape)
    made: Any = compare(np.ones(len(a), dtype=int), y_preds={"A": a, "B": b}, samples=samples, rng=rng)
    duel = made.duels[0]
    naive, exact = exact_bootstrap()
    p = duel.bootstrap.p_one_sided
    mcnemar = next(t.p_value for t in duel.tests if t.name == "McNemar, exact")
    verdict = held(abs(p - exact) < 5 * np.sqrt(exact * (1 - exact) / samples) and naive > 0.4)
    ours = [f"{x:.2f}".lstrip("0") for x in (a.mean(), b.mean(), duel.difference.value, p, naive)]
    numbers = {"naive": naive, "exact": exact, "p": p, "samples": samples, "mcnemar": mcnemar, "duel": duel}
    return finding_on("course/significance", verdict, numbers, ours=ours)
