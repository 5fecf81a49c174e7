"""Tags of tweets (ARK, oct27): the CRF with and without classes of word vectors and a lexicon of other tagged text.

Everything is chosen on dev (templates, l2); the best on dev is reported on test, with calibration.

    HOWSURE_DATA=… OMP_NUM_THREADS=1 python bench/studies/tweet_tagger.py
"""

import time

import howsure
from howsure.corpora.reading import corpus_path

LEXICON = {
    "EWT": [corpus_path("ewt", "en_ewt-ud-train.conllu")],
    "EWT, GUM, WSJ": [
        corpus_path("ewt", "en_ewt-ud-train.conllu"),
        *sorted(corpus_path("gum", "dep").glob("*.conllu")),
        *sorted(corpus_path("treebank").glob("wsj_0*.pos")),
    ],
}
TRIED = [("advanced", None), ("advanced,vectors", None), ("advanced", "EWT"), ("advanced,vectors", "EWT")] + [
    (f, "EWT, GUM, WSJ") for f in ("advanced", "advanced,vectors")
]


def main():
    train, dev, test = (corpus_path("ark-tweets", f"oct27.{part}") for part in ("train", "dev", "test"))
    best = None
    print("| features | lexicon | l2 | dev accuracy |\n|---|---|---|---|")
    for features, lexicon in TRIED:
        began = time.process_time()
        made = howsure.train_tagger(train, dev=dev, features=features, lexicon=lexicon and LEXICON[lexicon])
        print(
            f"| {features} | {lexicon or 'none'} | {made.chosen.value:g} | {made.dev_accuracy:.4f} |  <!-- {time.process_time() - began:.0f} s -->",
            flush=True,
        )
        if best is None or made.dev_accuracy > best[0].dev_accuracy:
            best = made, features, lexicon
    print(f"\nBest on dev: {best[1]}, lexicon {best[2]}, l2 {best[0].chosen.value:g}")
    print(howsure.check_tagger(best[0], test).verdict)


if __name__ == "__main__":
    main()
