"""GAP: which of two names does a pronoun mean? Without a parse: mentions are capitalised runs and pronouns."""

from __future__ import annotations

import numpy as np

from howsure.corpora.coreference import gum_documents, plain_mentions, read_gap
from howsure.corpora.document import Mention
from howsure.corpora.reading import corpus_path
from howsure.models.coreference.ranker import fit_coref
from howsure.verbs.check import check


def plain(document):
    """A GUM document without its parse; its mentions those found without one, with GUM's entities."""
    bare = document.with_(columns={}, heads=None)
    gold = {(m.start, m.end): m.entity for m in document.mentions}
    found = [
        Mention(m.start, m.end, gold.get((m.start, m.end), f"none{k}")) for k, m in enumerate(plain_mentions(bare))
    ]
    return bare.with_(mentions=tuple(found))


def answers(model, items):
    """P(pronoun and A corefer), P(pronoun and B corefer) for each item."""
    made = np.empty((len(items), 2))
    for k, item in enumerate(items):
        mentions = plain_mentions(item.document, [item.pronoun, item.a, item.b])
        p = model.posterior(item.document, mentions)
        at = {(m.start, m.end): n for n, m in enumerate(mentions)}
        made[k] = [p.pair(at[item.pronoun], at[name]) for name in (item.a, item.b)]
    return made


def f1(said, truth):
    hit = (said & truth).sum()
    return 2 * hit / max(said.sum() + truth.sum(), 1)


def gap_study():
    """Lines of Markdown."""
    model = fit_coref([plain(d) for d in gum_documents("train", "gum")], mentions="gold")
    lines = [
        "GAP is raw text, and no parser is used here: words by rule, mentions are runs of capitalised words and pronouns,",
        "trained on GUM's documents read the same way. The name is the one with the larger exact P(pronoun and name corefer).",
        "",
        "| part | items | A or B, where one is right | A, B or neither | F1 of yes/no at ½ | feminine | masculine | RMS error of P | interval | mean q - mean y | RMS error of P given A or B | interval |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for part in ("development", "validation"):
        items = read_gap(corpus_path("gap", f"gap-{part}.tsv"))
        q = answers(model, items)
        truth = np.array([[i.a_coref, i.b_coref] for i in items])
        one = truth.any(axis=1)
        forced = (q.argmax(axis=1) == truth.argmax(axis=1))[one].mean()
        three = np.column_stack([q, 1 - q.sum(axis=1)])
        right = np.column_stack([truth, ~one])
        accuracy = right[np.arange(len(q)), three.argmax(axis=1)].mean()
        words = [i.document.words[i.pronoun[0]].lower() for i in items]
        feminine = np.array([w.startswith(("she", "her")) for w in words])
        said = q > 0.5
        # The two answers of an item are dependent.
        c = check(truth.reshape(-1), q.reshape(-1), groups=np.repeat(np.arange(len(q)), 2), rng=None)
        # Where one of the two is right: P(A | A or B), one row an item.
        given = q[one, 0] / np.maximum(q[one].sum(axis=1), 1e-300)
        g = check(truth[one, 0], np.clip(given, 0, 1), rng=None)
        lines.append(
            f"| {part} | {len(items):,} | {forced:.3f} | {accuracy:.3f} | {f1(said, truth):.3f} | {f1(said[feminine], truth[feminine]):.3f} | "
            f"{f1(said[~feminine], truth[~feminine]):.3f} | {c.error.value:.4f} | {c.error.low:.4f} – {c.error.high:.4f} | {c.bias.gap.value:+.4f} | {g.error.value:.4f} | {g.error.low:.4f} – {g.error.high:.4f} |"
        )
    return lines


if __name__ == "__main__":
    print("\n".join(gap_study()))
