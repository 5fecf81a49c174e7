"""A picture of every page that howsure writes, for the documentation: small PNG files in docs/images/pages.

    python docs/site/screenshots.py             all of them (needs Chromium and playwright)
    python docs/site/screenshots.py check count

Every page is made by a command on data that ship, or that are made up here; nothing else is read.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import random
import shlex
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).resolve().parents[1] / "images" / "pages"
WIDTH, HEIGHT = 1000, 1250
COLOURS = 128  # of a picture: pages have few, and files stay small
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
    "abstain": ["abstain models.csv --prob tuned --true y --risk 0.1 --by language"],
    "paper": ["check --demo --paper --bins 500"],
    "tagger": ["tagger train hmm train.tsv -o hmm.npz --pseudocount 0.1", "tagger check hmm.npz test.tsv"],
    "cross-validation": ["tagger cv hmm train.tsv --folds 5"],
    "classify": [
        "classify train naive-bayes notes.csv --text text --true topic -o nb.npz",
        "classify check nb.npz more.csv --text text --true topic",
    ],
    "parser": ["parser train trees.mrg -o grammar.npz", "parser check grammar.npz more.mrg --groups sentence"],
    "coref": ["coref train told.conllu -o coref.npz --epochs 2", "coref check coref.npz untold.conllu"],
    "lm": ["lm train told.txt --order 2 --smoothing kneser-ney -o lm.npz", "lm check lm.npz untold.txt"],
    "lm-study": ["lm study told.txt --order 2 --smoothings laplace,witten-bell,kneser-ney"],
    "count": ["count posts.csv --prob p --true label --design random --date day --every month --by team"],
    "label": ["label mail.csv --text text --key id --show sender -o answers.csv --web"],
    "reproduce": ["reproduce synthetic --quick --out reproduction"],
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
    told = [json.loads(line) for line in (files("howsure.data") / "stories.jsonl").read_text("utf-8").splitlines()[1:]]
    Path("told.txt").write_text("\n".join(s["text"] for s in told[:45]), encoding="utf-8")
    Path("untold.txt").write_text("\n".join(s["text"] for s in told[45:]), encoding="utf-8")
    table("mail.csv", ["id", "sender", "text"], [[s["id"], "desk", f"{s['title']}. {s['text']}"] for s in told])
    topics = {"sport": ["match", "goal", "team", "coach"], "money": ["bank", "share", "price", "team"]}
    for name, n in (("notes", 300), ("more", 400)):
        rows = []
        for _ in range(n):
            topic = rng.choice(list(topics))
            said = [rng.choice(topics[topic if rng.random() < 0.65 else rng.choice(list(topics))]) for _ in range(6)]
            rows.append([" ".join(said), topic])
        table(f"{name}.csv", ["text", "topic"], rows)
    for name, n in (("trees", 300), ("more", 200)):
        Path(f"{name}.mrg").write_text("\n".join(tree(rng) for _ in range(n)) + "\n", encoding="utf-8")
    sys.path.insert(0, str(IMAGES.parents[2] / "tests" / "models"))
    from coref_stories import as_conllu, story  # type: ignore[import-not-found]

    Path("told.conllu").write_text("".join(as_conllu(story(i)) for i in range(30)), encoding="utf-8")
    Path("untold.conllu").write_text("".join(as_conllu(story(i)) for i in range(30, 70)), encoding="utf-8")
    rows = []
    for _ in range(6000):
        month, team = rng.randint(1, 12), rng.choice(["north", "south", "west"])
        p = rng.betavariate(0.6, 3)
        true = 1 / (1 + math.exp(-(math.log(p / (1 - p + 1e-9) + 1e-9) + 0.5 + 0.08 * month)))
        label = int(rng.random() < true) if rng.random() < 0.08 else ""
        rows.append([round(p, 4), label, f"2025-{month:02d}-{rng.randint(1, 28):02d}", team])
    table("posts.csv", ["p", "label", "day", "team"], rows)


def tree(rng: random.Random) -> str:
    """A sentence with where its phrases begin and end; what a prepositional phrase belongs to is a matter of chance."""
    noun = [f"(NP (DT the) (NN {rng.choice(['dog', 'man', 'star', 'telescope'])}))" for _ in range(3)]
    place = f"(PP (IN with) {noun[2]})"
    verb = f"(VB {rng.choice(['saw', 'met', 'liked'])})"
    if rng.random() < 0.4:
        return f"(S {noun[0]} (VP {verb} {noun[1]}))"
    return f"(S {noun[0]} (VP {verb} " + (f"(NP {noun[1]} {place})))" if rng.random() < 0.5 else f"{noun[1]} {place}))")


def page(commands: list[str]) -> str:
    """Run the commands; the address of the page."""
    from howsure.cli.application import run

    for command in commands[:-1]:
        assert run(shlex.split(command)) == 0, command
    last = commands[-1]
    arguments = shlex.split(last)
    if arguments[0] == "label":
        from howsure.verbs.label import Labelling, label_page

        server = label_page(Labelling("mail.csv", text="text", key="id", show=["sender"], out="answers.csv"), port=0)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return str(server.address)
    as_it_is = arguments[0] in ("page", "reproduce")
    assert run(arguments if as_it_is else [*arguments, "--html", "page.html"]) == 0, last
    made = next(Path("reproduction").glob("*.html")) if arguments[0] == "reproduce" else Path("page.html")
    return made.resolve().as_uri()


def picture(browser: Any, at: str) -> bytes:
    """The top of a page as a small PNG."""
    from PIL import Image

    opened = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
    opened.goto(at)
    if at.endswith("page.html"):
        opened.wait_for_selector("html[data-drawn=yes]", timeout=120_000)
    else:
        opened.wait_for_timeout(1_000)
    whole = opened.evaluate("document.documentElement.scrollHeight")
    shot = opened.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": min(HEIGHT, whole)}, full_page=True)
    opened.close()
    small = io.BytesIO()
    few = (
        Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE)
    )  # keeps rare colours
    few.save(small, "PNG", optimize=True)
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
