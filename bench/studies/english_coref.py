"""Coreference on automatic parses with the weights that ship: scores and calibration on OntoGUM's test part, by genre too.

    python bench/studies/english_coref.py [--write]

Needs the corpora under HOWSURE_DATA. `--write` puts the tables between the marks of the model's MODEL_CARD.md.
"""

from __future__ import annotations

import sys

from coref_training import open_documents

from howsure.corpora.coreference import gum_documents
from howsure.english.annotating import reparsed
from howsure.english.shipped import SHIPPED, model
from howsure.verbs.coref import check_coref, resolve, scores_of, shipped_coref

BEGIN, END = "<!-- coreference -->", "<!-- end of coreference -->"


def main() -> None:
    parser, used = model(), shipped_coref()
    all_genres = list(reparsed(parser, gum_documents("test")))
    is_open = {d.name for d in open_documents("test")}
    parts = {
        "all genres": (all_genres, "predicted"),
        "open genres": ([d for d in all_genres if d.name in is_open], "predicted"),
        "all genres, upper case": (list(reparsed(parser, gum_documents("test"), upper=True)), "predicted"),
        "all genres, gold mentions": (all_genres, "gold"),
    }
    lines = [
        "| OntoGUM test | documents | CoNLL | MUC | B³ | CEAFe | RMS error of P(corefer) ≥ .05 | of all pairs | of P(new) | of P(someone of that name) ≥ .05 |",
        "|---|---:|---|---:|---:|---:|---|---|---|---|",
    ]
    for name, (documents, mentions) in parts.items():
        k = check_coref(used, documents, mentions=mentions, sample_sizes=())
        s = k.scores
        errors = " | ".join(_shown(None if c is None else c.error) for c in (k.links, k.pairs, k.new, k.entities))
        lines.append(
            f"| {name} | {len(documents)} | {_percent(s['conll'].f1)} | {100 * s['muc'].f1.value:.1f} | "
            f"{100 * s['b3'].f1.value:.1f} | {100 * s['ceafe'].f1.value:.1f} | {errors} |"
        )
    genres: dict[str, list] = {}
    for d in all_genres:
        genres.setdefault(d.name.split("_")[1], []).append(d)
    lines += ["", "| OntoGUM test, by genre | documents | CoNLL | MUC | B³ | CEAFe |", "|---|---:|---:|---:|---:|---:|"]
    for genre, documents in sorted(genres.items()):
        s = scores_of(resolve(used, documents, mentions="predicted"), used, samples=0)
        lines.append(
            f"| {genre} | {len(documents)} | {100 * s['conll'].f1.value:.1f} | {100 * s['muc'].f1.value:.1f} | "
            f"{100 * s['b3'].f1.value:.1f} | {100 * s['ceafe'].f1.value:.1f} |"
        )
    said = "\n".join(lines)
    print(said)
    if "--write" in sys.argv:
        card = SHIPPED / "MODEL_CARD.md"
        text = card.read_text(encoding="utf-8")
        head, tail = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
        card.write_text(f"{head}\n{said}\n{tail}", encoding="utf-8")


def _shown(e) -> str:
    return "–" if e is None else f"{e.value:.4f} [{e.low:.4f}, {e.high:.4f}]"


def _percent(e) -> str:
    return f"{100 * e.value:.1f} [{100 * e.low:.1f}, {100 * e.high:.1f}]"


if __name__ == "__main__":
    main()
