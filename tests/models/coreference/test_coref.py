"""The mention-ranking model: features by hand, the gradient by differences, learning a rule, saving."""

import sys
from pathlib import Path

import numpy as np
import pytest

from howsure.corpora.document import Document, Mention
from howsure.errors import InputError
from howsure.kernels.coreference import ranking as coref_scores
from howsure.kernels.coreference import ranking_compiled as coref_compiled
from howsure.models.coreference.attributes import KINDS, attributes
from howsure.models.coreference.features import TEMPLATES, features, templates, vocabulary
from howsure.models.coreference.mentions import detect_mentions, mention_heads
from howsure.models.coreference.ranker import (
    CorefModel,
    b_cubed,
    fit_coref,
    fit_cut,
    fit_temperature,
    gold_clusters,
    ordered,
    pair_brier,
    tuned,
)
from howsure.models.coreference.relations import RELATIONS, Pairs
from howsure.models.saved import save_model
from howsure.posteriors.antecedents import AntecedentPosterior

sys.path.insert(0, str(Path(__file__).parents[1]))
from coref_stories import story


@pytest.fixture(scope="module")
def model():
    return fit_coref([story(k) for k in range(60)], least_count=3)


def tiny():
    """`The old captain of the ship , Ann Lee , said she likes Ann 's ship .` with a parse."""
    words = [
        "The",
        "old",
        "captain",
        "of",
        "the",
        "ship",
        ",",
        "Ann",
        "Lee",
        ",",
        "said",
        "she",
        "likes",
        "Ann",
        "'s",
        "ship",
        ".",
    ]
    upos = [
        "DET",
        "ADJ",
        "NOUN",
        "ADP",
        "DET",
        "NOUN",
        "PUNCT",
        "PROPN",
        "PROPN",
        "PUNCT",
        "VERB",
        "PRON",
        "VERB",
        "PROPN",
        "PART",
        "NOUN",
        "PUNCT",
    ]
    xpos = ["DT", "JJ", "NN", "IN", "DT", "NN", ",", "NNP", "NNP", ",", "VBD", "PRP", "VBZ", "NNP", "POS", "NN", "."]
    relation = [
        "det",
        "amod",
        "nsubj",
        "case",
        "det",
        "nmod",
        "punct",
        "appos",
        "flat",
        "punct",
        "root",
        "nsubj",
        "ccomp",
        "nmod:poss",
        "case",
        "obj",
        "punct",
    ]
    heads = [2, 2, 10, 5, 5, 2, 7, 2, 7, 2, -1, 12, 10, 15, 13, 12, 10]
    columns = {
        "upos": tuple(upos),
        "xpos": tuple(xpos),
        "relation": tuple(relation),
        "lemma": tuple(w.lower() for w in words),
    }
    return Document("tiny", tuple(words), np.array([0, len(words)]), columns, np.array(heads))


def test_mentions_are_found_in_a_parse():
    d = tiny()
    found = {" ".join(d.words[m.start : m.end]) for m in detect_mentions(d)}
    for expected in (
        "The old captain of the ship , Ann Lee",
        "The old captain of the ship",
        "the ship",
        "Ann Lee",
        "she",
        "Ann 's",
        "Ann 's ship",
    ):
        assert expected in found, expected
    assert "said" not in found
    assert "Lee" not in found


def test_heads_are_what_the_rest_hangs_on():
    d = tiny()
    spans = [Mention(0, 9, ""), Mention(4, 6, ""), Mention(7, 9, ""), Mention(13, 16, "")]
    assert mention_heads(d, spans).tolist() == [2, 5, 7, 15]
    assert mention_heads(d.with_(heads=None), spans).tolist() == [2, 5, 8, 15]


def test_relations_by_hand():
    d = tiny()
    mentions = [
        Mention(0, 6, ""),
        Mention(4, 6, ""),
        Mention(7, 9, ""),
        Mention(11, 12, ""),
        Mention(13, 15, ""),
        Mention(13, 16, ""),
    ]
    mentions = ordered(d, mentions)
    texts = [" ".join(d.words[m.start : m.end]) for m in mentions]
    p = Pairs(attributes(d, mentions))
    at = {(texts[i], texts[j]): (i, j) for i, j in zip(*np.nonzero(p.below), strict=True)}

    def code(name, later, earlier):
        return int(RELATIONS[name](p)[at[later, earlier]])

    captain = "The old captain of the ship"
    assert code("head-match", "Ann 's ship", "the ship") == 2
    assert code("exact-match", "Ann 's ship", "the ship") == 0
    assert code("head-match", "Ann 's ship", captain) == 0
    assert code("head-inside", "Ann 's", "Ann Lee") == 3
    assert code("nesting", "the ship", captain) == 1
    assert code("nesting", "she", captain) == 0
    assert code("syntax", "Ann Lee", captain) == 1
    assert code("gender", "she", "Ann Lee") == 5  # the same, by a full name
    assert code("gender", "she", "the ship") == 14  # different, by the class of the noun
    assert code("number", "she", "Ann Lee") == 1
    assert code("word-overlap", "Ann 's", "Ann Lee") == 3
    assert code("mention-distance", "she", captain) == 3
    assert KINDS[attributes(d, mentions).kind[texts.index("she")]] == "she"


def test_templates_are_switched_off_by_name():
    used = templates(["head", "speaker"])
    assert "head" not in used.mention
    assert "speaker" not in used.relation
    assert "heads" not in used.cross
    assert "governors" in used.cross
    assert len(TEMPLATES) == len(set(TEMPLATES))
    with pytest.raises(InputError, match="Did you mean `head-match`"):
        templates(["headmatch"])


def made(d, known=None):
    used = templates()
    known = vocabulary([d], 1) if known is None else known
    return features(d, d.mentions, known, used), used


def test_compiled_scores_equal_numpy_scores():
    f, used = made(story(1))
    w = np.random.default_rng(0).normal(size=1 << 16).astype(np.float32)
    plain = coref_scores.scores(f.kind, f.values, f.codes, used.crossed, w, 48)
    compiled = coref_compiled.scores(f.kind, f.values, f.codes, used.crossed, w, 48)
    np.testing.assert_allclose(plain[0], compiled[0], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(plain[1], compiled[1], rtol=1e-5, atol=1e-4)
    # Weights of half precision, as a model's are, have exact sums: either kernel may score a document.
    given = (f.kind, f.values, f.codes, used.crossed, w.astype(np.float16).astype(np.float32), 48)
    for one, other in zip(coref_scores.scores(*given), coref_compiled.scores(*given), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_posterior_is_the_same_with_compiled_kernels_and_without(model, monkeypatch):
    d = story(205)
    made = []
    for loaded in (True, False):
        with monkeypatch.context() as patch:
            if not loaded:
                patch.delitem(sys.modules, "numba")
            made.append(model.posterior(d))
    np.testing.assert_array_equal(made[0].antecedents, made[1].antecedents)
    np.testing.assert_array_equal(made[0].new, made[1].new)


def test_the_first_mentions_alone_have_the_rows_they_have_among_all(model):
    document = story(3)
    mentions = model.candidates(document, "predicted" if document.mentions is None else "gold")
    whole = model.posterior(document, mentions)
    for n in (0, 1, len(mentions) // 2, len(mentions)):
        part = model.posterior(document, mentions, n)
        assert len(part) == n
        np.testing.assert_allclose(part.antecedents, whole.antecedents[:n, :n], atol=1e-6)
        np.testing.assert_allclose(part.new, whole.new[:n], atol=1e-6)


def loss(f, used, gold, w, costs=(0, 0, 0)):
    """-Σ log P(a_i among gold antecedents), from the NumPy scores, with costs."""
    pair, new = coref_scores.scores(f.kind, f.values, f.codes, used.crossed, w, 64 - 16)
    total = 0.0
    for i in range(len(new)):
        row = pair[i * (i - 1) // 2 : i * (i - 1) // 2 + i].copy()
        good = gold[:i] == gold[i]
        row[~good] += costs[1] if good.any() else costs[2]
        start = new[i] + (costs[0] if good.any() else 0.0)
        top = np.logaddexp.reduce(np.append(row, start))
        total += top - (np.logaddexp.reduce(row[good]) if good.any() else start)
    return total


@pytest.mark.parametrize("costs", [(0.0, 0.0, 0.0), (3.0, 1.0, 0.1)])
def test_the_gradient_equals_differences_of_the_loss(costs):
    """AdaGrad's sum of squares after one step is the gradient squared; checked at the 40 most moved weights."""
    d = story(2)
    f, used = made(d)
    gold = gold_clusters(d, d.mentions)
    trainer = coref_compiled.Trainer(16)
    trainer.w[:] = np.random.default_rng(1).normal(size=1 << 16).astype(np.float32) * 0.05
    before = trainer.w.copy()
    pair, new = coref_scores.scores(f.kind, f.values, f.codes, used.crossed, before, 48)
    d_pair, d_new, reported = coref_compiled.differences(pair, new, gold, np.array(costs))
    trainer.step(f.kind, f.values, f.codes, used.crossed, d_pair, d_new, 0.1, 0.0)
    assert reported == pytest.approx(loss(f, used, gold, before, costs), rel=1e-4)
    for at in np.argsort(-trainer.squares)[:40]:
        up, down = before.astype(np.float64), before.astype(np.float64)
        up[at] += 1e-4
        down[at] -= 1e-4
        slope = (loss(f, used, gold, up, costs) - loss(f, used, gold, down, costs)) / 2e-4
        assert trainer.squares[at] == pytest.approx(slope**2, rel=0.02)
        assert np.sign(before[at] - trainer.w[at]) == np.sign(slope)


def test_it_learns_what_pronouns_mean(model):
    right = n = 0
    for k in range(200, 220):
        d = story(k)
        gold = gold_clusters(d, d.mentions)
        best = model.posterior(d).best()
        right += ((best[:, None] == best[None, :]) == (gold[:, None] == gold[None, :])).sum()
        n += len(gold) ** 2
    assert right / n > 0.9


def test_a_saved_model_is_the_same_model(model, tmp_path):
    model = model.with_temperature(1.3)
    model.save(tmp_path / "m.npz")
    again = CorefModel.load(tmp_path / "m.npz")
    d = story(300)
    np.testing.assert_array_equal(model.posterior(d).pairs(), again.posterior(d).pairs())
    assert (again.mentions, again.keeps_singletons, again.temperature) == ("gold", model.keeps_singletons, 1.3)
    save_model(tmp_path / "old.npz", "coref", 99, {}, {})
    with pytest.raises(InputError, match="version 99 of the coref format"):
        CorefModel.load(tmp_path / "old.npz")


def test_the_same_seed_gives_the_same_weights():
    one, other = (fit_coref([story(k) for k in range(5)], epochs=2, bits=16, rng=s) for s in (3, 3))
    np.testing.assert_array_equal(one.weights, other.weights)


def test_temperature_is_found_where_the_loss_is_least():
    """Scores made too sharp by a factor of 3 are cooled by about 3: clusterings are drawn from the right posterior."""
    rng = np.random.default_rng(0)
    sharp, gold = [], []
    for k in range(60):
        scores, new = rng.normal(size=(12, 12)), rng.normal(size=12)
        right = AntecedentPosterior.from_scores(scores, new, name=str(k))
        gold.append(right.samples(1, k)[0].astype(np.int64))
        sharp.append(AntecedentPosterior.from_scores(3 * scores, 3 * new, name=str(k)))
    for objective in ("likelihood", "brier"):
        t = fit_temperature(sharp, gold, objective)
        assert 2.4 < t < 3.8
    assert pair_brier([p.tempered(3.0) for p in sharp], gold) < pair_brier(sharp, gold)
    with pytest.raises(InputError, match="likelihood or brier"):
        fit_temperature(sharp, gold, "ece")


def test_a_model_is_tuned_to_found_mentions():
    made = fit_coref([story(k) for k in range(20)], epochs=1, bits=16, mentions="predicted")
    held = [story(k) for k in range(20, 28)]
    found = [detect_mentions(d) for d in held]
    raw = [made.posterior(d, m, temperature=1.0) for d, m in zip(held, found, strict=True)]
    gold = [gold_clusters(d, ordered(d, m)) for d, m in zip(held, found, strict=True)]
    fitted = tuned(made, held, "brier")
    assert fitted.temperature == fit_temperature(raw, gold, "brier")
    assert fitted.cut == fit_cut([p.tempered(fitted.temperature) for p in raw], gold, held)


def test_the_cut_is_the_one_of_best_b_cubed():
    """B³ is the official scorer's without entities of one mention; the cut chosen is no worse than any other."""
    from howsure.evaluation.coreference import coreference_scores

    rng = np.random.default_rng(1)
    posteriors, gold = [], []
    for k in range(12):
        p = AntecedentPosterior.from_scores(2 * rng.normal(size=(14, 14)), rng.normal(size=14) + 2, name=str(k))
        posteriors.append(p)
        gold.append(p.samples(1, k)[0].astype(np.int64))

    def official(clusterings):
        def linked(clusters):
            counts = np.bincount(clusters, minlength=14)
            return [((k, k + 1), str(c)) for k, c in enumerate(clusters.tolist()) if counts[c] > 1]

        pairs = [(linked(g), linked(c)) for g, c in zip(gold, clusterings, strict=True)]
        return coreference_scores(pairs, samples=0)["b3"].f1.value

    for cut in (0.1, 0.3, 0.5):
        made = [p.linked(cut) for p in posteriors]
        assert b_cubed(made, gold) == pytest.approx(official(made))
    best = fit_cut(posteriors, gold)
    chosen = official([p.minimum_risk() if best is None else p.linked(best) for p in posteriors])
    assert chosen >= max(official([p.linked(c) for p in posteriors]) for c in (0.1, 0.2, 0.3, 0.4, 0.5)) - 1e-12
    # Average linkage joins nothing above 1 and everything at 0.
    q = posteriors[0]
    assert len(np.unique(q.linked(1.0 - 1e-12))) == 14
    assert len(np.unique(q.linked(1e-12))) == 1
    for wrong in (0.0, 1.5, float("nan")):
        with pytest.raises(InputError, match="above 0 and at most 1"):
            q.linked(wrong)


def test_bad_documents(model):
    d = story(1)
    for wrong in (Mention(2, 9, "x"), Mention(30, 999, "x"), Mention(3, 3, "x")):
        with pytest.raises(InputError, match=r"outside its (sentence|.* tokens)"):
            model.posterior(d, [wrong])
    with pytest.raises(InputError, match='no mentions; find them with `mentions="predicted"`'):
        model.candidates(d.with_(mentions=None), "gold")
    with pytest.raises(InputError, match="no dependency parse"):
        model.candidates(d.with_(heads=None), "predicted")
    assert detect_mentions(Document("empty", (), np.array([0]))) == ()
    with pytest.raises(InputError, match="gold or predicted"):
        model.candidates(d, "guessed")
    with pytest.raises(InputError, match="no document has mentions"):
        fit_coref([d.with_(mentions=())])
    assert len(model.posterior(d.with_(mentions=None))) == len(d.mentions)  # found in the parse
    empty = model.posterior(d.with_(mentions=()))
    assert len(empty) == 0
    assert empty.pairs().shape == (0, 0)


def test_features_need_no_parse(model):
    d = story(4)
    bare = d.with_(columns={}, heads=None)
    assert model.posterior(bare, d.mentions).pairs().shape == (len(d.mentions),) * 2


@pytest.mark.parametrize("n", [1, 2])
def test_few_mentions(model, n):
    d = story(5)
    assert len(model.posterior(d, d.mentions[:n])) == n
