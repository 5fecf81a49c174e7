"""Scores of answers against plain loops, `howsure.score` of labels, and analysis of variance."""

import json

import numpy as np
import pytest
from scipy.stats import chi2, norm

import howsure
from howsure.cli.application import run
from howsure.evaluation.scores.benchmark import Answers, benchmark


def answers(x, groups=None, model=None, part=None, run=None, item=None):
    """A row each; of one model and part by default."""
    n = len(x)
    zero = np.zeros(n, np.int64)
    model, part = zero if model is None else model, zero if part is None else part
    names = tuple(f"m{i}" for i in range(model.max() + 1)), tuple(f"t{i}" for i in range(part.max() + 1))
    item = np.arange(n) if item is None else item
    return Answers(np.asarray(x, float), part, model, item, names[1], names[0], groups, run)


@pytest.mark.parametrize("share", [0.7, 1.0, 0.03])
@pytest.mark.parametrize("size", [None, 5])
def test_right_and_wrong_are_scored_as_labels(share, size):
    rng = np.random.default_rng(1)
    right = (rng.random(200) < share).astype(int)
    groups = None if size is None else np.arange(200) // size
    made = benchmark(answers(right, groups)).scores[0].value
    wanted = howsure.score(np.ones(200, int), right, groups=groups).accuracy
    assert (made.value, made.low, made.high) == pytest.approx((wanted.value, wanted.low, wanted.high), rel=1e-6)


def test_variance_of_item_means_by_plain_loops():
    """Unequal groups and numbers of answers: leave a group out, and see how the mean of the items moves."""
    rng = np.random.default_rng(2)
    item = np.repeat(np.arange(40), rng.integers(1, 6, 40))
    x = rng.random(len(item)) * 5 + item % 7  # not within 0-1
    groups = rng.integers(0, 12, 40)
    s = benchmark(answers(x, groups, item=item)).scores[0]
    means = np.array([x[item == i].mean() for i in range(40)])
    left = np.array([means[groups != g].mean() for g in np.unique(groups)])
    many = len(left)
    se = np.sqrt((many - 1) / many * np.sum((left - means.mean()) ** 2))
    assert s.value.value == pytest.approx(means.mean())
    degrees_of_equal = many - 1
    from scipy.stats import t

    half = s.value.high - s.value.value
    assert half >= t.ppf(0.975, degrees_of_equal) * se * (1 - 1e-9)  # unequal groups have fewer degrees of freedom
    assert half <= t.ppf(0.975, degrees_of_equal / 2) * se
    assert (s.items, s.answers) == (40, len(x))


def test_runs_are_told_apart_by_analysis_of_variance():
    rng = np.random.default_rng(3)
    n, k = 50, 4
    y = (rng.random((n, k)) < rng.random((n, 1))).astype(float)
    item, run = (a.ravel() for a in np.indices((n, k)))
    s = benchmark(answers(y.ravel(), item=item, run=run)).scores[0]
    within = ((y - y.mean(axis=1, keepdims=True)) ** 2).sum() / (n * (k - 1))
    total = y.mean(axis=1).var(ddof=1) / n
    assert s.runs.share == pytest.approx(within / k / n / total)
    assert s.runs.answers_per_item == k
    assert s.runs.twice == pytest.approx(1 - np.sqrt((total - within / (2 * k) / n) / total))
    between_runs = n * ((y.mean(axis=0) - y.mean()) ** 2).sum()
    assert s.runs.p_value == pytest.approx(chi2.sf(between_runs / within, k - 1))


def test_runs_that_differ_by_chance_are_rarely_said_to_differ():
    rng = np.random.default_rng(4)
    item, run = (a.ravel() for a in np.indices((40, 3)))
    below = 0
    for _ in range(400):
        y = rng.random((40, 3)) < rng.random((40, 1))
        below += benchmark(answers(y.ravel(), item=item, run=run)).scores[0].runs.p_value < 0.05
    assert abs(below - 20) < 4 * np.sqrt(400 * 0.05 * 0.95)


def test_a_run_that_differs_as_a_whole_is_said():
    rng = np.random.default_rng(5)
    item, run = (a.ravel() for a in np.indices((200, 3)))
    y = rng.random(600) < np.where(run == 2, 0.8, 0.5)
    made = benchmark(answers(y, item=item, run=run))
    assert any("Runs of m0 on t0 differ as a whole" in n for n in made.notes)
    uneven = benchmark(answers(y[:-1], item=item[:-1], run=run[:-1]))
    assert uneven.scores[0].runs.p_value is None


def test_the_average_of_tasks_allows_for_groups_that_tasks_share():
    """Each task is one half of the same documents: what they share adds up."""
    rng = np.random.default_rng(6)
    docs = 60
    level = rng.normal(size=docs)
    x = np.concatenate([level, level + 0.1 * rng.normal(size=docs)])
    part = np.repeat([0, 1], docs)
    made = benchmark(answers(x, np.tile(np.arange(docs), 2), part=part), by="task").scores
    apart = benchmark(answers(x, part=part), by="task").scores
    both = (x[:docs] + x[docs:]) / 2
    half = made[0].value.high - made[0].value.value
    assert made[0].part == "average"
    assert half == pytest.approx(2.001 * both.std(ddof=1) / np.sqrt(docs), rel=1e-3)  # t with 59 degrees of freedom
    assert apart[0].value.high - apart[0].value.value == pytest.approx(half / np.sqrt(2), rel=0.05)


def test_a_task_that_is_all_right_may_be_so_by_luck():
    x = np.concatenate([np.ones(5), np.arange(60) % 2])
    made = benchmark(answers(x, part=np.repeat([0, 1], [5, 60])), by="task").scores
    below = 0.5 * np.hypot(1 - made[1].value.low, 0.5 - made[2].value.low)
    assert made[0].value.value - made[0].value.low >= below - 1e-12


def test_items_needed():
    right = np.arange(400) % 4 > 0
    s = benchmark(answers(right), half_width=0.01).scores[0]
    assert s.items_needed == int(np.ceil(norm.ppf(0.975) ** 2 * 0.75 * 0.25 / 0.01**2))
    assert benchmark(answers(np.ones(10))).scores[0].items_needed is None


def test_models_are_ranked_on_what_all_have():
    rng = np.random.default_rng(7)
    n = 30
    item, model = (a.ravel() for a in np.indices((n, 3)))
    x = rng.random(3 * n)
    gone = (model == 1) & (item < 4)
    made = benchmark(answers(x[~gone], item=item[~gone], model=model[~gone]))
    assert made.main.n == n - 4
    assert any("ranked on the 26 of 30 items" in note for note in made.notes)
    assert [s.items for s in made.scores if s.model == "m1"] == [26]
    shared = x.reshape(n, 3)[4:].mean(axis=0)
    assert {r.name: r.value for r in made.main.each} == pytest.approx({f"m{i}": v for i, v in enumerate(shared)})
    lonely = benchmark(answers(x[:n], item=np.arange(n), model=np.arange(n) % 2))
    assert lonely.main is None
    assert "not ranked" in lonely.notes[0]


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(8)
    path = tmp_path / "answers.csv"
    lines = ["question,system,task,doc,grade"]
    for i in range(60):
        for m, up in (("x", 0.5), ("y", 0.0), ("z", 0.02)):
            lines.append(f"{i},{m},t{i % 2},{i // 4},{1 + up + rng.random() / 2:.4f}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_of_answers_in_the_shell(table, tmp_path, capsys):
    page = tmp_path / "page.html"
    asked = ["score", str(table), "--value", "grade - 1", "--item", "question", "--by", "task", "--groups", "doc"]
    assert run([*asked, "--html", str(page), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["metric"], made["by"], made["n_groups"]) == ("grade - 1", "task", 15)
    assert [(s["part"], s["model"]) for s in made["scores"]][:2] == [("average", "x"), ("average", "z")]
    assert made["ranks"]["average"]["ranks"][0]["surely_above"] == ["z", "y"]
    assert set(made["ranks"]) == {"average", "t0", "t1"}
    assert b"Scores of" in page.read_bytes()
    assert run(asked) == 0
    out = capsys.readouterr().out
    assert "x is surely first" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--value", "grade", "--item", "nothing"], "no column `nothing`"),
        (["--value", "grade;", "--item", "question"], "--value must be a single SQL expression"),
        (["--value", "(SELECT 1)", "--item", "question"], "without a query"),
        (["--value", "system", "--item", "question", "--model", "doc"], "cannot be read"),
        (["--value", "grade", "--item", "question", "--true", "doc"], "leave --true out"),
        (["--value", "grade", "--item", "question", "--half-width", "-1"], "--half-width must be"),
        (["--value", "grade", "--item", "question", "--where", "doc > 99"], "--where kept none"),
        (["--value", "grade", "--item", "question", "--model", "task", "--groups", "system"], "an item has one group"),
        (["--value", "grade", "--engine", "spark"], "not on Spark"),
        (["--item", "question"], "say what scores them with --value"),
    ],
)
def test_bad_input_is_one_line(table, more, message, capsys):
    assert run(["score", str(table), *more]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert (out, err.count("\n")) == ("", 1)


def test_rows_without_a_value_are_left_out_and_counted(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"item": i, "model": "m", "v": None if i == 2 else 1.0, "more": {"M": 1, "m": 2}} for i in range(5)]
    path.write_text("\n".join(map(json.dumps, rows)))
    made = howsure.score(str(path), value="v")
    assert dict(made.left_out) == {"a value": 1}
    assert "1 row left out: 1 without a value" in made.verdict
    with pytest.raises(howsure.InputError, match="nothing is left to score"):
        howsure.score(str(path), value="v", where="item = 2")
