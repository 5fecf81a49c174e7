"""Who does what to whom in a parsed document, and whether the text says that it happened.

An event mention is a listed verb, or a noun that names the same event ("the attack", "a bombing"). Its agents and patients are
read off the parse, through conjuncts, control and raising, relative clauses, light verbs and possessors. What speaks against
its having happened is a list of named reasons. The words that decide are data (data/event_roles.json): verbs that plan or deny what
they govern, verbs whose object does it ("urged A to"), verbs that only carry a noun ("launched an attack").
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from howsure.corpora.document import Document
from howsure.events.lexicons import Lexicon
from howsure.events.rules import RELATIVE, Evidence, parse_columns

NOT_ASSERTED = ("denied", "negated", "question", "conditional", "planned", "alleged")
REASONS = (*NOT_ASSERTED, "reported")
NOMINAL = ("NOUN", "PROPN", "PRON", "ADJ")
_WORDS = json.loads((files("howsure.data") / "event_roles.json").read_text(encoding="utf-8"))
SAYS: dict[str, str] = _WORDS["says"]  # how a role was found, in words


@cache
def words(kind: str) -> frozenset[str]:
    """Words of a kind, by the name that data/event_roles.json gives it."""
    return frozenset(_WORDS[kind].split())


@cache
def _governor(lemma: str) -> str:
    """What a word says of the event that it governs: a reason, or nothing."""
    return next((r for r in REASONS if r not in ("question", "conditional") and lemma in words(r)), "")


@dataclass(frozen=True, slots=True)
class Role:
    """The word at `token` has a part in the event, found by the way so named (`SAYS`)."""

    token: int
    how: str


@dataclass(frozen=True, slots=True)
class EventMention:
    """The word at `token` names an event (`kind`: verb or noun), with who does it, to whom, and what is said of it."""

    token: int
    lemma: str
    kind: str
    agents: tuple[Role, ...]
    patients: tuple[Role, ...]
    reasons: tuple[str, ...]

    @property
    def asserted(self) -> bool:
        """Whether nothing speaks against its having happened."""
        return not any(r in NOT_ASSERTED for r in self.reasons)


def event_mentions(document: Document, verbs: Collection[str], nouns: Collection[str] = ()) -> list[EventMention]:
    """The events of a document, in order of the text."""
    _, _, lemma, upos = parse_columns(document)
    wanted = {*verbs, *nouns}
    named = {w for w in set(lemma) if w.lower() in wanted}
    places = [i for i, w in enumerate(lemma) if w in named] if named else []
    if not places:
        return []
    tree, made = _Tree(document), []
    for i in places:
        if upos[i] in ("VERB", "AUX") and tree.lemma[i] in verbs:
            made.append(tree.verb_event(i))
        elif upos[i] in ("NOUN", "PROPN") and tree.lemma[i] in nouns:
            made.append(tree.noun_event(i))
    return made


class _Tree:
    """A document's parse with children by head, and the walks over it."""

    def __init__(self, document: Document) -> None:
        heads, self.relation, lemma, self.upos = parse_columns(document)
        self.words, self.heads, self.lemma = document.words, heads.tolist(), [w.lower() for w in lemma]
        plain = {r: r.split(":")[0] for r in self.relation}
        self.base = [plain[r] for r in self.relation]
        self.xpos = document.columns.get("xpos", ("",) * len(heads))
        self.starts = document.starts
        self.children = document.children()

    def of(self, i: int, *relations: str) -> list[int]:
        """Children by relation, subtypes included."""
        return [c for c in self.children[i] if self.base[c] in relations]

    def marker(self, i: int) -> str:
        """The lemma of the preposition or conjunction of a phrase or clause."""
        return next((self.lemma[c] for c in self.of(i, "case", "mark")), "")

    def passive(self, v: int) -> bool:
        """Whether a verb is passive: by its auxiliary or subject, or as a bare participle ("the town attacked by …")."""
        if any(self.relation[c] in ("nsubj:pass", "aux:pass", "csubj:pass") for c in self.children[v]):
            return True
        bare = self.xpos[v] == "VBN" and not self.of(v, "aux", "nsubj", "obj")
        return bare and (
            self.base[v] == "acl" or (self.base[v] in ("advcl", "xcomp", "amod", "conj") and bool(self.by(v)))
        )

    def by(self, v: int) -> list[int]:
        """The agents of a passive."""
        return [c for c in self.of(v, "obl") if self.relation[c] == "obl:agent" or self.marker(c) == "by"]

    def givers(self, n: int) -> list[int]:
        """Whose a noun is: its possessor, or whom it is by or from."""
        return [c for c in self.of(n, "nmod") if self.relation[c] == "nmod:poss" or self.marker(c) in words("by")]

    def roles(self, tokens: Iterable[int], how: str) -> list[Role]:
        """The tokens and what is joined to them."""
        made = []
        for t in tokens:
            made += [Role(t, how), *self.roles((c for c in self.of(t, "conj") if self.upos[c] in NOMINAL), how)]
        return made

    def verb_event(self, v: int) -> EventMention:
        """A verb with its roles and reasons."""
        subjects, how = self.subject(v)
        if self.passive(v):
            agents = self.roles(self.by(v), "agent")
            patients = self.roles(subjects or ([self.heads[v]] if self.base[v] == "acl" else []), "subject")
        else:
            agents, objects = self.roles(subjects, how), self.of(v, "obj")
            if not objects and self.relation[v] == "acl:relcl" and how != "relative" and subjects:
                objects = [self.heads[v]]  # "the town that the rebels attacked"
            patients = self.roles(objects, "object")
        return EventMention(v, self.lemma[v], "verb", tuple(agents), tuple(patients), self.reasons(v))

    def subject(self, v: int, depth: int = 0) -> tuple[list[int], str]:
        """Who stands as the subject of a verb, spelled out or understood, and by which way it was found."""
        h, relation, own = self.heads[v], self.base[v], self.of(v, "nsubj")
        if own:
            pronoun = self.words[own[0]].lower() in RELATIVE and relation == "acl" and h >= 0
            return ([h], "relative") if pronoun else (own, "subject")
        if h < 0 or depth > 6:
            return [], ""
        if relation in ("conj", "parataxis") and self.upos[h] in ("VERB", "AUX", "ADJ", "NOUN"):
            found, how = self.subject(h, depth + 1)
            return found, "relative" if how == "relative" else "shared"
        if relation == "acl":
            return self.subject_by_noun(v, h, depth)
        marker = self.marker(v)
        if relation in ("xcomp", "advcl") or (relation == "ccomp" and (self.xpos[v] == "VBG" or marker == "to")):
            objects = self.of(h, "iobj") or self.of(h, "obj")
            controls = self.lemma[h] in words("object_control")
            if objects and controls and (relation != "advcl" or marker in ("of", "from", "with")):
                return objects, "controlled"
            if objects and self.lemma[h] in words("receiving") and relation == "xcomp":
                return self.givers(objects[0]), "source"
            if self.lemma[h] == "short" and self.heads[h] >= 0:  # "stopped short of attacking"
                return self.subject(self.heads[h], depth + 1)[0], "controlled"
            if self.upos[h] in ("NOUN", "PROPN") and not self.of(h, "cop", "nsubj"):
                return self.subject_by_noun(v, h, depth)
            return self.subject(h, depth + 1)[0], "controlled"
        return [], ""

    def subject_by_noun(self, v: int, n: int, depth: int) -> tuple[list[int], str]:
        """The subject of a verb that hangs on a noun: "men attacking", "an offer from A to buy B", "A has plans to buy B"."""
        marker, g = self.marker(v), self.heads[n]
        if self.relation[v] == "acl:relcl":
            return [], ""
        bare = self.xpos[v] == "VBN" and marker != "to" and not self.of(v, "aux")
        if bare or (self.xpos[v] == "VBG" and not marker):
            return [n], "participle"
        if givers := self.givers(n):
            return givers, "source"
        if g < 0 or depth > 6:
            return [], ""
        if marker in ("of", "from") and self.lemma[g] in words("object_control") and self.base[n] == "obj":
            return [n], "controlled"
        if self.upos[g] == "VERB" and self.lemma[g] not in words("receiving"):
            if self.base[n] == "obj":
                return self.subject(g, depth + 1)[0], "controlled"
            if self.base[n] == "nsubj" and self.passive(g):
                return self.by(g), "agent"
        return [], ""

    def noun_event(self, n: int) -> EventMention:
        """A noun that names an event with its roles, and the reasons of the verb that carries it."""
        near = [c for c in self.of(n, "amod", "compound") if self.words[c][:1].isupper()]
        agents = self.roles([*(c for c in self.of(n, "nmod") if self.relation[c] == "nmod:poss"), *near], "possessor")
        patients: list[Role] = []
        for c in self.of(n, "nmod", "obl"):
            marker = self.marker(c)
            if self.relation[c] == "nmod:poss":
                continue
            if marker in words("by"):  # in "an attack by jets on …" the "on" may hang on either
                agents += self.roles([c], "agent")
                patients += self.roles((k for k in self.of(c, "nmod") if self.marker(k) in ("on", "against")), "object")
            elif marker == "of" and self.lemma[n] in words("own"):
                agents += self.roles([c], "possessor")
            elif marker in words("undergone"):
                patients += self.roles([c], "object")
        for c in self.of(n, "acl"):  # "an attack launched by A", "attacks that A carried out"
            if self.passive(c) or self.xpos[c] == "VBN":
                agents += self.roles(self.by(c), "agent")
            elif self.lemma[c] in words("light") and self.relation[c] == "acl:relcl":
                found, how = self.subject(c)
                agents += self.roles(found, "light") if how == "subject" else []
        top, carrier = n, self.heads[n]
        while self.base[top] == "conj" and carrier >= 0 and self.upos[carrier] == "NOUN":
            top, carrier = carrier, self.heads[carrier]
        claimed = self.base[top] == "nmod" and carrier >= 0 and self.lemma[carrier] in words("responsibility")
        if claimed:  # "claimed responsibility for the attack"
            top, carrier = carrier, self.heads[carrier]
        reasons: list[str] = []
        relation = self.relation[top]
        if carrier >= 0 and self.upos[carrier] == "VERB" and relation in ("obj", "xcomp", "obl", "nsubj:pass"):
            light, kind = self.lemma[carrier] in words("light"), _governor(self.lemma[carrier])
            carried = light or (claimed and relation == "obj")
            if carried and relation == "obj" and not agents:
                agents += self.roles(self.subject(carrier)[0], "light")
            elif light and relation == "nsubj:pass":
                agents += self.roles(self.by(carrier), "agent")
            if light and not patients:
                far = (c for c in self.of(carrier, "obl") if self.marker(c) in ("on", "against", "to", "into"))
                patients += self.roles(far, "object")
            if relation in ("obj", "nsubj:pass") and (carried or kind):
                reasons += self.reasons(carrier)
            reasons += [kind] if kind != "reported" and not claimed else []
        small = {self.lemma[c] for c in self.of(n, "det", "amod")}
        reasons += ["negated"] * ("no" in small) + ["alleged"] * ("alleged" in small)
        reasons += ["planned"] * bool(small & words("planned_nouns"))
        does = {r.token: r for r in reversed(agents)}
        patients = [r for r in patients if r.token not in does]
        return EventMention(n, self.lemma[n], "noun", tuple(does.values())[::-1], tuple(patients), _ordered(reasons))

    def reasons(self, v: int) -> tuple[str, ...]:
        """What is said of the event at a verb, from the verb and from what governs it."""
        found, at, below = [], v, -1
        for _ in range(8):
            shared = at == v or (self.base[below] in ("xcomp", "conj") and not self.of(below, "nsubj"))
            found += self.said_at(at, shared)
            relation, h = self.base[at], self.heads[at]
            if h < 0 or self.relation[at] == "acl:relcl":
                break
            if relation == "conj":
                if self.of(at, "nsubj") or self.upos[h] not in ("VERB", "AUX", "ADJ", "NOUN"):
                    break
            elif relation in ("xcomp", "ccomp", "acl", "obj", "advcl", "nmod", "obl", "parataxis"):
                kind = self.said_by(at, h, relation)
                found.append(kind)
                if not kind and relation in ("advcl", "nmod", "obl", "parataxis"):
                    break
            else:
                break
            at, below = h, at
        end = int(self.starts[self.starts.searchsorted(v, side="right")]) - 1
        if "?" in self.words[max(end - 1, 0) : end + 1] and not {"denied", "reported"} & set(found):
            found.append("question")
        return _ordered(found)

    def said_by(self, at: int, h: int, relation: str) -> str:
        """What the word at `h` says of the clause or noun at `at` that hangs on it."""
        marker, lemma, kind = self.marker(at), self.lemma[h], _governor(self.lemma[h])
        infinitive = relation in ("xcomp", "ccomp") and marker == "to"
        if relation == "advcl" and (marker not in ("of", "from", "with", "to") or (marker == "to" and not kind)):
            purpose = marker == "to" and self.upos[h] == "VERB"  # "crossed the river to attack"
            return "planned" if purpose else ""
        if lemma == "short":
            return "negated"
        if lemma in words("receiving") and relation == "xcomp":  # "received an offer to buy"
            return "planned" if any(_governor(self.lemma[o]) == "planned" for o in self.of(h, "obj")) else kind
        if self.upos[h] == "NOUN":
            planned = (relation == "acl" and marker == "to") or (relation in ("acl", "nmod") and kind == "planned")
            return kind if kind in ("denied", "negated", "alleged") else "planned" if planned else ""
        if infinitive and self.passive(h) and lemma in words("passive_alleged"):
            return "alleged"
        if infinitive and (kind == "reported" or lemma == "stop"):
            return ""
        if infinitive and lemma in ("have", "go"):
            yet = any(self.lemma[c] == "yet" for i in (h, at) for c in self.of(i, "advmod"))
            return "negated" if yet else "planned"
        if relation == "ccomp" and not infinitive and lemma in ("agree", "tell", "call", "mean", "like"):
            return "reported"
        return kind

    def said_at(self, i: int, shared: bool) -> list[str]:
        """What the words that hang on a verb say: negation, modals, "if"."""
        found = []
        for c in self.children[i]:
            relation, lemma, said = self.base[c], self.lemma[c], {self.lemma[c], self.words[c].lower()}
            if relation in ("advmod", "det", "mark", "cc") and said & words("negations") and lemma != "nor":
                found.append("negated")
            elif relation == "aux" and said & (words("conditional_modals") | words("planned_modals")):
                found.append("conditional" if said & words("conditional_modals") else "planned")
            elif relation == "mark" and lemma in words("conditional_marks") | words("question_marks"):
                found.append("conditional" if lemma in words("conditional_marks") else "question")
            elif relation == "advmod" and lemma in words("hedges"):
                found.append("alleged")
            elif relation == "nsubj" and shared:
                small = [*self.of(c, "det", "cc", "advmod"), *(k for j in self.of(c, "conj") for k in self.of(j, "cc"))]
                if said & words("negations") or any(self.lemma[k] in words("negations") for k in small):
                    found.append("negated")
        return found


def _ordered(reasons: Collection[str]) -> tuple[str, ...]:
    return tuple(r for r in REASONS if r in reasons)


def descriptions(document: Document, lexicon: Lexicon) -> list[Evidence]:
    """Every word that a word of the lexicon describes, through titles and names, and the seats of governments.

    "Russian" describes "President", and with it "Putin" in "Russian President Vladimir Putin". A seat ("Baghdad") stands for its
    government where it is itself the word, not a place ("in Baghdad").
    """
    heads, relation, lemma, upos = parse_columns(document)
    where, seats = lexicon.find(document.words, upos), lexicon.find(document.words, upos, seats=True)
    named = np.flatnonzero((where.actor >= 0) | (seats.actor >= 0)).tolist()
    if not named:
        return []
    tops, plain = heads.tolist(), {r: r.split(":")[0] for r in relation}
    case: dict[int, str] = {}
    under: dict[int, list[int]] = {}
    for c, r in enumerate(relation):
        if r == "case":
            case.setdefault(tops[c], lemma[c].lower())
        elif r in ("flat", "appos"):
            under.setdefault(tops[c], []).append(c)
    made: dict[tuple[int, int], Evidence] = {}
    for t in named:
        actor = int(where.actor[t])
        if actor < 0:
            placed = case.get(t, "") not in ("", "by", "'s", "’s", "from", "on", "against", "with")
            if plain[relation[t]] in ("nsubj", "obj", "obl", "conj", "nmod") and not placed:
                made.setdefault((t, int(seats.actor[t])), Evidence(t, int(seats.actor[t]), t, "seat"))
            continue
        made.setdefault((t, actor), Evidence(t, actor, t, "head"))
        for c in under.get(t, ()):
            if where.actor[c] < 0 and upos[c] == "PROPN":  # a title as the head of its name
                made.setdefault((c, actor), Evidence(c, actor, t, relation[c]))
        at = t
        for step in range(5):
            h, r = tops[at], relation[at]
            if h >= 0 and r == "conj" and not step and upos[at] == "ADJ" and plain[relation[h]] in ("amod", "compound"):
                h, r = tops[h], "amod"  # "French and British aircraft"
            kind = r.split(":")[0]
            inside = h >= 0 and where.actor[h] == actor and where.first[h] == where.first[at]
            far = kind == "nmod" and r != "nmod:poss" and case.get(at, "of") not in ("of", "from")
            modifies = kind in ("amod", "compound", "nmod") and (inside or not step)
            apposed = kind == "appos" and "PROPN" in (upos[at], upos[h])
            names = apposed or kind in ("compound", "flat") or r == "nmod:desc"
            if h < 0 or far or not (modifies or names):
                break
            made.setdefault((h, actor), Evidence(h, actor, t, r))
            at = h
    return sorted(made.values(), key=lambda e: (e.token, e.actor, e.word))
