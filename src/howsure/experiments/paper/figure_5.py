"""Figure 5: when the coreference model says that two mentions are one entity, how often are they? (§5.3)

The paper asks all pairs of mentions that its system found (4.3 million in 404 documents), each probability being a share of
1,000 sampled clusterings. Here they are exact as well, on found and on gold mentions, and documents are what is independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure.calibration import paper
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.result import Calibration
from howsure.experiments.coref_models import PARTS, Pairs, documents, fitted
from howsure.experiments.registry import Work
from howsure.experiments.result import Figure, Finding, Table, Verdict, finding_on, short, shown
from howsure.kernels.cells import Floats
from howsure.plots.panels import pair_panels
from howsure.verbs.check import check

CLOSE = 0.003  # what a figure of 300 dots can show
MENTIONS = {"predicted": "found mentions", "gold": "gold mentions"}


@dataclass(frozen=True, slots=True)
class Row:
    """One set of pair probabilities: how made, and how calibrated by the paper's measure and by ours."""

    mentions: str
    how: str  # "exact", "10 samples", …, "no temperature", "error costs"
    n: int
    base_rate: float
    published: float  # Algorithm 1
    interval: paper.PaperInterval  # Algorithm 2
    error: Estimate
    brier: float
    largest: float  # deviation from the exact probabilities
    rms: float
    gap: Estimate  # mean q - mean y where q ≥ ⅓

    def cells(self) -> tuple[Any, ...]:
        """Of the table."""
        return (
            MENTIONS[self.mentions],
            self.how,
            f"{self.n:,}",
            f"{self.base_rate:.4f}",
            f"{self.published:.4f}",
            f"{self.interval.low:.4f} – {self.interval.high:.4f}",
            shown(self.error),
            f"{self.brier:.5f}",
            f"{self.largest:.3f}",
        )


def settings(quick: bool) -> dict[str, Any]:
    """The paper's bin size and samples; `quick` takes a few documents."""
    few = {"limit": 4, "epochs": 1, "bin_size": 500, "simulations": 500, "samples": [10, 100], "costs": False}
    full = {
        "limit": None,
        "epochs": 4,
        "bin_size": 5_000,
        "simulations": 10_000,
        "samples": [10, 100, 1_000],
        "costs": True,
    }
    return {"quick": quick, **(few if quick else full)}


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
        panels[MENTIONS[mentions]] = {
            "exact": paper.adaptive_bins(pairs.y, pairs.q, settings["bin_size"]),
            f"{settings['samples'][-1]:,} samples": paper.adaptive_bins(pairs.y, drawn, settings["bin_size"]),
        }
        flat = Pairs(model.with_temperature(1.0), test)
        rows.append(_row(settings, mentions, "no temperature", flat, flat.q, rng))
        if settings["costs"]:
            costly = Pairs(
                fitted(work, settings, train, tune, mentions=mentions, costs=True).with_temperature(1.0), test
            )
            rows.append(_row(settings, mentions, "error costs", costly, costly.q, rng))
        about.append(
            f"{MENTIONS[mentions]}: {pairs.n_mentions:,} in {pairs.n_documents} documents, temperature {model.temperature:.3f}"
        )
    corpus = "OntoNotes (CoNLL-2011)" if settings["data"] == "conll-2011" else "OntoGUM"
    return {
        "findings": findings(rows, settings),
        "figures": (_figure(panels, settings["bin_size"]),),
        "tables": (_table(rows, settings["bin_size"]),),
        "notes": (
            f"Trained on {len(train)} documents of {corpus}, the temperature fitted on {len(tune)}, asked on {len(test)}; "
            + "; ".join(about)
            + ".",
            "Exact and sampled rows are after the temperature; the rows without it, and with error costs, have none. A mention found "
            "that is not in the gold corefers with nothing.",
            "Algorithm 2's interval takes pairs as independent and adds the sampling noise a second time; ours takes documents as independent.",
        ),
        "data": f"{corpus}, {len(test)} documents asked",
    }


def _row(settings: dict[str, Any], mentions: str, how: str, pairs: Pairs, q: Floats, rng: np.random.Generator) -> Row:
    made = check(pairs.y, q, groups=pairs.document, rng=None)
    assert isinstance(made, Calibration)
    assert made.error is not None
    high = q >= 1 / 3
    upper = check(pairs.y[high], q[high], groups=pairs.document[high], rng=None)
    assert isinstance(upper, Calibration)
    off = q - pairs.q
    return Row(
        mentions,
        how,
        len(q),
        float(pairs.y.mean()),
        paper.calibration_error(pairs.y, q, settings["bin_size"]),
        paper.calibration_interval(pairs.y, q, settings["bin_size"], settings["simulations"], rng),
        made.error,
        float(np.mean((q - pairs.y) ** 2)),
        float(np.abs(off).max()),
        float(np.sqrt(np.mean(off**2))),
        upper.bias.gap,
    )


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


def _table(rows: list[Row], bin_size: int) -> Table:
    columns = ("mentions", "probabilities", "pairs", "base rate", f"CalibErr, β = {bin_size:,}", "Algorithm 2", "debiased [95%, documents]", "Brier", "largest deviation")  # fmt: skip
    return Table("pairs", "Pairs of mentions", columns, tuple(r.cells() for r in rows))


def findings(rows: list[Row], settings: dict[str, Any]) -> tuple[Finding, ...]:
    """The claims in the paper's order."""
    made = [below_one_percent(rows), overconfident(rows), sampling(rows, settings)]
    if settings["costs"]:
        made.append(costs(rows))
    return tuple(made)


def _of(rows: list[Row], mentions: str, how: str) -> Row:
    return next(r for r in rows if r.mentions == mentions and r.how == how)


def below_one_percent(rows: list[Row]) -> Finding:
    """CalibErr below .01, and what that is worth."""
    plain, gold = _of(rows, "predicted", "no temperature"), _of(rows, "gold", "no temperature")
    return finding_on(
        "figure-5/below-one-percent",
        "confirmed" if plain.published < 0.01 else "differs",
        f"On the mentions that the system finds, {plain.n:,} pairs, the paper's measure gives {plain.published:.4f} and the debiased one, "
        f"documents being independent, {shown(plain.error)}. The number is small because most pairs are easy: only {plain.base_rate:.2%} of "
        f"them corefer, so that answering 0 to every pair would have a CalibErr of {plain.base_rate:.4f}, and answering {plain.base_rate:.4f} to all "
        f"one of 0. On gold mentions, where {gold.base_rate:.1%} of {gold.n:,} pairs corefer, it is {gold.published:.4f} ({shown(gold.error)} debiased). "
        "That it is the smallest error of the paper is thus no ground to call this the most calibrated of its models: the others are asked questions with "
        "other base rates. The Brier score tells a model from a constant: always the base rate would have "
        f"{plain.base_rate * (1 - plain.base_rate):.5f}, the model has {plain.brier:.5f}.",
        {
            "caliberr": plain.published,
            "debiased": plain.error.value or 0.0,
            "base_rate": plain.base_rate,
            "gold_caliberr": gold.published,
            "brier": plain.brier,
        },
        f"{plain.published:.4f} on {plain.n:,} pairs of found mentions; {gold.published:.4f} on {gold.n:,} of gold ones",
    )


def overconfident(rows: list[Row]) -> Finding:
    """Where q is a third or more."""
    plain, gold = _of(rows, "predicted", "no temperature"), _of(rows, "gold", "no temperature")
    gap = plain.gap
    low, high = gap.low or 0.0, gap.high or 0.0
    verdict: Verdict = "confirmed" if low > 0 else "differs" if high < 0 else "undecided"
    say = {
        "confirmed": "Too high, as in the paper.",
        "differs": "Too low, the other way round.",
        "undecided": "So few documents cannot tell: the interval has both signs.",
    }[verdict]
    return finding_on(
        "figure-5/overconfident",
        verdict,
        f"Where q ≥ ⅓, mean q - mean y is {gap.value:+.4f} [{low:+.4f}, {high:+.4f}] on found mentions and "
        f"{gold.gap.value:+.4f} [{gold.gap.low:+.4f}, {gold.gap.high:+.4f}] on gold ones (95%, documents as groups). {say}",
        {"gap": gap.value or 0.0, "low": low, "high": high, "gold_gap": gold.gap.value or 0.0},
        f"q - p = {gap.value:+.3f} [{low:+.3f}, {high:+.3f}] where q ≥ ⅓",
    )


def sampling(rows: list[Row], settings: dict[str, Any]) -> Finding:
    """Exact probabilities beside 1,000 samples'."""
    exact = _of(rows, "gold", "exact")
    few, many = (_of(rows, "gold", f"{n:,} samples") for n in (settings["samples"][0], settings["samples"][-1]))
    first, ten, found = (_of(rows, "predicted", how) for how in ("exact", few.how, many.how))
    return finding_on(
        "figure-5/sampling",
        "corrected",
        "They are exact in one pass: with A[i, k] = P(a_i = k), later mentions never merge earlier clusters, so Q[i, :i] = A[i, :i] Q[:i, :i]. "
        f"Of {many.how} the worst pair is off by {many.largest:.3f} (gold mentions; {found.largest:.3f} found), the root mean square by {many.rms:.4f}; "
        f"of {few.how} by {few.largest:.3f} and {few.rms:.4f}. On gold mentions the noise of few samples counts as miscalibration: the debiased error is "
        f"{shown(exact.error)} exact, {shown(few.error)} with {few.how}, {shown(many.error)} with {many.how}; the Brier score {exact.brier:.5f}, "
        f"{few.brier:.5f} and {many.brier:.5f}. On found mentions, nearly all of whose pairs are near 0, it hardly shows in CalibErr "
        f"({first.published:.4f} exact, {ten.published:.4f} with {ten.how}, {found.published:.4f} with {found.how}).",
        {
            "exact": exact.error.value or 0.0,
            "few": few.error.value or 0.0,
            "many": many.error.value or 0.0,
            "largest_deviation": many.largest,
            "brier_exact": exact.brier,
            "brier_few": few.brier,
            "brier_many": many.brier,
        },
        f"exact; {many.how} are off by up to {max(many.largest, found.largest):.3f}",
    )


def costs(rows: list[Row]) -> Finding:
    """Training with error costs, as the paper's system is."""
    pairs = [(m, _of(rows, m, "no temperature"), _of(rows, m, "error costs")) for m in ("predicted", "gold")]
    worse = all((b.error.value or 0.0) > (a.error.value or 0.0) for _, a, b in pairs)
    apart = all((b.error.low or 0.0) > (a.error.high or 0.0) for _, a, b in pairs)
    said = "; ".join(
        f"{'found' if m == 'predicted' else 'gold'} mentions {shown(a.error)} without, {shown(b.error)} with"
        for m, a, b in pairs
    )
    numbers = {f"{m}_{name}": r.error.value or 0.0 for m, a, b in pairs for name, r in (("plain", a), ("costs", b))}
    return finding_on(
        "figure-5/costs",
        "extended",
        f"They make it {'worse' if worse else 'no worse'} calibrated. Costs (3 for a new entity that is none, 1 for a wrong link, 0.1 for a link where there is none) move probability away from costly answers "
        f"by design. Debiased error: {said}. {'The intervals do not overlap. ' if apart else ''}Plain likelihood is the default here.",
        numbers,
        "; ".join(
            f"{b.published:.4f} with costs, {a.published:.4f} without ({'found' if m == 'predicted' else 'gold'})"
            for m, a, b in pairs
        ),
    )
