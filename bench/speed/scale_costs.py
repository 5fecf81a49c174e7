"""What an evaluation of 10^10 rows and a newspaper of 20 years would take, from figures measured by bench/speed/scale.py.

    python bench/speed/scale_costs.py            # prints the tables of docs/guides/scale.md
    python bench/speed/scale_costs.py --write    # puts them there

The model: a pass over rows costs `seconds per row and core`, and nothing else grows with rows, because what comes out
of a piece is a sketch of bounded size. Rows that must come together by key move once, packed, over the network. A look at
the groups is one more pass over what was moved.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

HERE = Path(__file__).parent
DATA = HERE / "scale.json"
PAGE = HERE.parents[1] / "docs" / "guides" / "scale.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
NETWORK = 1e9  # bytes a second that a machine sends, 10 Gbit/s at 80%: an assumption
CORES = 16  # of a machine: an assumption
RECORD = 17  # bytes of a row that goes to its group: key, group, label, probability
ARTICLES, WORDS = 1_800_000, 600  # of a newspaper in 20 years, about as in the New York Times Annotated Corpus
START = 30.0  # seconds for a session of Spark on a cluster: an assumption


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    text = tables(json.loads(DATA.read_text()))
    print(text)
    if given.write:
        page = PAGE.read_text()
        head, rest = page.split(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")


def tables(found: dict) -> str:
    runs, cores = found["runs"], found["cores"]
    lines = [
        "| what | engine | rows | seconds | million rows/s | per core | peak memory |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for r in runs:
        rate = r["rows"] / r["seconds"] / 1e6
        java = f" ({r['peak_java'] / 1e9:.2f} of them Java)" if r["peak_java"] else ""
        lines.append(
            f"| {r['what']} | {r['engine']} | {r['rows']:,} | {r['seconds']:.1f} | {rate:.2f} | {rate / cores:.2f} "
            f"| {r['peak'] / 1e9:.2f} GB{java} |"
        )
    return "\n".join(lines) + "\n\n" + estimates(found)


def estimates(found: dict) -> str:
    def per_core(what: str, engine: str) -> float:
        """Seconds of a core for a row, without what a run costs before its first row."""
        made = [r for r in found["runs"] if r["what"].startswith(what) and r["engine"].startswith(engine)]
        large = max(made, key=lambda r: r["rows"])
        return large["seconds"] * found["cores"] / large["rows"]

    rows = 10**10
    sketch, groups = per_core("one curve", "Spark"), per_core("check --groups", "Spark")
    alone, alone_groups = per_core("linear", "files"), per_core("check --groups", "files")
    lines = [
        "| job | on | core-hours | wall time | moved over the network |",
        "|---|---|--:|--:|--:|",
        _line("10¹⁰ rows, one curve", "1 machine of 2 cores, files", rows * alone, 2, 0),
        _line("10¹⁰ rows, by 10⁹ documents", "1 machine of 2 cores, files", rows * alone_groups, 2, 0),
    ]
    for machines in (1, 10, 100):
        total = machines * CORES
        lines.append(
            _line("10¹⁰ rows, one curve", f"Spark, {machines} × {CORES} cores", rows * sketch, total, 0, START)
        )
        lines.append(
            _line(
                "10¹⁰ rows, by 10⁹ documents",
                f"Spark, {machines} × {CORES} cores",
                rows * groups,
                total,
                rows * RECORD / machines,
                START,
                machines,
            )
        )
    explored = found["explore"]
    document = explored["seconds_per_document"] * WORDS / explored["words"]
    for name, total in (
        ("1 machine of 2 cores", 2),
        (f"1 × {CORES} cores", CORES),
        (f"10 × {CORES} cores", 10 * CORES),
    ):
        lines.append(
            _line(f"{ARTICLES:,} articles of {WORDS} words, 400 samples each", name, ARTICLES * document, total, 0)
        )
    slices = [r for r in found["runs"] if r["what"].startswith("check --by")]
    one = max((r for r in slices if r["engine"].startswith("files")), key=lambda r: r["rows"])
    n_slices = int(one["what"].split(",", 1)[1].replace("slices", "").replace(",", ""))
    said = (
        f"A slice costs {1e3 * one['seconds'] * found['cores'] / n_slices:.1f} ms of a core to analyse, and its sketch at most 32 bytes for each distinct "
        f"probability; a row of {found['bytes_per_row']:.1f} bytes in Parquet becomes a record of {RECORD} bytes where it has to go to its group; "
        f"a document of {explored['words']:,.0f} words costs {1e3 * explored['seconds_per_document']:.0f} ms of a core, most of it parsing."
    )
    return "\n".join(lines) + "\n\n" + said


def _line(
    job: str, where: str, core_seconds: float, cores: int, moved: float, start: float = 0.0, machines: int = 1
) -> str:
    seconds = start + core_seconds / cores + moved / NETWORK
    wall = (
        f"{seconds / 86400:.1f} days"
        if seconds > 172_800
        else f"{seconds / 3600:.1f} h"
        if seconds > 5400
        else f"{seconds / 60:.1f} min"
    )
    total = f"{moved * machines / 1e9:,.0f} GB" if moved else "–"
    hours = core_seconds / 3600
    return f"| {job} | {where} | {hours:,.{1 if hours >= 1.0 else 2}f} | {wall} | {total} |"


if __name__ == "__main__":
    main()
