"""JSON records keep their values, whatever they hold, when a member is added."""

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import howsure
from howsure.cli.application import run
from howsure.errors import InputError
from howsure.verbs.recalibrate import apply_recalibrator

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
records = st.lists(st.dictionaries(text.filter(bool), values, max_size=4), min_size=2, max_size=6)
spellings = st.sampled_from(
    [
        {},
        {"separators": (",", ":")},
        {"separators": (" ,\t", " :  ")},
        {"ensure_ascii": False},
        {"sort_keys": True},
    ]
)
around = st.sampled_from([("", "\n"), (" ", " \n"), ("\t", "\t\n"), ("", "\r\n"), ("", "\n\n")])
SAVED = """{"format": "howsure recalibrator", "version": 1, "method": "temperature", "n_classes": 2, "settings": {},
 "fitted": {"slope_": 1.0}}"""
slow = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def same(a, b):
    """Equal as JSON: an integer is not a float, a boolean not a number, and members keep their order."""
    return json.dumps(a) == json.dumps(b)


@slow
@given(records, spellings, around)
def test_folds_are_added_to_any_record(tmp_path, made, spelling, spaces):
    assume(not any(k.lower() == "fold" for r in made for k in r))
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    shown = [spaces[0] + json.dumps(r, **spelling) + spaces[1] for r in made]
    file.write_text("".join(shown), encoding="utf-8", newline="")
    try:
        split = howsure.split(str(file), folds=2, out=str(out))
    except InputError as error:
        assume("duplicate key" not in str(error).lower())
        raise
    if spelling.get("sort_keys"):
        made = [dict(sorted(r.items())) for r in made]
        assert lines(out) == [r | {"fold": int(f) + 1} for r, f in zip(made, split.part, strict=True)]
    else:
        wanted = [r | {"fold": int(f) + 1} for r, f in zip(made, split.part, strict=True)]
        assert same(lines(out), wanted)
    parts = howsure.split(str(file), parts={"a": 1, "b": 1}, out=str(tmp_path))
    for name in parts.names:
        assert lines(tmp_path / f"{name}.jsonl") == [made[i] for i in parts.rows(name)]


@slow
@given(records, spellings, around)
def test_probabilities_are_added_to_any_record(tmp_path, made, spelling, spaces):
    assume(not any(k.lower() in ("q", "q_recalibrated") for r in made for k in r))
    file, out, saved = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "saved.json"
    saved.write_text(SAVED)
    given_rows = [{"q": (i + 1) / 8, **r} if i % 2 else {**r, "q": (i + 1) / 8} for i, r in enumerate(made)]
    shown = [spaces[0] + json.dumps(r, **spelling) + spaces[1] for r in given_rows]
    file.write_text("".join(shown), encoding="utf-8", newline="")
    apply_recalibrator(saved, str(file), str(out), prob="q")
    found = lines(out)
    assert [r.pop("q_recalibrated") for r in found] == pytest.approx([(i + 1) / 8 for i in range(len(made))])
    assert found == given_rows


@pytest.mark.parametrize("empty", ["{}", "{ }", " {\t}", '{"a": 1,}', '{"a": {}}', '{"a": []}', '{"a": "{"}'])
def test_records_without_members(tmp_path, empty):
    file = tmp_path / "in.jsonl"
    file.write_text(f'{{"a": 1}}\n{empty}\n{{"a": 2}}\n{empty}\n', newline="")
    assert run(["split", str(file), "--folds", "2", "-o", str(tmp_path / "out.jsonl")]) == 0
    found = lines(tmp_path / "out.jsonl")
    assert [list(r) in (["fold"], ["a", "fold"]) for r in found] == [True] * 4


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[{"a": 1}, {}, 3, {"a": 2}]', "row 3 is not a JSON object"),
        ('{"a": 1}\n' * 30_000 + '{"fold": 7}\n', "row 30,001 has a member `fold` already"),
    ],
)
def test_what_cannot_take_a_member_is_refused(tmp_path, capsys, content, said):
    (tmp_path / "in.jsonl").write_text(content)
    assert run(["split", str(tmp_path / "in.jsonl"), "--folds", "2", "-o", str(tmp_path / "out.jsonl")]) == 2
    assert said in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["in.jsonl"]
