"""The event rules of the paper (§6.1) as data, and where they fire in a parsed document.

An entity counts for actor c when one of its mentions is described as c, no other actor is among its mentions, and one of
its mentions is the agent of a listed verb. The first and the last of these are read off the parse here; entities come
later (`documents.py`).
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from howsure import _validate
from howsure.corpora.document import Document
from howsure.errors import InputError
from howsure.events.lexicons import Lexicon
from howsure.kernels.cells import Ints

# A word of the lexicon describes a mention when it is its head, or depends on its head by one of these relations;
# subtypes (nmod:poss, nmod:of) included.
MODIFIERS = ("amod", "nmod", "compound")
SUBJECTS = ("nsubj", "csubj")
RELATIVE = frozenset({"who", "which", "that", "whom"})


@dataclass(frozen=True, slots=True)
class AgentRule:
    """How a verb's agent is found: climb from the verb by a relation of its own (`up`), then go down by one of `down`.

    Without `up` the search starts at the verb; without `down` the word reached is the agent. `marker` is the lemma of
    a preposition that the agent must have; `passive` says whether the verb must be passive (or must not). A verb is
    climbed from only when it has no subject of its own, or when that is a relative pronoun and `relative` is set.
    """

    name: str
    says: str
    down: tuple[str, ...] = ()
    up: tuple[str, ...] = ()
    marker: str = ""
    passive: bool | None = None
    relative: bool = False
    participle: bool = False


SUBJECT = AgentRule("subject", "is the subject of", down=("nsubj",), passive=False)
AGENT = AgentRule("agent", "is the agent of passive", down=("obl:agent",))
BY_AGENT = AgentRule("agent", "is the agent of passive", down=("obl",), marker="by", passive=True)
RELATIVE_CLAUSE = AgentRule("relative", "is the noun of the relative clause of", up=("acl:relcl",), relative=True)
SHARED = AgentRule("shared", "is the subject of the verb that is joined to", down=("nsubj",), up=("conj",))
CONTROLLED = AgentRule("controlled", "is the subject of the verb that governs", down=("nsubj",), up=("xcomp",))
PARTICIPLE = AgentRule("participle", "is the noun that is modified by", up=("acl",), participle=True)

RULES: dict[str, tuple[AgentRule, ...]] = {
    # The paper's subject and agent. A relative pronoun that is the subject stands for the noun of its clause: mention
    # detection after OntoNotes leaves relative pronouns out.
    "paper": (SUBJECT, AGENT, BY_AGENT, RELATIVE_CLAUSE),
    # Subjects that basic dependencies do not spell out: "entered and attacked", "tried to attack", "men attacking".
    "wide": (SUBJECT, AGENT, BY_AGENT, RELATIVE_CLAUSE, SHARED, CONTROLLED, PARTICIPLE),
    # Everything that `roles.py` reads off a parse, of events that are asserted.
    "roles": (),
}


@dataclass(frozen=True, slots=True)
class Agent:
    """`token` is the agent of the verb at `verb`, by the rule so named."""

    token: int
    verb: int
    rule: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The word at `word` says that the head at `token` belongs to actor number `actor`; `why` is "head" or a relation."""

    token: int
    actor: int
    word: int
    why: str


def rule_set(name: str) -> tuple[AgentRule, ...]:
    """Rules by the name of their set."""
    return RULES[_validate.known(name, RULES, f"`rules=`: there is no set `{name}`")]


def agents(document: Document, verbs: Collection[str], rules: tuple[AgentRule, ...] = RULES["paper"]) -> list[Agent]:
    """The agents of the listed verbs, in order of the text; each token and verb once."""
    _, relation, lemma, upos = parse_columns(document)
    found: dict[tuple[int, int], Agent] = {}
    if set(verbs).isdisjoint(map(str.lower, set(lemma))):
        return []  # most documents: decided without a search
    children = document.children()
    for v in (i for i, word in enumerate(lemma) if upos[i] == "VERB" and word.lower() in verbs):
        own = [relation[c] for c in children[v]]
        passive = not {"nsubj:pass", "aux:pass", "csubj:pass"}.isdisjoint(own)
        # A form in -ed without auxiliary and subject ("the town attacked by …") is passive.
        bare = _xpos(document, v) == "VBN" and not any(r.startswith(("aux", "nsubj")) for r in own)
        for rule in rules:
            if rule.passive is None or rule.passive == (passive or (bare and rule.passive)):
                for token in _reached(document, v, children, rule):
                    found.setdefault((token, v), Agent(token, v, rule.name))
    return [found[key] for key in sorted(found)]


def _xpos(document: Document, v: int) -> str:
    return document.columns["xpos"][v] if "xpos" in document.columns else ""


def _reached(document: Document, v: int, children: list[list[int]], rule: AgentRule) -> list[int]:
    heads, relation, lemma, _ = parse_columns(document)
    start = int(heads[v]) if rule.up else v
    if rule.up:
        subjects = [c for c in children[v] if relation[c].startswith(SUBJECTS)]
        pronoun = any(relation[c] == "nsubj" and document.words[c].lower() in RELATIVE for c in subjects)
        spelt_out = bool(subjects) or any(relation[c] == "aux:pass" for c in children[v])
        climbs = pronoun if rule.relative else not spelt_out
        if relation[v] not in rule.up or start < 0 or not climbs:
            return []
        if rule.participle and _xpos(document, v) not in ("", "VBG"):
            return []
    if not rule.down:
        return [start]
    reached = [c for c in children[start] if relation[c] in rule.down]
    if not rule.marker:
        return reached
    return [c for c in reached if any(relation[k] == "case" and lemma[k].lower() == rule.marker for k in children[c])]


def evidence(document: Document, lexicon: Lexicon) -> list[Evidence]:
    """Every head that a word of the lexicon describes, in order of the text."""
    heads, relation, _, upos = parse_columns(document)
    where = lexicon.find(document.words, upos)
    made = []
    for t in np.flatnonzero(where.actor >= 0).tolist():
        actor = int(where.actor[t])
        made.append(Evidence(t, actor, t, "head"))
        h = int(heads[t])
        if h >= 0 and where.first[h] != where.first[t] and relation[t].split(":")[0] in MODIFIERS:
            made.append(Evidence(h, actor, t, relation[t]))
    return sorted(made, key=lambda e: (e.token, e.word))


def span_heads(document: Document, starts: Ints, ends: Ints) -> Ints:
    """The head of each span: its first word whose own head lies outside."""
    heads, *_ = parse_columns(document)
    if not len(starts):
        return np.zeros(0, np.int64)
    sizes = ends - starts
    firsts = np.cumsum(sizes) - sizes
    token = np.arange(sizes.sum()) - np.repeat(firsts - starts, sizes)
    outside = (heads[token] < np.repeat(starts, sizes)) | (heads[token] >= np.repeat(ends, sizes))
    found = np.minimum.reduceat(np.where(outside, token, len(heads)), firsts)
    return np.where(found < len(heads), found, starts)


def parse_columns(document: Document) -> tuple[Ints, tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Heads, relations, lemmas and tags of a parsed document."""
    if document.heads is None or any(c not in document.columns for c in ("relation", "lemma", "upos")):
        raise InputError(f'document "{document.name}" is not parsed: it needs lemmas, tags, heads and relations.')
    return document.heads, document.columns["relation"], document.columns["lemma"], document.columns["upos"]
