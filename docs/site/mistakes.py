"""The page of natural mistakes: what is in a file, what is typed, and what is answered, all of it by running.

python docs/site/mistakes.py          writes docs/mistakes.md
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
import random
import shlex
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "mistakes.md"
HEAD = """# What is answered to common mistakes

Made by running each line (`python docs/site/mistakes.py`; a test keeps it true). The files hold 300 made-up answers of a model, calibrated but
for what the first column says: those that are read rightly have the verdict of the first line, or one very near it. Of a result the page shows the verdict and the notes,
of a refusal the line on stderr (exit status 2).

| what is there | what is typed | what is answered |
|---|---|---|
"""
N = 300


def answers() -> tuple[list[float], list[int]]:
    """Probabilities in whole per cents, and whether each came true."""
    rng = random.Random(4)
    p = [round(min(max(rng.betavariate(2, 2), 0.02), 0.98), 2) for _ in range(N)]
    return p, [int(rng.random() < v) for v in p]


def table(name: str, delimiter: str = ",", **columns: list[object]) -> None:
    """A file with a header."""
    with open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def files() -> None:
    """Those that the lines below read, in the current folder."""
    p, y = answers()
    ids = list(range(N))
    words = ["yes" if v else "no" for v in y]
    table("clean.csv", prob=p, label=y)
    table("columns.csv", model_output=p, label=y)
    table("two.csv", prob=p, confidence=p, label=y)
    table("judge.csv", id=ids, score=["" if i == 17 else round(100 * v) for i, v in enumerate(p)], human=words)
    table("stars.csv", score=[1 + i % 5 for i in ids], label=y)
    table("percent.csv", prob=[f"{round(100 * v)}%" for v in p], label=y)
    table("comma.csv", ";", prob=[f"{v:.2f}".replace(".", ",") for v in p], label=y)
    table("log.csv", logprob=[round(math.log(v), 6) for v in p], label=y)
    table("logits.csv", score=[round(math.log(v / (1 - v)), 4) for v in p], label=y)
    table("logprobs.csv", score=[round(math.log(v), 6) for v in p], label=y)
    table("slip.csv", prob=[1.3 if i == 16 else v for i, v in enumerate(p)], label=y)
    table("letters.csv", prob=p, label=["NY"[v] for v in y])
    table("grades.csv", prob=p, label=["good" if v else "bad" for v in y])
    table(
        "holes.csv",
        prob=["" if i in (3, 4) else v for i, v in enumerate(p)],
        label=["NA" if i == 9 else v for i, v in enumerate(y)],
    )
    table(
        "spaces.csv",
        prob=p,
        label=[w.upper() if i % 9 == 0 else w + " " if i % 7 == 0 else w for i, w in enumerate(words)],
    )
    table("one.csv", prob=p, label=[1] * N)
    table("a.csv", id=ids, prob=p, label=y)
    table("b.csv", id=ids, prob=[round(v**1.2, 4) for v in p], label=y)
    table("gaps.csv", id=ids, prob=["" if i in (3, 4) else round(v**1.2, 4) for i, v in enumerate(p)], label=y)
    table("twice.csv", id=[0, *ids[:-1]], prob=p, label=y)
    table("fewer.csv", id=ids[5:], prob=p[5:], label=y[5:])
    rng = random.Random(8)
    three = [[rng.random() for _ in range(3)] for _ in ids]
    shares = [[round(v / sum(row), 4) for v in row[:2]] for row in three]
    shares = [[*row, round(1 - sum(row), 4)] for row in shares]
    names = ["cat", "dog", "eel"]
    columns = {f"p_{name}": [row[i] for row in shares] for i, name in enumerate(names)}
    table("classes.csv", **columns, gold=[rng.choices(names, row)[0] for row in shares])
    shown = [rng.choices(names, row)[0] for row in shares]
    table("systems.csv", gold=shown, pred=[n.title() if i % 5 == 0 else n for i, n in enumerate(shown)])
    said = {who: [w if rng.random() < 0.8 else "yes" for w in words] for who in ("ann", "bob", "cy")}
    table("wide.csv", item=ids, **said)
    long = [(i, who, said[who][i]) for i in ids for who in said]
    table("long.csv", item=[r[0] for r in long], worker=[r[1] for r in long], label=[r[2] for r in long])
    Path("runs").mkdir()
    Path("sentences.jsonl").write_text('{"gold": ["N", "V"], "pred": ["N", "N"]}\n{"gold": ["N"], "pred": ["N"]}\n')
    Path("tokens.txt").write_text("EU\tB-ORG\tO\nrejects\tO\tO\n\nPeter\tB-PER\tB-PER\n")


LINES = [
    ("a clean file, to compare with", "check clean.csv"),
    ("wrong name of a column", "check clean.csv --prob probs"),
    ("a column that is named like nothing known", "check columns.csv"),
    ("two columns that could be meant", "check two.csv"),
    ("an LLM judge's scores from 0 to 100, `yes` and `no`, one cell empty", "check judge.csv"),
    ("ratings from 1 to 5", "check stars.csv"),
    ("`64%`", "check percent.csv"),
    ("`0,64` (and `;` between columns)", "check comma.csv"),
    ("logits", "check logits.csv"),
    ("… with the scale that it asked for", "check logits.csv --scale logit"),
    ("log-probabilities", "check logprobs.csv"),
    ("… with the scale that it asked for", "check logprobs.csv --scale logprob"),
    ("a column of log-probabilities, called so", "check log.csv"),
    ("log-probabilities taken for logits", "check logprobs.csv --logits"),
    ("one 1.3 among probabilities", "check slip.csv"),
    ("`Y` and `N`", "check letters.csv"),
    ("`good` and `bad`", "check grades.csv"),
    ("… with the label that counts", "check grades.csv --positive good"),
    ("missing values", "check holes.csv"),
    ("… that should not be there", "check holes.csv --missing error"),
    ("labels with stray spaces and case", "check spaces.csv"),
    ("one class only", "check one.csv"),
    ("a list of columns", "check classes.csv --prob p_cat,p_dog,p_eel"),
    ("… that is not named", "check classes.csv"),
    ("a column of class names with one probability", "check classes.csv --prob p_cat"),
    ("two files, one of which lacks values", "compare a.csv gaps.csv --key id"),
    ("the same file twice", "compare a.csv a.csv --key id"),
    ("a key that stands twice", "compare a.csv twice.csv --key id"),
    ("keys that one side lacks", "compare a.csv fewer.csv --key id"),
    ("two files without a key", "compare a.csv b.csv"),
    ("annotations in long form", "agree long.csv"),
    ("annotations in wide form", "agree wide.csv"),
    ("labels of which some differ in case", "score systems.csv"),
    ("a list of labels for each sentence", "score sentences.jsonl --true gold --pred pred"),
    ("CoNLL columns, without names", "score tokens.txt"),
    ("an empty folder for a file", "check runs"),
    ("a file that is not there", "check cleen.csv"),
    ("a command by another name", "ece clean.csv"),
    ("an option misspelt", "check clean.csv --postive 1"),
]


def answer(line: str) -> str:
    """What the shell prints: the error, or verdict and notes."""
    from howsure.cli.application import run

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(shlex.split(line))
    if status:
        return " ".join(err.getvalue().split())
    parts = out.getvalue().split("\n\n")
    notes = [" ".join(n.split()) for n in "\n".join(parts[1:]).split("\nNote: ")[1:]]
    return " ".join([" ".join(parts[0].split()), *(f"*Note: {n}*" for n in notes)])


def page() -> str:
    """The page."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            files()
            rows = [
                f"| {what} | `howsure {line}` | {answer(line).replace('|', chr(92) + '|')} |" for what, line in LINES
            ]
        finally:
            os.chdir(here)
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
