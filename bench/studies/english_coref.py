"""Coreference on automatic parses with the weights that ship: CoNLL score and pair calibration on OntoGUM's test part.

    python bench/studies/english_coref.py [--write]

Needs the corpora under HOWSURE_DATA. `--write` puts the table between the marks of the model's MODEL_CARD.md.
"""

from __future__ import annotations

import sys

from howsure.corpora.coreference import gum_documents
from howsure.english.annotating import reparsed
from howsure.english.coreference import open_documents
from howsure.english.shipped import COREFERENCE, SHIPPED, model
from howsure.verbs.coref import check_coref

BEGIN, END = "<!-- coreference -->", "<!-- end of coreference -->"


def main() -> None:
    parser = model()
    parts = {
        "all genres": (gum_documents("test"), False),
        "open genres": (open_documents("test"), False),
        "all genres, upper case": (gum_documents("test"), True),
    }
    lines = [
        "| OntoGUM test | documents | CoNLL | MUC | B³ | CEAFe | RMS error of P(corefer) | of P(new) |",
        "|---|---:|---|---:|---:|---:|---|---|",
    ]
    for name, (documents, upper) in parts.items():
        k = check_coref(
            SHIPPED / COREFERENCE, list(reparsed(parser, documents, upper=upper)), mentions="predicted", samples=()
        )
        s = k.scores
        lines.append(
            f"| {name} | {len(documents)} | {_percent(s['conll'].f1)} | {100 * s['muc'].f1.value:.1f} | "
            f"{100 * s['b3'].f1.value:.1f} | {100 * s['ceafe'].f1.value:.1f} | {_shown(k.pairs.error)} | {_shown(k.new.error)} |"
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
