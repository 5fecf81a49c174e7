"""The page of natural mistakes says what the program says today."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "site"))
import mistakes


def test_the_page_is_what_running_it_gives():
    assert mistakes.page() == mistakes.PAGE.read_text(encoding="utf-8"), "run python docs/site/mistakes.py"
