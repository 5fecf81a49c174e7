"""The experiments on tagging and classification, quickly on tiny corpora, and their numbers computed another way."""

import json
from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import f1_score

import howsure
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.paper import adaptive_bins
from howsure.cli.application import run
from howsure.experiments import tagging
from howsure.experiments.findings import height, side
from howsure.experiments.paper import figure_1, figure_2, figure_3, figure_4a, figure_4b
from howsure.experiments.questions import Question, answered, averages
from howsure.experiments.registry import EXPERIMENTS, Work, experiment
from howsure.experiments.result import Reproduction
from howsure.experiments.tagging import Text, Tried, Workshop, near_best
from howsure.models.classifiers import TextClassifier
from howsure.models.taggers.training import CrfTrainer

MINE = ("figure-1", "figure-2", "figure-3", "figure-4a", "figure-4b", "thesis-wsj", "thesis-tweets")
TITLES = {"figure-2": "Emoticon tweets of 2009", "thesis-tweets": "ARK tweets (Oct27)"}


@pytest.fixture(scope="module")
def made(tmp_path_factory, tiny):
    """Every experiment once, in one folder; how often a CRF was trained."""
    root, out = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("out")
    for write in (tiny.ewt, tiny.treebank, tiny.tweets, tiny.sentiment):
        write(root)
    trained = Counter()
    fit = CrfTrainer.fit

    def counted(self, **given):
        trained[self.templates, self.tags, len(self.starts), given["l2"]] += 1
        return fit(self, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOWSURE_DATA", str(root))
        patch.setattr(CrfTrainer, "fit", counted)
        results = {name: howsure.reproduce(name, quick=True, out=out) for name in MINE}
    return root, out, results, trained


@pytest.fixture
def contest(made, monkeypatch):
    """HMM and CRF as the figures saw them."""
    root, out, results, _ = made
    monkeypatch.setenv("HOWSURE_DATA", str(root))
    return tagging.hmm_and_crf(results["figure-3"].settings, Work(folder=out / "models"))


@pytest.fixture
def paper_contest(made, monkeypatch):
    """The same with the paper's pseudocount."""
    root, out, results, _ = made
    monkeypatch.setenv("HOWSURE_DATA", str(root))
    settings = results["figure-3"].settings
    return tagging.shop_and_contest(settings, Work(folder=out / "models"), pseudocount=1.0)[0]


@pytest.mark.parametrize("name", MINE)
def test_it_runs(made, name):
    _, out, results, _ = made
    r = results[name]
    assert r.findings
    assert all(np.isfinite(v) for f in r.findings for v in f.numbers.values())
    assert all(f.paper and f.ours and f.said for f in r.findings)
    assert Reproduction.from_dict(json.loads((out / f"{name}.json").read_text())) == r
    assert all((out / f"{name}-{f.name}.svg").read_bytes().startswith(b"<svg") for f in r.figures)
    other = "Wall Street Journal sample of the Penn Treebank" if name == "thesis-wsj" else "UD English EWT"
    assert r.data == TITLES.get(name, other)
    assert f"Data: {r.data}." in (out / f"{name}.md").read_text()


def test_a_model_is_trained_once_for_all(made):
    assert made[3]
    assert set(made[3].values()) == {1}


def test_a_figure_of_the_thesis_is_found_by_its_number():
    assert experiment("thesis-4.2") is EXPERIMENTS["thesis-wsj"]
    assert experiment("thesis-4.6") is EXPERIMENTS["thesis-tweets"]
    assert experiment("thesis-4.11") is EXPERIMENTS["synthetic"]
    numbers = [f for e in EXPERIMENTS.values() for f in e.figures]
    assert {f"thesis-4.{i}" for i in range(1, 12)} <= set(numbers)


def test_without_data_they_are_skipped(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOWSURE_DATA", str(tmp_path))
    for name in MINE:
        assert run(["reproduce", name, "--out", str(tmp_path / "out")]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert "not below HOWSURE_DATA" in err
    assert not (tmp_path / "out").exists()


def test_figure_3_is_what_check_and_compare_say(made, paper_contest):
    contest = paper_contest
    found = made[2]["figure-3"].findings[0].numbers
    y = np.array([t == g for g in contest.gold for t in range(len(contest.tags))])
    group = np.repeat(contest.sentence, len(contest.tags))
    q = {s.name: s.q.ravel() for s in contest.sides}
    for name, p in q.items():
        assert found[name] == pytest.approx(howsure.check(y, p, groups=group).error.value, rel=1e-9)
    whole = howsure.compare(y, q, groups=group)
    assert found["difference of squares"] == pytest.approx(-whole.pairs[0].error_squared.value, rel=1e-9)
    assert np.allclose(contest.sides[0].q.sum(axis=1), 1)


def test_figure_4a_counts_are_those_of_compare_by_tag(made, contest):
    found = made[2]["figure-4a"].findings[0].numbers
    often = Counter(contest.gold.tolist())
    asked = [k for k in range(len(contest.tags)) if often[k] >= 10]
    rows = [(contest.gold == k, k, [s.q[:, k] for s in contest.sides]) for k in asked]
    counts = howsure.compare(
        np.concatenate([y for y, _, _ in rows]),
        {m: np.concatenate([q[i] for _, _, q in rows]) for i, m in enumerate(("HMM", "CRF"))},
        groups=np.tile(contest.sentence, len(rows)),
        by=np.repeat([contest.tags[k] for k in asked], len(contest.gold)),
    ).slice_counts
    assert (found["tags"], found["CRF better"]) == (len(asked), counts["CRF"])
    assert found["CRF significantly"] == counts["CRF significantly"]
    assert found["HMM significantly"] == counts["HMM significantly"]


def test_tag_pairs_by_pair_marginals(contest):
    questions = figure_4b.pair_questions(contest, 6)
    gold = Counter(
        (contest.tags[a], contest.tags[b])
        for a, b, s, t in zip(contest.gold, contest.gold[1:], contest.sentence, contest.sentence[1:], strict=False)
        if s == t
    )
    assert [q.y.sum() for q in questions] == sorted(gold.values(), reverse=True)[:6]
    x = questions[2]
    a, b = x.name.split()
    for one in contest.sides:
        i, j = one.posterior.codes([a, b])
        whole = [one.posterior.pair_marginals(s)[:, i, j] for s in range(one.posterior.n_sentences)]
        assert x.q[one.name] == pytest.approx(np.concatenate(whole), abs=1e-12)


def test_figure_2_by_scikit_learn(made, monkeypatch):
    root, out, results, _ = made
    monkeypatch.setenv("HOWSURE_DATA", str(root))
    train, dev, test = figure_2.tweets(None)
    for _, labels in (train, dev, test):
        assert labels.count("0") == labels.count("1") > 0
    assert sum(map(len, (train[0], dev[0], test[0]))) <= 2_400
    found = results["figure-2"].findings
    for name, kept in (("naive Bayes", "naive-bayes"), ("logistic regression", "logistic")):
        model = TextClassifier.load(next((out / "models").glob(f"classifier-{kept}-*")))
        q = model.posterior(test[0]).label_is("1")
        y = np.array(test[1]).astype(int)
        assert found[0].numbers[name] == pytest.approx(f1_score(y, q > 0.5))
        assert found[1].numbers[name] == pytest.approx(howsure.check(y, q).error.value)


def test_figure_1_counts_rows_of_the_middle(made, contest):
    found = made[2]["figure-1"].findings[0].numbers
    q = contest.sides[1].q[:, contest.tags.index("NN")]
    assert found["near an end"] == sum((q < 0.01) | (q > 0.99)) / len(q)
    assert figure_1.TAG == "NN"


def test_ontonotes_is_preferred_and_newswire_only(tmp_path, monkeypatch, tiny):
    tiny.ewt(tmp_path)
    tiny.conll(tmp_path)
    monkeypatch.setenv("HOWSURE_DATA", str(tmp_path))
    train, dev, test = tagging.splits("conll-2011", None)
    assert (train.n_sentences, dev.n_sentences, test.n_sentences) == (200, 100, 150)
    assert "ZZ" not in train.tags
    assert list(zip(test.words, test.tags, strict=True)) == [pair for s in tiny.sentences(150, 2) for pair in s]
    assert EXPERIMENTS["figure-3"].data == EXPERIMENTS["thesis-wsj"].data == "conll-2011"
    made = howsure.reproduce("thesis-4.1", quick=True)
    assert made.data == "OntoNotes, CoNLL-2011 splits"


def test_sentences_at_equal_distances():
    text = Text(list("abcdefghi"), np.array([0, 2, 3, 6, 7, 9]), list("123456789"))
    half = text.spread(2)
    assert ("".join(half.words), "".join(half.tags), half.starts.tolist()) == ("abdef", "12456", [0, 2, 5])
    assert text.spread(5) is text


@pytest.mark.parametrize(("target", "size"), [(0.1, 10), (0.34, 30), (0.36, 40), (0.99, 80)])
def test_the_size_of_nearest_accuracy(target, size):
    """Accuracy n/100 on n sentences: the nearest of 10, 20 … 80 is found, and few sizes are tried."""
    tried = []

    class Pretend(Workshop):
        def __init__(self):
            self.settings, self.work = {"shares": 8}, Work()
            self.train = Text([], np.arange(81), [])

        def crf(self, features, n, l2):
            tried.append(n)
            return n

        def on_dev(self, model):
            return target if model == "hmm" else model / 100

    assert Pretend().matched_crf("basic", "hmm", [0.1]) == (size, size)
    assert len(set(tried)) <= 5


def questions(seed, n=300, shift=0.1):
    """Two questions; the first model is calibrated, the second too high by `shift`, so that θ² differs by shift²."""
    rng = np.random.default_rng(seed)
    made = []
    for k in range(2):
        p = rng.random(n) * 0.8
        y = (rng.random(n) < p).astype(np.uint8)
        made.append(Question(f"q{k}", y, {"A": p, "B": p + shift}, np.arange(n) // 2))
    return made


@pytest.mark.simulation
def test_the_interval_of_an_average_covers():
    """95% intervals of the mean difference of squared errors hold the truth, -0.01, in 33 of 40 or more (fewer has P < 0.001)."""
    held = 0
    for seed in range(40):
        asked = questions(seed)
        said = answered(asked, 100, 10, np.random.default_rng(0), Work())
        a = averages(asked, said, [1, 2], Work())[1]
        held += a.difference.low <= -0.01 <= a.difference.high
        assert a.difference.value == pytest.approx(np.mean([s.difference.value for s in said]))
    assert held >= 33


def test_answers_say_who_is_better():
    asked = questions(0, 3_000, 0.2)
    said = answered(asked, 500, 200, np.random.default_rng(0), Work())
    assert [a.better for a in said] == [0, 0]
    assert all(a.significant and a.paper_significant for a in said)
    assert averages(asked, said, [2], Work())[0].better == 0
    same = [Question("q", x.y, {"A": x.q["A"], "B": x.q["A"]}, x.group) for x in asked]
    equal = answered(same, 500, 200, np.random.default_rng(0), Work())
    assert not any(a.significant for a in equal)
    assert figure_4a.alike(equal[0]) == "confirmed"
    assert figure_4a.alike(said[0]) == "differs"


def tried(setting, on_dev, height, error=0.02):
    e = Estimate(error, error - 0.005, error + 0.005)
    return Tried(setting, on_dev, e, e, e, error, Estimate(height, height - 0.01, height + 0.01))


def test_over_and_underconfident_are_sides_of_the_diagonal():
    q = np.repeat([0.1, 0.5, 0.9], 400)
    y = np.concatenate([np.arange(400) < k for k in (40, 280, 360)])  # 0.1, 0.7, 0.9
    whole = height(adaptive_bins(y, q, 400))
    assert whole.value == pytest.approx(0.5 * 0.2)  # a triangle of height 0.2 over the whole length
    se = 0.5 * np.sqrt(0.7 * 0.3 / 400 + 0.25 * 2 * 0.09 / 400)
    assert whole.high - whole.value == pytest.approx(1.96 * se)
    assert side(whole) == "underconfident"
    assert side(height(adaptive_bins(1 - y, 1 - q, 400))) == "overconfident"
    assert side(height(adaptive_bins(np.tile([0, 1], 50), np.full(100, 0.5), 50))) == "neither over- nor underconfident"
    assert height(adaptive_bins(y, q, 400), 0.4, 1.0).value == pytest.approx(0.1)


def test_what_hangs_on_tuning_is_undecided(contest):
    assert [t.setting for t in near_best([tried(1, 0.9, 0), tried(2, 0.895, 0), tried(3, 0.88, 0)])] == [1, 2]
    settled = [tried(0.1, 0.9, -0.05), tried(0.3, 0.895, -0.03), tried(1, 0.8, 0.2)]
    assert figure_3.overconfident(contest, settled).verdict == "confirmed"
    assert figure_3.overconfident(contest, [tried(0.1, 0.9, 0.05)]).verdict == "differs"
    assert figure_3.overconfident(contest, [*settled, tried(3, 0.899, 0.05)]).verdict == "undecided"
    hmms = [tried(0.01, 0.9, -0.05), tried(1.0, 0.85, 0.05)]
    found = figure_3.underconfident(contest, hmms)
    assert found.verdict == "confirmed"  # at the paper's own pseudocount, with the other beside
    assert "the best there, 0.01, is overconfident" in found.said


@pytest.mark.corpus
def test_quick_on_real_text(tmp_path):
    names = [n for n in ("thesis-wsj", "figure-2") if EXPERIMENTS[n].data]
    if not names:
        pytest.skip("no corpus for them below HOWSURE_DATA")
    for name in names:
        made = howsure.reproduce(name, quick=True, out=tmp_path)
        assert made.findings[0].numbers
        assert made.data
