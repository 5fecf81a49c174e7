"""Two models asked the same yes/no questions: on which is either better calibrated, and how surely?

For each question the difference of squared calibration errors has a cluster-robust test (sentences are what is independent), the
p-values adjusted for the number of questions (Benjamini-Hochberg). Beside it stands what the paper did: the error of
Algorithm 1 with the interval of Algorithm 2, which takes tokens for independent; two models differ where the intervals
do not overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.comparing.difference import Difference
from howsure.calibration.comparing.result import HeldRows, compare_rows, squared_error_gap
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.estimation.perfection import benjamini_hochberg
from howsure.calibration.groups.estimates import student_quantile
from howsure.calibration.paper import calibration_interval
from howsure.experiments.findings import shown
from howsure.experiments.registry import Work
from howsure.experiments.result import CONFIDENCE_LEVEL, Table, error_of, short
from howsure.kernels.cells import Floats, Ints

BLOCKS = 20  # of the jackknife
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Rows of a yes/no question: what is true, two models' probabilities, and the sentence, numbered from 0."""

    name: str
    y: NDArray[np.uint8] = field(repr=False)
    q: dict[str, Floats] = field(repr=False)
    group: Ints = field(repr=False)


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with each model's error, the paper's version of it, and the difference (first less second)."""

    name: str
    positives: int
    errors: tuple[Estimate, Estimate]
    paper: tuple[Estimate, Estimate]
    difference: Difference
    adjusted: float | None = None

    @property
    def better(self) -> int:
        """0 or 1, the model of smaller squared calibration error; the same rows in both is 1."""
        return int(self.difference.value >= 0)

    @property
    def significant(self) -> bool:
        """By our test."""
        return self.adjusted is not None and self.adjusted < SIGNIFICANT

    @property
    def paper_better(self) -> int:
        """By Algorithm 1."""
        return int(self.paper[0].value >= self.paper[1].value)

    @property
    def paper_significant(self) -> bool:
        """Algorithm 2's intervals do not overlap."""
        (low, high), (other_low, other_high) = (p.limits for p in self.paper)
        return max(low, other_low) > min(high, other_high)


def answered(
    questions: list[Question], bin_size: int, n_samples: int, rng: np.random.Generator, work: Work
) -> tuple[Answered, ...]:
    """Every question, p-values adjusted for their number."""
    made = []
    for number, x in enumerate(questions, 1):
        work(f"question {number} of {len(questions)}: {x.name}")
        calibrations, pairs = compare_rows(x.y, x.q, x.group, CONFIDENCE_LEVEL, None)
        a, b = map(error_of, calibrations)
        first, second = (calibration_interval(x.y, q, bin_size, n_samples, rng) for q in x.q.values())
        made.append(Answered(x.name, int(x.y.sum()), (a, b), (first, second), -pairs[0].error_squared))
    adjusted = benjamini_hochberg([m.difference.p_value for m in made])
    return tuple(replace(m, adjusted=p) for m, p in zip(made, adjusted, strict=True))


@dataclass(frozen=True, slots=True)
class Average:
    """Mean over the commonest questions: each model's RMS error, the paper's, and the difference of squared calibration errors."""

    most: int
    errors: tuple[float, float]
    paper: tuple[float, float]
    difference: Estimate

    @property
    def better(self) -> int | None:
        """The model that is better calibrated, if the interval leaves out 0."""
        low, high = self.difference.limits
        return 0 if high < 0 else 1 if low > 0 else None


def averages(
    questions: list[Question], answers: tuple[Answered, ...], most: Sequence[int], work: Work
) -> list[Average]:
    """The mean over the first questions, for each number in `most`.

    The interval is a jackknife over blocks of sentences, each sentence's rows in all questions left out together.
    """
    without = np.zeros((max(most), BLOCKS))
    for k, x in enumerate(questions[: max(most)]):
        work(f"the interval of the average, question {k + 1} of {len(without)}")
        block = x.group % BLOCKS
        for b in range(BLOCKS):
            kept = np.flatnonzero(block != b)
            y, qs = x.y[kept], tuple(np.ascontiguousarray(p[kept]) for p in x.q.values())
            without[k, b] = squared_error_gap(HeldRows(tuple(x.q), (y, y), qs, x.group[kept].astype(np.uint64)))
    made = []
    for n in (min(m, len(questions)) for m in most):
        full = float(np.mean([a.difference.value for a in answers[:n]]))
        left = without[:n].mean(axis=0)
        se = sqrt((BLOCKS - 1) / BLOCKS * float(np.sum((left - left.mean()) ** 2)))
        half = student_quantile(0.5 + CONFIDENCE_LEVEL / 2, BLOCKS - 1) * se
        means = _means([a.errors for a in answers[:n]]), _means([a.paper for a in answers[:n]])
        made.append(Average(n, *means, Estimate(full, full - half, full + half)))
    return made


def _means(pairs: list[tuple[Estimate, Estimate]]) -> tuple[float, float]:
    return float(np.mean([a.value for a, _ in pairs])), float(np.mean([b.value for _, b in pairs]))


@dataclass(frozen=True, slots=True)
class Count:
    """On how many questions the second model is better, the first is, and significantly: by us, and as in the paper."""

    n: int
    first: int
    second: int
    first_significant: int
    second_significant: int
    paper_first: int
    paper_second: int
    paper_first_significant: int
    paper_second_significant: int


def counted(answers: tuple[Answered, ...]) -> Count:
    """The answers in numbers."""
    ours, paper = [(a.better, a.significant) for a in answers], [(a.paper_better, a.paper_significant) for a in answers]
    kinds = product((ours, paper), (False, True), (0, 1))
    counts = (sum(model == m and (sure or not only) for m, sure in by) for by, only, model in kinds)
    return Count(len(answers), *counts)


def answers_table(name: str, caption: str, models: tuple[str, str], answers: tuple[Answered, ...]) -> Table:
    """A row for each question."""
    rows = []
    for a in answers:
        p = "–" if a.adjusted is None else float(f"{a.adjusted:.2g}")
        ours = a.name, a.positives, *map(shown, a.errors), f"{a.difference.value:+.2e}", p
        rows.append((*ours, *(f"{x.value:.4f}" for x in a.paper)))
    first, second = models
    columns = ("question", "true", f"{first} [95%]", f"{second} [95%]", "difference of squares", "adjusted p")
    return Table(name, caption, (*columns, f"{first}, Alg. 2", f"{second}, Alg. 2"), tuple(rows))


def error_records(answers: tuple[Answered, ...], means: list[Average], models: tuple[str, str]) -> list[dict[str, Any]]:
    """For `error_dots`: a record for each question and model, averages behind."""
    made: list[dict[str, Any]] = []
    for a in answers:
        for m, e in zip(models, a.errors, strict=True):
            limits = {"low": short(e.low or 0.0), "high": short(e.value if e.high is None else e.high)}
            made.append({"question": a.name, "model": m, "error": short(e.value), **limits})
    for v in means:
        shown = zip(models, v.errors, strict=True)
        made += [{"question": f"mean of {v.most}", "model": m, "error": short(e)} for m, e in shown]
    return made
