"""`howsure compare`, in Python and in the shell."""

import json

import numpy as np
import pandas as pd
import pytest

import howsure
from howsure.cli.application import run


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(31)
    n = 3000
    p = rng.beta(0.5, 0.5, n).clip(1e-6, 1 - 1e-6)
    return pd.DataFrame(
        {
            "id": [f"i{k}" for k in range(n)],
            "y": (rng.random(n) < p).astype(int),
            "model_a": p**2 / (p**2 + (1 - p) ** 2),
            "model_b": p,
            "doc": np.arange(n) // 30,
            "tag": rng.choice(["NN", "VB", "<b>"], n),
        }
    )


def test_columns_of_one_table(frame, tmp_path, capsys):
    path = tmp_path / "p.csv"
    frame.to_csv(path, index=False)
    assert (
        run(["compare", str(path), "--prob", "model_a,model_b", "--true", "y", "--groups", "doc", "--by", "tag"]) == 0
    )
    out = capsys.readouterr().out
    assert out.startswith("model_b is better calibrated than model_a")
    assert max(map(len, out.splitlines())) <= 80
    assert run(["compare", str(path), "--prob", "model_a,model_b", "--true", "y", "--by", "tag", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["pairs"][0]["error_squared"]["p_value"] < 0.05
    assert made["slice_counts"]["model_b"] == 3
    direct = howsure.compare(frame.y, {"model_a": frame.model_a, "model_b": frame.model_b}, by=frame.tag)
    assert direct.to_dict()["pairs"] == made["pairs"]


def test_files_joined_on_a_key(frame, tmp_path):
    a, b = tmp_path / "a.csv", tmp_path / "b.parquet"
    frame[["id", "y", "model_a", "doc"]].rename(columns={"model_a": "q"}).to_csv(a, index=False)
    shuffled = frame.sample(frac=1, random_state=0)[["id", "y", "model_b"]].rename(columns={"model_b": "q"})
    shuffled.to_parquet(b, index=False)
    joined = howsure.compare([a, b], key="id", groups="doc")
    direct = howsure.compare(frame.y, {"a": frame.model_a, "b": frame.model_b}, groups=frame.doc)
    assert joined.models == ("a", "b")
    assert joined.pairs[0].error_squared.value == pytest.approx(direct.pairs[0].error_squared.value, rel=1e-9)
    assert joined.pairs[0].error_squared.p_value == pytest.approx(direct.pairs[0].error_squared.p_value, rel=1e-6)


def holed(frame, column, rows):
    return frame.assign(**{column: frame[column].astype(float).mask(frame.index.isin(rows))})


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_items_without_a_value_are_left_out_of_all_files(frame, tmp_path, order, capsys):
    a = holed(holed(frame.rename(columns={"model_a": "q"}), "q", [3, 4]), "y", [9])[["id", "y", "q", "doc"]]
    b = holed(frame.rename(columns={"model_b": "q"}), "q", [4, 200])[["id", "y", "q", "doc"]]
    a.to_csv(tmp_path / "a.csv", index=False)
    b.sample(frac=1, random_state=0).to_csv(tmp_path / "b.csv", index=False)
    names = ["model_a", "model_b"]
    files = [str(tmp_path / "ab"[i]) + ".csv" for i in order]
    whole = frame.drop(index=[3, 4, 9, 200])
    direct = howsure.compare(whole.y, {"ab"[i]: whole[names[i]] for i in order}, groups=whole.doc)
    made = howsure.compare(files, key="id", groups="doc")
    assert made.calibrations[0].n == 2996
    assert made.pairs[0].brier.value == pytest.approx(direct.pairs[0].brier.value, rel=1e-9)
    assert made.pairs[0].error_squared.p_value == pytest.approx(direct.pairs[0].error_squared.p_value, rel=1e-6)
    said = {
        "a.csv: 3 of 3,000 rows have no `y` (1) or no `q` (2): left out (`missing='error'` refuses instead).",
        "b.csv: 2 of 3,000 rows have no `q`: left out (`missing='error'` refuses instead).",
    }
    assert set(made.notes[:2]) == said
    assert made.notes[2] == "2,996 of 3,000 items are complete in every file."
    assert run(["compare", *files, "--key", "id", "--missing", "error"]) == 2
    assert "--missing drop leaves such rows out" in capsys.readouterr().err


def test_nothing_is_left_of_two_files(tmp_path, capsys):
    files = [write(tmp_path, "a.csv", "1,1,0.6\n2,0,\n"), write(tmp_path, "b.csv", "1,1,\n2,0,0.3\n")]
    assert run(["compare", *files, "--key", "id"]) == 2
    assert "no item has a label and a probability in every file" in capsys.readouterr().err


def test_three_models_are_ranked(frame):
    made = howsure.compare(frame.y, {"a": frame.model_a, "b": frame.model_b, "half": np.full(len(frame), 0.5)})
    assert len(made.pairs) == 3
    assert made.verdict.startswith("Best calibrated first")


def write(folder, name, rows):
    (folder / name).write_text("id,y,q\n" + rows)
    return str(folder / name)


@pytest.mark.parametrize(
    ("b", "message"),
    [
        ("1,1,0.5\n2,0,0.3\n", "1 of the items of .*b.csv are not in .*a.csv|are not in .*b.csv"),
        ("1,1,0.5\n2,0,0.3\n9,1,0.4\n", r"\(the first is '[39]'\)"),
        ("1,1,0.5\n2,0,0.3\n3,1,0.4\n3,1,0.4\n", "the key '3' stands in 2 rows"),
        ("1,1,0.5\n2,1,0.3\n3,1,0.4\n", r"1 items have another label .* \(the first is '2'\)"),
        ("1,1,0.5\n,0,0.3\n3,1,0.4\n", "`id` is missing in row 2"),
        ("1,1,0.5\n2,0,1.3\n3,1,0.4\n", r"b.csv: `q` must lie in \[0, 1\]; got 1.3 in row 2"),
    ],
)
def test_items_that_do_not_match(tmp_path, b, message, capsys):
    files = [write(tmp_path, "a.csv", "1,1,0.6\n2,0,0.2\n3,1,0.7\n"), write(tmp_path, "b.csv", b)]
    with pytest.raises(howsure.InputError, match=message):
        howsure.compare(files, key="id")
    assert run(["compare", *files, "--key", "id"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["TABLE"], "--prob a,b"),
        (["TABLE", "--prob", "model_a"], "--prob a,b"),
        (["TABLE", "--prob", "model_a,model_a"], "may be named once"),
        (["TABLE", "--prob", "model_a,model_c"], "Did you mean"),
        (["TABLE", "TABLE"], "--key"),
        (["TABLE", "--prob", "model_a,model_b", "--groups", "y", "--where", "y = 1"], "one group"),
    ],
)
def test_bad_calls(frame, tmp_path, arguments, message, capsys):
    path = tmp_path / "p.csv"
    frame.head(50).to_csv(path, index=False)
    assert run(["compare", *[str(path) if a == "TABLE" else a for a in arguments], "--true", "y"]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_page_and_plot(frame, tmp_path, capsys):
    path, page, plot = tmp_path / "p.csv", tmp_path / "c.html", tmp_path / "c.svg"
    frame.to_csv(path, index=False)
    arguments = ["compare", str(path), "--true", "y", "--prob", "model_a,model_b", "--by", "tag"]
    assert run([*arguments, "--html", str(page), "--plot", str(plot)]) == 0
    html = page.read_text()
    assert "&lt;b&gt;" in html
    assert plot.read_bytes().startswith(b"<svg")
    assert "<svg" in howsure.compare(frame.y, {"a": frame.model_a, "b": frame.model_b})._repr_html_()


def test_the_gate_of_a_pull_request(frame, tmp_path, capsys):
    """0 where the last model is not shown to be worse than the first, 1 where it is; the reason is said."""
    path = str(tmp_path / "p.csv")
    frame.to_csv(path, index=False)
    better = ["compare", path, "--true", "y", "--prob", "model_a,model_b", "--fail-if-worse"]
    worse = ["compare", path, "--true", "y", "--prob", "model_b,model_a", "--fail-if-worse"]
    assert run(better) == 0
    assert "--fail-if-worse" in capsys.readouterr().out
    assert run(worse) == 1
    assert "model_a" in capsys.readouterr().err
    assert run([*worse, "--json"]) == 1
    assert any(r["fails"] for r in json.loads(capsys.readouterr().out)["gate"])
    assert run([*worse, "--markdown"]) == 1
    assert capsys.readouterr().out.count("|") > 8


def test_types_that_depend_on_arguments_are_overloads():
    import typing

    for verb, kinds in ((howsure.compare, {"Contest", "Comparison"}), (howsure.check, {"MulticlassCalibration"})):
        made = [str(f.__annotations__["return"]) for f in typing.get_overloads(verb)]
        assert kinds <= set(made)


def test_pages_made_in_the_shell_speak_shell(frame, tmp_path):
    path, out = str(tmp_path / "p.csv"), tmp_path / "page.html"
    frame.assign(model_a=frame.model_a.mask(frame.index == 3)).to_csv(path, index=False)
    assert run(["compare", path, "--true", "y", "--prob", "model_a,model_b", "--html", str(out)]) == 0
    said = out.read_text().partition('<script type="application/json"')[0]
    assert "1 of 3,000 rows has no `model_a`: left out (--missing error refuses instead)." in said
    assert "missing=" not in said
    assert '"id": ' not in said  # nothing but the text was touched
