import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.errors import InputError
from howsure.models.saved import HEADER, Array, load_model, model_kind, packed_names, save_model, unpacked_names

W = {"w": Array("f", ("row",))}


@given(st.lists(st.text()))
def test_names_come_back(names):
    assert unpacked_names(packed_names(names)) == names


def test_a_model_comes_back(tmp_path):
    path = tmp_path / "m.npz"
    save_model(path, "thing", 3, {"tags": ["a"]}, {"w": np.arange(5.0)})
    settings, arrays = load_model(path, "thing", 3, W)
    assert settings == {"tags": ["a"]}
    assert arrays["w"].tolist() == [0, 1, 2, 3, 4]
    assert model_kind(path) == "thing"
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_other_kinds_versions_and_damage_are_told(tmp_path):
    path = tmp_path / "m.npz"
    save_model(path, "thing", 3, {}, {"w": np.arange(500.0)})
    with pytest.raises(InputError, match="kind thing; other was expected"):
        load_model(path, "other", 3, W)
    with pytest.raises(InputError, match=r"version 3 .* reads version 4"):
        load_model(path, "thing", 4, W)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(InputError, match="damaged"):
        load_model(path, "thing", 3, W)
    with pytest.raises(InputError, match="no model file"):
        load_model(tmp_path / "absent.npz", "thing", 3, W)


def test_opening_a_model_never_runs_code(tmp_path):
    class Runs:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    path = tmp_path / "m.npz"
    about = json.dumps({"kind": "thing", "version": 1, "settings": {}}).encode()
    np.savez(path, **{HEADER: np.frombuffer(about, dtype=np.uint8), "w": np.array([Runs()], dtype=object)})
    with pytest.raises(InputError, match="damaged"):
        load_model(path, "thing", 1, W)
    assert not (tmp_path / "ran").exists()


def test_a_failed_write_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        save_model(tmp_path / "m.npz", "thing", 1, {}, {"w": np.array([object()])})
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="no folder"):
        save_model(tmp_path / "no" / "m.npz", "thing", 1, {}, {})
