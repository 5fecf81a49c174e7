"""Logs of language-model evaluations as tables: fixtures that the tools themselves wrote, and bad input."""

import gzip
import json
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest

import howsure
from howsure.calibration.estimation.agreement import shrinkage
from howsure.calibration.estimation.copied import copied_error
from howsure.cli.application import run
from howsure.engines.logs.records import _entries, _unpacked, recognised
from howsure.engines.tables import Table
from howsure.verbs.logs import logged

FILES = Path(__file__).parent / "log_files"


def write(path, records):
    path.write_text("".join(r if isinstance(r, str) else json.dumps(r) + "\n" for r in records))
    return path


def sample(i, likelihoods, target, **more):
    return {"doc_id": i, "target": target, "filtered_resps": [[x, "False"] for x in likelihoods], **more}


def rows_of(path, kind=None, **more):
    import pyarrow.parquet as pq

    with Table(howsure.Log(str(path), kind, **more)) as table:
        return pq.read_table(table.log.path).to_pylist(), table


# -- what the tools write --------------------------------------------------------------------------------------------


def test_versions_are_named():
    assert set(json.loads((FILES / "VERSIONS.json").read_text())) == {"inspect_ai", "lm-eval", "promptfoo"}


@pytest.mark.parametrize(
    ("folder", "kind", "n", "right", "sources"),
    [
        ("inspect", "inspect", 20, 14, {"sequence", "per_token", "first_token", "stated", "agreement"}),
        ("lm-eval", "lm-eval", 24, None, {"choices", "agreement"}),
        ("promptfoo", "promptfoo", 24, 16, {"sequence", "per_token", "first_token", "stated", "agreement"}),
        ("promptfoo-lines", "promptfoo", 24, 16, {"sequence", "per_token", "first_token", "stated", "agreement"}),
        ("openai", "openai", 6, 4, {"sequence", "per_token", "first_token"}),
    ],
)
def test_each_tool_is_recognised_and_read(folder, kind, n, right, sources):
    files = [p for p in (FILES / folder).rglob("*") if p.is_file() and not p.name.startswith("results_")]
    assert {recognised(str(p)) for p in files} == {kind}
    rows, table = rows_of(FILES / folder)
    assert len(rows) == n
    assert set(table.log.sources) == sources
    if right is None:  # the dummy model's likelihoods are random: what the harness itself says
        lines = [json.loads(x) for p in files for x in p.read_text().splitlines()]
        right = sum(x.get("acc", x.get("exact_match")) for x in lines)
    assert sum(r["correct"] for r in rows) == right
    assert all(r["task"] in ("sums", "products", "batch") for r in rows)
    assert not any("skipped" in note for note in table.log.notes)


def test_inspect_is_what_its_own_summary_says():
    """Another way to the same: the samples' scores in the JSON document, and in the zip's summaries."""
    rows, _ = rows_of(FILES / "inspect")
    log = json.loads((FILES / "inspect" / "products.json").read_text())
    wanted = {(s["id"], s["epoch"]): s["scores"]["match"]["value"] == "C" for s in log["samples"]}
    got = {(r["item"], r["sample"]): r["correct"] == 1 for r in rows if r["task"] == "products"}
    assert got == wanted
    for s in log["samples"]:
        row = next(r for r in rows if (r["item"], r["sample"]) == (s["id"], s["epoch"]))
        tokens = [t["logprob"] for t in s["output"]["choices"][0]["logprobs"]["content"]]
        assert row["sequence"] == pytest.approx(math.exp(sum(tokens)))
        assert row["per_token"] == pytest.approx(math.exp(sum(tokens) / len(tokens)))
        assert row["first_token"] == pytest.approx(math.exp(tokens[0]))
        assert row["stated"] == float(s["output"]["completion"].split("%")[0].split()[-1]) / 100
        assert row["template"] == s["metadata"]["template"]


def test_lm_eval_fixture_has_the_harness_metrics():
    rows, _ = rows_of(FILES / "lm-eval" / "dummy")
    found = json.loads(next((FILES / "lm-eval" / "dummy").glob("results_*")).read_text())["results"]
    for task, metric in (("sums", "acc,none"), ("products", "exact_match,none")):
        values = [r["correct"] for r in rows if r["task"] == task]
        assert np.mean(values) == pytest.approx(found[task][metric])
    assert {r["doc_id"] for r in rows} == {str(i) for i in range(12)}


@pytest.mark.parametrize("verb", ["check", "recalibrate fit", "count", "split"])
def test_verbs_take_logs(verb, tmp_path, capsys):
    arguments = {
        "check": ["--by", "template", "--html", f"{tmp_path}/p.html", "--json"],
        "recalibrate fit": ["--prob", "stated", "-o", f"{tmp_path}/m.json", "--json"],
        "count": ["--prob", "stated", "--design", "random", "--json"],
        "split": ["-o", f"{tmp_path}/parts", "--json"],
    }[verb]
    assert run([*verb.split(), str(FILES / "promptfoo"), "--from", "promptfoo", *arguments]) == 0
    made = json.loads(capsys.readouterr().out)
    if verb == "check":
        assert {s["n"] for s in made["sources"].values()} == {24}
        assert {s["n_groups"] for s in made["sources"].values()} == {6}  # two samples of a question are one group
    if verb == "split":
        assert len(list((tmp_path / "parts").iterdir())) == 3


def test_one_source_is_a_plain_calibration(tmp_path):
    c = howsure.check(howsure.Log(FILES / "lm-eval" / "dummy"), prob="choices")
    assert c.n == 12
    only = next((FILES / "lm-eval" / "dummy").glob("samples_sums*"))
    assert howsure.check(howsure.Log(str(only))).error == c.error


def test_compare_pairs_the_sources(capsys):
    assert (
        run(["compare", str(FILES / "promptfoo"), "--prob", "stated,per_token", "--groups", "question", "--json"]) == 0
    )
    assert len(json.loads(capsys.readouterr().out)["models"]) == 2


# -- a log per model -------------------------------------------------------------------------------------------------


def two_logs(folder, n=120, fewer=7, seed=3):
    """Logs of two models on the same questions; the second has fewer. Who is right, and the probabilities, by item."""
    rng, kept = np.random.default_rng(seed), {}
    for name, share in (("llama-3.1", 0.75), ("llama-3.2", 0.55)):
        likelihoods = -rng.exponential(size=(n, 2))
        known = rng.random(n) < share
        likelihoods[known] = -np.sort(-likelihoods[known], axis=1)  # the first choice is right
        p = 1 / (1 + np.exp(-np.abs(likelihoods[:, 0] - likelihoods[:, 1])))
        kept[name] = {"right": (likelihoods.argmax(axis=1) == 0).astype(int), "p": p}
        (folder / name).mkdir()
        made = [sample(i, likelihoods[i].tolist(), 0, doc={"passage": i // 3}) for i in range(n)]
        order = rng.permutation(n - fewer if kept.keys() - {"llama-3.1"} else n)
        write(folder / name / "samples_quiz_2024-05-01T10-00-00.jsonl", [made[i] for i in order])
    return [folder / name for name in kept], kept


def test_two_logs_are_compared_item_by_item(tmp_path, capsys):
    """The same numbers as the table of labels and probabilities that one would join oneself."""
    folders, kept = two_logs(tmp_path)
    n, names = 113, list(kept)
    assert run(["compare", *map(str, folders), "--from", "lm-eval", "--groups", "passage", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    passage = np.arange(n) // 3
    own = howsure.compare(
        ["right"] * n,
        y_preds={m: np.where(kept[m]["right"][:n], "right", "wrong") for m in names},
        y_probs={m: kept[m]["p"][:n] for m in names},
        groups=passage,
    ).to_dict()
    assert (made["n"], made["n_groups"]) == (n, len(set(passage)))
    assert [s["name"] for s in made["systems"]] == names
    for a, b in zip(made["systems"], own["systems"], strict=True):
        assert a["accuracy"] == pytest.approx(b["accuracy"])
    here, there = made["pairs"][0], own["pairs"][0]
    assert here["difference"] == pytest.approx(there["difference"])
    assert (
        here["only_a_right"]
        == there["only_a_right"]
        == np.sum(kept[names[0]]["right"][:n] > kept[names[1]]["right"][:n])
    )
    assert here["tests"][0] == pytest.approx(there["tests"][0])
    for model in names:
        assert made["calibration"]["models"][model]["error"] == pytest.approx(
            own["calibration"]["models"][model]["error"]
        )
    assert any("7 of 120 items of llama-3.1 are not in every log" in note for note in made["notes"])


def test_logs_of_several_tasks_each_with_what_it_has(tmp_path):
    """Sums have probabilities, products are right or wrong: accuracy is of all, confidence of the first."""
    first = FILES / "lm-eval" / "dummy"
    for name in ("same", "wrong"):
        (tmp_path / name).mkdir()
        for path in first.glob("samples_*"):
            lines = [json.loads(x) for x in path.read_text().splitlines()]
            for x in lines if name == "wrong" else ():
                x.update({k: 0.0 for k in ("acc", "exact_match") if k in x})
            write(tmp_path / name / path.name, lines)
    logs = [howsure.Log(first), howsure.Log(tmp_path / "same"), howsure.Log(tmp_path / "wrong")]
    made = howsure.compare(logs, prob="choices")
    assert (made.n, made.calibration.n) == (24, 12)
    right = sum(r["correct"] for r in rows_of(first)[0])
    assert [round(24 * s.value.value) for s in made.systems[:2]] == [right, right]
    assert made.duels[0].difference.value == 0
    assert (made.duels[0].a_only, made.duels[0].b_only) == (0, 0)
    assert any("share several confidences" in note for note in howsure.compare(logs).notes)
    assert howsure.compare(logs, where="task = 'sums'").n == 12


def test_a_model_that_is_never_right_and_answers_without_a_mark(tmp_path):
    for name, marks in (("a", [1, 1, 0, 1, None, 1]), ("b", [0, 0, 0, 0, 0, 0])):
        write(tmp_path / f"{name}.jsonl", [{"id": i, "task": "t", "correct": c} for i, c in enumerate(marks)])
    logs = [howsure.Log(tmp_path / "a.jsonl", "llm"), howsure.Log(tmp_path / "b.jsonl", "llm")]
    made = howsure.compare(logs)
    assert [s.value.value for s in made.systems] == [0.8, 0.0]
    assert made.calibration is None
    with pytest.raises(howsure.InputError, match="1 of the items of b are not in every other log"):
        howsure.compare(logs, missing="error")


def test_answers_that_are_neither_right_nor_wrong_are_left_out_and_counted(tmp_path):
    for name, marks in (("a", [1, 0, 0.5, 1, 1, 0]), ("b", [0, 0, 0, 1, 0.25, 0.25])):
        write(tmp_path / f"{name}.jsonl", [{"id": i, "task": "t", "correct": c} for i, c in enumerate(marks)])
    logs = [howsure.Log(tmp_path / "a.jsonl", "llm"), howsure.Log(tmp_path / "b.jsonl", "llm")]
    made = howsure.compare(logs)
    assert made.n == 3
    assert dict(made.left_out) == {"right or wrong in a": 1, "right or wrong in b": 2}
    assert [s.value.value for s in made.systems] == pytest.approx([2 / 3, 1 / 3])
    with pytest.raises(howsure.InputError, match="of 6 items that the logs share, 1 are without"):
        howsure.compare(logs, missing="error")


def test_logs_are_tables_of_labels_too(tmp_path):
    first, second = FILES / "openai" / "batch.jsonl", tmp_path / "batch.jsonl"
    second.write_text(first.read_text())
    logs = [howsure.Log(first), howsure.Log(second)]
    made = howsure.compare(logs, pred="answer", true="expected", key="question", metric="macro-f1")
    assert (made.n, made.metric) == (6, "macro-f1")


def test_logs_that_cannot_be_compared(tmp_path):
    folders, _ = two_logs(tmp_path, 12, 2)
    logs = [howsure.Log(f) for f in folders]
    for given, message in (
        ({"true": "expected"}, "leave `true=` out"),
        ({"by": "nothing"}, "no column `nothing`"),
        ({"prob": "choices,agreement"}, "the one confidence"),
        ({"prob": "sequence"}, "sequence"),
        ({"groups": "task"}, "one group"),
        ({"key": "task"}, "must be unique"),
        ({"where": "item = 'x'"}, "no rows that meet"),
        ({"missing": "error"}, "2 of the items of llama-3.1 are not in every other log"),
        ({"engine": "spark"}, "Spark"),
    ):
        with pytest.raises(howsure.InputError, match=message):
            howsure.compare(logs, **given)
    with pytest.raises(howsure.InputError, match="named once"):
        howsure.compare([logs[0], logs[0]])
    with pytest.raises(howsure.InputError, match="no items in common"):
        howsure.compare([logs[0], howsure.Log(FILES / "lm-eval" / "dummy")])
    with pytest.raises(howsure.InputError, match="Several models or runs in one log"):
        howsure.compare([howsure.Log(tmp_path), logs[0]])


def test_slices_of_two_logs_are_comparisons_of_their_own(tmp_path):
    folders, kept = two_logs(tmp_path, 120, 0)
    right_a, right_b = (kept[m]["right"] for m in kept)
    logs = [howsure.Log(f) for f in folders]
    made = howsure.compare(logs, by="passage", groups="passage", where="passage < '3'")
    assert (made.by, sum(s.n for s in made.slices)) == ("passage", made.n)
    assert all(s.difference.p_value is None for s in made.slices)  # each is one group
    for s in made.slices:
        held = np.arange(120) // 3 == int(s.name)
        assert s.accuracies == pytest.approx((right_a[held].mean(), right_b[held].mean()))
    halves = howsure.compare(logs, by="doc_id", where="doc_id IN ('1', '2')").slices
    assert [s.n for s in halves] == [1, 1]
    for f in folders:
        (tmp_path / "split" / f.name).mkdir(parents=True)
        whole = [json.loads(x) for x in next(f.glob("samples_*")).read_text().splitlines()]
        for task in ("even", "odd"):
            half = [r for r in whole if r["doc_id"] % 2 == (task == "odd")]
            write(tmp_path / "split" / f.name / f"samples_{task}_2024-05-01T10-00-00.jsonl", half)
    both = [howsure.Log(tmp_path / "split" / f.name) for f in folders]
    made = howsure.compare(both, by="task")
    for s in made.slices:
        alone = howsure.compare(both, where=f"task = '{s.name}'").duels[0]
        assert s.difference == alone.difference
        assert s.adjusted_p_value >= s.difference.p_value
    assert "By task" in made.to_text()
    assert b"adjusted for the number of slices" in made.to_html()


def test_runs_are_a_part_of_the_difference(tmp_path):
    """Both models answer at random: all of the variance is of runs. Both know or do not know an item: none of it is."""
    rng = np.random.default_rng(9)
    for name in "ab":
        known = rng.random(40) < 0.5
        for kind in ("random", "known"):
            right = rng.random((40, 5)) < 0.5 if kind == "random" else np.repeat(known[:, None], 5, axis=1)
            made = [{"id": i, "task": "t", "correct": int(x)} for i, row in enumerate(right) for x in row]
            write(tmp_path / f"{kind}-{name}.jsonl", made)
    shares = []
    for kind in ("random", "known"):
        logs = [howsure.Log(tmp_path / f"{kind}-{name}.jsonl", "llm") for name in "ab"]
        made = howsure.compare(logs)
        shares.append(made.duels[0].share_of_runs)
        assert "variance from runs" in made.to_text()
        scores = howsure.score(howsure.Log(tmp_path / f"{kind}-a.jsonl", "llm")).scores
        assert scores[0].answers == 200
        assert (scores[0].runs.share > 0.5) == (kind == "random")
    assert shares[0] > 0.7
    assert shares[1] == 0.0


@pytest.mark.parametrize("tool", ["inspect", "lm-eval", "promptfoo", "openai"])
def test_logs_are_scored(tool, capsys):
    assert run(["score", str(FILES / tool), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    rows, _ = rows_of(FILES / tool)
    for s in made["scores"]:
        held = [r for r in rows if r["model"] == s["model"] and s["part"] in ("average", r["task"])]
        items = {}
        for r in held:
            items.setdefault((r["task"], r["item"]), []).append(r["correct"])
        of_tasks = {}
        for (task, _), right in items.items():
            of_tasks.setdefault(task, []).append(np.mean(right))
        assert (s["items"], s["answers"]) == (len(items), len(held))
        assert s["value"]["value"] == pytest.approx(np.mean([np.mean(x) for x in of_tasks.values()]))
    assert not any("onfidence" in n for n in made["notes"])


def test_two_models_in_one_folder_are_ranked(tmp_path):
    folders, kept = two_logs(tmp_path)
    made = howsure.score(howsure.Log(tmp_path), groups="passage")
    assert [s.model for s in made.scores] == list(kept)
    assert made.main.n == 113
    own = howsure.compare([howsure.Log(f) for f in folders], groups="passage").duels[0].difference
    (pair,) = made.main.pairs
    assert pair.difference == pytest.approx(own.value)
    assert (pair.low, pair.high) == pytest.approx((own.low, own.high), abs=0.01)
    assert howsure.score(howsure.Log(tmp_path), true="expected", pred="answer").n == 233  # labels, as of any table


def test_graded_answers_are_scored_and_not_called_unmarked(tmp_path):
    path = write(tmp_path / "a.jsonl", [{"id": i, "score": i / 10} for i in range(11)])
    made = howsure.score(howsure.Log(path, "llm"))
    assert (made.metric, made.scores[0].value.value) == ("value", pytest.approx(0.5))
    assert made.notes == ()
    _, table = rows_of(path, "llm")
    assert any("9 of 11 answers are graded" in n for n in table.notes)


def test_files_of_models_are_one_task_and_files_of_tasks_are_not(tmp_path):
    """Names of files tell tasks apart only where the models of the records do not say that they are files of models."""
    for name in "ab":
        write(tmp_path / f"run_{name}.jsonl", [{"id": i, "model": name, "correct": i % 3 > 0} for i in range(60)])
    glob = howsure.Log(str(tmp_path / "run_*.jsonl"), "llm")
    (pair,) = howsure.score(glob).main.pairs
    assert pair.difference == 0.0
    runs = [howsure.Log(tmp_path / f"run_{name}.jsonl", "llm") for name in "ab"]
    assert howsure.compare(runs).duels[0].difference.value == 0.0
    for name in "ab":
        write(tmp_path / f"run_{name}.jsonl", [{"id": i, "model": "m", "correct": i % 3 > 0} for i in range(60)])
    assert rows_of(str(tmp_path / "run_*.jsonl"), "llm")[0][0]["question"] == "run_a/0"


def test_json_lines_of_answers_are_scored_without_saying_so(tmp_path):
    """`howsure score answers.jsonl`: what is right is scored; a table of gold and predictions stays one."""
    records = [{"id": i, "answer": "AB"[i % 2], "correct": i % 4 > 0} for i in range(40)]
    path = write(tmp_path / "answers.jsonl", records)
    assert howsure.score(str(path)).to_dict() == howsure.score(howsure.Log(path, "llm")).to_dict()
    write(path, [r | {"target": "A", "prediction": r["answer"]} for r in records])
    assert (
        howsure.score(path, true="target").accuracy.value
        == howsure.score(path, pred="prediction", true="target").accuracy.value
        == 0.5
    )
    with pytest.raises(howsure.InputError, match="named like a prediction"):
        howsure.score(write(path, [{"id": i, "text": "x"} for i in range(4)]))


def test_a_folder_with_one_record_and_names_of_any_script(tmp_path):
    write(tmp_path / "samples_t_2024-01-01.jsonl", [sample(0, [-1, -2], 0)])
    made = howsure.score(howsure.Log(tmp_path)).scores[0]
    assert (made.items, made.value.value) == (1, 1.0)
    records = [{"id": f"質問 {i}\u202e", "model": "模型", "task": "الأسئلة", "correct": i % 2} for i in range(4)]
    made = howsure.score(howsure.Log(write(tmp_path / "a.jsonl", records), "llm"))
    assert (made.scores[0].model, made.scores[0].items) == ("模型", 4)
    assert "\u202e" not in made.to_text()


def test_gold_that_differs_between_logs_is_said(tmp_path):
    for name, gold in (("a", 0), ("b", 1)):
        (tmp_path / name).mkdir()
        made = [sample(i, [-1.0 - i, -2.0], gold if i == 3 else 0) for i in range(8)]
        write(tmp_path / name / "samples_quiz_2024-05-01T10-00-00.jsonl", made)
    notes = howsure.compare([howsure.Log(tmp_path / "a"), howsure.Log(tmp_path / "b")]).notes
    assert "1 item has another expected answer in another log (first: quiz/3/1)." in notes


# -- what records say ------------------------------------------------------------------------------------------------


def test_lm_eval_normalises_over_the_choices(tmp_path):
    write(
        tmp_path / "samples_arc_easy_2024-05-01T10-00-00.jsonl",
        [
            sample(0, [-1.0, -2.0, -3.0], 0),
            sample(1, [-1.0, -2.0], "1"),
            {
                "doc_id": 2,
                "doc": {"choices": {"label": ["A", "B"], "text": ["x", "y"]}},
                "target": "B",
                "resps": [[[-5.0, False]], [[-4.0, True]]],
            },
        ],
    )
    rows, _ = rows_of(tmp_path)
    assert [r["correct"] for r in rows] == [1, 0, 1]
    expected = [1 / (1 + np.exp(-1) + np.exp(-2)), 1 / (1 + np.exp(-1)), 1 / (1 + np.exp(-1))]
    assert [r["confidence"] for r in rows] == pytest.approx(expected)
    assert {r["task"] for r in rows} == {"arc_easy"}


@pytest.mark.parametrize(
    ("said", "source", "expected"),
    [
        ([{"confidence": 0.85}, {"confidence": 1}], "stated", [0.85, 1.0]),
        ([{"confidence": 85}, {"confidence": 1}], "stated", [0.85, 0.01]),
        ([{"confidence": 8}, {"confidence": 3}], "stated", [0.8, 0.3]),
        ([{"confidence": "85%"}, {"confidence": "0.5"}], "stated", [0.85, 0.5]),
        ([{"confidence": "8/10"}, {"confidence": "40 / 100"}], "stated", [0.8, 0.4]),
        ([{"logprobs": [-0.5, -0.25]}, {"logprobs": -1.0}], "sequence", [np.exp(-0.75), np.exp(-1)]),
        (
            [{"logprobs": {"content": [{"token": "a", "logprob": -0.1}]}}, {"token_logprobs": [None, -2]}],
            "sequence",
            [np.exp(-0.1), np.exp(-2)],
        ),
        ([{"judge_probability": 0.25}, {"judge": 1}], "judge", [0.25, 1.0]),
    ],
)
def test_generic_confidences(tmp_path, said, source, expected):
    path = write(tmp_path / "a.jsonl", [{**s, "correct": i == 0} for i, s in enumerate(said)])
    rows, _ = rows_of(path, "llm")
    assert [r[source] for r in rows] == pytest.approx(expected)
    assert [r["correct"] for r in rows] == [1, 0]


def test_words_on_a_scale_and_a_number_that_means_certain(tmp_path):
    said = ["Likely", "certain", "who knows"]
    path = write(tmp_path / "a.jsonl", [{"correct": 1, "confidence": w} for w in said])
    rows, table = rows_of(path, "llm", stated="likely=0.8,certain=0.95")
    assert [r["stated"] for r in rows] == [0.8, 0.95, None]
    assert any("1 × a stated confidence is neither" in n for n in table.notes)
    path = write(tmp_path / "b.jsonl", [{"correct": 1, "confidence": 7}])
    assert rows_of(path, "llm", stated=100)[0][0]["stated"] == 0.07
    with pytest.raises(howsure.InputError, match="must be 1, 10, 100 or words"):
        rows_of(path, "llm", stated="likely")


def test_agreement_leaves_the_answer_itself_out_and_is_shrunk(tmp_path):
    answers = {"a": ["Paris", "paris.", "Rome"], "b": ["1", "1", "1"], "c": ["x", "y", "z"]}
    records = [{"item": i, "answer": x, "correct": k == 0} for i, xs in answers.items() for k, x in enumerate(xs)]
    path = write(tmp_path / "a.jsonl", records)
    rows, table = rows_of(path, "llm")
    m = np.array([1, 1, 0, 2, 2, 2, 0, 0, 0])
    made = shrinkage(m, np.full(9, 2), np.ones(9, np.int64))
    assert [r["agreement"] for r in rows] == pytest.approx(made(m, np.full(9, 2)))
    assert [r["sample"] for r in rows] == [1, 2, 3] * 3
    assert any("shrunk" in n for n in table.notes)
    exact, _ = rows_of(path, "llm", same="exact")
    assert exact[0]["agreement"] == exact[2]["agreement"]
    meant = write(tmp_path / "m.jsonl", [r | {"meaning": r["item"] == "a"} for r in records])
    assert len({r["agreement"] for r in rows_of(meant, "llm", same="meaning")[0]}) == 1
    with pytest.raises(howsure.InputError, match="must be a column of the log"):
        rows_of(path, "llm", same="sense")


def test_shrinkage_is_the_posterior_mean_of_a_beta():
    """Where the law is a Beta(2, 1), from counts in the proportions of the Beta-binomial."""
    from scipy.stats import betabinom

    m, k = np.arange(5), np.full(5, 4)
    made = shrinkage(m, k, np.rint(1e9 * betabinom(4, 2, 1).pmf(m)).astype(np.int64))
    assert made.mean == pytest.approx(2 / 3)
    assert made(m, k) == pytest.approx((m + 2) / (4 + 3), abs=2e-3)
    assert shrinkage(np.array([1]), np.array([1]), np.array([5])).law is None


def test_openai_responses_as_they_are(tmp_path):
    chat = {"object": "chat.completion", "model": "m", "id": "1", "metadata": {"correct": "true"}}
    chat["choices"] = [
        {"message": {"content": "4. Confidence: 70%"}, "logprobs": {"content": [{"logprob": -0.5}]}},
        {"message": {"content": "5"}, "logprobs": None},
    ]
    content = [{"type": "output_text", "text": "4", "logprobs": [{"logprob": -0.25}]}]
    new = {"object": "response", "id": "2", "output": [{"content": content}], "metadata": {"target": "4"}}
    bad = {"custom_id": "3", "response": {"status_code": 500, "body": {"error": {"message": "no"}}}}
    path = write(tmp_path / "a.jsonl", [chat, new, bad])
    rows, table = rows_of(path)
    assert [(r["item"], r["correct"], r["sample"]) for r in rows] == [("1", 1, 1), ("1", 1, 2), ("2", 1, 1)]
    assert rows[0]["stated"] == 0.7
    assert [r["sequence"] for r in rows] == [pytest.approx(math.exp(-0.5)), None, pytest.approx(math.exp(-0.25))]
    assert "1 of 4 records skipped: 1 × the response is an error" in table.log.notes[0]


def test_the_answer_in_a_text_is_what_is_compared(tmp_path, capsys):
    """A stated confidence and what leads up to `Answer:` are no part of the answer."""
    texts = [
        "Answer: Paris\nConfidence: 85%",
        "It is old.\n**Final answer:** paris.\nConfidence: 60%",
        "Paris (confidence: 90%)",
    ]
    texts += ["Answer: Rome\nConfidence: 70%", "The answer is -4\nConfidence: 50%"]
    chats = [
        {"object": "chat.completion", "model": "m", "id": str(i), "choices": [{"message": {"content": t}}], "target": g}
        for i, (t, g) in enumerate(zip(texts, ["Paris"] * 4 + ["-4"], strict=True))
    ]
    rows, table = rows_of(write(tmp_path / "a.jsonl", chats))
    assert [r["correct"] for r in rows] == [1, 1, 1, 0, 1]
    assert [r["stated"] for r in rows] == [0.85, 0.6, 0.9, 0.7, 0.5]
    assert rows[4]["answer"] == "-4"
    assert "5 answers are marked by comparing their text with the gold answer: 4 are alike." in table.log.notes
    plain = [{"response": t, "gold": "Paris"} for t in texts[:4]]
    rows, _ = rows_of(write(tmp_path / "b.jsonl", plain), "llm")
    assert [(r["correct"], r["stated"]) for r in rows] == [(1, 0.85), (1, 0.6), (1, 0.9), (0, 0.7)]
    (tmp_path / "d.jsonl").write_text("".join(f'{{"answer": "{a}", "gold": "b", "confidence": 0.5}}\n' for a in "abc"))
    assert run(["check", str(tmp_path / "d.jsonl")]) == 2
    assert "or mark a language model's answers by them with --from llm" in capsys.readouterr().err
    path = write(tmp_path / "c.jsonl", [{"correct": True, "confidence": "likely"}])
    assert run(["check", "--from", "llm", str(path)]) == 2
    assert "1 × a stated confidence is neither a number nor a word of --stated likely=0.8,certain=0.95" in (
        capsys.readouterr().err
    )


def test_fields_of_the_questions_are_columns_and_long_ones_are_hashed(tmp_path):
    passages = ["a" * 500, "a" * 499 + "b"]
    docs = [{"passage": passages[i % 2], "label": "x", "Topic": i, "topic": 7, "choices": ["p", "q"]} for i in range(4)]
    write(tmp_path / "samples_t_2024-01-01.jsonl", [sample(i, [-1, -2], 0, doc=d) for i, d in enumerate(docs)])
    rows, _ = rows_of(tmp_path)
    assert len({r["passage"] for r in rows}) == 2
    assert len(rows[0]["passage"]) < 80
    assert rows[0]["item_label"] == "x"


def test_plain_tables_are_not_logs(tmp_path):
    path = write(tmp_path / "a.jsonl", [{"confidence": 0.5, "correct": 1}])
    assert logged(str(path)) == str(path)
    assert isinstance(logged(str(FILES / "openai")), howsure.Log)
    with pytest.raises(howsure.InputError, match="not recognised as one"):
        logged(str(path), stated="10")


def test_shell(tmp_path, capsys):
    rng = np.random.default_rng(37)
    for task in ("a", "b"):
        records = []
        for i in range(150):
            x = -rng.exponential(2, 4)
            records.append(sample(i, x.tolist(), int(rng.integers(4)) if rng.random() < 0.5 else int(x.argmax())))
        write(tmp_path / f"samples_{task}_2024-01-01.jsonl", records)
    assert run(["check", "--from", "lm-eval", f"{tmp_path}/samples_*.jsonl", "--by", "task", "--like", "hle"]) == 0
    out = capsys.readouterr().out
    assert "By task" in out
    assert "ignoring the 100 most confident of 300" in " ".join(out.split())


# -- bad input: clear, counted, nothing lost ---------------------------------------------------------------------------


def test_truncated_lines_are_counted(tmp_path):
    path = write(
        tmp_path / "samples_t_2024-01-01.jsonl", [sample(0, [-1, -2], 0), sample(1, [-1, -2], 1), '{"doc_id": 2, "ta']
    )
    rows, table = rows_of(path)
    assert len(rows) == 2
    assert table.log.notes[0] == (
        "1 of 3 records skipped: 1 × the last record is cut off (first: samples_t_2024-01-01.jsonl, line 3)."
    )


def test_truncated_documents_zips_and_packed_files(tmp_path):
    whole = (FILES / "inspect" / "products.json").read_bytes()
    (tmp_path / "a.json").write_bytes(whole[: len(whole) // 2])
    rows, table = rows_of(tmp_path / "a.json")
    assert 0 < len(rows) < 12
    assert "1 × the file is cut off or not JSON (first: a.json, after record" in table.log.notes[0]
    (tmp_path / "b.jsonl.gz").write_bytes(
        gzip.compress(write(tmp_path / "x", [{"correct": 1, "confidence": 1}] * 9999).read_bytes())[:-20]
    )
    rows, table = rows_of(tmp_path / "b.jsonl.gz", "llm")
    assert "the file is damaged or cut off" in table.log.notes[0]
    packed = (FILES / "inspect" / "sums.eval").read_bytes()
    every = [r["item"] for r in rows_of(FILES / "inspect" / "sums.eval")[0]]
    for cut, least in (
        (300, 8),
        (10, 8),
        (len(packed) // 2, 1),
    ):  # the list of entries, its end, and samples are cut off
        (tmp_path / "c.eval").write_bytes(packed[:-cut])
        rows, table = rows_of(tmp_path / "c.eval")
        assert [r["item"] for r in rows] == every[: len(rows)]
        assert least <= len(rows) <= 8
        assert "1 × the zip is cut off: only whole samples before that are read" in table.log.notes[0]
    (tmp_path / "c.eval").write_bytes(packed[:40])
    with pytest.raises(howsure.InputError, match="holds no records that can be used"):
        rows_of(tmp_path / "c.eval", "inspect")


def test_samples_that_ended_in_an_error_are_skipped(tmp_path):
    log = json.loads((FILES / "inspect" / "products.json").read_text())
    log["status"] = "error"
    log["samples"][0]["error"] = {"message": "no"}
    log["samples"][1]["scores"] = {}
    (tmp_path / "a.json").write_text(json.dumps(log))
    rows, table = rows_of(tmp_path / "a.json")
    assert len(rows) == 10
    assert "1 × the sample ended in an error" in table.log.notes[0]
    assert "1 × the sample has no score" in table.log.notes[0]
    assert any("1 of 1 logs did not end with success" in n for n in table.log.notes)


def test_mixed_versions_are_said(tmp_path):
    log = json.loads((FILES / "inspect" / "products.json").read_text())
    (tmp_path / "a.json").write_text(json.dumps(log))
    log["eval"]["packages"]["inspect_ai"], log["eval"]["run_id"] = "0.3.1", "other"
    (tmp_path / "b.json").write_text(json.dumps(log))
    rows, table = rows_of(tmp_path)
    assert len(rows) == 24
    assert any(n.startswith("The logs are of several versions: 0.3.1, 0.3.") for n in table.log.notes)


def test_log_probabilities_above_zero(tmp_path):
    path = write(tmp_path / "a.jsonl", [{"correct": 1, "logprobs": [0.5, -1]}, {"correct": 0, "logprobs": [-0.5]}])
    rows, table = rows_of(path, "llm")
    assert [r["sequence"] for r in rows] == [None, pytest.approx(math.exp(-0.5))]
    assert any("1 × a log-probability is above 0" in n for n in table.notes)
    write(tmp_path / "samples_t_2024-01-01.jsonl", [sample(0, [-1, -2], 0), sample(1, [3, -2], 0)])
    _, table = rows_of(tmp_path / "samples_t_2024-01-01.jsonl")
    assert "1 × a log-likelihood is above 0" in table.log.notes[0]


def test_a_task_without_choices_has_right_and_wrong(tmp_path):
    write(tmp_path / "samples_a_2024-01-01.jsonl", [sample(i, [-1, -2], 0) for i in range(3)])
    open_task = {
        "target": "4",
        "filtered_resps": ["4"],
        "resps": [["4"]],
        "metrics": ["exact_match"],
        "exact_match": 1.0,
    }
    write(tmp_path / "samples_b_2024-01-01.jsonl", [open_task | {"doc_id": i} for i in range(3)])
    rows, table = rows_of(tmp_path)
    assert [(r["task"], r["correct"], r["choices"] is None) for r in rows] == [("a", 1, False)] * 3 + [
        ("b", 1, True)
    ] * 3
    assert table.log.sources == {"choices": 3}


def test_the_same_item_with_different_gold(tmp_path):
    records = [sample(0, [-1, -2], 0), sample(0, [-1, -2], 1), sample(1, [-1, -2], 1)]
    rows, table = rows_of(write(tmp_path / "samples_t_2024-01-01.jsonl", records))
    assert len(rows) == 3
    assert "1 item stands in several records with different gold (first: t/0)." in table.log.notes


def test_samples_for_some_items_only(tmp_path):
    records = [{"item": i, "answer": str(k % 2), "correct": k % 2} for i in range(3) for k in range(1 if i == 0 else 4)]
    rows, table = rows_of(write(tmp_path / "a.jsonl", records), "llm")
    assert [r["agreement"] is None for r in rows] == [True] + [False] * 8
    assert "1 items have one sample only, and so no agreement." in table.notes


@pytest.mark.parametrize(
    ("record", "kind", "message"),
    [
        ({"target": 0, "filtered_resps": [["the answer is 4"]]}, "lm-eval", "no metric that says right or wrong"),
        ({"target": 7, "filtered_resps": [[-1, "x"], [-2, "x"]]}, "lm-eval", "the target is not one of the choices"),
        ({"confidence": 0.5}, "llm", "none of the keys correct"),
        ({"correct": True}, "llm", "holds no confidences, only right or wrong"),
        ({"correct": "maybe", "confidence": 1}, "llm", "does not say right or wrong"),
        ({"correct": True, "confidence": 300}, "llm", "holds no confidences"),
        ({"correct": True, "confidence": 0.5}, "helm", "--from knows lm-eval, inspect, openai, promptfoo, llm"),
        ("[1, 2]\n", "llm", "not a JSON object"),
        ('{"correct": 1', "llm", "the last record is cut off"),
        ({"results": 1}, "promptfoo", "holds no records that can be used"),
    ],
)
def test_unusable_logs(tmp_path, record, kind, message, capsys):
    path = write(tmp_path / "a.jsonl", [record])
    assert run(["check", "--from", kind, str(path)]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert (out, err.count("\n")) == ("", 1)


def test_folders_without_logs_or_with_several_tools(tmp_path):
    with pytest.raises(howsure.InputError, match="there is no log"):
        rows_of(tmp_path, "lm-eval")
    write(tmp_path / "a.jsonl", [{"x": 1}])
    with pytest.raises(howsure.InputError, match="none of the 1 files"):
        rows_of(tmp_path)
    write(tmp_path / "b.jsonl", [sample(0, [-1, -2], 0)])
    (tmp_path / "c.json").write_bytes((FILES / "promptfoo" / "sums.json").read_bytes())
    with pytest.raises(howsure.InputError, match="logs of several tools"):
        rows_of(tmp_path)
    assert len(rows_of(tmp_path, "lm-eval")[0]) == 1


@pytest.mark.parametrize("n", [3, 66_000])  # above 65,535 entries the list is that of zip64
def test_entries_of_a_zip_are_those_of_zipfile(tmp_path, n):
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as packed:
        for i in range(n):
            deflated = i % 1000 == 0 or i == n - 1  # all of them would take twice the time
            packed.writestr(f"samples/{i}.json", "{}", zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED)
        wanted = [(e.filename, e.compress_type, e.compress_size, e.header_offset) for e in packed.infolist()]
    with path.open("rb") as file:
        assert list(_entries(file)) == wanted
        assert _unpacked(file, wanted[-1][1:]) == b"{}"


def test_a_zip_that_is_no_log(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.eval", "w") as packed:
        packed.writestr("x.txt", "x")
    assert recognised(str(tmp_path / "a.eval")) is None


def test_copied_error_is_the_script(skewed):
    """A plain rendering of the published loop, last bin left out."""
    y, q = skewed[0][:1234], skewed[1][:1234]
    order = np.argsort(q)
    conf, right = q[order], y[order]
    bins = [[i * 100, (i + 1) * 100] for i in range(len(conf) // 100)]
    bins[-1] = [bins[-1][0], len(conf)]
    total = 0.0
    for first, after in bins[:-1]:
        total += (after - first) / len(conf) * (conf[first:after].mean() - right[first:after].mean()) ** 2
    made = copied_error(y, q)
    assert made.value == pytest.approx(total**0.5)
    assert made.ignored == 134
    with pytest.raises(howsure.InputError, match="needs 2 x 100 rows"):
        copied_error(y[:150], q[:150])
