"""`howsure.check_continuous`: what it accepts, refuses and says."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

import howsure

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


@pytest.fixture(scope="module")
def narrow():
    """3,000 forecasts N(m, 0.7²) by 99 draws, outcomes N(m, 1)."""
    rng = np.random.default_rng(21)
    m = rng.normal(size=3000)
    return rng.normal(m, 1.0), rng.normal(m[:, None], 0.7, (3000, 99)), m


def test_result_is_frozen_and_plain_data(narrow):
    y, draws, _ = narrow
    c = howsure.check_continuous(y, draws)
    with pytest.raises(AttributeError):
        c.n = 3
    with pytest.raises(ValueError, match="read-only"):
        c.histogram.density[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        c.ecdf.low[0] = 7
    made = json.loads(json.dumps(c.to_dict(), allow_nan=False))
    assert {"verdict", "shift", "spread", "coverage", "crps", "tests", "histogram", "ecdf_difference"} <= set(made)
    assert "\n" not in repr(c)


def test_draws_quantiles_and_distribution_agree(narrow):
    y, draws, m = narrow
    by_draws = howsure.check_continuous(y, draws)
    by_law = howsure.check_continuous(y, distribution=stats.norm(m, 0.7))
    by_quantiles = howsure.check_continuous(y, quantiles=stats.norm.ppf(LEVELS, m[:, None], 0.7), levels=LEVELS)
    for c in (by_draws, by_law, by_quantiles):
        assert c.width == "overconfident"
        assert c.direction is None
        assert "too narrow (overconfident)" in c.verdict
        assert "U-shaped" in c.verdict
    # One observed share of the same central interval, three ways.
    for c in (by_draws, by_quantiles):
        at_90 = next(k for k in c.coverage if k.nominal == pytest.approx(0.9))
        exact = next(k for k in by_law.coverage if k.nominal == 0.9)
        assert at_90.observed.value == pytest.approx(exact.observed.value, abs=0.02)
        assert c.spread.value == pytest.approx(1 / 0.7, rel=0.05)
    assert by_law.crps is None
    assert "left out" in by_law.notes[0]
    assert by_quantiles.score_name == "2 × pinball loss"


def test_quantile_coverage_is_counted_and_needs_no_chance(narrow):
    y, _, m = narrow
    q = stats.norm.ppf(LEVELS, m[:, None], 0.7)
    for seed in (0, 1):
        c = howsure.check_continuous(y, quantiles=q, levels=LEVELS, rng=seed)
        assert [k.nominal for k in c.coverage] == pytest.approx([0.5, 0.9])
        assert c.coverage[0].observed.value == np.mean((q[:, 1] < y) & (y < q[:, 3]))
        assert c.coverage[1].observed.value == np.mean((q[:, 0] < y) & (y < q[:, 4]))
        assert c.histogram.n.tolist() == np.histogram((q < y[:, None]).sum(axis=1), np.arange(7))[0].tolist()
    assert "no central interval" in howsure.check_continuous(y, quantiles=q[:, :2], levels=LEVELS[:2]).notes[0]


def test_the_same_for_any_order_and_repeatable(narrow):
    y, draws, _ = narrow
    order = np.random.default_rng(0).permutation(len(y))
    whole = howsure.check_continuous(y, draws).to_dict()
    assert howsure.check_continuous(y[order], draws[order]).to_dict() == whole
    assert howsure.check_continuous(y.tolist(), draws.tolist()).to_dict() == whole
    assert howsure.check_continuous(y, draws, rng=1).to_dict() != whole


def test_counts_are_not_mistaken_for_miscalibrated():
    rng = np.random.default_rng(22)
    rate = rng.gamma(2.0, 1.0, 4000)
    y = rng.poisson(rate)
    assert howsure.check_continuous(y, distribution=stats.poisson(rate)).is_calibrated
    assert howsure.check_continuous(y, rng.poisson(rate[:, None], (4000, 40))).is_calibrated


def test_any_object_with_a_cdf_will_do(narrow):
    class Own:
        def cdf(self, y):
            return stats.norm.cdf(y, m, 0.7)

    y, _, m = narrow
    expected = howsure.check_continuous(y, distribution=stats.norm(m, 0.7)).to_dict()
    assert howsure.check_continuous(y, distribution=Own()).to_dict() == expected
    if hasattr(stats, "Normal"):  # SciPy 1.15 and later
        assert howsure.check_continuous(y, distribution=stats.Normal(mu=m, sigma=0.7)).width == "overconfident"


def test_few_draws_say_what_they_cannot():
    rng = np.random.default_rng(23)
    c = howsure.check_continuous(rng.normal(size=500), rng.normal(size=(500, 9)))
    assert [k.nominal for k in c.coverage] == [0.5, 0.8]
    assert "90%, 95%" in c.notes[0]
    assert len(c.histogram) == 10
    assert howsure.check_continuous([0.5], [[0.0, 1.0]]).verdict == "Too little to judge: 1 row."


def test_a_table_is_read_like_arrays(narrow, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    y, draws, m = narrow
    q = stats.norm.ppf(LEVELS, m[:, None], 0.7)
    names = ["q05", "q_25", "q0.5", "q75", "q95"]
    columns = {"y": y, **{f"s_{i}": draws[:, i] for i in range(99)}}
    columns |= {name: q[:, i] for i, name in reversed(list(enumerate(names)))}
    table = pa.table(columns)
    path = tmp_path / "f.parquet"
    pq.write_table(table, path, row_group_size=500)
    whole = howsure.check_continuous(y, draws).to_dict()
    assert howsure.check_continuous(str(path), "s_*").to_dict() == whole
    assert howsure.check_continuous(table, "s_*", true="y").to_dict() == whole
    assert howsure.check_continuous(table.to_pandas(), "s_*", true="y").to_dict() == whole
    expected = howsure.check_continuous(y, quantiles=q, levels=LEVELS).to_dict()
    assert howsure.check_continuous(path, quantiles="q*").to_dict() == expected
    some = howsure.check_continuous(path, "s_*", where="y > 0")
    assert some.n == np.sum(y > 0)


def test_batches_do_not_matter(narrow, monkeypatch):
    from howsure.engines import forecasts

    y, draws, _ = narrow
    whole = howsure.check_continuous(y, draws).to_dict()
    monkeypatch.setattr(forecasts, "CHUNK_VALUES", 100)
    assert howsure.check_continuous(y, draws).to_dict() == whole
    bad = draws.copy()
    bad[1234, 5] = np.nan
    with pytest.raises(ValueError, match="`draws` is missing or NaN in index 1234, column 5"):
        howsure.check_continuous(y, bad)


D = [[0.0, 1.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("y", "keywords", "message"),
    [
        ([0, 1], {}, "give one of `draws`, `quantiles` and `distribution`"),
        ([0, 1], {"draws": D, "quantiles": D}, "got draws and quantiles"),
        ([0, 1], {"draws": [[0.0], [1.0]]}, "`draws` must have 2 columns at least; got 1"),
        ([0, 1], {"draws": [0.0, 1.0]}, "two dimensions"),
        ([0, 1], {"draws": [[0, 1], [0]]}, "cannot be read as an array"),
        ([0, 1], {"draws": [["a", "b"], ["c", "d"]]}, "must hold numbers"),
        ([0, 1], {"draws": [[0, 1], [2, None]]}, "`draws` is missing or NaN in index 1, column 1"),
        ([0, 1], {"draws": [[0, 1], [np.inf, 1]]}, "must be finite.*got inf in index 1, column 0"),
        ([0, None], {"draws": D}, "`y_true` is missing or NaN in index 1"),
        ([0, 1, 2], {"draws": D}, "lengths differ: `y_true` has 3, `draws` has 2"),
        ([], {"draws": np.zeros((0, 2))}, "there are no rows"),
        ([0, 1], {"quantiles": D}, "need their `levels`"),
        ([0, 1], {"quantiles": D, "levels": [0.9, 0.1]}, "`levels` must increase; got 0.9, 0.1"),
        ([0, 1], {"quantiles": D, "levels": [0.1, 0.1]}, "`levels` must increase"),
        ([0, 1], {"quantiles": D, "levels": [0.0, 0.9]}, "strictly between 0 and 1"),
        ([0, 1], {"quantiles": D, "levels": [0.1]}, "2 columns and `levels` 1"),
        (
            [0, 1],
            {"quantiles": [[0, 1], [3, 2]], "levels": [0.1, 0.9]},
            "must not cross; in index 1 that of level 0.1 is 3 and that of level 0.9 only 2",
        ),
        ([0, 1], {"draws": D, "levels": [0.1, 0.9]}, "`levels` go with `quantiles`"),
        ([0, 1], {"draws": D, "true": "y"}, "with arrays leave them out"),
        ([0, 1], {"draws": "s_*"}, "needs a path or a data frame"),
        ("a.csv", {"draws": D}, "must be a glob"),
        ([0, 1], {"distribution": 3}, "must have a `cdf`"),
        ([0, 1], {"distribution": stats.norm(0, [1, -1])}, "missing or NaN in index 1"),
        ([0, 1], {"draws": D, "confidence_level": 95}, "between 0.01 and 0.9999"),
        ([0, 1], {"draws": D, "rng": "seed"}, "`rng="),
    ],
)
def test_bad_input(y, keywords, message):
    with pytest.raises(howsure.InputError, match=message) as caught:
        howsure.check_continuous(y, **keywords)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "level"), [("q0.05", 0.05), ("q05", 0.05), ("q_5", 0.05), ("q97.5", 0.975), ("p.5", 0.5), ("50%", 0.5)]
)
def test_levels_are_told_by_names(name, level):
    from howsure.engines.columns import level_of

    assert level_of(name) == pytest.approx(level)


@pytest.mark.parametrize("name", ["quality", "q0", "q100", "q500"])
def test_names_that_tell_no_level(name):
    from howsure.engines.columns import level_of

    with pytest.raises(howsure.InputError, match="does not tell its level"):
        level_of(name)


def test_notebook_and_matplotlib(narrow):
    import matplotlib as mpl

    mpl.use("Agg")
    c = howsure.check_continuous(*narrow[:2])
    html = c._repr_html_()
    assert "<svg" in html
    assert "spread" in html
    axes = c.plot()
    assert axes.get_xlabel().startswith("PIT")
    assert c.plot(ax=axes) is axes
    mpl.pyplot.close("all")


def test_no_heavy_part_is_loaded():
    code = (
        "import sys, numpy as np, howsure\n"
        "r = np.random.default_rng(0)\n"
        "howsure.check_continuous(r.normal(size=50), r.normal(size=(50, 9))).to_dict()\n"
        "bad = {'matplotlib', 'scipy.stats', 'numba', 'pandas'} & set(sys.modules)\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
