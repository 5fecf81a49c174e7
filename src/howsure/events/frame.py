"""The frame of a count: every document and actor that it names, with named features of what the document says of the actor.

A pair where nothing was found is in the frame too: events that the rules miss can be labelled, and counted, there.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import log1p
from zlib import crc32

from howsure.corpora.document import Document
from howsure.events.roles import NOT_ASSERTED, EventMention
from howsure.events.rules import Evidence, parse_columns

WORDS = 1024  # bins of hashed words
# What each feature says of a document and an actor that it names, in the order of the layer's weights.
FEATURES: dict[str, str] = json.loads((files("howsure.data") / "event_features.json").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Pair:
    """A document's actor: features in the order of `FEATURES`, hashed words, reasons, and the sentence to show."""

    actor: int
    features: tuple[float, ...]
    words: tuple[int, ...]  # of the sentences that name the actor, and what governs its words
    document_words: tuple[int, ...]
    reasons: tuple[str, ...]
    sentence: int
    done_by: tuple[int, ...]  # actors that do it to this one, directly described


def frame_pairs(
    document: Document,
    mentions: Sequence[EventMention],
    evidence: Sequence[Evidence],
    q: Mapping[int, float],
    q_flat: Mapping[int, float],
    alike: Sequence[EventMention] = (),
) -> list[Pair]:
    """The pairs of one document; `q` and `q_flat` are the probabilities of actors with any, `alike` events of verbs that are alike."""
    if not evidence:
        return []
    sentence = document.sentence_of()
    heads, relation, lemma, upos = parse_columns(document)
    places: dict[int, set[int]] = {}
    tokens: dict[int, set[int]] = {}
    who: dict[int, set[int]] = {}
    for e in evidence:
        tokens.setdefault(e.actor, set()).add(e.token)
        who.setdefault(e.token, set()).add(e.actor)
        places.setdefault(e.actor, set()).add(e.word)
    by_sentence: dict[int, list[EventMention]] = {}
    for m in mentions:
        by_sentence.setdefault(int(sentence[m.token]), []).append(m)
    near = Counter(int(sentence[m.token]) for m in alike)
    acts = ({a for r in m.agents for a in who.get(r.token, ())} for m in alike if m.asserted)
    does_alike = Counter(a for found in acts for a in found)
    agents: dict[int, list[tuple[EventMention, str]]] = {}
    patients: dict[int, list[EventMention]] = {}
    done_by: dict[int, set[int]] = {}
    for m in mentions:
        roles = {(a, r.how) for r in m.agents for a in who.get(r.token, ())}
        for a, how in sorted(roles):
            agents.setdefault(a, []).append((m, how))
        for a in {a for r in m.patients for a in who.get(r.token, ())}:
            patients.setdefault(a, []).append(m)
            if m.asserted:
                done_by.setdefault(a, set()).update(b for b, _ in roles if b != a)
    acting = {a for a, found in agents.items() if any(m.asserted for m, _ in found)}
    acting |= {a for a, p in q.items() if p > 0.5}
    total = sum(len(p) for p in places.values())
    n_verbs = sum(m.kind == "verb" for m in mentions)
    shared = {
        "verbs": log1p(n_verbs),
        "nouns": log1p(len(mentions) - n_verbs),
        "alike": log1p(len(alike)),
        "silent": float(not mentions),
        "agentless": log1p(sum(not m.agents for m in mentions)),
        "actors": log1p(len(places) - 1),
        "length": log1p(len(document) / 100),
    }
    content = [w.lower() if upos[i] in ("VERB", "NOUN", "ADJ") else "" for i, w in enumerate(lemma)]
    whole = _bins(set(content))
    made = []
    for actor in sorted(places):
        own = sorted(places[actor])
        sentences = sorted({int(sentence[t]) for t in own})
        beside = [m for s in sentences for m in by_sentence.get(s, ())]
        gaps = [abs(m.token - t) for m in beside for t in own if sentence[t] == sentence[m.token]]
        does = agents.get(actor, [])
        asserted = [how for m, how in does if m.asserted]
        reasons = tuple(sorted({r for m, _ in does for r in m.reasons}))
        n_beside = sum(m.kind == "verb" for m in beside)
        by = sum(how == "agent" for how in asserted)
        has = sum(how in ("possessor", "light", "source") for how in asserted)
        values = shared | {
            "q": q.get(actor, 0.0),
            "q_flat": q_flat.get(actor, 0.0),
            "found": float(q.get(actor, 0.0) > 0),
            "mentions": log1p(len(own)),
            "share": len(own) / total,
            "early": float(sentences[0] == 0),
            "verb_beside": log1p(n_beside),
            "noun_beside": log1p(len(beside) - n_beside),
            "alike_beside": log1p(sum(near.get(s, 0) for s in sentences)),
            "alike_agent": log1p(does_alike.get(actor, 0)),
            "apart": float(not beside),
            "near": 1 / (1 + min(gaps)) if gaps else 0.0,
            "agent": log1p(len(asserted) - by - has),
            "by_agent": log1p(by),
            "possessor": log1p(has),
            "patient": log1p(len(patients.get(actor, ()))),
            "other_agent": float(bool(acting - {actor})),
            "reported": float("reported" in reasons),
            **{why: float(why in reasons) for why in NOT_ASSERTED},
        }
        shown = int(sentence[does[0][0].token]) if does else int(sentence[beside[0].token]) if beside else sentences[0]
        words = {w for s in sentences for w in content[int(document.starts[s]) : int(document.starts[s + 1])]}
        words |= {f"{relation[t]}>{lemma[heads[t]].lower()}" for t in tokens[actor] if heads[t] >= 0}
        features, others = tuple(values[name] for name in FEATURES), tuple(sorted(done_by.get(actor, ())))
        made.append(Pair(actor, features, _bins(words), whole, reasons, shown, others))
    return made


def _bins(words: set[str]) -> tuple[int, ...]:
    return tuple(sorted({crc32(w.encode()) % WORDS for w in words if w}))
