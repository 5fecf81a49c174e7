"""Pipelines against the enumeration of everything that the stages may say."""

from itertools import product

import numpy as np
import pytest

import howsure
from howsure import AntecedentPosterior, ChainPosterior, InputError, TreePosterior
from howsure.corpora.document import Document
from howsure.models.parsers.arcs import train_arcs
from howsure.models.taggers.hmm import HmmCounts
from howsure.posteriors.trees import is_projective, is_tree

RNG = np.random.default_rng(11)
SCORES, PAIRS = RNG.normal(size=(3, 2)) * 1.5, RNG.normal(size=(2, 2))
ARCS = RNG.normal(size=(2, 2, 4, 3)) * 1.5  # by the tags of the first two words
LINKS = RNG.normal(size=(4, 3))  # by the root


def tagger(text):
    return ChainPosterior(SCORES, PAIRS, tags=("D", "N"))


def parser(tags):
    return TreePosterior(ARCS["DN".index(tags[0]), "DN".index(tags[1])], projective=True)


def coref(tree):
    root = int(np.flatnonzero(tree.heads == 0)[0])
    return AntecedentPosterior.from_scores(np.tril(LINKS[:3] + root, -1), LINKS[3] - root)


def event(entities):
    return {True: 0.9, False: 0.1} if entities[2] == entities[0] else False


def enumerated():
    """P(the last two mentions are one entity) over all tags and trees, and P(event) over all clusterings too."""
    tags = tagger("")
    trees = [np.array(h) for h in product(range(4), repeat=3) if is_tree(np.array(h)) and is_projective(np.array(h))]
    pair = happens = 0.0
    for y in product(range(2), repeat=3):
        p = parser(["DN"[c] for c in y])
        for heads in trees:
            weight = float(np.exp(tags.log_probability(np.array(y)).sum() + p.log_probability(heads)))
            a = coref(type("Tree", (), {"heads": heads}))
            pair += weight * a.pair(1, 2)
            for clusters in ([0, 0, 0], [0, 0, 2], [0, 1, 0], [0, 1, 1], [0, 1, 2]):
                happens += weight * a.probability(clusters) * 0.9 * (clusters[2] == clusters[0])
    return pair, happens


PAIR, HAPPENS = enumerated()


def together(posterior, given):
    return posterior.pair(1, 2)


def is_event(posterior, given):
    return posterior[True] if isinstance(posterior, dict) else 0.0


def test_exact_is_enumeration():
    made = howsure.pipeline([tagger, parser, coref], mode="exact")("x")
    assert made.ask(together) == pytest.approx(PAIR, abs=1e-11)
    assert made.covered == pytest.approx(1.0, abs=1e-11)
    made = howsure.pipeline([tagger, parser, coref, event], mode="exact")("x")
    assert made.ask(is_event) == pytest.approx(HAPPENS, abs=1e-11)


def test_samples_converge_to_enumeration_and_say_how_far_they_are():
    made = howsure.pipeline([tagger, parser, coref], n=4_000)("x")
    error = made.simulation_error(together)
    assert 0.0 < error < 0.01
    assert abs(made.ask(together) - PAIR) < 5.0 * error
    four = howsure.pipeline([tagger, parser, coref, event], n=4_000)("x")
    assert abs(four.ask(is_event) - HAPPENS) < 5.0 * four.simulation_error(is_event)


def test_errors_of_samples_are_as_large_as_they_say():
    run = howsure.pipeline([tagger, parser, coref], n=30)
    made = [run("x", rng=seed) for seed in range(200)]
    z = np.array([(m.ask(together) - PAIR) / m.simulation_error(together) for m in made])
    assert 0.8 < np.sqrt(np.mean(z**2)) < 1.25


def test_k_best_bounds_the_answer():
    widths = []
    for k in (1, 3, 20, 200):
        made = howsure.pipeline([tagger, parser, coref], mode="kbest", n=k)("x")
        low = made.covered * made.ask(together)
        assert low - 1e-12 <= PAIR <= low + 1.0 - made.covered + 1e-12
        widths.append(1.0 - made.covered)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 1e-9


def test_best_hands_on_the_best_of_each_stage():
    made = howsure.pipeline([tagger, parser, coref], mode="best")("x")
    tags = tagger("").names(tagger("").best().tags[:, 0])
    assert len(made.parts) == 1
    assert made.ask(together) == coref(parser(tags).best()).pair(1, 2)


def test_a_seed_decides():
    run = howsure.pipeline([tagger, parser, coref], n=7)
    assert run("x", rng=1).ask(together) == run("x", rng=1).ask(together)
    assert run("x", rng=1).ask(together) != run("x", rng=2).ask(together)


def test_a_pipeline_is_a_stage():
    inner = howsure.pipeline([tagger, parser], mode="exact")
    made = howsure.pipeline([inner, coref], mode="kbest", n=500)("x")
    assert made.ask(together) == pytest.approx(PAIR, abs=1e-9)


def test_a_long_chain_of_functions_does_not_grow():
    step = lambda x: {x: 0.5, (x + 1) % 3: 0.5}  # noqa: E731
    made = howsure.pipeline([step] * 30, mode="exact")(0)
    assert len(made.parts) == 3
    assert made.ask(lambda p, x: p.get(0, 0.0)) == pytest.approx(1 / 3, abs=1e-6)


def test_what_cannot_be_listed_is_refused():
    long = lambda text: ChainPosterior(np.zeros((20, 2)), np.zeros((2, 2)))  # noqa: E731
    with pytest.raises(InputError, match=r"stage 1 .* too many outcomes"):
        howsure.pipeline([long, len], mode="exact")("x")


def test_a_stage_without_outcomes_is_named():
    class Nothing:
        def k_best(self, k):
            return []

        def samples(self, n, rng):
            return []

    with pytest.raises(InputError, match=r"stage 1 .* has no outcome"):
        howsure.pipeline([lambda x: Nothing(), len], mode="kbest")("x")


@pytest.mark.parametrize(
    ("stages", "options", "said"),
    [
        ([], {}, "one stage at least"),
        ([3], {}, "got int"),
        ([len], {"mode": "all"}, "`mode=` is best"),
        ([len], {"n": 0}, "`n"),
        (["nothing.npz"], {}, "no file nothing.npz"),
    ],
)
def test_bad_pipelines_are_refused(stages, options, said):
    with pytest.raises(InputError, match=said):
        howsure.pipeline(stages, **options)


WORDS = ("the", "dog", "saw", "a", "man", "it", "ran")
DOCUMENT = Document("d", WORDS, np.array([0, 5, 7]), {"upos": ("DET", "NOUN", "VERB", "DET", "NOUN", "PRON", "VERB")})


def models():
    gold = DOCUMENT.with_(
        heads=np.array([1, 2, -1, 4, 2, 6, -1]),
        columns=DOCUMENT.columns | {"relation": ("det", "nsubj", "root", "det", "obj", "nsubj", "root")},
    )
    other = gold.with_(columns=gold.columns | {"upos": ("DET", "VERB", "NOUN", "DET", "NOUN", "PRON", "VERB")})
    both = HmmCounts([*WORDS, *WORDS], [0, 5, 7, 12, 14], [*gold.column("upos"), *other.column("upos")])
    return both.fit(pseudocount=0.5), train_arcs([gold, other], epochs=2, bits=12, label_bits=8)


def test_a_tagger_and_a_parser_are_stages_that_hand_on_documents():
    hmm, arcs = models()
    made = howsure.pipeline([hmm, arcs], n=50)(DOCUMENT)
    assert sum(p.weight for p in made.parts) == pytest.approx(1.0)
    assert {p.given.columns["upos"][1] for p in made.parts} >= {"NOUN", "VERB"}
    for part in made.parts:  # the parser's features are those of the tags that it was given
        (alone, _) = arcs.posteriors([part.given])
        assert part.posterior[0].marginals() == pytest.approx(alone.marginals())
    q = made.ask(lambda trees, given: trees[0].marginals())
    assert q.sum(axis=0) == pytest.approx(np.ones(5))


def test_trees_go_on_to_mentions_and_entities():
    hmm, arcs = models()
    run = howsure.pipeline([hmm, arcs, "coref"], n=10)
    made = run(DOCUMENT)
    assert all(p.given.heads is not None and p.given.mentions is not None for p in made.parts)
    found = howsure.span_pairs(made)
    assert found.together.shape == (len(found.spans),) * 2
    assert (found.together <= np.minimum(found.present, found.present[:, None]) + 1e-12).all()
    (part, *_) = made.parts
    spans = [(m.start, m.end) for m in part.given.mentions]
    alone = howsure.span_pairs(howsure.MixturePosterior((part,)))
    assert list(alone.spans) == spans
    assert howsure.pipeline([hmm, arcs, "coref"], n=10)(DOCUMENT).covered == pytest.approx(1.0)
    said = howsure.pipeline([hmm, arcs, "coref", lambda d: len({m.entity for m in d.mentions})], n=10)(DOCUMENT)
    assert said.ask(lambda n, given: n) == pytest.approx(sum(p.weight * p.posterior for p in said.parts))


def test_models_take_documents_only():
    hmm, _ = models()
    with pytest.raises(InputError, match="takes documents"):
        howsure.pipeline([hmm, len])("a text")
    with pytest.raises(InputError, match="not the posteriors of a coreference model"):
        howsure.span_pairs(howsure.pipeline([hmm])(DOCUMENT))
