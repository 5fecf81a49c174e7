"""`howsure doctor`: what is there, what is not, and the way to get it."""

import json
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import howsure
from howsure.cli.application import run
from howsure.verbs import doctor as module
from howsure.verbs.doctor import Package

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


@pytest.fixture(autouse=True)
def _as_declared(monkeypatch):
    """What pyproject.toml declares, whatever an older installation wrote down."""
    lines = list(PROJECT["dependencies"])
    for extra, packages in PROJECT["optional-dependencies"].items():
        lines += [f'{p}; extra == "{extra}"' for p in packages]
    monkeypatch.setattr(module.metadata, "requires", lambda _: lines)


def test_everything_declared_is_looked_for():
    found = howsure.doctor()
    assert [p.name for p in found.base] == [d.split(">=")[0] for d in PROJECT["dependencies"]]
    assert all(p.needed and p.version == metadata.version(p.name) for p in found.base)
    assert found.is_well
    assert found.english is None
    assert found.machine.cores >= 1
    assert found.machine.free_disk > 0
    # Every extra for users is explained; the others are for those who work on the project.
    assert {e.name for e in found.extras} == set(PROJECT["optional-dependencies"]) - {"all", "test", "bench", "docs"}
    assert repr(found).startswith("Diagnosis(well")
    assert "numpy" in found._repr_html_()


def test_a_missing_extra_is_named_with_its_remedy(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "spacy", None)
    assert run(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "the base is complete" in said
    assert "(text" in said or ", text" in said
    assert "pip install 'howsure[text]'" in said
    assert max(map(len, said.splitlines())) <= 80


def test_a_missing_part_of_the_base_is_an_error(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert run(["doctor", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert not said["is_well"]
    assert "duckdb (not installed)" in said["verdict"]
    assert [p["name"] for p in said["base"] if p["trouble"]] == ["duckdb"]


@pytest.mark.parametrize("name", ["rich", "numpy"])
def test_it_speaks_though_a_package_of_the_base_is_missing(name):
    code = f"import sys; sys.modules[{name!r}] = None; sys.argv = ['howsure', 'doctor']; import howsure.__main__"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"{name} (not installed)" in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("needed", "there", "is_old"),
    [
        ("2.0", "2.0.0", False),
        ("2.0", "1.26.4", True),
        ("1.12", "1.9", True),
        ("", "0.1", False),
        ("3", "3.0rc1", False),
    ],
)
def test_old_versions_are_named(needed, there, is_old):
    assert (Package("p", needed, there).trouble is not None) == is_old


def test_a_damaged_model_is_reported(monkeypatch, tmp_path):
    source = Path(howsure.__file__).parent / "english" / "model"
    shutil.copytree(source, tmp_path / "english" / "model")
    (tmp_path / "data").mkdir()
    shutil.copy(source.parents[1] / "data" / "vectors.npz", tmp_path / "data")
    monkeypatch.setattr(module, "__file__", str(tmp_path / "verbs" / "doctor.py"))
    assert module._english_trouble() is None
    weights = tmp_path / "english" / "model" / "weights.npz"
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 255
    weights.write_bytes(content)
    assert "weights.npz" in module._english_trouble()
    (tmp_path / "english" / "model" / "lemmas.json").unlink()
    weights.write_bytes((source / "weights.npz").read_bytes())
    assert "FileNotFoundError" in module._english_trouble()


def test_corpora_caches_and_sources_that_were_never_installed(monkeypatch, tmp_path, capsys):
    (tmp_path / "gum").mkdir()
    monkeypatch.setenv("HOWSURE_DATA", str(tmp_path))
    monkeypatch.setenv("HOWSURE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache" / "parses" / "v").mkdir(parents=True)
    (tmp_path / "cache" / "parses" / "v" / "a").write_bytes(b"x" * 1000)
    found = howsure.doctor()
    assert found.corpora == ("gum",)
    assert found.folders[0].size == 1000
    assert found.folders[0].is_writable

    def absent(_):
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(module.metadata, "requires", absent)
    monkeypatch.delenv("HOWSURE_DATA")
    assert run(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "never installed" in " ".join(said.split())
    assert "not set" in said


def test_spark_needs_java(monkeypatch):
    monkeypatch.setattr(module, "_package", lambda name, oldest: Package(name, oldest, "99"))
    monkeypatch.setattr(module, "_java", lambda: None)
    extra = module._extra("spark", (("pyspark", "4"),))
    assert not extra.is_there
    assert "Java" in extra.remedy
    monkeypatch.setattr(module, "_java", lambda: "21.0.1")
    assert module._extra("spark", (("pyspark", "4"),)).remark == "Java 21.0.1"


def test_thorough_finds_what_is_there_but_broken(monkeypatch, tmp_path):
    pytest.importorskip("spacy")
    assert howsure.doctor(thorough=True).is_well

    def broken(name):
        raise OSError("wrong architecture")

    monkeypatch.setattr(module, "import_module", broken)
    found = howsure.doctor(thorough=True)
    assert not found.is_well
    assert "wrong architecture" in found.verdict
