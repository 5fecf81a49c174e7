"""A researcher: ask yes/no questions of structures, and check every kind of answer.

    python examples/for_researchers.py

First a tagger. Sentences are drawn from a hidden Markov model, so the right posterior is known; a second model has the same
parameters with all scores half as large again, as happens when training overfits. Three kinds of question are put to both:
is this token a noun, are these two a determiner and a noun, is this the noun phrase? Then one temperature, fitted on held-out
sentences, is applied to the chain's scores, and every answer changes consistently.

Then coreference. Antecedent probabilities are drawn, and a gold clustering from them, so that the exact pair probabilities
are calibrated by construction. Estimating the same probabilities from ten sampled clusterings makes the model look worse.
"""

import textwrap

import numpy as np

import howsure
from howsure.models.taggers.temperature import fit_temperature

TAGS = ["B-NP", "I-NP", "O"]
TRANSITIONS = np.log([[0.1, 0.7, 0.2], [0.15, 0.35, 0.5], [0.45, 1e-9, 0.55]])
EMISSIONS = np.log([[0.5, 0.2, 0.1, 0.1, 0.1], [0.1, 0.2, 0.5, 0.1, 0.1], [0.1, 0.1, 0.1, 0.3, 0.4]])
INITIAL = np.log([0.5, 1e-9, 0.5])
QUESTIONS = {
    "is this token inside?": lambda chain: chain.tag_is("I-NP"),
    "B-NP, then I-NP?": lambda chain: chain.tags_are("B-NP", "I-NP"),
    "is this the phrase?": lambda chain: chain.span_is("NP"),
}


def sentences(count, rng, length=12):
    """Gold tags and words, one row a sentence, drawn from the model."""
    tags = np.empty((count, length), int)
    tags[:, 0] = [rng.choice(3, p=np.exp(INITIAL) / np.exp(INITIAL).sum()) for _ in range(count)]
    for t in range(1, length):
        p = np.exp(TRANSITIONS[tags[:, t - 1]])
        tags[:, t] = (rng.random((count, 1)) > np.cumsum(p / p.sum(1, keepdims=True), 1)).sum(1)
    p = np.exp(EMISSIONS[tags])
    words = (rng.random((*tags.shape, 1)) > np.cumsum(p / p.sum(-1, keepdims=True), -1)).sum(-1)
    return tags.ravel(), words.ravel(), np.arange(count + 1) * length


def posterior(words, starts, sharpness):
    """The posterior of all sentences, with every score multiplied by `sharpness`."""
    return howsure.ChainPosterior(
        sharpness * EMISSIONS.T[words], sharpness * TRANSITIONS, starts=starts, initial=sharpness * INITIAL, tags=TAGS
    )


def errors(chain, gold):
    """The calibration of each kind of question; sentences are what is independent."""
    made = {}
    for name, ask in QUESTIONS.items():
        answers = ask(chain)
        made[name] = howsure.check(answers.y_true(gold), answers.y_prob, groups=answers.sentence)
    return made


def coreference(rng, documents=150, mentions=12):
    """Pairs of mentions: whether they corefer, the exact probability, and its estimate from ten samples."""
    truth, exact, sampled, document = [], [], [], []
    rows, columns = np.tril_indices(mentions, -1)
    for d in range(documents):
        scores = np.tril(rng.normal(0.0, 2.0, (mentions, mentions)), -1)
        p = howsure.AntecedentPosterior.from_scores(scores, rng.normal(2.0, 1.0, mentions), name=f"d{d}")
        gold, *draws = p.samples(11, rng=rng)
        truth.append(gold[rows] == gold[columns])
        exact.append(p.pairs()[rows, columns])
        sampled.append(np.mean([s[rows] == s[columns] for s in draws], axis=0))
        document.append(np.full(len(rows), d))
    return tuple(np.concatenate(x) for x in (truth, exact, sampled, document))


def main():
    rng = np.random.default_rng(2015)
    gold, words, starts = sentences(2_000, rng)
    dev_gold, dev_words, dev_starts = sentences(500, rng)
    right, sharp = posterior(words, starts, 1.0), posterior(words, starts, 1.5)
    fitted = fit_temperature(posterior(dev_words, dev_starts, 1.5), dev_gold)
    cooled = sharp.tempered(fitted.temperature)

    print(f"RMS calibration error; temperature fitted on held-out sentences: {fitted.temperature:.2f}\n")
    print(f"  {'question':<24}{'right model':>13}{'too sharp':>13}{'tempered':>13}")
    found = {name: errors(chain, gold) for name, chain in (("right", right), ("sharp", sharp), ("cooled", cooled))}
    for question in QUESTIONS:
        print(f"  {question:<24}" + "".join(f"{made[question].error.value:>13.4f}" for made in found.values()))
    said = f"Of the sharp model's tokens: {found['sharp']['is this token inside?'].verdict}"
    print(f"\n{textwrap.fill(said, 78)}\n")

    truth, exact, sampled, document = coreference(rng)
    pairs = howsure.check(truth, exact, groups=document), howsure.check(truth, sampled, groups=document)
    print(f"Coreferent pairs, exact probabilities: error {pairs[0].error}")
    print(f"The same pairs, ten samples:           error {pairs[1].error}")

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    found["sharp"]["is this the phrase?"].plot(axes[0]).set_title("is this the phrase? (too sharp)")
    found["cooled"]["is this the phrase?"].plot(axes[1]).set_title("is this the phrase? (tempered)")
    figure.savefig("researcher.svg")
    return found, pairs, fitted


if __name__ == "__main__":
    main()
