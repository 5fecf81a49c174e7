"""Coreference without training, to compare with: none at all, and links by matching heads and near pronouns.

`simple` has scores set by hand (below), not fitted: its probabilities are not to be believed, only ordered.
"""

from collections.abc import Sequence

import numpy as np

from howsure.corpora.document import Document, Mention
from howsure.models.coreference.mentions import mention_heads
from howsure.posteriors.antecedents import AntecedentPosterior

SAME_WORDS, SAME_HEAD, NAME_OVERLAP, PRONOUN, DISTANCE = 3.5, 2.0, 1.5, 1.0, 0.35
NEW_NOUN, NEW_PRONOUN = 1.5, -0.5
PLURAL = frozenset({"they", "them", "their", "theirs", "themselves", "we", "us", "our"})
SINGULAR = frozenset({"he", "him", "his", "she", "her", "hers", "it", "its"})


def no_links(document: Document, mentions: Sequence[Mention]) -> AntecedentPosterior:
    """Every mention is an entity of its own."""
    n = len(mentions)
    return AntecedentPosterior(np.zeros((n, n)), np.ones(n), name=document.name)


def simple_links(document: Document, mentions: Sequence[Mention]) -> AntecedentPosterior:
    """Hand-set scores: the same words, the same head, shared name words; pronouns take what is near and of their number."""
    n = len(mentions)
    if n == 0:
        return no_links(document, mentions)
    heads = mention_heads(document, mentions)
    upos = document.column("upos")
    sentence = document.sentence_of()[heads]
    head_words = [document.words[h].lower() for h in heads]
    lemmas = np.array([document.column("lemma")[h].lower() for h in heads])
    spans = np.array([" ".join(document.words[m.start : m.end]).lower() for m in mentions])
    pronoun = np.array([upos[h] == "PRON" for h in heads])
    name = np.array([upos[h] == "PROPN" for h in heads])
    features = document.columns.get("features", ("_",) * len(document))
    plural = np.array([w in PLURAL or "Number=Plur" in features[h] for w, h in zip(head_words, heads, strict=True)])
    singular = np.array([w in SINGULAR or "Number=Sing" in features[h] for w, h in zip(head_words, heads, strict=True)])
    apart = np.abs(sentence[:, None] - sentence[None, :])
    clash = (plural[:, None] & singular[None, :]) | (singular[:, None] & plural[None, :])
    starts, ends = (np.array([getattr(m, side) for m in mentions]) for side in ("start", "end"))
    nested = (starts[:, None] < ends[None, :]) & (starts[None, :] < ends[:, None])
    scores = -DISTANCE * np.minimum(apart, 10).astype(np.float64) - 1.0
    scores += np.where(lemmas[:, None] == lemmas[None, :], SAME_HEAD + name[:, None] * NAME_OVERLAP, 0.0)
    scores += np.where(spans[:, None] == spans[None, :], SAME_WORDS - SAME_HEAD, 0.0)
    scores += np.where(pronoun[:, None] & ~clash, PRONOUN, 0.0)
    hopeless = nested | clash | (~pronoun[:, None] & (lemmas[:, None] != lemmas[None, :]))
    scores[hopeless] = -np.inf
    return AntecedentPosterior.from_scores(scores, np.where(pronoun, NEW_PRONOUN, NEW_NOUN), name=document.name)
