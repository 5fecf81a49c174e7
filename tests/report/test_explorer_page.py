"""The explorer page in a real browser: it counts as Python does, answers clicks, keeps its address, runs nothing from the data."""

import csv
import io
import itertools
import re
import threading
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import howsure
from howsure.cli.application import run
from howsure.events.exploration import Exploration
from howsure.events.reported import NOTHING
from howsure.events.timeline import PERIODS, document_count

pytestmark = pytest.mark.browser
EPOCH = date(1970, 1, 1)
HOSTILE = [
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    '"><img src=x onerror="window.hacked=3">',
    "' onmouseover='window.hacked=4",
    "<svg/onload=window.hacked=5>",
    "{{7*7}}${7*7}",
    "<!--<script>",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory, some_results):
    out = tmp_path_factory.mktemp("page") / "events.html"
    assert run(["page", str(some_results), "-o", str(out)]) == 0
    return f"file://{out}"


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    """The corpus that ships."""
    folder = tmp_path_factory.mktemp("stories")
    howsure.explore(out=folder / "results")
    howsure.page(folder / "results", folder / "events.html")
    return f"file://{folder / 'events.html'}"


def until(page, expression, arg=None):
    """Waits for something to be true. Playwright's own way evaluates strings in the page, which the policy forbids."""
    for _ in range(200):
        if page.evaluate(expression, arg):
            return
        page.wait_for_timeout(50)
    raise AssertionError(expression)


def days(start):
    return (start - EPOCH).days


@pytest.mark.parametrize(
    "options",
    [{}, {"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}, "has_touch": True}],
    ids=["light", "dark", "phone"],
)
def test_it_draws_and_is_silent(visit, stories, options):
    page = visit(stories + "#a=VAL&b=ZAN", **options)
    assert page.trouble == []
    # Eight quarters of two actors: a block for each of the three bands.
    assert page.locator("#timeline svg .mark-rect path").count() == 2 * 8 * 3
    assert page.locator("#timeline svg .mark-line path").count() == 4
    assert page.locator("#versus svg .mark-rect path").count() == 3 * 8
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    dark = options.get("color_scheme") == "dark"
    assert (page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)") is dark
    assert page.locator("h1").inner_text().startswith("60 documents")


def test_counts_are_those_of_python(visit, made, some_results):
    found = Exploration.open(some_results)
    page = visit(f"{made}#a=NOR&b=SUD&count=rules")
    for every in PERIODS:
        page.click(f"#every label:has(input[value={every}])")
        now = page.evaluate("({lines: howsure.now().series.map((s) => s.line), versus: howsure.now().versus})")
        for code, line in zip(("NOR", "SUD"), now["lines"], strict=True):
            wanted = [c.to_dict() for c in found.timeline(code, every)]
            assert [x["period"] for x in line] == [w["period"] for w in wanted]
            for x, w in zip(line, wanted, strict=True):
                for name in ("documents", "best", *(f"{e}{n}" for e in ("low", "high") for n in (50, 80, 95))):
                    assert x[name] == w[name], (w["period"], name)
                for name in ("mean", "sd", "more_than_before"):
                    assert x[name] == (None if w[name] is None else pytest.approx(w[name], abs=1e-9))
        names = ("p_more", "p_fewer", "difference")
        compared = [c.to_dict() for c in found.compare("NOR", "SUD", every)]
        for x, w in zip(now["versus"]["periods"], compared, strict=True):
            assert {n: x[n] for n in names} == pytest.approx({n: w[n] for n in names}, abs=1e-9)
        assert now["versus"]["all"]["p_more"] == pytest.approx(found.compare_all("NOR", "SUD").above(0), abs=1e-9)


def test_bands_are_those_of_the_event_layer(visit, made, some_results):
    found = Exploration.open(some_results)
    page = visit(f"{made}#a=NOR&b=SUD")
    for every in PERIODS:
        page.click(f"#every label:has(input[value={every}])")
        assert page.evaluate("howsure.now().layer")
        series = page.evaluate("howsure.now().series")
        for code, s in zip(("NOR", "SUD"), series, strict=True):
            bands = {name: (n, b) for name, n, b in found.reported(every).periods[code]}
            total = found.reported().totals[code]
            assert (s["total"]["low"], s["total"]["high"]) == total.intervals[0.95]
            assert s["total"]["mean"] == pytest.approx(total.mean, abs=1e-4)
            for x in s["line"]:
                n, b = bands.get(x["period"], (0, NOTHING))
                assert x["named"] == n
                assert x["mean"] == pytest.approx(b.mean, abs=1e-4)
                assert [(x[f"low{k}"], x[f"high{k}"]) for k in (50, 80, 95)] == list(b.intervals.values())
                parts = [x[k] for k in ("coreference", "reading", "layer", "shifts")]
                assert parts == pytest.approx(list(b.parts.values()), abs=1e-4)
    page.click("#verbs-part summary")
    page.check("#verbs input[value=raid]")
    assert not page.evaluate("howsure.now().layer")
    assert "does not tell verbs apart" in page.locator("#bounds").inner_text()
    assert page.trouble == []


def test_laws_of_many_documents_are_those_of_python(visit, made):
    """Where the page cuts tails off as it goes."""
    p = np.random.default_rng(3).beta(0.4, 2.0, 3000)
    law = document_count(p)
    page = visit(made)
    levels = (0.5, 0.8, 0.95, 0.999)
    said = page.evaluate(
        "([p, levels]) => { const law = howsure.counts.poissonBinomial(p); return levels.map((l) => howsure.counts.interval(law, l)); }",
        [p.tolist(), levels],
    )
    assert [tuple(x) for x in said] == [law.interval(level) for level in levels]


def test_days_that_are_not_drawn_are_like_their_neighbours(visit, made):
    page = visit(f"{made}#a=NOR&every=day")
    drawn, line = page.evaluate("[howsure.datasets().counts, howsure.now().series[0].line]")
    fields = ("mean", "best", "low50", "high50", "low80", "high80", "low95", "high95")
    kept = {d["period"]: d for d in drawn}
    assert line[0]["period"] in kept
    assert line[-1]["period"] in kept
    assert 50 < len(kept) < len(line)
    last = None
    for x in line:
        now = [x[f] for f in fields]
        if x["period"] in kept:
            assert [kept[x["period"]][f] for f in fields] == now
        else:
            assert now == last
        last = now
    # After a day that is left out comes one like it, so lines and areas through the gap are level.
    for x, y in itertools.pairwise(line):
        if x["period"] not in kept:
            assert [x[f] for f in fields] == [y[f] for f in fields]


def test_verbs_are_chosen(visit, made, some_results):
    page = visit(made + "#a=NOR")
    page.click("#verbs-part summary")
    page.check("#verbs input[value=raid]")
    # Documents with chains of both verbs have the chain's own probability, others theirs; the rest have gone.
    wanted = page.evaluate(
        """() => { const d = JSON.parse(document.getElementById("results").textContent), raid = d.lemmas.indexOf("raid");
        let sum = 0;
        d.chains.event.forEach((e, i) => { if (d.chains.lemma[i] === raid && d.actors[d.events.actor[e]].code === "NOR"
          && d.documents.day[d.events.document[e]] !== null) sum += d.chains.p[i]; });
        return sum; }"""
    )
    assert 0 < wanted < Exploration.open(some_results).total("NOR").mean
    assert page.evaluate("howsure.now().series[0].total.mean") == pytest.approx(wanted)
    assert "verbs=raid" in page.url


def at_period(page, name):
    """The middle of a period in the chart, in pixels of the page."""
    return page.evaluate(
        """(name) => { const now = howsure.now(), i = now.periods.findIndex((p) => p.name === name);
        const box = document.querySelector("#timeline svg .mark-rect path, #timeline svg .mark-area path").closest("g.root")
          .querySelector("path.background").getBoundingClientRect();
        const first = now.periods[0].start, last = now.periods.at(-1).end, p = now.periods[i];
        return [box.left + box.width * ((p.start + p.end) / 2 - first) / (last - first), box.top + box.height / 2]; }""",
        name,
    )


def listed(page):
    return page.locator("#list .title").all_inner_texts()


def test_a_click_lists_the_documents_of_the_period(visit, made, some_results):
    found = Exploration.open(some_results)
    page = visit(made + "#a=NOR")
    hits = found.hits["NOR"]
    assert page.locator("#list li").count() == 25  # a page at a time
    page.mouse.click(*at_period(page, "2020-06"))
    until(page, "document.getElementById('documents-title').textContent.includes('2020-06')")
    wanted = [h for h in hits if h.date is not None and h.date.isoformat()[:7] == "2020-06"]
    assert 2 < len(wanted) < 25
    best = sorted(wanted, key=lambda h: -h.probability)
    until(page, f"document.querySelectorAll('#list li').length === {len(wanted)}")
    assert listed(page) == [f"Story {h.document[1:]}" for h in best]
    page.select_option("#sort", "uncertain")
    unsure = sorted(wanted, key=lambda h: abs(h.probability - 0.5))
    until(
        page, "(t) => document.querySelector('#list .title').textContent === t", arg=f"Story {unsure[0].document[1:]}"
    )
    assert listed(page) == [f"Story {h.document[1:]}" for h in unsure]
    # The same period again lets it go.
    page.mouse.click(*at_period(page, "2020-06"))
    until(page, "document.querySelectorAll('#list li').length === 25")
    assert page.trouble == []


def test_a_drag_chooses_several_periods_and_zooms(visit, made):
    page = visit(made + "#a=NOR")
    page.mouse.move(*at_period(page, "2020-03"))
    page.mouse.down()
    page.mouse.move(*at_period(page, "2020-05"), steps=4)
    page.mouse.up()
    until(page, "document.getElementById('documents-title').textContent.endsWith('2020-03 to 2020-05')")
    state = page.evaluate("howsure.state()")
    assert (state["from"], state["to"]) == (days(date(2020, 3, 1)), days(date(2020, 6, 1)))
    page.locator("#whole").scroll_into_view_if_needed()
    box = page.locator("#whole").bounding_box()
    middle = box["y"] + box["height"] / 3
    page.mouse.move(box["x"] + box["width"] * 0.4, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=4)
    page.mouse.up()
    page.wait_for_selector("#zoom-out:visible")
    assert "zoom=" in page.url
    page.click("#zoom-out")
    assert "zoom=" not in page.url


def test_keyboard_alone(visit, made):
    page = visit(made + "#a=NOR")
    page.focus("#timeline")
    for month in ("2020-01", "2020-02"):  # from the first on
        page.keyboard.press("ArrowRight")
        until(page, f"document.getElementById('documents-title').textContent === 'Documents, {month}'")
    page.keyboard.press("Escape")
    until(page, "document.getElementById('documents-title').textContent === 'Documents, all periods'")
    page.focus("#list li:nth-child(2) button")
    page.keyboard.press("Enter")
    page.wait_for_selector("#document:visible")
    until(page, "document.activeElement.id === 'document-title'")


def test_search_reads_the_texts(visit, made):
    page = visit(made + "#a=NOR&b=SUD")
    page.fill("#words", "HILL 13 at")
    until(page, "document.querySelectorAll('#list li').length === 2")
    assert set(listed(page)) == {"Story 13"}
    page.fill("#words", "no such words")
    until(page, "document.querySelectorAll('#list li').length === 0")
    assert "No document here holds these words" in page.locator("#documents-count").inner_text()


def test_a_document_opens_with_its_chain(visit, made):
    page = visit(made + "#a=NOR&words=hill+13+at")
    page.click("#list li button")
    page.wait_for_selector("#document mark.agent")
    box = page.locator("#document .text")
    # Spans count characters as people do, whatever the browser's units.
    assert box.inner_text().replace("\n", "") == "2Northern 𝔱roops came; 1they attacked hill 13 at dawn."
    assert page.locator("#document .text mark.agent").inner_text() == "1they"
    assert page.locator("#document .text mark.verb").inner_text() == "attacked"
    assert [m.inner_text() for m in page.locator("#document .text mark.member").all()] == ["2Northern", " 𝔱roops"]
    assert page.locator("#document .text svg path.link").count() == 1
    assert "is the subject of" in page.locator("#document").inner_text()
    assert page.locator("#document .bars .value").all_inner_texts()[1:] == ["1.00", "0.00"]
    page.click("#document .close")
    assert page.locator("#document").is_hidden()
    assert page.trouble == []


def test_actors_switch(visit, stories):
    page = visit(stories)
    before = page.locator("#readout").inner_text()
    page.select_option("#a", "VAL")
    assert "Valdoria" in page.locator("#readout").inner_text() != before
    page.select_option("#b", "KES")
    page.wait_for_selector("#versus svg")
    assert re.fullmatch(
        r"Who has more\? All periods\s+Valdoria 0\.\d\d\s+as many 0\.\d\d\s+Kessia 0\.\d\d\s+rules and coreference alone",
        page.locator("#versus-title").inner_text(),
    )
    page.select_option("#a", "KES")  # no actor is compared with itself
    assert page.evaluate("howsure.state().b") == ""
    page.uncheck("#best")
    until(page, "document.querySelectorAll('#timeline svg .mark-line path').length === 1")


def test_it_opens_on_the_actors_chosen(visit, stories, tmp_path):
    folder = Path(stories.removeprefix("file://")).parent / "results"
    howsure.page(folder, tmp_path / "two.html", actors=["KES", "VAL"])
    page = visit(f"file://{tmp_path / 'two.html'}")
    assert page.evaluate("[howsure.state().a, howsure.state().b]") == ["KES", "VAL"]
    assert "Kessia" in page.locator("h1").inner_text() + page.locator("header").inner_text()
    page.select_option("#b", "")
    again = visit(page.url)  # no second actor is a choice too
    assert again.evaluate("[howsure.state().a, howsure.state().b]") == ["KES", ""]


def test_the_address_restores_the_view(visit, stories):
    first = visit(stories)
    first.select_option("#a", "VAL")
    first.select_option("#b", "ZAN")
    first.click("#every label:has(input[value=year])")
    first.uncheck("#best")
    first.select_option("#sort", "uncertain")
    first.focus("#timeline")
    first.keyboard.press("ArrowRight")
    first.click("#list li button")
    first.wait_for_selector("#document mark.agent")
    parts = ("#readout", "#list", "#document", "#documents-title")
    state, texts = first.evaluate("howsure.state()"), [first.locator(part).inner_text() for part in parts]
    second = visit(first.url)
    second.wait_for_selector("#document mark.agent")
    assert second.evaluate("howsure.state()") == state
    assert [second.locator(part).inner_text() for part in parts] == texts
    odd = visit(stories + "#a=<script>&b=VAL&every=aeon&from=9&to=1&doc=x&zoom=1&sort=__proto__&chain=-5")
    assert odd.trouble == []
    assert odd.evaluate("howsure.state().every") == "quarter"


def test_exports_hold_what_is_shown(visit, made, some_results):
    found = Exploration.open(some_results)
    page = visit(made + "#a=NOR&b=SUD&every=quarter&count=rules", accept_downloads=True)

    def download(button):
        with page.expect_download() as waited:
            page.click(button)
        return waited.value.suggested_filename, waited.value.path().read_bytes()

    name, content = download("#csv")
    assert name == "howsure-NOR-SUD-quarter.csv"
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    wanted = [(c, x.to_dict()) for c in ("NOR", "SUD") for x in found.timeline(c, "quarter")]
    more = [x.more for x in found.compare("NOR", "SUD", "quarter")]
    more += [x.fewer for x in found.compare("NOR", "SUD", "quarter")]
    assert len(rows) == len(wanted)
    for row, (code, w), p in zip(rows, wanted, more, strict=True):
        assert (row["actor"], row["period"], row["start"]) == (code, w["period"], w["start"])
        assert row["name"] == found.name(code)
        assert float(row["mean"]) == pytest.approx(w["mean"], abs=1e-9)
        assert [int(row[n]) for n in ("low50", "high50", "low95", "high95", "best", "documents")] == [
            w[n] for n in ("low50", "high50", "low95", "high95", "best", "documents")
        ]
        assert float(row["p_more"]) == pytest.approx(p, abs=1e-9)
    page.select_option("#count", "reported")
    rows = list(csv.DictReader(io.StringIO(download("#csv")[1].decode())))
    bands = [b for c in ("NOR", "SUD") for _, _, b in found.reported("quarter").periods[c]]
    assert [int(r["high95"]) for r in rows if int(r["named"])] == [b.intervals[0.95][1] for b in bands]
    assert all(
        sum(float(r[k]) for k in ("coreference", "reading", "layer", "shifts")) == pytest.approx(1, abs=1e-3)
        for r in rows
        if int(r["named"])
    )
    name, content = download("#svg")
    assert name.endswith(".svg")
    assert content.startswith(b"<svg")
    assert content.count(b"<svg") == 3
    name, content = download("#png")
    assert name.endswith(".png")
    assert content.startswith(b"\x89PNG")
    assert page.trouble == []


def test_citation_says_what_it_rests_on(visit, stories):
    page = visit(stories + "#a=VAL", permissions=["clipboard-read", "clipboard-write"])
    said = page.locator("#citation").inner_text()
    for part in ("60 documents", "fingerprint", "seed 0", "400 samples", "Nguyen & O'Connor", "Valdoria: "):
        assert part in said
    page.click("#cite")
    until(page, "document.getElementById('cite').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == said
    trust = page.locator("#trust").inner_text()
    assert "coreference" in trust
    assert "parser" in trust
    assert "Not measured" in trust


def test_theme_switches_the_charts(visit, stories):
    page = visit(stories)
    colour = "getComputedStyle(document.querySelector('#timeline .role-axis-label text')).fill"
    before = page.evaluate(colour)
    page.click("#theme")
    until(page, f"{colour} !== '{before}'")


def hostile_stories():
    made = []
    for i, bad in enumerate(HOSTILE):
        text = f"{bad.replace(' ', '_')} men came; they attacked. {bad}"
        words = text.split()
        text = " ".join([words[0], words[1], words[2], *words[3:]])
        made.append(
            (
                bad + str(i),
                date(2020, 1 + i, 1),
                bad,
                text,
                [("X" + bad, 0.4, 0, [(bad, 0.4)]), ("Y", 0.7, 1, [("raid", 0.7)])],
            )
        )
    return made


def test_a_hostile_corpus_runs_nothing(visit, tmp_path, write_results):
    names = {"X" + bad: bad for bad in HOSTILE} | {"Y": HOSTILE[1]}
    results = write_results(tmp_path / "<b>bad", names, hostile_stories(), tuple(HOSTILE))
    out = tmp_path / "bad.html"
    howsure.page(results, out)
    assert "window.hacked=1</script>" not in out.read_text()
    page = visit(f"file://{out}#b=Y")
    assert set(HOSTILE) <= set(page.locator("#b option").all_inner_texts())
    for i in range(page.locator("#list li").count()):
        page.click(f"#list li:nth-child({i + 1}) button")
        page.wait_for_selector("#document mark.agent")
        page.hover("#document")
    for actor in names:
        page.select_option("#a", actor)
    page.mouse.move(*at_period(page, "2020-02"))
    page.click("#trust summary")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, main script, #document iframe").count() == 0
    assert page.trouble == []


def test_an_empty_result_explains_itself(visit, tmp_path, write_results):
    results = write_results(
        tmp_path / "none", {"NOR": "Norland"}, [("a", date(2020, 1, 1), "A", "Nothing here at all.", [])]
    )
    howsure.page(results, tmp_path / "none.html")
    page = visit(f"file://{tmp_path / 'none.html'}")
    assert page.trouble == []
    assert "none describes one of the 1 actors" in page.locator("#empty").inner_text()
    assert "--verbs" in page.locator("#empty").inner_text()


def test_undated_documents_alone(visit, tmp_path, write_results):
    results = write_results(
        tmp_path / "un",
        {"NOR": "Norland"},
        [("a", None, "A", "Northern men came; they attacked.", [("NOR", 0.5, 1, [("attack", 0.5)])])],
    )
    howsure.page(results, tmp_path / "un.html")
    page = visit(f"file://{tmp_path / 'un.html'}")
    assert page.trouble == []
    assert listed(page) == ["A"]
    page.click("#timeline")
    assert page.trouble == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_barrier(visit, stories, axe, scheme):
    page = visit(stories + "#a=VAL&b=ZAN&doc=40&of=VAL", color_scheme=scheme)
    page.wait_for_selector("#document mark.agent")
    page.click("#time > details > summary")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert found["passes"]
    serious = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
    assert [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in serious] == []


def test_answers_of_people_are_drawn(visit, tmp_path, some_results):
    import shutil

    results = shutil.copytree(some_results, tmp_path / "read")
    lines = [f"d{i},{i % 2},1,all,0.25,\n" for i in range(60)]
    (results / "labels-NOR-0.csv").write_text("id,label,annotator,stratum,inclusion,time\n" + "".join(lines))
    howsure.page(results, tmp_path / "read.html")
    page = visit(f"file://{tmp_path / 'read.html'}")
    page.wait_for_selector("#calibration svg .mark-symbol path")
    assert "60 of 240 documents read by a person" in page.locator("#trust").inner_text()
    assert page.trouble == []


def test_a_served_page_fetches_its_documents(visit, some_results):
    server = howsure.serve(some_results, port=0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        page = visit(server.address + "#a=NOR")
        until(page, "document.querySelectorAll('#list .snippet')[24]?.textContent.includes('they attacked hill')")
        page.click("#more")
        until(page, "document.querySelectorAll('#list li').length === 50")
        page.fill("#words", "hill 13 at")
        until(page, "document.querySelectorAll('#list li').length === 1")
        page.click("#list li button")
        page.wait_for_selector("#document mark.agent")
        assert page.locator("#document .text mark.verb").inner_text() == "attacked"
        assert page.trouble == []
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
