"""What `howsure explore` costs after parsing, as a share of parsing: processor time of one process with one thread, as workers have
(a second thread of BLAS, waiting, would count), in one run, nothing cached.

python bench/speed/explore_speed.py           # all of MUC, 1,500 documents (needs HOWSURE_DATA)
python bench/speed/explore_speed.py 4         # every fourth document
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from goals import best_of, heading, row

import howsure
from howsure.corpora.news import muc_texts
from howsure.corpora.reading import corpus_path


def main() -> None:
    if not os.environ.get("HOWSURE_DATA"):
        print("explore_speed: MUC is read from HOWSURE_DATA, which is not set.")
        return
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(folder, "texts")
        texts.mkdir()
        for path in sorted(Path(corpus_path("muc", "texts")).glob("*.xhtml"))[::every]:
            (texts / path.name).symlink_to(path)
        began = time.process_time()
        found = howsure.explore(texts, actors="muc-organisations", out=Path(folder, "results"), jobs=1, cache=False)
        spent = {"parsing": found.timing["parsing"]}
        spent |= {"coreference": found.timing["resolving"], "rules, draws, frame": found.timing["asking"]}
        spent["reading, tables, imports"] = time.process_time() - began - sum(spent.values())
        for name, work in (("event layer, text", found.to_text), ("page", lambda: howsure.page(found))):
            began = time.process_time()
            work()
            spent[name] = time.process_time() - began
        raw = [text.text for text in muc_texts(texts)]
        words = sum(map(len, howsure.parse(raw, cache=False, jobs=1)))
        warm = best_of(3, lambda: howsure.parse(raw, cache=False, jobs=1), clock=time.process_time)
    heading(f"MUC, {found.manifest['n_documents']:,} documents, attack, rules of roles; processor time beside parsing")
    parsing = spent.pop("parsing")
    row(f"words a second of parsing alone, warm, {words:,} words", words / warm, at_least=11_000, unit="/s")
    for name, seconds in spent.items():
        row(f"  {name}", seconds, parsing)
    row("blocks after parsing", spent["coreference"] + spent["rules, draws, frame"], parsing, at_most=0.08)
    row("everything after parsing", sum(spent.values()), parsing)


if __name__ == "__main__":
    main()
