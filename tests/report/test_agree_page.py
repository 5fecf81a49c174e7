"""The report of `howsure agree`, opened in a real browser."""

import shutil

import numpy as np
import pytest

import howsure
from howsure.report.pages import agreement_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def page_path(tmp_path_factory):
    rng = np.random.default_rng(8)
    true = rng.integers(3, size=80)
    names = np.array(["left", "right", "<script>x</script>"])
    columns = {
        name: names[np.where(rng.random(80) < accuracy, true, rng.integers(3, size=80))].tolist()
        for name, accuracy in (("ann", 0.9), ("bob", 0.8), ("cy", 0.8), ("eve", 0.0))
    }
    made = howsure.agree({**columns, "gold": names[true].tolist()}, annotators="ann,bob,cy,eve", gold="gold")
    path = tmp_path_factory.mktemp("agree") / "agree.html"
    path.write_bytes(agreement_page(made))
    return path


def test_it_escapes_what_annotators_wrote(page_path):
    html = page_path.read_text()
    assert "<script>x" not in html
    assert "&lt;script&gt;x" in html


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_it_draws_in_any_size_and_colour_and_is_silent(page_path):
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*flags, "--disable-sync", "--disable-component-update"]
        )
        for options in ({}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}):
            page = chromium.new_context(**options).new_page()
            trouble, url = [], f"file://{page_path}"
            page.on("console", lambda m, t=trouble: m.type in ("error", "warning") and t.append(m.text))
            page.on("pageerror", lambda e, t=trouble: t.append(str(e)))
            page.on("request", lambda r, t=trouble, u=url: r.url != u and t.append(r.url))
            page.goto(url)
            page.wait_for_selector("html[data-drawn=yes]", timeout=30_000)
            assert trouble == []
            assert page.locator("#coefficients svg .mark-symbol path").count() >= 3
            assert page.locator("#confusion svg .mark-rect path").count() == 9
            assert page.locator("#annotators svg").count() == 1
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert "agree on" in page.locator("h1").inner_text()
        chromium.close()
