"""An engineer: is this model calibrated, where not, is B better than A, and can it be recalibrated?

    python examples/for_engineers.py

Two classifiers flag toxic comments; each gives a probability. The predictions are made up so that the truth is known: both
rank comments equally well, A is too sure of itself everywhere and most of all on Spanish, and B is right. Comments of a
thread are alike, so threads are what is independent. At the end A is recalibrated on held-out threads and checked on others.
"""

import textwrap

import numpy as np

import howsure

THREADS, COMMENTS = 600, 10


def predictions(seed=1):
    """A table as a data frame would hold it: thread, language, label, and the probabilities of A and B."""
    rng = np.random.default_rng(seed)
    thread = np.repeat(np.arange(THREADS), COMMENTS)
    language = np.where(rng.random(THREADS) < 0.3, "es", "en")[thread]
    logit = rng.normal(-1.0, 1.2, THREADS)[thread] + rng.normal(0.0, 1.2, len(thread))
    toxic = rng.random(len(thread)) < 1 / (1 + np.exp(-logit))
    sharp = np.where(language == "es", 2.2, 1.4)
    return {
        "thread": thread,
        "language": language,
        "toxic": toxic,
        "a": 1 / (1 + np.exp(-sharp * logit)),
        "b": 1 / (1 + np.exp(-logit)),
    }


def say(title, text):
    print(f"{title}\n{textwrap.indent(textwrap.fill(text, 76), '  ')}\n")


def main():
    table = predictions()
    held_out = table["thread"] < THREADS // 2
    test = {name: column[~held_out] for name, column in table.items()}

    checked = howsure.check(test["toxic"], test["a"], groups=test["thread"], by=test["language"])
    say("Is A calibrated?", checked.verdict)
    for s in checked.slices:
        print(f"  {s.name}: error {s.calibration.error.value:.3f}, adjusted p = {s.adjusted_p_value:.2g}")
    print()

    compared = howsure.compare(test["toxic"], {"a": test["a"], "b": test["b"]}, groups=test["thread"])
    say("Is B better?", compared.verdict)

    made = howsure.recalibrate(
        table["toxic"][held_out], table["a"][held_out], groups=table["thread"][held_out], method="auto"
    )
    say("Can A be recalibrated?", made.verdict)
    recalibrated = howsure.check(test["toxic"], made.transform(test["a"]), groups=test["thread"])
    say("On threads that the recalibrator has not seen", recalibrated.verdict)
    print(f"Error before: {checked.error}\nError after:  {recalibrated.error}")

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    checked.plot(axes[0]).set_title("A as it is")
    recalibrated.plot(axes[1]).set_title("A recalibrated")
    figure.savefig("engineer.svg")
    return checked, compared, recalibrated


if __name__ == "__main__":
    main()
