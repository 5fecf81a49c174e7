"""The site: pages of docs/, pages made from the program itself, and Sphinx over both.

    make docs          builds build/site; open build/site/index.html

Pages are gathered in build/site-source, because some are not files of the project: one for each command (from its
`--help`), the gallery (each script of examples/, run), the reference (from docstrings). Links between files of the project
become links between pages of the site, and one that leads nowhere stops the build. Nothing is fetched, then or later.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import command_pages  # noqa: E402
import gallery_pages  # noqa: E402
import reference_pages  # noqa: E402

# The order of the pages. Pages of docs/ that no section names go to the last one, so that none is lost.
SECTIONS = {
    "Start": ["tutorial", "tutorial-explore", "tutorial-count", "gallery/index"],
    "How to": ["for-engineers", "for-researchers", "for-social-scientists", "for-teachers", "pull-requests", "mistakes", "faq"],
    "Guides": [
        "check", "logs", "compare", "count", "score", "agree", "split", "recalibrate", "abstain", "classify", "tagger", "parser", "coref", "pipeline", "lm", "continuous",
        "english", "explore", "bring-your-own", "page", "pages", "scale", "doctor", "reproduce",
    ],
    "Reference": ["commands/index", "reference/index", "glossary", "cite"],
    "Evidence": ["theory", "promises", "robustness", "reproduction", "synthetic", "taggers-study", "coref-study", "muc-study", "lm-study", "pipeline-study", "model-card"],
    "Project": ["architecture", "changelog", "contributing"],
}  # fmt: skip
# Files outside docs/ that are pages too.
OUTSIDE = {
    "CHANGELOG.md": "changelog",
    "CONTRIBUTING.md": "contributing",
    "src/howsure/english/model/MODEL_CARD.md": "model-card",
}
LINK = re.compile(r"(?<!\\)(\]\()([^)\s#]+)(#[^)]*)?(\))")


def main() -> None:
    """Gather the pages, then build them strictly."""
    parser = argparse.ArgumentParser(description="Build the documentation.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    out = parser.parse_args().out
    started = time.monotonic()
    source = out.parent / "site-source"
    gathered(source)
    from sphinx.cmd.build import build_main

    status = build_main(
        ["-W", "--keep-going", "-q", "-b", "html", "-d", str(out.parent / "site-trees"), str(source), str(out)]
    )
    if status == 0:
        check_offline(out)
        size = sum(p.stat().st_size for p in out.rglob("*") if p.is_file())
        print(
            f"{out / 'index.html'}: {len(list(out.rglob('*.html')))} pages, {size / 1e6:.1f} MB, {time.monotonic() - started:.0f} s"
        )
    sys.exit(status)


def gathered(source: Path) -> None:
    """Write every page of the site into `source`."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "docs" / "images", source / "images")
    (source / "_static").mkdir()
    shutil.copy(HERE / "style.css", source / "_static")
    shutil.copy(HERE / "conf.py", source)
    pages = {path.stem: path for path in sorted((ROOT / "docs").rglob("*.md"))}
    pages |= {name: ROOT / path for path, name in OUTSIDE.items()}
    made = command_pages.pages() | reference_pages.pages() | gallery_pages.pages(ROOT / "examples", source)
    for name, text in made.items():
        path = source / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name, path in pages.items():
        text = with_site_links(path.read_text(encoding="utf-8"), path.parent) + command_pages.see_also(name)
        text = re.sub(r'^<a id="([^"]+)"></a>$', r"(\1)=", text, flags=re.MULTILINE)  # a target, as Sphinx knows it
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    with open(source / "index.md", "a", encoding="utf-8") as index:
        index.write(contents({*pages, *made}))


def check_offline(out: Path) -> None:
    """Nothing that a page loads may come from elsewhere."""
    loads = re.compile(r"<(?:script|img|iframe|source)[^>]+src=.https?:|<link(?![^>]+rel=.canonical)[^>]+href=.https?:")
    for page in out.rglob("*.html"):
        if found := loads.search(page.read_text(encoding="utf-8")):
            raise SystemExit(f"make docs: {page} loads {found[0]}")


def with_site_links(text: str, folder: Path) -> str:
    """Links to files of the project, as links to pages of the site."""

    def replaced(found: re.Match[str]) -> str:
        target = site_target(found[2], folder)
        return found[1] + target + (found[3] or "") + found[4]

    return LINK.sub(replaced, text)


def site_target(target: str, folder: Path) -> str:
    """Where a link of a file in `folder` leads on the site; an error where it leads out of the documentation."""
    if re.match(r"[a-z]+:", target):
        return target
    path = (folder / target).resolve()
    if not path.exists():
        raise SystemExit(f"make docs: {folder}: the link {target} leads nowhere")
    inside = path.relative_to(ROOT).as_posix()
    if inside in OUTSIDE:
        return OUTSIDE[inside] + ".md"
    if inside == "README.md":
        return "index.md"
    if inside.startswith("docs/"):
        return path.name if path.suffix == ".md" else inside.removeprefix("docs/")
    if inside == "examples":
        return "gallery/index.md"
    if inside.startswith("examples/"):
        return f"gallery/{path.stem}.md"
    raise SystemExit(f"make docs: the link {target} leads to {inside}, which is no page of the site")


def contents(names: set[str]) -> str:
    """The tables of contents, hidden: the sidebar shows them."""
    listed = [name for section in SECTIONS.values() for name in section]
    nested = {n for n in names if "/" in n and n not in listed}
    rest = sorted(names - set(listed) - nested - {"index"})
    sections = {s: [n for n in given if n in names] for s, given in SECTIONS.items()}
    sections[list(SECTIONS)[-1]] += rest
    made = ""
    for section, given in sections.items():
        made += f"\n```{{toctree}}\n:hidden:\n:caption: {section}\n\n" + "\n".join(given) + "\n```\n"
    return made


if __name__ == "__main__":
    main()
