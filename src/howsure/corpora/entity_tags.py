"""Entity mentions as one tag per token: B-type, I-type and O, for the outermost mentions."""

from __future__ import annotations

import numpy as np

from howsure.corpora.document import Document
from howsure.errors import InputError


def entity_tags(document: Document, *, kinds: frozenset[str] | None = None) -> tuple[str, ...]:
    """BIO tags of a document's outermost mentions (of some `kinds`, if given).

    A mention inside another, or one that crosses a sentence's end, is left out; of two that overlap the first stays.
    """
    if document.mentions is None:
        raise InputError(f'document "{document.name}" has no mentions: its file has no Entity= in the last column.')
    sentence = document.sentence_of()
    tags = ["O"] * len(document)
    free = np.ones(len(document), bool)
    for mention in sorted(document.mentions, key=lambda m: (m.start, -m.end)):
        kind = mention.type or "entity"
        if kinds is not None and kind not in kinds:
            continue
        if not free[mention.start : mention.end].all() or sentence[mention.start] != sentence[mention.end - 1]:
            continue
        tags[mention.start] = f"B-{kind}"
        for i in range(mention.start + 1, mention.end):
            tags[i] = f"I-{kind}"
        free[mention.start : mention.end] = False
    return tuple(tags)
