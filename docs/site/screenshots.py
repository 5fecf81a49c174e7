"""A picture of every page that howsure writes, for the documentation: small PNG files in docs/images/pages.

    python docs/site/screenshots.py             all of them (needs Chromium and playwright)
    python docs/site/screenshots.py check count

Every page is made by a command on data that ship, or that are made up here; nothing else is read.
"""

from __future__ import annotations

import csv
import io
import math
import os
import random
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).resolve().parents[1] / "images" / "pages"
WIDTH, HEIGHT = 1000, 1180
COLOURS = 96  # of a picture: pages have few, and files stay small
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]

# The page, and the commands that make it; the last one writes page.html.
COMMANDS = {
    "check": ["check --demo --groups document --by tag"],
    "classes": ["check classes.csv --prob p_* --true gold --groups doc"],
    "compare": ["compare models.csv --true y --prob baseline,tuned --groups doc --by language"],
    "compare-labels": ["compare models.csv --true gold --pred first,second --prob p1,p2 --groups doc"],
    "score": ["score models.csv --true gold --pred second --groups doc"],
    "agree": ["agree ratings.csv --item item --annotator worker --label label"],
    "continuous": ["check forecasts.csv --draws d_* --true y"],
    "paper": ["check --demo --paper --bins 500"],
    "tagger": ["tagger train hmm train.tsv -o hmm.npz --pseudocount 0.1", "tagger check hmm.npz test.tsv"],
    "cross-validation": ["tagger cv hmm train.tsv --folds 5"],
    "lm": ["lm train menu.txt --order 2 --smoothing kneser-ney -o lm.npz", "lm check lm.npz menu_dev.txt"],
    "count": ["count posts.csv --prob p --true label --design random --date day --every month --by team"],
    "explore": ["explore --every quarter --actor KES,VAL --out results", "page results -o page.html"],
}


def table(name: str, columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """A CSV file."""
    with open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


def inputs() -> None:
    """What the commands read, in the current folder."""
    rng = random.Random(7)
    names = ["cat", "dog", "eel"]

    def shares(power: float) -> list[float]:
        raw = [rng.gammavariate(0.6, 1) + 1e-3 for _ in names]
        raised = [v**power for v in raw]
        return [v / sum(raised) for v in raised]

    rows = []
    for i in range(3000):
        true = shares(1.0)
        said = [v**1.5 for v in true]
        rows.append([*(round(v / sum(said), 5) for v in said), rng.choices(names, true)[0], i // 20])
    table("classes.csv", [*(f"p_{n}" for n in names), "gold", "doc"], rows)
    rows = []
    for i in range(4000):
        p = rng.betavariate(0.8, 0.8)
        tuned = min(max(p, 1e-4), 1 - 1e-4)
        gold = rng.choice(names)
        answers = [gold if rng.random() < sure else rng.choice(names) for sure in (0.6, 0.7)]
        sure = [rng.betavariate(5, 2), rng.betavariate(7, 2)]
        language = rng.choice(["de", "en", "es"])
        row = [int(rng.random() < p), round(tuned**1.5, 5), round(tuned, 5), i // 20, language, gold, *answers]
        rows.append([*row, *(round(s, 4) for s in sure)])
    columns = ["y", "baseline", "tuned", "doc", "language", "gold", "first", "second", "p1", "p2"]
    table("models.csv", columns, rows)
    said = [rng.choice(names) for _ in range(200)]
    workers = {"ann": 0.95, "bob": 0.85, "cy": 0.8, "dot": 0.4}
    rows = [
        [i, who, gold if rng.random() < sure else rng.choice(names)]
        for i, gold in enumerate(said)
        for who, sure in workers.items()
    ]
    table("ratings.csv", ["item", "worker", "label"], rows)
    rows = []
    for _ in range(800):
        mean = rng.gauss(0, 1)
        rows.append([round(rng.gauss(mean, 1.3), 4), *(round(rng.gauss(mean, 1), 4) for _ in range(20))])
    table("forecasts.csv", ["y", *(f"d_{i}" for i in range(20))], rows)
    words = {"D": ["the", "a", "that"], "N": ["dog", "walk", "light", "cat"], "V": ["walk", "light", "sees", "runs"]}
    for name, n in (("train", 400), ("test", 300)):
        with open(f"{name}.tsv", "w", encoding="utf-8") as file:
            for _ in range(n):
                tags = ["D", "N", "V"] if rng.random() < 0.6 else rng.choices("DNV", k=rng.randint(2, 7))
                file.writelines(f"{rng.choice(words[t])}\t{t}\n" for t in tags)
                file.write("\n")
    for name in ("menu.txt", "menu_dev.txt"):
        Path(name).write_bytes((files("howsure.data") / "seeds" / name).read_bytes())
    rows = []
    for _ in range(6000):
        month, team = rng.randint(1, 12), rng.choice(["north", "south", "west"])
        p = rng.betavariate(0.6, 3)
        true = 1 / (1 + math.exp(-(math.log(p / (1 - p + 1e-9) + 1e-9) + 0.5 + 0.08 * month)))
        label = int(rng.random() < true) if rng.random() < 0.08 else ""
        rows.append([round(p, 4), label, f"2025-{month:02d}-{rng.randint(1, 28):02d}", team])
    table("posts.csv", ["p", "label", "day", "team"], rows)


def page(commands: list[str]) -> Path:
    """Run the commands; where the page is."""
    from howsure.cli.application import run

    for command in commands[:-1]:
        assert run(shlex.split(command)) == 0, command
    last = commands[-1]
    arguments = shlex.split(last)
    assert run(arguments if " -o " in last else [*arguments, "--html", "page.html"]) == 0, last
    return Path("page.html").resolve()


def picture(browser: Any, at: Path) -> bytes:
    """The top of a page as a small PNG."""
    from PIL import Image

    opened = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
    opened.goto(at.as_uri())
    opened.wait_for_selector("html[data-drawn=yes]", timeout=120_000)
    whole = opened.evaluate("document.documentElement.scrollHeight")
    shot = opened.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": min(HEIGHT, whole)}, full_page=True)
    opened.close()
    small = io.BytesIO()
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS).save(small, "PNG", optimize=True)
    return small.getvalue()


def main(wanted: list[str]) -> None:
    """Write the pictures."""
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(parents=True, exist_ok=True)
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.chdir(folder)
        try:
            inputs()
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            for name in wanted or COMMANDS:
                made = picture(browser, page(COMMANDS[name]))
                (IMAGES / f"{name}.png").write_bytes(made)
                print(f"{name}: {len(made):,} bytes", file=sys.stderr)
            browser.close()
        finally:
            os.chdir(here)


if __name__ == "__main__":
    main(sys.argv[1:])
