"""Dependencies of other label schemes as Universal Dependencies: ClearNLP's (spaCy's English pipelines), Stanford's, UD's first version.

The event rules and the mention finder read Universal Dependencies. Trees are made into them where they are read, or refused.
"""

from collections.abc import Sequence

import numpy as np

from howsure.corpora.document import Document
from howsure.data import table
from howsure.errors import InputError

RENAMED = {row["label"]: row["universal"] for row in table("relations") if row["label"] != row["universal"]}
UNIVERSAL = frozenset(row["label"] for row in table("relations")) - RENAMED.keys()
NOMINAL = frozenset({"NOUN", "PROPN", "PRON", "NUM", "SYM", "X"})
BE = frozenset({"be", "am", "is", "are", "was", "were", "been", "being", "'s", "'re", "'m", "’s", "’re", "’m", "s"})
COMPLEMENTS, PREDICATES = ("pobj", "pcomp"), ("attr", "acomp")
MOST_UNKNOWN = 0.05  # share of words whose relations are of no known scheme


def leaves_first(heads: Sequence[int], children: Sequence[Sequence[int]]) -> list[int]:
    """Tokens in an order in which every dependent comes before its head."""
    reached = [i for i, h in enumerate(heads) if h < 0]
    for i in reached:  # grows while it is gone through
        reached.extend(children[i])
    if len(reached) < len(heads):
        raise InputError("the dependency parse has a cycle.")
    return reached[::-1]


def universal(document: Document, *, refuse: bool = True) -> Document:
    """The document with Universal Dependencies; a parse that has them already is returned as it is.

    Prepositions become marks of their complements, copulas of their predicates, conjuncts hang on the first one, and labels are
    renamed. With `refuse`, relations of a scheme that is not known are an error: no rule would ever fire on them.
    """
    relation = document.columns.get("relation")
    if document.heads is None or relation is None:
        return document
    bases = {r: "root" if r == "ROOT" else r.split(":")[0].lower() for r in set(relation)}
    strange = {r for r, base in bases.items() if base not in UNIVERSAL and base not in RENAMED and base != "_"}
    if refuse and strange:
        share = sum(r in strange for r in relation) / len(relation)
        if share > MOST_UNKNOWN:
            named = ", ".join(sorted(strange)[:5])
            raise InputError(
                f'document "{document.name}": {100 * share:.0f}% of its relations ({named}) are neither Universal Dependencies nor '
                "the labels of ClearNLP or Stanford: rules and mentions cannot be read from them. Use a pipeline with one of these."
            )
    if all(base in UNIVERSAL or r in strange for r, base in bases.items()) and "ROOT" not in bases:
        return document
    made = _Tree(document, [bases[r] if bases[r] in RENAMED or r == "ROOT" else r for r in relation])
    made.convert()
    columns = document.columns | {"relation": tuple(made.relation)}
    return document.with_(columns=columns, heads=np.array(made.heads, dtype=np.int64))


class _Tree:
    """Heads and relations while they change."""

    def __init__(self, document: Document, relation: list[str]) -> None:
        assert document.heads is not None
        self.heads: list[int] = document.heads.tolist()
        self.relation = relation
        self.upos: Sequence[str] = document.columns.get("upos", ("_",) * len(document))
        self.words = [w.lower() for w in document.words]
        self.lemma = [x.lower() for x in document.columns.get("lemma", document.words)]
        self.children = document.children()
        self.clear = any(r in RENAMED for r in relation)

    def convert(self) -> None:
        order = leaves_first(self.heads, self.children)
        for p in order:
            self._preposition(p)
        for b in order:
            self._copula(b)
        if self.clear:
            for i in range(len(self.heads)):
                self._conjunct(i)
        for i, name in enumerate(self.relation):
            self.relation[i] = self._renamed(i, name)

    def _raise(self, low: int, label: str, left: str) -> None:
        """`low` takes its head's place under the relation `label`; the head hangs on it as `left`, the other dependents too."""
        top = self.heads[low]
        above = self.heads[top]
        self.heads[low], self.relation[low] = above, label
        if above >= 0:
            self.children[above].remove(top)
            self.children[above].append(low)
        for c in self.children[top]:
            if c != low:
                self.heads[c] = low
                self.children[low].append(c)
        self.children[top] = []
        self.heads[top], self.relation[top] = low, left
        self.children[low].append(top)

    def _preposition(self, p: int) -> None:
        own = self.relation[p]
        found = [c for c in self.children[p] if self.relation[c] in COMPLEMENTS]
        if not found and own == "prep":  # "out of the house"
            found = [c for c in self.children[p] if self.relation[c] in ("obl", "nmod")]
        if not found:
            return
        low = found[0]
        clause = self.relation[low] == "pcomp" and self.upos[low] in ("VERB", "AUX")
        nominal = self.heads[p] >= 0 and self.upos[self.heads[p]] in NOMINAL
        if own == "agent" and not clause:
            label = "obl:agent"
        elif own in ("prep", "agent", "dative", "pcomp"):
            label = ("acl" if nominal else "advcl") if clause else "nmod" if nominal else "obl"
        else:
            label = own
        self._raise(low, label, "mark" if clause else "case")

    def _copula(self, b: int) -> None:
        found = [c for c in self.children[b] if self.relation[c] in PREDICATES]
        if not found:
            return
        if any(self.relation[c] == "expl" for c in self.children[b]):  # "there is a man"
            self.relation[found[0]] = "nsubj"
        elif self.lemma[b] in BE or self.words[b] in BE:
            self._raise(found[0], self.relation[b], "cop")

    def _conjunct(self, i: int) -> None:
        if self.relation[i] == "conj":
            while self.heads[i] >= 0 and self.relation[self.heads[i]] == "conj":
                self.heads[i] = self.heads[self.heads[i]]
        elif self.relation[i] == "cc" and self.heads[i] >= 0:
            later = [c for c in self.children[self.heads[i]] if c > i and self.relation[c] == "conj"]
            self.heads[i] = min(later, default=self.heads[i])

    def _renamed(self, i: int, name: str) -> str:
        if name == "aux" and self.words[i] == "to" and self.clear:
            return "mark"
        if name == "nmod" and self.clear and self.heads[i] >= 0 and self.upos[self.heads[i]] in ("VERB", "AUX"):
            return "obl"
        return "root" if name == "ROOT" else RENAMED.get(name, name)
