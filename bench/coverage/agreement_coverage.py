"""Coverage of the intervals of κ, π and α, simulated: `python bench/coverage/agreement_coverage.py [--write]`.

Items have a true label; annotators answer it with a probability of their own and otherwise guess by their own habit, so
that errors of one item are independent given its label. The truth is computed from that law, not simulated. With
groups, items of a group are equally hard, and share their true label half of the time.

The weights of the items that limits are computed with were chosen on "3 labels, 3 fair annotators", "2 labels, 90% one of them", "chance only" and
"nearly perfect" at 25 and 50 items, on 20 annotators of 10 items (3 labels; 2 labels, 90% one of them) and on 95% one label; the worlds named "new"
were looked at afterwards.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from howsure.evaluation.annotation.agreement import Pairable, fleiss_kappa, krippendorff_alpha
from howsure.evaluation.annotation.annotators import judged_annotators
from howsure.evaluation.annotation.crowds import dawid_skene
from howsure.evaluation.annotation.disagreement import KAPPAS, annotator_pairs
from howsure.evaluation.annotation.ratings import made_ratings

LEVEL = 0.95
PAIRWISE = {**{v: k for k, v in KAPPAS.items()}, "Scott's π": "scott"}  # by the coefficient's name
THEORY = Path(__file__).parents[2] / "docs" / "evidence" / "theory.md"
START, END = "<!-- agreement: start -->", "<!-- agreement: end -->"


class World:
    """A law of items and annotators, with the true value of every coefficient."""

    def __init__(self, prior, accuracy, habits, missing=0.0, group_size=1):
        self.prior, self.accuracy = np.asarray(prior), np.asarray(accuracy)
        self.habits = np.asarray(habits)  # (annotators, labels)
        self.missing, self.group_size = missing, group_size
        # P(label | true) of each annotator, at easy and hard items (hard: half the accuracy), half of each
        self.answers = [
            a * f * np.eye(len(prior)) + (1 - a * f) * h
            for f in (1.0, 0.5)
            for a, h in zip(self.accuracy, self.habits, strict=True)
        ]
        n = len(self.accuracy)
        self.by_hardness = [self.answers[:n], self.answers[n:]]

    def joint(self, a, b):
        """P(label of a, label of b) on one item."""
        return sum(0.5 * np.einsum("t,tk,tl->kl", self.prior, answers[a], answers[b]) for answers in self.by_hardness)

    def truth(self, metric):
        """1 - D_o/D_e in the population; annotators are present independently, at the same rate."""
        n, k = len(self.accuracy), len(self.prior)
        pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
        pooled = sum(self.joint(a, b) for a, b in pairs) / len(pairs)
        p = pooled.sum(axis=1)
        if metric in PAIRWISE.values():
            pooled = self.joint(0, 1)
            steps = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) / (k - 1)
            delta = {"linear": steps, "quadratic": steps**2}.get(metric, 1.0 - np.eye(k))
            first, second = pooled.sum(axis=1), pooled.sum(axis=0)
            if metric == "scott":
                first = second = (first + second) / 2
            return 1 - np.sum(delta * pooled) / np.sum(delta * np.outer(first, second))
        if metric in ("nominal", "fleiss"):
            delta = 1.0 - np.eye(k)
        else:
            v = np.arange(k) if metric == "interval" else np.cumsum(p) - p / 2
            delta = np.subtract.outer(v, v) ** 2
        return 1 - np.sum(delta * pooled) / np.sum(delta * np.outer(p, p))

    def draw(self, n, rng):
        """Ratings of n items."""
        k, n_annotators = len(self.prior), len(self.accuracy)
        group = np.arange(n) // self.group_size
        true = rng.choice(k, n, p=self.prior)
        if self.group_size > 1:
            shared = rng.choice(k, group.max() + 1, p=self.prior)[group]
            true = np.where(rng.random(n) < 0.5, shared, true)
        hard = (rng.random(group.max() + 1) < 0.5)[group]
        label = np.empty((n, n_annotators), np.int64)
        for a in range(n_annotators):
            probs = np.where(hard[:, None], self.by_hardness[1][a][true], self.by_hardness[0][a][true])
            label[:, a] = np.sum(rng.random((n, 1)) > np.cumsum(probs, axis=1)[:, :-1], axis=1)
        there = rng.random((n, n_annotators)) >= self.missing
        item, annotator = np.nonzero(there)
        return item, annotator, label[item, annotator], group


def ratings_of(world, n, rng, grouped):
    item, annotator, label, group = world.draw(n, rng)
    names = [f"{i:06}" for i in range(n)]
    return made_ratings(
        item,
        annotator,
        label,
        items=names,
        annotators=[f"a{i}" for i in range(len(world.accuracy))],
        labels=[str(i) for i in range(len(world.prior))],
        groups=group if grouped else None,
    )


def coverage(world, n, repetitions, seed, grouped):
    """Share of intervals that hold the truth, for each coefficient, where it is defined."""
    truths = {m: world.truth(m) for m in (*PAIRWISE.values(), "fleiss", "nominal", "ordinal", "interval")}
    held, made = dict.fromkeys(truths, 0), dict.fromkeys(truths, 0)
    rng = np.random.default_rng(seed)
    for _ in range(repetitions):
        ratings = ratings_of(world, n, rng, grouped)
        p = Pairable(ratings)
        found = {"fleiss": fleiss_kappa(p, LEVEL)}
        found |= {m: krippendorff_alpha(p, m, LEVEL) for m in ("nominal", "ordinal", "interval")}
        few = len(world.accuracy) <= 5  # pairs of many annotators are many
        pair = next((q for q in (annotator_pairs(ratings, LEVEL) if few else ()) if (q.a, q.b) == ("a0", "a1")), None)
        if pair is not None:
            found |= {PAIRWISE[c.name]: c for c in pair.coefficients}
        for name, c in found.items():
            made[name] += c.low is not None
            held[name] += c.low is not None and c.low <= truths[name] <= c.high
    return truths, {m: held[m] / made[m] if made[m] else None for m in truths}


UNIFORM = [1 / 3] * 3
WORLDS = {
    "3 labels, 3 fair annotators": World([0.5, 0.3, 0.2], [0.8, 0.7, 0.6], [UNIFORM] * 3),
    "2 labels, 90% one of them": World([0.9, 0.1], [0.9, 0.9], [[0.9, 0.1]] * 2),
    "3 labels, 5 annotators, 40% missing": World([0.4, 0.4, 0.2], [0.9, 0.8, 0.7, 0.6, 0.2], [UNIFORM] * 5, 0.4),
    "3 labels, chance only": World([0.5, 0.3, 0.2], [0.0, 0.0, 0.0], [[0.5, 0.3, 0.2]] * 3),
    "2 labels, nearly perfect": World([0.5, 0.5], [1.0, 1.0, 0.97], [[0.5, 0.5]] * 3),
}
NEW = {
    "new: 20 annotators, 4 labels": (World([0.4, 0.3, 0.2, 0.1], [0.75] * 20, [[0.25] * 4] * 20), (10,)),
    "new: 20 annotators, 80% one of 2 labels": (World([0.8, 0.2], [0.85] * 20, [[0.8, 0.2]] * 20), (10,)),
    "new: 4 annotators, 93% one of 2 labels": (World([0.93, 0.07], [0.9] * 4, [[0.93, 0.07]] * 4), (30, 60, 150)),
}


def table(repetitions):
    """Markdown."""
    columns = ("cohen", "linear", "quadratic", "scott", "fleiss", "nominal", "ordinal", "interval")
    lines = [
        "| data | items | true α | Cohen's κ | linear κ | quadratic κ | Scott's π | Fleiss' κ | α nominal | α ordinal | α interval |",
        "|---|" + "---|" * 10,
    ]
    for name, (world, sizes) in {**{k: (w, (25, 50, 200, 1000)) for k, w in WORLDS.items()}, **NEW}.items():
        for n in sizes:
            truths, held = coverage(world, n, repetitions, 5, False)
            cells = " | ".join("–" if held[c] is None else f"{100 * held[c]:.1f}" for c in columns)
            lines.append(f"| {name} | {n} | {truths['nominal']:.2f} | {cells} |")
            print(lines[-1], flush=True)
    lines += [
        "",
        "| items in groups of 10 | groups | α nominal | ignoring groups | Fleiss' κ | ignoring groups |",
        "|---|" + "---|" * 5,
    ]
    for name, world in list(WORLDS.items())[:3]:
        world = World(world.prior, world.accuracy, world.habits, world.missing, 10)
        for n in (200, 500, 2000):
            _, robust = coverage(world, n, repetitions, 6, True)
            _, naive = coverage(world, n, repetitions, 6, False)
            shown = " | ".join(f"{100 * h[c]:.1f}" for c in ("nominal", "fleiss") for h in (robust, naive))
            lines.append(f"| {name} | {n // 10} | {shown} |")
    lines += [
        "",
        "| skill of one of 8 annotators, 3 labels | true skill | 50 items | 200 items | 800 items |",
        "|---|---|---|---|---|",
    ]
    lines += skill_lines(max(repetitions // 4, 20))
    return "\n".join(lines)


def skill_lines(repetitions):
    """Coverage of the interval of skill; the truth is the skill in one sample of 40,000 items."""
    accuracy = [0.9, 0.8, 0.8, 0.7, 0.7, 0.5, 0.2, 0.0]
    world = World([0.5, 0.3, 0.2], accuracy, [[0.5, 0.3, 0.2]] * 8, 0.1)

    def skills(n, rng):
        ratings = ratings_of(world, n, rng, False)
        return {a.name: a for a in judged_annotators(ratings, dawid_skene(ratings), LEVEL, 0.4)}

    truth = skills(40_000, np.random.default_rng(7))
    held = {n: dict.fromkeys(truth, 0) for n in (50, 200, 800)}
    for n, counts in held.items():
        rng = np.random.default_rng(8)
        for _ in range(repetitions):
            for name, a in skills(n, rng).items():
                counts[name] += a.low is not None and a.low <= truth[name].skill <= a.high
    return [
        f"| right {accuracy[i]:.0%} of the time, else guessing | {truth[name].skill:.2f} | "
        + " | ".join(f"{100 * counts[name] / repetitions:.1f}" for counts in held.values())
        + " |"
        for i, name in enumerate(sorted(truth))
    ]


if __name__ == "__main__":
    made = table(int(next((a for a in sys.argv[1:] if a.isdigit()), 2000)))
    print(made)
    if "--write" in sys.argv:
        text = THEORY.read_text()
        before, rest = text.split(START)
        THEORY.write_text(f"{before}{START}\n{made}\n{END}{rest.split(END)[1]}")
