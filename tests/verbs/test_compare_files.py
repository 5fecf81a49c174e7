"""Two files of labels, joined on a key: the same answer as columns of one table, and nothing else."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import howsure

RNG = np.random.default_rng(5)
N = 240
GOLD = RNG.choice(["cat", "dog", "eel"], N)
ONE = np.where(RNG.random(N) < 0.8, GOLD, "cat")
TWO = np.where(RNG.random(N) < 0.6, GOLD, "dog")
SURE = np.round(RNG.beta(5, 2, (2, N)), 4)
DOC = np.array([f"d{i // 8}" for i in range(N)])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")

    def write(name, order, **columns):
        pc.write_csv(pa.table({k: v[order] for k, v in columns.items()}), folder / name)
        return str(folder / name)

    every = {"id": np.arange(N), "gold": GOLD, "doc": DOC}
    shuffled = RNG.permutation(N)
    return {
        "one": write("one.csv", np.arange(N), **every, pred=ONE, sure=SURE[0]),
        "two": write("two.csv", shuffled, **every, pred=TWO, sure=SURE[1]),
        "fewer": write("fewer.csv", np.arange(5, N), **every, pred=TWO),
        "twice": write("twice.csv", np.append(np.arange(N), 0), **every, pred=TWO),
        "other": write("other.csv", np.arange(N), **{**every, "gold": np.roll(GOLD, 1)}, pred=TWO),
    }


@pytest.mark.parametrize("groups", [None, "doc"])
@pytest.mark.parametrize("prob", [None, "sure"])
def test_files_say_what_columns_say(files, groups, prob):
    frame = pa.table({"gold": GOLD, "one": ONE, "two": TWO, "p1": SURE[0], "p2": SURE[1], "doc": DOC})
    options = {"groups": groups, "samples": 200, "metric": "macro-f1"}
    whole = howsure.compare(frame, true="gold", pred="one,two", prob=prob and "p1,p2", **options)
    made = howsure.compare([files["one"], files["two"]], key="id", pred="pred", true="gold", prob=prob, **options)
    assert made.verdict == whole.verdict
    assert made.to_dict()["pairs"] == whole.to_dict()["pairs"]
    assert made.source == "one, two"


def test_two_files_in_the_shell(files, capsys):
    from howsure.cli.application import run

    assert run(["compare", files["one"], files["two"], "--key", "id", "--pred", "pred", "--true", "gold"]) == 0
    assert capsys.readouterr().out.startswith("one is better than two by ")
    assert run(["compare", files["one"], files["two"], "--pred", "pred", "--true", "gold"]) == 2
    assert "name the column that identifies an item with --key" in capsys.readouterr().err


def test_columns_are_found_by_their_names(files):
    made = howsure.compare([files["one"], files["two"]], y_preds=None, key="id", pred="pred", samples=50)
    assert [s.name for s in made.systems] == ["one", "two"]


@pytest.mark.parametrize(
    ("second", "options", "said"),
    [
        ("fewer", {"key": "id"}, "5 of the items of .*one.csv are not in .*fewer.csv"),
        ("twice", {"key": "id"}, "the key '0' stands in 2 rows"),
        ("other", {"key": "id"}, "items have another label in .*other.csv"),
        ("two", {}, "name the column that identifies an item"),
        ("two", {"key": "id", "where": "id > 3"}, "works on one file"),
        ("two", {"key": "ident"}, "has no column `ident`"),
    ],
)
def test_what_cannot_be_joined(files, second, options, said):
    with pytest.raises(howsure.InputError, match=said):
        howsure.compare([files["one"], files[second]], pred="pred", true="gold", **options)
