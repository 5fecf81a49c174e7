"""The pages of score, compare and agree, opened in a real browser, with labels that try to be markup."""

import shutil

import numpy as np
import pyarrow as pa
import pytest

import howsure
from howsure.report.pages import agreement_page, contest_page, score_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
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
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_they_draw_in_any_size_and_colour_and_run_nothing(pages):
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*flags, "--disable-sync", "--disable-component-update"]
        )
        for name in ("score", "contest", "both", "agree"):
            for options in ({}, {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}}):
                page = chromium.new_context(**options).new_page()
                trouble, url = [], f"file://{pages / name}.html"
                page.on("console", lambda m, t=trouble: m.type in ("error", "warning") and t.append(m.text))
                page.on("pageerror", lambda e, t=trouble: t.append(str(e)))
                page.on("dialog", lambda d, t=trouble: t.append(d.message))
                page.on("request", lambda r, t=trouble, u=url: r.url != u and t.append(r.url))
                page.goto(url)
                page.wait_for_selector("html[data-drawn=yes]", timeout=30_000)
                assert trouble == [], name
                assert page.locator("svg .role-mark path, svg .role-mark text").count() >= 3, name
                assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
                assert "<script>alert(1)</script>" in page.locator("main").inner_text() or name in ("contest", "both")
        chromium.close()
