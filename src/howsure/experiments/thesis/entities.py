"""Named entities, the thesis's second task: three taggers asked whether a span is an entity of a kind.

The thesis announces the task and prints no numbers. Its questions on spans (§3.4) are asked of every span that any of the
taggers gives a probability of 0.001 or more and of every gold span; all taggers answer the same ones, exactly. Entities are
GUM's, named or not, the outermost ones: types of mentions as B-, I- and O tags.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from howsure.calibration.comparing.result import compare_rows
from howsure.calibration.paper import calibration_error
from howsure.experiments.findings import Finding, finding_on, judged, notes_on, shown
from howsure.experiments.questions import Question
from howsure.experiments.registry import Work
from howsure.experiments.result import CONFIDENCE_LEVEL, Figure, Table, calibrated
from howsure.experiments.tagging import Workshop
from howsure.experiments.thesis.tagging_figures import ADVANCED, BASIC, HMM, Calibrations, Pairs
from howsure.kernels.cells import Ints
from howsure.models.taggers.crf import Crf
from howsure.models.taggers.hmm import Hmm
from howsure.plots.panels import curve_panels
from howsure.posteriors.chain import ChainPosterior

LEAST = 1e-3  # probability from which a span is asked about


def settings(quick: bool) -> dict[str, Any]:
    """How much text, what is tried on dev, and the kinds of entities asked about: the commonest."""
    full = {"sentences": [2_500, 500, 1_000], "iterations": 60, "l2": [0.1, 0.03], "kinds": 5}
    small = {"sentences": [150, 60, 80], "iterations": 15, "l2": [0.1], "kinds": 2}
    return {"quick": quick, "pseudocounts": [0.001, 0.01, 0.1, 1.0], "bin_size": 1_000, **(small if quick else full)}


def asked(posteriors: dict[str, ChainPosterior], tags: Sequence[str], kind: str) -> Question:
    """Every span that any tagger finds possible, and every gold one; all taggers are asked all of them."""
    known = {n: p for n, p in posteriors.items() if kind in p.span_kinds()}
    gold = {n: p.codes(list(tags)) for n, p in known.items()}
    places: set[tuple[int, int]] = set(gold_spans(tags, next(iter(posteriors.values())).starts, kind))
    for p in known.values():
        a = p.span_is(kind, least=LEAST)
        places.update(zip(a.start.tolist(), a.end.tolist(), strict=True))
    spans = np.array(sorted(places), np.int64).reshape(-1, 2)
    answers = {n: p.span_is(kind, spans=spans) for n, p in known.items()}
    first = next(iter(known))
    q = {n: np.ascontiguousarray(answers[n].y_prob) if n in answers else np.zeros(len(spans)) for n in posteriors}
    return Question(kind, answers[first].y_true(gold[first]), q, answers[first].sentence)


def gold_spans(tags: Sequence[str], starts: Ints, kind: str) -> list[tuple[int, int]]:
    """(start, end) of the gold spans of a kind: B-kind and the I-kind after it, within a sentence.

    >>> gold_spans(["B-x", "I-x", "B-x", "O"], np.array([0, 4]), "x")
    [(0, 2), (2, 3)]
    """
    firsts, found = set(starts.tolist()), []
    for i in (i for i, tag in enumerate(tags) if tag == f"B-{kind}"):
        end = i + 1
        while end < len(tags) and tags[end] == f"I-{kind}" and end not in firsts:
            end += 1
        found.append((i, end))
    return found


def pooled(questions: Sequence[Question]) -> Question:
    """All kinds together."""
    q = {n: np.concatenate([a.q[n] for a in questions]) for n in questions[0].q}
    y, group = (np.concatenate([getattr(a, part) for a in questions]) for part in ("y", "group"))
    return Question("all kinds", y, q, group)


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Three taggers, the calibration of their spans by kind and together, and the thesis's claims."""
    shop = Workshop(settings, work)
    n = shop.train.n_sentences
    taggers: dict[str, Hmm | Crf] = {
        HMM: shop.hmm(rare=1, pseudocounts=settings["pseudocounts"]),
        BASIC: shop.best_crf("basic", n, settings["l2"]),
        ADVANCED: shop.best_crf("advanced", n, settings["l2"]),
    }
    work("spans of the test text")
    test = shop.test
    posteriors = {name: model.posterior(test.words, test.starts) for name, model in taggers.items()}
    known = {kind for p in posteriors.values() for kind in p.span_kinds()} & {t[2:] for t in test.tags if t[:2] == "B-"}
    often = {k: len(gold_spans(test.tags, test.starts, k)) for k in known}
    kinds = sorted(often, key=lambda k: (-often[k], k))[: settings["kinds"]]
    questions = [asked(posteriors, test.tags, k) for k in kinds]
    whole = pooled(questions)
    calibrations, pairs = compare_rows(whole.y, whole.q, whole.group, CONFIDENCE_LEVEL, None)
    named = dict(zip(whole.q, calibrations, strict=True))
    by = {(p.a, p.b): p for p in pairs}
    accuracies = {name: float(np.mean(p.mbr_tags() == p.codes(test.tags))) for name, p in posteriors.items()}
    rows = []
    for a in questions:
        errors = (shown(calibrated(a.y, q, a.group).error) for q in a.q.values())
        rows.append((a.name, len(a.y), int(a.y.sum()), *errors))
    columns = ("kind", "asked", "true", *(f"{n} [95%]" for n in taggers))
    title = f"Is this span a {' or '.join(filter(None, (', '.join(kinds[:-1]), kinds[-1])))}?"
    return {
        "findings": findings(named, by, accuracies, whole),
        "figures": (Figure("ner", f"{title} {len(whole.y):,} spans.", curve_panels(named, title=title)),),
        "tables": (
            _models(taggers, accuracies, named, whole, settings),
            Table("kinds", "Each kind", columns, tuple(rows)),
        ),
        "notes": notes_on("thesis-ner", trained=n, tested=test.n_sentences),
    }


def _models(
    taggers: dict[str, Hmm | Crf], accuracies: dict[str, float], named: Calibrations, whole: Question, settings: Any
) -> Table:
    rows = []
    for name, c in named.items():
        setting = "pseudocount" if name == HMM else "l2"
        raw = calibration_error(whole.y, whole.q[name], settings["bin_size"])
        trained = f"{setting} {taggers[name].settings[setting]:g}"
        spans = f"{whole.q[name].sum():.0f} of {int(whole.y.sum())}"
        rows.append((name, trained, accuracies[name], shown(c.error), raw, c.brier.value, spans))
    alg_1 = f"Alg. 1, β = {settings['bin_size']:,}"
    columns = ("model", "by dev", "tag accuracy", "RMS error [95%]", alg_1, "Brier", "spans expected")
    return Table("taggers", "Spans of all kinds", columns, tuple(rows))


def findings(named: Calibrations, pairs: Pairs, accuracies: dict[str, float], whole: Question) -> tuple[Finding, ...]:
    """What the thesis expects of discriminative models and of better features, asked of entities."""
    made = []
    for names, claim in (((HMM, BASIC), "entities/basic"), ((BASIC, ADVANCED), "entities/advanced")):
        d = -pairs[names].error_squared
        a, b = (named[n] for n in names)
        of = {"names": names, "a": a, "b": b, "d": d, "n": len(whole.y), "true": int(whole.y.sum())}
        of |= {"accuracy": [accuracies[n] for n in names]}
        numbers = {n: 0.0 if c.error is None else c.error.value for n, c in zip(names, (a, b), strict=True)}
        numbers["difference of squares"] = d.value
        made.append(finding_on(claim, judged(d), of, numbers=numbers))
    return tuple(made)
