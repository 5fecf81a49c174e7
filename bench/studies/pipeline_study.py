"""Does it help to hand on doubt from stage to stage, and does recalibration help then? docs/studies/pipeline-study.md.

    python bench/studies/pipeline_study.py           # every section, then the page (about 10 minutes of one core)
    python bench/studies/pipeline_study.py tags      # one section: tags or entities
    python bench/studies/pipeline_study.py --finish  # the page, from the documents that are done

Needs EWT and GUM under HOWSURE_DATA. Models and each document's numbers are kept under build/pipeline-study.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections import Counter, defaultdict
from dataclasses import replace
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
from howsure.models.parsers.arcs import ArcParser, gold_trees
from howsure.models.parsers.parser import fitted_temperature, held_out
from howsure.models.taggers.crf import Crf
from howsure.models.taggers.hmm import Hmm, HmmCounts
from howsure.models.taggers.temperature import fit_temperature
from howsure.models.taggers.training import CrfTrainer
from howsure.posteriors.mixture import drawn
from howsure.posteriors.trees import spanning_tree
from howsure.verbs.coref import mention_pairs, shipped_coref
from howsure.verbs.pipeline import Stage

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "pipeline-study"
PAGE = ROOT / "docs" / "studies" / "pipeline-study.md"
MODES = {"best": ("best", 1), "10 best": ("kbest", 10), "20 samples": ("samples", 20)}
# Trees of whole documents.
DOCUMENT_MODES = {"best": ("best", 1), "3 best": ("kbest", 3), "6 samples": ("samples", 6)}
EVERY = 6  # every sixth test document of EWT; of GUM, the first document of each genre in each part
SENTENCES = 3_000  # of the training part, for the CRF
COUNTED = "nsubj"  # arcs with this label are counted by document
DRAWS = 200


def ewt(part):
    """Documents of EWT with their tags and trees."""
    found = read_conllu(corpus_path("ewt", f"en_ewt-ud-{part}.conllu"))
    return [d.with_(columns={k: d.columns[k] for k in ("xpos", "upos", "relation")}) for d in found]


def coarse_tags(train):
    """For a word and its fine tag the commonest coarse tag of the training part; for unknown words, that of the fine tag."""
    counts = defaultdict(Counter)
    for d in train:
        for w, x, u in zip(d.words, d.column("xpos"), d.column("upos"), strict=True):
            counts[w.lower(), x][u] += 1
            counts[x][u] += 1
    return {k: c.most_common(1)[0][0] for k, c in counts.items()}


def with_tags(d, fine, coarse):
    made = tuple(coarse.get((w.lower(), x), coarse.get(x, "X")) for w, x in zip(d.words, fine, strict=True))
    return d.with_(columns=d.columns | {"xpos": tuple(fine), "upos": made})


def kept(name, kind, make):
    path = KEPT / name
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        began = time.process_time()
        make().save(path)
        print(f"  {name}: {time.process_time() - began:.0f} s of processor time", file=sys.stderr, flush=True)
    return kind.load(path)


def remembered(name, make):
    """Plain data that took long to make."""
    path = KEPT / f"{name}.json"
    if not path.exists():
        path.write_text(json.dumps(make()))
    return json.loads(path.read_text())


def by_document(name, documents, judge):
    """What `judge` says of each document, kept after each one; how many are done so far may be fewer than all."""
    folder = KEPT / name
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for number, document in enumerate(documents):
        path = folder / f"{number}.pickle"
        if not path.exists():
            if "--finish" in sys.argv:
                continue
            began = time.process_time()
            found = judge(number, document)
            path.write_bytes(pickle.dumps((found, time.process_time() - began)))
        made.append(pickle.loads(path.read_bytes()))
    return [m[0] for m in made], sum(m[1] for m in made)


def taggers(train):
    words, starts, _ = sentences_of(train)
    tags = [t for d in train for t in d.column("xpos")]
    n = starts[SENTENCES]

    def crf():
        return CrfTrainer(words[:n], starts[: SENTENCES + 1], tags[:n], "advanced", None).fit(l2=0.1, max_iterations=40)

    def hmm():
        return HmmCounts(words, starts, tags).fit(pseudocount=0.01)

    return {"CRF": kept("crf.npz", Crf, crf), "HMM": kept("hmm.npz", Hmm, hmm)}


def parts_of(d):
    """Each sentence as a document of its own."""
    for i, s in enumerate(d.sentences()):
        heads = np.where(d.heads[s] < 0, -1, d.heads[s] - s.start)
        columns = {k: v[s] for k, v in d.columns.items()}
        yield d.with_(name=f"{d.name} {i}", words=d.words[s], starts=np.array([0, s.stop - s.start]), columns=columns,
                      heads=heads, space_after=None, mentions=None, sentence_metadata=())  # fmt: skip


def tags():
    """Tags → arcs on EWT's test part, sentence by sentence."""
    shipped = ArcParser.load(SHIPPED / "arcs.npz")
    arcs, train = shipped.with_settings(temperature=1.0), ewt("train")
    known, coarse = taggers(train), coarse_tags(train)
    dev, test = ewt("dev"), ewt("test")[::EVERY]

    def fitted():
        words, starts, _ = sentences_of(dev)
        gold = [t for d in dev for t in d.column("xpos")]
        made = {"parser": shipped.settings["temperature"]}  # fitted on the development part when it was trained
        for name, tagger in known.items():
            p = tagger.posterior(words, starts)
            made[name] = fit_temperature(p, p.codes(gold)).temperature
        return made

    t = remembered("tags-temperatures", fitted)
    code = {x: i for i, x in enumerate(arcs.labels)}

    def judge(number, document):
        rows, counts, right_tags = defaultdict(list), defaultdict(list), dict.fromkeys(known, 0)
        for one in parts_of(document):
            gold, names = gold_trees([one])
            labels = np.array([code.get(x, -1) for x in names])
            cache = {}

            def trees(given, cache=cache):
                key = given.column("xpos"), given.column("upos")
                if key not in cache:
                    cache[key] = next(arcs.posteriors([given]))
                return cache[key]

            def warm(given, trees=trees):
                return trees(given).tempered(t["parser"])

            ways = {("gold tags", "", False): [(1.0, trees(one))], ("gold tags", "", True): [(1.0, warm(one))]}
            for name, tagger in known.items():
                raw = tagger.posterior(one.words, one.starts)
                right_tags[name] += sum(
                    a == b for a, b in zip(raw.names(raw.mbr_tags()), one.column("xpos"), strict=True)
                )
                for after in (False, True):
                    p = raw.tempered(t[name]) if after else raw
                    first = Stage("tags", lambda d, p=p: p, outcome=lambda d, x: with_tags(d, x, coarse))
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
                columns = [np.full(len(m), number), right, both, np.minimum(q[heads, m], 1.0), log_p, brier]
                rows[key].append(np.column_stack(columns))
                rng = np.random.default_rng([number, len(rows[key])])
                chosen = rng.choice(len(parts), DRAWS, p=np.array([w for w, _ in parts]) / sum(w for w, _ in parts))
                subject = [(p.marginals() * np.exp(p.label_log_prob[..., code[COUNTED]])).sum(axis=0) for _, p in parts]
                drawn_counts = (rng.random((DRAWS, len(m))) < np.array(subject)[chosen]).sum(axis=1)
                counts[key].append((number, int((labels == code[COUNTED]).sum()), drawn_counts))
        return {k: np.concatenate(v) for k, v in rows.items()}, dict(counts), right_tags, document.n_sentences

    done, seconds = by_document("tags", test, judge)
    made = {key: np.concatenate([d[0][key] for d in done]) for key in done[0][0]}
    counted = {key: [x for d in done for x in d[1][key]] for key in made}
    n = len(next(iter(made.values())))
    return {
        "temperatures": t,
        "tags": {name: sum(d[2][name] for d in done) / n for name in known},
        "table": [{"way": list(key), **of_arcs(x), **coverage(counted[key])} for key, x in made.items()],
        "paired": paired(made),
        "sentences": sum(d[3] for d in done),
        "documents": len(done),
        "words": n,
        "seconds": seconds,
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
    """Mean of a - b with limits and p-value; in thousandths, since limits are cut at 1."""
    d = mean_difference(sign * (a - b) / 1e3, group, 0.95, -np.inf)
    return [*(float(f"{1e3 * x:.3g}") for x in (d.value, d.low, d.high)), float(f"{d.p_value:.2g}")]


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
    arcs = ArcParser.load(SHIPPED / "arcs.npz").with_settings(temperature=1.0)
    coref = shipped_coref().with_temperature(1.0)
    dev, test = (list({d.name.split("_")[1]: d for d in gum_documents(x)[::-1]}.values()) for x in ("dev", "test"))

    def fitted():
        parsed = list(reparsed(model(), dev))
        both = [with_gold(p, g) for p, g in zip(parsed, dev, strict=True)]
        posteriors, gold = [], []
        run = howsure.pipeline([arcs, coref], mode="best")
        for p, g in zip(parsed, dev, strict=True):
            (part,) = run(p.with_(mentions=None)).parts
            posteriors.append(part.posterior)
            gold.append(gold_clusters(g, part.given.mentions))
        return {
            "parser": fitted_temperature(held_out(arcs, both, [])).temperature,
            "coref": fit_coref_temperature(posteriors, gold),
        }

    t = remembered("entities-temperatures", fitted)

    def judge(number, g):
        (p,) = reparsed(model(), [g])
        plain = p.with_(mentions=None)
        ways = {(mode, False): ([arcs, coref], *how) for mode, how in DOCUMENT_MODES.items()}
        warm = arcs.with_settings(temperature=t["parser"])
        ways["6 samples", True] = [warm, coref], *DOCUMENT_MODES["6 samples"]
        ways["gold trees", False] = ways["English pipeline", False] = [coref], "best", 1
        found = {}
        for (name, after), (stages, how, n) in ways.items():
            made = howsure.pipeline(stages, mode=how, n=n)(with_gold(plain, g) if name == "gold trees" else plain)
            for of_coref in (False, True):
                parts = [
                    replace(x, posterior=x.posterior.tempered(t["coref"] if of_coref else 1.0)) for x in made.parts
                ]
                found[name, after, of_coref] = judged(replace(made, parts=tuple(parts)), g, coref.cut)
        print(f"  {number + 1} of {len(test)}", file=sys.stderr, flush=True)
        return found | {"words": len(g)}

    done, seconds = by_document("entities", test, judge)
    table, per = [], {}
    for key in (k for k in done[0] if k != "words"):
        each = [d[key] for d in done]
        pairs = [(x["gold"], x["system"]) for x in each]
        s = coreference_scores(pairs)
        y, q = (np.concatenate([x[k] for x in each]) for k in ("y", "q"))
        group = np.repeat(np.arange(len(each)), [len(x["y"]) for x in each])
        error = howsure.check(y.astype(int), q, groups=group, rng=None).error
        per[key] = {
            "conll": np.array([coreference_scores([x], samples=0)["conll"].f1.value for x in pairs]),
            "loss": np.array([x["loss"] for x in each]),
            "off": np.array([abs(x["n"] - x["mean"]) for x in each]),
        }
        row = {"way": list(key), "CoNLL": shown(s["conll"].f1), "B3": shown(s["b3"].f1), "error": shown(error)}
        row |= {
            "bias": float((q - y).mean()),
            "loss": float(per[key]["loss"].mean()),
            "off": float(per[key]["off"].mean()),
        }
        table.append(row | {k: float(np.mean([x[k] for x in each])) for k in ("covered", "found")})
    out = []
    for key, x in per.items():
        others = [("best", ("best", False, key[2]))] if key[0] in ("3 best", "6 samples") else []
        others += [("before recalibration", (key[0], False, False))] * bool(key[1] or key[2])
        for said, other in others:
            group = np.arange(len(x["loss"]))
            found = {k: difference(x[k], per[other][k], group) for k in ("conll", "loss", "off")}
            out.append({"way": list(key), "less": said, **found})
    words = sum(d["words"] for d in done)
    return {
        "temperatures": t,
        "table": table,
        "paired": out,
        "documents": len(done),
        "words": words,
        "seconds": seconds,
    }


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
        "loss": (float(((q - y) ** 2).sum()) + every - int(y.sum())) / max(every, 1), "covered": bool(low <= real <= high),
        "n": real, "mean": float(np.mean(numbers)),
        "found": float(np.mean([x in set(s.spans) for x in entity])),
    }  # fmt: skip


def main():
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in [a for a in sys.argv[1:] if a != "--finish"] or ["tags", "entities"]:
        (KEPT / f"{name}.json").write_text(json.dumps({"tags": tags, "entities": entities}[name](), indent=1))
    if all((KEPT / f"{n}.json").exists() for n in ("tags", "entities")):
        PAGE.write_text(
            page(*(json.loads((KEPT / f"{n}.json").read_text()) for n in ("tags", "entities"))), encoding="utf-8"
        )


def table(head, rows):
    return "\n".join(
        [
            "| " + " | ".join(head) + " |",
            "|---" * len(head) + "|",
            *("| " + " | ".join(map(str, r)) + " |" for r in rows),
        ]
    )


def with_limits(x, digits=3):
    return f"{x[0]:.{digits}f} [{x[1]:.{digits}f}, {x[2]:.{digits}f}]"


def change(x, digits=4):
    p = "< 0.001" if x[3] < 0.001 else f"= {x[3]:.2g}"
    return f"{x[0]:+.{digits}f} [{x[1]:+.{digits}f}, {x[2]:+.{digits}f}], p {p}"


def yes(after):
    return "after" if after else "before"


def page(t, e):
    """The whole page, from the sections' numbers."""
    tags_rows = [
        [w[0], w[1] or "–", yes(w[2]), with_limits(r["UAS"]), with_limits(r["LAS"]), f"{r['log loss']:.4f}", f"{r['Brier']:.4f}", with_limits(r["error"]), f"{r['bias']:+.3f}", f"{100 * r['covered']:.0f}%"]
        for r in t["table"] for w in [r["way"]]
    ]  # fmt: skip
    paired_rows = [
        [
            r["way"][0],
            r["way"][1] or "–",
            yes(r["way"][2]),
            r["less"],
            *(change(r[k]) for k in ("UAS", "LAS", "log loss", "Brier")),
        ]
        for r in t["paired"]
    ]
    said = {(True, True): "both", (True, False): "parser", (False, True): "coreference", (False, False): "none"}
    entity_rows = [
        [w[0], said[w[1], w[2]], with_limits(r["CoNLL"]), with_limits(r["B3"]), f"{r['loss']:.4f}", with_limits(r["error"]), f"{r['bias']:+.3f}", f"{100 * r['covered']:.0f}%", f"{r['off']:.2f}", f"{100 * r['found']:.1f}%"]
        for r in e["table"] for w in [r["way"]]
    ]  # fmt: skip
    entity_paired = [
        [r["way"][0], said[r["way"][1], r["way"][2]], r["less"], *(change(r[k], 3) for k in ("conll", "loss", "off"))]
        for r in e["paired"]
    ]
    of = t["temperatures"]
    return TEXT.format(
        ewt=f"{t['documents']} documents, {t['sentences']:,} sentences, {t['words']:,} words",
        accuracy=", ".join(f"{k} {v:.3f}" for k, v in t["tags"].items()),
        temperatures=f"parser {of['parser']:.3f}, CRF {of['CRF']:.3f}, HMM {of['HMM']:.3f}",
        tags=table(["tagger", "handed on", "recalibration", "UAS", "LAS", "log loss of the head", "Brier score", "RMS error, chosen arcs", "bias", f"{COUNTED} counts covered"], tags_rows),
        tags_paired=table(["tagger", "handed on", "recalibration", "less", "UAS", "LAS", "log loss", "Brier score"], paired_rows),
        gum=f"{e['documents']} documents, {e['words']:,} words",
        gum_temperatures=f"parser {e['temperatures']['parser']:.3f}, coreference {e['temperatures']['coref']:.3f}",
        entities=table(["trees", "recalibrated", "CoNLL F1", "B³ F1", "squared error a gold link", "RMS error, P ≥ 0.05", "bias", "entity counts covered", "off by", "gold mentions found"], entity_rows),
        entities_paired=table(["trees", "recalibrated", "less", "CoNLL F1, mean of documents", "squared error a gold link", "entity count off by"], entity_paired),
        seconds=f"{(t['seconds'] + e['seconds']) / 60:.0f}",
        answer=ANSWER,
        counted=COUNTED,
        documents=e["documents"],
    )  # fmt: skip


ANSWER = """**Handing on doubt makes the answers more honest, not more accurate; recalibrating each stage by itself does not help the chain.**

- *Tags → arcs.* Against the best tags alone, samples lower the log loss of the head by 0.19 [-0.01, 0.39] (CRF) and 0.11 [0.01, 0.20] (HMM), ten best tag sequences by 0.17 [0.00, 0.34] and 0.10 [0.04, 0.15]. The RMS calibration error of the chosen
  arcs falls from 0.10 to 0.04 (CRF) and from 0.09 to 0.03 (HMM). Attachment does not change clearly: +0.002 [-0.007, +0.012] and -0.004 [-0.030, +0.022] with samples; ten best help the CRF by 0.007 [0.001, 0.014], p = 0.03, one of four such comparisons.
- *Recalibration there.* The parser's temperature, fitted with gold tags, is below 1: it makes the parser surer, which is wrong once its tags are. With the best tags handed on the log loss rises by 0.056 [0.029, 0.082] and 0.044 [0.034, 0.055]; with samples
  nothing is clear (+0.003 [-0.013, +0.019], +0.011 [-0.008, +0.030]). A stage calibrated on gold input is not calibrated in the chain.
- *Trees → entities.* With 15 documents nothing is clear: six samples of the trees change CoNLL F1 by +0.001 [-0.013, +0.015] and the squared error by -0.006 [-0.019, +0.008]; three best trees change nothing. More gold mentions are among the spans (90% instead of 84%).
  The number of entities gets no better, and temperatures help neither F1 nor squared error. Better trees would: gold ones give 0.62 instead of 0.56.

These intervals are not adjusted for the number of comparisons."""

TEXT = """# Pipelines: is doubt worth handing on, and does calibration help?

The paper (§1, §7) asks whether calibrated posteriors help when one stage feeds the next; Finkel et al. (2006) sampled there. Two pipelines were run with `howsure.pipeline`: the best outcome of the first stage handed on, the k best, or samples; each before
and after one temperature for each stage, fitted on development data. Written by `bench/studies/pipeline_study.py` ({seconds} minutes of processor time on a busy machine).

## The answer

{answer}

## Tags → arcs: EWT

Every sixth document of the test part: {ewt}. Fine tags (`xpos`) are predicted; the coarse tag follows from word and fine tag. Taggers: a CRF trained on the first 3,000 sentences of the training part and an HMM trained on all of it
(accuracy: {accuracy}). The parser is the arc-factored one that ships, trained with gold tags. Temperatures from the development part: {temperatures}.

The answer to "is this the head?" is Σ weight × P(arc | tags); the tree is the one of the largest expected attachment score under it. Log loss and Brier score are of the head of each word, over all possible heads. The RMS calibration error is of the chosen
arcs, 95% intervals over documents. *Counts covered*: of how many documents the gold number of `{counted}` arcs lies in the middle 95% of draws (words taken as independent given the tags).

{tags}

Differences by document (95% intervals, p-values; log loss and Brier score: below 0 is better):

{tags_paired}

## Trees → mentions → entities: OntoGUM

The first test document of each of {documents} genres: {gum}. Sentences are given, tags are those of the English pipeline. The parser's trees go to the coreference model that ships, which finds mentions in them and clusters these. Temperatures from the first
development document of each genre: {gum_temperatures}. *Gold trees* and the greedy *English pipeline* stand beside. A gold link that is missed because a span is no mention counts with its full squared error; a pair of spans has Σ weight × P(both are
mentions, and one entity). *Entity counts covered*: of how many documents the gold number of entities with two mentions or more lies in the middle 95% of draws; *off by*: how far their mean is from it.

{entities}

Differences by document (below 0 is better but for F1):

{entities_paired}

## Not done

Text → events on MUC; k best with a larger k for whole documents (the three best trees of a document differ in a sentence or two, so that a larger k changes little). The test parts were thinned for the
sake of processor time, before any number was seen.
"""


if __name__ == "__main__":
    main()
