"""What the pictures show, read from their specifications: both labels, bands and counts, steps, years."""

import numpy as np
import pytest

import howsure
from howsure.plots.curves import comparison_figure, histogram_layers
from howsure.plots.timelines import TIME_AXIS, draw_timelines, explorer_charts, timeline_figure
from howsure.report.page import headline, statistic


@pytest.fixture(scope="module")
def compared():
    rng = np.random.default_rng(3)
    p = rng.random(500)
    y = rng.random(500) < p
    return howsure.compare(y, {"a": p, "b": p**2})


def test_what_came_true_is_above_the_line_and_what_did_not_below(compared):
    c = compared.calibrations[0]
    bars = histogram_layers(c)[0]
    records = bars["data"]["values"]
    assert sum(r["height"] for r in records if r["label"] == "came true") == c.positives.n
    assert sum(r["height"] for r in records if r["label"] == "did not") == -c.negatives.n
    assert bars["encoding"]["y"]["title"].startswith("rows")


def test_a_comparison_has_bands_counts_and_differences(compared):
    curve, counts, *differences = comparison_figure(compared)["vconcat"]
    assert [layer["mark"]["type"] for layer in curve["layer"]] == ["line", "area", "line", "point"]
    rows = counts["layer"][0]["data"]["values"]
    assert sum(r["rows"] for r in rows if r["model"] == "a" and r["from"] < 1) == compared.n
    assert len(differences) == 3
    drawn = [d["layer"][2]["data"]["values"][0]["value"] for d in differences]
    pair = compared.pairs[0]
    assert drawn == [pair.error_squared.value, pair.brier.value, pair.log_loss.value]
    html = compared.to_html().decode()
    assert all(f'id="{name}"' in html for name in ("distribution", "error_squared", "brier", "log_loss"))


def count(period, start, mean):
    limits = {f"{end}{level}": mean for end in ("low", "high") for level in (50, 80, 95)}
    return {"period": period, "start": start, "mean": mean, "best": 1, "documents": 3, **limits}


def test_periods_are_steps_and_the_last_one_ends():
    lines = {"X": [count("2020-01", "2020-01-01", 1.0), count("2020-02", "2020-02-01", 2.0)]}
    layers = timeline_figure(lines, "t", "month")["layer"]
    for layer in layers[:-1]:
        assert layer["mark"]["interpolate"] == "step-after"
        assert [r["start"] for r in layer["data"]["values"]] == ["2020-01-01", "2020-02-01", "2020-03-01"]
    assert [r["middle"] for r in layers[-1]["data"]["values"]] == ["2020-01-16", "2020-02-15"]


def test_every_line_and_area_of_the_explorer_is_a_step_and_every_time_axis_has_years():
    for chart in explorer_charts().values():
        for layer in chart["layer"]:
            if layer["mark"]["type"] in ("line", "area"):
                assert layer["mark"]["interpolate"] == "step-after"
            assert layer["encoding"]["x"]["axis"]["labelExpr"] == TIME_AXIS["labelExpr"]
    assert TIME_AXIS["labelExpr"].count("%Y") == 3
    lines = {"X": [count("2020-01", "2020-01-01", 1.0)]}
    for layer in timeline_figure(lines, "t", "month")["layer"]:
        assert layer["encoding"]["x"]["axis"]["labelExpr"] == TIME_AXIS["labelExpr"]


@pytest.mark.parametrize("every", ["year", "quarter", "month", "week"])
def test_periods_of_counts_are_named_with_their_years(every):
    import pyarrow as pa

    day = np.datetime64("2023-11-20") + np.arange(200)
    q = np.tile([0.1, 0.8], 100)
    table = pa.table({"q": q, "y": (q > 0.5).astype(int), "day": day})
    found = howsure.count(table, prob="q", true="y", design="random", date="day", every=every)
    periods = [cell.name for cell in found.cells]
    assert periods
    assert all(name.startswith(("2023", "2024")) for name in periods)


def test_matplotlib_draws_steps_too():
    import matplotlib as mpl

    mpl.use("Agg")
    found = howsure.explore(coref="simple", every="quarter")
    axes = draw_timelines({"KES": found.timeline("KES", "quarter")}, "quarter")
    assert {line.get_drawstyle() for line in axes.get_lines()} == {"steps-post"}
    mpl.pyplot.close("all")


def test_a_headline_is_one_sentence_and_the_rest_a_list():
    assert headline("One is 0.5. <b> is two.") == '<h1>One is 0.5.</h1><ul class="said"><li>&lt;b&gt; is two.</li></ul>'
    assert headline("One.") == "<h1>One.</h1>"


def test_huge_statistics_are_not_printed():
    assert [statistic(x) for x in (3.155e14, -2e9, 12.34567, None)] == ["> 1e6", "< -1e6", "12.35", "beyond measure"]
