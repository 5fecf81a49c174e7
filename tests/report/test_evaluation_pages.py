"""The pages of score, compare and agree, opened in a real browser, with labels that try to be markup."""

import numpy as np
import pyarrow as pa
import pytest

import howsure
from howsure.report.pages import agreement_page, contest_page, score_page

LABELS = np.array(["<script>alert(1)</script>", '"onerror="alert(1)', "</script>", "plain"])


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluation")
    rng = np.random.default_rng(7)
    gold = rng.integers(4, size=400)
    systems = {
        n: np.where(rng.random(400) < p, gold, rng.integers(4, size=400)) for n, p in (("a<b>", 0.6), ("b", 0.8))
    }
    named = {n: LABELS[s] for n, s in systems.items()}
    docs = [f"doc {i // 10}" for i in range(400)]
    probs = {n: rng.uniform(0.4, 1.0, 400) for n in systems}
    annotations = {n: list(LABELS[np.where(rng.random(400) < 0.7, gold, rng.integers(4, size=400))]) for n in "xyz"}
    made = {
        "score": score_page(howsure.score(LABELS[gold], named["b"], groups=docs)),
        "contest": contest_page(howsure.compare(LABELS[gold], y_preds=named, groups=docs)),
        "both": contest_page(howsure.compare(LABELS[gold], y_preds=named, y_probs=probs, groups=docs)),
        "agree": agreement_page(howsure.agree(pa.table(annotations), annotators=list("xyz"))),
    }
    for name, page in made.items():
        (folder / f"{name}.html").write_bytes(page)
    return folder


@pytest.mark.browser
def test_they_draw_in_any_size_and_colour_and_run_nothing(pages, opened):
    for name in ("score", "contest", "both", "agree"):
        for options in ({}, {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}}):
            page = opened(pages / f"{name}.html", **options)
            assert page.trouble == [], name
            assert page.locator("svg .role-mark path, svg .role-mark text").count() >= 3, name
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
            assert "<script>alert(1)</script>" in page.locator("main").inner_text() or name in ("contest", "both")
