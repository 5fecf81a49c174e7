"""Anyone's antecedent scores: arrays and JSON lines."""

import json

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.posteriors.antecedent_files import antecedents_from_logits, read_antecedents


def test_arrays_and_lines_say_the_same(tmp_path):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(6, 7))
    logits[:, -1] = 0.0
    made = antecedents_from_logits(logits, name="d")
    lines = tmp_path / "a.jsonl"
    lines.write_text(json.dumps({"name": "d", "scores": [logits[i, :i].tolist() for i in range(6)]}) + "\n\n")
    np.savez(tmp_path / "a.npz", d=logits)
    a = made.antecedents
    probabilities = tmp_path / "p.jsonl"
    probabilities.write_text(json.dumps({"name": "d", "probabilities": [a[i, :i].tolist() for i in range(6)]}))
    for path in (lines, tmp_path / "a.npz", probabilities):
        (read,) = read_antecedents(path)
        np.testing.assert_allclose(read.pairs(), made.pairs(), atol=1e-12)
        assert read.name == "d"
    assert antecedents_from_logits(logits[None]).pair(1, 4) == made.pair(1, 4)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: not JSON"),
        ("{}", '"scores" or "probabilities"'),
        ('{"scores": [[], [1], [2]]}', "row 2 of scores needs 2 numbers, one for each earlier mention; got 1"),
        ('{"scores": [[], ["x"]]}', "row 1 of scores holds something"),
        ('{"probabilities": [[], [0.5]], "new": [1, 0.2]}', "sum to 0.7, not to one"),
        ('{"scores": 3}', "list of rows"),
        ('{"scores": [[], [1]], "new": [0]}', "1 entries for 2 mentions"),
    ],
)
def test_bad_lines(tmp_path, line, message):
    path = tmp_path / "b.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=message):
        list(read_antecedents(path))


def test_bad_arrays():
    with pytest.raises(InputError, match=r"shape \(N, N \+ 1\)"):
        antecedents_from_logits(np.zeros((3, 3)))
    with pytest.raises(InputError, match="no file"):
        list(read_antecedents("nowhere.jsonl"))
