"""Tags of tweets (ARK, oct27): the CRF with and without classes of word vectors and a lexicon of other tagged text.

Everything is chosen on dev (templates, l2); the best on dev is reported on test, with calibration.

    HOWSURE_DATA=… OMP_NUM_THREADS=1 python bench/studies/tweet_tagger.py
"""

import time

from howsure.corpora.reading import corpus_path
from howsure.posteriors.chain import accuracy
from howsure.verbs.tagger import _crf_fits, check_tagger, tagged

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
    train, dev = (tagged(corpus_path("ark-tweets", f"oct27.{part}"), None) for part in ("train", "dev"))
    best = None
    print("| features | lexicon | l2 | dev accuracy |\n|---|---|---|---|")
    for features, lexicon in TRIED:
        began = time.process_time()
        found = None
        for _, l2, made in _crf_fits(
            *train[:3], features, lexicon and LEXICON[lexicon], None, None, "lbfgs", 150, None, True
        ):
            score = accuracy(made.posterior(*dev[:2]), dev[2])
            found = max(found or (0.0,), (score, l2, made), key=lambda t: t[0])
        print(
            f"| {features} | {lexicon or 'none'} | {found[1]:g} | {found[0]:.4f} |  <!-- {time.process_time() - began:.0f} s -->",
            flush=True,
        )
        best = max(best or (0.0,), (*found, features, lexicon), key=lambda t: t[0])
    print(f"\nBest on dev: {best[3]}, lexicon {best[4]}, l2 {best[1]:g}")
    print(check_tagger(best[2], corpus_path("ark-tweets", "oct27.test")).verdict)


if __name__ == "__main__":
    main()
