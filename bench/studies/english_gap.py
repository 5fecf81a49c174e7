"""GAP with the coreference weights that ship: raw text, the pipeline's own words, sentences, parses and mentions.

    python bench/studies/english_gap.py [--write]

The validation part was learnt from; the development part is what is reported. A name's probability is that of the most probable mention
with its head. Three ways to answer: the more probable of the two names, where one of them is right; yes where the
probability is above one half; and the answers of largest expected F1, chosen from the probabilities without looking at the labels.
Needs the corpora under HOWSURE_DATA. `--write` puts the table between the marks of the model's MODEL_CARD.md.
"""

from __future__ import annotations

import sys

import numpy as np
from coref_training import asked_gap, parsed_gap

from howsure.english.coreference import coref_model
from howsure.english.shipped import SHIPPED
from howsure.verbs.check import check

BEGIN, END = "<!-- gap -->", "<!-- end of gap -->"


def answers(model, items):
    """P(pronoun and A corefer), P(pronoun and B corefer) for each item."""
    made = np.empty((len(items), 2))
    for k, item in enumerate(items):
        asked = asked_gap(item)
        q = model.posterior(item.document, asked.mentions).pairs()
        made[k] = [max(q[asked.mention, other] for other in others) for others, _ in asked.answers]
    return made


def f1(said, truth):
    return 2 * (said & truth).sum() / max(said.sum() + truth.sum(), 1)


def largest_expected_f(q):
    """Yes for the most probable answers, as many as make 2 Σ_yes q / (number of yes + Σ q) largest."""
    order = np.sort(q.reshape(-1))[::-1]
    f = 2 * np.cumsum(order) / (np.arange(1, len(order) + 1) + order.sum())
    return q >= order[int(np.argmax(f))]


def row(model, part):
    items = parsed_gap(part)
    q = answers(model, items)
    truth = np.array([[i.a_coref, i.b_coref] for i in items])
    one = truth.any(axis=1)
    right = (q.argmax(axis=1) == truth.argmax(axis=1))[one]
    half = 1.96 * np.sqrt(right.mean() * (1 - right.mean()) / len(right))
    said = largest_expected_f(q)
    feminine = np.array([i.document.words[i.pronoun[0]].lower().startswith(("she", "her")) for i in items])
    c = check(truth.reshape(-1), np.clip(q, 0, 1).reshape(-1), groups=np.repeat(np.arange(len(q)), 2), rng=None)
    given = q[one, 0] / np.maximum(q[one].sum(axis=1), 1e-300)
    g = check(truth[one, 0], np.clip(given, 0, 1), rng=None)
    return (
        f"| {part} | {len(items):,} | {right.mean():.3f} [{right.mean() - half:.3f}, {right.mean() + half:.3f}] | {f1(said, truth):.3f} | "
        f"{f1(said[feminine], truth[feminine]):.3f} | {f1(said[~feminine], truth[~feminine]):.3f} | {f1(q > 0.5, truth):.3f} | "
        f"{c.error.value:.3f} [{c.error.low:.3f}, {c.error.high:.3f}] | {g.error.value:.3f} [{g.error.low:.3f}, {g.error.high:.3f}] |"
    )


def main():
    model = coref_model()
    lines = [
        "| GAP, raw text | items | A or B, where one is right | F1 | feminine | masculine | F1 of yes above ½ | RMS error of P | of P(A) given A or B |",
        "|---|---:|---|---:|---:|---:|---:|---|---|",
        *(row(model, part) for part in ("development", "validation")),
    ]
    lines[-1] = lines[-1].replace("| validation |", "| validation (learnt from) |")
    said = "\n".join(lines)
    print(said)
    if "--write" in sys.argv:
        card = SHIPPED / "MODEL_CARD.md"
        text = card.read_text(encoding="utf-8")
        head, tail = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
        card.write_text(f"{head}\n{said}\n{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
