"""Pages opened in a browser, and small results written by hand: no parser is needed to draw a page."""

import os
import shutil
import subprocess
from datetime import date, timedelta
from pathlib import Path

import pytest

from howsure.events.frame import FEATURES
from howsure.events.storage import FORMAT, join_parts, part_files, write_part


@pytest.fixture(scope="session")
def windows(chromium, tmp_path_factory):
    """A window for each set of options, kept open: a new one costs a process, and compiles the page's scripts again."""
    blank = tmp_path_factory.mktemp("blank") / "blank.html"
    blank.write_text("<!doctype html><title>blank</title>")
    kept = {}

    def window(options):
        key = repr(sorted(options.items()))
        if key not in kept:
            page = kept[key] = chromium.new_context(**options).new_page()
            page.on("console", lambda m: m.type in ("error", "warning") and page.trouble.append(m.text))
            page.on("pageerror", lambda e: page.trouble.append(str(e)))
            page.on("dialog", lambda d: page.trouble.append(f"dialog {d.message}") or d.dismiss())
            page.on("request", lambda r: page.may_ask(r.url) or page.trouble.append(f"request {r.url}"))
        page = kept[key]
        page.trouble, page.may_ask = [], lambda url: url == blank.as_uri()
        page.goto(blank.as_uri())
        page.evaluate("localStorage.clear(); sessionStorage.clear()")
        page.mouse.move(0, 0)
        return page

    yield window
    for page in kept.values():
        page.context.close()


@pytest.fixture
def visit(windows):
    """Open an address in an empty window, and collect whatever it complains about or asks of others.

    Of two visits with the same options the second is in the window of the first.
    """

    def go(address, *, may_ask=None, **options):
        page = windows(options)
        own = address.split("#")[0]
        page.may_ask = may_ask or (lambda url: url.startswith((own, "blob:")))
        page.goto(address)
        page.wait_for_selector("html[data-drawn=yes]", timeout=60_000)
        return page

    return go


@pytest.fixture
def opened(visit):
    """The same for the file of a report, which may ask for nothing but itself."""
    return lambda path, **options: visit(f"file://{path}", may_ask=lambda url: url == f"file://{path}", **options)


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The script of axe-core, which looks for barriers: the file that HOWSURE_AXE names, or fetched by npm if it can."""
    if given := os.environ.get("HOWSURE_AXE"):
        return Path(given).read_text()
    if shutil.which("npm") is None:
        pytest.skip("axe-core is not there, and no npm to fetch it")
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), "axe-core@4"]
    try:
        subprocess.run(command, capture_output=True, timeout=60, check=True)
    except (subprocess.SubprocessError, OSError):
        pytest.skip("axe-core could not be fetched")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


def tokens_of(text):
    starts, ends, at = [], [], 0
    for word in text.split():
        at = text.index(word, at)
        starts.append(at)
        at += len(word)
        ends.append(at)
    return starts, ends


@pytest.fixture(scope="session")
def write_results():
    """Results on disk from (id, date, title, text, [(actor, p, best, [(lemma, p)])]) and the actors' names."""

    def write(folder, actors, stories, verbs=("attack",), pairs=()):
        rows = {"documents": [], "events": [], "frame": [], "pairs": [], "chains": []}
        for id, day, title, text, events in stories:
            starts, ends = tokens_of(text)
            spans = {"token_starts": starts, "token_ends": ends, "sentence_starts": [0]} if events else {}
            document = {"id": id, "date": day, "title": title, "text": text, "n_tokens": len(starts)}
            rows["documents"].append(document | {"n_mentions": 2, "n_agents": 1} | spans)
            for actor, p, best, chains in events:
                law = [1 - p, p]
                event = {"id": id, "date": day, "actor": actor, "probability": p, "law": law, "best": best}
                rows["events"].append(event)
                for lemma, q in chains:
                    sure = q == 1.0
                    rows["chains"].append(
                        {"id": id, "actor": actor, "probability": q, "agent_start": 3, "agent_end": 4, "verb": 4}
                        | {"lemma": lemma, "rule": "subject", "why": f'"{text.split()[3]}" is the subject of "{lemma}"'}
                        | {"described": [{"start": 0, "end": 2, "word": 0, "why": "amod", "together": q}]}
                        | {
                            "links": []
                            if sure
                            else [
                                {
                                    "later_start": 3,
                                    "later_end": 4,
                                    "earlier_start": 0,
                                    "earlier_end": 2,
                                    "probability": q,
                                }
                            ]
                        }
                        | {"uncertain": None if sure else 0, "with_link": None if sure else 1.0}
                        | {"without_link": None if sure else 0.0, "best": best > 0}
                    )
            said = {actor: p for actor, p, _, _ in events}
            for code in actors:  # every document names every actor
                p = said.get(code, 0.0)
                features = [p, p, float(p > 0)] + [0.0] * (len(FEATURES) - 3)
                pair = {"id": id, "date": day, "actor": code, "features": features, "words": [], "document_words": []}
                rows["frame"].append(pair | {"reasons": "", "done_by": "", "start": 0, "end": len(text)})
        rows["pairs"] = [{"id": id, "a": a, "b": b, "both": both} for id, a, b, both in pairs]
        days = sorted(d for _, d, *_ in stories if d is not None)
        settings = {"actors": "mine", "lexicon": "0" * 16, "verbs": list(verbs), "rules": "paper", "samples": 400}
        settings |= {"seed": 0, "temperature": 1.0, "model": None, "coref": "simple", "every": "month"}
        manifest = {"format": FORMAT, "version": "0", "complete": True, "corpus": "tests", "settings": settings}
        manifest |= {"fingerprint": "f" * 32, "n_documents": len(stories), "n_undated": len(stories) - len(days)}
        manifest |= {"undated": {}, "n_future": 0, "n_html": 0, "n_failed": 0, "failures": {}}
        manifest |= {"first": str(days[0]) if days else None, "last": str(days[-1]) if days else None}
        manifest |= {"actors": [{"code": c, "name": n} for c, n in actors.items()]}
        folder.mkdir(parents=True, exist_ok=True)
        write_part(folder, "000000-x", part_files(rows))
        join_parts(folder, ["000000-x"], manifest)
        return folder

    return write


@pytest.fixture(scope="session")
def some_results(tmp_path_factory, write_results):
    """Two years of made-up stories: two actors, two verbs, undated ones, both actors in one, characters beyond 16 bits."""
    import numpy as np

    rng = np.random.default_rng(10)
    stories, pairs = [], []
    for i in range(240):
        day = None if i % 40 == 7 else date(2019, 12, 30) + timedelta(days=int(rng.integers(0, 800)))
        p, q = round(float(rng.beta(0.7, 0.7)), 4), round(float(rng.beta(0.5, 1.5)), 4)
        events = []
        if i % 3 != 2:
            two = i % 5 == 0
            chains = [("attack", p), ("raid", round(p / 2, 4))] if two else [("attack" if i % 2 else "raid", p)]
            events.append(("NOR", p, int(p > 0.5), chains))
        if i % 3 != 0:
            events.append(("SUD", q, int(q > 0.5), [("attack", q)]))
        if len(events) == 2:
            pairs.append((f"d{i}", "NOR", "SUD", max(0.0, p + q - 1) * 0.5 + 0.5 * min(p, q)))
        text = f"Northern 𝔱roops came; they attacked hill {i} at dawn."
        stories.append((f"d{i}", day, f"Story {i}", text, events))
    names = {"NOR": "Norland", "SUD": "Südreich"}
    return write_results(tmp_path_factory.mktemp("results") / "some", names, stories, ("attack", "raid"), pairs)
