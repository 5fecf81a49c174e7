"""The report of `howsure agree`, opened in a real browser."""

import numpy as np
import pytest

import howsure
from howsure.report.pages import agreement_page


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
def test_it_draws_in_any_size_and_colour_and_is_silent(page_path, opened):
    for options in ({}, {"color_scheme": "dark"}, {"viewport": {"width": 390, "height": 844}}):
        page = opened(page_path, **options)
        assert page.trouble == []
        assert page.locator("#coefficients svg .mark-symbol path").count() >= 3
        assert page.locator("#confusion svg .mark-rect path").count() == 9
        assert page.locator("#annotators svg").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert "agree on" in page.locator("h1").inner_text()
