"""Document posteriors against enumeration of all clusterings, and chains."""

from itertools import pairwise, product

import numpy as np
import pytest

from howsure.corpora.conllu import conllu_documents
from howsure.events.documents import Resolved, asked, document_events, given_link, likeliest_chain
from howsure.events.lexicons import actors
from howsure.posteriors.antecedents import AntecedentPosterior

LEXICON = actors("countries")
IRN, IRQ = LEXICON.number("IRN"), LEXICON.number("IRQ")
TEXT = """\
1\tIraqi\tIraqi\tADJ\tJJ\t_\t2\tamod\t_\t_
2\ttroops\ttroop\tNOUN\tNNS\t_\t3\tnsubj\t_\t_
3\tmet\tmeet\tVERB\tVBD\t_\t0\troot\t_\t_
4\tIranians\tIranian\tPROPN\tNNPS\t_\t3\tobj\t_\t_

1\tThey\tthey\tPRON\tPRP\t_\t2\tnsubj\t_\t_
2\tattacked\tattack\tVERB\tVBD\t_\t0\troot\t_\t_
3\tthem\tthey\tPRON\tPRP\t_\t2\tobj\t_\t_

1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tmen\tman\tNOUN\tNNS\t_\t3\tnsubj\t_\t_
3\tattacked\tattack\tVERB\tVBD\t_\t0\troot\t_\t_
"""
SPANS = [(0, 2), (3, 4), (4, 5), (6, 7), (7, 9)]


@pytest.fixture
def resolved():
    rng = np.random.default_rng(7)
    document = next(conllu_documents(enumerate(TEXT.splitlines(), 1), "made", "made"))
    weights = np.tril(rng.random((5, 5)), -1)
    new = rng.random(5)
    total = weights.sum(axis=1) + new
    posterior = AntecedentPosterior(weights / total[:, None], new / total, name="made")
    starts, ends = (np.array([s[k] for s in SPANS]) for k in (0, 1))
    return Resolved(document, starts, ends, posterior)


def enumerated(posterior):
    """P(k entities are agents of actor c), by going through every vector of antecedents."""
    a, new, n = posterior.antecedents, posterior.new, len(posterior)
    described, agents = {0: IRQ, 1: IRN}, (2, 4)
    laws = {IRN: np.zeros(3), IRQ: np.zeros(3)}
    both = 0.0
    for choice in product(*(range(i + 1) for i in range(n))):  # choice i itself: NEW
        p = np.prod([new[i] if c == i else a[i, c] for i, c in enumerate(choice)])
        entity = list(range(n))
        for i, c in enumerate(choice):
            entity[i] = entity[c] if c < i else i
        counts = dict.fromkeys(laws, 0)
        for e in set(entity):
            actors_there = {described[m] for m in described if entity[m] == e}
            if len(actors_there) == 1 and any(entity[j] == e for j in agents):
                counts[actors_there.pop()] += 1
        for c, law in laws.items():
            law[counts[c]] += p
        both += p * (counts[IRN] > 0) * (counts[IRQ] > 0)
    return laws, both


def test_probabilities_equal_enumeration_within_sampling_error(resolved):
    n = 40_000
    made = document_events(resolved, LEXICON, {"attack"}, n_samples=n)
    laws, both = enumerated(resolved.posterior)
    assert {e.actor for e in made.actors} == {IRN, IRQ}
    for e in made.actors:
        expected = laws[e.actor]
        for k, p in enumerate(expected):
            got = e.law[k] if k < len(e.law) else 0.0
            assert abs(got - p) < 5 * np.sqrt(p * (1 - p) / n) + 1e-12
        assert e.probability == pytest.approx(1 - e.law[0])
    ((a, b, joint),) = made.pairs
    assert (a, b) == (IRN, IRQ)
    assert abs(joint - both) < 5 * np.sqrt(both * (1 - both) / n)


def test_the_same_seed_and_name_give_the_same_answer(resolved):
    one, two = (document_events(resolved, LEXICON, {"attack"}, seed=3) for _ in range(2))
    assert one == two
    assert one != document_events(resolved, LEXICON, {"attack"}, seed=4)


def test_chains_tell_agent_verb_evidence_and_the_link(resolved):
    made = document_events(resolved, LEXICON, {"attack"})
    chain = max((c for c in made.chains if c.actor == IRQ), key=lambda c: c.probability)
    assert chain.agent in ((4, 5), (7, 9))
    assert chain.described[0].mention == (0, 2)
    assert (chain.described[0].word, chain.described[0].why) == (0, "amod")
    assert chain.links
    assert chain.with_link > chain.without_link


def test_nothing_to_ask_without_agents_or_actors(resolved):
    document = resolved.document
    assert not asked(document, LEXICON, {"swim"}).needs_entities
    nobody = asked(document, LEXICON.only(["FRA"]), {"attack"})
    assert (len(nobody.agents), nobody.needs_entities) == (2, False)
    assert asked(document, LEXICON, {"attack"}).needs_entities
    assert document_events(resolved, LEXICON, {"swim"}).actors == ()


def test_an_agent_that_is_no_mention_stands_alone():
    lines = "1\tIraq\tIraq\tPROPN\tNNP\t_\t2\tnsubj\t_\t_\n2\tattacked\tattack\tVERB\tVBD\t_\t0\troot\t_\t_\n"
    document = next(conllu_documents(enumerate(lines.splitlines(), 1), "x", "x"))
    none = np.zeros(0, np.int64)
    made = document_events(
        Resolved(document, none, none, AntecedentPosterior(np.zeros((0, 0)), np.zeros(0))), LEXICON, {"attack"}
    )
    assert [(e.actor, e.probability, e.best) for e in made.actors] == [(IRQ, 1.0, 1)]


def test_mentions_around_one_head_are_one_entity():
    lines = "1\tIraqi\tI\tADJ\tJJ\t_\t2\tamod\t_\t_\n2\tmen\tman\tNOUN\tNNS\t_\t3\tnsubj\t_\t_\n3\tattacked\tattack\tVERB\tVBD\t_\t0\troot\t_\t_\n"
    document = next(conllu_documents(enumerate(lines.splitlines(), 1), "x", "x"))
    posterior = AntecedentPosterior(np.zeros((2, 2)), np.ones(2), name="x")
    made = document_events(Resolved(document, np.array([0, 1]), np.array([2, 2]), posterior), LEXICON, {"attack"})
    assert made.actors[0].law == (0.0, 1.0)
    assert len(made.chains) == 1


def chains_by_enumeration(a, i, j):
    """The largest product over all pairs of climbs from i and from j that meet."""

    def climbs(m):
        yield (m,)
        for k in range(m):
            for rest in climbs(k):
                yield (m, *rest)

    def value(path):
        return np.prod([a[x, y] for x, y in pairwise(path)])

    return max(value(p) * value(q) for p in climbs(i) for q in climbs(j) if p[-1] == q[-1])


def test_the_likeliest_chain_has_the_largest_product(resolved):
    a = resolved.posterior.antecedents
    for i, j in ((4, 0), (4, 1), (3, 2), (2, 1)):
        links = likeliest_chain(resolved.posterior, i, j)
        assert np.prod([x.probability for x in links]) == pytest.approx(chains_by_enumeration(a, i, j))
    through = likeliest_chain(resolved.posterior, 4, 0, avoid={1, 2, 3})
    assert [(x.later, x.earlier) for x in through] == [(4, 0)]


def test_conditioning_on_a_link_adds_up(resolved):
    """P(event) = P(link) P(event | link) + P(no link) P(event | no link), for exact pair probabilities."""
    p = resolved.posterior
    link = likeliest_chain(p, 4, 1)[0]
    with_, without = (given_link(p, link, taken).pair(4, 1) for taken in (True, False))
    assert p.pair(4, 1) == pytest.approx(link.probability * with_ + (1 - link.probability) * without)
