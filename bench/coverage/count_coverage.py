"""Do the intervals of `howsure count` hold? Labels are drawn again and again from populations whose labels are all known.

    HOWSURE_DATA=… python bench/coverage/count_coverage.py [overall|cells|stopping|groups|documents|peers …] [--write]

Each part keeps its numbers in build/counts-PART.json, and goes on where it stopped; --write puts the tables into docs/evidence/theory.md.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from count_populations import JUDGING, RARE, ROOT, TUNING, Population, drawn_whole, populations

from howsure.counting.cells import cell_counts, exchangeable, in_time
from howsure.counting.clusters import clustered
from howsure.counting.design import FIRST, Strata, allocation, cell_plan
from howsure.counting.regression import corrected_regression
from howsure.counting.sample import Sample, strata_of_places, stratified
from howsure.counting.share import share_of_positives, tilted_limits, wilson
from howsure.counting.strata import grid_places, merged_strata
from howsure.counting.tally import Labels, tally_of

Z = 1.959963984540054
TOPICS = tuple(f"reuters-{t}" for t in (*TUNING, *JUDGING))
OTHERS = ("tweets", "rte", "ark-V", "ark-N", "muc-attack", "muc-violence")
OVERALL = (*TOPICS, *(f"reuters-{t}" for t in RARE), *OTHERS)
CELLS = ("tweets", *TOPICS, "muc-violence", "ark-V")
DOUBLED = ("reuters-crude", "reuters-acq", "reuters-trade", "reuters-money-fx")
UNORDERED = ("tweets",)  # cells are files, not periods
LABELS = (50, 100, 200, 400)
Row = dict[str, Any]


class Setting:
    """A population with its strata; `shuffled` makes q useless."""

    def __init__(self, p: Population, *, shuffled: bool = False) -> None:
        self.name = p.name + (", q shuffled" if shuffled else "")
        self.y, self.cell = p.y.astype(np.int64), p.cell.astype(np.int64)
        self.q = np.random.default_rng(11).permutation(p.q) if shuffled else p.q
        self.n_cells = int(self.cell.max()) + 1
        names = tuple((str(c),) for c in range(self.n_cells))
        none = np.zeros(len(self.y), bool)
        self.tally = tally_of(self.q, self.y.astype(np.uint8), none, self.cell, names)
        self.places = grid_places(self.q)
        self.h = np.unique(strata_of_places(self.tally)[self.places], return_inverse=True)[1]
        self.place = self.places[np.unique(self.h, return_index=True)[1]]  # one of each stratum
        self.table = self.crossed(np.ones(len(self.y), np.int64))
        self.items = self.table.sum(1)
        self.mean = np.bincount(self.h, self.q) / self.items
        self.corr = float(np.corrcoef(self.q, self.y)[0, 1])
        self.relabelled(self.y)

    def crossed(self, values: Any) -> Any:
        """Sums of whole numbers over stratum and cell."""
        n = int(self.h.max()) + 1
        return (
            np.rint(np.bincount(self.h * self.n_cells + self.cell, values, n * self.n_cells))
            .astype(np.int64)
            .reshape(n, -1)
        )

    def relabelled(self, y: Any) -> None:
        """Other labels of the same items."""
        self.y, self.share = y, float(y.mean())
        self.true = self.crossed(y)
        self.positive = self.true.sum(1)

    def strata(self, n: Any, k: Any) -> Strata:
        """The strata with these labels."""
        return Strata(self.items, self.mean, np.asarray(n), np.asarray(k))

    def counts(self, n: int, draws: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Labels and positive labels of each stratum in this number of samples of the design: first 40, then the rest."""
        zero = np.zeros(len(self.items), np.int64)
        first = allocation(self.strata(zero, zero), min(FIRST, n))
        k1 = rng.hypergeometric(self.positive, self.items - self.positive, np.tile(first, (draws, 1)))
        if n <= FIRST:
            return np.tile(first, (draws, 1)), k1
        kinds, which = np.unique(k1, axis=0, return_inverse=True)
        more = np.array([allocation(self.strata(first, k), n - FIRST) for k in kinds])[which.ravel()]
        left = self.positive - k1
        k2 = rng.hypergeometric(left, self.items - first - left, more)
        return first + more, k1 + k2

    def limits(self, labelled: Any, positive: Any) -> tuple[Any, Any]:
        """Of samples of `counts`; strata with one label are merged with a neighbour, and then weighted, as `stratified` does."""
        low, high = np.zeros((2, len(labelled)))
        for kind in np.unique(labelled, axis=0):
            mine = (labelled == kind).all(1)
            merged = merged_strata(self.items, kind)
            items, weight = np.bincount(merged, self.items), np.where(kind > 0, self.items / np.maximum(kind, 1), 0)
            sums, squares = np.bincount(merged, weight * kind), np.bincount(merged, weight**2 * kind)
            k = np.stack([np.bincount(merged, row) for row in positive[mine] * weight]) * (sums / squares)
            n = np.tile(sums**2 / squares, (len(k), 1))
            _, low[mine], high[mine] = tilted_limits(items.astype(float), n, k, Z)
        return low, high

    def sample(self, n: int, rng: np.random.Generator) -> Sample:
        """Labels of one sample of the design for cells: first 40, then the rest.

        Which item of a stratum and cell is drawn is left to chance, so that the number of positives is hypergeometric.
        """
        have, positive = np.zeros_like(self.table), np.zeros_like(self.table)
        apart = np.zeros(self.n_cells, bool)
        drawn = []  # of each round: number, positives, and whether drawn apart
        for more in (min(FIRST, n), n - min(FIRST, n)):
            plan = cell_plan(self.table, have, positive, self.mean, more, rng, apart)
            left = self.true - positive
            k = rng.hypergeometric(left, self.table - have - left, plan.wanted)
            have, positive, apart = have + plan.wanted, positive + k, plan.apart
            drawn.append((plan.wanted, k, np.broadcast_to(apart, have.shape)))
        shared = plan.inclusion[:, ~apart].max(1, initial=0)[
            :, None
        ]  # an item's probability is that of its stratum's last batch
        parts = []
        for wanted, k, alone in drawn:
            inclusion = np.where(alone, plan.inclusion, shared)
            for label, number in ((1, k), (0, wanted - k)):
                at = np.repeat(np.arange(have.size), number.ravel())
                parts.append((at // self.n_cells, at % self.n_cells, np.full(len(at), label), inclusion.ravel()[at]))
        h, c, y, pi = (np.concatenate(x) for x in zip(*parts, strict=True))
        none = np.zeros(len(h), np.int64)
        labels = Labels(c, self.mean[h], self.place[h], y.astype(np.uint8), pi, none.astype(np.uint64), none - 1)
        return stratified(replace(self.tally, labels=labels))


def settings(names: tuple[str, ...], *, shuffled: bool = True) -> list[Setting]:
    """Populations, each also with shuffled q."""
    made = []
    for p in populations(*names).values():
        made.append(Setting(p))
        if shuffled:
            made.append(Setting(p, shuffled=True))
    return made


def plain_wilson(n: int, total: int, k: Any) -> tuple[Any, Any]:
    """Of random labels alone."""
    low, high = zip(*(wilson(float(x), n, total) for x in np.unique(k)), strict=True)
    at = np.searchsorted(np.unique(k), k)
    return np.array(low)[at], np.array(high)[at]


def overall(draws: int = 2_000) -> list[dict[str, Any]]:
    """Coverage and width of the share of all items."""
    made: list[Row] = []
    for s in settings(OVERALL):
        for n in LABELS:
            if n > len(s.y) // 2:
                continue
            rng = np.random.default_rng(n)
            started = time.process_time()
            labelled, positive = s.counts(n, draws, rng)
            low, high = s.limits(labelled, positive)
            seconds = time.process_time() - started
            k = rng.hypergeometric(s.positive.sum(), len(s.y) - s.positive.sum(), n, draws)
            wlow, whigh = plain_wilson(n, len(s.y), k)
            made.append(
                {
                    "population": s.name,
                    "share": s.share,
                    "corr": s.corr,
                    "n": n,
                    "coverage": float(((low <= s.share + 1e-12) & (s.share <= high + 1e-12)).mean()),
                    "width": float((high - low).mean() / (whigh - wlow).mean()),
                    "wilson": float(((wlow <= s.share) & (s.share <= whigh)).mean()),
                    "draws": draws,
                    "seconds": seconds,
                }
            )
            print(made[-1], flush=True)
    return made


def cells(draws: int = 300, n: int = 200) -> list[Row]:
    """Cells: coverage of each, of their changes as they are printed, of trend and coefficients; and with one period doubled."""
    made: list[Row] = json.loads(kept("cells").read_text()) if kept("cells").exists() else []
    done = {r["population"] for r in made}
    wanted = [(name, doubled) for doubled in (False, True) for name in (DOUBLED if doubled else CELLS)]
    for name, doubled in wanted:
        s = Setting(populations(name)[name])
        s.name += ", one period doubled" if doubled else ""
        if s.name in done:
            continue
        which = _double(s) if doubled else None
        made.append(_cells(s, draws, n, name in UNORDERED, which))
        print(made[-1], flush=True)
        kept("cells").write_text(json.dumps(made, indent=1))
    return made


def _double(s: Setting) -> int:
    """Twice as many positives in the largest of the later periods, found where the model is likeliest to have them."""
    rng = np.random.default_rng(5)
    which = 1 + int(np.argmax(s.table.sum(0)[1:]))
    y = s.y.copy()
    inside = np.flatnonzero((s.cell == which) & (y == 0))
    weight = s.q[inside] + 0.02
    y[rng.choice(inside, int(y[s.cell == which].sum()), replace=False, p=weight / weight.sum())] = 1
    s.relabelled(y)
    return which


def _cells(s: Setting, draws: int, n: int, unordered: bool, doubled: int | None) -> Row:
    t, items, true = s.n_cells, s.table.sum(0), s.true.sum(0)
    shares, time_ = true / items, np.arange(t)

    def changes(free: Any, counts: Any) -> Any:
        """As printed: a group against all others, a period against the one before."""
        if unordered:
            return free / items - (counts.sum(-1, keepdims=True) - counts) / (items.sum() - items)
        return np.diff(free / items, axis=-1)

    # Formulas: a dummy for each file; or time and, as a factor, the thirds of it.
    trend = np.stack([np.ones(t), time_], axis=1)
    thirds = np.eye(3)[time_ * 3 // t][:, 1:]
    formula = np.hstack([np.ones((t, 1)), np.eye(t)[:, 1:]] if unordered else [trend, thirds])
    root = np.sqrt(items)[:, None]
    beta, slope = (np.linalg.lstsq(root * x, root[:, 0] * shares, rcond=None)[0] for x in (formula, trend))
    effects = exchangeable(t) if unordered else in_time(time_)
    rng = np.random.default_rng(7)
    held, width, plain, total = np.zeros(t), np.zeros(t), np.zeros(t), 0
    right = changes(true[None].astype(float), true[None].astype(float))[0]
    differ, dwidth = np.zeros(len(right)), 0.0
    line, lwidth, terms, twidth = 0, 0.0, np.zeros(len(beta)), np.zeros(len(beta))
    labels = np.maximum(np.round(n * items / items.sum()), 1).astype(int)
    started = time.process_time()
    for _ in range(draws):
        sample = s.sample(n, rng)
        share = share_of_positives(sample.items.sum(1), sample.n, sample.k)
        total += share.low <= s.share <= share.high
        drawn = cell_counts(
            sample.items,
            sample.labelled,
            sample.positive,
            effects,
            effective=sample.effective,
            total=share,
            n_draws=500,
            rng=rng,
        )
        low, high = drawn.interval()
        held += (low <= true) & (true <= high)
        width += (high - low) / items
        dlow, dhigh = np.quantile(changes(drawn.free, drawn.counts), [0.025, 0.975], axis=0)
        differ += (dlow - 1e-12 <= right) & (right <= dhigh + 1e-12)
        dwidth += float((dhigh - dlow).mean())
        fitted = corrected_regression(trend, sample)
        line += int(fitted.low[1] <= slope[1] <= fitted.high[1])
        lwidth += float(fitted.high[1] - fitted.low[1])
        fitted = corrected_regression(formula, sample)
        terms += (fitted.low <= beta) & (beta <= fitted.high)
        twidth += fitted.high - fitted.low
        k = rng.hypergeometric(true, items - true, np.minimum(labels, items))
        limits = [wilson(float(a), float(b), int(c)) for a, b, c in zip(k, labels, items, strict=True)]
        plain += [b - a for a, b in limits]
    worst = int(held.argmin())
    return {
        "population": s.name,
        "n": n,
        "cells": t,
        "total": total / draws,
        "coverage": float(held.mean() / draws),
        "worst": float(held[worst] / draws),
        "worst_items": int(items[worst]),
        "worst_share": float(shares[worst]),
        "width": float(width.sum() / plain.sum()),
        "differences": float(differ.mean() / draws),
        "worst_difference": float(differ.min() / draws),
        "difference_width": dwidth / draws,
        "doubled": None if doubled is None else float(differ[doubled - 1] / draws),
        "trend": None if unordered else line / draws,
        "trend_width": lwidth / draws,
        "trend_true": float(slope[1]),
        "terms": (terms[1:] / draws).tolist(),
        "term_width": float(twidth[1:].mean() / draws),
        "draws": draws,
        "seconds": (time.process_time() - started) / draws,
    }


STOPS = (
    ("reuters-crude", 0.015),
    ("reuters-acq", 0.03),
    ("reuters-trade", 0.015),
    ("reuters-money-fx", 0.015),
    ("tweets", 0.03),
    ("ark-V", 0.02),
    ("muc-violence", 0.04),
    ("rte", 0.05),
)


def stopping(draws: int = 1_000) -> list[dict[str, Any]]:
    """Labels in batches of 20 until the interval is narrow enough: does it hold when one stops then?"""
    made = []
    for name, goal in STOPS:
        s = Setting(populations(name)[name])
        rng = np.random.default_rng(9)
        zero = np.zeros(len(s.items), np.int64)
        first = allocation(s.strata(zero, zero), FIRST)
        n = np.tile(first, (draws, 1))
        k = rng.hypergeometric(s.positive, s.items - s.positive, n)
        low, high, done = np.zeros(draws), np.ones(draws), np.zeros(draws, bool)
        while not done.all():
            at = np.flatnonzero(~done)
            _, low[at], high[at] = tilted_limits(s.items.astype(float), n[at].astype(float), k[at].astype(float), Z)
            done[at] = (high[at] - low[at]) / 2 <= goal
            for i in np.flatnonzero(~done):
                more = allocation(s.strata(n[i], k[i]), 20)
                k[i] += rng.hypergeometric(s.positive - k[i], s.items - n[i] - (s.positive - k[i]), more)
                n[i] += more
        p = s.share
        alone = next(m for m in range(20, len(s.y), 20) if np.subtract(*wilson(p * m, m, len(s.y))[::-1]) / 2 <= goal)
        made.append(
            {
                "population": name,
                "half_width": goal,
                "coverage": float(((low <= p) & (p <= high)).mean()),
                "labels": float(n.sum(1).mean()),
                "half": float((high - low).mean() / 2),
                "labels_only": alone,
                "draws": draws,
            }
        )
        print(made[-1], flush=True)
    return made


def groups(draws: int = 1_000) -> list[Row]:
    """Whole documents drawn at random: runs of neighbouring items of which some share a common shift."""
    made = []
    for name in ("reuters-crude", "reuters-acq", "reuters-trade", "ark-V", "muc-violence", "tweets"):
        s = Setting(populations(name)[name])
        for kind, per in (("neighbours", 8), ("sorted", 8)):
            rng = np.random.default_rng(3)
            # "sorted": documents hold items of like labels and probabilities, the hardest case.
            order = (
                np.arange(len(s.y))
                if kind == "neighbours"
                else np.lexsort((rng.random(len(s.y)), s.y + 2 * rng.random(len(s.y))))
            )
            document = np.empty(len(s.y), np.int64)
            document[order] = np.arange(len(s.y)) // per
            made += _whole(s, f"{name}, {kind}", document, draws, rng)
    return made


def documents(draws: int = 1_000) -> list[Row]:
    """Documents, sentences and days as they are, of populations on which nothing was tuned."""
    made = []
    for p in drawn_whole().values():
        document = p.cell.astype(np.int64)
        s = Setting(replace(p, cell=np.zeros_like(p.cell)))
        made += _whole(s, p.name, document, draws, np.random.default_rng(3))
    return made


def _whole(s: Setting, name: str, document: Any, draws: int, rng: np.random.Generator) -> list[Row]:
    """Samples of 15 and of 40 of the documents; all items are one cell."""
    one = np.zeros(len(s.y), np.int64)
    total = int(document.max()) + 1
    none = np.zeros(len(s.y), bool)
    alone = tally_of(s.q, one.astype(np.uint8), none, one, ((),), group=document.astype(np.uint64))
    made = []
    for m in (15, 40):
        covered, width, naive = 0, 0.0, 0
        for _ in range(draws):
            chosen = np.zeros(total, bool)
            chosen[rng.choice(total, m, replace=False)] = True
            at = np.flatnonzero(chosen[document])
            y = s.y[at].astype(np.uint8)
            group = document[at].astype(np.uint64)
            labels = Labels(one[at], s.q[at], s.places[at], y, np.full(len(at), np.nan), group, one[at] - 1)
            tally = replace(alone, labels=labels)
            sample = stratified(tally)
            found = clustered(sample, tally, 0.95)
            w = found.sample
            share = share_of_positives(w.items.sum(1), w.n, w.k, 0.95, found.z)
            single = share_of_positives(sample.items.sum(1), sample.n, sample.k)
            covered += share.low <= s.share <= share.high
            naive += single.low <= s.share <= single.high
            width += share.high - share.low
        row = {"population": name, "documents": m, "coverage": covered / draws, "items_alone": naive / draws}
        row |= {"width": width / draws, "draws": draws, "share": s.share, "of": total, "size": len(s.y) / total}
        made.append(row)
        print(row, flush=True)
    return made


def peers(draws: int = 1_000) -> list[dict[str, Any]]:
    """The same populations with random labels for ppi_py (PPI++) and truescore, and the band of Σq: coverage, width, time."""
    from ppi_py import ppi_mean_ci
    from truescore import ppi_estimate

    made = []
    for p in populations("reuters-crude", "reuters-acq", "reuters-trade", "tweets", "ark-V").values():
        s = Setting(p)
        y = s.y.astype(float)
        for n in (50, 100, 200, 400):
            rng = np.random.default_rng(n)
            limits: dict[str, list[tuple[float, float]]] = {"ppi_py": [], "truescore": []}
            seconds = dict.fromkeys(limits, 0.0)
            for _ in range(draws):
                at = rng.choice(len(y), n, replace=False)
                rest = np.ones(len(y), bool)
                rest[at] = False
                started = time.process_time()
                low, high = ppi_mean_ci(y[at], s.q[at], s.q[rest], alpha=0.05)
                seconds["ppi_py"] += time.process_time() - started
                limits["ppi_py"].append((float(np.squeeze(low)), float(np.squeeze(high))))
                started = time.process_time()
                found = ppi_estimate(s.q, y[at], at)
                seconds["truescore"] += time.process_time() - started
                limits["truescore"].append((found.low, found.high))
            started = time.process_time()
            labelled, positive = s.counts(n, draws, rng)
            _, a, b = tilted_limits(s.items.astype(float), labelled.astype(float), positive.astype(float), Z)
            ours = time.process_time() - started
            k = rng.hypergeometric(s.positive.sum(), len(y) - s.positive.sum(), n, draws)
            wlow, whigh = plain_wilson(n, len(y), k)
            base = float((whigh - wlow).mean())
            half = Z * np.sqrt((s.q * (1 - s.q)).sum()) / len(y)
            row: dict[str, Any] = {"population": s.name, "n": n, "share": s.share, "draws": draws}
            for name, (low, high), spent in (
                ("ppi_py", np.array(limits["ppi_py"]).T, seconds["ppi_py"]),
                ("truescore", np.array(limits["truescore"]).T, seconds["truescore"]),
                ("sum of q", (np.array([s.q.mean() - half]), np.array([s.q.mean() + half])), 0.0),
                ("howsure", (a, b), ours),
                ("labels only", (wlow, whigh), 0.0),
            ):
                row[name] = {
                    "coverage": float(((low <= s.share) & (s.share <= high)).mean()),
                    "width": float((high - low).mean() / base),
                    "milliseconds": 1000 * spent / draws,
                }
            made.append(row)
            print(row, flush=True)
    return made


PARTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "overall": overall,
    "cells": cells,
    "stopping": stopping,
    "groups": groups,
    "documents": documents,
    "peers": peers,  # needs ppi-python and truescore
}


def kept(part: str) -> Path:
    """Where a part's numbers are."""
    return ROOT / "build" / f"counts-{part}.json"


def percent(value: float | None) -> str:
    """A coverage for a table."""
    return "–" if value is None else f"{100 * value:.1f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown; numbers to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def overall_table(rows: list[dict[str, Any]]) -> str:
    """A population a line, coverage and width for each number of labels."""
    made = []
    for name in dict.fromkeys(r["population"] for r in rows):
        mine = {r["n"]: r for r in rows if r["population"] == name}
        first = next(iter(mine.values()))
        cells = [f"{percent(mine[n]['coverage'])} / {mine[n]['width']:.2f}" if n in mine else "–" for n in LABELS]
        made.append([name, f"{100 * first['share']:.2f}%", f"{first['corr']:.2f}", *cells])
    low, high = min(rows, key=lambda r: r["coverage"]), max(rows, key=lambda r: r["coverage"])
    wide = max(r["width"] for r in rows)
    near = [r for r in rows if r["corr"] >= 0.7]
    few, many = (max(r["width"] for r in near if (r["n"] <= 100) == small) for small in (True, False))
    said = (
        f"*All items together*, {rows[0]['draws']:,} samples a cell: coverage in % of the nominal 95% interval, and its width over that of Wilson's interval of as "
        f"many random labels. Coverage is {percent(low['coverage'])}% ({low['population']}, n = {low['n']}) to {percent(high['coverage'])}%, with standard errors of "
        f"0.6 points at most; {sum(r['coverage'] > 0.99 for r in rows)} of {len(rows)} are above 99%, all with few positive labels or none (where 0.1 is expected, an interval that holds without one holds "
        f"in 90% already, and what one label says decides about the rest) or with a good q and n ≤ 100. The width is "
        f"never above {wide:.3f}; where corr(q, y) ≥ 0.7 at most {few:.2f} for n ≤ 100 and {many:.2f} for n ≥ 200. Constants were chosen on {TUNING[0]}."
    )
    return said + "\n\n" + table(["population", "share", "corr(q, y)", *(f"n = {n}" for n in LABELS)], made)


def cells_table(rows: list[dict[str, Any]]) -> str:
    """A population a line."""
    made = [
        [
            r["population"],
            str(r["cells"]),
            percent(r["coverage"]),
            f"{percent(r['worst'])} ({r['worst_items']:,} items)",
            f"{r['width']:.2f}",
            f"{percent(r['differences'])} ({percent(r['worst_difference'])})",
            percent(r["doubled"]),
            f"{percent(r['trend'])} (± {50 * r['trend_width']:.2f}, true {100 * r['trend_true']:+.2f})",
        ]
        for r in rows
    ]
    said = (
        f"*Cells*, {rows[0]['n']} labels, {rows[0]['draws']} samples each: coverage in % of the cells' intervals on average and of the worst cell, mean width over that "
        "of Wilson's interval of random labels in each cell, coverage of differences from the cell before (of the worst), of the doubled period's difference, and of the trend "
        "(points a period). Tweets' cells are files in no order; a small one is unlike all others, and a sample of 200 holds none or one of its labels: its interval "
        "rests on the other files and misses."
    )
    head = ["population", "cells", "cells held", "worst", "width", "differences", "doubled", "trend"]
    return said + "\n\n" + table(head, made)


def stopping_table(rows: list[dict[str, Any]]) -> str:
    """A population a line."""
    made = [
        [r["population"], f"±{r['half_width']}", percent(r["coverage"]), f"{r['labels']:.0f}", str(r["labels_only"])]
        for r in rows
    ]
    said = f"*Stopping* in batches of 20 as soon as the interval is narrow enough, {rows[0]['draws']:,} runs."
    return said + "\n\n" + table(["population", "wanted", "coverage", "labels", "labels alone would take"], made)


def groups_table(rows: list[dict[str, Any]]) -> str:
    """A population a line."""
    made = [
        [r["population"], str(r["documents"]), percent(r["coverage"]), f"{r['width']:.3f}", percent(r["items_alone"])]
        for r in rows
    ]
    said = (
        f"*Whole documents* of 8 items drawn at random, {rows[0]['draws']} samples each: neighbours in the population, or sorted so that the items of a document are "
        "alike. Last column: coverage if the items are taken as drawn one by one."
    )
    return said + "\n\n" + table(["population", "documents", "coverage", "width", "as single items"], made)


def documents_table(rows: list[Row]) -> str:
    """A population a line."""
    made = []
    for name in dict.fromkeys(r["population"] for r in rows):
        mine = [r for r in rows if r["population"] == name]
        shown = [f"{percent(r['coverage'])} / {r['width']:.3f} / {percent(r['items_alone'])}" for r in mine]
        first = mine[0]
        made.append([name, f"{100 * first['share']:.2f}%", f"{first['of']:,} of {first['size']:.0f}", *shown])
    least = min(rows, key=lambda r: r["coverage"])
    said = (
        f"*Whole documents as they are*, {rows[0]['draws']:,} samples each, on populations that no formula had seen: tokens with a tag (q from a hidden Markov model of newswire) in "
        "EWT's and GUM's documents and in GUM's sentences, and Reuters stories of other topics by day. Coverage in %, width, and coverage if items are taken as drawn one by one; "
        f"at the least {percent(least['coverage'])}% ({least['population']}, {least['documents']} documents)."
    )
    return said + "\n\n" + table(["population", "share", "documents, mean size", "15 drawn", "40 drawn"], made)


def peers_table(rows: list[dict[str, Any]]) -> str:
    """A population and number of labels a line."""
    names = ["labels only", "sum of q", "ppi_py", "truescore", "howsure"]

    def shown(x: dict[str, float]) -> str:
        return f"{percent(x['coverage'])} / {x['width']:.2f}"

    made = [[f"{r['population']}, n = {r['n']}", *(shown(r[name]) for name in names)] for r in rows]
    times = ", ".join(f"{name} {np.median([r[name]['milliseconds'] for r in rows]):.2f} ms" for name in names[2:])
    said = (
        f"*Beside others*, {rows[0]['draws']:,} samples each: coverage in % and width over Wilson's. ppi_py (PPI++, tuned λ) and truescore (its t interval) get random "
        f"labels, as they ask for; howsure its own design. Median processor time of an interval: {times} (howsure's many at once)."
    )
    return said + "\n\n" + table(["", *names], made)


TABLES: dict[str, Callable[[list[dict[str, Any]]], str]] = {
    "overall": overall_table,
    "cells": cells_table,
    "stopping": stopping_table,
    "groups": groups_table,
    "documents": documents_table,
    "peers": peers_table,
}


def write() -> None:
    """Put the tables of all parts that were run into docs/evidence/theory.md."""
    page = ROOT / "docs" / "evidence" / "theory.md"
    begin, end = "<!-- counts: begin -->", "<!-- counts: end -->"
    before, rest = page.read_text().split(begin)
    there = [TABLES[part](json.loads(kept(part).read_text())) for part in TABLES if kept(part).exists()]
    page.write_text(before + begin + "\n\n" + "\n\n".join(there) + "\n\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    named = [a for a in sys.argv[1:] if not a.startswith("--")]
    for part in named if named or "--write" in sys.argv else list(PARTS):
        kept(part).write_text(json.dumps(PARTS[part](), indent=1))
    if "--write" in sys.argv:
        write()
