"""Where found mentions end: at brackets that belong to them, never beyond the sentence."""

import numpy as np

from howsure.corpora.document import Document
from howsure.models.coreference.mentions import check_spans, detect_mentions


def parsed(sentences):
    words, heads, upos, relation, starts = [], [], [], [], [0]
    for rows in sentences:
        for word, tag, head, rel in rows:
            words.append(word)
            upos.append(tag)
            relation.append(rel)
            heads.append(-1 if head is None else starts[-1] + head)
        starts.append(len(words))
    return Document(
        "d", tuple(words), np.array(starts), {"upos": tuple(upos), "relation": tuple(relation)}, np.array(heads)
    )


def test_a_closing_bracket_is_taken_in_only_within_the_sentence():
    group = [
        ("The", "DET", 1, "det"),
        ("group", "NOUN", None, "root"),
        ("(", "PUNCT", 3, "punct"),
        ("ELN", "PROPN", 1, "appos"),
    ]
    close = (")", "PUNCT", 3, "punct")
    inside = parsed([[*group, close]])
    across = parsed([group, [(")", "PUNCT", 1, "punct"), ("said", "VERB", None, "root")]])
    assert (0, 5) in {(m.start, m.end) for m in detect_mentions(inside)}
    found = detect_mentions(across)
    assert max(m.end for m in found if m.start == 0) == 4
    check_spans(across, found)
