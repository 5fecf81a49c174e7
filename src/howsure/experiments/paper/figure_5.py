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
from howsure.experiments.paper.figure_5_findings import findings
from howsure.experiments.result import Figure, Table
from howsure.experiments.work import Work
from howsure.kernels.cells import Floats
from howsure.plots.pair_panels import pair_panels

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
        e = self.error
        return (
            MENTIONS[self.mentions],
            self.how,
            f"{self.n:,}",
            f"{self.base_rate:.4f}",
            f"{self.published:.4f}",
            f"{self.interval.low:.4f} – {self.interval.high:.4f}",
            f"{e.value:.4f} [{e.low:.4f}, {e.high:.4f}]",
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
    from howsure.verbs.check import check

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
                    ends = {"low": max(0.0, _short(low)), "high": _short(high)}
                    records.append({"panel": panel, "how": how, "q": _short(q), "p": _short(p), **ends})
    return Figure("5", caption + ".", pair_panels(records, title=caption))


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _table(rows: list[Row], bin_size: int) -> Table:
    columns = ("mentions", "probabilities", "pairs", "base rate", f"CalibErr, β = {bin_size:,}", "Algorithm 2", "debiased [95%, documents]", "Brier", "largest deviation")  # fmt: skip
    return Table("pairs", "Pairs of mentions", columns, tuple(r.cells() for r in rows))
