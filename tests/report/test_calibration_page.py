"""The report, opened in a real browser: it draws, asks nothing of the network, and runs nothing from the data."""

from html import unescape

import numpy as np
import pytest

import howsure
from howsure.cli.application import run

HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 2</script>",
    '"><img src=x onerror="window.hacked = 3">',
    "{{ 7 * 7 }}",
    "' onmouseover='window.hacked = 4",
]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(15)
    names = [*HOSTILE, "NN", "VB", "JJ"]
    lines = ['q,y,"<b>tag</b>",doc']
    for i in range(4000):
        q = rng.random()
        tag = names[i % len(names)].replace('"', '""')
        lines.append(f'{q:.6f},{int(rng.random() < q**2)},"{tag}",{i // 20}')
    table = folder / "<i>data.csv"
    table.write_text("\n".join(lines) + "\n")
    out = folder / "report.html"
    assert run(["check", str(table), "--by", "<b>tag</b>", "--html", str(out)]) == 0
    grouped = folder / "grouped.html"
    assert run(["check", str(table), "--groups", "doc", "--html", str(grouped)]) == 0
    return out


@pytest.mark.browser
@pytest.mark.parametrize(
    "options",
    [{}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}],
    ids=["light", "dark", "phone"],
)
def test_it_draws_and_is_silent(opened, report, options):
    page = opened(report, **options)
    assert page.trouble == []
    assert page.locator("#curve svg .mark-symbol path").count() >= 10
    assert page.locator("#histogram svg .mark-rect path").count() > 10
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert "calibrated" in page.locator("h1").inner_text()


@pytest.mark.browser
def test_nothing_from_the_data_runs(opened, report):
    page = opened(report)
    page.hover("#curve svg .mark-symbol path >> nth=3")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    cells = page.locator("#slices tbody td:first-child").all_inner_texts()
    assert set(HOSTILE) <= set(cells)
    assert page.locator("h2", has_text="By <b>tag</b>").count() == 1


@pytest.mark.browser
def test_slices_sort_and_filter(opened, report):
    page = opened(report)
    rows = "#slices tbody td:nth-child(3)"
    page.click("#slices th:nth-child(3) button")
    down = [float(x) for x in page.locator(rows).all_inner_texts()]
    assert down == sorted(down, reverse=True)
    page.click("#slices th:nth-child(3) button")
    assert [float(x) for x in page.locator(rows).all_inner_texts()] == down[::-1]
    page.fill("#filter", "vb")
    assert page.locator("#slices tbody tr:visible").count() == 1
    assert page.locator("#shown").inner_text() == "1 of 8"


@pytest.mark.browser
def test_theme_switches_and_details_show(opened, report):
    page = opened(report)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.hover("#curve svg .mark-symbol path >> nth=5")
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert "observed" in page.locator("#vg-tooltip-element").inner_text()


@pytest.mark.browser
def test_grouped_report_says_what_is_left_out(opened, report):
    page = opened(report.with_name("grouped.html"))
    assert page.trouble == []
    assert "in 200 groups" in page.locator(".cards").inner_text()
    assert "Left out because no version for groups is derived" in page.locator("main").inner_text()


def test_page_needs_no_network_and_has_a_policy(report):
    html = report.read_text()
    assert "default-src 'none'" in unescape(html)
    assert "unsafe-eval" not in html.split("<style>")[0]
    assert "<script src" not in html
    assert "window.hacked = 1</script>" not in html


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_plots_are_files_of_their_kind(tmp_path, suffix, capsys):
    out = tmp_path / f"curve.{suffix}"
    assert run(["check", "--demo", "--plot", str(out)]) == 0
    head = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}[suffix]
    assert out.read_bytes().startswith(head)
    assert f"Written: {out}" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--html", "--plot"])
def test_outputs_that_cannot_be_written(tmp_path, option, capsys):
    for target, message in ((tmp_path / "no" / "a.svg", "there is no folder"), (tmp_path, "is a folder")):
        assert run(["check", "--demo", option, str(target)]) == 2
        assert message in capsys.readouterr().err
    assert run(["check", "--demo", "--plot", str(tmp_path / "a.bmp")]) == 2
    assert ".svg, .png, .pdf" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    from howsure import files

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(howsure.InputError, match="No space left on device"):
        files.write_whole(str(tmp_path / "a.html"), b"x")
    assert list(tmp_path.iterdir()) == []


def test_notebook_and_matplotlib(skewed):
    import matplotlib as mpl

    mpl.use("Agg")
    c = howsure.check(*skewed)
    html = c._repr_html_()
    assert "<svg" in html
    assert "RMS error" in html
    axes = c.plot()
    assert axes.get_xlabel() == "predicted probability"
    assert c.plot(ax=axes) is axes
    mpl.pyplot.close("all")
