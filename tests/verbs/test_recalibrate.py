"""`howsure.recalibrate` on arrays and tables, and the stream that applies it."""

import gzip
import json
import re

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import howsure
from howsure import InputError
from howsure.calibration.recalibration.methods import from_dict, load
from howsure.verbs.recalibrate import apply_recalibrator


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(0)
    p = rng.random(1500)
    return (rng.random(1500) < p).astype(int), p**2 / (p**2 + (1 - p) ** 2)


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 1, 1], 900)
    y = (rng.random(900)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    q = p**2
    return y, q / q.sum(axis=1, keepdims=True)


@pytest.fixture
def saved(pair, tmp_path):
    path = tmp_path / "cal.json"
    frame = pd.DataFrame({"q": pair[1], "y": pair[0]})
    path.write_text(howsure.recalibrate(frame, method="platt").to_json())
    return path


def test_result_is_frozen_plain_data_and_says_what_it_gains(pair):
    r = howsure.recalibrate(*pair)
    with pytest.raises(AttributeError):
        r.n = 3
    assert not r.declined
    assert r.gain.low > 0
    assert r.verdict.startswith(f"Recalibrate by {r.best}: on held-out rows the log loss falls from")
    assert "\n" not in repr(r)
    made = json.loads(json.dumps(r.to_dict(), allow_nan=False))
    assert [m["method"] for m in made["methods"]] == [
        "none",
        "temperature",
        "platt",
        "beta",
        "isotonic-platt",
        "histogram-platt",
    ]
    assert np.array_equal(from_dict(made["recalibrator"]).transform(pair[1]), r.transform(pair[1]))
    assert howsure.check(pair[0], r.transform(pair[1])).error.value < howsure.check(*pair).error.value / 3


def test_the_same_every_time(pair):
    assert howsure.recalibrate(*pair).to_dict() == howsure.recalibrate(*pair).to_dict()
    assert howsure.recalibrate(*pair, rng=1).gain != howsure.recalibrate(*pair).gain


def test_declines_without_evidence_but_does_as_asked(pair):
    y, q = pair[0][:400], np.sqrt(pair[1]) / (np.sqrt(pair[1]) + np.sqrt(1 - pair[1]))
    q = q[:400]
    r = howsure.recalibrate(y, q)
    assert r.declined
    assert r.method == "none"
    assert "Leave the probabilities as they are" in r.verdict
    assert np.array_equal(r.transform(q), q)
    asked = howsure.recalibrate(y, q, method="beta")
    assert not asked.declined
    assert asked.method == "beta"
    assert "as asked, but the gain is not clear" in asked.verdict


def test_impossible_predictions_do_not_break_it(pair):
    y, q = pair
    r = howsure.recalibrate(y, (q > 0.5).astype(float))
    assert np.isfinite(r.gain.value)
    assert 0 < r.transform([0.0])[0] < r.transform([1.0])[0] < 1


def test_groups_widen_the_interval_and_stay_together(pair):
    y, q = (np.repeat(v[:300], 5) for v in pair)
    groups = np.repeat(np.arange(300), 5)
    alone, together = (
        howsure.recalibrate(y, q, method="platt"),
        howsure.recalibrate(y, q, method="platt", groups=groups),
    )
    assert together.n_groups == 300
    ratio = (together.gain.high - together.gain.low) / (alone.gain.high - alone.gain.low)
    assert ratio == pytest.approx(np.sqrt(5), rel=0.15)
    named = pd.DataFrame({"p": q, "y": y, "doc": [f"d{g}" for g in groups]})
    assert howsure.recalibrate(named, groups="doc").n_groups == 300


def test_many_classes(classes):
    y, p = classes
    r = howsure.recalibrate(y, p)
    assert not r.declined
    assert r.best in ("temperature", "vector")
    assert r.transform(p).shape == p.shape
    frame = pd.DataFrame(p, columns=["p_a", "p_b", "p_c"]).assign(gold=np.array(list("abc"))[y])
    again = howsure.recalibrate(frame, prob="p_*", true="gold")
    assert again.classes == ("a", "b", "c")
    np.testing.assert_allclose(again.transform(p), r.transform(p))


def test_tables_are_arrays(pair, tmp_path):
    y, q = pair
    path = tmp_path / "a.csv"
    pd.DataFrame({"prob": q, "label": np.where(y, "right", "wrong")}).to_csv(path, index=False)
    assert howsure.recalibrate(path, positive="right").gain == howsure.recalibrate(y, q).gain
    logits = pd.DataFrame({"prob": np.log(q / (1 - q)), "label": y})
    made = howsure.recalibrate(logits, logits=True)
    assert made.gain.value == pytest.approx(howsure.recalibrate(y, q).gain.value)
    assert made.saved()["scale"] == "logit"


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"method": "plat"}, "no method 'plat'. Did you mean `platt`"),
        ({"method": "vector"}, "'vector' is not for 2 classes"),
        ({"groups": np.zeros(1500)}, "all rows are in one group"),
        ({"groups": [1, 2]}, "lengths differ"),
        ({"confidence_level": 1}, "between 0.01 and 0.9999"),
        ({"prob": "q"}, "with arrays leave them out"),
        ({"rng": "a"}, "`rng=` must be a seed"),
    ],
)
def test_bad_arguments(pair, keywords, message):
    with pytest.raises(InputError, match=message):
        howsure.recalibrate(*pair, **keywords)


def test_bad_data(pair, classes):
    with pytest.raises(InputError, match="needs 10 rows at least; got 3"):
        howsure.recalibrate([0, 1, 1], [0.2, 0.3, 0.4])
    with pytest.raises(InputError, match="all 1,500 labels are 1: there is nothing to learn"):
        howsure.recalibrate(np.ones(1500, int), pair[1])
    with pytest.raises(InputError, match="method 'platt' is not for 3 classes"):
        howsure.recalibrate(*classes, method="platt")
    with pytest.raises(InputError, match="give `y_true` and `y_prob`"):
        howsure.recalibrate(pair[0])
    frame = pd.DataFrame(classes[1], columns=["p_a", "p_b", "p_c"]).assign(gold="d")
    with pytest.raises(InputError, match="`gold` is 'd' in row 1, which is none of the classes"):
        howsure.recalibrate(frame, prob="p_*")
    with pytest.raises(InputError, match="names 0 of the columns"):
        howsure.recalibrate(frame, prob="x_*", true="gold")


# Applying


def test_text_is_copied_as_written_and_order_kept(saved, tmp_path):
    source, out = tmp_path / "a.csv", tmp_path / "out.csv"
    rows = ["007,0.50,2020-01-02T03:04:05Z", ',1e-3,"a, ""b"""', "x\u00e9,1,", "é,0.250,NaN"]
    source.write_text("id,q,note\n" + "\n".join(rows) + "\n")
    made = apply_recalibrator(saved, source, str(out))
    assert (made.n, made.columns, made.out) == (4, ("q_recalibrated",), str(out))
    held = apply_recalibrator(howsure.load(saved), source, prob="q")  # objects too, and in memory
    assert held.out is None
    assert held.data.column("q_recalibrated").to_pylist() == held.to_pandas()["q_recalibrated"].tolist()
    lines = out.read_text().splitlines()
    assert lines[0] == "id,q,note,q_recalibrated"
    assert [line.rsplit(",", 1)[0] for line in lines[1:]] == rows
    made = [float(line.rsplit(",", 1)[1]) for line in lines[1:]]
    assert made == load(saved).transform([0.5, 1e-3, 1.0, 0.25]).tolist()


def test_json_records_are_copied_as_written(saved, tmp_path):
    source, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl.gz"
    records = ['{"q": 0.50, "t": "2020-01-02T03:04:05Z", "n": null}', '{"deep": {"q": [1, {}]}, "q":1e-3}']
    source.write_text("\n".join(records) + "\n")
    apply_recalibrator(saved, source, str(out), name='new "q"')
    lines = gzip.decompress(out.read_bytes()).decode().splitlines()
    assert [line[: len(r) - 1] + "}" for line, r in zip(lines, records, strict=True)] == records
    assert [json.loads(line)['new "q"'] for line in lines] == load(saved).transform([0.5, 1e-3]).tolist()


def test_a_pretty_json_array_becomes_lines(saved, tmp_path):
    source, out = tmp_path / "a.json", tmp_path / "out.jsonl"
    source.write_text(json.dumps([{"q": 0.5, "a": "x\ny"}, {"q": 0.25, "a": ""}], indent=2))
    apply_recalibrator(saved, source, str(out))
    made = [json.loads(line) for line in out.read_text().splitlines()]
    assert [m["a"] for m in made] == ["x\ny", ""]
    assert [m["q_recalibrated"] for m in made] == load(saved).transform([0.5, 0.25]).tolist()


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet", ".csv.gz", ".tsv.gz", ".jsonl.gz"])
@pytest.mark.parametrize("source", ["csv", "parquet", "jsonl"])
def test_any_format_to_any_other(saved, tmp_path, suffix, source):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": np.arange(1000), "q": rng.random(1000).round(6), "tag": ["a", "b\tc"] * 500})
    path = tmp_path / f"a.{source}"
    if source == "csv":
        frame.to_csv(path, index=False)
    elif source == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_json(path, orient="records", lines=True)
    out = tmp_path / f"out{suffix}"
    assert apply_recalibrator(saved, path, str(out)).n == 1000
    if suffix == ".parquet":
        made = pq.read_table(out).to_pandas()
    elif ".jsonl" in suffix:
        made = pd.read_json(out, lines=True, precise_float=True)
    else:
        made = pd.read_csv(out, sep="\t" if ".tsv" in suffix else ",")
    assert list(made) == ["id", "q", "tag", "q_recalibrated"]
    assert (made.id == frame.id).all()
    assert (made.tag == frame.tag).all()
    np.testing.assert_allclose(made.q_recalibrated, load(saved).transform(frame.q), rtol=1e-14)


def test_more_rows_than_a_batch_keep_their_order(saved, tmp_path):
    n = 600_000
    path, out = tmp_path / "a.parquet", tmp_path / "out.parquet"
    q = np.random.default_rng(0).random(n)
    pd.DataFrame({"i": np.arange(n), "q": q}).to_parquet(path)
    assert apply_recalibrator(saved, path, str(out)).n == n
    made = pq.read_table(out).to_pandas()
    assert (made.i == np.arange(n)).all()
    assert np.array_equal(made.q_recalibrated, load(saved).transform(q))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("source", [".csv", ".jsonl"])
@pytest.mark.parametrize(("bad", "message"), [("1.5", "got 1.5 in row 300,001"), ('"oops"', "oops"), ("", "30")])
def test_a_bad_row_leaves_no_output(saved, tmp_path, suffix, source, bad, message):
    path, out = tmp_path / f"a{source}", tmp_path / f"out{suffix}"
    head, line = ("q,a\n", "{},1\n") if source == ".csv" else ("", '{{"q": {}}}\n')
    good = line.format("0.5")
    path.write_text(head + good * 300_000 + line.format(bad) + good * 5)
    out.write_text("before")
    with pytest.raises(InputError, match=message) as error:
        apply_recalibrator(saved, path, str(out))
    assert re.search("row 300,001|line 30000[12]", str(error.value))
    assert "\n" not in str(error.value)
    assert out.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([path.name, out.name, "cal.json"])


def test_many_classes_are_matched_by_name(classes, tmp_path):
    y, p = classes
    frame = pd.DataFrame(p, columns=["p_a", "p_b", "p_c"]).assign(gold=np.array(list("abc"))[y])
    r = howsure.recalibrate(frame, prob="p_*", method="vector")
    saved, new, out = tmp_path / "cal.json", tmp_path / "new.parquet", tmp_path / "out.parquet"
    saved.write_text(r.to_json())
    frame[["p_c", "gold", "p_a", "p_b"]].to_parquet(new)
    names = list(apply_recalibrator(saved, new, str(out)).columns)
    assert names == ["p_a_recalibrated", "p_b_recalibrated", "p_c_recalibrated"]
    np.testing.assert_allclose(pq.read_table(out).to_pandas()[names], r.transform(p), rtol=1e-12)
    frame.drop(columns="p_b").to_parquet(new)
    with pytest.raises(InputError, match="fitted to 3 classes; `prob='p_\\*'` names 2"):
        apply_recalibrator(saved, new, str(out))
    frame.rename(columns={"p_b": "p_d"}).to_parquet(new)
    with pytest.raises(InputError, match="not fitted to class 'd'"):
        apply_recalibrator(saved, new, str(out))
    with pytest.raises(InputError, match="fitted to 3 classes; give a glob"):
        apply_recalibrator(saved, new, str(out), prob="p_a")


def test_bad_applications(saved, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("q,q_recalibrated\n0.5,0.5\n")
    with pytest.raises(InputError, match="has a column `q_recalibrated` already"):
        apply_recalibrator(saved, path, str(tmp_path / "out.csv"))
    with pytest.raises(InputError, match=r"cannot tell the format of out\.xlsx"):
        apply_recalibrator(saved, path, "out.xlsx")
    with pytest.raises(InputError, match="has no column `p`"):
        apply_recalibrator(saved, path, str(tmp_path / "out.csv"), prob="p")
    with pytest.raises(InputError, match="not JSON"):
        apply_recalibrator(path, path, str(tmp_path / "out.csv"))
    with pytest.raises(InputError, match=r"nothing\.json cannot be read"):
        apply_recalibrator("nothing.json", path, str(tmp_path / "out.csv"))
