"""Exact pair probabilities beside 1,000 compiled samples with pair counting; resolving; memory. One run, best of several.

python bench/speed/coref_speed.py
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
from goals import heading, row, taken_by

from howsure.corpora.document import Document
from howsure.exploring.blocks import coref_path
from howsure.kernels.coreference.antecedents_compiled import pair_frequencies
from howsure.models.coreference.ranker import CorefModel
from howsure.posteriors import antecedents
from howsure.posteriors.antecedents import AntecedentPosterior

ROUNDS = 9
antecedents.COMPILED_FROM = 0  # compiled samples at every size


def posterior(n, spread=3.0):
    """Scores like a model's: sharp, and with a tenth to a quarter of the mentions new."""
    rng = np.random.default_rng(n)
    return AntecedentPosterior.from_scores(spread * rng.normal(size=(n, n)), rng.normal(size=n) * 2 + 2 * spread)


def exact(p):
    p._pairs = None
    p.pairs()


def sampled(p):
    pair_frequencies(p.samples(1000))


def compare(n, asked):
    p = posterior(n)
    exact(p), sampled(p)  # compiled before the clock starts
    pairs = [(taken_by(lambda: exact(p)), taken_by(lambda: sampled(p))) for _ in range(ROUNDS)]
    a, b = min(x for x, _ in pairs), min(y for _, y in pairs)
    off = np.abs(pair_frequencies(p.samples(1000)) - p.pairs()).max()
    row(f"N = {n:,}, exact pairs; 1,000 samples, off by up to {off:.3f}", 1e3 * a, 1e3 * b, at_least=asked, unit="ms")


def document(n):
    """A made-up document with n mentions."""
    rng = np.random.default_rng(0)
    names = [f"Name{k}" for k in range(60)]
    words, upos, relation, heads, starts = [], [], [], [], [0]
    for _ in range(n // 2):
        subject = "she" if rng.random() < 0.4 else str(rng.choice(names))
        begin = len(words)
        words += [subject, "saw", str(rng.choice(names)), "."]
        upos += ["PRON" if subject == "she" else "PROPN", "VERB", "PROPN", "PUNCT"]
        relation += ["nsubj", "root", "obj", "punct"]
        heads += [begin + 1, -1, begin + 1, begin + 1]
        starts.append(len(words))
    columns = {
        "upos": tuple(upos),
        "xpos": tuple(upos),
        "relation": tuple(relation),
        "lemma": tuple(w.lower() for w in words),
    }
    return Document("made-up", tuple(words), np.array(starts), columns, np.array(heads))


def resolve():
    model = CorefModel.load(coref_path(None))  # the one that ships
    d = document(1000)

    def work():
        p = model.posterior(d)
        assert len(p) == 1000
        p.pairs()
        p.minimum_risk()

    work()
    walls, cpus = [], []
    for _ in range(5):
        cpu = time.process_time()
        walls.append(taken_by(work))
        cpus.append(time.process_time() - cpu)
    row("a document of 1,000 mentions, features to exact clustering", min(walls), at_most=1)
    row("  processor time", min(cpus))


MEMORY = """
import numpy as np, resource, time
from howsure.posteriors import antecedents
from howsure.posteriors.antecedents import AntecedentPosterior
n = 5000
rng = np.random.default_rng(0)
scores = rng.normal(size=(n, n))
p = AntecedentPosterior.from_scores(scores, rng.normal(size=n) + 5)
del scores
start = time.perf_counter()
p.pairs()
took = time.perf_counter() - start
p.samples(100); p.best(); p.singletons(); p.n_entities()
print(took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def main():
    heading("coreference")
    compare(200, 5)
    compare(1000, 2)
    resolve()
    out = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True).stdout.split()
    row("N = 5,000, exact pairs", float(out[0]))
    row("  peak memory, with 100 samples, best, number of entities", float(out[1]), at_most=1, unit="GB")


if __name__ == "__main__":
    main()
