"""People's answers as the test of event probabilities: a stratified sample, kept on disk, weighted by its design.

Strata are ranges of probability, with one for documents where the rules found nothing. The bias mean(q - y) over all
documents is Σ_h W_h (mean of q - y in h), with the finite-population variance of stratified sampling.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from howsure._result import Result, drawn_by
from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.events.storage import read_table
from howsure.files import write_whole

EDGES = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)
NORMAL = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Question:
    """Does this document describe the event? Asked of a document drawn from stratum `stratum`."""

    id: str
    actor: str
    probability: float
    stratum: int


@dataclass(frozen=True, slots=True)
class Labelled(Result):
    """How calibrated the probabilities are, from the answers so far.

    `gap` is mean q - mean y over all documents, with a 95% interval; `strata` hold (from, to, documents, labelled,
    mean q, share of yes).
    """

    SHOWN = "verdict actor n_documents n_labelled gap low high expected estimated estimated_low estimated_high rms_error strata"

    actor: str
    n_documents: int
    n_labelled: int
    gap: float
    low: float
    high: float
    expected: float
    estimated: float
    estimated_low: float
    estimated_high: float
    rms_error: float
    strata: tuple[dict[str, Any], ...]
    name: str = ""  # of the actor

    def __repr__(self) -> str:
        return f"Labelled({self.n_labelled} of {self.n_documents} documents: gap {self.gap:+.3f} [{self.low:+.3f}, {self.high:+.3f}])"

    @property
    def verdict(self) -> str:
        """In words, first."""
        if self.low <= 0.0 <= self.high:
            said = "no clear bias"
        else:
            said = "too high" if self.gap > 0 else "too low"
        return (
            f"{said}: the probabilities expect {self.expected:.1f} documents, the answers point to {self.estimated:.1f} "
            f"(95% between {self.estimated_low:.1f} and {self.estimated_high:.1f})."
        )

    def table(self) -> list[dict[str, Any]]:
        """One row a stratum."""
        return list(self.strata)

    to_text = drawn_by("howsure.report.text.exploration.labelled_text")


def stratum_of(probability: float) -> int:
    """0 for nothing found, then by ranges of probability."""
    return 0 if probability <= 0.0 else int(np.searchsorted(EDGES[1:-1], probability, side="right")) + 1


def population(found: Exploration, actor: str) -> list[tuple[str, float]]:
    """All documents that could be used, with the actor's probability in each."""
    code = found.code(actor)
    p = {h.document: h.probability for h in found.hits.get(code, [])}
    rows = read_table(found.folder, "documents", ["id", "failure"])
    return [(r["id"], p.get(r["id"], 0.0)) for r in rows if not r["failure"]]


def draw(found: Exploration, actor: str, n: int, seed: int = 0) -> list[Question]:
    """A stratified sample of n documents, equal shares of the strata as far as they reach, in random order."""
    code = found.code(actor)
    by_stratum: dict[int, list[tuple[str, float]]] = {}
    for id, p in population(found, actor):
        by_stratum.setdefault(stratum_of(p), []).append((id, p))
    if set(by_stratum) == {0}:
        raise InputError(f"no document has an event of {code} with a probability above 0: there is nothing to check.")
    rng = np.random.default_rng([seed, *code.encode()])
    shares = _shares({h: len(d) for h, d in by_stratum.items()}, n)
    made = []
    for h in sorted(by_stratum):
        picked = rng.permutation(len(by_stratum[h]))[: shares[h]]
        made += [Question(by_stratum[h][i][0], code, by_stratum[h][i][1], h) for i in picked.tolist()]
    return [made[i] for i in rng.permutation(len(made))]


def _shares(sizes: dict[int, int], n: int) -> dict[int, int]:
    """Equal numbers from each stratum; what a small one cannot give, the others do. Two at least where there are two."""
    left = dict(sizes)
    shares = dict.fromkeys(sizes, 0)
    for _ in range(min(n, sum(sizes.values()))):
        h = min((h for h in left if left[h]), key=lambda h: (shares[h], h))
        shares[h] += 1
        left[h] -= 1
    return shares


def calibration_of(found: Exploration, actor: str, answers: Sequence[tuple[Question, bool]]) -> Labelled:
    """The design-weighted calibration of the probabilities on the answers."""
    people = population(found, actor)
    total = len(people)
    q_of: dict[int, list[float]] = {}
    for _, p in people:
        q_of.setdefault(stratum_of(p), []).append(p)
    of: dict[int, list[tuple[float, float]]] = {}
    for question, yes in answers:
        of.setdefault(question.stratum, []).append((question.probability, float(yes)))
    labelled = sorted(of)
    if not labelled:
        raise InputError("nothing is labelled yet.")
    gap = variance = squares = 0.0
    estimated = 0.0
    strata = []
    weights = {h: len(q_of[h]) / total for h in labelled}
    whole = sum(weights.values())
    for h in labelled:
        pairs = np.array(of[h])
        size, n = len(q_of[h]), len(pairs)
        differ = pairs[:, 0] - pairs[:, 1]
        w = weights[h] / whole
        y = pairs[:, 1]
        # With few answers that all agree the sample variance is 0: the answers' own variance after one of each kind
        # has been added keeps the interval honest.
        rate = (y.sum() + 1.0) / (n + 2.0)
        spread = max(float(differ.var(ddof=1)) if n > 1 else 0.0, float(rate * (1.0 - rate)))
        gap += w * float(differ.mean())
        variance += w**2 * (1.0 - n / size) * spread / n
        squares += w * float(differ.mean()) ** 2
        estimated += size * float(y.mean())
        low, high = (0.0, 0.0) if h == 0 else (EDGES[h - 1], EDGES[h])
        strata.append(
            {
                "from": low,
                "to": high,
                "documents": size,
                "labelled": n,
                "mean_q": float(pairs[:, 0].mean()),
                "share_yes": float(y.mean()),
            }
        )
    half = NORMAL * float(np.sqrt(variance))
    expected = float(sum(p for h in labelled for p in q_of[h]))
    reached = sum(len(q_of[h]) for h in labelled)
    return Labelled(
        found.code(actor),
        total,
        len(answers),
        gap,
        gap - half,
        gap + half,
        expected,
        estimated,
        max(0.0, estimated - half * reached),
        min(float(reached), estimated + half * reached),
        float(np.sqrt(squares)),
        tuple(strata),
        found.name(found.code(actor)),
    )


class Answers:
    """The answers to a sample of questions, kept in a file of JSON lines: resumable, with undo."""

    def __init__(self, path: Path, questions: Sequence[Question]) -> None:
        self.path = path
        self.questions = list(questions)
        self.given: dict[str, bool] = {}
        if path.is_file():
            try:
                rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
                self.given = {r["id"]: bool(r["yes"]) for r in rows}
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{path} is damaged; move it away to begin again.") from None
        self.order = [q.id for q in self.questions if q.id in self.given]

    def __len__(self) -> int:
        return len(self.order)

    def next(self) -> Question | None:
        """The first question without an answer."""
        return next((q for q in self.questions if q.id not in self.given), None)

    def answer(self, question: Question, yes: bool) -> None:
        """Keeps an answer, on disk at once."""
        self.given[question.id] = yes
        self.order.append(question.id)
        self._save()

    def undo(self) -> Question | None:
        """Takes the last answer back."""
        if not self.order:
            return None
        last = self.order.pop()
        del self.given[last]
        self._save()
        return next(q for q in self.questions if q.id == last)

    def pairs(self) -> list[tuple[Question, bool]]:
        """The questions that have answers."""
        return [(q, self.given[q.id]) for q in self.questions if q.id in self.given]

    def _save(self) -> None:
        lines = [json.dumps({"id": id, "yes": self.given[id]}, ensure_ascii=False) for id in self.order]
        write_whole(self.path, "".join(line + "\n" for line in lines).encode())
