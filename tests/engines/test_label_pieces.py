"""`howsure score` on every engine, and on rows in random pieces: the same numbers."""

import math
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import howsure
from howsure.engines import shares
from howsure.engines.engine import Engine
from howsure.engines.items import ItemRows, Items
from howsure.engines.labelled import LabelledItems
from howsure.evaluation.scores.analysis import score_cells

sys.path.insert(0, str(Path(__file__).parent))
from pieces import Pieces, same


def tokens(n, seed, labels=5):
    rng = np.random.default_rng(seed)
    names = np.array([f"L{k}" for k in range(labels)])
    doc = rng.integers(0, max(n // 12, 2), n)
    gold = names[rng.integers(0, labels, n)]
    pred = np.where(rng.random(n) < 0.5 + 0.4 * (doc % 2), gold, names[rng.integers(0, labels, n)]).astype(object)
    second = np.where(rng.random(n) < 0.9, gold, names[0]).astype(object)
    pred[rng.random(n) < 0.02] = None
    return pd.DataFrame({"gold": gold, "pred": pred, "second": second, "doc": [f"d{d}" for d in doc]})


FRAME = tokens(3000, 7)


@pytest.mark.parametrize("groups", [None, "doc"])
def test_every_engine_says_the_same(groups, tmp_path, monkeypatch):
    given = {} if groups is None else {"groups": FRAME[groups].to_numpy()}
    arrays = howsure.score(FRAME.gold, FRAME.pred, second=FRAME.second, **given).to_dict()
    whole = FRAME.dropna()
    assert arrays["confusion"]["rows_gold_columns_predicted"] == pd.crosstab(whole.gold, whole.pred).values.tolist()
    arrays["left_out"] = {"pred": arrays["left_out"].pop("y_pred")}
    del arrays["verdict"]  # names the column
    FRAME.to_parquet(tmp_path / "p.parquet", row_group_size=500)
    FRAME.to_csv(tmp_path / "p.csv", index=False)
    named = {"true": "gold", "pred": "pred", "second": "second", "groups": groups}

    def check(source, **more):
        made = howsure.score(source, **named, **more).to_dict()
        del made["verdict"]
        same(made, arrays)

    for source in (FRAME, tmp_path / "p.parquet", tmp_path / "p.csv"):
        check(source)
    check(tmp_path / "p.parquet", engine="memory")
    monkeypatch.setattr(Engine, "budget", property(lambda _: 2000))
    monkeypatch.setattr(shares, "SHARES", 7)
    check(tmp_path / "p.parquet", engine=Engine("files", memory="300MB"))


def in_pieces(frame, groups, n_pieces, rng):
    columns = {"gold": frame.gold.tolist(), "pred0": [v if isinstance(v, str) else None for v in frame.pred]}
    if groups:
        columns["groups"] = np.unique(frame.doc, return_inverse=True)[1].astype(np.uint64)
    named = Items(labels=(("gold", "gold"), ("pred0", "pred")), groups="doc" if groups else None)
    return ItemRows(Pieces(columns, n_pieces, rng), named)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(30, 400), seed=st.integers(0, 99), pieces=st.integers(1, 9), groups=st.booleans())
def test_pieces_in_any_order_add_up(n, seed, pieces, groups):
    frame = tokens(n, seed)
    whole = howsure.score(frame.gold, frame.pred, groups=frame.doc if groups else None).to_dict()
    with in_pieces(frame, groups, pieces, np.random.default_rng(seed)) as found:
        rows = LabelledItems(found)
        codes, count, labels, left_out = rows.counted
        made = score_cells(codes["gold"], codes["pred0"], count, labels, rows.spreading("pred0")).to_dict()
        lost = dict(left_out)
    assert sum(lost.values()) == sum(whole["left_out"].values())
    for unlike in ("verdict", "left_out"):
        del made[unlike], whole[unlike]
    same(made, whole)


def test_variance_of_macro_f_over_groups_by_plain_loops():
    """Each group's influence on macro F1 and on each class's F1, a class and a group at a time."""
    frame = FRAME.dropna()
    gold, pred, hit = Counter(frame.gold), Counter(frame.pred), Counter(frame.gold[frame.gold == frame.pred])
    share = {label: defaultdict(float) for label in gold}
    for g, p, d in zip(frame.gold, frame.pred, frame.doc, strict=True):
        for label, weight in ((g, "gold"), (p, "pred")):
            z = gold[label] + pred[label]
            share[label][d] -= 2 * hit[label] / z**2
            share[label][d] += 2 / z * (weight == "gold" and g == p)
    documents, k = set(frame.doc), len(share)
    n = len(documents)
    apart = [n / (n - 1) * math.fsum(u * u for u in each.values()) for each in share.values()]
    together = [math.fsum(each[d] for each in share.values()) / k for d in documents]
    variance = n / (n - 1) * math.fsum(u * u for u in together)
    score = howsure.score(frame.gold, frame.pred, groups=frame.doc)
    made, classes = score.macro.f, [c.f for c in score.classes]
    # Wilson's limits on n* rows are the roots of (θ - x)² = z² x (1 - x) / n*; the classes' own limits may be further away.
    rows = made.value * (1 - made.value) / variance
    from scipy.stats import t

    z = t.ppf(0.975, n - 1)
    middle, half = made.value + z * z / (2 * rows), z * math.sqrt(variance + z * z / (4 * rows * rows))
    shared = variance * k * k / math.fsum(apart)
    sides = {"low": (middle - half) / (1 + z * z / rows), "high": (middle + half) / (1 + z * z / rows)}
    for side, wilson in sides.items():
        own = math.sqrt(shared * math.fsum((c.value - getattr(c, side)) ** 2 for c in classes)) / k
        assert abs(made.value - getattr(made, side)) == pytest.approx(max(abs(made.value - wilson), own), rel=1e-9)


def test_thousands_of_labels_in_groups():
    """Nothing of the size of labels squared is held."""
    rng = np.random.default_rng(8)
    gold = rng.integers(0, 20_000, 60_000)
    pred = np.where(rng.random(60_000) < 0.7, gold, rng.integers(0, 20_000, 60_000))
    made = howsure.score(gold, pred, groups=np.arange(60_000) // 20)
    assert made.confusion is None
    assert made.accuracy.value == np.mean(gold == pred)
    assert len(made.classes) == len(np.union1d(gold, pred))


def test_spans_are_refused_on_spark():
    with pytest.raises(howsure.InputError, match="which Spark does not keep"):
        howsure.score("tags.parquet", spans=True, sentence="s", engine="spark")


def contestants():
    rng = np.random.default_rng(9)
    frame = FRAME.rename(columns={"pred": "a", "second": "b"})
    frame["qa"], frame["qb"] = rng.random(len(frame)), rng.beta(5, 1, len(frame))
    return frame


@pytest.mark.parametrize("groups", [None, "doc"])
@pytest.mark.parametrize(("metric", "positive"), [("accuracy", None), ("macro-f1", None), ("f1", "L2")])
def test_a_contest_is_the_same_on_every_engine(groups, metric, positive, tmp_path, monkeypatch):
    frame = contestants()
    kept = frame.dropna()
    settings = {"metric": metric, "positive": positive, "samples": 300}
    given = {} if groups is None else {"groups": kept.doc}
    preds, probs = {"a": kept.a, "b": kept.b}, {"qa": kept.qa, "qb": kept.qb}
    arrays = howsure.compare(kept.gold, probs, y_preds=preds, **given, **settings).to_dict()
    truth = kept.gold == (positive or kept.b)
    alone = howsure.check(truth.to_numpy(), kept.qb, **given)
    same(arrays["calibration"]["models"]["b"]["brier"], alone.to_dict()["brier"])
    frame.to_parquet(tmp_path / "p.parquet", row_group_size=500)
    monkeypatch.setattr(Engine, "budget", property(lambda _: 2000))
    monkeypatch.setattr(shares, "SHARES", 5)
    for engine in ("memory", "files"):
        named = {"true": "gold", "pred": "a,b", "prob": "qa,qb", "groups": groups, "engine": engine}
        made = howsure.compare(tmp_path / "p.parquet", **named, **settings).to_dict()
        assert made.pop("left_out") == {"a": len(frame) - len(kept)}
        unlike = {"verdict"}
        # The slope of y on q is near 0 here: what is left of sums that cancel.
        same(*({k: m[k] for k in sorted(made.keys() - unlike)} for m in (made, arrays)), least=1e-12)


def test_bad_probabilities_of_a_contest_are_named(tmp_path):
    frame = contestants()
    frame.loc[int(frame.index[frame.a.isna()][0]), "qb"] = 1.5  # in a row that is left out
    row = int(frame.index[frame.qb > 1][0]) + 1
    frame.to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(howsure.InputError, match=rf"`qb` must lie in \[0, 1\]; got 1.5 in row {row}"):
        howsure.compare(tmp_path / "p.csv", true="gold", pred="a,b", prob="qa,qb", samples=10)
