"""Majority vote, Dawid-Skene, annotators and labels needed, against loops, binomials and simulated crowds."""

import numpy as np
import pytest

import howsure
from howsure.evaluation.annotation.annotators import judged_annotators, labels_needed
from howsure.evaluation.annotation.crowds import DawidSkene, dawid_skene, majority_vote
from howsure.evaluation.annotation.ratings import made_ratings


def made(item, annotator, label, k=None):
    item, annotator, label = (np.asarray(v) for v in (item, annotator, label))
    return made_ratings(
        item,
        annotator,
        label,
        items=[f"{i:04}" for i in range(item.max() + 1)],
        annotators=[f"w{i:02}" for i in range(annotator.max() + 1)],
        labels=[str(i) for i in range(k or label.max() + 1)],
    )


def crowd(n, accuracies, k, seed, constant=()):
    rng = np.random.default_rng(seed)
    true = rng.integers(k, size=n)
    a = len(accuracies)
    label = np.where(rng.random((n, a)) < accuracies, true[:, None], rng.integers(k, size=(n, a)))
    for c in constant:
        label[:, c] = 0
    item, annotator = np.nonzero(rng.random((n, a)) < 0.8)
    return made(item, annotator, label[item, annotator], k), true


def looped(r, iterations, smoothing):
    """Dawid & Skene's two steps, label by label."""
    n, a, k = len(r.items), len(r.annotators), len(r.labels)
    rows = list(zip(r.item.tolist(), r.annotator.tolist(), r.label.tolist(), strict=True))
    t = [[0.0] * k for _ in range(n)]
    for i, _, label in rows:
        t[i][label] += 1
    t = [[v / sum(row) for v in row] for row in t]
    for _ in range(iterations + 1):
        prior = [sum(row[c] for row in t) + smoothing / k for c in range(k)]
        prior = [v / sum(prior) for v in prior]
        pi = [[[smoothing / k] * k for _ in range(k)] for _ in range(a)]
        for i, who, label in rows:
            for c in range(k):
                pi[who][c][label] += t[i][c]
        pi = [[[v / sum(row) for v in row] for row in m] for m in pi]
        t = [list(prior) for _ in range(n)]
        for i, who, label in rows:
            for c in range(k):
                t[i][c] *= pi[who][c][label]
        t = [[v / sum(row) for v in row] for row in t]
    return np.array(t), np.array(pi)


def test_it_is_the_loop():
    r, _ = crowd(25, [0.9, 0.6, 0.5, 0.8], 3, 0)
    fitted = dawid_skene(r, smoothing=0.7, max_iterations=6)
    posterior, confusion = looped(r, 6, 0.7)
    assert not fitted.converged
    assert fitted.posterior == pytest.approx(posterior, abs=1e-12)
    assert fitted.confusion == pytest.approx(confusion, abs=1e-12)


def test_the_objective_never_falls_and_fits_are_the_same_whatever_the_order():
    r, _ = crowd(60, [0.8, 0.5, 0.6, 0.3], 3, 1)
    steps = [dawid_skene(r, max_iterations=i).objective for i in range(12)]
    assert (np.diff(steps) >= -1e-9).all()
    order = np.random.default_rng(2).permutation(len(r.item))
    again = made(r.item[order], r.annotator[order], r.label[order], 3)
    assert np.array_equal(dawid_skene(again).posterior, dawid_skene(r).posterior)


def test_majority_vote_and_its_ties():
    r = made([0, 0, 0, 1, 1, 2, 2, 2], [0, 1, 2, 0, 1, 0, 1, 2], [0, 0, 1, 0, 1, 1, 1, 1])
    found = majority_vote(r)
    assert found.label.tolist() == [0, 1, 1]  # the tie goes to 1, which is commoner overall
    assert found.tied.tolist() == [False, True, False]
    assert found.leaders[1].tolist() == [0.5, 0.5]


def test_who_guesses_is_found_and_who_does_not_is_kept():
    r, true = crowd(300, [0.9, 0.8, 0.7, 0.85, 0.0, 0.9], 3, 4, constant=[5])
    fitted = dawid_skene(r)
    judged = {a.name: a for a in judged_annotators(r, fitted, 0.95, 0.4)}
    assert {n for n, a in judged.items() if a.verdict == "reject"} == {"w04", "w05"}
    assert judged["w05"].skill == 0.0
    assert fitted.informativeness[[4, 5]] == pytest.approx([0, 0], abs=0.02)
    assert np.mean(fitted.label == true) > np.mean(majority_vote(r).label == true)


def test_the_others_view_leaves_the_own_label_out():
    r, _ = crowd(40, [0.9, 0.7, 0.6], 2, 5)
    fitted = dawid_skene(r)
    found = next(a for a in judged_annotators(r, fitted, 0.95, 0.4) if a.name == "w01")
    probs, labels = [], []
    for row in np.flatnonzero((r.annotator == 1) & (r.per_item[r.item] > 1)):
        joint = fitted.prior.copy()
        for other in np.flatnonzero((r.item == r.item[row]) & (r.annotator != 1)):
            joint *= fitted.confusion[r.annotator[other], :, r.label[other]]
        probs.append(joint / joint.sum())
        labels.append(r.label[row])
    probs, labels = np.array(probs), np.array(labels)
    agreement = probs[np.arange(len(labels)), labels].mean()
    chance = sum(np.mean(labels == c) * probs[:, c].mean() for c in range(2))
    assert (found.agreement, found.chance) == pytest.approx((agreement, chance), abs=1e-12)
    assert found.skill == pytest.approx((agreement - chance) / (1 - chance), abs=1e-12)


def test_informativeness_of_two_labels_is_the_square_of_sensitivity_plus_specificity_less_one():
    confusion = np.array([[[0.9, 0.1], [0.3, 0.7]], [[1.0, 0.0], [0.0, 1.0]]])
    fitted = DawidSkene(np.ones((1, 2)) / 2, np.array([0.5, 0.5]), confusion, np.zeros((1, 2)), 0.0, 1, True)
    assert fitted.informativeness == pytest.approx([(0.9 + 0.7 - 1) ** 2, 1.0])
    assert fitted.accuracy == pytest.approx([0.8, 1.0])


def test_labels_needed_are_the_binomials():
    from scipy.stats import binom

    q = 0.7
    confusion = np.array([[[q, 1 - q], [1 - q, q]]] * 3)
    fitted = DawidSkene(np.ones((1, 2)) / 2, np.array([0.5, 0.5]), confusion, np.zeros((1, 2)), 0.0, 1, True)
    found = labels_needed(fitted, np.ones(3) / 3, 0.9, np.random.default_rng(0), most=15)
    odd = {n: binom.sf(n // 2, n, q) for n in range(1, 16, 2)}
    for n, right in odd.items():
        assert found.certainty[n - 1] == pytest.approx(right, abs=4 * found.standard_error)
    assert found.n == next(n for n, right in odd.items() if right >= 0.9)


@pytest.mark.corpus
def test_snows_textual_entailment(corpora):
    made = howsure.agree(corpora / "crowd" / "rte.standardized.tsv", item="orig_id", gold="gold")
    gold = made.crowd.gold
    assert gold.dawid_skene.value >= 0.925
    assert gold.majority.value == pytest.approx(0.897, abs=0.001)  # Snow et al. 2008: .897
    assert gold.difference.p_value < 0.01
    assert gold.calibration.error.low > 0.03  # the model is too sure of itself


def test_the_average_over_models_is_the_posterior_by_enumeration():
    """Five items, two labels, three annotators: all true labellings, all sets of hard items, the annotators' laws integrated out.

    Given both, an annotator's P(0 | true label) has a Beta law, and the likelihood is a polynomial in it: Gauss-Legendre is exact.
    """
    from itertools import product

    from scipy.special import betaln, gammaln

    from howsure.evaluation.annotation.crowds import HARD, KNOWN, posterior_over_models
    from howsure.evaluation.annotation.ratings import made_ratings

    label = np.array([[0, 0, 1], [1, 1, 1], [0, 1, 0], [1, 0, 1], [0, 0, 0]])
    item, annotator = (v.ravel() for v in np.indices(label.shape))
    names = [str(i) for i in range(5)]
    ratings = made_ratings(item, annotator, label.ravel(), items=names, annotators=["a", "b", "c"], labels=["0", "1"])
    nodes, weights = np.polynomial.legendre.leggauss(8)
    x = (nodes + 1.0) / 2.0  # P(0 | true label); the prior's densities are 2x and 2(1-x)
    expected = np.zeros((5, 2))
    for hard in product((False, True), repeat=5):
        h = np.array(hard)
        known = np.where(h, KNOWN, 1.0)[:, None]
        by_item = [np.where(label == c, 1.0, 0.0) for c in (0, 1)]
        seen = [
            known * (by_item[0][:, a, None] * x + by_item[1][:, a, None] * (1 - x)) + (1 - known) / 2 for a in range(3)
        ]
        share = betaln(HARD[0] + h.sum(), HARD[1] + 5 - h.sum())
        for true in product((0, 1), repeat=5):
            t = np.array(true)
            p = np.exp(share + gammaln(np.bincount(t, minlength=2) + 1.0).sum())
            for a in range(3):
                p *= (
                    weights
                    @ (x * np.prod(seen[a][t == 0], axis=0))
                    * (weights @ ((1 - x) * np.prod(seen[a][t == 1], axis=0)))
                )
            expected[np.arange(5), t] += p
    expected /= expected.sum(axis=1, keepdims=True)
    fitted = dawid_skene(ratings)
    made = np.mean([posterior_over_models(ratings, fitted, np.random.default_rng(i)) for i in range(12)], axis=0)
    assert made == pytest.approx(expected, abs=0.03)


def test_answers_to_hard_items_make_the_average_less_sure():
    """Half of the items are answered by guessing for the most part: what the average says is right that often, the fitted model's is not."""
    from howsure.evaluation.annotation.crowds import posterior_over_models
    from howsure.evaluation.annotation.ratings import made_ratings

    rng = np.random.default_rng(4)
    n, known = 400, np.array([0.8, 0.7, 0.6, 0.5, 0.4, 0.4])
    true = rng.integers(0, 2, n)
    share = np.where((np.arange(n) % 2 == 0)[:, None], 0.3 * known, known)
    label = np.where(rng.random((n, 6)) < share, true[:, None], rng.integers(0, 2, (n, 6)))
    item, annotator = (v.ravel() for v in np.indices(label.shape))
    names = [f"{i:03}" for i in range(n)]
    ratings = made_ratings(item, annotator, label.ravel(), items=names, annotators=list("abcdef"), labels=["0", "1"])
    fitted = dawid_skene(ratings)
    average = posterior_over_models(ratings, fitted, rng)
    right = np.mean(average.argmax(axis=1) == true)
    error = 2.5 * np.sqrt(right * (1 - right) / n)
    assert abs(average.max(axis=1).mean() - right) < error
    assert fitted.posterior.max(axis=1).mean() - np.mean(fitted.label == true) > error
