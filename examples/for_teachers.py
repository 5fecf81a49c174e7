"""A teacher or student: chance agreement, significance and smoothing, each on a page of numbers.

    python examples/for_teachers.py

Three lessons with made-up data. Annotators who call nearly everything a noun agree most of the time, and by chance. Of two
systems the worse one may be ahead on 200 items; on 5,000 the difference is certain. And a bigram model that gives the unseen no
probability has an infinite perplexity, while the smoothings that avoid this differ in whether their probabilities are right.
"""

import textwrap

import numpy as np

import howsure

SENTENCES = ["the {a} saw the {b}", "a {a} met a {b}", "the {a} and the {b} slept", "a {b} chased the {a} home"]
ANIMALS = ["fox", "hen", "dog", "cat", "owl", "hare", "mole", "crow", "wolf", "goat"]


def say(text):
    print(textwrap.indent(textwrap.fill(text, 76), "  "))


def agreement(rng, items=300):
    """Two annotators who both say "noun" nine times in ten, whatever the word."""
    labels = {name: np.where(rng.random(items) < 0.9, "noun", "other").tolist() for name in ("ann", "bob")}
    made = howsure.agree(labels, annotators="ann,bob")
    print(f"1. Agreement: raw {made.observed.value:.2f}, Cohen's kappa {made.pairs[0].kappa.value:+.2f}")
    say(made.verdict)
    return made


def significance(rng):
    """Accuracies of about 80% and 84%, on few items and on many."""
    made = {}
    for n in (200, 5_000):
        gold = rng.integers(0, 2, n)
        a, b = (np.where(rng.random(n) < accuracy, gold, 1 - gold) for accuracy in (0.80, 0.84))
        made[n] = howsure.compare(gold, y_preds={"a": a, "b": b}, metric="accuracy")
        print(f"\n2. Is B better than A? On {n:,} items:")
        say(made[n].verdict)
    return made


def smoothing(rng):
    """Bigram models of one toy language, trained on 60 sentences and tried on 200 others."""
    draws = [SENTENCES[rng.integers(4)].format(a=rng.choice(ANIMALS), b=rng.choice(ANIMALS)) for _ in range(260)]
    train, test = draws[:60], draws[60:]
    print(f"\n3. Bigrams: {'smoothing':<22}{'perplexity':>12}{'calibration error':>20}")
    made = {}
    for name in ("mle", "laplace", "witten-bell", "kneser-ney"):
        model = howsure.lm.train(train, order=2, smoothing=name)
        perplexity = howsure.lm.perplexity(model, test).perplexity
        made[name] = howsure.lm.check(model, test)
        print(f"   {'':<9}{name:<22}{perplexity:>12.2f}{made[name].error.value:>20.3f}")

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    for ax, name in zip(axes, ("laplace", "witten-bell"), strict=True):
        made[name].plot(ax).set_title(f"the next word, {name}")
    figure.savefig("teacher.svg")
    return made


def main():
    rng = np.random.default_rng(2)
    return agreement(rng), significance(rng), smoothing(rng)


if __name__ == "__main__":
    main()
