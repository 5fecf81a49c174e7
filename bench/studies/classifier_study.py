"""Naive Bayes and logistic regression on tweets labelled by emoticon, split by time: F1 and calibration error.
Prints the table of docs/guides/classify.md; --write puts it there.

    HOWSURE_DATA=… python bench/studies/classifier_study.py [--write]
"""

import csv
import sys
from pathlib import Path

import numpy as np

import howsure
from howsure.corpora.reading import corpus_path
from howsure.models.classifiers import fit_classifier

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "classify.md"
BEGIN, END = "<!-- table: classifier-study -->", "<!-- end -->"


def main() -> None:
    with open(corpus_path("tweet-sentiment", "emoticon.tsv")) as file:
        rows = sorted(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), key=lambda r: r["date"])
    texts, labels = [r["text"] for r in rows], [r["label"] for r in rows]
    dev, test = int(0.6 * len(rows)), int(0.8 * len(rows))
    y = np.array([int(v) for v in labels[test:]])
    lines = [
        "| model | strength | F1 | accuracy | RMS calibration error | log loss |",
        "|---|---|---|---|---|---|",
    ]
    for method in ("naive-bayes", "logistic"):
        made = fit_classifier(texts[:dev], labels[:dev], method=method, dev=(texts[dev:test], labels[dev:test]))
        posterior = made.posterior(texts[test:])
        s = howsure.score(labels[test:], posterior.best())
        c = howsure.check(y, posterior.label_is("1"))
        f = next(k.f for k in s.classes if k.label == "1")
        lines.append(
            f"| {method} | {made.settings['strength']:.3g} | {_shown(f)} | {_shown(s.accuracy)} | {_shown(c.error)} | "
            f"{c.log_loss.value:.3f} |"
        )
        print(lines[-1], file=sys.stderr)
    table = "\n".join(lines)
    print(table)
    if "--write" in sys.argv:
        page = PAGE.read_text()
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


def _shown(e) -> str:
    return f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]"


if __name__ == "__main__":
    main()
