"""Logs of language-model evaluations."""

import json

import numpy as np
import pytest

import howsure
from howsure.calibration.estimation.copied import copied_error
from howsure.cli.application import run
from howsure.engines.llm_logs import read_log


def write(path, records):
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def sample(i, likelihoods, target, **more):
    return {"doc_id": i, "target": target, "filtered_resps": [[x, "False"] for x in likelihoods], **more}


def test_lm_eval_normalises_over_the_choices(tmp_path):
    path = write(
        tmp_path / "samples_arc_easy_2024-05-01T10-00-00.jsonl",
        [
            sample(0, [-1.0, -2.0, -3.0], 0),
            sample(1, [-1.0, -2.0], "1"),
            {
                "doc": {"choices": {"label": ["A", "B"], "text": ["x", "y"]}},
                "target": "B",
                "resps": [[[-5.0, False]], [[-4.0, True]]],
            },
        ],
    )
    rows = read_log(str(path), "lm-eval")
    assert rows.right.tolist() == [1, 0, 1]
    expected = [1 / (1 + np.exp(-1) + np.exp(-2)), 1 / (1 + np.exp(-1)), 1 / (1 + np.exp(-1))]
    assert rows.confidence == pytest.approx(expected)
    assert set(rows.task) == {"arc_easy"}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([{"confidence": 0.85}, {"confidence": 1}], [0.85, 1.0]),
        ([{"confidence": 85}, {"confidence": 1}], [0.85, 0.01]),
        ([{"confidence": "85%"}, {"confidence": "0.5"}], [0.85, 0.5]),
        ([{"logprobs": [-0.5, -0.25]}, {"logprobs": -1.0}], [np.exp(-0.75), np.exp(-1)]),
        (
            [{"logprobs": {"content": [{"token": "a", "logprob": -0.1}]}}, {"token_logprobs": [None, -2]}],
            [np.exp(-0.1), np.exp(-2)],
        ),
    ],
)
def test_generic_confidences(tmp_path, said, expected):
    path = write(tmp_path / "a.jsonl", [{**s, "correct": i == 0} for i, s in enumerate(said)])
    rows = read_log(str(path), "llm")
    assert rows.confidence == pytest.approx(expected)
    assert rows.right.tolist() == [1, 0]


def test_shell(tmp_path, capsys):
    rng = np.random.default_rng(37)
    for task in ("a", "b"):
        records = []
        for i in range(150):
            x = rng.normal(0, 2, 4)
            records.append(sample(i, x.tolist(), int(rng.integers(4)) if rng.random() < 0.5 else int(x.argmax())))
        write(tmp_path / f"samples_{task}_2024-01-01.jsonl", records)
    assert run(["check", "--from", "lm-eval", f"{tmp_path}/samples_*.jsonl", "--by", "task", "--like", "hle"]) == 0
    out = capsys.readouterr().out
    assert "By task" in out
    assert "ignoring the 100 most confident of 300" in " ".join(out.split())


@pytest.mark.parametrize(
    ("record", "kind", "message"),
    [
        ({"target": 0, "filtered_resps": [["the answer is 4"]]}, "lm-eval", "only multiple-choice samples"),
        (
            {"target": 7, "filtered_resps": [[-1, "x"], [-2, "x"]]},
            "lm-eval",
            "the target 7 is not one of the 2 choices",
        ),
        ({"confidence": 0.5}, "llm", "none of the keys correct"),
        ({"correct": True}, "llm", "none of the keys confidence"),
        ({"correct": "maybe", "confidence": 1}, "llm", "does not say right or wrong"),
        ({"correct": True, "confidence": 300}, "llm", "not in 0-1 or 0-100"),
        ({"correct": True, "confidence": 0.5}, "helm", "--from knows lm-eval, llm"),
    ],
)
def test_unknown_formats(tmp_path, record, kind, message, capsys):
    path = write(tmp_path / "a.jsonl", [record])
    assert run(["check", "--from", kind, str(path)]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert (out, err.count("\n")) == ("", 1)


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
