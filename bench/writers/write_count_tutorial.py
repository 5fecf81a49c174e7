"""Writes docs/tutorial-count.md: every command is run, and what it prints is what the page shows.

    HOWSURE_DATA=… python bench/writers/write_count_tutorial.py

The judge's probabilities are real (21 systems × 805 instructions); people's labels are simulated, and the page says so.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from howsure.cli.application import run

PAGE = Path(__file__).parents[2] / "docs" / "tutorial-count.md"
PAIR = ("claude-2", "claude-2.1")


def judged(folder: Path) -> pa.Table:
    """A row an answer: its id, question, system, and the judge's probability that it beats the baseline's."""
    rows = [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    rows = [r for r in rows if r["preference"] is not None]
    return pa.table(
        {
            "id": [f"{r['model']}/{r['item']}" for r in rows],
            "question": [r["item"] for r in rows],
            "model": [r["model"] for r in rows],
            "p": np.clip([r["preference"] - 1 for r in rows], 0, 1),
        }
    )


def people(table: pa.Table) -> dict[str, int]:
    """Simulated people: they agree with the judge less the surer it is, are kinder to weak answers, and vary by question."""
    rng = np.random.default_rng(2024)
    q = np.clip(np.array(table["p"]), 1e-4, 1 - 1e-4)
    _, question = np.unique(table["question"].to_pylist(), return_inverse=True)
    shift = rng.normal(0, 0.7, question.max() + 1)[question]
    logit = 0.45 * np.log(q / (1 - q)) + 0.1 + shift
    y = rng.random(len(q)) < 1 / (1 + np.exp(-logit))
    return dict(zip(table["id"].to_pylist(), y.astype(int).tolist(), strict=True))


def shell(command: str) -> str:
    """A command and what it prints, for the page."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = run(shlex.split(command)[1:])
    assert status == 0, command
    return "    $ " + command + "\n" + "".join(f"    {line}".rstrip() + "\n" for line in said.getvalue().splitlines())


def answered(drawn: str, out: str, truth: dict[str, int]) -> None:
    """The simulated people label a drawn table."""
    rows = pa.csv.read_csv(drawn)
    keep = {name: rows[name] for name in ("id", "stratum", "inclusion")}
    pa.csv.write_csv(pa.table(keep | {"label": [truth[i] for i in rows["id"].to_pylist()]}), out)


def main() -> None:
    table = judged(Path(os.environ["HOWSURE_DATA"]) / "llm-judge")
    truth = people(table)
    share = np.mean(list(truth.values()))
    models = table["model"].to_pylist()
    of = {m: np.mean([truth[i] for i, k in zip(table["id"].to_pylist(), models, strict=True) if k == m]) for m in PAIR}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        pq.write_table(table, "judged.parquet")
        draw = shell("howsure count judged.parquet --prob p --by model --key id --to-label 300 -o to-label.csv")
        answered("to-label.csv", "labels.csv", truth)
        all_ = shell("howsure count judged.parquet --prob p --labels labels.csv --key id --by model --until 0.02")
        made = json.loads(_json("howsure count judged.parquet --prob p --labels labels.csv --key id --by model --json"))
        two = f"--where \"model IN ('{PAIR[0]}', '{PAIR[1]}')\""
        draw_pairs = shell(
            f"howsure count judged.parquet --prob p --key id {two} --groups question --to-label 200 -o pairs.csv"
        )
        answered("pairs.csv", "pair-labels.csv", truth)
        compare = f'howsure count judged.parquet --prob p --labels pair-labels.csv --key id {two} --groups question --by model --formula "y ~ model"'
        pairs = shell(compare)
        pair = json.loads(_json(compare + " --json"))
    held = sum(c["share"]["low"] <= t <= c["share"]["high"] for c, t in ((c, _true(c, truth)) for c in made["cells"]))
    place = "inside" if made["share"]["low"] <= share <= made["share"]["high"] else "outside"
    b = pair["coefficients"][1]["value"]
    low, high = (100 * b[k] for k in ("low", "high"))
    PAGE.write_text(
        f"""# From an LLM judge's verdicts to a sentence you can defend

A language model has judged {table.num_rows:,} answers of {len(set(models))} systems against one baseline and gave a probability that the answer is better. How often do *people*
prefer the systems' answers? The judge's mean says how often the judge does. This page labels a few hundred answers and corrects for the difference. The
judge's probabilities are real ([AlpacaEval](https://github.com/tatsu-lab/alpaca_eval)); **the people are simulated**, so that the truth is known and the answer can be
checked. `bench/writers/write_count_tutorial.py` wrote the page by running the commands.

## 1. Which answers to read

`judged.parquet` has a row an answer: `id`, `question`, `model`, and the judge's probability `p`.

{draw}
Where the judge is unsure an answer is likelier to be drawn. Each keeps the probability with which it was drawn, and every system gets its part (`--by model`).

## 2. Read them

    howsure label to-label.csv --text answer -o labels.csv --question "Is the first answer better?"

in the terminal, or with `--web` on a page; three people with `--annotator`, and the majority counts. Here the simulated people answered.

## 3. Count

{all_}
The judge alone says {100 * made["raw_share"]:.1f}%. The simulated truth is {100 * share:.1f}%, {place} the interval; of the {len(made["cells"])} systems' intervals {held} hold theirs. With {made["n_labels"]} labels for
{len(made["cells"])} systems each system has about {made["n_labels"] // len(made["cells"])}: its interval leans on what all systems have in common, and is wide.

## 4. Two systems, in pairs

To compare two systems, label both systems' answers to the same questions: whole questions are drawn (`--groups question`).

{draw_pairs}
{pairs}
The last coefficient is the paired difference of the win rates: {PAIR[1]} against {PAIR[0]} {100 * b["value"]:+.1f} points ({low:+.1f} to {high:+.1f}). The simulated truth is {100 * (of[PAIR[1]] - of[PAIR[0]]):+.1f}.

## 5. The sentence

A defended sentence has the quantity, its interval, what it was corrected for, and how items were drawn:

> Over {made["n_items"]:,} judged answers, people would prefer the system's answer in {100 * made["share"]["value"]:.1f}% ({100 * made["share"]["low"]:.1f} to {100 * made["share"]["high"]:.1f}; {100 * made["confidence_level"]:g}% interval). The judge alone says
> {100 * made["raw_share"]:.1f}%. {made["n_labels"]} answers were labelled, drawn in strata of the judge's probability with known inclusion probabilities.

`--html` writes the page with this paragraph, the series and the strata. More: [howsure count](guides/count.md), [formulas and coverage](evidence/theory.md#how-many-howsure-count).
"""
    )


def _json(command: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        run(shlex.split(command)[1:])
    return said.getvalue()


def _true(cell: dict[str, str], truth: dict[str, int]) -> float:
    return float(np.mean([y for i, y in truth.items() if i.split("/")[0] == cell["group"]]))


if __name__ == "__main__":
    main()
