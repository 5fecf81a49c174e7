"""Section 7: the penalty's gradients, and what the experiment says."""

import numpy as np
import pytest

from howsure.calibration.estimation.intervals import Estimate
from howsure.experiments.paper.section_7 import Measured, Penalised, finding, fold_of, penalty
from howsure.experiments.tagging import Text
from howsure.models.taggers.training import CrfTrainer


def made_text(n, seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, n)
    tags = rng.choice(["A", "B", "C"], int(sizes.sum())).tolist()
    words = [t + str(rng.integers(0, 4)) if rng.random() < 0.8 else "x" for t in tags]
    return Text(words, np.concatenate([[0], np.cumsum(sizes)]), tags)


def test_penalty_gradients():
    rng = np.random.default_rng(5)
    q = rng.dirichlet(np.ones(4) * 0.4, 300)
    gold = rng.integers(0, 4, 300)
    value, slope = penalty(q, gold)
    assert value > 0
    for t, k in zip(*np.nonzero(q[:20] > 2e-3), strict=True):
        up, down = q.copy(), q.copy()
        up[t, k] += 1e-7
        down[t, k] -= 1e-7
        assert slope[t, k] == pytest.approx((penalty(up, gold)[0] - penalty(down, gold)[0]) / 2e-7, rel=1e-3, abs=1e-4)


@pytest.mark.parametrize("held_out", [False, True])
def test_the_penalised_loss_has_the_gradient_it_claims(held_out):
    text = made_text(30, 8)
    trainer = CrfTrainer(text.words, text.starts, text.tags, "word")
    made = Penalised(trainer.objective(0.1), trainer, made_text(12, 9) if held_out else text, 2.0)
    rng = np.random.default_rng(1)
    w = rng.normal(size=len(made.observed)) * 0.5 * made.inner.movable
    gradient = made.value_and_gradient(w)[1]
    for k in rng.choice(np.flatnonzero(made.inner.movable), 6, replace=False):
        step = np.zeros(len(w))
        step[k] = 1e-5
        slope = (made.value_and_gradient(w + step)[0] - made.value_and_gradient(w - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-3, abs=1e-3)


def test_a_fold_and_the_others_are_the_text():
    text = made_text(23, 3)
    held, rest = fold_of(text, 5)
    assert (held.n_sentences, rest.n_sentences) == (5, 18)
    assert sorted(held.words + rest.words) == sorted(text.words)
    assert held.words[: held.starts[1]] == text.words[: text.starts[1]]


@pytest.mark.parametrize(("error", "said"), [(0.01, "confirmed"), (0.06, "differs")])
def test_only_a_clear_gain_confirms(error, said):
    def one(name, value):
        return Measured(name, 0.9, Estimate(value, value - 0.005, value + 0.005), Estimate(0.02, 0.01, 0.03), -0.01)

    made = {"none": one("a", 0.03), "training 1": one("b", error), "part": one("c", 0.03)}
    made |= {"held-out 1": one("d", 0.03), "temperature": one("e", 0.02)}
    assert finding(made).verdict == said
