"""What the site is made of, without Sphinx: `make docs` builds it strictly, and .ci/run calls that."""

import re
import sys
from pathlib import Path

import pytest

import howsure
from howsure.cli.application import application

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "site"))
import command_pages
import diagram
import gallery_pages
import make_site
import reference_pages

ROOT = Path(__file__).parents[2]


def test_every_command_and_subcommand_has_its_options_on_a_page():
    pages = command_pages.pages()
    for name, command in application().commands.items():
        page = pages[f"commands/{name}"]
        assert f"({name}.md)" in pages["commands/index"]
        inner = getattr(command, "commands", {})
        for sub, one in (inner or {"": command}).items():
            title = f"howsure {name} {sub}".strip()
            assert re.search(rf"^#+ {title}$", page, re.M)
            section = page.split(f"# {title}\n")[1].split("\n## ")[0]
            for parameter in getattr(one, "parameters", ()):
                assert f"`{parameter.term}`" in section, (title, parameter.term)


def test_every_command_has_a_guide_that_leads_back():
    for name in command_pages.tree():
        guide = command_pages.GUIDES.get(name, name)
        assert (ROOT / "docs" / "guides" / f"{guide}.md").is_file(), name
        assert f"commands/{name}.md" in command_pages.see_also(guide)


def test_every_public_name_is_in_the_reference():
    text = "\n".join(reference_pages.pages().values())
    described = {n for n in howsure.__all__ if n not in {"__version__", "lm", "english"}}
    for name in described:
        assert re.search(rf"\{{py:\w+\}} howsure\.{name}\b", text), name
    assert "howsure.lm.perplexity(model, text" in text
    # Docstrings arrive whole: a parameter, a note and an example of check.
    verb = text.split("{py:function} howsure.check(")[1].split("{py:function}")[0]
    assert "`y_true`" in verb
    assert ">>>" in verb


def test_every_page_is_in_the_contents_and_none_twice():
    pages = {p.stem for p in (ROOT / "docs").rglob("*.md")} | set(make_site.OUTSIDE.values())
    listed = re.findall(r"^[\w/-]+$", make_site.contents(pages | {"a-new-page"}), re.M)
    assert sorted(listed) == sorted(pages - {"index"} | {"a-new-page"})


def test_links_between_files_become_links_between_pages():
    docs = ROOT / "docs"
    assert make_site.site_target("guides/check.md", docs) == "check.md"
    assert make_site.site_target("../examples/for_teachers.py", docs) == "gallery/for_teachers.md"
    assert make_site.site_target("docs/evidence/theory.md", ROOT) == "theory.md"
    assert make_site.site_target("../CONTRIBUTING.md", docs) == "contributing.md"
    for page in [*docs.rglob("*.md"), *(ROOT / p for p in make_site.OUTSIDE)]:
        make_site.with_site_links(page.read_text(), page.parent)
    with pytest.raises(SystemExit, match="leads nowhere"):
        make_site.site_target("nowhere.md", docs)
    with pytest.raises(SystemExit, match="no page of the site"):
        make_site.site_target("../pyproject.toml", docs)


def test_pages_that_load_from_elsewhere_are_refused(tmp_path):
    page = tmp_path / "a.html"
    page.write_text('<a href="https://example.org">a link is fine</a>')
    make_site.check_offline(tmp_path)
    page.write_text('<link rel="stylesheet" href="https://example.org/a.css">')
    with pytest.raises(SystemExit, match="loads"):
        make_site.check_offline(tmp_path)


def test_the_gallery_shows_what_a_script_prints_and_draws(tmp_path):
    examples, source = tmp_path / "examples", tmp_path / "source"
    examples.mkdir()
    (examples / "one.py").write_text(
        '"""A title.\n\nSome text.\n"""\n\nopen("a.svg", "w").write("<svg/>")\nprint(6 * 7)\n'
    )
    pages = gallery_pages.pages(examples, source)
    assert (source / "gallery" / "one" / "a.svg").is_file()
    assert all(
        s in pages["gallery/one"] for s in ("# A title", "Some text.", "one/a.svg", "```text\n42\n```", "print(6 * 7)")
    )
    (examples / "two.py").write_text("raise ValueError('no')\n")
    with pytest.raises(SystemExit, match=r"two\.py fails"):
        gallery_pages.pages(examples, tmp_path / "again")


def test_the_diagram_is_up_to_date():
    assert diagram.PATH.read_text() == diagram.diagram()


def test_the_citation_names_this_version():
    assert f"version: {howsure.__version__}\n" in (ROOT / "CITATION.cff").read_text()
