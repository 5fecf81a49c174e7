"""Write src/howsure/data/edits.csv: how often each edit turns a word into its misspelling.

    python bench/writers/write_edits.py

Counted on the pairs of the Birkbeck list (missp.dat below HOWSURE_DATA/spelling) that two edits explain, less those whose
misspelling occurs in the Holbrook, aspell or Wikipedia lists, which measure the corrector. Only counts of letters
are written, no word.
"""

import csv
import re
from pathlib import Path

import numpy as np

from howsure.corpora.reading import corpus_path
from howsure.kernels.ngrams.edits_compiled import edit_distances, ready_edits
from howsure.models.ngrams.spelling import LETTERS, STEPS, codes, edit_counts

OUT = Path(__file__).parents[2] / "src" / "howsure" / "data" / "edits.csv"


def pairs(name):
    """(typed, meant) of a list: a line `$word`, then its misspellings."""
    made, right = {}, None
    for line in corpus_path("spelling", name).read_text(encoding="utf-8", errors="replace").split("\n"):
        if line.startswith("$"):
            right = line[1:].strip().lower()
        elif line.strip() and right:
            made[(line.split()[0].lower(), right)] = True
    return [(t, r) for t, r in made if re.fullmatch("[a-z]+", t) and re.fullmatch("[a-z]+", r) and t != r]


def main():
    ready_edits()
    held_out = {t for name in ("holbrook-missp.dat", "aspell.dat", "wikipedia.dat") for t, _ in pairs(name)}
    kept = []
    for typed, meant in pairs("missp.dat"):
        word = codes(meant)
        if typed not in held_out and edit_distances(codes(typed), word, np.array([len(word)]), 2)[0] <= 2:
            kept.append((typed, meant))
    tables, n = edit_counts(kept)
    with open(OUT, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["step", "first", "second", "count"])
        writer.writerow(["pairs", "", "", n])
        for step, counts in zip(STEPS, tables, strict=True):
            for i, j in np.argwhere(counts).tolist():
                writer.writerow([step, LETTERS[i], LETTERS[j], int(counts[i, j])])
    print(f"{OUT.name}: {n:,} pairs")


if __name__ == "__main__":
    main()
