"""The walk-throughs of examples/ run on a machine with nothing but the package, and find what they say they find."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
pytest.importorskip("matplotlib").use("agg")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the `main` of an example in an empty folder: what it returns, and what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOWSURE_DATA", raising=False)

    def running(name):
        specification = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        made = module.main()
        (picture,) = tmp_path.glob("*.svg")
        assert picture.stat().st_size > 1000
        said = capsys.readouterr().out
        assert max(map(len, said.splitlines())) <= 80
        return made, said

    return running


def test_engineer(run):
    (checked, compared, recalibrated), said = run("for_engineers")
    assert checked.bias.extremity == "too extreme"
    assert [s.name for s in checked.slices] == ["es", "en"]  # the worse one first, as the data were made
    assert compared.pairs[0].error_squared.high < 0  # a is the worse one, clearly
    assert recalibrated.error.value < checked.error.low
    assert "b is better calibrated than a" in said


def test_researcher(run):
    (found, (exact, sampled), fitted), _ = run("for_researchers")
    assert all(c.p_value > 0.01 for c in found["right"].values())
    assert all(c.p_value < 0.001 for c in found["sharp"].values())
    assert fitted.temperature == pytest.approx(1.5, abs=0.1)
    for question, cooled in found["cooled"].items():
        assert cooled.error.value < found["sharp"][question].error.low
    assert exact.error.low == 0
    assert sampled.error.low > exact.error.value  # the noise of ten samples


def test_social_scientist(run):
    found, said = run("for_social_scientists")
    assert found.verdict.split(":")[0] in said
    assert "Hangs on" in said
    low, high = found.total("VAL").interval(0.95)
    assert low < high


def test_teacher(run):
    (agreed, compared, models), said = run("for_teachers")
    low, high = agreed.alpha.low, agreed.alpha.high
    assert agreed.observed.value > 0.8
    assert low < 0 < high
    assert "No clear difference" in compared[200].verdict
    assert "b is better than a" in compared[5_000].verdict
    assert models["laplace"].error.value > models["witten-bell"].error.value
    assert " inf " in said


def test_every_example_is_tested():
    tested = {"check_a_sampler", "for_engineers", "for_researchers", "for_social_scientists", "for_teachers"}
    assert {p.stem for p in EXAMPLES.glob("*.py")} == tested
