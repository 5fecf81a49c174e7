"""The report on continuous outcomes, opened in a real browser."""

import shutil

import numpy as np
import pytest

import howsure
from howsure.report.pages import continuous_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("continuous")
    rng = np.random.default_rng(41)
    mean = rng.normal(size=600)
    y, draws = rng.normal(mean, 1.4), rng.normal(mean[:, None] - 0.3, 1.0, (600, 49))
    levels = [0.1, 0.5, 0.9]
    made = {
        "draws": howsure.check_continuous(y, draws),
        "quantiles": howsure.check_continuous(y, quantiles=np.quantile(draws, levels, axis=1).T, levels=levels),
    }
    for name, result in made.items():
        (folder / f"{name}.html").write_bytes(continuous_page(result))
    return folder


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_it_draws_in_any_size_and_colour_and_is_silent(pages):
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*flags, "--disable-sync", "--disable-component-update"]
        )
        for name, options in (
            ("draws", {}),
            ("quantiles", {"color_scheme": "dark"}),
            ("draws", {"viewport": {"width": 390, "height": 844}}),
        ):
            page = chromium.new_context(**options).new_page()
            trouble, url = [], f"file://{pages / name}.html"
            page.on("console", lambda m, t=trouble: m.type in ("error", "warning") and t.append(m.text))
            page.on("pageerror", lambda e, t=trouble: t.append(str(e)))
            page.on("request", lambda r, t=trouble, u=url: r.url != u and t.append(r.url))
            page.goto(url)
            page.wait_for_selector("html[data-drawn=yes]", timeout=30_000)
            assert trouble == []
            assert page.locator("#pit svg .mark-rect path").count() >= 4
            assert page.locator("#ecdf svg .mark-line path").count() == 1
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert page.locator("h1").inner_text().startswith("Not calibrated")
            assert "too narrow (overconfident)" in page.locator("header").inner_text()
        chromium.close()


def test_the_page_says_how_pit_was_known(pages):
    assert "A random place between r/(S+1)" in (pages / "draws.html").read_text()
    quantiles = (pages / "quantiles.html").read_text()
    assert "only that gap is known" in quantiles
    assert "2 × pinball loss" in quantiles
