"""The events of one document: for each actor the probability that there is one, and the law of how many there are.

Only the mentions that matter are asked for: those that are described as some actor, and those that are agents. Their
entities are drawn from the posterior over clusterings, independently, from a stream that belongs to the document. Why two
mentions are one entity is shown by the likeliest chain of links between them, and by what hangs on one link.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from howsure.corpora.document import Document
from howsure.errors import InputError
from howsure.events.frame import Pair, frame_pairs
from howsure.events.lexicons import Lexicon
from howsure.events.lexicons import alike as alike_verbs
from howsure.events.lexicons import nouns as event_nouns
from howsure.events.roles import EventMention, descriptions, event_mentions
from howsure.events.rules import RULES, Agent, AgentRule, Evidence, agents, evidence, span_heads
from howsure.kernels.cells import Ints
from howsure.kernels.coreference.antecedents import dense
from howsure.posteriors.antecedents import AntecedentPosterior

LEAST_CHAIN = 0.01  # chains below this probability are not reported one by one
LEAST_CONDITIONED = 0.05  # and what hangs on a link is computed from this probability on
LARGEST_CONDITIONED = 2_000  # mentions; beyond, what hangs on a link is not computed


@dataclass(frozen=True, slots=True)
class Link:
    """Mention `later` takes `earlier` for its antecedent with this probability."""

    later: int
    earlier: int
    probability: float


def antecedent_row(posterior: AntecedentPosterior, i: int) -> NDArray[np.float64]:
    """The probabilities of mention i's antecedents 0 … i-1."""
    return dense(posterior.antecedents[i : i + 1])[0, :i]


def likeliest_chain(posterior: AntecedentPosterior, i: int, j: int, avoid: Collection[int] = ()) -> tuple[Link, ...]:
    """The links of largest product that join mentions i and j, latest first; none when nothing joins them.

    It does not lead through the mentions in `avoid`.

    Either mention climbs to an antecedent that both reach: the best product down to every mention is found by one pass
    from the later mentions to the earlier ones.
    """
    if i == j:
        return ()
    shared = min(i, j) + 1
    direct = 0.0 if {i, j} & set(avoid) else float(antecedent_row(posterior, max(i, j))[shared - 1])
    reach, back = zip(*(_climb(posterior, m, avoid, direct) for m in (i, j)), strict=True)
    product = reach[0][:shared] * reach[1][:shared]
    meeting = int(np.argmax(product))
    if product[meeting] <= 0.0:
        return ()
    links = []
    for start, came_from in zip((i, j), back, strict=True):
        at = meeting
        while at != start:
            later = int(came_from[at])
            links.append(Link(later, at, float(antecedent_row(posterior, later)[at])))
            at = later
    return tuple(sorted(links, key=lambda link: (-link.later, link.earlier)))


def _climb(
    posterior: AntecedentPosterior, start: int, avoid: Collection[int], least: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The largest product of links from `start` up to each earlier mention, and the mention before it on that way.

    Ways below `least` are not followed: a product only falls.
    """
    value, came_from = np.zeros(start + 1), np.full(start + 1, -1, np.int64)
    value[start] = 1.0
    for m in range(start, 0, -1):
        if value[m] > 0.0 and value[m] >= least and m not in avoid:
            way = value[m] * antecedent_row(posterior, m)
            better = way > value[:m]
            value[:m][better] = way[better]
            came_from[:m][better] = m
    value[[m for m in avoid if m < start]] = 0.0
    return value, came_from


def given_link(posterior: AntecedentPosterior, link: Link, taken: bool) -> AntecedentPosterior:
    """The posterior when a link is known to be there, or known not to be."""
    a, new = np.array(dense(posterior.antecedents)), np.array(posterior.new)
    row = a[link.later]
    if taken:
        row[:] = 0.0
        row[link.earlier], new[link.later] = 1.0, 0.0
    else:
        row[link.earlier] = 0.0
        left = row.sum() + new[link.later]
        row /= left or 1.0
        new[link.later] = new[link.later] / left if left else 1.0
    return AntecedentPosterior(a, new, name=posterior.name)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A parsed document with its mentions (spans of tokens) and the posterior over the clusterings of the first of them."""

    document: Document
    starts: Ints
    ends: Ints
    posterior: AntecedentPosterior

    def __post_init__(self) -> None:
        if not len(self.starts) == len(self.ends) >= len(self.posterior):
            sizes = f"{len(self.starts)} mentions, but a posterior of {len(self.posterior)}"
            raise InputError(f'document "{self.document.name}": {sizes}.')


@dataclass(frozen=True, slots=True)
class ActorEvents:
    """`law[k]` = P(k entities of the actor are agents); `probability` = P(one or more); `best` by the one best clustering."""

    actor: int
    probability: float
    law: tuple[float, ...]
    best: int


@dataclass(frozen=True, slots=True)
class Described:
    """A mention described as the actor: the word that says so and why, and P(it is in the agent's entity)."""

    mention: tuple[int, int]
    word: int
    why: str
    together: float


@dataclass(frozen=True, slots=True)
class Chain:
    """An agent that counts for an actor, with this probability.

    `described` are the mentions that say so, the likeliest first; `links` join the agent to the first of them.
    `uncertain` is the link nearest ½ in probability: with it the document's event has probability `with_link`, without
    it `without_link`.
    """

    actor: int
    probability: float
    agent: tuple[int, int]
    verb: int
    rule: str
    described: tuple[Described, ...]
    links: tuple[tuple[tuple[int, int], tuple[int, int], float], ...]
    uncertain: int | None = None
    with_link: float | None = None
    without_link: float | None = None
    best: bool = False


@dataclass(frozen=True, slots=True)
class DocumentEvents:
    """What the rules find in a document: actors, pairs of actors with P(both), chains.

    `n_mentions` is -1 where the mentions were not looked for.
    """

    actors: tuple[ActorEvents, ...]
    pairs: tuple[tuple[int, int, float], ...]
    chains: tuple[Chain, ...]
    n_mentions: int
    n_agents: int


@dataclass(frozen=True, slots=True)
class _Matter:
    """The mentions that matter; beyond the document's own come agents that are none, each alone."""

    mention: Ints  # number of each; -1 for an agent that is no mention
    token: Ints  # the head of each
    span: list[tuple[int, int]]
    low: Ints  # the least and the largest actor that describes it; no actor: low > high
    high: Ints
    is_agent: NDArray[np.bool_]
    evidence: list[list[Evidence]]
    agent: dict[int, Agent]  # the first of each token


@dataclass(frozen=True, slots=True)
class Asked:
    """What the parse alone says: agents of the verbs and words of actors, by the rules; and for the frame all events and actors."""

    agents: list[Agent]
    evidence: list[Evidence]
    mentions: list[EventMention] = field(default_factory=list)
    alike: list[EventMention] = field(default_factory=list)  # events of verbs that are alike
    named: list[Evidence] = field(default_factory=list)

    @property
    def needs_entities(self) -> bool:
        """Whether anything hangs on who is who."""
        return bool(self.agents and self.evidence)


def asked(
    document: Document,
    lexicon: Lexicon,
    verbs: Collection[str],
    rules: tuple[AgentRule, ...] | None = RULES["paper"],
    patients: bool = False,
) -> Asked:
    """Agents and actors of a parsed document, before its entities are known. No rules: agents by their roles (`roles.py`)."""
    named, (nouns, near, near_nouns) = descriptions(document, lexicon), _words_of(tuple(verbs))
    wanted = ({*verbs, *near}, nouns | near_nouns) if named else (verbs, nouns)
    every = event_mentions(document, *wanted)
    if patients:  # whom it is done to takes the place of who does it
        every = [replace(m, agents=m.patients, patients=m.agents) for m in every]
    own = [m.lemma in (verbs if m.kind == "verb" else nouns) for m in every]
    mentions, alike = ([m for m, o in zip(every, own, strict=True) if o is side] for side in (True, False))
    if rules:
        found = agents(document, verbs, rules)
        said = evidence(document, lexicon) if found else []
    else:
        roles = {(r.token, m.token): r.how for m in reversed(mentions) if m.asserted for r in reversed(m.agents)}
        found, said = [Agent(token, verb, roles[token, verb]) for token, verb in sorted(roles)], named
    return Asked(found, said, mentions, alike, named)


@cache
def _words_of(verbs: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    nouns, near = frozenset(event_nouns(verbs)), alike_verbs(verbs)
    return nouns, frozenset(near), frozenset(event_nouns(near)) - nouns


def pair_rows(
    document: Document,
    known: Asked,
    resolved: Resolved | None,
    lexicon: Lexicon,
    n_samples: int,
    seed: int,
    found: DocumentEvents | None = None,
    temperature: float = 1.0,
) -> list[Pair]:
    """The document's rows of the frame: every actor that it names. `found` is the answer at `temperature`, where it is known."""
    answers: list[dict[int, float]] = []
    for wanted in (1.0, 2.0):
        if found is not None and wanted == temperature:
            answers.append({e.actor: e.probability for e in found.actors})
        elif resolved is not None and known.needs_entities:
            matter = _that_matter(resolved, known.agents, known.evidence, len(lexicon.actors))
            warm = resolved.posterior.tempered(wanted / temperature)
            actor, first = _agents_actors(_roots(warm, matter, n_samples, seed), matter)
            counts = _counts(actor, first, _described_jointly(document, known))
            answers.append({c: float(np.mean(k > 0)) for c, k in counts.items()})
        else:
            answers.append({})
    return frame_pairs(document, known.mentions, known.named, answers[0], answers[1], known.alike)


def document_events(
    resolved: Resolved,
    lexicon: Lexicon,
    verbs: Collection[str],
    rules: tuple[AgentRule, ...] = RULES["paper"],
    n_samples: int = 400,
    seed: int = 0,
    describe: bool = True,
    known: Asked | None = None,
) -> DocumentEvents:
    """The events of one document. Without `describe` its chains are left out; `known` is what `asked` has said."""
    said = known or asked(resolved.document, lexicon, verbs, rules)
    if not said.needs_entities:
        return DocumentEvents((), (), (), len(resolved.starts), len(said.agents))
    matter = _that_matter(resolved, said.agents, said.evidence, len(lexicon.actors))
    roots = _roots(resolved.posterior, matter, n_samples, seed)
    actor, first = _agents_actors(roots, matter)
    best_actor, best_first = _agents_actors(_roots(resolved.posterior, matter, 0, seed), matter)
    joint = _described_jointly(resolved.document, said)
    counts = _counts(actor, first, joint, best_actor)
    made, pairs = [], []
    for c, k in counts.items():
        best = max(int(((best_actor == c) & best_first).sum()), int(c in joint))
        made.append(ActorEvents(c, float(np.mean(k > 0)), tuple((np.bincount(k) / n_samples).tolist()), best))
    for a, b in ((a, b) for a in counts for b in counts if a < b):
        both = float(np.mean((counts[a] > 0) & (counts[b] > 0)))
        if both > 0.0:
            pairs.append((a, b, both))
    chains = _chains(resolved, matter, roots, actor, best_actor, n_samples, seed) if describe else ()
    return DocumentEvents(tuple(made), tuple(pairs), chains, len(resolved.starts), len(said.agents))


def _counts(actor: Ints, first: NDArray[np.bool_], joint: set[int], best: Ints | None = None) -> dict[int, Ints]:
    """How many entities of each actor are agents, in each sample; of actors of the best clustering too."""
    possible = {*actor.ravel().tolist(), *joint, *(() if best is None else best.ravel().tolist())} - {-1}
    counts = {c: ((actor == c) & first).sum(axis=1) for c in sorted(possible)}
    return counts | {c: np.maximum(counts[c], 1) for c in joint}


def _described_jointly(document: Document, said: Asked) -> set[int]:
    """Actors of agents that are of several at once, in so many words: "Iraqi and Jordanian troops" are both."""
    relation, acting = document.columns["relation"], {a.token for a in said.agents}
    joint = {e.token for e in said.evidence if e.token in acting and e.word != e.token and relation[e.word] == "conj"}
    return {e.actor for e in said.evidence if e.token in joint}


def _that_matter(resolved: Resolved, found: list[Agent], said: list[Evidence], n_actors: int) -> _Matter:
    heads = span_heads(resolved.document, resolved.starts, resolved.ends)
    by_token: dict[int, list[Evidence]] = {}
    for e in said:
        by_token.setdefault(e.token, []).append(e)
    agent_at = {a.token: a for a in reversed(found)}
    wanted = np.flatnonzero(np.isin(heads, [*by_token, *agent_at])).tolist()
    alone = sorted(set(agent_at) - set(heads[wanted].tolist()))
    tokens = [int(heads[m]) for m in wanted] + alone
    matches = [by_token.get(t, []) for t in tokens]
    return _Matter(
        np.array(wanted + [-1] * len(alone), dtype=np.int64),
        np.array(tokens, dtype=np.int64),
        [(int(resolved.starts[m]), int(resolved.ends[m])) for m in wanted] + [(t, t + 1) for t in alone],
        np.array([min((e.actor for e in t), default=n_actors) for t in matches], dtype=np.int64),
        np.array([max((e.actor for e in t), default=-1) for t in matches], dtype=np.int64),
        np.array([t in agent_at for t in tokens]),
        matches,
        agent_at,
    )


def _roots(posterior: AntecedentPosterior, matter: _Matter, n: int, seed: int) -> Ints:
    """The entity of each mention that matters in each sample, shape (n, M); agents that are no mention have their own.

    With no samples they are those of the one best clustering, (1, M).
    """
    own, inside = np.arange(len(matter.mention)) + len(posterior), matter.mention >= 0
    made, asked = np.broadcast_to(own, (max(n, 1), len(own))).copy(), matter.mention[inside]
    if inside.any():
        made[:, inside] = posterior.ask(asked, n, seed) if n else posterior.best()[asked]
    return made


def _agents_actors(roots: Ints, matter: _Matter) -> tuple[Ints, NDArray[np.bool_]]:
    """For each sample and agent the one actor of its entity, or -1; and whether it is the entity's first agent.

    Mentions that nest around one head ("the men", "the men who came") are one agent: the first of an actor counts.
    """
    columns = np.flatnonzero(matter.is_agent)
    speaking = np.flatnonzero(matter.high >= 0)
    none = np.iinfo(np.int64).max
    actor = np.full((len(roots), len(columns)), -1, np.int64)
    first = np.ones((len(roots), len(columns)), bool)
    for k, j in enumerate(columns.tolist()):
        same = roots[:, speaking] == roots[:, j : j + 1]
        low = np.where(same, matter.low[speaking], none).min(axis=1, initial=none)
        high = np.where(same, matter.high[speaking], -1).max(axis=1, initial=-1)
        actor[:, k] = np.where(low == high, high, -1)
        if k:
            first[:, k] = ~(roots[:, columns[:k]] == roots[:, j : j + 1]).any(axis=1)
            nested = np.flatnonzero(matter.token[columns[:k]] == matter.token[j])
            first[:, k] &= ~(actor[:, nested] == actor[:, k : k + 1]).any(axis=1)
    return actor, first


def _chains(
    resolved: Resolved, matter: _Matter, roots: Ints, actor: Ints, best: Ints, n_samples: int, seed: int
) -> tuple[Chain, ...]:
    made = []
    spans = list(zip(resolved.starts.tolist(), resolved.ends.tolist(), strict=True))
    for k, j in enumerate(np.flatnonzero(matter.is_agent).tolist()):
        for c in np.unique(actor[:, k][actor[:, k] >= 0]).tolist():
            is_event = actor[:, k] == c
            probability = float(is_event.mean())
            if probability < LEAST_CHAIN:
                continue
            described = []
            for e in np.flatnonzero((matter.low <= c) & (matter.high >= c)).tolist():
                together = float((is_event & (roots[:, e] == roots[:, j])).mean())
                word = next((x for x in matter.evidence[e] if x.actor == c), None)
                if together > 0.0 and word is not None:
                    described.append((e, Described(matter.span[e], word.word, word.why, together)))
            described.sort(key=lambda d: (-d[1].together, d[1].mention))
            others = (matter.low <= matter.high) & ((matter.low != c) | (matter.high != c))
            first, last = matter.mention[[j, described[0][0]]].tolist()
            avoid = set(matter.mention[others].tolist())
            links = likeliest_chain(resolved.posterior, first, last, avoid) if min(first, last) >= 0 else ()
            few = len(spans) <= LARGEST_CONDITIONED
            worth = links if few and probability >= LEAST_CONDITIONED else ()
            hangs_on = _hangs_on(resolved.posterior, matter, worth, c, n_samples, seed)
            joined = tuple((spans[x.later], spans[x.earlier], x.probability) for x in links)
            agent, words = matter.agent[int(matter.token[j])], tuple(d for _, d in described)
            why = agent.verb, agent.rule, words, joined, *hangs_on
            made.append(Chain(c, probability, matter.span[j], *why, bool(best[0, k] == c)))
    made.sort(key=lambda chain: (chain.actor, -chain.probability, chain.agent))
    likeliest: dict[tuple[int, int], Chain] = {}
    for chain in made:  # of mentions that nest around one head, the likeliest
        likeliest.setdefault((chain.actor, chain.verb), chain)
    return tuple(likeliest.values())


def _hangs_on(
    posterior: AntecedentPosterior, matter: _Matter, links: tuple[Link, ...], actor: int, n: int, seed: int
) -> tuple[int | None, float | None, float | None]:
    """The link nearest ½, and the probability of the document's event with and without it."""
    if not links:
        return None, None, None
    at = min(range(len(links)), key=lambda i: (abs(links[i].probability - 0.5), i))
    answers = []
    for taken in (True, False):
        changed = given_link(posterior, links[at], taken)
        found, _ = _agents_actors(_roots(changed, matter, n, seed), matter)
        answers.append(float((found == actor).any(axis=1).mean()))
    return at, answers[0], answers[1]
