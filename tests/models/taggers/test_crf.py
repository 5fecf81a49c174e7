"""The CRF against CRFsuite, against enumeration and against finite differences."""

from itertools import pairwise, product

import numpy as np
import pycrfsuite
import pytest

from howsure.errors import InputError
from howsure.kernels.chains import in_step
from howsure.models.taggers import crf
from howsure.models.taggers.crf import Crf, WeightRows, read_crfsuite, state_scores
from howsure.models.taggers.features import FeatureTable, TokenFeatures, chosen_templates, shape
from howsure.models.taggers.tagger import Candidate, TaggerTraining
from howsure.models.taggers.training import CrfObjective, CrfTrainer, adagrad, excess, lbfgs

LEXICON = {
    "DT": ["the", "a", "every"],
    "NN": ["dog", "Idea", "river", "walk", "4x"],
    "VB": ["walk", "sees", "sings", "runs"],
    "JJ": ["blue", "Odd", "slow-moving"],
}
NEXT = {"DT": ["NN", "NN", "JJ"], "JJ": ["NN"], "NN": ["VB", "VB", "NN"], "VB": ["DT", "JJ", "NN"]}


def made_text(n_sentences, seed=0):
    """Words, starts and tags of a toy grammar."""
    rng = np.random.default_rng(seed)
    words, tags, starts = [], [], [0]
    for _ in range(n_sentences):
        tag = rng.choice(["DT", "JJ", "NN"])
        for _ in range(int(rng.integers(1, 9))):
            words.append(str(rng.choice(LEXICON[tag])))
            tags.append(str(tag))
            tag = rng.choice(NEXT[tag]) if rng.random() < 0.9 else rng.choice(list(LEXICON))
        starts.append(len(words))
    return words, np.array(starts), tags


@pytest.fixture(scope="module")
def trainer():
    return CrfTrainer(*made_text(80), features="advanced")


def names_by_token(trainer):
    names, f = trainer.table.names, trainer.features
    return [[names[i] for i in f.ids[f.ptr[t] : f.ptr[t + 1]]] for t in range(len(f))]


@pytest.fixture(scope="module")
def crfsuite(trainer, tmp_path_factory):
    """CRFsuite trained to its optimum on the same features: the file, and the loss it prints."""
    path = tmp_path_factory.mktemp("crfsuite") / "model.crfsuite"
    peer = pycrfsuite.Trainer(verbose=False)
    items = names_by_token(trainer)
    for a, z in zip(trainer.starts[:-1], trainer.starts[1:], strict=True):
        peer.append(items[a:z], [trainer.tags[k] for k in trainer.gold[a:z]])
    peer.set_params({"c1": 0.0, "c2": 0.3, "max_iterations": 2000, "epsilon": 1e-9, "delta": 1e-14, "period": 20})
    peer.train(str(path))
    return path, peer.logparser.last_iteration["loss"]


def test_the_loss_is_crfsuites_at_its_weights(trainer, crfsuite):
    path, loss = crfsuite
    imported = read_crfsuite(path)
    objective = trainer.objective(0.3)
    w = np.zeros(len(objective.observed))
    place = {(f, t): i for i, (f, t) in enumerate(zip(objective.rows.feature, objective.rows.row_tag, strict=True))}
    ours = {t: i for i, t in enumerate(trainer.tags)}
    names = imported.features.names
    for f, t, x in zip(imported.rows.feature, imported.rows.row_tag, imported.weights, strict=True):
        if x != 0.0:
            w[place[trainer.table.index[names[f]], ours[imported.tags[t]]]] = x
    order = [imported.tags.index(t) for t in trainer.tags]
    w[objective.n_states :] = imported.transitions[np.ix_(order, order)].ravel()
    value, gradient = objective.value_and_gradient(w)
    assert value == pytest.approx(loss, rel=1e-6)
    assert np.abs(gradient).max() < 1e-3 * np.abs(objective.observed).max()  # it is the optimum of ours too


def test_the_optimum_is_crfsuites(trainer, crfsuite):
    objective = trainer.objective(0.3)
    w = lbfgs(objective, None, 2000, 1e-14)
    assert objective.value_and_gradient(w)[0] == pytest.approx(crfsuite[1], rel=1e-6)


def test_our_lbfgs_finds_scipys_optimum(trainer):
    from scipy.optimize import minimize

    objective = trainer.objective(0.3)
    theirs = minimize(
        objective.value_and_gradient, np.zeros(len(objective.observed)), jac=True, method="L-BFGS-B",
        options={"maxiter": 2000, "maxfun": 9999, "ftol": 1e-15, "gtol": 1e-8},
    )  # fmt: skip
    ours = lbfgs(objective, None, 2000, 1e-15)
    assert objective.value_and_gradient(ours)[0] == pytest.approx(theirs.fun, rel=1e-9)
    np.testing.assert_allclose(ours, theirs.x, atol=1e-3)


def test_marginals_of_an_imported_model_are_crfsuites(trainer, crfsuite):
    imported = read_crfsuite(crfsuite[0])
    peer = pycrfsuite.Tagger()
    peer.open(str(crfsuite[0]))
    items = names_by_token(trainer)
    sentences = [items[a:z] for a, z in zip(trainer.starts[:40], trainer.starts[1:41], strict=True)]
    posterior = imported.posterior_of_features(sentences)
    at = 0
    for s, sentence in enumerate(sentences):
        peer.set(sentence)
        best = peer.tag()
        assert posterior.names(posterior.best().tags[at : at + len(sentence), 0]) == best
        assert posterior.best().prob[s, 0] == pytest.approx(peer.probability(best), abs=1e-6)
        for t in range(len(sentence)):
            theirs = [peer.marginal(tag, t) for tag in posterior.tags]
            np.testing.assert_allclose(posterior.marginals()[at + t], theirs, atol=1e-6)
        at += len(sentence)
    peer.close()


@pytest.mark.parametrize("n_tags", [1, 3, 7, 8, 9, 32, 33, 49, 70])
def test_scores_of_tokens_are_sums_of_their_features_weights(n_tags, monkeypatch):
    rng = np.random.default_rng(n_tags)
    n_features, counts = 90, rng.integers(0, 30, 40)
    pairs = np.flatnonzero(rng.random(n_features * n_tags) < rng.random(n_features).repeat(n_tags))
    rows = WeightRows.of_pairs(pairs // n_tags, pairs % n_tags, n_features, n_tags)
    weights = np.where(rows.seen, rng.normal(size=len(rows.seen)), 0.0)
    table = np.zeros((n_features, n_tags))
    table[rows.feature, rows.row_tag] = weights
    ids = rng.integers(0, n_features, counts.sum()).astype(np.int32)
    tokens = TokenFeatures(np.concatenate([[0], counts.cumsum()]), ids)
    expected = np.array([table[ids[a:z]].sum(axis=0) for a, z in pairwise(tokens.ptr)])
    for limit in (0, 10**9):  # compiled and by SciPy
        monkeypatch.setattr(crf, "COMPILE_FROM", limit)
        np.testing.assert_allclose(state_scores(tokens, rows, weights, n_tags), expected, rtol=1e-12, atol=1e-13)


def test_a_file_that_is_no_crfsuite_model(tmp_path):
    bad = tmp_path / "bad"
    bad.write_bytes(b"lCRF" + b"\0" * 60)
    with pytest.raises(InputError, match="first-order model"):
        read_crfsuite(bad)
    bad.write_bytes(b"PK")
    with pytest.raises(InputError, match="not a model of CRFsuite"):
        read_crfsuite(bad)


def test_a_damaged_crfsuite_model(crfsuite, tmp_path):
    raw = crfsuite[0].read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(InputError, match="damaged"):
        read_crfsuite(cut)


@pytest.mark.parametrize("uneven", [0.0, np.inf])
def test_loss_and_gradient_by_enumeration(uneven, monkeypatch):
    monkeypatch.setattr(in_step, "UNEVEN", uneven)  # sentences one after another, and in step
    words, starts, tags = made_text(6, 3)
    trainer = CrfTrainer(words, starts, tags, "word,suffixes")
    objective = trainer.objective(0.2)
    rng = np.random.default_rng(0)
    w = rng.normal(size=len(objective.observed)) * objective.movable
    value, gradient = objective.value_and_gradient(w)
    states, transitions = objective.split(w)
    f, rows = trainer.features, objective.rows
    dense = np.zeros((len(trainer.table), len(trainer.tags)))
    dense[rows.feature, rows.row_tag] += states
    brute = 0.2 * float(w @ w)
    for a, z in pairwise(starts):
        score = np.array([dense[f.ids[f.ptr[t] : f.ptr[t + 1]]].sum(axis=0) for t in range(a, z)])
        weight = {}
        for y in product(range(len(trainer.tags)), repeat=int(z - a)):
            weight[y] = sum(score[i, k] for i, k in enumerate(y)) + sum(transitions[i, j] for i, j in pairwise(y))
        brute += np.logaddexp.reduce(list(weight.values())) - weight[tuple(trainer.gold[a:z].tolist())]
        if len(weight) > 70_000:
            break
    assert value == pytest.approx(brute, rel=1e-10)
    for k in rng.choice(np.flatnonzero(objective.movable), 12, replace=False):
        step = np.zeros(len(w))
        step[k] = 1e-5
        slope = (objective.value_and_gradient(w + step)[0] - objective.value_and_gradient(w - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-6)
    assert np.all(gradient[~objective.movable] == 0.0)


def test_the_gradient_does_not_depend_on_threads(trainer):
    objective = trainer.objective(0.1)
    w = np.random.default_rng(1).normal(size=len(objective.observed)) * 0.1
    (a, ga), (b, gb) = (objective.value_and_gradient(w, threads) for threads in (1, 3))
    assert a == b
    np.testing.assert_array_equal(ga, gb)


def test_observed_counts_of_a_batch_add_up(trainer):
    objective = trainer.objective(0.1)
    order = np.random.default_rng(0).permutation(objective.n_sentences)
    batches = (np.sort(order[a : a + 40]) for a in range(0, len(order), 40))
    total = sum(map(objective.observed_in, batches))
    np.testing.assert_array_equal(total, objective.observed)


def test_adagrad_comes_near_the_optimum(trainer):
    objective = trainer.objective(0.3)
    best = objective.value_and_gradient(lbfgs(objective, None, 500, 1e-10))[0]
    losses = []
    w = adagrad(objective, 800, lambda _i, loss, _w: losses.append(loss), np.random.default_rng(0))
    above = objective.value_and_gradient(w)[0] / best - 1
    assert 0 <= above <= excess(objective, w) <= 0.01  # the bound holds, and it ended there
    assert len(losses) < 800
    for at in (np.zeros_like(w), 0.5 * w):
        value = objective.value_and_gradient(at)[0]
        assert (value - best) / value <= excess(objective, at)


def test_training_says_whether_it_converged(trainer):
    short = trainer.fit(l2=0.3, method="adagrad", max_iterations=2)
    assert short.settings["converged"] is False
    assert short.settings["excess"] > 0.01
    made = TaggerTraining(short, 1, 1, (Candidate("l2", 0.3, None),))
    assert made.converged is False
    assert "NOT CONVERGED after 2 passes: its loss may be up to" in made.verdict
    assert "NOT CONVERGED after 3 passes. Give more `max_iterations=`." in (
        TaggerTraining(trainer.fit(l2=0.3, max_iterations=3), 1, 1, made.tried).verdict
    )
    for method in ("lbfgs", "adagrad"):
        done = trainer.fit(l2=0.3, method=method, max_iterations=800)
        assert done.settings["converged"] is True
        assert "CONVERGED" not in TaggerTraining(done, 1, 1, made.tried).verdict
    assert trainer.fit(l2=0.0, method="adagrad", max_iterations=2).settings["excess"] is None


def test_it_learns_saves_and_loads(trainer, tmp_path):
    model = trainer.fit(l2=0.1)
    words, starts, tags = made_text(60, 99)
    posterior = model.posterior(words, starts)
    assert np.mean(posterior.mbr_tags() == posterior.codes(tags)) > 0.85
    path = tmp_path / "crf.npz"
    model.with_settings(temperature=1.5).save(path)
    again = Crf.load(path)
    assert again.tags == model.tags
    np.testing.assert_array_equal(again.posterior(words, starts).marginals(), posterior.tempered(1.5).marginals())


def test_unknown_words_and_long_sentences_have_a_posterior(trainer):
    model = trainer.fit(l2=0.1, max_iterations=5)
    made = model.posterior(["zzz", "", "☃"] * 4000, np.array([0, 12_000])).marginals()
    assert np.isfinite(made).all()


def test_stopping_early_and_progress(trainer):
    seen = []
    trainer.fit(
        l2=0.1, progress=lambda i, _total, _what: seen.append(i), stop=lambda i, model: i == 3 and len(model.tags) == 4
    )
    assert seen == [1, 2, 3]


def test_features_by_hand():
    words, starts = ["The", "dog", "runs", "Odd"], np.array([0, 3, 4])
    table = FeatureTable(lexicon={"dog": "NN/VB"})
    found = table.extract(words, starts, ("word", "around", "lexicon"), learn=True)
    names = table.names
    of = [{names[i] for i in found.ids[found.ptr[t] : found.ptr[t + 1]]} for t in range(4)]
    assert of[1] == {
        "word=dog", "lower[-2]=<s>", "lower[-1]=the", "lower[+1]=runs", "lower[+2]=</s>", "lower[-1]|lower=the|dog",
        "lower|lower[+1]=dog|runs", "lower[-1]|lower[+1]=the|runs", "lexicon=NN/VB", "lexicon|capital=NN/VB|0",
    }  # fmt: skip
    assert {"lower[-1]=<s>", "lower[+1]=</s>"} <= of[3]
    assert "lexicon[-1]=NN/VB" in of[2]
    again = table.extract(["dog", "unseen"], np.array([0, 2]), ("word",))
    assert [names[i] for i in again.ids] == ["word=dog"]
    assert shape("") == ""


def test_templates_by_name():
    assert chosen_templates("basic") == ("word",)
    assert "shape" not in chosen_templates("advanced-shape")
    assert chosen_templates("word,length") == ("word", "length")
    with pytest.raises(InputError, match="Did you mean `suffixes`"):
        chosen_templates("sufixes")
    with pytest.raises(InputError, match="no features are left"):
        chosen_templates("word-word")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "sgd"}, "must be one of"),
        ({"l2": -1.0}, "`l2=` must be a number of 0 or more"),
    ],
)
def test_bad_settings(trainer, settings, message):
    with pytest.raises(InputError, match=message):
        trainer.fit(**settings)


def test_no_training_data_and_no_lexicon():
    with pytest.raises(InputError, match="no training data"):
        CrfTrainer([], np.array([0]), [])
    with pytest.raises(InputError, match="need a lexicon"):
        CrfTrainer(["a"], np.array([0, 1]), ["X"], "word,lexicon")
    with pytest.raises(InputError, match="needs its tag"):
        CrfTrainer(["a", "b"], np.array([0, 2]), ["X"])


def test_objective_is_what_the_trainer_uses(trainer):
    assert isinstance(trainer.objective(0.1), CrfObjective)
