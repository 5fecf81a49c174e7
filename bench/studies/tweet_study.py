"""Sentiment of SemEval's tweets (2013-16): logistic regression with n-grams and averaged vectors, beside scikit-learn's TF-IDF.

Trained on the tweets of 2013 to 2015 and 2016's training part, hyperparameters chosen on 2016's dev and devtest, reported on
2016's test. With --speed: processor seconds of nine strengths, as before (scikit-learn, each from zero, tolerance 1e-6) and now.

    HOWSURE_DATA=… OMP_NUM_THREADS=1 python bench/studies/tweet_study.py [--speed]
"""

import sys
import time

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import howsure
from howsure.corpora.reading import corpus_path
from howsure.models import classifiers
from howsure.models.classifiers import STRENGTHS, fit_classifier

TRAIN = ("2013train", "2013dev", "2013test", "2014test", "2015train", "2015test", "2016train")
DEV, TEST = ("2016dev", "2016devtest"), ("2016test",)


def tweets(parts):
    texts, labels, seen = [], [], set()
    for part in parts:
        for line in corpus_path("tweet-sentiment", f"twitter-{part}-A.txt").read_text(encoding="utf-8").splitlines():
            number, label, text = line.split("\t")[:3]
            if number not in seen:
                seen.add(number)
                texts.append(text)
                labels.append(label)
    return texts, labels


def f1(gold, guessed):
    """SemEval's measure: the mean F1 of positive and negative."""
    gold, guessed = np.array(gold), np.array(guessed)
    made = [
        2 * ((gold == k) & (guessed == k)).sum() / max((gold == k).sum() + (guessed == k).sum(), 1)
        for k in ("positive", "negative")
    ]
    return float(np.mean(made))


def macro(gold, guessed):
    gold, guessed = np.array(gold), np.array(guessed)
    return float(
        np.mean(
            [2 * ((gold == k) & (guessed == k)).sum() / ((gold == k).sum() + (guessed == k).sum()) for k in set(gold)]
        )
    )


def main():
    train, dev, test = tweets(TRAIN), tweets(DEV), tweets(TEST)
    print(f"{len(train[0]):,} tweets to train on, {len(dev[0]):,} dev, {len(test[0]):,} test", flush=True)
    if "--speed" in sys.argv:
        speed(*tweets((*TRAIN, *DEV)), dev)
        return
    guesses = {}
    best = None
    for name, options in {"words": {}, "words and pairs": {"ngram_range": (1, 2), "min_df": 2}}.items():
        began = time.process_time()
        counter = TfidfVectorizer(sublinear_tf=True, **options)
        x, x_dev = counter.fit_transform(train[0]), counter.transform(dev[0])
        for c in STRENGTHS["logistic"]:
            made = LogisticRegression(C=c, max_iter=2000).fit(x, train[1])
            score = macro(dev[1], made.predict(x_dev))
            if best is None or score > best[0]:
                best = (score, f"TF-IDF, {name}, C {c:g}", made.predict(counter.transform(test[0])))
        print(f"TF-IDF {name}: {time.process_time() - began:.0f} s", flush=True)
    guesses[best[1]] = best
    for name, options in {
        "words": {},
        "vectors": {"vectors": True},
        "words and pairs": {"ngrams": 2},
        "words, pairs and vectors": {"ngrams": 2, "vectors": True},
    }.items():
        began = time.process_time()
        made = fit_classifier(*train, dev=dev, **options)
        score = max(d["f1"] for d in made.settings["dev"])
        posterior = made.posterior(test[0])
        guesses[f"howsure, {name}, C {made.settings['strength']:g}"] = (score, "", posterior.best())
        error = howsure.check(test[1], posterior.marginals(), classes=posterior.classes).error
        print(f"{name}: {time.process_time() - began:.0f} s, calibration error {error}", flush=True)
    for name, (score, _, guessed) in guesses.items():
        right = np.mean(np.array(guessed) == np.array(test[1]))
        print(
            f"{name:45} dev macro F1 {score:.4f}  test F1(pos, neg) {f1(test[1], guessed):.4f}  macro {macro(test[1], guessed):.4f}  accuracy {right:.4f}"
        )
    first, *others = guesses
    rng = np.random.default_rng(0)
    draws = [rng.integers(len(test[1]), size=len(test[1])) for _ in range(200)]
    for name in others:
        gold, a, b = np.array(test[1]), np.array(guesses[name][2]), np.array(guesses[first][2])
        gains = [f1(gold[d], a[d]) - f1(gold[d], b[d]) for d in draws]
        low, high = np.quantile(gains, [0.025, 0.975])
        print(
            f"{name}: F1 above TF-IDF by {f1(gold, a) - f1(gold, b):+.4f}, 95% interval {low:+.4f} to {high:+.4f} (200 resamples)"
        )


def speed(texts, labels, dev):
    """Nine strengths on all but the test tweets."""
    found = classifiers.tokens_of(texts, "tweets")
    x = classifiers.incidence(found, classifiers.vocabulary(found, 2)[0])
    y = np.unique(labels, return_inverse=True)[1]
    print(f"{x.shape[0]:,} tweets, {x.shape[1]:,} words", flush=True)
    began = time.process_time()
    path = list(classifiers._logistic(x, np.zeros((len(y), 0)), y, 3, STRENGTHS["logistic"], None))
    print(f"now: {time.process_time() - began:.1f} s", flush=True)
    began = time.process_time()
    for c, (w, b) in zip(STRENGTHS["logistic"], path, strict=True):
        made = LogisticRegression(C=c, max_iter=2000, tol=1e-6).fit(x, y)
        losses = []
        for weights, intercept in ((w, b), (made.coef_.T, made.intercept_)):
            z = x @ weights + intercept
            z = z - z.max(axis=1, keepdims=True)
            losses.append(
                float((np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y]).sum() + (weights**2).sum() / (2 * c))
            )
        print(
            f"C {c:g}: loss now {losses[0]:.4f}, before {losses[1]:.4f}; before so far {time.process_time() - began:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
