"""The page of natural mistakes says what the program says today."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "site"))
import mistakes


def test_the_page_is_what_running_it_gives():
    assert mistakes.page() == mistakes.PAGE.read_text(encoding="utf-8"), "run python docs/site/mistakes.py"


def test_every_mistake_is_there():
    rows = [line.lower() for line in mistakes.PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    for words in (
        "wrong name of a column", "two columns that could be meant", "scores from 0 to 100", "`64%`", "`0,64`", "| logits |",
        "| log-probabilities |", "`yes` and `no`", "`y` and `n`", "| missing values |", "a key that stands twice", "keys that one side lacks",
        "annotations in long form", "annotations in wide form", "stray spaces and case", "folder for a file", "a list of columns", "one class only",
    ):  # fmt: skip
        assert any(words in row for row in rows), words
