"""The worked example says what docs/guides/continuous.md says it does."""

import importlib.util
import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "check_a_sampler.py"


@pytest.fixture(scope="module")
def example():
    specification = importlib.util.spec_from_file_location("check_a_sampler", EXAMPLE)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_right_sampler_passes_and_the_wrong_ones_are_caught(example):
    right = example.check_sampler()
    assert all(c.is_calibrated for c in right.values())
    for mistake in ("variance for sd", "prior too tight"):
        assert example.check_sampler(mistake)["mu"].width == "overconfident"
    forgetful = example.check_sampler("no prior")["mu"]
    assert forgetful.is_calibrated
    assert forgetful.crps.value > right["mu"].crps.value


def test_it_runs_as_shown(capsys, tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    said = capsys.readouterr().out
    assert said.count("Sampler: ") == 4
    assert (tmp_path / "sampler.svg").stat().st_size > 1000
    # The page quotes the output, with its lines filled again.
    page = " ".join((EXAMPLE.parents[1] / "docs" / "guides" / "continuous.md").read_text().split())
    assert " ".join(said.split()) in page
