"""Write docs/evidence/reproduction.md, its figures, and seeds.md from the results in a folder of `howsure reproduce all`.

python bench/writers/write_reproduction_page.py [FOLDER]        # reproduction/ unless named

An experiment that the folder does not hold keeps its section and its row in the page as they are.
"""

import sys
from pathlib import Path

from howsure.errors import InputError
from howsure.experiments.overview import overview, page
from howsure.experiments.registry import EXPERIMENTS
from howsure.files import write_whole
from howsure.verbs.reproduce import kept_results, left_out

DOCS = Path(__file__).parents[2] / "docs"
IMAGES = DOCS / "images" / "reproduction"
LARGEST, ALL = 200_000, 2_000_000  # bytes


def main(folder: str = "reproduction") -> None:
    results = kept_results(folder)
    if any(r.settings.get("quick") for r in results) or not results:
        raise InputError(f"{folder} holds no full results: run howsure reproduce all first.")
    IMAGES.mkdir(parents=True, exist_ok=True)
    total = 0
    for r in results:
        for name in (f"{r.name}-{f.name}" for f in r.figures):
            drawn = (Path(folder) / f"{name}.svg").read_bytes()
            total += len(drawn)
            if len(drawn) > LARGEST or total > ALL:
                raise InputError(
                    f"{name}.svg is too large for the documentation: {len(drawn):,} bytes, {total:,} in all."
                )
            if not (DOCS / "images" / f"{name}.svg").exists():  # a page of its own has it
                write_whole(str(IMAGES / f"{name}.svg"), drawn)
    command = "howsure reproduce all        # here by make reproduction-docs"
    items = next((r for r in results if r.name == "seeds"), None)
    if items is not None:  # a page of its own
        write_whole(str(DOCS / "evidence" / "seeds.md"), page(items, command).encode())
    results = [r for r in results if r.name != "seeds"]
    absent = [said for said in left_out(results) if not said.startswith("seeds:")]
    page_file = DOCS / "evidence" / "reproduction.md"
    text = merged(overview(results, [], image=image, tables=True, command=command), page_file.read_text(), absent)
    write_whole(str(page_file), text.encode())


def merged(new: str, old: str, absent: list[str]) -> str:
    """The new page with the old one's rows and sections of the experiments that are absent, in the order of the sources."""
    rows, sections = {}, {}
    for name in EXPERIMENTS:
        kept = old if any(said.startswith(f"{name}:") for said in absent) else new
        rows[name], sections[name] = _row(kept, name), _section(kept, name)
    head, rest = new.split("\n| [", 1)
    tail = new[new.index("## Slips of the sources") :]
    assert rest
    columns = head.rsplit("\n", 1)[1].count("|")
    filled = [row + "  |" * (columns - row.replace("\\|", "").count("|")) for row in rows.values() if row]
    return "\n".join([head, *filled]) + "\n\n" + "\n\n".join(s for s in sections.values() if s) + "\n\n" + tail


def _row(page: str, name: str) -> str:
    return next((line for line in page.splitlines() if line.startswith(f"| [{name}](#{name})")), "")


def _section(page: str, name: str) -> str:
    start = page.find(f'<a id="{name}"></a>')
    if start < 0:
        return ""
    ends = [page.find(mark, start + 1) for mark in ('<a id="', "## Slips of the sources")]
    return page[start : min(e for e in ends if e > 0)].rstrip()


def image(name: str) -> str:
    own = f"../images/{name}.svg"
    return own if (DOCS / "evidence" / own).exists() else f"../images/reproduction/{name}.svg"


if __name__ == "__main__":
    main(*sys.argv[1:])
