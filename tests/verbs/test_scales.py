"""What people bring: other scales, numbers as they are written, words for labels, missing values, lists of columns."""

import json

import numpy as np
import pyarrow as pa
import pytest

import howsure
from howsure._validate import Origin
from howsure._written import Seen, recognised_scale
from howsure.cli.application import run

N = 400


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    p = np.round(0.01 * np.round(100 * rng.beta(2, 2, N)), 2)
    p[:2] = 0.5, 0.01  # no logit is infinite, and one percentage is exactly 1
    p = np.clip(p, 0.01, 0.99)
    return (rng.random(N) < p).astype(int), p


def numbers(result):
    """All that is said but for how it was read."""
    return {k: v for k, v in result.to_dict().items() if k not in ("notes", "source")}


def logit(p):
    return np.log(p) - np.log1p(-p)


def written(folder, name, columns, delimiter=","):
    path = folder / name
    lines = [delimiter.join(columns), *(delimiter.join(map(str, r)) for r in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def sources(columns, folder):
    """One table as a file, an Arrow table, a pandas and a polars frame, and a polars query that has not run."""
    import pandas as pd
    import polars as pl

    frame = pl.DataFrame(columns)
    return [written(folder, "rows.csv", columns), pa.table(columns), pd.DataFrame(columns), frame, frame.lazy()]


def test_percentages_are_recognised_everywhere_and_said_to_be(rows, tmp_path):
    y, p = rows
    plain, percent = numbers(howsure.check(y, p)), np.round(100 * p).astype(int)
    found = [howsure.check(y, percent), howsure.check(y.tolist(), percent.tolist())]
    found += [howsure.check(source) for source in sources({"score": percent, "y": y}, tmp_path)]
    found += [howsure.check(pa.table({"score": percent, "y": y}), engine=e) for e in ("memory", "files")]
    for result in found:
        assert numbers(result) == plain
        assert any("read as percentages" in note for note in result.notes)
        assert "read as percentages" in result.to_text()


def test_scales_are_the_same_in_every_kind_of_table(rows, tmp_path, capsys):
    """What is asked of arrays is asked of files and frames, and once it is answered the numbers are the same."""
    y, p = rows
    plain = howsure.check(y, p).brier.value
    for scale, values in (("logit", logit(p)), ("logprob", np.log(p))):
        with pytest.raises(howsure.InputError, match=f"Then pass `scale='{scale}'`"):
            howsure.check(y, values)
        for source in sources({"score": values, "human": ["NY"[v] for v in y]}, tmp_path):
            with pytest.raises(howsure.InputError, match=f"Then pass `scale='{scale}'`"):
                howsure.check(source)
            assert howsure.check(source, scale=scale).brier.value == pytest.approx(plain, rel=1e-9)
        assert run(["check", str(tmp_path / "rows.csv")]) == 2
        assert f"Then pass --scale {scale}." in capsys.readouterr().err
    for source in sources({"score": np.where(np.arange(N) == 40, 1.3, p), "human": y}, tmp_path):
        with pytest.raises(howsure.InputError, match=r"`score` must lie in \[0, 1\]; got 1.3 in row 41"):
            howsure.check(source)
    path = written(tmp_path, "logits.csv", {"score": logit(p), "y": y})
    said = []
    for option in (["--logits"], ["--scale", "logit"]):
        assert run(["check", path, *option, "--json"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]


def test_scales_that_are_named_give_the_same_numbers(rows):
    y, p = rows
    plain = howsure.check(y, p)
    assert numbers(howsure.check(y, 100 * p, scale="percent")) == numbers(howsure.check(y, 100 * p / 100))
    assert howsure.check(y, 100 * p, scale="percent").notes == ()
    for name, values in (("logit", logit(p)), ("logprob", np.log(p))):
        assert howsure.check(y, values, scale=name).brier.value == pytest.approx(plain.brier.value, rel=1e-12)
    assert numbers(howsure.check(y, logit(p), logits=True)) == numbers(howsure.check(y, logit(p), scale="logit"))
    wrong = howsure.check(y, np.log(p), scale="logit"), howsure.check(pa.table({"p": np.log(p), "y": y}), logits=True)
    assert all("pass `scale='logprob'`" in w.notes[0] for w in wrong)
    with pytest.raises(ValueError, match="contradict"):
        howsure.check(y, p, logits=True, scale="percent")
    with pytest.raises(ValueError, match="`scale=` must be one of probability, percent, logit, logprob"):
        howsure.check(y, p, scale="odds")
    with pytest.raises(ValueError, match=r"`y_prob` must lie in \[0, 1\]; got 12"):
        howsure.check(y, np.full(N, 12.0), scale="probability")
    with pytest.raises(ValueError, match=r"must be 0 or below on the scale logprob; got 0\.5 in index 3"):
        howsure.check(y, np.where(np.arange(N) == 3, 0.5, -1.0), scale="logprob")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.r_[np.linspace(0.1, 0.9, 99), 1.3], r"must lie in \[0, 1\]; got 1.3 in index 99\. For another scale"),
        (np.r_[np.linspace(0.1, 0.9, 98), 55, 60], "got 55 in index 98, the first of 2 such rows of 100"),
        (np.linspace(-9, -0.01, 100), "are these log-probabilities. Then pass `scale='logprob'`"),
        (np.linspace(-4, 5, 100), "runs from -4 to 5: are these logits .log-odds.. Then pass `scale='logit'`"),
        (np.tile([1, 2, 3, 4, 5], 20), "runs from 1 to 5: a rating is no probability"),
        (np.linspace(0, 900, 100), "got 9.09090909.* in index 1, the first of 99"),
        (np.r_[np.linspace(0.1, 0.9, 99), -0.5], "got -0.5 in index 99"),
    ],
)
def test_other_numbers_are_refused_with_a_question_or_the_row(values, said):
    y = np.arange(len(values)) % 2
    with pytest.raises(ValueError, match=said):
        howsure.check(y, values)
    with pytest.raises(
        ValueError,
        match=said.replace("index 99", "row 100").replace("index 98", "row 99").replace("index 1,", "row 2,"),
    ):
        howsure.check(pa.table({"p": values.astype(float), "y": y}))


def test_a_survey_adds_up(rows):
    x = np.r_[np.nan, 30.0, 0.5, np.nan, 100.0, 2.0]
    whole = Seen.of(x, 0)
    assert Seen.of(x[:2], 0) + Seen.of(x[2:], 2) == whole == Seen.of(x[3:], 3) + Seen.of(x[:3], 0)
    assert (whole.n, whole.missing, whole.above, whole.first, whole.first_missing) == (6, 2, 3, (1, 30.0), 0)
    assert recognised_scale(whole, Origin()) == "percent"


def test_plain_probabilities_are_read_once(rows, monkeypatch):
    from howsure.engines import items

    def none(*_):
        raise AssertionError("a survey")

    monkeypatch.setattr(items, "surveyed", none)
    y, p = rows
    howsure.check(y, p)
    howsure.check(pa.table({"p": p, "y": y}))


def test_numbers_as_people_write_them(rows, tmp_path):
    y, p = rows
    plain = numbers(howsure.check(y, p))
    signs = [f"{round(100 * v)}%" for v in p]
    commas = [f"{v:.2f}".replace(".", ",") for v in p]
    for texts, said in ((signs, "percent sign"), (commas, "decimal comma")):
        found = [howsure.check(y, texts), howsure.check(pa.table({"p": texts, "y": y}))]
        found.append(howsure.check(written(tmp_path, "rows.csv", {"p": texts, "y": y}, ";")))
        for result in found:
            assert numbers(result) == plain
            assert [note for note in result.notes if said in note]
    assert numbers(howsure.check(pa.table({"p": signs, "y": y}), scale="percent")) == plain
    with pytest.raises(ValueError, match="`p` must hold numbers; got 'high' in row 3"):
        howsure.check(pa.table({"p": [*signs[:2], "high", *signs[3:]], "y": y}))
    with pytest.raises(ValueError, match="it is no logit"):
        howsure.check(pa.table({"p": signs, "y": y}), scale="logit")


@pytest.mark.parametrize("words", [("no", "yes"), ("N", "Y"), ("false", "true"), ("wrong", "correct"), ("No", "Yes ")])
def test_words_for_labels(rows, tmp_path, words):
    y, p = rows
    plain = numbers(howsure.check(y, p))
    labels = [words[v] for v in y]
    found = [howsure.check(labels, p), howsure.check(np.array(labels, object), p)]
    found += [howsure.check(source) for source in sources({"p": p, "human": labels}, tmp_path)]
    for result in found:
        assert numbers(result) == plain
    with pytest.raises(ValueError, match="positive"):
        howsure.check(["good" if v else "bad" for v in y], p)


def test_spellings_of_one_label_are_pointed_out(rows):
    y, p = rows
    labels = np.where(y == 1, "yes", "no").astype(object)
    labels[np.flatnonzero(y == 1)[:2]] = "Yes", " yes"
    for result in (howsure.check(labels, p), howsure.check(pa.table({"p": p, "y": labels.tolist()}))):
        assert "' yes', 'Yes', 'yes' as 1 and 'no' as 0" in " ".join(result.notes)


def test_missing_values_are_left_out_and_counted_in_all_columns_at_once(rows, tmp_path):
    y, p = rows
    holes_p, holes_y = p.copy(), y.astype(float)
    holes_p[[3, 50, 51]] = np.nan
    holes_y[[50, 90]] = np.nan
    keep = ~np.isnan(holes_p) & ~np.isnan(holes_y)
    plain = numbers(howsure.check(y[keep], p[keep]))
    groups = np.arange(N) // 4
    texts = ["" if np.isnan(v) else f"{v:g}" for v in holes_p], ["" if np.isnan(v) else f"{v:g}" for v in holes_y]
    path = written(tmp_path, "rows.csv", {"p": texts[0], "y": texts[1], "doc": groups})
    table = pa.table(
        {"p": pa.array(holes_p, from_pandas=True), "y": pa.array(holes_y, from_pandas=True), "doc": groups}
    )
    for result in (howsure.check(holes_y, holes_p), howsure.check(path), howsure.check(table)):
        assert numbers(result) == plain
        (note,) = result.notes
        assert note.startswith("4 of 400 rows have no `y")
        assert "(2) or no `" in note
        assert "(3): left out" in note
    clustered = numbers(howsure.check(y[keep], p[keep], groups=groups[keep]))
    assert numbers(howsure.check(holes_y, holes_p, groups=groups)) == clustered
    assert howsure.check(path, groups="doc").bias.gap.low == pytest.approx(clustered["bias"]["low"], rel=1e-12)
    assert howsure.check(path, groups="doc", by="doc").n == keep.sum()
    with pytest.raises(ValueError, match=r"4 of 400 rows have no .* \(3\), the first of them row 4; `missing='drop'`"):
        howsure.check(path, missing="error")
    with pytest.raises(ValueError, match="400 of 400 rows have no `y_prob`: nothing is left"):
        howsure.check(y, np.full(N, np.nan))
    both = howsure.compare(holes_y, {"a": holes_p, "b": p})
    assert both.calibrations[0].n == keep.sum()
    assert "left out" in both.notes[0]
    assert howsure.recalibrate(holes_y, holes_p).n == keep.sum()


def test_the_file_of_a_judge_is_right_on_the_first_try(rows, tmp_path, capsys):
    y, p = rows
    score = ["" if i == 17 else str(round(100 * v)) for i, v in enumerate(p)]
    path = written(tmp_path, "judge.csv", {"id": range(N), "score": score, "human": ["yes" if v else "no" for v in y]})
    assert run(["check", path, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    keep = np.arange(N) != 17
    assert {k: v for k, v in said.items() if k not in ("notes", "source")} == json.loads(
        json.dumps(numbers(howsure.check(y[keep], p[keep])))
    )
    assert any("percentages" in n for n in said["notes"])
    assert any("1 of 400 rows has no `score`" in n for n in said["notes"])


def test_one_model_in_percent_is_compared_with_one_that_is_not(rows):
    y, p = rows
    other = np.sqrt(p)
    plain = howsure.compare(y, {"a": p, "b": other})
    mixed = howsure.compare(pa.table({"a": np.round(100 * p), "b": other, "y": y}), prob=["a", "b"])
    assert mixed.to_dict()["pairs"] == plain.to_dict()["pairs"]
    assert [n for n in mixed.notes if "`a`" in n and "percentages" in n]


def test_files_that_are_joined_are_surveyed_each(rows, tmp_path):
    y, p = rows
    a = written(tmp_path, "a.csv", {"id": range(N), "p": p, "y": y})
    b = written(tmp_path, "b.csv", {"id": range(N), "p": np.round(100 * p).astype(int), "y": ["yn"[1 - v] for v in y]})
    made = howsure.compare([a, b], key="id")
    assert made.pairs[0].brier.value == 0.0
    assert any("percentages" in n for n in made.notes)


def test_a_recalibrator_remembers_the_scale(rows, tmp_path):
    from howsure.verbs.recalibrate import apply_recalibrator

    y, p = rows
    percent = np.round(100 * p).astype(int)
    path = written(tmp_path, "rows.csv", {"score": percent, "y": y})
    made = howsure.recalibrate(path, method="platt")
    assert any("percentages" in n for n in made.notes)
    assert "percentages" in made.to_text()
    (tmp_path / "cal.json").write_text(made.to_json())
    apply_recalibrator(tmp_path / "cal.json", path, str(tmp_path / "out.csv"))
    first = (tmp_path / "out.csv").read_text().splitlines()[1].split(",")
    assert float(first[2]) == pytest.approx(howsure.recalibrate(y, p, method="platt").transform(p[:1])[0])


def test_a_list_of_columns_is_many_classes(tmp_path):
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 1, 1], 200)
    gold = [["cat", "car", "dog"][rng.choice(3, p=row)] for row in p]
    columns = {"p_cat": p[:, 0], "p_car": p[:, 1], "p_dog": p[:, 2], "gold": gold}
    wide = howsure.check(pa.table(columns), prob="p_*")
    for prob in (["p_cat", "p_car", "p_dog"], "p_cat,p_car,p_dog"):
        for source in sources(columns, tmp_path):
            assert howsure.check(source, prob=prob).to_dict() == wide.to_dict()
    with pytest.raises(ValueError, match="two columns at least, each named once"):
        howsure.check(pa.table(columns), prob=["p_cat"])


@pytest.mark.parametrize(("name", "scale"), [("logit", "logit"), ("Log-Prob", "logprob")])
def test_columns_named_for_their_scale_are_found(rows, name, scale):
    y, p = rows
    p = np.clip(p, 0.01, 0.99)
    values = np.log(p / (1 - p)) if scale == "logit" else np.log(p)
    with pytest.raises(howsure.InputError, match=f"`scale='{scale}'`"):
        howsure.check(pa.table({name: values, "y": y}))
    assert howsure.check(pa.table({name: values, "y": y}), scale=scale).n == len(y)
    assert howsure.check(pa.table({name: values, "prob": p, "y": y})).error == howsure.check(y, p).error


def test_classes_in_columns_that_begin_alike_are_named(tmp_path):
    rng = np.random.default_rng(2)
    p = rng.dirichlet([1, 1], 60).round(3)
    gold = [["cat", "dog"][rng.choice(2, p=row / row.sum())] for row in p]
    table = pa.table({"prob_cat": p[:, 0], "prob_dog": 1 - p[:, 0], "gold": gold})
    with pytest.raises(howsure.InputError, match=r"many classes: `prob='prob_\*'`"):
        howsure.check(table)
    plain = howsure.check(table, prob="prob_*")
    percent = {c: [f"{100 * v.as_py():.1f}%" for v in table[c]] for c in ("prob_cat", "prob_dog")}
    written = howsure.check(pa.table({**percent, "gold": gold}), prob="prob_*")
    assert written.top.error.value == pytest.approx(plain.top.error.value, abs=1e-12)
    with pytest.raises(howsure.InputError, match=r"Several models' probabilities of one outcome: `howsure.compare`"):
        howsure.check(pa.table({"p_a": p[:, 0], "p_b": 1 - p[:, 0], "gold": [0, 1] * 30}), prob="p_*")
