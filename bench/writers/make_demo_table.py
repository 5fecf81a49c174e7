"""Write the demo table: a tagger's confidence in each tag of UD English EWT's test part, and whether the tag is right.

    HOWSURE_DATA=… python bench/writers/make_demo_table.py

The tagger is howsure's HMM, trained on the train part with the pseudocount of best accuracy on dev (universal tags).
Only numbers and the names of tags and genres are kept: no word of the texts (UD English EWT, CC BY-SA 4.0).
"""

import csv
import gzip
import io
from pathlib import Path

from howsure.corpora.reading import corpus_path
from howsure.corpora.tagged import read_tagged
from howsure.verbs.tagger import apply_tagger, train_tagger

TARGET = Path(__file__).parents[2] / "src" / "howsure" / "data" / "tags.csv.gz"


def rows():
    """Confidence, whether the tag is right, tag, genre, sentence and document of each token."""
    train, dev, test = (
        read_tagged(corpus_path("ewt", f"en_ewt-ud-{s}.conllu"), "upos") for s in ("train", "dev", "test")
    )
    tagger = train_tagger(train, method="hmm", dev=dev).model
    made = apply_tagger(tagger, test, marginals=False, best=0)
    numbers: dict[str, int] = {}
    for token in made.to_pylist():
        document = numbers.setdefault(token["document"], len(numbers) + 1)
        right = int(token["predicted"] == token["tag"])
        genre = token["document"].split("-")[0]
        # Sums of exponentials may exceed one by a rounding error.
        q = min(token["prob"], 1.0)
        yield f"{q:.6g}", right, token["predicted"], genre, token["sentence"] + 1, document


if __name__ == "__main__":
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["confidence", "correct", "tag", "genre", "sentence", "document"])
    writer.writerows(rows())
    # No time and no name in the header: the same table is the same file.
    TARGET.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))
