"""`howsure agree`, in Python and in the shell, with bad input among the good."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import howsure
from howsure.cli.application import run


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 90
    true = rng.integers(3, size=n)
    labels = np.array(["angry", "<b>glad</b>", "sad"])
    wide = {
        name: labels[np.where(rng.random(n) < accuracy, true, rng.integers(3, size=n))]
        for name, accuracy in (("ann", 0.9), ("bob", 0.8), ("cy", 0.8), ("eve", 0.0))
    }
    return pd.DataFrame(
        {"tweet": [f"t{i:03}" for i in range(n)], **wide, "gold": labels[true], "doc": np.arange(n) // 6}
    )


def long(frame):
    kept = ["tweet", "gold", "doc"]
    return frame.melt(kept, ["ann", "bob", "cy", "eve"], "worker", "label").sample(frac=1, random_state=1)


def test_long_and_wide_tables_say_the_same(frame, tmp_path, capsys):
    path = tmp_path / "labels.csv"
    long(frame).to_csv(path, index=False)
    options = ["--item", "tweet", "--annotator", "worker", "--label", "label", "--gold", "gold", "--groups", "doc"]
    assert run(["agree", str(path), *options]) == 0
    said = capsys.readouterr().out
    assert said.startswith("The 4 annotators agree on ")
    assert "Annotators to reject" in said
    assert max(map(len, said.splitlines())) <= 80
    assert run(["agree", str(path), *options, "--json"]) == 0
    shell = json.loads(capsys.readouterr().out)
    wide = howsure.agree(frame, annotators="ann,bob,cy,eve", item="tweet", gold="gold", groups="doc").to_dict()
    assert wide == shell
    assert [a["name"] for a in shell["crowd"]["annotators"] if a["verdict"] == "reject"] == ["eve"]
    assert len(shell["pairs"]) == 6
    assert shell["crowd"]["gold"]["calibration"]["n"] == 90


def test_posteriors_can_be_checked_and_the_page_escapes(frame, tmp_path, capsys):
    path, posteriors, page = (tmp_path / name for name in ("l.parquet", "p.csv", "a.html"))
    long(frame).to_parquet(path, index=False)
    options = ["--item", "tweet", "--annotator", "worker", "--gold", "gold"]
    assert run(["agree", str(path), *options, "--posteriors", str(posteriors), "--html", str(page)]) == 0
    capsys.readouterr()
    assert run(["check", str(posteriors), "--prob", "p_*", "--true", "gold", "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    made = howsure.agree(path, item="tweet", annotator="worker", gold="gold")
    assert checked["accuracy"] == pytest.approx(made.crowd.gold.dawid_skene.value)
    assert checked["error"]["value"] == pytest.approx(made.crowd.gold.calibration.error.value, abs=1e-6)
    assert "<b>glad" not in page.read_text()
    assert "&lt;b&gt;glad" in page.read_text()
    assert "<svg" in made._repr_html_()


def test_what_is_left_out_is_counted():
    rows = {
        "item": ["1", "1", "2", "2", None, "3", "3", "1"],
        "annotator": ["a", "b", "a", "b", "a", None, "a", "a"],
        "label": ["x", "y", "x", None, "x", "x", "y", "y"],
    }
    made = howsure.agree(rows)
    assert sorted(made.left_out.values()) == [1, 1, 1, 1]
    assert len(made.ratings.label) == 4
    assert made.ratings.label.tolist() == [0, 1, 0, 1]  # of two labels of item 1 by a, the first
    assert any("one label only" in n for n in made.notes)


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ({"a": ["x"] * 4, "b": ["x"] * 4}, {"annotators": "a,b"}, "only one label is used"),
        ({"a": ["x", "y"], "b": [None, "y"]}, {"annotators": "a,b"}, "but only one label is used|one label|too few"),
        ({"a": ["x", None], "b": [None, "y"]}, {"annotators": "a,b"}, "no item in common"),
        ({"a": ["x", "y", "x"], "b": ["x", "y", "x"], "c": ["x", None, None]}, {"annotators": "a,b,c"}, "α is 1.00"),
    ],
)
def test_thin_data_is_explained_and_fits_the_terminal(columns, options, said, tmp_path, capsys):
    import re

    made = howsure.agree(columns, **options)
    assert re.search(said, made.verdict)
    json.dumps(made.to_dict(), allow_nan=False)
    path = tmp_path / "t.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    assert run(["agree", str(path), "--annotators", options["annotators"], "--html", str(tmp_path / "p.html")]) == 0
    out = capsys.readouterr().out
    assert max(len(line) for line in out.splitlines() if not line.startswith("Written")) <= 80


def test_few_items_are_not_called_tentative(tmp_path, capsys):
    rows = ["doc,ann,bob,cy", "1,low,low,mid", "1,mid,high,high", "2,low,low,low", "2,high,high,mid", "3,mid,mid,mid"]
    rows += ["3,low,mid,", "4,high,high,high", "4,low,low,low"]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    given = ["--annotators", "ann,bob,cy", "--groups", "doc", "--order", "low,mid,high"]
    assert run(["agree", str(tmp_path / "a.csv"), *given]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "ordinal α is 0.76 [-1.00, 0.97], not clearly better than chance: too few items to tell." in said
    assert "3 of them labelled too little to distinguish from chance" in said


def test_an_annotator_with_one_item_is_unclear_not_rejected(frame):
    few = frame.assign(new=[frame.ann[0]] + [None] * (len(frame) - 1))
    made = howsure.agree(few, annotators="ann,bob,cy,new")
    new = next(a for a in made.crowd.annotators if a.name == "new")
    assert (new.verdict, new.evidence) == ("unclear", "one item only")
    pair = next(p for p in made.pairs if "new" in (p.a, p.b))
    assert pair.n == 1
    assert pair.kappa.reason


def test_a_label_of_one_annotator_alone_is_noted():
    made = howsure.agree({"a": ["x", "y", "x"], "b": ["x", "y", "Y"]}, annotators="a,b")
    assert any("Only one annotator uses the label 'Y'" in n for n in made.notes)


def test_ordered_words_have_weighted_kappa():
    from sklearn.metrics import cohen_kappa_score

    a, b = ["low", "mid", "high", "high", "low"], ["low", "high", "high", "mid", "mid"]
    made = howsure.agree({"a": a, "b": b}, annotators="a,b", order="low,mid,high")
    theirs = cohen_kappa_score(a, b, labels=["low", "mid", "high"], weights="quadratic")
    assert made.pairs[0].coefficients[3].value == pytest.approx(theirs, abs=1e-12)
    assert made.coefficients[2].value is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--annotators", "ann"], "two annotators at least"),
        (["--annotators", "ann,bbo"], "Did you mean `bob`?"),
        (["--annotators", "ann,ann"], "may be named once"),
        (["--annotators", "ann,bob", "--label", "cy"], "leave --annotator and --label out"),
        (["--annotators", "ann,bob", "--item", "doc"], "names an item twice"),
        (["--annotators", "ann,bob", "--order", "sad,angry"], "--order must name every label"),
        (["--annotators", "ann,bob", "--posteriors", "p.csv"], "needs three at least"),
        (["--annotators", "ann,bob", "--posteriors", "p.txt"], "cannot tell the format"),
        (["--annotators", "ann,bob", "--target", "2"], "--target must lie"),
        (["--annotators", "ann,bob", "--where", "tweet = 'none'"], "--where kept none"),
        (["--item", "tweet", "--label", "ann"], "name it with --annotator"),
    ],
)
def test_bad_calls(frame, tmp_path, monkeypatch, arguments, message, capsys):
    monkeypatch.chdir(tmp_path)
    frame.to_csv("labels.csv", index=False)
    assert run(["agree", "labels.csv", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["labels.csv"]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ({"a": ["x", "y"], "b": ["x"]}, {"annotators": "a,b"}, "lengths differ"),
        ({"item": ["1", "1"], "annotator": ["a", "a"], "label": ["x", "y"]}, {}, "two annotators at least"),
        (
            {"item": ["1", "1"], "annotator": ["a", "b"], "label": ["x", "y"], "gold": ["x", "y"]},
            {"gold": "gold"},
            "`gold` differs between rows of item '1'",
        ),
        ({"a": ["x", "y"], "b": ["x", "y"], "d": ["1", "1"]}, {"annotators": "a,b", "groups": "d"}, "one group"),
        ({"a": [None, None], "b": [None, None]}, {"annotators": "a,b"}, "holds no labels"),
    ],
)
def test_bad_tables(rows, options, message):
    with pytest.raises(howsure.InputError, match=message):
        howsure.agree(rows, **options)


def test_many_numbers_are_not_classes():
    rng = np.random.default_rng(0)
    value = rng.integers(100, size=60)
    made = howsure.agree({c: (value + rng.integers(-2, 3, size=60)).tolist() for c in "abc"}, annotators="a,b,c")
    assert any("many numbers" in n for n in made.notes)
    assert made.coefficients[3].value > 0.95 > 0.5 > made.alpha.value


def test_an_order_that_is_given_decides_how_agreement_is_judged():
    rng = np.random.default_rng(2)
    names = np.array(["never", "seldom", "often", "always"])
    truth = rng.integers(0, 4, 300)
    a, b = (names[np.clip(truth + rng.choice([-1, 0, 1], 300, p=[0.25, 0.5, 0.25]), 0, 3)] for _ in range(2))
    columns = {"a": a.tolist(), "b": b.tolist()}
    plain = howsure.agree(columns, annotators="a,b")
    ordered = howsure.agree(columns, annotators="a,b", order=list(names))
    assert plain.alpha is plain.coefficients[1]
    assert ordered.alpha is ordered.coefficients[2]
    assert ordered.alpha.value > plain.alpha.value + 0.3
    assert f"ordinal α is {ordered.alpha.value:.2f} [" in ordered.verdict
    assert "revise the guidelines" in plain.verdict


def test_no_limit_of_a_difference_is_impossible():
    from howsure.calibration.comparing.difference import mean_difference

    wide = mean_difference(np.array([-1.0, 0.0, -1.0]), None, 0.99)
    assert (wide.low, wide.high) == (-1.0, 1.0)
    assert mean_difference(np.array([1.0, 1.0, 0.0]), None, 0.99, least=0.0).low == 0.0


def limits(data):
    """The limits in plain data, wherever they are, but for those of slopes and log losses, which may be any number."""
    if isinstance(data, dict):
        if data.get("low") is not None and data.get("high") is not None:
            yield data["low"], data["high"]
        for key, inner in data.items():
            yield from limits(inner) if key not in ("slope", "log_loss") else ()
    elif isinstance(data, list):
        for inner in data:
            yield from limits(inner)


@pytest.mark.parametrize("n", [3, 4, 6, 12])
def test_no_limit_is_impossible(n):
    """Few rows, certain probabilities, groups and a high level: scores, differences and coefficients lie in [-1, 1]."""
    rng = np.random.default_rng(n)
    for _ in range(4):
        y, doc = np.arange(n) % 2, np.arange(n) // 2
        p, q = rng.choice([0, 0.001, 0.7, 0.999, 1], n), rng.choice([0, 0.3, 1], n)
        for groups in (None, doc):
            more = {"groups": groups, "confidence_level": 0.99}
            found = [howsure.check(y, p, **more), howsure.compare(y, {"a": p, "b": q}, **more)]
            found += [howsure.score(y, rng.integers(0, 2, n), **more)]
            found += [
                howsure.compare(y, y_preds={"a": (q > 0.5).astype(int), "b": (p > 0.5).astype(int)}, samples=50, **more)
            ]
            columns = {"item": np.arange(n), "doc": doc, **{who: rng.choice(list("xyz"), n) for who in "abc"}}
            named = {"annotators": "a,b,c", "order": "x,y,z", "groups": None if groups is None else "doc"}
            if {label for who in "abc" for label in columns[who]} == set("xyz"):
                found.append(howsure.agree(columns, **named, confidence_level=0.99))
            for result in found:
                assert all(-1 <= low <= high <= 1 for low, high in limits(result.to_dict())), result


def test_wide_tables_are_found(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(
        "item,text,ann,bob,cy\n" + "".join(f"{i},word {i},{'NV'[i % 2]},{'NV'[i % 3 == 0]},N\n" for i in range(30))
    )
    with pytest.raises(ValueError, match="named like an annotator"):  # cy says N only: one label is no evidence
        howsure.agree(path)
    path.write_text(
        "item,text,ann,bob\n" + "".join(f"{i},word {i},{'NV'[i % 2]},{'NV'[i % 3 == 0]}\n" for i in range(30))
    )
    found, named = howsure.agree(path), howsure.agree(path, annotators="ann,bob")
    assert found.verdict == named.verdict
    assert found.notes[0] == "Read as a column per annotator: ann, bob; `annotators=` says otherwise."
    with pytest.raises(ValueError, match="named like an annotator"):
        howsure.agree({"item": [1, 2, 3], "score": [0.1, 0.2, 0.3], "x": ["a", "b", "c"]})


def test_texts_as_items_and_labels_that_differ_in_case():
    one = {"text": [f"t{i}" for i in range(12)], "ann": list("ABABABABABAB"), "bob": list("ABBBABABABAB")}
    spelt = howsure.agree(pa.table({**one, "cy": ["a", "B "] * 6}))
    assert "Counted as different labels, though only case or spaces differ: 'A'/'a', 'B'/'B '." in spelt.notes
    long = pa.table({"text": ["x", "x", "y", "y"], "coder": ["1", "2"] * 2, "code": ["a", "a", "b", "a"]})
    assert len(howsure.agree(long).ratings.items) == 2
    with pytest.raises(howsure.InputError, match="name it with `item=`"):
        howsure.agree(long.rename_columns(["x", "coder", "code"]))
