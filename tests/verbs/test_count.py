"""`howsure count`: the same numbers from arrays and tables, what it says, and what it refuses."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import howsure
from howsure.cli.application import run
from howsure.counting.share import share_of_positives
from howsure.counting.strata import GRID, grid_places
from howsure.errors import InputError


def population(n=3_000, seed=0):
    rng = np.random.default_rng(seed)
    q = rng.beta(0.4, 3, n)
    true = rng.random(n) < q
    day = np.datetime64("2024-01-01") + rng.integers(0, 150, n)
    team = np.array(["red", "blue"])[rng.integers(0, 2, n)]
    labelled = rng.random(n) < 0.1
    return q, true.astype(float), day, team, np.where(labelled, true, np.nan)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    q, _, day, team, y = population()
    path = tmp_path_factory.mktemp("count") / "items.parquet"
    columns = {"id": np.arange(len(q)), "p": q, "y": pa.array(y, from_pandas=True), "day": day, "team": team}
    pq.write_table(pa.table(columns), path)
    return path


def test_the_share_is_that_of_the_strata():
    q = np.repeat([0.1, 0.6], [80, 20])
    y = np.full(100, np.nan)
    y[:10], y[80:90] = 0, 1
    y[0] = 1
    made = howsure.count(y, q, design="random")
    share = share_of_positives(np.array([80, 20]), np.array([10, 10]), np.array([1, 10]))
    assert (made.share.value, made.share.low, made.share.high) == pytest.approx((share.value, share.low, share.high))
    assert made.raw == pytest.approx(q.sum())
    assert made.labels_only.value == pytest.approx(11 / 20)
    assert [(s.n_items, s.n_labels, s.n_positive) for s in made.strata] == [(80, 10, 1), (20, 10, 10)]


def test_inclusion_probabilities_weigh_within_a_stratum():
    """One stratum, two ways of drawing in it: Hájek's share, and labels worth (Σw)² ÷ Σw²."""
    q, y, inclusion = np.full(1_000, 0.3), np.full(1_000, np.nan), np.full(1_000, np.nan)
    y[:40], inclusion[:40] = np.arange(40) % 2 == 0, 0.4
    y[40:60], inclusion[40:60] = np.arange(20) % 4 == 0, 0.1
    made = howsure.count(y, q, design=inclusion)
    w = np.repeat([2.5, 10.0], [40, 20])
    n = w.sum() ** 2 / (w**2).sum()
    share = (w * y[:60]).sum() / w.sum()
    expected = share_of_positives(np.array([1_000]), np.array([n]), np.array([share * n]))
    assert made.share.value == pytest.approx(share)
    assert made.share.low == pytest.approx(expected.low)
    assert made.share.high == pytest.approx(expected.high)


def test_arrays_files_and_memory_say_the_same(table):
    q, _, _, _, y = population()
    options = {"prob": "p", "true": "y", "design": "random", "date": "day", "by": "team"}
    files = howsure.count(str(table), **options)
    memory = howsure.count(str(table), **options, engine="memory")
    frame = howsure.count(pq.read_table(table), **options)
    said = [{k: v for k, v in m.to_dict().items() if k != "source"} for m in (files, memory, frame)]
    assert said[0] == said[1] == said[2]
    assert howsure.count(y, q, design="random").share == files.share


def test_labels_in_a_file_of_their_own_are_the_same_labels(table, tmp_path):
    _q, _, _, _, y = population()
    at = np.flatnonzero(~np.isnan(y))
    labels = tmp_path / "labels.csv"
    labels.write_text("id,label\n" + "".join(f"{i},{int(y[i])}\n" for i in at[::-1]))
    inside = howsure.count(str(table), prob="p", true="y", design="random", by="team")
    outside = howsure.count(str(table), prob="p", labels=str(labels), key="id", design="random", by="team")
    assert inside.to_dict() == outside.to_dict()


def test_cells_add_up_and_order_matters_where_there_is_one(table):
    made = howsure.count(str(table), prob="p", true="y", design="random", date="day", by="team")
    alone = {c.period for c in made.cells if c.period and not c.group}
    assert alone == {f"2024-0{m}" for m in range(1, 6)}
    assert sum(c.n_items for c in made.cells if c.period and not c.group) == made.n_items
    assert sum(c.n_items for c in made.cells if c.period and c.group) == made.n_items
    assert sum(c.count.value for c in made.cells if c.period and c.group) == pytest.approx(made.count.value, rel=0.05)
    assert made.trend is not None
    by_team = howsure.count(str(table), prob="p", true="y", design="random", by="team")
    assert by_team.trend is None
    assert [c.change.than for c in by_team.cells] == ["all others"] * 2
    first, *later = [c for c in made.cells if c.period and not c.group]
    assert first.change is None
    assert [c.change.than for c in later] == ["2024-01", "2024-02", "2024-03", "2024-04"]


def test_a_period_without_items_is_shown_empty():
    q, _, day, _, y = population()
    keep = (day < np.datetime64("2024-02-01")) | (day >= np.datetime64("2024-03-01"))
    frame = pa.table({"p": q[keep], "y": pa.array(y[keep], from_pandas=True), "day": day[keep]})
    cells = howsure.count(frame, prob="p", true="y", design="random", date="day").cells
    empty = cells[1]
    assert (empty.period, empty.n_items, empty.count.value, empty.share) == ("2024-02", 0, 0, None)
    assert cells[2].change.than == "2024-01"


def test_everything_labelled_is_a_count():
    q, true, *_ = population()
    made = howsure.count(true, q)
    assert made.design == "all labelled"
    assert (made.count.low, made.count.value, made.count.high) == pytest.approx((true.sum(),) * 3)


def test_regression_of_everything_labelled_is_least_squares():
    q, true, _, team, _ = population()
    x = np.arange(len(q)) % 5
    frame = pa.table({"p": q, "y": true, "team": team, "x": x})
    made = howsure.count(frame, prob="p", true="y", formula="y ~ x + team").coefficients
    design = np.stack([np.ones(len(q)), x, team == "red"], axis=1)
    for found, y, pick in ((made, true, "value"), (made, q, "raw")):
        expected = np.linalg.lstsq(design, y, rcond=None)[0]
        got = [c.value.value if pick == "value" else c.raw for c in found]
        np.testing.assert_allclose(got, expected, atol=1e-8)
    assert [c.name for c in made] == ["(intercept)", "x", "team=red"]
    assert all(c.value.high - c.value.low < 1e-9 for c in made)


def test_two_systems_on_the_same_questions_are_compared_in_pairs():
    """One stratum: the difference of the means over drawn questions, with the variance of the paired differences."""
    rng = np.random.default_rng(6)
    m, drawn = 300, 40
    ease = rng.normal(size=m)
    a, b = (ease + rng.normal(size=m) > 0.5).astype(float), (ease + rng.normal(size=m) > 0).astype(float)
    chosen = rng.permutation(m)[:drawn]
    y = np.full((2, m), np.nan)
    y[:, chosen] = a[chosen], b[chosen]
    frame = pa.table(
        {
            "p": np.full(2 * m, 0.4),
            "y": pa.array(y.ravel(), from_pandas=True),
            "system": ["a"] * m + ["b"] * m,
            "question": [*range(m)] * 2,
        }
    )
    options = {"prob": "p", "true": "y", "design": "random", "by": "system", "formula": "y ~ system"}
    paired = howsure.count(frame, **options, groups="question").coefficients[1]
    alone = howsure.count(frame, **options).coefficients[1]
    d = b[chosen] - a[chosen]
    error = np.sqrt((1 - drawn / m) * d.var(ddof=1) / drawn)
    from scipy.stats import t

    half = t.ppf(0.975, drawn - 1) * error
    assert paired.name == "system=b"
    assert paired.value.value == pytest.approx(d.mean())
    assert paired.value.high - paired.value.value == pytest.approx(half)
    assert paired.value.high - paired.value.low < alone.value.high - alone.value.low


def test_whole_groups_are_worth_less_when_their_items_are_alike():
    rng = np.random.default_rng(3)
    doc = np.repeat(np.arange(400), 5)
    true = np.repeat(rng.random(400) < 0.2, 5).astype(float)
    y = np.where(doc % 10 == 0, true, np.nan)
    q = np.full(2_000, 0.2)
    one = howsure.count(y, q, design="random")
    whole = howsure.count(y, q, design="random", groups=doc)
    ratio = (whole.share.high - whole.share.low) / (one.share.high - one.share.low)
    assert 1.8 < ratio < 2.8  # items of a document are copies: √5
    assert whole.n_groups == 400
    y[3] = np.nan
    with pytest.raises(InputError, match="1 of 40 labelled groups have items without a label"):
        howsure.count(y, q, design="random", groups=doc)


def test_the_verdict_says_it_in_words(table, capsys):
    assert run(["count", str(table), "--prob", "p", "--true", "y", "--design", "random", "--until", "0.01"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("about 12.0% (9.3 to 15.3), 360 of 3,000; the model alone says 11.5%.")
    assert "the model alone says" in said
    assert "more labels" in said
    assert max(map(len, said.splitlines())) <= 80


def test_json_holds_everything(table, capsys):
    run(["count", str(table), "--prob", "p", "--true", "y", "--design", "random", "--by", "team", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert {"share", "count", "raw", "labels_only", "strata", "cells"} <= set(said)
    assert said["cells"][0]["change"]["than"] == "all others"


# -- which to label ---------------------------------------------------------------------------------------------------


def test_drawn_items_stand_for_all_of_their_stratum(table):
    made = howsure.to_label(str(table), 150, prob="p", date="day", by="team")
    rows = made.rows.to_pydict()
    assert len(rows["id"]) == len(set(rows["id"])) == made.n_drawn == 150
    for s in made.strata:
        name = f"{s.from_prob:.6g} to {s.to_prob:.6g}"
        mine = [1 / p for p, h in zip(rows["inclusion"], rows["stratum"], strict=True) if h == name]
        assert sum(mine) == pytest.approx(s.n_items)
        assert len(mine) == s.n_drawn >= 4
    shares = [s.inclusion for s in made.strata]
    assert shares == sorted(shares)  # the surer the model is of a no, the fewer are labelled
    assert made.rows.column_names == ["id", "p", "y", "day", "team", "stratum", "inclusion"]


def test_draws_are_spread_over_time(table):
    made = howsure.to_label(str(table), 300, prob="p", date="day", every="week")
    q, _, day, *_ = population()
    weeks = np.asarray(day, "datetime64[W]").astype(int)
    drawn = weeks[np.array(made.rows["id"])]
    from collections import Counter

    expected = Counter(weeks.tolist())
    found = Counter(drawn.tolist())
    assert all(abs(found[w] - 0.1 * expected[w]) < 6 for w in expected)
    assert len(q) == 3_000


def test_a_small_group_gets_a_few_labels_and_keeps_its_own_inclusion_probability(tmp_path):
    rng = np.random.default_rng(4)
    group = np.array(["big"] * 3_000 + ["small"] * 30)
    items = pa.table({"id": np.arange(3_030), "p": rng.beta(0.4, 3, 3_030), "group": group})
    first = howsure.to_label(items, 60, prob="p", key="id", by="group")
    assert first.apart == ("all of small",)
    assert "1 small cell is drawn apart" in first.verdict
    drawn = first.rows.to_pydict()
    small = [p for g, p in zip(drawn["group"], drawn["inclusion"], strict=True) if g == "small"]
    assert small == [4 / 30] * 4
    assert {h for g, h in zip(drawn["group"], drawn["stratum"], strict=True) if g == "small"} == {"all of small"}
    # The next batch knows from the labels that this group was drawn apart.
    labels = first.rows.append_column("label", pa.array([i % 3 == 0 for i in range(60)])).drop(["p", "group"])
    second = howsure.to_label(items, 300, prob="p", key="id", by="group", labels=labels)
    assert second.apart == ("all of small",)
    counts = howsure.count(items, prob="p", key="id", by="group", labels=labels)
    assert counts.design == "known inclusion probabilities"
    assert {c.name: c.n_labels for c in counts.cells} == {"big": 56, "small": 4}


def test_the_next_batch_leaves_out_what_is_labelled_and_counts_it_in(table, tmp_path):
    _, true, *_ = population()
    first, second = str(tmp_path / "first.csv"), str(tmp_path / "second.csv")
    howsure.to_label(str(table), 60, prob="p", key="id", out=first)
    ids, stratum, inclusion = drawn_columns(first)
    labels = tmp_path / "labels.csv"
    lines = [f"{i},{h},{p},{int(true[i])}" for i, h, p in zip(ids, stratum, inclusion, strict=True)]
    labels.write_text("id,stratum,inclusion,label\n" + "\n".join(lines) + "\n")
    one = howsure.count(str(table), prob="p", labels=str(labels), key="id", until=0.005)
    assert one.design == "known inclusion probabilities"
    assert one.need.more > 100
    made = howsure.to_label(str(table), 100, prob="p", labels=str(labels), key="id", out=second)
    more, stratum, inclusion = drawn_columns(second)
    assert not set(ids) & set(more)
    assert made.n_labels == 60
    lines += [f"{i},{h},{p},{int(true[i])}" for i, h, p in zip(more, stratum, inclusion, strict=True)]
    labels.write_text("id,stratum,inclusion,label\n" + "\n".join(lines) + "\n")
    both = howsure.count(str(table), prob="p", labels=str(labels), key="id")
    assert both.n_labels == 160
    # Labels of one stratum count alike, whichever batch they are from.
    for s in both.strata:
        assert s.share.value == pytest.approx(s.n_positive / s.n_labels)
    assert both.share.high - both.share.low < one.share.high - one.share.low


def drawn_columns(path):
    read = pa.csv.read_csv(path).to_pydict()
    return read["id"], read["stratum"], read["inclusion"]


def test_whole_groups_are_drawn(tmp_path):
    rng = np.random.default_rng(1)
    frame = pa.table({"p": rng.random(600), "doc": np.arange(600) // 6})
    made = howsure.to_label(frame, 60, prob="p", groups="doc")
    docs = made.rows["doc"].to_pylist()
    assert made.n_groups == 10
    assert all(docs.count(d) == 6 for d in docs)
    assert set(made.rows["inclusion"].to_pylist()) == {0.1}


def test_the_shell_draws_and_counts(table, tmp_path, capsys):
    out = str(tmp_path / "to-label.csv")
    assert run(["count", str(table), "--prob", "p", "--to-label", "50", "-o", out]) == 0
    assert "50 of 3,000 items drawn" in capsys.readouterr().out
    assert len(drawn_columns(out)[0]) == 50
    assert run(["count", str(table), "--prob", "p", "--to-label", "50"]) == 2
    assert "give both" in capsys.readouterr().err
    more = str(tmp_path / "more.csv")
    given = ["--true", "y", "--design", "random"]
    assert run(["count", str(table), "--prob", "p", *given, "--until", "0.01", "-o", more]) == 0
    assert "more labels" in capsys.readouterr().out
    assert len(drawn_columns(more)[0]) == 100
    assert run(["count", str(table), "--prob", "p", *given, "--until", "0.3", "-o", str(tmp_path / "none.csv")]) == 0
    assert "no more labels are needed" in capsys.readouterr().out
    assert not (tmp_path / "none.csv").exists()


def test_a_column_that_drawn_tables_add_is_in_the_way():
    with pytest.raises(InputError, match="has a column `stratum` already"):
        howsure.to_label(pa.table({"p": [0.5, 0.2], "stratum": [1, 2]}), 1, prob="p")


def test_nothing_left_to_draw_is_one_line():
    with pytest.raises(InputError, match="every item is labelled"):
        howsure.to_label(pa.table({"p": [0.5, 0.2], "y": [1, 0]}), 1, prob="p", true="y")


@pytest.mark.spark
def test_spark_counts_and_draws_the_same(table, spark):
    options = {"prob": "p", "true": "y", "date": "day", "by": "team"}
    here = howsure.count(str(table), **options, design="random").to_dict()
    there = howsure.count(spark.read.parquet(str(table)).repartition(3), **options, design="random").to_dict()
    assert here == there
    drawn = [
        howsure.to_label(s, 80, prob="p", key="id", date="day") for s in (str(table), spark.read.parquet(str(table)))
    ]
    assert sorted(drawn[0].rows["id"].to_pylist()) == sorted(drawn[1].rows["id"].to_pylist())


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_an_unknown_design_is_refused_with_the_reason(table):
    with pytest.raises(InputError, match=r"how were the labelled items chosen.*no method can tell"):
        howsure.count(str(table), prob="p", true="y")


def test_no_labels_is_one_line():
    with pytest.raises(InputError, match=r"no item is labelled.*sum to 30\.0 of 100 items.*`howsure\.to_label`"):
        howsure.count(np.full(100, np.nan), np.full(100, 0.3), design="random")


def test_labels_of_one_class_are_a_wide_count():
    y = np.where(np.arange(1_000) % 20 == 0, 0.0, np.nan)
    made = howsure.count(y, np.full(1_000, 0.01), design="random")
    assert made.share.value == 0
    assert made.share.high > 0.05
    assert "no labelled item is positive" in made.notes[0]


@pytest.mark.parametrize(("value", "said"), [(0.0, "got 0 in index 3"), (1.2, "got 1.2"), (np.nan, "missing")])
def test_inclusion_probabilities_lie_above_0(value, said):
    y, inclusion = np.full(100, np.nan), np.full(100, 0.1)
    y[:10] = 1
    inclusion[3] = value
    with pytest.raises(InputError, match=said):
        howsure.count(y, np.full(100, 0.3), design=inclusion)


def labels_file(tmp_path, text):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,label\n7,1\n7,0\n", "labels 1 item in two ways (the first is '7')"),
        ("id,label,annotator\n7,1,a\n7,0,b\n", "by as many people each way"),
        ("id,label\n99999,1\n", "none of the 1 labelled items is in"),
        ("id,label\n7,\n", "has no labels"),
        ("id,label\n7,2\n", "must be 0 or 1; got 2"),
        ("id,label\nx7,1\n", "holds 'x7', which the table's `id` (bigint) cannot"),
        ("id,label,inclusion\n7,1,0\n", "must lie above 0"),
        ("name,label\n7,1\n", "has no column `id`"),
    ],
)
def test_bad_labels_are_one_line(table, tmp_path, text, said):
    with pytest.raises(InputError) as error:
        howsure.count(
            str(table),
            prob="p",
            labels=labels_file(tmp_path, text),
            key="id",
            design=None if "inclusion" in text else "random",
        )
    assert said in str(error.value)


def test_labels_outside_the_table_are_told(table, tmp_path):
    text = "id,label\n" + "".join(f"{i},{i % 2}\n" for i in [*range(30), 99_999])
    made = howsure.count(str(table), prob="p", labels=labels_file(tmp_path, text), key="id", design="random")
    assert made.n_labels == 30
    assert any("1 of 31 labelled items are not in" in note for note in made.notes)


def test_the_majority_settles_what_several_people_said(table, tmp_path):
    text = "id,label,annotator\n" + "".join(f"{i},{i % 2},{who}\n" for i in range(30) for who in "abc")
    text = text.replace("7,1,c", "7,0,c", 1)
    made = howsure.count(str(table), prob="p", labels=labels_file(tmp_path, text), key="id", design="random")
    assert (made.n_labels, made.n_positive) == (30, 15)
    assert "1 items were labelled both ways" in made.notes[0]


def test_keys_with_zeros_in_front_are_the_tables_own(tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("id,p\n" + "".join(f"{i:03},0.3\n" for i in range(99)) + "a1,0.3\n")
    text = "id,label\n" + "".join(f"{i:03},{i % 2}\n" for i in range(20))
    made = howsure.count(str(items), labels=labels_file(tmp_path, text), key="id", design="random")
    assert made.n_labels == 20


def test_a_key_that_stands_twice_is_refused(tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("id,p\n" + "".join(f"{i % 50},0.3\n" for i in range(100)))
    with pytest.raises(InputError, match="the key '3' stands in 2 rows"):
        howsure.count(str(items), labels=labels_file(tmp_path, "id,label\n3,1\n"), key="id", design="random")


def test_a_missing_probability_or_date_is_one_line(tmp_path):
    items = tmp_path / "items.csv"
    items.write_text("p,y,day\n0.3,1,2024-01-01\n,0,2024-01-02\n")
    with pytest.raises(InputError, match="`p` is missing or NaN in row 2"):
        howsure.count(str(items), design="random")
    items.write_text("p,y,day\n0.3,1,2024-01-01\n0.2,0,\n")
    with pytest.raises(InputError, match="`day` is missing or no date in row 2"):
        howsure.count(str(items), date="day", design="random")


def test_labels_that_are_not_a_random_sample_are_noticed():
    q = np.linspace(0, 1, 2_000)
    y = np.where((q > 0.5) & (np.arange(2_000) % 5 == 0), q > 0.7, np.nan)
    y[:3] = 0
    assert any("do not look like a random sample" in n for n in howsure.count(y, q, design="random").notes)


def test_places_on_the_grid_follow_the_probabilities():
    q = np.sort(np.concatenate([[0, 1, 0.5, 1e-300, 1 - 1e-16], np.random.default_rng(0).random(500) ** 9]))
    place = grid_places(q)
    assert (np.diff(place) >= 0).all()
    assert (place[q == 0], place[q == 1]) == (0, GRID - 1)
    assert (place[(q > 0) & (q < 1)] > 0).all()
    assert (place[(q > 0) & (q < 1)] < GRID - 1).all()


@pytest.mark.parametrize("k", [1, 2, 5])
def test_no_limit_of_a_trend_is_impossible(k):
    """Few labels of much doubt: still no slope is steeper than that of labels all 0, then all 1."""
    rng = np.random.default_rng(k)
    month = np.repeat(np.arange(12), 40)
    q = rng.random(480) ** 3
    y = np.full(480, np.nan)
    y[rng.choice(480, k, replace=False)] = 1.0
    made = howsure.count(y, q, cells=month, design="random").trend
    steepest = max(float(np.polyfit(month, month >= at, 1)[0]) for at in range(13))
    assert -steepest <= made.low <= made.value <= made.high <= steepest + 1e-12
    assert steepest == pytest.approx(made.high)


def test_a_table_without_labels_is_told_how_to_get_some(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("id,p\n" + "".join(f"{i},{i / 100}\n" for i in range(100)))
    assert run(["count", str(path), "--prob", "p"]) == 2
    said = capsys.readouterr().err
    assert "--true, or a file of labels with --labels; `howsure count --to-label` draws items to label" in said
    assert run(["count", str(path), "--prob", "p", "--to-label", "0", "-o", str(tmp_path / "b.csv")]) == 2
    assert "--to-label must be a whole number of 1 or more; got 0." in capsys.readouterr().err
