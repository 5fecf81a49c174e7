"""What every verb that reads tables says, frozen: the same on every engine and format (tests/goldens)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.goldens import cases, errors, frozen


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return cases.Sources(tmp_path_factory.mktemp("goldens"))


@pytest.mark.parametrize("name", cases.CASES)
def test_results(sources, name):
    wanted = frozen.read(name)
    rel = frozen.FITTED.get(name, frozen.REL)
    unlike = {p: frozen.difference(frozen.result(sources, name, p), wanted, rel=rel) for p in cases.CASES[name][1]}
    assert not {p: d for p, d in unlike.items() if d}


@pytest.mark.parametrize("name", cases.SPARK)
def test_results_on_spark(spark, sources, name):
    assert frozen.difference(frozen.result(sources, name, "spark"), frozen.read(name)) is None


@pytest.mark.parametrize("engine", ["arrays", "csv", "parquet"])
def test_lines_of_errors(tmp_path, engine):
    assert errors.lines(tmp_path, engine) == frozen.read_lines(engine)


def test_lines_of_errors_on_spark(spark, tmp_path):
    assert errors.lines(tmp_path, "spark") == frozen.read_lines("spark")


def test_names_of_sources(sources):
    assert frozen.source_names(sources) == frozen.read_lines("sources")


def test_a_changed_number_is_found():
    wanted = frozen.read("check groups")
    assert frozen.difference(wanted, wanted) is None
    changed = wanted | {"n": wanted["n"] + 1}
    assert "n" in frozen.difference(changed, wanted)
    assert frozen.difference(wanted | {"base_rate": wanted["base_rate"] * (1 + 1e-11)}, wanted)
