"""The page over all experiments: complete, generated from what is kept, and nothing in it runs."""

import json
import re
from html import unescape
from pathlib import Path
from typing import get_args

import pytest

import howsure
from howsure.cli.application import run
from howsure.experiments.findings import Finding, Verdict
from howsure.experiments.overview import SLIPS, overview, tally
from howsure.experiments.registry import EXPERIMENTS
from howsure.experiments.result import Figure, Reproduction, Table
from howsure.verbs.reproduce import kept_results, left_out, reproduction_index

DOCS = Path(__file__).parents[2] / "docs"
HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'> a|b {{ 7 * 7 }} `c`"


def result(text="A title", name="course", **more):
    finding = Finding(text, text, "differs", text, {"n": 1}, text, text)
    parts = {"findings": (finding,), "tables": (Table("t", text, (text, "n"), ((text, 0.5),)),), "notes": (text,)}
    drawn = Figure("1", text, {"mark": "bar"})
    return Reproduction(name, text, text, {}, **{**parts, "figures": (drawn,), "data": text, "version": "v"} | more)


@pytest.fixture
def folder(tmp_path):
    made = result(HOSTILE, version=howsure.__version__)
    (tmp_path / "course.json").write_text(json.dumps(made.to_dict()))
    (tmp_path / "course-1.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg'><script>window.hacked = 3</script></svg>"
    )
    (tmp_path / "figure-5.json").write_text("{ damaged")
    (tmp_path / "figure-6.json").write_text(json.dumps(result(name="figure-6", version="0.0.0").to_dict()))
    return tmp_path


def test_only_this_versions_results(folder):
    assert [r.name for r in kept_results(folder)] == ["course"]
    said = left_out(kept_results(folder))
    assert len(said) == len(EXPERIMENTS) - 1
    assert any(s.startswith("synthetic") and "Not run yet" in s for s in said)


def test_hostile_text_is_inert(folder):
    text, html = (Path(p).read_text() for p in reproduction_index(folder))
    for page in (text, html):
        assert "<script>window" not in page
        assert "<img src=x" not in page
        assert "window.hacked" in page  # said, not run
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) in (5, 6, 9) for line in rows)
    assert "{{ 7 * 7 }}" in unescape(html)
    assert "<code>c</code>" in html


def test_the_page_in_a_browser(folder, chromium):
    path = reproduction_index(folder)[-1]
    page = chromium.new_page(viewport={"width": 360, "height": 800})
    trouble = []
    page.on("pageerror", lambda e: trouble.append(str(e)))
    page.on("console", lambda m: m.type == "error" and trouble.append(m.text))
    page.on("request", lambda r: r.url.startswith(("file:", "data:")) or trouble.append(r.url))
    page.goto(f"file://{path}")
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.images.length") == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.click("#theme")
    assert trouble == []
    page.close()


def test_every_finding_and_slip_is_there():
    results = [result(f"Title {n}", n) for n in ("figure-5", "course")]
    text = overview(results, ["figure-6: no data"], tables=True)
    for r in results:
        assert f"## {r.name}: {r.title}" in text
        assert f"(#{r.name})" in text
        assert f'<a id="{r.name}"></a>' in text
        assert text.count(r.findings[0].said) >= 5
    for slip in SLIPS:
        assert slip.shown in text
    assert "figure-6: no data" in text
    assert tally(results) == dict.fromkeys(get_args(Verdict), 0) | {"differs": 2}
    assert "course.md" not in text
    assert "[course.md](course.md)" in overview(results)


def test_every_run_writes_it(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("HOWSURE_DATA", raising=False)
    out = tmp_path / "out"
    assert run(["reproduce", "section-6.2", "--quick", "--out", str(out)]) == 0
    assert f"Written: {out / 'index.html'}" in capsys.readouterr().out
    first = (out / "index.md").read_text()
    assert "A small version" in first
    assert "## section-6.2" in first
    assert "## course" not in first
    assert run(["reproduce", "course", "--quick", "--json", "--out", str(out)]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["course"]
    second = (out / "index.md").read_text()
    assert "## section-6.2" in second
    assert "## course" in second


def test_documentation_is_generated_from_all_experiments():
    said = (DOCS / "evidence" / "reproduction.md").read_text()
    for e in (e for e in EXPERIMENTS.values() if e.name != "seeds"):  # which has a page of its own
        assert f"## {e.name}: {e.title}" in said
    assert "A small version" not in said
    items = (DOCS / "evidence" / "seeds.md").read_text()
    numbers = [int(n) for n in re.findall(r"^\| (\d+) \| ", items, re.M)]
    assert sorted(numbers) == list(range(1, 91))
    assert "| failed |" not in items
    assert "| not the same |" not in items
    files = list((DOCS / "images" / "reproduction").iterdir())
    assert sum(f.stat().st_size for f in files) < 2_000_000
    assert max(f.stat().st_size for f in files) < 200_000
    assert {f.name for f in files} == set(re.findall(r"images/reproduction/([\w.-]+\.svg)", said))
