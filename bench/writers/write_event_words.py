"""Nouns of verbs, synonyms and irregular forms, from WordNet: src/howsure/data/event_words.csv.gz.

    python bench/writers/write_event_words.py

A noun belongs to a verb when WordNet calls the two derivationally related and files the noun under acts, communication, events
or possession, in one of the noun's first two senses ("attack", "bombing"; not "attacker", a person). Alike are the other single words of the verb's first two
senses, and the verbs that WordNet files directly below the first (ways of doing it: bombard under attack). Needs HOWSURE_DATA.
"""

import csv
import gzip
import io
from pathlib import Path

from howsure.corpora.reading import corpus_path

TARGET = Path(__file__).parents[2] / "src" / "howsure" / "data" / "event_words.csv.gz"
KINDS = {"04", "10", "11", "21"}
SENSES = 2


def lines(name):
    with gzip.open(corpus_path("wordnet", name), "rt", encoding="utf-8") as file:
        yield from (line.rstrip("\n") for line in file if not line.startswith("  "))


def synsets(name):
    """Offset → (file, words, pointers)."""
    made = {}
    for line in lines(name):
        parts = line.split(" | ")[0].split()
        n = int(parts[3], 16)
        words = [w.split("(")[0].lower() for w in parts[4 : 4 + 2 * n : 2]]
        at = 5 + 2 * n
        pointers = [tuple(parts[at + 4 * i : at + 4 * i + 4]) for i in range(int(parts[at - 1]))]
        made[parts[0]] = (parts[1], words, pointers)
    return made


def main():
    verbs, nouns = synsets("data.verb.gz"), synsets("data.noun.gz")
    senses = {p[0]: p[-int(p[2]) :][:SENSES] for p in (line.split() for line in lines("index.noun.gz"))}
    forms = {}
    for line in lines("verb.exc.gz"):
        form, *lemmas = line.split()
        if form.isalpha() and lemmas and form != lemmas[0]:
            forms.setdefault(lemmas[0], []).append(form)
    rows = []
    for line in lines("index.verb.gz"):
        parts = line.split()
        lemma, offsets = parts[0], parts[-int(parts[2]) :]
        if not lemma.isalpha():
            continue
        found, alike = {}, {}
        for rank, offset in enumerate(offsets):
            _, words, pointers = verbs[offset]
            own = words.index(lemma) + 1
            if rank < SENSES:
                alike |= {w: None for w in words if w != lemma and w.isalpha()}
            if rank == 0:
                below = [verbs[target][1] for symbol, target, kind, _ in pointers if symbol == "~" and kind == "v"]
                alike |= {w: None for ways in below for w in ways if w != lemma and w.isalpha()}
            for symbol, target, kind, numbers in pointers:
                if symbol != "+" or kind != "n" or int(numbers[:2], 16) != own:
                    continue
                file, targets, _ = nouns[target]
                noun = targets[int(numbers[2:], 16) - 1]
                if file in KINDS and noun.isalpha() and target in senses[noun]:
                    found[noun] = None
        if found or alike or lemma in forms:
            rows.append((lemma, ";".join(found), ";".join(alike), ";".join(forms.get(lemma, []))))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("verb", "nouns", "alike", "forms"))
    writer.writerows(rows)
    TARGET.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
    print(len(rows), TARGET.stat().st_size)


if __name__ == "__main__":
    main()
