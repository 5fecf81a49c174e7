"""The report on continuous outcomes, opened in a real browser."""

import numpy as np
import pytest

import howsure
from howsure.report.pages import continuous_page


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
def test_it_draws_in_any_size_and_colour_and_is_silent(pages, opened):
    for name, options in (
        ("draws", {}),
        ("quantiles", {"color_scheme": "dark"}),
        ("draws", {"viewport": {"width": 390, "height": 844}}),
    ):
        page = opened(pages / f"{name}.html", **options)
        assert page.trouble == []
        assert page.locator("#pit svg .mark-rect path").count() >= 4
        assert page.locator("#ecdf svg .mark-line path").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.locator("h1").inner_text().startswith("Not calibrated")
        assert "too narrow (overconfident)" in page.locator("header").inner_text()


def test_the_page_says_how_pit_was_known(pages):
    assert "A random place between r/(S+1)" in (pages / "draws.html").read_text()
    quantiles = (pages / "quantiles.html").read_text()
    assert "only that gap is known" in quantiles
    assert "2 × pinball loss" in quantiles
