"""Does it help to hand on doubt from stage to stage, and does recalibration help then? docs/studies/pipeline-study.md.

    python bench/studies/pipeline_study.py           # every section, then the page (about 10 minutes of one core)
    python bench/studies/pipeline_study.py tags      # one section: tags or entities

Needs EWT and GUM under HOWSURE_DATA. Models and each section's numbers are kept under build/pipeline-study.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

import howsure
from howsure.calibration.comparing.difference import mean_difference
from howsure.corpora.conllu import read_conllu
from howsure.corpora.coreference import gum_documents
from howsure.corpora.reading import corpus_path
from howsure.corpora.tagged import sentences_of
from howsure.english.annotating import reparsed
from howsure.english.shipped import SHIPPED, model
from howsure.evaluation.coreference import coreference_scores
from howsure.kernels.coreference.antecedents import linked_clusters
from howsure.models.coreference.ranker import fit_temperature as fit_coref_temperature
from howsure.models.coreference.ranker import gold_clusters
from howsure.models.parsers.arcs import ArcParser, gold_trees, train_arcs
from howsure.models.parsers.parser import fitted_temperature, held_out
from howsure.models.taggers.crf import Crf
from howsure.models.taggers.hmm import Hmm, HmmCounts
from howsure.models.taggers.temperature import fit_temperature
from howsure.models.taggers.training import CrfTrainer
from howsure.posteriors.mixture import drawn
from howsure.posteriors.trees import spanning_tree
from howsure.verbs.coref import mention_pairs, shipped_coref

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "pipeline-study"
PAGE = ROOT / "docs" / "studies" / "pipeline-study.md"
MODES = {"best": ("best", 1), "10 best": ("kbest", 10), "20 samples": ("samples", 20)}
DOCUMENT_MODES = {
    "best": ("best", 1),
    "5 best": ("kbest", 5),
    "10 samples": ("samples", 10),
}  # trees of whole documents
EVERY = 4  # every fourth test document of EWT; of GUM, the first document of each genre in each part
COUNTED = "nsubj"  # arcs with this label are counted by document
DRAWS = 200


def ewt(part):
    """Documents of EWT with universal tags only: what a tagger of these can hand on."""
    found = read_conllu(corpus_path("ewt", f"en_ewt-ud-{part}.conllu"))
    return [d.with_(columns={k: d.columns[k] for k in ("upos", "relation")}) for d in found]


def kept(name, kind, make):
    path = KEPT / name
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        began = time.process_time()
        make().save(path)
        print(f"  {name}: {time.process_time() - began:.0f} s of processor time", file=sys.stderr, flush=True)
    return kind.load(path)


def taggers():
    train = ewt("train")
    words, starts, _ = sentences_of(train)
    tags = [t for d in train for t in d.column("upos")]
    return {
        "CRF": kept("crf.npz", Crf, lambda: CrfTrainer(words, starts, tags, "advanced", None).fit(l2=0.1, max_iterations=40)),
        "HMM": kept("hmm.npz", Hmm, lambda: HmmCounts(words, starts, tags).fit(pseudocount=0.01)),
    }  # fmt: skip


def parts_of(d):
    """Each sentence as a document of its own."""
    for i, s in enumerate(d.sentences()):
        heads = np.where(d.heads[s] < 0, -1, d.heads[s] - s.start)
        columns = {k: v[s] for k, v in d.columns.items()}
        yield d.with_(name=f"{d.name} {i}", words=d.words[s], starts=np.array([0, s.stop - s.start]), columns=columns,
                      heads=heads, space_after=None, mentions=None, sentence_metadata=())  # fmt: skip


def tags():
    """Tags → arcs on EWT's test part, sentence by sentence."""
    arcs = kept("arcs.npz", ArcParser, lambda: train_arcs(ewt("train")))
    known = taggers()
    dev, test = ewt("dev"), ewt("test")[::EVERY]
    words, starts, _ = sentences_of(dev)
    gold_dev = [t for d in dev for t in d.column("upos")]
    t_parser = fitted_temperature(held_out(arcs, dev, [])).temperature
    t_tagger = {}
    for name, tagger in known.items():
        p = tagger.posterior(words, starts)
        t_tagger[name] = fit_temperature(p, p.codes(gold_dev)).temperature
    print("temperatures", t_parser, t_tagger, file=sys.stderr, flush=True)
    code = {x: i for i, x in enumerate(arcs.labels)}
    rows = defaultdict(list)
    counts = defaultdict(list)
    right_tags = {name: [] for name in known}
    for number, document in enumerate(test):
        for one in parts_of(document):
            gold, names = gold_trees([one])
            labels = np.array([code.get(x, -1) for x in names])
            cache = {}

            def trees(given, one=one, cache=cache):
                key = given.column("upos")
                if key not in cache:
                    cache[key] = next(arcs.posteriors([given]))
                return cache[key]

            def warm(given, trees=trees):
                return trees(given).tempered(t_parser)

            ways = {("gold tags", "", False): [(1.0, trees(one))], ("gold tags", "", True): [(1.0, warm(one))]}
            for name, tagger in known.items():
                raw = tagger.posterior(one.words, one.starts)
                right_tags[name].append(
                    (int((np.array(raw.names(raw.mbr_tags())) == np.array(one.column("upos"))).sum()), len(one))
                )
                for after in (False, True):
                    p = raw.tempered(t_tagger[name]) if after else raw
                    first = howsure.verbs.pipeline.Stage(
                        "tags", lambda d, p=p: p, outcome=lambda d, t: d.with_(columns=d.columns | {"upos": t})
                    )
                    for mode, (how, n) in MODES.items():
                        made = howsure.pipeline([first, warm if after else trees], mode=how, n=n)(one)
                        ways[name, mode, after] = [(x.weight, x.posterior) for x in made.parts]
            for key, parts in ways.items():
                q = sum(w * p.marginals() for w, p in parts)
                heads = spanning_tree(q)
                m = np.arange(len(heads))
                of_labels = sum(
                    w * p.marginals()[heads, m][:, None] * np.exp(p.label_log_prob[heads, m]) for w, p in parts
                )
                right = heads == gold
                both = right & (of_labels.argmax(axis=1) == labels)
                log_p = np.log(np.maximum(q[gold, m], 1e-12))
                brier = ((q - (np.arange(len(m) + 1)[:, None] == gold)) ** 2).sum(axis=0)
                rows[key].append(
                    np.column_stack([np.full(len(m), number), right, both, np.minimum(q[heads, m], 1.0), log_p, brier])
                )
                rng = np.random.default_rng([number, len(rows[key])])
                chosen = rng.choice(len(parts), DRAWS, p=np.array([w for w, _ in parts]) / sum(w for w, _ in parts))
                subject = [p.labelled_marginals()[..., code[COUNTED]].sum(axis=0) for _, p in parts]
                drawn_counts = (rng.random((DRAWS, len(m))) < np.array(subject)[chosen]).sum(axis=1)
                counts[key].append((number, int((labels == code[COUNTED]).sum()), drawn_counts))
        if number % 20 == 0:
            print(f"  {number} documents", file=sys.stderr, flush=True)
    made = {key: np.concatenate(parts) for key, parts in rows.items()}
    return {
        "temperatures": {"parser": t_parser, **t_tagger},
        "tags": {name: sum(a for a, _ in x) / sum(b for _, b in x) for name, x in right_tags.items()},
        "table": [{"way": list(key), **of_arcs(x), **coverage(counts[key])} for key, x in made.items()],
        "paired": paired(made),
        "sentences": sum(d.n_sentences for d in test),
        "documents": len(test),
        "words": sum(map(len, test)),
    }


def shown(e, digits=4):
    return [round(x, digits) for x in (e.value, e.low, e.high)]


def of_arcs(x):
    group = x[:, 0].astype(np.int64)
    mean = [mean_difference(x[:, k], group, 0.95, 0.0) for k in (1, 2)]
    error = howsure.check(x[:, 1].astype(int), x[:, 3], groups=group, rng=None).error
    return {"UAS": shown(mean[0]), "LAS": shown(mean[1]), "error": shown(error), "log loss": -x[:, 4].mean(), "Brier": x[:, 5].mean(),
            "bias": float((x[:, 3] - x[:, 1]).mean())}  # fmt: skip


def coverage(found):
    """How many documents' gold counts lie in the middle 95% of the draws."""
    gold, draws = defaultdict(int), defaultdict(int)
    for number, seen, made in found:
        gold[number] += seen
        draws[number] = draws[number] + made
    inside = [np.quantile(draws[d], 0.025) <= gold[d] <= np.quantile(draws[d], 0.975) for d in gold]
    return {"covered": float(np.mean(inside))}


def difference(a, b, group, sign=1.0):
    d = mean_difference(sign * (a - b), group, 0.95, -np.inf)
    return [*(float(f"{x:.3g}") for x in (d.value, d.low, d.high)), float(f"{d.p_value:.2g}")]


def paired(made):
    """Differences by document: each way less the best tags handed on, and after recalibration less before."""
    out = []
    for (name, mode, after), x in made.items():
        others = []
        if name != "gold tags" and mode != "best":
            others.append(("best", (name, "best", after)))
        if after:
            others.append(("before recalibration", (name, mode, False)))
        for said, other in others:
            y = made[other]
            group = x[:, 0].astype(np.int64)
            columns = {"UAS": (1, 1.0), "LAS": (2, 1.0), "log loss": (4, -1.0), "Brier": (5, 1.0)}
            out.append(
                {
                    "way": [name, mode, after],
                    "less": said,
                    **{k: difference(x[:, c], y[:, c], group, s) for k, (c, s) in columns.items()},
                }
            )
    return out


# -- parses → mentions → coreference ------------------------------------------------------------------------------------


def with_gold(parsed, gold):
    """The parse's tags with gold trees."""
    return parsed.with_(heads=gold.heads, columns=parsed.columns | {"relation": gold.columns["relation"]})


def entities():
    """Trees → mentions → entities on OntoGUM's test part; tags are those of the English pipeline."""
    arcs, coref = (
        ArcParser.load(SHIPPED / "arcs.npz").with_settings(temperature=1.0),
        shipped_coref().with_temperature(1.0),
    )
    dev, test = (list({d.name.split("_")[1]: d for d in gum_documents(x)[::-1]}.values()) for x in ("dev", "test"))
    parsed_dev, parsed = (list(reparsed(model(), x)) for x in (dev, test))
    both = [with_gold(p, g) for p, g in zip(parsed_dev, dev, strict=True)]
    t_parser = fitted_temperature(held_out(arcs, both, [])).temperature
    posteriors, gold = [], []
    run = howsure.pipeline([arcs, coref], mode="best")
    for p, g in zip(parsed_dev, dev, strict=True):
        (part,) = run(p.with_(mentions=None)).parts
        posteriors.append(part.posterior)
        gold.append(gold_clusters(g, part.given.mentions))
    t_coref = fit_coref_temperature(posteriors, gold)
    print("temperatures", t_parser, t_coref, file=sys.stderr, flush=True)
    found = defaultdict(list)
    for number, (p, g) in enumerate(zip(parsed, test, strict=True)):
        plain = p.with_(mentions=None)
        for tree_t in (1.0, t_parser):
            parser = arcs.with_settings(temperature=tree_t)
            for mode, (how, n) in DOCUMENT_MODES.items():
                if mode == "best" and tree_t != 1.0:
                    continue  # the best tree is the same
                made = howsure.pipeline([parser, coref], mode=how, n=n)(plain)
                for coref_t in (1.0, t_coref):
                    parts = tuple(
                        howsure.posteriors.mixture.Part(x.weight, x.given, x.posterior.tempered(coref_t))
                        for x in made.parts
                    )
                    after = (tree_t != 1.0, coref_t != 1.0)
                    found[mode, *after].append(judged(howsure.MixturePosterior(parts), g, coref.cut))
        for name, given in (("gold trees", with_gold(p, g).with_(mentions=None)), ("English pipeline", plain)):
            made = howsure.pipeline([coref], mode="best")(given)
            for coref_t in (1.0, t_coref):
                parts = tuple(
                    howsure.posteriors.mixture.Part(x.weight, x.given, x.posterior.tempered(coref_t))
                    for x in made.parts
                )
                found[name, False, coref_t != 1.0].append(judged(howsure.MixturePosterior(parts), g, coref.cut))
        print(f"  {number + 1} of {len(test)}", file=sys.stderr, flush=True)
    table, per = [], {}
    for key, each in found.items():
        pairs = [(x["gold"], x["system"]) for x in each]
        s = coreference_scores(pairs)
        y, q, group = (
            np.concatenate([x[k] if k != "g" else np.full(len(x["y"]), i) for i, x in enumerate(each)])
            for k in ("y", "q", "g")
        )
        error = howsure.check(y.astype(int), q, groups=group, rng=None).error
        per[key] = {"conll": np.array([coreference_scores([x], samples=0)["conll"].f1.value for x in pairs]), "loss": np.array([x["loss"] for x in each]),
                    "off": np.array([abs(x["n"] - x["mean"]) for x in each])}  # fmt: skip
        table.append({"way": list(key), "CoNLL": shown(s["conll"].f1), "B3": shown(s["b3"].f1), "error": shown(error), "bias": float((q - y).mean()), "loss": float(per[key]["loss"].mean()),
                      "covered": float(np.mean([x["inside"] for x in each])), "off": float(per[key]["off"].mean()), "found": float(np.mean([x["found"] for x in each]))})  # fmt: skip
    out = []
    for key, x in per.items():
        others = [("best", ("best", False, key[2]))] if key[0] in ("5 best", "10 samples") else []
        if key[1] or key[2]:
            others.append(("before recalibration", (key[0], False, False)))
        for said, other in others:
            if other in per:
                group = np.arange(len(x["loss"]))
                out.append(
                    {
                        "way": list(key),
                        "less": said,
                        **{k: difference(x[k], per[other][k], group) for k in ("conll", "loss", "off")},
                    }
                )
    return {"temperatures": {"parser": t_parser, "coref": t_coref}, "table": table, "paired": out, "documents": len(test),
            "words": sum(map(len, test))}  # fmt: skip


def judged(made, gold, cut):
    """A document's entities, pairs that could be links, squared error of all pairs for each gold link, and its number of entities."""
    s = howsure.span_pairs(made)
    clusters = linked_clusters(s.together, cut)
    sizes = np.bincount(clusters)
    system = [(span, str(c)) for span, c in zip(s.spans, clusters.tolist(), strict=True) if sizes[c] > 1]
    entity = {(m.start, m.end): m.entity for m in gold.mentions}
    names = np.array([entity.get(x, f"none {i}") for i, x in enumerate(s.spans)])
    i, j = np.tril_indices(len(names), -1)
    y, q = names[i] == names[j], s.together[i, j]
    every = sum(n * (n - 1) // 2 for n in np.unique([m.entity for m in gold.mentions], return_counts=True)[1])
    could = q >= 0.05
    numbers = []
    rng = np.random.default_rng(0)
    for n, part in zip(rng.multinomial(DRAWS, [p.weight for p in made.parts]), made.parts, strict=True):
        for row in drawn(part.posterior, int(n), rng) if n else []:
            numbers.append(int((np.unique(row, return_counts=True)[1] > 1).sum()))
    real = len({m.entity for m in gold.mentions}) - sum(
        n == 1 for n in np.unique([m.entity for m in gold.mentions], return_counts=True)[1]
    )
    low, high = np.quantile(numbers, (0.025, 0.975))
    return {
        "gold": mention_pairs(gold.mentions), "system": system, "y": y[could], "q": q[could],
        "loss": (float(((q - y) ** 2).sum()) + every - int(y.sum())) / max(every, 1), "inside": bool(low <= real <= high),
        "n": real, "mean": float(np.mean(numbers)),
        "found": float(np.mean([x in set(s.spans) for x in entity])),
    }  # fmt: skip


def main():
    wanted = sys.argv[1:] or ["tags", "entities"]
    for name in wanted:
        began = time.process_time()
        made = {"tags": tags, "entities": entities}[name]()
        made["seconds"] = time.process_time() - began
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{name}.json").write_text(json.dumps(made, indent=1))
        print(name, f"{made['seconds']:.0f} s of processor time", file=sys.stderr, flush=True)
    if all((KEPT / f"{n}.json").exists() for n in ("tags", "entities")):
        PAGE.write_text(
            page(*(json.loads((KEPT / f"{n}.json").read_text()) for n in ("tags", "entities"))), encoding="utf-8"
        )


def page(t, e):
    return ""


if __name__ == "__main__":
    main()
