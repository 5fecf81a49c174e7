"""The HMM's estimates by hand, and its posterior by the definition."""

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.models.saved import save_model
from howsure.models.taggers.crf import Crf
from howsure.models.taggers.hmm import FLOOR, Hmm, HmmCounts
from howsure.models.taggers.temperature import fit_temperature
from howsure.posteriors.chain import ChainPosterior
from howsure.verbs.load import load

WORDS = ["the", "dog", "the", "cat", "runs", "dog", "Zanzibar"]
STARTS = np.array([0, 2, 5, 7])
TAGS = ["D", "N", "D", "N", "V", "N", "N"]


def test_maximum_likelihood_by_hand():
    model = HmmCounts(WORDS, STARTS, TAGS, rare=0).fit(pseudocount=0)
    d, n, v = range(3)
    assert np.exp(model.log_initial) == pytest.approx([2 / 3, 1 / 3, 0.0])
    # N is followed by: end, V, N, end
    assert np.exp(model.log_transition[n]) == pytest.approx([0, 1 / 4, 1 / 4])
    assert np.exp(model.log_final) == pytest.approx([0, 1 / 2, 1.0])
    assert np.exp(model.log_emission[model.symbols["dog"]]) == pytest.approx([0, 2 / 4, 0])
    assert model.log_transition[d, v] == FLOOR


def test_map_by_hand_and_rare_words():
    counts = HmmCounts(WORDS, STARTS, TAGS, rare=1)
    model = counts.fit(pseudocount=0.5)
    # "cat", "runs" and "Zanzibar" count as their classes; with "the", "dog" and the rare one there are six symbols.
    assert set(model.symbols) == {"\x00rare", "the", "dog", "\x00x", "\x00x uns", "\x00Xx bar"}
    n = model.tags.index("N")
    assert np.exp(model.log_emission[model.symbols["dog"], n]) == pytest.approx((2 + 0.5) / (4 + 6 * 0.5))
    assert np.exp(model.log_transition[n, n]) == pytest.approx((1 + 0.5) / (4 + 4 * 0.5))
    total = np.exp(model.log_transition).sum(axis=1) + np.exp(model.log_final)
    np.testing.assert_allclose(total, 1.0)
    np.testing.assert_allclose(np.exp(model.log_emission).sum(axis=0), 1.0)
    known = model.posterior(["Bar"], [0, 1])
    assert known.tags[int(known.mbr_tags()[0])] in model.tags


def test_posterior_is_bayes_rule():
    model = HmmCounts(WORDS, STARTS, TAGS).fit(pseudocount=0.3)
    posterior = model.posterior(["the", "dog"], [0, 2])
    joint = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            joint[i, j] = np.exp(
                model.log_initial[i]
                + model.log_emission[model.symbols["the"], i]
                + model.log_transition[i, j]
                + model.log_emission[model.symbols["dog"], j]
                + model.log_final[j]
            )
    np.testing.assert_allclose(posterior.marginals()[1], joint.sum(axis=0) / joint.sum(), rtol=1e-10)
    assert posterior.log_partition[0] == pytest.approx(np.log(joint.sum()))


def test_maximum_likelihood_never_gives_nan():
    posterior = HmmCounts(WORDS, STARTS, TAGS, rare=0).fit(pseudocount=0).posterior(["never", "seen", "the"], [0, 3])
    assert np.isfinite(posterior.marginals()).all()
    np.testing.assert_allclose(posterior.marginals().sum(axis=1), 1.0)


def test_saved_and_loaded(tmp_path):
    model = HmmCounts(WORDS, STARTS, TAGS).fit(pseudocount=0.1).with_settings(temperature=2.0)
    model.save(tmp_path / "hmm.npz")
    again = load(tmp_path / "hmm.npz")
    assert isinstance(again, Hmm)
    np.testing.assert_array_equal(
        again.posterior(WORDS, STARTS).marginals(), model.posterior(WORDS, STARTS).marginals()
    )
    with pytest.raises(InputError, match="kind hmm; crf was expected"):
        Crf.load(tmp_path / "hmm.npz")


def test_models_of_another_kind_or_version(tmp_path):
    save_model(tmp_path / "other.npz", "ngram", 1, {}, {})
    with pytest.raises(InputError, match="kind ngram"):
        load(tmp_path / "other.npz")
    save_model(tmp_path / "later.npz", "hmm", 99, {}, {})
    with pytest.raises(InputError, match="version 99"):
        load(tmp_path / "later.npz")


def test_bad_training_data():
    with pytest.raises(InputError, match="no training data"):
        HmmCounts([], np.array([0]), [])
    with pytest.raises(InputError, match="0 or more"):
        HmmCounts(WORDS, STARTS, TAGS).fit(pseudocount=-1)


def sharpened(temperature, n=400, seed=2):
    """A chain, gold tags drawn from it, and the same chain made too sure."""
    rng = np.random.default_rng(seed)
    starts = np.arange(0, 8 * n + 1, 8)
    honest = ChainPosterior(rng.normal(size=(8 * n, 4)), rng.normal(size=(4, 4)), starts=starts)
    return honest.samples(1, seed)[0].astype(np.int64), honest.tempered(1 / temperature)


@pytest.mark.parametrize("temperature", [0.6, 2.5])
def test_temperature_is_found_again(temperature):
    gold, posterior = sharpened(temperature)
    fitted = fit_temperature(posterior, gold)
    assert fitted.temperature == pytest.approx(temperature, rel=0.08)
    assert fitted.after < fitted.before
    asked = fit_temperature(posterior, gold, question=lambda p: p.tag_is("2"))
    assert asked.temperature == pytest.approx(temperature, rel=0.35)
    assert asked.after < asked.before


def test_temperature_needs_gold():
    gold, posterior = sharpened(1.0, n=3)
    with pytest.raises(InputError, match="a tag for each"):
        fit_temperature(posterior, gold[:3])
    with pytest.raises(InputError, match="nothing to fit"):
        fit_temperature(posterior, np.full(len(gold), -1))
