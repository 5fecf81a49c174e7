"""Figure 5: when the coreference model says that two mentions are one entity, how often are they? (§5.3)

The paper asks all pairs of mentions that its system found (4.3 million in 404 documents), each probability being a share of
1,000 sampled clusterings. Here they are exact as well, on found and on gold mentions, and documents are what is independent.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure.calibration import paper
from howsure.calibration.estimation.intervals import Estimate
from howsure.corpora.conll2012 import read_conll2012
from howsure.corpora.coreference import gum_documents
from howsure.corpora.document import Document
from howsure.corpora.reading import corpus_path
from howsure.english import shipped
from howsure.english.annotating import reparsed
from howsure.errors import InputError
from howsure.experiments.findings import Finding, finding_on, held, judged, notes_on, shown
from howsure.experiments.registry import Work
from howsure.experiments.result import Figure, Table, short
from howsure.kernels.cells import Floats
from howsure.kernels.coreference.antecedents_compiled import pair_frequencies
from howsure.models.coreference.ranker import CorefModel, fit_coref, fit_temperature, gold_clusters
from howsure.plots.panels import pair_panels
from howsure.verbs.check import check

Documents = list[Document]
CLOSE = 0.003  # what a figure of 300 dots can show
MENTIONS = {"predicted": "found mentions", "gold": "gold mentions"}
# What is trained on, what a temperature is fitted on, and what is asked about: on OntoNotes as the paper, on GUM by its splits.
PARTS = {"conll-2011": ("train", "test", "dev"), "gum": ("train", "dev", "test")}


def documents(corpus: str, part: str, limit: int | None = None) -> Documents:
    """Documents with gold mentions and parses: GUM's own, or those of the English pipeline where the corpus has none."""
    if corpus == "gum":
        return gum_documents(part, limit=limit)
    files = sorted(corpus_path(corpus, part).rglob("*_conll"))
    gold = [f for f in files if f.name.endswith("gold_conll")] or files
    if not gold:
        raise InputError(f"there is no *_conll file below {corpus_path(corpus, part)}.")
    return list(reparsed(shipped.model(), [d for f in gold for d in read_conll2012(f)][:limit]))


def fitted(
    work: Work, settings: dict[str, Any], train: Documents, tune: Documents, *, mentions: str, costs: bool = False
) -> CorefModel:
    """A model with the temperature that was fitted on `tune`; kept for other experiments and runs."""
    key = {k: settings[k] for k in ("data", "data_fingerprint", "limit", "epochs")}
    key |= {"mentions": mentions, "costs": costs}

    def make() -> CorefModel:
        work(f"training on {mentions} mentions{' with error costs' if costs else ''}")
        model = fit_coref(train, mentions=mentions, costs=costs, epochs=settings["epochs"], rng=0)
        given = [model.candidates(d) for d in tune]
        raw = [model.posterior(d, m, temperature=1.0) for d, m in zip(tune, given, strict=True)]
        gold = [gold_clusters(d, m) for d, m in zip(tune, given, strict=True)]
        return model.with_temperature(fit_temperature(raw, gold, "likelihood"))

    return work.kept("coref", key, make, lambda model, path: model.save(path), CorefModel.load)


class Pairs:
    """All pairs of mentions of all documents: label, exact probability, document; and samples when asked for."""

    def __init__(self, model: CorefModel, given: list[Document]) -> None:
        used = [d for d in given if d.mentions]
        found = [model.candidates(d) for d in used]
        self.posteriors = [model.posterior(d, m) for d, m in zip(used, found, strict=True)]
        gold = [gold_clusters(d, m) for d, m in zip(used, found, strict=True)]
        lower = [np.tril_indices(len(e), -1) for e in gold]
        self.y = np.concatenate([e[i] == e[j] for e, (i, j) in zip(gold, lower, strict=True)])
        self.q = np.concatenate([p.pairs()[at] for p, at in zip(self.posteriors, lower, strict=True)])
        self.document = np.repeat(np.arange(len(used)), [len(i) for i, _ in lower])
        self.n_documents, self.n_mentions = len(used), sum(map(len, gold))

    def sampled(self, n: int, rng: np.random.Generator) -> Any:
        """The pairs' frequencies in n sampled clusterings of each document."""
        seen = [pair_frequencies(p.samples(n, rng)) for p in self.posteriors]
        return np.concatenate([s[np.tril_indices(len(s), -1)] for s in seen])


@dataclass(frozen=True, slots=True)
class Row:
    """One set of pair probabilities: how made, and how calibrated by the paper's measure and by ours."""

    mentions: str
    how: str  # "exact", "10 samples", …, "no temperature", "error costs"
    n: int
    base_rate: float
    published: float  # Algorithm 1
    interval: Estimate  # Algorithm 2
    error: Estimate
    brier: float
    largest: float  # deviation from the exact probabilities
    rms: float
    gap: Estimate  # mean q - mean y where q ≥ ⅓

    def cells(self) -> tuple[Any, ...]:
        """Of the table."""
        first = MENTIONS[self.mentions], self.how, f"{self.n:,}", f"{self.base_rate:.4f}", f"{self.published:.4f}"
        interval = f"{self.interval.low:.4f} – {self.interval.high:.4f}"
        return *first, interval, shown(self.error), f"{self.brier:.5f}", f"{self.largest:.3f}"


def settings(quick: bool) -> dict[str, Any]:
    """The paper's bin size and samples; `quick` takes a few documents."""
    few = {"limit": 4, "epochs": 1, "bin_size": 500, "simulations": 500, "samples": [10, 100]}
    full = {"limit": None, "epochs": 4, "bin_size": 5_000, "simulations": 10_000, "samples": [10, 100, 1_000]}
    return {"quick": quick, **(few if quick else full), "costs": not quick}


def run(settings: dict[str, Any], rng: np.random.Generator, work: Work) -> dict[str, Any]:
    """Train, ask all pairs, and say what it means for the paper's claims."""
    work("reading documents")
    train, tune, test = (documents(settings["data"], part, settings["limit"]) for part in PARTS[settings["data"]])
    return studied(settings, rng, work, train, tune, test)


def studied(
    settings: dict[str, Any], rng: np.random.Generator, work: Work, train: Any, tune: Any, test: Any
) -> dict[str, Any]:
    """The same on given documents."""
    rows: list[Row] = []
    panels: dict[str, dict[str, paper.PaperBins]] = {}
    about = []
    for mentions in MENTIONS:
        model = fitted(work, settings, train, tune, mentions=mentions)
        work(f"asking pairs of {MENTIONS[mentions]}")
        pairs = Pairs(model, test)
        rows.append(_row(settings, mentions, "exact", pairs, pairs.q, rng))
        drawn = pairs.q
        for n in settings["samples"]:
            work(f"{n:,} samples, {MENTIONS[mentions]}")
            drawn = pairs.sampled(n, rng)
            rows.append(_row(settings, mentions, f"{n:,} samples", pairs, drawn, rng))
        both = {"exact": pairs.q, f"{settings['samples'][-1]:,} samples": drawn}
        bins = {how: paper.adaptive_bins(pairs.y, q, settings["bin_size"]) for how, q in both.items()}
        panels[MENTIONS[mentions]] = bins
        flat = Pairs(model.with_temperature(1.0), test)
        rows.append(_row(settings, mentions, "no temperature", flat, flat.q, rng))
        if settings["costs"]:
            with_costs = fitted(work, settings, train, tune, mentions=mentions, costs=True)
            costly = Pairs(with_costs.with_temperature(1.0), test)
            rows.append(_row(settings, mentions, "error costs", costly, costly.q, rng))
        found = f"{MENTIONS[mentions]}: {pairs.n_mentions:,} in {pairs.n_documents} documents"
        about.append(f"{found}, temperature {model.temperature:.3f}")
    corpus = "OntoNotes (CoNLL-2011)" if settings["data"] == "conll-2011" else "OntoGUM"
    sizes = {"train": len(train), "tune": len(tune), "test": len(test)}
    published = f"CalibErr, β = {settings['bin_size']:,}", "Algorithm 2", "debiased [95%, documents]"
    columns = ("mentions", "probabilities", "pairs", "base rate", *published, "Brier", "largest deviation")
    return {
        "findings": findings(rows, settings),
        "figures": (_figure(panels, settings["bin_size"]),),
        "tables": (Table("pairs", "Pairs of mentions", columns, tuple(r.cells() for r in rows)),),
        "notes": notes_on("figure-5", corpus=corpus, about="; ".join(about), **sizes),
        "data": f"{corpus}, {len(test)} documents asked",
    }


def _row(settings: dict[str, Any], mentions: str, how: str, pairs: Pairs, q: Floats, rng: np.random.Generator) -> Row:
    made: Any = check(pairs.y, q, groups=pairs.document, rng=None)
    high = q >= 1 / 3
    upper: Any = check(pairs.y[high], q[high], groups=pairs.document[high], rng=None)
    off, size = q - pairs.q, settings["bin_size"]
    published = paper.calibration_error(pairs.y, q, size)
    interval = paper.calibration_interval(pairs.y, q, size, settings["simulations"], rng)
    brier, largest, rms = np.mean((q - pairs.y) ** 2), np.abs(off).max(), np.sqrt(np.mean(off**2))
    numbers = published, interval, made.error, float(brier), float(largest), float(rms)
    return Row(mentions, how, len(q), float(pairs.y.mean()), *numbers, upper.bias.gap)


def _figure(panels: dict[str, dict[str, paper.PaperBins]], bin_size: int) -> Figure:
    """Bins that would be drawn on one another, nearly all of them at the origin, are drawn once."""
    caption = f"How often pairs of mentions corefer against the probability given, in bins of {bin_size:,} pairs"
    records = []
    for panel, curves in panels.items():
        for how, bins in curves.items():
            last = (-1.0, -1.0)
            for q, p, low, high in zip(bins.mean_prob, bins.mean_true, bins.low, bins.high, strict=True):
                if max(abs(q - last[0]), abs(p - last[1])) >= CLOSE:
                    last = (q, p)
                    place = {"q": short(q, 4), "p": short(p, 4), "low": max(0.0, short(low, 4)), "high": short(high, 4)}
                    records.append({"panel": panel, "how": how, **place})
    return Figure("5", caption + ".", pair_panels(records, title=caption))


def findings(rows: list[Row], settings: dict[str, Any]) -> tuple[Finding, ...]:
    """The claims in the paper's order."""
    made = below_one_percent(rows), overconfident(rows), sampling(rows, settings)
    return (*made, costs(rows)) if settings["costs"] else made


def _of(rows: list[Row], mentions: str, how: str) -> Row:
    return next(r for r in rows if r.mentions == mentions and r.how == how)


def below_one_percent(rows: list[Row]) -> Finding:
    """CalibErr below .01, and what that is worth."""
    plain, gold = (_of(rows, mentions, "no temperature") for mentions in MENTIONS)
    constant = plain.base_rate * (1 - plain.base_rate)  # the Brier score of always the base rate
    of = {"plain": plain, "gold": gold, "constant": constant}
    return finding_on("figure-5/below-one-percent", held(plain.published < 0.01), of)


def overconfident(rows: list[Row]) -> Finding:
    """Where q is a third or more."""
    gap, gold = (_of(rows, mentions, "no temperature").gap for mentions in MENTIONS)
    low, high = gap.low or 0.0, gap.high or 0.0
    verdict = judged(gap)
    say = {
        "confirmed": "Too high, as in the paper.",
        "differs": "Too low, the other way round.",
        "undecided": "So few documents cannot tell: the interval has both signs.",
    }[verdict]
    return finding_on("figure-5/overconfident", verdict, gap=gap, low=low, high=high, gold=gold, say=say)


def sampling(rows: list[Row], settings: dict[str, Any]) -> Finding:
    """Exact probabilities beside 1,000 samples'."""
    hows = ["exact", *(f"{settings['samples'][i]:,} samples" for i in (0, -1))]
    names = {"gold": ("exact", "few", "many"), "predicted": ("first", "ten", "found")}
    of = {n: _of(rows, m, how) for m, three in names.items() for n, how in zip(three, hows, strict=True)}
    return finding_on("figure-5/sampling", "corrected", of, largest=max(of["many"].largest, of["found"].largest))


def costs(rows: list[Row]) -> Finding:
    """Training with error costs, as the paper's system is."""
    pairs = {m: (_of(rows, m, "no temperature"), _of(rows, m, "error costs")) for m in MENTIONS}
    (plain, costly), (gold, gold_costly) = pairs.values()
    worse = all(b.error.value > a.error.value for a, b in pairs.values())
    apart = all((b.error.low or 0.0) > (a.error.high or 0.0) for a, b in pairs.values())
    return finding_on(
        "figure-5/costs",
        "extended",
        {"plain": plain, "costly": costly, "gold": gold, "gold_costly": gold_costly},
        worse="worse" if worse else "no worse",
        apart="The intervals do not overlap. " if apart else "",
    )
