"""Does it help to hand on doubt from stage to stage, and does recalibration help then? docs/studies/pipeline-study.md.

    python bench/studies/pipeline_study.py                  # every section, then the page (about 40 minutes of one core)
    python bench/studies/pipeline_study.py tags             # one section: tags, entities or events
    python bench/studies/pipeline_study.py events --finish  # the same, from the documents that are done

Needs EWT, GUM and MUC under HOWSURE_DATA. Models and each document's numbers are kept under build/pipeline-study; sections of the page whose
numbers are not there stay as they are.
"""

from __future__ import annotations

import csv
import json
import pickle
import re
import sys
import time
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np
from event_layer_study import FIRST, FOLDS, auc, flat_prior
from muc_study import KINDS, SETTINGS, is_gold
from muc_study import gold as muc_gold

import howsure
from howsure.calibration.comparing.difference import mean_difference
from howsure.corpora.conllu import read_conllu
from howsure.corpora.coreference import gum_documents
from howsure.corpora.news import muc_texts
from howsure.corpora.reading import corpus_path
from howsure.corpora.tagged import sentences_of
from howsure.english.annotating import reparsed
from howsure.english.parsing import parse
from howsure.english.shipped import SHIPPED, model
from howsure.evaluation.coreference import coreference_scores
from howsure.events.documents import asked, document_events
from howsure.events.frame import FEATURES, frame_pairs
from howsure.events.layer import Pairs, fitted_layer, joint_draws
from howsure.events.lexicons import actors, verbs
from howsure.exploring.blocks import resolved_document
from howsure.kernels.coreference.antecedents import linked_clusters
from howsure.kernels.special import expit
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
EVENT_MODES = {"best": ("best", 1), "5 best": ("kbest", 5), "10 samples": ("samples", 10)}
EVERY = 6  # every sixth test document of EWT
OF_GENRE = 2  # test documents of each genre of GUM
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


def of_genres(part, n):
    """The first n documents of each genre of GUM."""
    genres = defaultdict(list)
    for d in gum_documents(part):
        genres[d.name.split("_")[1]].append(d)
    return [d for found in genres.values() for d in found[:n]]


def entities():
    """Trees → mentions → entities on OntoGUM's test part; tags are those of the English pipeline."""
    arcs = ArcParser.load(SHIPPED / "arcs.npz").with_settings(temperature=1.0)
    coref = shipped_coref().with_temperature(1.0)
    dev, test = of_genres("dev", 1), of_genres("test", OF_GENRE)

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


# -- text → trees → entities → events -----------------------------------------------------------------------------------

AT_Q = [list(FEATURES).index(f) for f in ("q", "q_flat", "found")]
ENGLISH = "English pipeline"


def documents_that_name():
    """MUC's dated texts that name an organisation, in an order by hash: a run that is stopped by the clock has a fair part of them."""
    lexicon = actors("muc-organisations")
    words = [(t, re.findall(r"[\w.'-]+", t.text)) for t in muc_texts(corpus_path("muc", "texts")) if t.date is not None]
    named = [t for t, w in words if (lexicon.find(w).actor >= 0).any()]
    return sorted(named, key=lambda t: crc32(f"part {t.id}".encode()))


def upper_temperatures(arcs, coref):
    """Of the parser and of coreference on its best trees, from GUM's development part in upper case, with the pipeline's tags."""
    dev = of_genres("dev", 1)
    parsed = list(reparsed(model(), dev, upper=True))
    both = [with_gold(p, g) for p, g in zip(parsed, dev, strict=True)]
    posteriors, found, run = [], [], howsure.pipeline([arcs, coref], mode="best")
    for p, g in zip(parsed, dev, strict=True):
        (part,) = run(p.with_(mentions=None)).parts
        posteriors.append(part.posterior)
        found.append(gold_clusters(g, part.given.mentions))
    parser = fitted_temperature(held_out(arcs, both, [])).temperature
    return {"parser": parser, "coref": fit_coref_temperature(posteriors, found)}


def framed(document, lexicon, coref, t):
    """Features of each actor that a document with trees names, shape (3, questions, actors, features), and the actors.

    First with the entities' posterior as it is, then at temperature t, then with the one best clustering.
    """
    made, resolved = [], None
    for verb_set, _ in SETTINGS.values():
        known, answers = asked(document, lexicon, verbs(verb_set), None), [({}, {})] * 3
        if known.needs_entities:
            resolved = resolved or resolved_document(document, coref.posterior, 1.0)
            warm = {
                k: document_events(
                    replace(resolved, posterior=resolved.posterior.tempered(k)),
                    lexicon,
                    (),
                    (),
                    describe=False,
                    known=known,
                ).actors
                for k in (1.0, 2.0, t, 2.0 * t)
            }
            q = {k: {e.actor: e.probability for e in found} for k, found in warm.items()}
            best = {e.actor: 1.0 for e in warm[1.0] if e.best}
            answers = [(q[1.0], q[2.0]), (q[t], q[2.0 * t]), (best, best)]
        pairs = [frame_pairs(document, known.mentions, known.named, *a, known.alike) for a in answers]
        made.append([[p.features for p in found] for found in pairs])
    own = tuple(p.actor for p in pairs[0])
    return np.array(made, np.float32).reshape(len(made), 3, len(own), len(FEATURES)).swapaxes(0, 1), own


def events():
    """Text → trees → entities → "this document reports that this organisation did it", on MUC."""
    lexicon, texts = actors("muc-organisations"), documents_that_name()
    arcs = ArcParser.load(SHIPPED / "arcs.npz").with_settings(temperature=1.0)
    coref = shipped_coref().with_temperature(1.0)
    t = remembered("events-temperatures", lambda: upper_temperatures(arcs, coref))
    (trees,) = howsure.pipeline([arcs]).stages

    def judge(number, text):
        (d,) = parse([(text.id, text.text)], jobs=1)
        posteriors, cache = list(arcs.posteriors([d])), {}

        def frame(given):
            key = given.heads.tobytes(), given.columns["relation"]
            if key not in cache:
                cache[key] = framed(given, lexicon, coref, t["coref"])
            return cache[key]

        ways = {(ENGLISH, False): [(1.0, frame(d))]}
        for after in (False, True):
            p = [x.tempered(t["parser"]) for x in posteriors] if after else posteriors
            for mode, (how, n) in EVENT_MODES.items():
                if after and mode == "best":
                    continue  # a temperature moves no best tree
                made = howsure.pipeline([replace(trees, posterior=lambda _, p=p: p), frame], mode=how, n=n)(d)
                ways[mode, after] = [(x.weight, x.posterior) for x in made.parts]
        (own,) = {x[1] for parts in ways.values() for _, x in parts}
        if number % 20 == 19:
            print(f"  {number + 1} of {len(texts)}", file=sys.stderr, flush=True)
        return {
            "id": text.id, "month": text.date.isoformat()[:7], "actors": [lexicon.actors[a].code for a in own],
            "words": len(d), "ways": {k: [(w, x[0]) for w, x in parts] for k, parts in ways.items()},
        }  # fmt: skip

    done, seconds = by_document("events", texts, judge)
    required, optional, _ = muc_gold(lexicon)
    questions = {name: of_question(k, name, done, required, optional) for k, name in enumerate(SETTINGS)}
    counted = {"documents": len(done), "all": len(texts), "words": sum(d["words"] for d in done), "seconds": seconds}
    return {"temperatures": t, "questions": questions} | counted


def of_question(k, name, done, required, optional):
    """One question's table and paired differences."""
    rows = [(d, i, (d["id"], a)) for d in done for i, a in enumerate(d["actors"])]
    rows = [r for r in rows if is_gold(required, r[2], KINDS[name]) or not is_gold(optional, r[2], KINDS[name])]
    y = np.array([is_gold(required, key, KINDS[name]) for *_, key in rows], float)
    codes, months = sorted({key[1] for *_, key in rows}), sorted({d["month"] for d, *_ in rows})
    actor = np.array([codes.index(key[1]) for *_, key in rows])
    period = np.array([months.index(d["month"]) for d, *_ in rows])
    _, group = np.unique([d["id"] for d, *_ in rows], return_inverse=True)
    fold = np.array([crc32(f"fold {d['id']}".encode()) % FOLDS for d, *_ in rows])
    with open(Path(__file__).parent / "muc_cells.csv", encoding="utf-8") as file:
        cells = [(r["actor"], r["month"]) for r in csv.DictReader(file) if r["question"] == name]
    cells = [(codes.index(a), months.index(m)) for a, m in cells if a in codes and m in months]
    cells = [np.flatnonzero((actor == a) & (period == m)) for a, m in cells]
    cells = [c for c in cells if len(c)]
    truth = np.array([y[c].sum() for c in cells])

    def parts(trees, parser, entities):
        """Weights (parts, pairs) and features (parts, pairs, features); fewer parts than others have weight 0."""
        most = max(len(d["ways"][trees, parser]) for d, *_ in rows)
        w, x = np.zeros((most, len(rows))), np.zeros((most, len(rows), len(FEATURES)))
        for r, (d, i, _) in enumerate(rows):
            for j, (weight, made) in enumerate(d["ways"][trees, parser]):
                w[j, r], x[j, r] = weight, made[entities, k, i]
        return w, x

    def columns(x, at):
        return Pairs(x[at], actor[at], period[at], np.zeros((len(at), 0)))

    def layers(x):
        """For each fold, the event layer from the labels of the others."""
        choice = *FIRST[:2], ("", 0, 1.0)
        trained = [columns(x, np.flatnonzero(fold != f)) for f in range(FOLDS)]
        return [fitted_layer(flat_prior(p, choice), p, y[fold != f]) for f, p in enumerate(trained)]

    keys = [("best", False, 2), *((m, p, c) for m, p in done[0]["ways"] for c in (0, 1))]
    keys.sort(key=lambda way: [*EVENT_MODES, ENGLISH].index(way[0]))
    fixed, per = layers(parts("best", False, 0)[1][0]), {}
    for way in keys:
        w, x = parts(*way)
        mean = np.einsum("jr,jrf->rf", w, x)
        own = layers(mean)
        p, p_own, bands_of = np.zeros(len(y)), np.zeros(len(y)), np.zeros((400, len(y)))
        for f in range(FOLDS):
            at = np.flatnonzero(fold == f)
            p[at] = sum(w[j, at] * fixed[f].probability(columns(x[j], at)) for j in range(len(w)))
            p_own[at] = own[f].probability(columns(mean, at))
            bands_of[:, at] = outcomes(fixed[f], [(w[j, at], columns(x[j], at)) for j in range(len(w))], f)
        q = np.clip(mean[:, AT_Q[0]], 0.0, 1.0)
        by_rules = np.random.default_rng(0).random((400, len(y))) < q
        per[way] = {"q": q, "p": p, "own": p_own}
        for n, draws in (("q", by_rules), ("p", bands_of)):
            ends = np.array(
                [np.quantile(draws[:, c].sum(axis=1), (0.025, 0.975), method="inverted_cdf") for c in cells]
            )
            miss = np.maximum(ends[:, 0] - truth, 0) + np.maximum(truth - ends[:, 1], 0)
            width = ends[:, 1] - ends[:, 0]
            per[way] |= {
                f"{n} covered": (miss == 0).mean(),
                f"{n} width": width.mean(),
                f"{n} score": width + 40 * miss,
            }
    made = {"pairs": len(y), "gold": int(y.sum()), "documents": int(group.max()) + 1, "cells": len(cells)}
    return made | {
        "table": [event_row(way, x, y, group) for way, x in per.items()],
        "paired": event_pairs(per, y, group),
    }


def outcomes(layer, parts, seed):
    """Draws of each pair's outcome: weights of the layer, shifts of cells and of actors and periods without labels, then the outcome."""
    rng, prior, pairs = np.random.default_rng([seed, 5]), layer.prior, parts[0][1]
    coefficients = joint_draws(layer, 400, seed)
    shift = np.zeros((400, len(pairs)))
    both = pairs.actor * 10_000 + pairs.period
    for own, known, sd in ((pairs.actor, layer.actors, prior.actor), (pairs.period, layer.periods, prior.period), (both, (), prior.cell)):  # fmt: skip
        for value in np.unique(own):
            drawn_shift = rng.normal(0.0, sd, 400)
            if value not in known:
                shift += np.outer(drawn_shift, own == value)
    p = sum(w * expit(coefficients @ layer.design(x).T + shift) for w, x in parts)
    return rng.random(p.shape) < p


def losses(p, y):
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return -np.where(y == 1, np.log(p), np.log1p(-p)), (p - y) ** 2


def event_row(way, x, y, group):
    made = {"way": list(way)}
    for k in ("q", "p", "own"):
        log_loss, brier = losses(x[k], y)
        error = howsure.check(y.astype(int), x[k], groups=group, rng=None).error
        made[k] = {"log loss": float(log_loss.mean()), "Brier": float(brier.mean()), "AUC": float(auc(y, x[k])),
                   "error": shown(error), "bias": float((x[k] - y).mean())}  # fmt: skip
    made["gain"] = difference(losses(x["p"], y)[1], losses(x["q"], y)[1], group)
    return made | {f"{k} {n}": float(np.mean(x[f"{k} {n}"])) for k in "qp" for n in ("covered", "width", "score")}


def event_pairs(per, y, group):
    """Differences by document; of AUC by a bootstrap over documents, of interval scores by cell."""
    members = [np.flatnonzero(group == g) for g in range(group.max() + 1)]
    rng = np.random.default_rng(0)
    again = [np.concatenate([members[g] for g in rng.integers(len(members), size=len(members))]) for _ in range(500)]
    ranked = {(way, k): np.array([auc(y[a], x[k][a]) for a in again]) for way, x in per.items() for k in "qp"}
    made = []
    for way, x in per.items():
        trees, parser, entities = way
        others = [("best trees", ("best", False, entities))] if trees not in ("best", ENGLISH) else []
        others += [("before recalibration", (trees, False, 0))] * bool(parser or entities == 1)
        others += [("all entities", ("best", False, 0))] * (entities == 2)
        others += [("best trees", ("best", False, 0))] * (way == (ENGLISH, False, 0))
        others += [(ENGLISH, (ENGLISH, False, entities))] * (trees == "10 samples")
        for said, other in others:
            z, row = per[other], {"way": list(way), "less": said}
            for k in ("q", "p", "own"):
                a, b = losses(x[k], y), losses(z[k], y)
                row[f"{k} log loss"], row[f"{k} Brier"] = (difference(a[n], b[n], group) for n in (0, 1))
            for k in "qp":
                d = ranked[way, k] - ranked[other, k]
                tail = (1 + min((d <= 0).sum(), (d >= 0).sum())) / (1 + len(d))
                ends = np.quantile(d, (0.025, 0.975))
                row[f"{k} AUC"] = [float(v) for v in (auc(y, x[k]) - auc(y, z[k]), *ends, min(2 * tail, 1.0))]
                row[f"{k} score"] = difference(x[f"{k} score"], z[f"{k} score"], np.arange(len(x[f"{k} score"])))
            made.append(row)
    return made


def main():
    KEPT.mkdir(parents=True, exist_ok=True)
    makers = {"tags": tags, "entities": entities, "events": events}
    for name in [a for a in sys.argv[1:] if a != "--finish"] or makers:
        (KEPT / f"{name}.json").write_text(json.dumps(makers[name](), indent=1))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def page(before):
    """The page: a section from its numbers where they are kept, else as it was."""
    was = {part.split("\n", 1)[0]: part for part in before.split("\n## ")}
    made = [HEAD.format(answer=ANSWER).rstrip()]
    for name, title, text in (
        ("tags", TAGS, of_tags),
        ("entities", ENTITIES, of_entities),
        ("events", EVENTS, of_events),
    ):
        path = KEPT / f"{name}.json"
        fresh = f"{title}\n\n{text(json.loads(path.read_text()))}" if path.exists() else was[title]
        made.append(fresh.rstrip())
    return "\n\n## ".join([*made, REST])


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


def of_tags(t):
    rows = [
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
    of = t["temperatures"]
    return TAGS_TEXT.format(
        ewt=f"{t['documents']} documents, {t['sentences']:,} sentences, {t['words']:,} words",
        accuracy=", ".join(f"{k} {v:.3f}" for k, v in t["tags"].items()),
        temperatures=f"parser {of['parser']:.3f}, CRF {of['CRF']:.3f}, HMM {of['HMM']:.3f}",
        tags=table(["tagger", "handed on", "recalibration", "UAS", "LAS", "log loss of the head", "Brier score", "RMS error, chosen arcs", "bias", f"{COUNTED} counts covered"], rows),
        tags_paired=table(["tagger", "handed on", "recalibration", "less", "UAS", "LAS", "log loss", "Brier score"], paired_rows),
        counted=COUNTED,
    )  # fmt: skip


SAID = {(True, True): "both", (True, False): "parser", (False, True): "coreference", (False, False): "none"}


def of_entities(e):
    rows = [
        [w[0], SAID[w[1], w[2]], with_limits(r["CoNLL"]), with_limits(r["B3"]), f"{r['loss']:.4f}", with_limits(r["error"]), f"{r['bias']:+.3f}", f"{100 * r['covered']:.0f}%", f"{r['off']:.2f}", f"{100 * r['found']:.1f}%"]
        for r in e["table"] for w in [r["way"]]
    ]  # fmt: skip
    paired_rows = [
        [r["way"][0], SAID[r["way"][1], r["way"][2]], r["less"], *(change(r[k], 3) for k in ("conll", "loss", "off"))]
        for r in e["paired"]
    ]
    return ENTITIES_TEXT.format(
        gum=f"{e['documents']} documents, {e['words']:,} words",
        gum_temperatures=f"parser {e['temperatures']['parser']:.3f}, coreference {e['temperatures']['coref']:.3f}",
        entities=table(["trees", "recalibrated", "CoNLL F1", "B³ F1", "squared error a gold link", "RMS error, P ≥ 0.05", "bias", "entity counts covered", "off by", "gold mentions found"], rows),
        entities_paired=table(["trees", "recalibrated", "less", "CoNLL F1, mean of documents", "squared error a gold link", "entity count off by"], paired_rows),
    )  # fmt: skip


def of_events(e):
    def way(w):
        return (
            [w[0], "none"]
            if w[2] == 0 and not w[1]
            else [w[0], SAID[w[1], w[2] == 1]]
            if w[2] < 2
            else [f"{w[0]}, best entities", "none"]
        )

    def counts(r, k):
        return [f"{100 * r[f'{k} covered']:.0f}%", f"{r[f'{k} width']:.2f}", f"{r[f'{k} score']:.2f}"]

    made = []
    for name, q in e["questions"].items():
        rules = [
            [
                *way(r["way"]),
                f"{r['q']['AUC']:.3f}",
                f"{r['q']['Brier']:.4f}",
                with_limits(r["q"]["error"]),
                f"{r['q']['bias']:+.3f}",
                *counts(r, "q"),
            ]
            for r in q["table"]
        ]
        layer = [
            [
                *way(r["way"]),
                f"{r['p']['AUC']:.3f}",
                f"{r['p']['log loss']:.4f}",
                f"{r['p']['Brier']:.4f}",
                with_limits(r["p"]["error"]),
                f"{r['p']['bias']:+.3f}",
                *counts(r, "p"),
                f"{r['own']['log loss']:.4f}",
                change(r["gain"]),
            ]
            for r in q["table"]
        ]
        paired_rules = [
            [*way(r["way"]), r["less"], change(r["q AUC"], 3), change(r["q Brier"]), change(r["q score"], 2)]
            for r in q["paired"]
        ]
        paired_layer = [
            [
                *way(r["way"]),
                r["less"],
                change(r["p AUC"], 3),
                change(r["p log loss"]),
                change(r["p Brier"]),
                change(r["p score"], 2),
                change(r["own log loss"]),
            ]
            for r in q["paired"]
        ]
        counted = ["monthly counts covered", "width", "interval score"]
        made += [
            f"### {name}: {q['pairs']:,} pairs ({q['gold']} in the keys), {q['documents']} documents, {q['cells']} cells", "By the rules alone (q):",
            table(["trees", "recalibrated", "AUC", "Brier score", "RMS error", "bias", *counted], rules), "By the layer:",
            table(["trees", "recalibrated", "AUC", "log loss", "Brier score", "RMS error", "bias", *counted, "log loss, layer of its own", "Brier score less that of the rules alone"], layer), "Differences, the rules alone:",
            table(["trees", "recalibrated", "less", "AUC", "Brier score", "interval score"], paired_rules), "Differences, the layer:",
            table(["trees", "recalibrated", "less", "AUC", "log loss", "Brier score", "interval score", "log loss, layer of its own"], paired_layer),
        ]  # fmt: skip
    of = e["temperatures"]
    return EVENTS_TEXT.format(
        muc=f"{e['documents']:,} of the {e['all']:,} dated documents that name an organisation of the lexicon, {e['words']:,} words",
        temperatures=f"parser {of['parser']:.3f}, coreference {of['coref']:.3f}", minutes=f"{e['seconds'] / 60:.0f}", tables="\n\n".join(made),
    )  # fmt: skip


ANSWER = """**Samples make the answers about arcs and about events more honest, those about entities not. They make them more accurate in one case, events by rules, where the last stage takes what it is given at its word; a last stage that has learned from labels how far
to believe it gains nothing clear. A temperature for each stage by itself helps the chain little, and can harm it; a last stage trained on labels of the question itself helps far more than both.**

- *Tags → arcs.* Against the best tags alone, samples lower the log loss of the head by 0.19 [-0.01, 0.39] (CRF) and 0.11 [0.01, 0.20] (HMM), ten best tag sequences by 0.17 [0.00, 0.34] and 0.10 [0.04, 0.15]. The RMS calibration error of the chosen
  arcs falls from 0.10 to 0.04 (CRF) and from 0.09 to 0.03 (HMM). Attachment does not change clearly: +0.002 [-0.007, +0.012] and -0.004 [-0.030, +0.022] with samples; ten best help the CRF by 0.007 [0.001, 0.014], p = 0.03, one of four such comparisons.
- *Recalibration there.* The parser's temperature, fitted with gold tags, is below 1: it makes the parser surer, which is wrong once its tags are. With the best tags handed on the log loss rises by 0.056 [0.029, 0.082] and 0.044 [0.034, 0.055]; with samples
  nothing is clear (+0.003 [-0.013, +0.019], +0.011 [-0.008, +0.030]). A stage calibrated on gold input is not calibrated in the chain.
- *Trees → entities.* Six samples of the trees change CoNLL F1 by +0.002 [-0.011, +0.015] and the squared error by -0.007 [-0.018, +0.004], which is nothing clear; three best trees change nothing. More gold mentions are among the spans (90% instead of 84%), but the expected
  number of entities is further off, by 0.5 [0.2, 0.8] a document. The temperature of coreference brings that number nearer, by 0.9 [0.4, 1.4] with the best trees and 1.0 [0.6, 1.5] with samples, and moves neither F1 nor squared error; the parser's helps nothing. Better trees would: gold ones give 0.62 instead of 0.57.
- *Text → events, by the rules alone.* Here samples help clearly. For violence, ten of them raise the AUC from 0.644 to 0.702, by 0.058 [0.029, 0.085], lower the Brier score by 0.022 [0.013, 0.031] and the calibration error from 0.23 to 0.19, and their 95% intervals hold 74% of the monthly counts instead of 61%. For attack
  all of it is smaller: AUC +0.025 [0.000, 0.051], Brier score -0.009 [-0.014, -0.004], 53% instead of 48%. They are better than the greedy trees that `howsure explore` uses as well (AUC +0.063 [0.029, 0.093] and +0.028 [0.002, 0.057]; this comparison was added after the others were seen). Five best trees of a document, which differ in a word or two, change next to nothing. The one best clustering instead of the posterior makes the Brier score worse by 0.006 [0.003, 0.009] and 0.004 [0.001, 0.007].
- *Recalibration there.* Both temperatures are above 1, fitted on trees and tags as they come in the chain. With samples both together lower the Brier score by a further 0.005 [0.002, 0.009] and 0.002 [0.000, 0.004]; AUC (-0.010 [-0.027, +0.008], +0.006 [-0.011, +0.025]) and counts do not change clearly.
- *With the event layer*, trained on keys of other documents, the Brier score falls by 0.069 [0.051, 0.088] and 0.038 [0.025, 0.051] with the best trees, and the calibration error from 0.23 to 0.02 and from 0.18 to 0.04. Then nothing that the stages before hand on matters clearly: samples change the log loss by
  -0.003 [-0.008, +0.001] (violence) and +0.000 [-0.004, +0.004] (attack), both temperatures that of samples by -0.001 [-0.004, +0.002] and -0.002 [-0.005, +0.001]. Its intervals hold 99 to 100% of the counts, whatever is handed on: more than they should.

These intervals are not adjusted for the number of comparisons."""

HEAD = """# Pipelines: is doubt worth handing on, and does calibration help?

The paper (§1, §7) asks whether calibrated posteriors help when one stage feeds the next; Finkel et al. (2006) sampled there. Three pipelines were run with `howsure.pipeline`: the best outcome of the first stage handed on, the k best, or samples; each before
and after one temperature for each stage, fitted on development data. Written by `bench/studies/pipeline_study.py`.

## The answer

{answer}"""

TAGS = "Tags → arcs: EWT"
TAGS_TEXT = """Every sixth document of the test part: {ewt}. Fine tags (`xpos`) are predicted; the coarse tag follows from word and fine tag. Taggers: a CRF trained on the first 3,000 sentences of the training part and an HMM trained on all of it
(accuracy: {accuracy}). The parser is the arc-factored one that ships, trained with gold tags. Temperatures from the development part: {temperatures}.

The answer to "is this the head?" is Σ weight × P(arc | tags); the tree is the one of the largest expected attachment score under it. Log loss and Brier score are of the head of each word, over all possible heads. The RMS calibration error is of the chosen
arcs, 95% intervals over documents. *Counts covered*: of how many documents the gold number of `{counted}` arcs lies in the middle 95% of draws (words taken as independent given the tags).

{tags}

Differences by document (95% intervals, p-values; log loss and Brier score: below 0 is better):

{tags_paired}"""

ENTITIES = "Trees → mentions → entities: OntoGUM"
ENTITIES_TEXT = """The first two test documents of each genre: {gum} (the second ones were added after the first had been judged, which showed too little). Sentences are given, tags are those of the English pipeline. The parser's trees go to the coreference model that ships, which finds mentions in them and clusters these. Temperatures from the first
development document of each genre: {gum_temperatures}. *Gold trees* and the greedy *English pipeline* stand beside. A gold link that is missed because a span is no mention counts with its full squared error; a pair of spans has Σ weight × P(both are
mentions, and one entity). *Entity counts covered*: of how many documents the gold number of entities with two mentions or more lies in the middle 95% of draws; *off by*: how far their mean is from it.

{entities}

Differences by document (below 0 is better but for F1):

{entities_paired}"""

EVENTS = "Text → trees → entities → events: MUC"
EVENTS_TEXT = """{muc} (in an order by hash; the clock decided how many, before any number was seen; {minutes} minutes of processor time on a busy machine). Words, sentences and tags are those of the English pipeline. Trees of
the arc-factored parser go to the coreference model that ships, and both to what `howsure explore` asks: is a mention of this organisation the agent of such an event, and is that asserted? Temperatures from the first development document of each genre
of GUM, put in upper case as MUC is, with the pipeline's tags: {temperatures}. The greedy *English pipeline* stands beside; *best entities* are the one best clustering instead of its posterior. Gold: does a template of MUC's keys have such an
incident by this organisation in this document? Pairs that only an optional template has count neither way ([the cells and the gold](muc-study.md)).

*The rules alone*: q is Σ weight × P(event | trees) by coreference; it is 0 where nothing is found, so that a log loss would be infinite. *The layer*: Σ weight × P(event | features), the regression of `howsure explore` on its named features with effects of
organisations and months (no words), trained on the best trees and the keys of the other four of five folds of documents; it stands in the place of a temperature of the last stage (and knows more than q does), and is the same for every way. *A layer of its own* is trained on, and asked of, the mean features of its own way. Calibration errors
are clustered by document. *Monthly counts covered*: of the cells (organisation, month) of the study of coreference that have a pair here, how many gold counts lie in the middle 95% of draws; width and interval score (width plus 40 times the distance of
a count that is missed) are of these intervals. Differences are paired by document (95% intervals, p-values; AUC by a bootstrap of 500 draws of documents, interval scores by cell); below 0 is better but for AUC.

{tables}"""

REST = """Not done

k best with a larger k for whole documents (the best trees of a document differ in a sentence or two, so that a larger k changes little). More than ten samples a document. The parts were thinned for the sake of processor time: EWT and MUC before any
number was seen.
"""


if __name__ == "__main__":
    main()
