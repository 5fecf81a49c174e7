"""Files such as a reader of the README and the how-tos has: made up here, with the names the pages use."""

import csv
import json
import math
import random
from pathlib import Path

from howsure.data import demo_table

STORIES = Path(demo_table()).parent


def table(path, head, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)


def made_files(folder: Path) -> None:
    """Predictions, labels, text and treebanks in `folder`."""
    rng = random.Random(0)
    for name in ("predictions.csv", "dev.csv"):
        rows = []
        for doc in range(150):
            logit = rng.gauss(0, 1)
            for _ in range(6):
                p = 1 / (1 + math.exp(-logit - rng.gauss(0, 1)))
                rows.append(
                    (doc, rng.choice(("en", "es")), round(p**2 / (p**2 + (1 - p) ** 2), 6), int(rng.random() < p))
                )
        table(folder / name, ("doc", "language", "prob", "label"), rows)
    systems = []
    for i in range(1_200):
        gold, sure_a, sure_b = rng.choice("NVA"), rng.uniform(0.5, 1), rng.uniform(0.6, 1)
        a = gold if rng.random() < sure_a else "N"
        b = gold if rng.random() < sure_b else "V"
        systems.append((i // 8, gold, a, b, round(sure_a, 4), round(sure_b, 4)))
    table(folder / "systems.csv", ("doc", "gold", "a", "b", "pa", "pb"), systems)
    classes = []
    for _ in range(400):
        x, y, z = (rng.expovariate(1) for _ in range(3))
        shares = [x / (x + y + z), y / (x + y + z)]
        classes.append((rng.choices("xyz", (x, y, z))[0], *(round(s, 9) for s in (*shares, 1 - sum(shares)))))
    table(folder / "classes.csv", ("gold", "p_x", "p_y", "p_z"), classes)
    with open(folder / "answers.jsonl", "w") as file:
        for _ in range(300):
            sure = rng.uniform(0.3, 1)
            file.write(json.dumps({"confidence": round(sure, 2), "correct": rng.random() < sure**2}) + "\n")
    labels = []
    for item in range(80):
        gold = rng.choice("NVA")
        for worker, skill in (("ann", 0.9), ("bob", 0.85), ("cy", 0.8), ("dee", 0.1)):
            labels.append((item, worker, gold if rng.random() < skill else rng.choice("NVA"), gold))
    table(folder / "labels.csv", ("item", "worker", "label", "gold"), labels)
    table(
        folder / "corpus.csv",
        ("author", "label", "text"),
        [(f"w{i % 37}", rng.choice(("yes", "no")), f"text {i}") for i in range(400)],
    )
    treebanks(folder)
    stories(folder)


def treebanks(folder):
    """The parses of the stories that ship, in three parts."""
    documents = (STORIES / "stories.conllu").read_text(encoding="utf-8").split("# newdoc")[1:]
    for name, part in (("train", documents[:40]), ("dev", documents[40:50]), ("test", documents[50:])):
        (folder / f"{name}.conllu").write_text("".join("# newdoc" + d for d in part), encoding="utf-8")


def stories(folder):
    """Sixty stories as text for a language model, and the first twenty as a folder of dated files."""
    lines = (STORIES / "stories.jsonl").read_text(encoding="utf-8").splitlines()
    told = [story for story in map(json.loads, lines) if "id" in story]
    sentences = [s.strip() for story in told for s in story["text"].lower().split(".") if s.strip()]
    (folder / "train.txt").write_text("\n".join(sentences[:140]) + "\n")
    (folder / "test.txt").write_text("\n".join(sentences[140:]) + "\n")
    (folder / "news.txt").write_text(told[0]["text"] + "\n\n" + told[3]["text"] + "\n")
    (folder / "news").mkdir()
    for story in told[:20]:
        (folder / "news" / f"{story['date']}-{story['id']}.txt").write_text(story["text"])
    table(
        folder / "actors.csv",
        ("code", "name", "words"),
        [("VAL", "Valdoria", "Valdoria;Valdorian;Valdorians"), ("KES", "Kessia", "Kessia;Kessian;Kessians")],
    )
