"""Samples for labelling: design, weights, answers kept on disk; the interval covers."""

import json

import numpy as np
import pytest

import howsure
from howsure.errors import InputError
from howsure.events.labelling import Answers, Question, calibration_of, draw, population, stratum_of


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return howsure.explore(coref="simple", out=tmp_path_factory.mktemp("results") / "stories")


class Stand:
    """As much of an exploration as labelling asks for."""

    def __init__(self, q):
        self.q = q

    def code(self, actor):
        return actor

    def name(self, code):
        return code


def stand_in(monkeypatch, q):
    from howsure.events import labelling

    people = [(f"d{i}", float(p)) for i, p in enumerate(q)]
    monkeypatch.setattr(labelling, "population", lambda found, actor: people)
    return Stand(q)


def test_the_sample_has_all_strata_and_is_the_same_again(found):
    sample = draw(found, "VAL", 20)
    assert sample == draw(found, "VAL", 20)
    assert sample != draw(found, "VAL", 20, seed=1)
    strata = {stratum_of(p) for _, p in population(found, "VAL")}
    assert {q.stratum for q in sample} == strata
    assert len({q.id for q in sample}) == len(sample) == 20
    assert len(draw(found, "VAL", 1000)) == 60


def test_labelling_everything_gives_the_truth_without_doubt(found):
    everyone = draw(found, "VAL", 60)
    truth = {q.id: i % 3 == 0 for i, q in enumerate(everyone)}
    made = calibration_of(found, "VAL", [(q, truth[q.id]) for q in everyone])
    expected = np.mean([q.probability - truth[q.id] for q in everyone])
    assert made.gap == pytest.approx(expected)
    assert (made.low, made.high) == pytest.approx((made.gap, made.gap))
    assert made.estimated == pytest.approx(sum(truth.values()))
    assert made.expected == pytest.approx(found.total("VAL").mean)


def test_weights_follow_the_design(monkeypatch):
    """A stratum of 90 documents and one of 10, two labelled in each: by hand."""
    stand = stand_in(monkeypatch, [0.0] * 90 + [0.9] * 10)
    answers = [(Question("d0", "X", 0.0, 0), False), (Question("d1", "X", 0.0, 0), True)]
    answers += [(Question("d90", "X", 0.9, 6), True), (Question("d91", "X", 0.9, 6), True)]
    made = calibration_of(stand, "X", answers)
    assert stratum_of(0.9) == 6
    assert made.gap == pytest.approx(0.9 * -0.5 + 0.1 * -0.1)
    assert made.estimated == pytest.approx(90 * 0.5 + 10)
    variance = 0.81 * (1 - 2 / 90) * 0.5 / 2 + 0.01 * (1 - 0.2) * (0.75 * 0.25) / 2
    assert made.high - made.gap == pytest.approx(1.96 * np.sqrt(variance), rel=1e-3)


@pytest.mark.simulation
def test_the_interval_covers(monkeypatch):
    """Documents whose truth follows q or is less frequent: the 95% interval holds the true gap in 93% or more."""
    rng = np.random.default_rng(5)
    q = np.concatenate([np.zeros(300), rng.beta(0.5, 0.5, 200)])
    stand = stand_in(monkeypatch, q)
    for shrink in (1.0, 0.6):
        covered = 0
        for run in range(300):
            y = rng.random(len(q)) < np.where(q > 0, shrink * q, 0.03)
            sample = draw(stand, "X", 70, seed=run)
            made = calibration_of(stand, "X", [(k, bool(y[int(k.id[1:])])) for k in sample])
            covered += made.low <= np.mean(q - y) <= made.high
        assert covered / 300 >= 0.93  # 0.95 less 1.6 binomial standard errors; wider than needed is allowed


def test_answers_are_kept_undone_and_resumed(tmp_path):
    questions = [Question(f"d{i}", "X", 0.5, 4) for i in range(3)]
    path = tmp_path / "labels.jsonl"
    answers = Answers(path, questions)
    answers.answer(answers.next(), True)
    answers.answer(answers.next(), False)
    assert answers.undo() == questions[1]
    again = Answers(path, questions)
    assert again.pairs() == [(questions[0], True)]
    assert again.next() == questions[1]
    assert json.loads(path.read_text()) == {"id": "d0", "yes": True}
    assert again.undo() == questions[0]
    assert again.undo() is None
    path.write_text("nonsense\n")
    with pytest.raises(InputError, match="damaged"):
        Answers(path, questions)


def test_an_actor_without_events_cannot_be_labelled(monkeypatch):
    with pytest.raises(InputError, match="nothing to check"):
        draw(stand_in(monkeypatch, np.zeros(5)), "X", 3)
