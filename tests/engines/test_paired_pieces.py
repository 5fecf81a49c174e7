"""`howsure compare` on every engine, and on rows in random pieces: the same numbers."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

import howsure
from howsure.calibration.comparing.difference import mean_difference
from howsure.calibration.comparing.result import compared
from howsure.calibration.estimation.estimate import bin_count, estimation_bins
from howsure.calibration.groups.estimates import student_quantile
from howsure.calibration.sketch import sketch_rows
from howsure.engines import shares
from howsure.engines.engine import Engine
from howsure.engines.items import ItemRows, Items, arrow_values, items_from_arrays
from howsure.engines.scored import ScoredItems

sys.path.insert(0, str(Path(__file__).parent))
from pieces import Pieces, same


def items(n, seed, models=3):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.5, n).clip(1e-9, 1 - 1e-9)
    made = {"y": (rng.random(n) < p).astype(int), "a": expit(1.4 * logit(p)), "b": p, "c": np.round(0.9 * p, 2)}
    made |= {"doc": [f"d{k}" for k in rng.integers(0, max(n // 15, 2), n)], "tag": rng.choice(["x", "y", None], n)}
    made["id"] = [f"i{k}" for k in rng.permutation(n)]
    return pd.DataFrame(made)


FRAME = items(4000, 41)
NAMES = ["a", "b", "c"]


@pytest.mark.parametrize("groups", [None, "doc"])
@pytest.mark.parametrize("by", [None, "tag"])
def test_every_engine_says_the_same(groups, by, tmp_path, monkeypatch):
    extra = {k: FRAME[v].to_numpy() for k, v in (("groups", groups), ("by", by)) if v}
    arrays = replace(howsure.compare(FRAME.y, {n: FRAME[n] for n in NAMES}, **extra), by=by).to_dict()
    FRAME.to_parquet(tmp_path / "p.parquet", row_group_size=700)
    FRAME.to_csv(tmp_path / "p.csv", index=False)
    named = {"prob": NAMES, "true": "y", "groups": groups, "by": by}
    for source in (FRAME, tmp_path / "p.parquet", tmp_path / "p.csv"):
        same(howsure.compare(source, **named).to_dict(), arrays)
    same(howsure.compare(tmp_path / "p.parquet", **named, engine="memory").to_dict(), arrays)
    monkeypatch.setattr(Engine, "budget", property(lambda _: 2000))
    monkeypatch.setattr(shares, "SHARES", 7)
    spilled = howsure.compare(tmp_path / "p.parquet", **named, engine=Engine("files", memory="300MB"))
    same(spilled.to_dict(), arrays)


def in_pieces(frame, groups, by, n_pieces, rng):
    columns = {"y": frame.y.to_numpy()} | {f"q{i}": frame[n].to_numpy() for i, n in enumerate(NAMES)}
    if groups:
        columns["groups"] = np.unique(frame.doc, return_inverse=True)[1].astype(np.uint64)
    if by:
        columns["by"] = arrow_values(frame.tag.to_numpy(), "by")
    rows = Pieces(columns, n_pieces, rng)
    return ItemRows(rows, Items(probs=tuple(NAMES), by="tag" if by else None, groups="doc" if groups else None))


@settings(max_examples=25, deadline=None)
@given(n=st.integers(2, 400), seed=st.integers(0, 99), pieces=st.integers(1, 9), groups=st.booleans(), by=st.booleans())
def test_pieces_in_any_order_add_up(n, seed, pieces, groups, by):
    frame = items(n, seed)
    whole = items_from_arrays(
        y=frame.y.to_numpy(),
        probs={m: frame[m].to_numpy() for m in NAMES},
        groups=frame.doc.to_numpy() if groups else None,
        by=frame.tag.to_numpy() if by else None,
    )
    cut = in_pieces(frame, groups, by, pieces, np.random.default_rng(seed))
    with whole, cut:
        both = [ScoredItems(rows, NAMES) for rows in (whole, cut)]
        one, other = (compared(rows, 0.95, None) for rows in both)
        same([c.to_dict() for c in one[0]], [c.to_dict() for c in other[0]], 1e-9)
        same([p.to_dict() for p in one[1]], [p.to_dict() for p in other[1]], 1e-9)
        listed = (sorted(rows.compared_slices(0.95), key=lambda s: s.name) for rows in both)
        same(*([(s.name, s.n, list(s.errors), s.pair and s.pair.to_dict()) for s in found] for found in listed), 1e-9)


def by_loops(y, qa, qb):
    """The difference of squared errors of independent rows, row by row, as docs/evidence/theory.md writes it."""
    n = len(y)
    sides = []
    for q in (qa, qb):
        sketch = sketch_rows(y.astype(np.uint8), q)
        first = sketch.fixed_cell[estimation_bins(sketch, bin_count(n)).starts]
        edges = [sketch.keys[sketch.fixed_cell >= f].min() for f in first]
        bins = [sum(e <= v for e in edges) - 1 for v in q]
        e = [float(a) - float(b) for a, b in zip(y, q, strict=True)]
        members = {b: [k for k in range(n) if bins[k] == b] for b in set(bins)}
        d = {b: math.fsum(e[k] for k in rows) / len(rows) for b, rows in members.items()}
        u = {}
        for b, rows in members.items():
            u[b] = math.fsum(e[j] * e[k] for j in rows for k in rows if j != k) / (len(rows) * (len(rows) - 1))
        size = [len(members[b]) for b in bins]
        x = [(e[k] - d[bins[k]]) * math.sqrt(size[k] / (size[k] - 1)) for k in range(n)]
        rest = [math.fsum(e[j] for j in members[bins[k]] if j != k) / (size[k] - 1) for k in range(n)]
        sides.append(([u[b] for b in bins], [2 * x[k] * rest[k] for k in range(n)], bins, x, size))
    a, b = sides

    def product(side, j, k):
        _, _, bins, x, size = side
        return x[j] * x[k] / (n * (size[j] - 1)) if bins[j] == bins[k] else 0.0

    w = math.fsum((i - j) ** 2 for i, j in zip(a[1], b[1], strict=True)) / n**2
    pairs = ((j, k) for j in range(n) for k in range(n) if j != k)
    v = 2 * math.fsum((product(a, j, k) - product(b, j, k)) ** 2 for j, k in pairs)
    value = (math.fsum(a[0]) - math.fsum(b[0])) / n
    moved = math.fsum((i - j - value) ** 2 for i, j in zip(a[0], b[0], strict=True)) / n / (n - 1)
    return value, max(w - v, w / 2) + moved


@pytest.mark.parametrize("seed", range(4))
def test_sums_by_pair_of_bins_against_loops_over_rows(seed):
    frame = items(150, seed)
    y, a, b = frame.y.to_numpy(), frame.a.to_numpy(), frame.b.to_numpy()
    made = howsure.compare(y, {"a": a, "b": b}).pairs[0]
    value, variance = by_loops(y, a, b)
    half = student_quantile(0.975, len(y) - 1) * math.sqrt(variance)
    a_less_b = -made.error_squared
    found = (a_less_b.value, a_less_b.low, a_less_b.high)
    assert found == pytest.approx((value, value - half, value + half), rel=1e-9)
    brier = mean_difference((y - a) ** 2 - (y - b) ** 2, None, 0.95)
    same((-made.brier).to_dict(), brier.to_dict(), 1e-10)
    loss = mean_difference(-np.where(y, np.log(a) - np.log(b), np.log1p(-a) - np.log1p(-b)), None, 0.95)
    same((-made.log_loss).to_dict(), loss.to_dict(), 1e-10)


def test_joined_files_on_a_small_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(Engine, "budget", property(lambda _: 2000))
    shuffled = FRAME.sample(frac=1, random_state=1)
    FRAME[["id", "y", "a", "doc", "tag"]].rename(columns={"a": "q"}).to_parquet(tmp_path / "a.parquet")
    shuffled[["id", "y", "b"]].rename(columns={"b": "q"}).to_csv(tmp_path / "b.csv", index=False)
    engine = Engine("files", memory="300MB")
    files = [tmp_path / "a.parquet", tmp_path / "b.csv"]
    for groups, by in ((None, None), ("doc", "tag")):
        joined = howsure.compare(files, key="id", prob="q", groups=groups, by=by, engine=engine).to_dict()
        extra = {k: FRAME[v].to_numpy() for k, v in (("groups", groups), ("by", by)) if v}
        direct = howsure.compare(FRAME.y, {"a": FRAME.a, "b": FRAME.b}, **extra)
        same(joined, replace(direct, by=by).to_dict())


def test_a_missing_group_is_named_on_every_engine(tmp_path):
    holed = FRAME.head(20).copy()
    holed.loc[7, "doc"] = None
    holed.to_parquet(tmp_path / "p.parquet")
    for engine in ("files", "memory"):
        with pytest.raises(howsure.InputError, match=r"`doc` is missing in row 8; every row needs a group\."):
            howsure.compare(tmp_path / "p.parquet", prob="a,b", true="y", groups="doc", engine=engine)
