"""A new user who follows the README, the tutorials and the how-tos word for word gets what they promise."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from made_files import made_files
from walkthrough import follow, pattern, steps

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty machine: no corpora, an empty cache."""
    monkeypatch.delenv("HOWSURE_DATA", raising=False)
    monkeypatch.setenv("HOWSURE_CACHE", str(tmp_path / ".cache"))
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


# A process for each command takes twice the time, so that only one page gets that.
@pytest.mark.parametrize(
    ("page", "least", "shell"),
    [("tutorial", 10, True), ("tutorial-explore", 4, False), ("index", 1, False), ("guides/logs", 3, False)],
)
def test_a_tutorial_needs_nothing_but_itself(page, least, shell, home, monkeypatch, capfd):
    assert follow(DOCS / f"{page}.md", home, monkeypatch, capfd, shell=shell) >= least


def test_the_readme(home, monkeypatch, capfd):
    made_files(home)
    assert follow(ROOT / "README.md", home, monkeypatch, capfd, shell=False) >= 6
    assert (home / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize("page", ["for-engineers", "for-researchers", "for-social-scientists", "for-teachers"])
def test_how_tos(page, home, monkeypatch, capfd):
    made_files(home)
    assert follow(DOCS / f"{page}.md", home, monkeypatch, capfd, shell=False) >= 5


def test_no_page_with_commands_is_forgotten():
    followed = {"tutorial", "tutorial-explore", "index", "README", "logs"}
    followed |= {"for-engineers", "for-researchers", "for-social-scientists", "for-teachers"}
    assert {p.stem for p in (ROOT / "README.md", *DOCS.rglob("*.md")) if "```console" in p.read_text()} == followed


def test_what_is_shown_is_compared(tmp_path):
    assert pattern("a\n…\nz\n").fullmatch("a\nb\nc\nz\n")
    assert pattern("a … z\n").fullmatch("a b z\n")
    assert not pattern("a\n…\nz\n").fullmatch("a\nb\n")
    assert not pattern("a.b\n").fullmatch("axb\n")
    page = tmp_path / "page.md"
    page.write_text(
        "Save this as `x.py`: it\n\n```python\nprint(1)\n```\n\n```console\n$ python x.py\n1\n$ ls  # all\n```\n"
    )
    saved, first, second = steps(page)
    assert (saved.command, saved.saved) == ("x.py", "print(1)\n")
    assert (first.command, first.shown) == ("python x.py", "1\n")
    assert (second.command, second.shown) == ("ls", "")


def test_a_page_that_promises_too_much_fails(home, monkeypatch, capfd):
    page = home / "page.md"
    page.write_text("```console\n$ echo 1\n2\n```\n")
    with pytest.raises(AssertionError, match="shown"):
        follow(page, home, monkeypatch, capfd, shell=True)
    page.write_text("```console\n$ howsure check nowhere.csv\n```\n")
    with pytest.raises(AssertionError, match=r"nowhere\.csv"):
        follow(page, home, monkeypatch, capfd, shell=False)
