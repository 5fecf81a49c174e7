"""Speed of chains beside hmmlearn and CRFsuite: made-up text (and EWT, where there are corpora), everything interleaved in one run, as ratios.

    python bench/speed/chain_speed.py

Times are the best of several rounds. Training is measured on one thread, as CRFsuite trains, and on two.
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pycrfsuite
from goals import heading, row
from hmmlearn.hmm import CategoricalHMM

from howsure.corpora.reading import corpus_path
from howsure.models.taggers.crf import read_crfsuite, state_scores
from howsure.models.taggers.training import CrfTrainer, lbfgs
from howsure.posteriors.chain import ChainPosterior
from howsure.verbs.tagger import tagged

N_TAGS, N_WORDS, ROUNDS = 45, 6_000, 5


def made_text(n_sentences, seed):
    """Sentences of a random HMM whose words look like words."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    shapes = np.random.default_rng(7)
    words = ["".join(shapes.choice(letters[:18], int(shapes.integers(2, 11)))) for _ in range(N_WORDS)]
    transition = shapes.dirichlet(np.full(N_TAGS, 0.1), N_TAGS)
    emission = shapes.dirichlet(np.full(N_WORDS, 0.01), N_TAGS)
    lengths = rng.integers(3, 35, n_sentences)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    move, emit = transition.cumsum(axis=1), emission.cumsum(axis=1)
    tags = np.empty(starts[-1], np.int64)
    u, v = rng.random(starts[-1]), rng.random(starts[-1])
    first = np.zeros(starts[-1], bool)
    first[starts[:-1]] = True
    for t in range(len(tags)):
        tags[t] = rng.integers(N_TAGS) if first[t] else np.searchsorted(move[tags[t - 1]], u[t])
    tags = np.minimum(tags, N_TAGS - 1)
    codes = np.array([np.searchsorted(emit[k], x) for k, x in zip(tags, v, strict=True)]).clip(0, N_WORDS - 1)
    return [words[c] for c in codes], starts, [f"T{k}" for k in tags], codes, transition, emission


def best(rounds, *works):
    """Least (seconds, CPU seconds) of each of several works, taken in turn."""
    seconds = [[] for _ in works]
    for _ in range(rounds):
        for kept, work in zip(seconds, works, strict=True):
            began, cpu = time.perf_counter(), time.process_time()
            work()
            kept.append((time.perf_counter() - began, time.process_time() - cpu))
    return [(min(w for w, _ in s), min(c for _, c in s)) for s in seconds]


def report(what, ours, theirs, clock=None, processor=None):
    """By the clock (all cores; noisy on a busy machine) and by processor time (what one core would take)."""
    row(what, ours[0], theirs[0], at_least=clock)
    row("  processor time", ours[1], theirs[1], at_least=processor)


def hmm_marginals():
    _, starts, _, codes, transition, emission = made_text(3_000, 1)
    logging.disable(logging.CRITICAL)
    peer = CategoricalHMM(N_TAGS, implementation="scaling")
    peer.startprob_, peer.transmat_, peer.emissionprob_ = np.full(N_TAGS, 1 / N_TAGS), transition, emission
    peer.n_features = N_WORDS
    lengths, column = np.diff(starts), codes[:, None]
    with np.errstate(divide="ignore"):
        log_emission, log_transition = np.log(np.maximum(emission.T, 1e-40)), np.log(np.maximum(transition, 1e-40))

    def ours():
        return ChainPosterior(log_emission, log_transition, starts=starts, rows=codes).marginals()  # as `Hmm.posterior`

    def theirs():
        return peer.predict_proba(column, lengths)

    np.testing.assert_allclose(ours(), theirs(), atol=1e-6)
    heading("tag chains")
    report(f"HMM marginals, {len(codes):,} tokens; hmmlearn", *best(2 * ROUNDS, ours, theirs), 10, 10)


def pairs():
    _, starts, _, codes, transition, emission = made_text(6_000, 2)
    scores, move = np.log(np.maximum(emission.T, 1e-40))[codes], np.log(np.maximum(transition, 1e-40))
    names = [(f"{i}", f"{j}") for i in range(10) for j in range(10)]
    total = np.zeros(len(names))

    def consume(_tokens, q):
        np.add(total, q.sum(axis=0), out=total)

    def tokens():
        ChainPosterior(scores, move, starts=starts).marginals()

    def both():
        ChainPosterior(scores, move, starts=starts).pairs(names, consume)

    tokens()
    both()
    alone, with_pairs = best(ROUNDS, tokens, both)
    what = f"100 streamed pairs, {len(codes):,} tokens; token marginals alone"
    row(what, with_pairs[0], alone[0], at_most=3)
    row("  processor time", with_pairs[1], alone[1], at_most=3)
    for part in (2, 1):
        few = starts[: len(starts) // part]
        chain = ChainPosterior(scores[: few[-1]], move, starts=few)
        chain.marginals()
        tracemalloc.start()
        again = ChainPosterior._of(chain._chain, chain.tags)
        again.pairs(names, consume)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        extra = peak - again.marginals().nbytes
        row(f"  extra memory for pairs of {few[-1]:,} tokens", extra / 2**20, unit="MB")


def training_text():
    """3,000 sentences of EWT where there are corpora; else made up."""
    if os.environ.get("HOWSURE_DATA"):
        words, starts, tags, _ = tagged(corpus_path("ewt", "en_ewt-ud-train.conllu"), None)
        starts = starts[:3_001]
        return words[: starts[-1]], starts, tags[: starts[-1]]
    return made_text(2_500, 3)[:3]


def crf():
    words, starts, tags = training_text()
    trainer = CrfTrainer(words, starts, tags, "advanced")
    names, f = trainer.table.names, trainer.features
    items = [[names[i] for i in f.ids[f.ptr[t] : f.ptr[t + 1]]] for t in range(len(f))]
    peer = pycrfsuite.Trainer(verbose=False)
    for a, z in itertools.pairwise(starts):
        peer.append(items[a:z], tags[a:z])
    iterations = 12
    peer.set_params({"c1": 0.0, "c2": 0.1, "max_iterations": iterations, "delta": 1e-12, "epsilon": 1e-12})
    objective = trainer.objective(0.1)
    seconds: dict[str, list[tuple[float, float]]] = {"one": [], "two": [], "peer": []}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "model"))

        def trained(threads):
            w = lbfgs(objective, None, iterations, 1e-12, lambda i, loss, w: bool(done.append((i, loss))), threads)
            return w, len(done)

        for _ in range(3):
            for name, work in (
                ("one", lambda: trained(1)),
                ("two", lambda: trained(2)),
                ("peer", lambda: (peer.train(path), iterations)),
            ):
                done = []
                began, cpu = time.perf_counter(), time.process_time()
                made, n = work()
                seconds[name].append(((time.perf_counter() - began) / n, (time.process_time() - cpu) / n))
                if name == "one":
                    w, ours = made, done[-1][1]
        one, two, theirs = (tuple(min(x) for x in zip(*s, strict=True)) for s in seconds.values())
        report("CRF training, an iteration on one thread; CRFsuite", one, theirs, 3, 3)
        report("CRF training, an iteration on two threads; CRFsuite on its one", two, theirs, 4)
        losses = ours, peer.logparser.last_iteration["loss"]
        print(
            f"  {len(words):,} tokens, {len(w):,} weights; loss after {iterations}: {losses[0]:.3f} and {losses[1]:.3f}"
        )
        model = read_crfsuite(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        index = model.features.index
        few = starts[:601]
        numbered = [[index[x] for x in token if x in index] for token in items[: few[-1]]]
        from howsure.models.taggers.features import TokenFeatures

        tokens = TokenFeatures(
            np.concatenate([[0], np.cumsum([len(x) for x in numbered])]),
            np.array([i for x in numbered for i in x], np.int32),
        )
        sequences = [pycrfsuite.ItemSequence(items[a:z]) for a, z in itertools.pairwise(few)]
        labels = tagger.labels()

        def loop():
            made = []
            for k, sequence in enumerate(sequences):
                tagger.set(sequence)
                made.append([[tagger.marginal(y, t) for y in labels] for t in range(few[k + 1] - few[k])])
            return made

        def all_at_once():
            scores = state_scores(tokens, model.rows, model.weights, len(model.tags))
            return ChainPosterior(scores, model.transitions, starts=few, tags=model.tags).marginals()

        order = [model.tags.index(y) for y in labels]
        np.testing.assert_allclose(all_at_once()[:, order], np.concatenate([np.array(x) for x in loop()]), atol=1e-6)
        report(f"CRF marginals, {few[-1]:,} tokens; pycrfsuite's loop", *best(2 * ROUNDS, all_at_once, loop), 25, 25)
        tagger.close()


if __name__ == "__main__":
    for part in (hmm_marginals, crf, pairs):
        if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
            part()
