"""`howsure abstain`: thresholds with a promise."""

import csv
import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import howsure
from howsure.calibration.abstaining.rule import (
    abstention_rule,
    betting_p_values,
    binomial_p_values,
    fewest,
    places,
    rejected,
    weights,
)
from howsure.cli.application import run


def answers(n=2000, seed=0, truth=lambda q: q):
    rng = np.random.default_rng(seed)
    q = rng.beta(4, 0.7, n)
    return q, (rng.random(n) < truth(q)).astype(int)


def test_p_values_are_binomial():
    n, e = np.array([10, 60, 60, 500]), np.array([0, 0, 60, 17])
    assert binomial_p_values(n, e, 0.05) == pytest.approx(binom(n, 0.05).cdf(e))
    assert fewest(0.05, 0.05) == 59  # the rule of three's exact cousin: 0.95^59 < 0.05 < 0.95^58


def test_bets_do_not_win_on_average():
    """All outcomes of six answers in three groups at the risk itself: the capital's mean is at most 1, so that P(p ≤ δ) ≤ δ."""
    groups, q, risk = np.array([0, 0, 1, 1, 2, 2]), np.ones(6), 0.3
    mean, often = 0.0, 0.0
    for wrong in product([0, 1], repeat=6):
        chance = np.prod(np.where(wrong, risk, 1 - risk))
        p = betting_p_values(q, 1 - np.array(wrong), groups, np.array([1.0]), risk, 0.05, np.random.default_rng(3))[0]
        often += chance * (p <= 0.5)
        mean += chance
    assert mean == pytest.approx(1)
    assert often <= 0.5


def test_fallback_by_hand():
    """Levels 0.03, 0.03 + 0.02, then what is left after a failure starts again at the next weight."""
    weight = np.array([0.6, 0.4, 0.0, 0.0])
    assert rejected(np.array([0.02, 0.045, 0.05, 0.9]), weight, 0.05) == (2, pytest.approx(0.05))
    assert rejected(np.array([0.9, 0.015, 0.015, 0.03]), weight, 0.05) == (2, pytest.approx(0.02))
    assert rejected(np.array([0.9, 0.9, 0.0, 0.0]), weight, 0.05) == (-1, 0.0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([0.2, 0.5, 0.7, 0.9, 0.95]), min_size=1, max_size=300))
def test_ties_are_answered_together_and_weights_sum_to_one(values):
    q = np.array(values)
    t, answered = places(q)
    assert [(q >= x).sum() for x in t] == answered.tolist()
    assert answered[-1] == len(q)
    assert weights(answered, 59).sum() == pytest.approx(1)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_only_the_order_of_confidences_matters(seed):
    q, right = answers(400, seed)
    a = abstention_rule(q, right, risk=0.1, delta=0.05)
    b = abstention_rule(q**3 / 7, right, risk=0.1, delta=0.05)
    assert (a.answered, a.wrong) == (b.answered, b.wrong)
    order = np.random.default_rng(seed).permutation(400)
    assert abstention_rule(q[order], right[order], risk=0.1, delta=0.05) == a


def test_the_promise_holds_in_simulation():
    """200 runs; more are in bench/coverage/abstain_risk.py. 5% and three standard errors of the binomial."""
    rng = np.random.default_rng(8)
    whole = np.sort(rng.beta(4, 0.7, 100_000))
    broken = 0
    for _ in range(200):
        q = rng.beta(4, 0.7, 1000)
        made = abstention_rule(q, (rng.random(1000) < q).astype(int), risk=0.08, delta=0.05)
        broken += made.threshold is not None and 1 - whole[whole >= made.threshold].mean() > 0.08
    assert broken / 200 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


def test_result_and_cut_offs():
    q, right = answers()
    made = howsure.abstain(right, q, risk=0.05)
    c = made.certificates[0]
    assert ((q >= made.threshold).sum(), (right[q >= made.threshold] == 0).sum()) == (c.answered, c.wrong)
    for k in made.cut_offs:
        given_ = q >= k.threshold
        assert k.precision == pytest.approx(right[given_].mean())
        assert k.recall == pytest.approx(right[given_].sum() / right.sum())
        assert k.answered == pytest.approx(given_.mean())
    for k in made.costs:  # by trying all
        options = [len(q)] + [k.wrong * (right[q >= t] == 0).sum() + (q < t).sum() for t in np.unique(q)]
        assert k.per_thousand == pytest.approx(1000 * min(options) / len(q))
    assert "exchangeable" in made.rests_on[0]
    assert made.risk_coverage.area > 0
    assert "Answer when the confidence is at least" in made.verdict


def test_groups_ask_for_more_than_independent_answers():
    q, right = answers()
    alone = howsure.abstain(right, q).certificates[0]
    grouped = howsure.abstain(right, q, groups=np.arange(2000) // 4)
    assert grouped.n_groups == 500
    assert 0 < grouped.certificates[0].answered < alone.answered
    assert "no group has more than the 4 answers" in grouped.rests_on[1]


def test_subgroups_share_the_confidence():
    q, right = answers(4000)
    names = np.where(np.arange(4000) % 2, "a", "b")
    made = howsure.abstain(right, q, by=names)
    for c in made.certificates:
        own = names == c.name
        alone = abstention_rule(q[own], right[own], risk=0.05, delta=0.025)
        assert (c.threshold, c.answered) == (alone.threshold, alone.answered)
    assert made.threshold is None


def test_labels_of_a_classifier_and_apply(tmp_path, capsys):
    rng = np.random.default_rng(4)
    q = rng.beta(0.4, 0.4, 3000).round(4)
    y = (rng.random(3000) < q).astype(int)
    path, new, out = tmp_path / "a.csv", tmp_path / "new.csv", tmp_path / "out.csv"
    with path.open("w") as file:
        csv.writer(file).writerows([["q", "y"], *zip(q, y, strict=True)])
    new.write_text("id,q\n1,0.999\n2,0.5\n3,0.001\n")
    page = tmp_path / "p.html"
    command = ["abstain", str(path), "--prob", "q", "--true", "y", "--risk", "0.05", "--html", str(page)]
    assert run([*command, "--apply", str(new), "-o", str(out), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert 0.5 < made["certificates"][0]["threshold"] < 1
    assert [float(r["answer"]) for r in csv.DictReader(out.read_text().splitlines())] == [1, 0, 1]
    assert "rests on" in page.read_text()
    assert any("read as a label" in n for n in made["notes"])


def test_apply_by_subgroup(tmp_path):
    q, right = answers(4000)
    import pyarrow as pa

    names = np.where(np.arange(4000) % 2, "a", "b")
    made = howsure.abstain(pa.table({"q": q, "correct": right, "lang": names}), prob="q", by="lang")
    table = pa.table({"q": [0.9999, 0.9999, 0.9999], "lang": ["a", "c", "b"]})
    assert howsure.apply_abstention(made, table).data["answer"].to_pylist() == [1, 0, 1]


def test_refusals(tmp_path, capsys):
    q, right = answers(50)
    with pytest.raises(
        howsure.InputError, match="50 labelled answers are too few: even if none were wrong, 59 are needed"
    ):
        howsure.abstain(right, q, risk=0.05)
    with pytest.raises(howsure.InputError, match="`risk=` must lie"):
        howsure.abstain(right, q, risk=0)
    none = howsure.abstain(np.arange(500) % 2, np.linspace(0.5, 1, 500))
    assert none.threshold is None
    assert none.verdict.startswith("No threshold is shown")
    with pytest.raises(howsure.InputError, match="no threshold to apply"):
        howsure.apply_abstention(none, "x.csv")
    assert run(["abstain", "x.csv", "--apply", "y.csv"]) == 2
    assert "give both" in capsys.readouterr().err


def test_logs(tmp_path):
    rng = np.random.default_rng(2)
    path = tmp_path / "a.jsonl"
    q = rng.beta(6, 0.3, 900)
    lines = [
        {"correct": bool(rng.random() < x), "confidence": f"{100 * x:.1f}%", "conversation": i // 3}
        for i, x in enumerate(q)
    ]
    path.write_text("".join(json.dumps(x) + "\n" for x in lines))
    made = howsure.abstain(howsure.Log(path, "llm"), risk=0.1, groups="conversation")
    assert made.n_groups == 300
    assert made.prob == "confidence"
