"""A picture of every page is in the documentation, small enough to ship, and made by a command that is shown."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))
import screenshots  # noqa: E402

PAGE = (ROOT / "docs" / "guides" / "pages.md").read_text()


def test_every_page_has_a_picture():
    shown = set(re.findall(r"images/pages/([\w-]+)\.png", PAGE))
    assert shown == set(screenshots.COMMANDS) == {p.stem for p in screenshots.IMAGES.glob("*.png")}
    assert max(p.stat().st_size for p in screenshots.IMAGES.glob("*.png")) < 150_000


def test_every_command_with_a_page_is_shown():
    from howsure.cli.application import application

    def paths(family, before=()):
        for name, each in family.commands.items():
            if hasattr(each, "commands"):
                yield from paths(each, (*before, name))
            elif any(p.name == "html" for p in each.parameters):
                yield " ".join((*before, name))

    made = {" ".join(c.split()) for commands in screenshots.COMMANDS.values() for c in commands}
    missing = {path for path in paths(application()) if not any(c.startswith(f"{path} ") for c in made)}
    assert missing <= {"classify cv"}  # the page of `tagger cv`
