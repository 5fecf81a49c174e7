"""HMM against CRF on real text: docs/studies/taggers-study.md, or one section of it on the terminal.

    python bench/studies/tagger_study.py                  # every section, then the page (about ten minutes of one core)
    python bench/studies/tagger_study.py ark temperature  # some sections only

Each section's lines are kept under build/tagger-study, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import sys
import time
from functools import cache
from pathlib import Path

import numpy as np

from howsure.calibration.analysis import analyse, cluster_rows
from howsure.calibration.comparing.difference import mean_difference
from howsure.calibration.comparing.result import compare_rows
from howsure.calibration.estimation.perfection import benjamini_hochberg
from howsure.calibration.sketch import sketch_rows
from howsure.corpora.reading import corpus_path
from howsure.corpora.tagged import read_penn, read_tagged
from howsure.models.taggers.crf import Crf
from howsure.models.taggers.features import SETS, tag_lexicon
from howsure.models.taggers.hmm import HmmCounts
from howsure.models.taggers.temperature import fit_temperature
from howsure.models.taggers.training import CrfTrainer
from howsure.posteriors.chain import accuracy, top_pairs
from howsure.verbs.tagger import tagged, train_tagger

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "tagger-study"
ITERATIONS = 60


@cache
def text(name):
    """(train, dev, test) of a corpus, each words, starts, tags, documents."""
    if name == "ewt":
        return [tagged(corpus_path("ewt", f"en_ewt-ud-{s}.conllu"), None) for s in ("train", "dev", "test")]
    if name == "ark":
        return [tagged(corpus_path("ark-tweets", f"oct27.{s}"), None) for s in ("train", "dev", "test")]
    if name == "chunks":
        train, test = (tagged(corpus_path("conll2000", f"{s}.txt"), "3") for s in ("train", "test"))
        return [train, None, test]
    if name == "wsj":
        files = sorted(corpus_path("treebank").glob("wsj_*.pos"))
        parts = [[f for f in files if a <= int(f.stem[4:]) <= b] for a, b in ((1, 149), (150, 174), (175, 199))]
        return [tagged(p, None) for p in parts]
    documents = {f.stem: f for f in sorted(corpus_path("gum", "dep").glob("*.conllu"))}
    split, of = "", {}
    for line in corpus_path("gum", "splits.md").read_text().splitlines():
        if line.startswith("## "):
            split = line[3:].strip()
        elif "GUM_" in line:
            of[line.strip(" *")] = split
    # A third of the training documents is enough to learn the common kinds.
    chosen = {"train": [], "test": []}
    for k, (stem, f) in enumerate(documents.items()):
        where = of.get(stem, "train")
        if where == "test" or (where == "train" and k % 3 == 0):
            chosen[where].append(f)
    return [
        tagged(read_tagged(chosen["train"], "entity"), None),
        None,
        tagged(read_tagged(chosen["test"], "entity"), None),
    ]


def brown():
    """Words and tags of the Brown corpus, as a dictionary for web text."""
    documents = [read_penn(f) for f in sorted(corpus_path("brown").glob("c[a-r][0-9][0-9]"))]
    return [w for d in documents for w in d.words], [t for d in documents for t in d.column("tag")]


@cache
def crf(name, features="advanced", l2=0.1, sentences=None):
    """A trained CRF, kept on disk beside the sections."""
    kept = KEPT / f"{name}.{features}.{l2:g}.{sentences or 'all'}.npz"
    if kept.exists():
        return Crf.load(kept)
    words, starts, tags, _ = text(name)[0]
    if sentences is not None:
        starts = starts[: sentences + 1]
        words, tags = words[: starts[-1]], tags[: starts[-1]]
    lexicon = None
    if "lexicon" in features:
        lexicon = tag_lexicon(*(brown() if name == "ewt" else text("ewt")[0][0:3:2]))
    began = time.perf_counter()
    made = CrfTrainer(words, starts, tags, features, lexicon).fit(l2=l2, max_iterations=ITERATIONS)
    print(f"  {name} {features} l2={l2:g} in {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    made.save(kept)
    return made


def chosen(name):
    """The CRF of `howsure tagger train crf --dev`: the regulariser of the best accuracy on dev, up to 150 iterations."""
    kept = KEPT / f"{name}.advanced.chosen.npz"
    if not kept.exists():
        paths = [corpus_path(name, f"en_ewt-ud-{part}.conllu") for part in ("train", "dev")]
        train_tagger(paths[0], dev=paths[1], features="advanced", max_iterations=150).save(kept)
    return Crf.load(kept)


@cache
def hmm(name):
    """The HMM whose pseudocount is best on dev."""
    train, dev, _ = text(name)
    counts = HmmCounts(*train[:3])
    made = [counts.fit(pseudocount=a) for a in (0.0001, 0.001, 0.01, 0.1, 1.0)]
    return max(made, key=lambda m: accuracy(m.posterior(dev[0], dev[1]), dev[2]))


@cache
def on(name, model, part):
    """(posterior, gold numbers, group of each token) on dev (1) or test (2)."""
    words, starts, tags, _ = text(name)[part]
    posterior = model.posterior(words, starts)
    return posterior, posterior.codes(tags), posterior.sentence


def error(y, q, group):
    """RMS calibration error with its clustered interval, as text."""
    sketch = sketch_rows(y.astype(np.uint8), np.ascontiguousarray(np.minimum(q, 1.0)))
    table = cluster_rows(sketch, y.astype(np.uint8), np.ascontiguousarray(np.minimum(q, 1.0)), group, None, 0.95)
    e = analyse(sketch, clusters=table).error
    return f"{e.value:.4f} [{e.low:.4f}, {e.high:.4f}]"


def top_label(name, model):
    posterior, gold, group = on(name, model, 2)
    predicted = posterior.mbr_tags()
    return (predicted == gold), posterior.marginals()[np.arange(len(gold)), predicted], group


def scores(name, model):
    right, q, group = top_label(name, model)
    m = mean_difference(right.astype(float), group, 0.95)
    return f"{m.value:.4f} [{m.low:.4f}, {m.high:.4f}]", error(right, q, group)


def ewt():
    yield "| EWT test | accuracy | RMS error of the predicted tag |\n|---|---|---|"
    for label, model in (
        ("HMM", hmm("ewt")),
        ("CRF, advanced", crf("ewt")),
        ("CRF, advanced, l2 chosen on dev, 150 iterations", chosen("ewt")),
        ("CRF, advanced and a lexicon (Brown's tags), l2 = 0.5", crf("ewt", "advanced,lexicon", 0.5)),
    ):
        yield "| {} | {} | {} |".format(label, *scores("ewt", model))


def wsj():
    yield '| WSJ sample, test | accuracy | RMS error of the predicted tag | of "is it NN?" |\n|---|---|---|---|'
    for label, model in (
        ("HMM", hmm("wsj")),
        ("CRF, basic, l2 = 0.5", crf("wsj", "basic", 0.5)),
        ("CRF, advanced", crf("wsj")),
    ):
        posterior, gold, group = on("wsj", model, 2)
        answers = posterior.tag_is("NN")
        yield "| {} | {} | {} | {} |".format(
            label, *scores("wsj", model), error(answers.y_true(gold), answers.y_prob, group)
        )


def ark():
    yield '| ARK tweets, test | accuracy | RMS error of the predicted tag | of "is it V?" |\n|---|---|---|---|'
    models = (
        ("HMM", hmm("ark")),
        ("CRF, basic, l2 = 0.5", crf("ark", "basic", 0.5)),
        ("CRF, advanced", crf("ark")),
        ("CRF, advanced and a lexicon (EWT's tags)", crf("ark", "advanced,lexicon")),
    )
    for label, model in models:
        posterior, gold, group = on("ark", model, 2)
        answers = posterior.tag_is("V")
        yield "| {} | {} | {} | {} |".format(
            label, *scores("ark", model), error(answers.y_true(gold), answers.y_prob, group)
        )


def ablation():
    yield "| features (ARK tweets, test) | accuracy | RMS error of the predicted tag |\n|---|---|---|"
    for features in ("basic", *(f"advanced-{t}" for t in SETS["advanced"]), "advanced", "advanced,lexicon"):
        yield "| {} | {} | {} |".format(features, *scores("ark", crf("ark", features)))


def matched():
    """The CRF with what the HMM sees (words, and the class of a word), on as many sentences as give its accuracy."""
    _train, dev, _ = text("ewt")
    generative = hmm("ewt")
    target = accuracy(generative.posterior(dev[0], dev[1]), dev[2])
    found = []
    for n in (6000, 9000, 12_544):
        model = crf("ewt", "word,class", 0.1, n)
        found.append((abs(accuracy(model.posterior(dev[0], dev[1]), dev[2]) - target), n, model))
    return generative, min(found, key=lambda f: f[0])[2], min(found, key=lambda f: f[0])[1]


def compare_events(rows):
    """Rows of (name, y, q_hmm, q_crf, groups): how many each model is better on, and significantly so (BH at 5%)."""
    found = []
    for name, y, a, b, group in rows:
        _, pairs = compare_rows(
            y.astype(np.uint8),
            {"hmm": np.ascontiguousarray(np.minimum(a, 1.0)), "crf": np.ascontiguousarray(np.minimum(b, 1.0))},
            group, 0.95, None,
        )  # fmt: skip
        found.append((name, -pairs[0].error_squared))
    adjusted = benjamini_hochberg([d.p_value for _, d in found])
    better = {m: [0, 0] for m in ("HMM", "CRF")}
    for (_, d), p in zip(found, adjusted, strict=True):
        side = better["HMM" if d.value < 0 else "CRF"]
        side[0] += 1
        side[1] += p is not None and p < 0.05
    return len(found), better


def calibration():
    generative, discriminative, n = matched()
    a, gold, group = on("ewt", generative, 2)
    b, _gold_b, _ = on("ewt", discriminative, 2)
    # Tags by name: the two models number them differently.
    shared = [t for t in a.tags if t in b.tags]
    qa, qb = a.marginals()[:, a.codes(shared)], b.marginals()[:, b.codes(shared)]
    y = gold[:, None] == a.codes(shared)[None, :]
    yield f"The CRF sees what the HMM sees (the word, and the class of a word) and is trained on {n:,} of 12,544 sentences, the number whose accuracy on dev is nearest the HMM's.\n"
    yield "| EWT test | accuracy | RMS error, predicted tag | RMS error, all (token, tag) events |\n|---|---|---|---|"
    for label, model, q in (("HMM", generative, qa), ("CRF", discriminative, qb)):
        every = error(y.ravel(), q.ravel(), np.repeat(group, len(shared)))
        yield "| {} | {} | {} | {} |".format(label, *scores("ewt", model), every)
    rows = [(t, y[:, k], qa[:, k], qb[:, k], group) for k, t in enumerate(shared) if y[:, k].sum() >= 10]
    total, better = compare_events(rows)
    yield "\n| better calibrated | questions | HMM | significantly | CRF | significantly |\n|---|---|---|---|---|---|"
    yield f"| single tags (10 or more in test) | {total} | {better['HMM'][0]} | {better['HMM'][1]} | {better['CRF'][0]} | {better['CRF'][1]} |"
    names = top_pairs(a, gold, 100)
    answers = []
    for x, y in names:
        left, right = a.tags_are(x, y), b.tags_are(x, y)
        answers.append((f"{x} {y}", left.y_true(gold), left.y_prob, right.y_prob, group[left.start]))
    for most in (5, 100):
        total, better = compare_events(answers[:most])
        yield f"| top {most} tag pairs | {total} | {better['HMM'][0]} | {better['HMM'][1]} | {better['CRF'][0]} | {better['CRF'][1]} |"
    errors = {m: [] for m in ("HMM", "CRF")}
    for _, y, qh, qc, g in answers:
        for m, q in (("HMM", qh), ("CRF", qc)):
            errors[m].append(float(error(y, q, g).split()[0]))
    for most in (5, 100):
        yield f"\nMean RMS error over the top {most} pairs: HMM {np.mean(errors['HMM'][:most]):.4f}, CRF {np.mean(errors['CRF'][:most]):.4f}."


def spans():
    yield "| spans (test) | candidates | spans | RMS error | expected less true number |\n|---|---|---|---|---|"
    for name, kinds in (
        ("chunks", ("NP", "VP", "PP", "ADJP", "ADVP")),
        ("gum", ("person", "place", "organization", "event", "object")),
    ):
        posterior, gold, _ = on(name, crf(name), 2)
        for kind in kinds:
            answers = posterior.span_is(kind)
            y = answers.y_true(gold)
            group = np.unique(answers.sentence, return_inverse=True)[1]
            yield f"| {name} {kind} | {len(y):,} | {int(y.sum()):,} | {error(y, answers.y_prob, group)} | {answers.expected - y.sum():+.0f} |"


def temperature():
    yield "Differences are tempered less untempered: below 0 is better.\n"
    yield "| temperature fitted on dev | T | log loss per sequence, difference | token log loss, difference | squared RMS error of the predicted tag, difference |\n|---|---|---|---|---|"
    for label, name, model in (
        ("EWT, CRF", "ewt", crf("ewt")),
        ("EWT, HMM", "ewt", hmm("ewt")),
        ("ARK, CRF", "ark", crf("ark", "advanced,lexicon")),
        ("ARK, HMM", "ark", hmm("ark")),
    ):
        fitted = fit_temperature(*on(name, model, 1)[:2])
        posterior, gold, group = on(name, model, 2)
        warm = posterior.tempered(fitted.temperature)
        known = gold >= 0
        items = np.flatnonzero(known)
        loss = -np.log(warm.marginals()[items, gold[items]]) + np.log(posterior.marginals()[items, gold[items]])
        token = mean_difference(loss, np.unique(group[items], return_inverse=True)[1], 0.95)
        whole = warm.log_probability(gold) - posterior.log_probability(gold)
        whole = mean_difference(-whole[np.isfinite(whole)], None, 0.95)
        right, q, _ = top_label(name, model)
        predicted = posterior.mbr_tags()
        _, pairs = compare_rows(
            right.astype(np.uint8),
            {"tempered": np.minimum(warm.marginals()[np.arange(len(gold)), predicted], 1.0), "plain": np.minimum(q, 1.0)},
            group, 0.95, None,
        )  # fmt: skip
        yield f"| {label} | {fitted.temperature:.3f} | {whole!r} | {token!r} | {-pairs[0].error_squared!r} |"


def downstream():
    yield "Noun phrases of a sentence: counted in the one best sequence, and expected under the posterior, against gold.\n"
    yield "| noun phrases per sentence | gold | 1-best | expected | RMSE of 1-best | RMSE of expected | difference of squared errors |\n|---|---|---|---|---|---|---|"
    for name in ("chunks", "chunks, 300 sentences"):
        model = crf("chunks") if name == "chunks" else crf("chunks", "advanced", 0.1, 300)
        posterior, gold, sentence = on("chunks", model, 2)
        code = int(posterior.codes(["B-NP"])[0])
        n = posterior.n_sentences
        true = np.bincount(sentence, gold == code, n)
        best = np.bincount(sentence, posterior.best().tags[:, 0] == code, n)
        expected = np.bincount(sentence, posterior.marginals()[:, code], n)
        d = mean_difference((expected - true) ** 2 - (best - true) ** 2, None, 0.95)
        rmse = [np.sqrt(np.mean((x - true) ** 2)) for x in (best, expected)]
        yield f"| {name} | {true.mean():.3f} | {best.mean():.3f} | {expected.mean():.3f} | {rmse[0]:.4f} | {rmse[1]:.4f} | {d!r} |"
    posterior, gold, sentence = on("ark", crf("ark"), 2)
    yield "\nNouns next to each other as one phrase (ARK tweets; a count that no marginal gives, from 100 samples):\n"
    yield "| phrases per tweet | gold | 1-best | mean of samples | RMSE of 1-best | RMSE of mean | difference of squared errors |\n|---|---|---|---|---|---|---|"
    nouns = posterior.codes([t for t in ("N", "^", "S", "Z") if t in posterior.tags])
    first = np.zeros(len(gold), bool)
    first[posterior.starts[:-1]] = True

    def phrases(codes):
        noun = np.isin(codes, nouns)
        return np.bincount(sentence, noun & (first | ~np.roll(noun, 1)), posterior.n_sentences)

    true, best = phrases(gold), phrases(posterior.best().tags[:, 0])
    mean = np.mean([phrases(s) for s in posterior.samples(100, 0)], axis=0)
    d = mean_difference((mean - true) ** 2 - (best - true) ** 2, None, 0.95)
    rmse = [np.sqrt(np.mean((x - true) ** 2)) for x in (best, mean)]
    yield f"| ARK | {true.mean():.3f} | {best.mean():.3f} | {mean.mean():.3f} | {rmse[0]:.4f} | {rmse[1]:.4f} | {d!r} |"


SECTIONS = {
    "ark": ("Tweets", ark),
    "ablation": ("Which features matter", ablation),
    "wsj": ("Newswire", wsj),
    "ewt": ("Web text", ewt),
    "calibration": ("HMM against CRF at the same accuracy", calibration),
    "temperature": ("Structured recalibration: one temperature", temperature),
    "spans": ("Chunks and entities", spans),
    "downstream": ("Counting with the posterior", downstream),
}

HEAD = """# Taggers on real text

Written by `make tagger-study` (bench/studies/tagger_study.py). Accuracy is that of the tag of largest marginal. Errors are RMS calibration
errors with 95% intervals; sentences (tweets) are what is independent. Splits: DATA folders' own; WSJ by file (0001-0149, 0150-0174,
0175-0199); a third of GUM's training documents. CRFs: l2 = 0.1 unless said, L-BFGS, at most 60 iterations (80 in
the sections on tweets, features and newswire), which on EWT is short of convergence.
"""


def main(wanted):
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in wanted or SECTIONS:
        kept = KEPT / f"{name}.md"
        if wanted or not kept.exists():
            kept.write_text("\n".join(SECTIONS[name][1]()) + "\n")
        print(kept.read_text(), flush=True)
    parts = [
        f"## {title}\n\n{(KEPT / f'{name}.md').read_text()}"
        for name, (title, _) in SECTIONS.items()
        if (KEPT / f"{name}.md").exists()
    ]
    if parts:
        (ROOT / "docs" / "studies" / "taggers-study.md").write_text("\n".join([HEAD, *parts]))


if __name__ == "__main__":
    main(sys.argv[1:])
