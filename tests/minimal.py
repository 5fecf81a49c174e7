"""What works with nothing but the base install, and what says in one line which extra it needs.

    make minimal        (an environment of its own, no extras)

Every line below is a command as users type it; the files are made here or ship with howsure.
"""

import importlib.util
import os
import shlex
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

EXTRAS = ("spacy", "sklearn", "matplotlib", "pyspark", "pandas", "polars")
WORKS = """
howsure --version
howsure doctor
howsure check --demo --groups document --by tag --html report.html --plot report.svg
howsure check rows.csv --true y --prob q --json
howsure check rows.csv --true y --prob q --paper --bins 100
howsure check rows.csv --true y --prob q --where "q > 0.2" --markdown
howsure compare rows.csv --true y --prob q,q2 --groups doc --html compare.html
howsure compare rows.csv --true y --prob q2,q --fail-if-worse
howsure score rows.csv --true gold --pred said --groups doc
howsure agree ratings.csv
howsure recalibrate fit rows.csv --true y --prob q -o map.json
howsure recalibrate apply map.json rows.csv --prob q -o better.parquet
howsure abstain rows.csv --prob q --true y --risk 0.2
howsure split rows.csv --groups doc -o parts
howsure count part.csv --prob q --true label --design random --by doc
howsure lm train menu.txt -o lm.npz
howsure lm prob lm.npz "can you tell me"
howsure lm check lm.npz menu_dev.txt
howsure classify train naive-bayes reviews.tsv -o nb.npz
howsure classify train logistic reviews.tsv -o lr.npz
howsure classify check nb.npz reviews.tsv
howsure tagger train hmm tags.conllu -o hmm.npz
howsure tagger train crf tags.conllu -o crf.npz
howsure tagger check crf.npz tags.conllu
howsure explore -o found
howsure top found
howsure page found -o found.html
howsure reproduce synthetic --quick
"""
NEEDS = {"howsure parse story.txt": "howsure[text]", "howsure check rows.csv --engine spark": "howsure[spark]"}


def main() -> int:
    there = [name for name in EXTRAS if importlib.util.find_spec(name)]
    assert not there, f"not a minimal environment: it has {', '.join(there)}"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_files(Path(folder))
        wrong = [said for line in WORKS.split("\n") if line for said in [fault(line)] if said]
        wrong += [said for line, extra in NEEDS.items() for said in [fault(line, extra)] if said]
    print(f"{len(WORKS.split(chr(10))) - 2 + len(NEEDS)} commands without extras, {len(wrong)} of them wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


def fault(line: str, extra: str | None = None) -> str | None:
    """What is wrong with a command's end, if anything is: it works, or names the extra in one line."""
    words = shlex.split(line)[1:]
    done = subprocess.run([sys.executable, "-m", "howsure", *words], capture_output=True, text=True, timeout=300)
    if extra is None:
        well = done.returncode == 0 and not any(word in done.stderr for word in ("Traceback", "leaked"))
    else:
        well = done.returncode == 2 and extra in done.stderr and done.stderr.count("\n") == 1
    return None if well else f"{line}: status {done.returncode}: {done.stderr[-500:]}"


def write_files(folder: Path) -> None:
    """Small valid inputs."""
    for source in (files("howsure.data") / "seeds").iterdir():
        (folder / source.name).write_bytes(source.read_bytes())
    rows, part, ratings, tags = ["q,q2,y,gold,said,doc"], ["q,label,doc"], ["item,annotator,label"], []
    for i in range(400):
        q, y = (i * 37 % 101) / 101, int(i * 61 % 103 < i * 37 % 101)
        rows.append(f"{q:.4f},{q * q:.4f},{y},{'ab'[y]},{'ab'[q > 0.5]},d{i % 20}")
        part.append(f"{q:.4f},{y if i % 3 == 0 else ''},d{i % 4}")
        ratings += [f"i{i},{who},{'ab'[y if (i + k) % 5 else 1 - y]}" for k, who in enumerate("xyz")]
        tags.append(
            "\t".join(["1", "wd"[y] + str(i % 7), "_", "_", "NV"[y] + "N", "_", "0", "root", "_", "_"]) + "\n\n"
        )
    for name, lines in {"rows.csv": rows, "part.csv": part, "ratings.csv": ratings}.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "tags.conllu").write_text("".join(tags))


if __name__ == "__main__":
    sys.exit(main())
