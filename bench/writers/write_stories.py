"""Parses the stories that ship (src/howsure/data/stories.jsonl) into stories.conllu: `make stories`, after a new model."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from howsure.corpora.conllu import conllu_text
from howsure.english.parsing import parse

DATA = Path(__file__).parents[2] / "src" / "howsure" / "data"


def main(model: str | None = None) -> None:
    rows = [json.loads(line) for line in (DATA / "stories.jsonl").read_text(encoding="utf-8").splitlines()[1:]]
    documents = parse([(r["id"], r["text"]) for r in rows], model=model, cache=False, jobs=1)
    made = [d.with_(metadata={"date": r["date"], "title": r["title"]}) for d, r in zip(documents, rows, strict=True)]
    (DATA / "stories.conllu").write_text("".join(map(conllu_text, made)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
