"""Every Python block of the README and the docs runs; every option it shows exists."""

import re
from pathlib import Path

import pytest

from howsure.cli.application import application

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
        exec(compile(block, page.name, "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_commands_shown_have_the_options_they_use():
    commands = application().commands
    shown = [
        line for page in PAGES for line in re.findall(r"^(?: {4}|\$ ).*?\bhowsure (\w+.*)$", page.read_text(), re.M)
    ]
    assert shown
    for line in shown:
        name, *rest = re.split(r"[#;>]", line)[0].split()
        command = commands[name]
        if hasattr(command, "commands"):  # one with commands of its own: `howsure recalibrate fit`
            command = command.commands[rest.pop(0)]
        options = {flag for p in command.parameters for flag in (*p.flags, p.off)}
        assert {w for w in rest if w.startswith("--")} <= options, line


def test_readme_shows_what_the_demo_says(capsys):
    from howsure.cli.application import run

    assert run(["check", "--demo", "--groups", "document", "--by", "tag"]) == 0
    said = capsys.readouterr().out.split("\n\n")[0]
    assert all(said in page.read_text() for page in (ROOT / "README.md", ROOT / "docs" / "index.md"))
