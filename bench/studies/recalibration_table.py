"""Held-out log loss of each recalibration method beside scikit-learn's, on the same folds of real predictions.

    HOWSURE_DATA=… python bench/studies/recalibration_table.py

Problems: relation-probabilities (1,759 rows of a 36-class softmax; is the top label right, and which of the 36 is right),
and naive Bayes on tweets (trained on the 2013 training set, recalibrated on the 2013 and 2014 test sets; is it positive,
and which of the three sentiments is it). Every gold label of relation-probabilities is the same class, so its 36-class
problem says nothing about probabilities: whatever has an intercept learns that class. It is printed with that warning.

scikit-learn's methods are those behind CalibratedClassifierCV: `_SigmoidCalibration` (fed with q, as it does for
classifiers with predict_proba, and with log-odds) and `IsotonicRegression(out_of_bounds="clip")`; for many classes one of
these a class, renormalised. Its log losses are bounded as ours, at 30.
"""

import json
import os
from pathlib import Path

import numpy as np
from scipy.special import expit, logit
from sklearn.calibration import _SigmoidCalibration
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.isotonic import IsotonicRegression
from sklearn.naive_bayes import MultinomialNB

from howsure.calibration.recalibration.choosing import losses
from howsure.calibration.recalibration.methods import BY_NAME, FOR_MANY_CLASSES, FOR_TWO_CLASSES, METHODS
from howsure.calibration.recalibration.recalibrator import random_folds

SEEDS = range(5)
N_FOLDS = 5
SENTIMENTS = ["negative", "neutral", "positive"]


def relation_probabilities():
    """The (n, 36) probabilities and the labels; gold relations that are no class are left out."""
    path = Path(os.environ["HOWSURE_DATA"]) / "relation-probabilities" / "predictions.jsonl"
    records = [json.loads(line) for line in path.open()]
    classes = sorted(records[0]["relation_probs"])
    records = [r for r in records if r["gold_relation"] in classes]
    p = np.array([[r["relation_probs"][c] for c in classes] for r in records])
    return p / p.sum(axis=1, keepdims=True), np.array([classes.index(r["gold_relation"]) for r in records])


def tweet_probabilities():
    """Three-class probabilities of a naive Bayes classifier, and the labels."""
    folder = Path(os.environ["HOWSURE_DATA"]) / "tweet-sentiment"

    def read(*names):
        lines = [line.split("\t") for name in names for line in (folder / name).read_text().splitlines()]
        rows = [r for r in lines if len(r) > 2]
        return [r[2] for r in rows], np.array([SENTIMENTS.index(r[1]) for r in rows])

    words = CountVectorizer(min_df=2)
    train, y_train = read("twitter-2013train-A.txt")
    test, y = read("twitter-2013test-A.txt", "twitter-2014test-A.txt")
    model = MultinomialNB().fit(words.fit_transform(train), y_train)
    return model.predict_proba(words.transform(test)), y


class ScikitLearn:
    """One of scikit-learn's curves: on q, or on log-odds."""

    def __init__(self, make, log_odds=False):
        self.make, self.log_odds = make, log_odds

    def _x(self, q):
        return logit(np.clip(q, 1e-13, 1 - 1e-13)) if self.log_odds else q

    def fit(self, q, y):
        self.made = self.make().fit(self._x(q), y)
        return self

    def transform(self, q):
        return np.clip(self.made.predict(self._x(q)), 0.0, 1.0)


class OneVersusRest:
    """A curve a class, renormalised, as CalibratedClassifierCV does."""

    def __init__(self, make):
        self.make = make

    def fit(self, p, y):
        self.made = [self.make().fit(p[:, k], (y == k).astype(int)) for k in range(p.shape[1])]
        return self

    def transform(self, p):
        q = np.stack([m.transform(p[:, k]) for k, m in enumerate(self.made)], axis=1)
        total = q.sum(axis=1, keepdims=True)
        return np.where(total > 0, q / np.where(total > 0, total, 1.0), 1.0 / q.shape[1])


def cross_validated(make, p, y):
    """Mean held-out log loss and Brier score over folds, and over seeds of the folds."""
    made = np.empty((len(SEEDS), 2))
    for seed in SEEDS:
        fold = random_folds(len(y), N_FOLDS, None, seed)
        log_loss, brier = np.empty(len(y)), np.empty(len(y))
        for f in range(N_FOLDS):
            out = fold == f
            log_loss[out], brier[out] = losses(make().fit(p[~out], y[~out]).transform(p[out]), y[out])
        made[seed] = log_loss.mean(), brier.mean()
    return made.mean(axis=0)


def scikit_learn_methods(wrap=lambda make: make):
    def isotonic():
        return IsotonicRegression(out_of_bounds="clip")

    return {
        "scikit-learn sigmoid": wrap(lambda: ScikitLearn(_SigmoidCalibration)),
        "scikit-learn sigmoid, log-odds": wrap(lambda: ScikitLearn(_SigmoidCalibration, True)),
        "scikit-learn isotonic": wrap(lambda: ScikitLearn(isotonic)),
    }


def table(title, ours, theirs, p, y):
    print(f"\n{title}: {len(y):,} rows, {N_FOLDS} folds, {len(SEEDS)} seeds")
    print(f"  {'method':<32} {'log loss':>9} {'Brier':>9}")
    print(f"  {'no recalibration':<32} {losses(p, y)[0].mean():>9.4f} {losses(p, y)[1].mean():>9.4f}")
    for name, make in {**ours, **theirs}.items():
        log_loss, brier = cross_validated(make, p, y)
        print(f"  {name:<32} {log_loss:>9.4f} {brier:>9.4f}")


def simulated_errors(n=20_000, repeats=6):
    """√E(q̂ - p)² of each method on q = σ(1.5 logit p), the worst of some repeats: the first table of docs/evidence/theory.md."""
    laws = {
        "uniform": lambda rng, n: rng.random(n),
        "Beta(.3,.3)": lambda rng, n: rng.beta(0.3, 0.3, n),
        "Beta(2,2)": lambda rng, n: rng.beta(2, 2, n),
        "Beta(.2,2)": lambda rng, n: rng.beta(0.2, 2, n),
        "Beta(.05,.5)": lambda rng, n: rng.beta(0.05, 0.5, n),
        "logit N(0,2²)": lambda rng, n: expit(2 * rng.normal(size=n)),
    }
    methods = {name: METHODS[name] for name in FOR_TWO_CLASSES}
    methods["isotonic-platt, λ = 1"] = lambda: METHODS["isotonic-platt"](blend=False)
    methods |= {name: METHODS[name] for name in BY_NAME}
    print(f"\nSimulated: √E(q̂ - p)², worst of {repeats}, n = {n:,}")
    print(" " * 24 + "".join(f"{law:>14}" for law in laws))
    for name, make in methods.items():
        worst = []
        for draw in laws.values():
            errors = []
            for seed in range(repeats):
                rng = np.random.default_rng(seed)
                p, new = draw(rng, n), draw(rng, n)
                y = (rng.random(n) < p) * 1
                made = make().fit(expit(1.5 * logit(p)), y).transform(expit(1.5 * logit(new)))
                errors.append(np.sqrt(np.mean((made - new) ** 2)))
            worst.append(max(errors))
        print(f"  {name:<22}" + "".join(f"{e:>14.4f}" for e in worst), flush=True)


if __name__ == "__main__":
    simulated_errors()
    two = {name: METHODS[name] for name in (*FOR_TWO_CLASSES, *BY_NAME)}
    many = {name: METHODS[name] for name in FOR_MANY_CLASSES}
    rest = scikit_learn_methods(lambda make: lambda: OneVersusRest(make))
    p, y = relation_probabilities()
    table("Relations: is the top label right?", two, scikit_learn_methods(), p.max(axis=1), (p.argmax(axis=1) == y) * 1)
    table("Relations: which of the 36?", many, rest, p, y)
    if len(np.unique(y)) == 1:
        print("  (every label is the same class: this rewards intercepts and says nothing about probabilities)")
    p, y = tweet_probabilities()
    table("Tweets: is it positive?", two, scikit_learn_methods(), p[:, 2], (y == 2) * 1)
    table("Tweets: which of three sentiments?", many, rest, p, y)
