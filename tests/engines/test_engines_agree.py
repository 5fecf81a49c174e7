"""Arrays, files, files that spill, rows in random pieces, and Spark: the same numbers."""

import sys
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import howsure
from howsure import processes
from howsure.calibration import result
from howsure.calibration import sketch as _sketch
from howsure.calibration.analysis import analyse, filing
from howsure.calibration.groups.clusters import ClusterBuilder
from howsure.calibration.groups.moments import moments
from howsure.engines import shares, slice_analysis, slices
from howsure.engines.engine import Engine, bound
from howsure.engines.items import Items
from howsure.engines.rows import ArrayRows, Keying, Rows
from howsure.engines.scored import GroupedPieces, RecordKeying, analysed_rows, sketched
from howsure.engines.shares import SharedRows
from howsure.engines.slice_analysis import Analysis
from howsure.engines.slices import SliceKeying, analysed_sketches

sys.path.insert(0, str(Path(__file__).parent))
from pieces import Pieces, same

N = 6_000
ITEMS = Items(probs=("q",), by="by", groups="groups")
SLICED = Items(probs=("q",), by="by")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(31)
    doc = rng.integers(0, 150, N)
    q = rng.beta(0.4, 0.4, N)
    y = rng.random(N) < 1 / (1 + (1 / np.clip(q, 1e-9, 1) - 1) * np.exp(-rng.normal(0, 0.7, 150)[doc]))
    tag = rng.choice(["NN", "VB", "a 'quoted' <tag>", "né", None], N, p=[0.5, 0.3, 0.1, 0.09, 0.01])
    return pd.DataFrame(
        {"q": q, "y": y.astype(int), "doc": [f"d{i}" for i in doc], "tag": tag, "w": rng.integers(0, 3, N)}
    )


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    made = tmp_path_factory.mktemp("rows")
    for i in range(3):
        pq.write_table(pa.table(frame.iloc[i::3]), made / f"part-{i}.parquet", row_group_size=500)
    return made


def assert_same(a, b):
    """Equal but for the order of sums."""
    same(a, b, 1e-12, least=1e-12)


OPTIONS = [
    {},
    {"by": "tag"},
    {"groups": "doc"},
    {"groups": "doc", "by": "tag"},
    {"groups": "doc", "by": "tag", "sample_weight": "w", "where": "q > 0.05 and tag <> 'VB'"},
    {"bins": "width:7", "by": "tag"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_arrays_files_and_memory(frame, folder, options):
    expected = howsure.check(frame, **options).to_dict()
    assert_same(howsure.check(folder, engine="memory", **options).to_dict(), expected)
    assert_same(howsure.check(folder, engine=Engine("files", memory="1GB"), **options).to_dict(), expected)


@pytest.mark.parametrize("options", OPTIONS[1:5], ids=str)
def test_files_that_spill(folder, options, monkeypatch):
    expected = howsure.check(folder, **options).to_dict()
    spilled = []
    whole = SharedRows._spill
    monkeypatch.setattr(SharedRows, "_spill", lambda self: (spilled.append(1), whole(self)))
    monkeypatch.setattr(shares, "SHARES", 50)
    monkeypatch.setattr(shares, "RUN_ROWS", 60)
    monkeypatch.setattr(slices, "FLUSH_FROM", 300)
    monkeypatch.setattr(Engine, "budget", property(lambda self: 20_000))
    assert_same(howsure.check(folder, **options).to_dict(), expected)
    assert len(spilled) > 1


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_spark(spark, folder, options):
    expected = howsure.check(folder, **options).to_dict()
    assert_same(howsure.check(folder, engine="spark", **options).to_dict(), expected)


LABELS = [
    lambda f, **k: howsure.score(f, true="gold", pred="said", **k),
    lambda f, **k: howsure.score(f, true="gold", pred="said", groups="doc", **k),
    lambda f, **k: howsure.compare(f, true="y", prob=["q", "r"], **k),
    lambda f, **k: howsure.compare(f, true="y", prob=["q", "r"], groups="doc", by="tag", **k),
    lambda f, **k: howsure.compare(
        f, true="gold", pred=["said", "tag"], metric="macro-f1", groups="doc", samples=500, **k
    ),
]


@pytest.mark.parametrize(
    "number", range(len(LABELS)), ids=["score", "score by group", "compare", "by group and slice", "labels"]
)
def test_compare_and_score_on_spark(spark, frame, tmp_path, number):
    rng = np.random.default_rng(34)
    more = frame.assign(r=frame.q**1.2, gold=rng.choice(["NN", "VB", "né"], N))
    more["said"] = np.where(rng.random(N) < 0.7, more.gold, "NN")
    for i in range(2):
        pq.write_table(pa.table(more.iloc[i::2]), tmp_path / f"part-{i}.parquet")
    do = LABELS[number]
    same(do(tmp_path, engine="spark").to_dict(), do(tmp_path).to_dict(), 1e-10, least=1e-12)


@pytest.mark.parametrize("options", [{}, {"groups": "doc", "by": "tag"}], ids=["rows", "groups"])
def test_joined_files_on_spark(spark, frame, tmp_path, options):
    order = np.random.default_rng(35).permutation(N)
    more = frame.assign(id=np.arange(N))
    pq.write_table(pa.table(more), tmp_path / "a.parquet")
    pq.write_table(pa.table(more.assign(q=more.q**1.3).iloc[order]), tmp_path / "b.parquet")
    files = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]

    def do(**k):
        return howsure.compare(files, key="id", prob="q", true="y", **options, **k)

    same(do(engine="spark").to_dict(), do().to_dict(), 1e-10, least=1e-12)
    with_holes = more.assign(q=more.q.mask(more.id.isin([5, 6])), y=more.y.astype(float).mask(more.id == 8))
    pq.write_table(pa.table(with_holes), tmp_path / "a.parquet")
    pq.write_table(pa.table(more.assign(q=(100 * more.q**1.3).mask(more.id == 9)).iloc[order]), tmp_path / "b.parquet")
    same(do(engine="spark").to_dict(), do().to_dict(), 1e-10, least=1e-12)
    assert do().calibrations[0].n == N - 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(id=f.id.where(f.id != 7, 6)), "the key '6' stands in 2 rows"),
        (lambda f: f.iloc[3:], "3 of the items of .*a.parquet are not in .*b.parquet .the first is '0'"),
        (lambda f: f.assign(y=1 - f.y), "6,000 items have another label"),
        (lambda f: f.assign(id=f.id.where(f.id != 7)), "`id` is missing in a row"),
        (lambda f: f.assign(q=f.q.where(f.id != 7, 1.5)), r"b.parquet: `q` must lie in \[0, 1\]"),
        (lambda f: f.iloc[:0], "b.parquet has no rows"),
    ],
)
def test_items_that_do_not_match_on_spark(spark, frame, tmp_path, change, message):
    more = frame.assign(id=np.arange(N))
    pq.write_table(pa.table(more), tmp_path / "a.parquet")
    pq.write_table(pa.table(change(more)), tmp_path / "b.parquet")
    files = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    with pytest.raises(howsure.InputError, match=message):
        howsure.compare(files, key="id", prob="q", true="y", engine="spark")


def test_frames_of_spark(spark, folder, frame):
    read = spark.read.parquet(str(folder))
    assert_same(howsure.check(read, groups="doc").to_dict(), howsure.check(frame, groups="doc").to_dict())
    with pytest.raises(howsure.InputError, match="no column `dok`"):
        howsure.check(read, groups="dok")


@st.composite
def cut_rows(draw):
    n = draw(st.integers(2, 60))
    values = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
    column = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    columns = {
        "y": np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))),
        "q0": np.array(draw(st.lists(values, min_size=n, max_size=n))),
        "by": pa.array([f"s{i}" for i in draw(column)]),
        "groups": np.array(draw(column), np.uint64),
    }
    return columns, draw(st.integers(1, 5)), draw(st.integers(0, 10**6))


@settings(max_examples=25)
@given(cut_rows())
def test_pieces_in_any_order(drawn):
    columns, n_pieces, seed = drawn
    whole, pieces = ArrayRows(columns), Pieces(columns, n_pieces, np.random.default_rng(seed))
    sketch = whole.fold(partial(sketched, ITEMS, None)).each[0]
    assert pieces.fold(partial(sketched, ITEMS, None)).each[0] == sketch
    for keying, work in (
        (SliceKeying(ITEMS, Rows.room), partial(analysed_sketches, Analysis(None, 0.95))),
        (RecordKeying(ITEMS, sliced=True), partial(analysed_rows, Analysis(None, 0.95))),
    ):
        with whole.by_key(keying) as a, pieces.by_key(keying) as b:
            one, many = a.fold(work), b.fold(work)
        assert one.whole == many.whole == sketch
        found = [sorted(((f.name, f.calibration.to_dict()) for f in x.found), key=lambda f: f[0]) for x in (one, many)]
        for (name, c), (other, d) in zip(*found, strict=True):
            assert name == other
            assert_same(c, d)


def assert_alike(one, many, name):
    """Numbers, arrays, or tuples and data classes of these."""
    if is_dataclass(one):
        one, many = ([getattr(x, f.name) for f in fields(x)] for x in (one, many))
    if isinstance(one, list | tuple):
        for a, b in zip(one, many, strict=True):
            assert_alike(a, b, name)
    else:
        assert one == pytest.approx(many, rel=1e-10, abs=1e-12), name


@given(cut_rows())
def test_groups_looked_at_in_pieces(drawn):
    """Moments of groups kept in pieces are those of one table of all of them."""
    columns, n_pieces, seed = drawn
    sketch = ArrayRows(columns).fold(partial(sketched, ITEMS, None)).each[0]
    parts = filing(sketch, None, 0.95)
    builder = ClusterBuilder(parts)
    builder.add(columns["groups"], columns["y"].astype(np.uint8), columns["q0"])
    one = moments(builder.finish())
    with Pieces(columns, n_pieces, np.random.default_rng(seed)).by_key(RecordKeying(ITEMS, sliced=False)) as by_group:
        many = moments(GroupedPieces(by_group, parts))
    for a, b in ((one.totals, many.totals), (one.squares, many.squares)):
        for name in a.__slots__:
            if name not in ("least", "greatest"):
                assert_alike(getattr(a, name), getattr(b, name), name)


def test_slices_that_collapse_in_pieces(monkeypatch):
    """A slice that has outgrown its exact stage in some pieces and not in others."""
    for module in (_sketch, slices):
        monkeypatch.setattr(module, "EXACT_LIMIT", 50)
    monkeypatch.setattr(slices, "COMPACT_FROM", 60)
    monkeypatch.setattr(slices, "FLUSH_FROM", 70)
    rng = np.random.default_rng(32)
    q = rng.random(500)
    q[::3] = q[::3].round(1)
    by = np.where(np.arange(500) % 3 == 0, "few", "many")
    columns = {"y": (rng.random(500) < q).astype(int), "q0": q, "by": pa.array(by)}
    with Pieces(columns, 3, rng).by_key(SliceKeying(SLICED, Rows.room)) as pieces:
        found = pieces.fold(partial(analysed_sketches, Analysis(None, 0.95)))
    for f in found.found:
        rows = by == f.name
        assert_same(f.calibration.to_dict(), analyse(_sketch.sketch_rows(columns["y"][rows], q[rows])).to_dict())
    assert found.whole == ArrayRows(columns).fold(partial(sketched, SLICED, None)).each[0]


@pytest.mark.parametrize("groups", [None, np.arange(600) // 4])
def test_many_slices_in_processes(groups, monkeypatch):
    rng = np.random.default_rng(33)
    q = rng.random(600)
    y, by, weight = rng.random(600) < q, rng.integers(0, 12, 600), rng.integers(0, 3, 600)
    weight[by == 3] = 0
    asked = {"by": by, "groups": groups, "sample_weight": weight}
    one = howsure.check(y, q, **asked)
    monkeypatch.setattr(slice_analysis, "MANY_SLICES", 4)
    monkeypatch.setattr(slice_analysis, "BLOCK", 2)
    monkeypatch.setattr(shares, "cores", lambda: 2)
    pools = []

    class Pool(processes.Pool):
        def __init__(self, *given, **more):
            super().__init__(*given, **more)
            pools.append(self)

    monkeypatch.setattr(slice_analysis, "Pool", Pool)
    said = []
    many = howsure.check(y, q, **asked, progress=lambda *at: said.append(at))
    assert len(many.slices) == 11
    assert many.to_dict() == one.to_dict()
    assert [s.calibration.to_dict() for s in many.slices] == [s.calibration.to_dict() for s in one.slices]
    assert [done for done, _ in said] == list(range(1, 12))
    (pool,) = pools
    assert pool.started
    assert all(p.poll() is not None for p in pool.started)


def test_pieces_are_small_whatever_comes_last():
    """Records that are spilled make pieces of about the size asked for, also when the last batch is empty."""

    class Batches(Keying):
        schema = pa.schema([("key", pa.uint64()), ("text", pa.string())])

        def spread(self, chunks):
            for n in (4_000, 4_000, 0):
                key = pa.array(np.random.default_rng(n).integers(0, 2**63, n), pa.uint64())
                yield pa.RecordBatch.from_arrays([key, pa.array(["x" * 92] * n, pa.string())], schema=self.schema)

    with SharedRows("rows", Batches(), iter(()), 300_000, 20_000) as rows:
        pieces = rows.fold(lambda chunks: [sum(len(c["key"]) for c in chunks)])
    assert sum(pieces) == 8_000
    assert len(pieces) > 30
    assert max(pieces) * 104 < 30_000


def test_very_many_slices(monkeypatch):
    """They are packed, and look the same."""
    monkeypatch.setattr(result, "MANY", 100)
    rng = np.random.default_rng(36)
    q, by = rng.random(900), rng.integers(0, 150, 900)
    y = rng.random(900) < q
    many = howsure.check(y, q, by=by).slices
    assert type(many) is not tuple
    assert len(many) == len(set(by.tolist()))
    assert [s.name for s in many[:3]] == [many[i].name for i in range(3)]
    lows = [s.calibration.error.low for s in many if s.calibration.error is not None]
    assert lows == sorted(lows, reverse=True)
    one = many[-1]
    rows = by == int(one.name)
    assert one.calibration.to_dict() == howsure.check(y[rows], q[rows], by=by[rows]).slices[0].calibration.to_dict()
    monkeypatch.undo()
    found = result.FoundSlice.of("a", one.calibration)
    assert type(result.slice_table([found] * 1_000)) is tuple
    assert type(result.slice_table([found] * 1_001)) is not tuple


@pytest.mark.parametrize(
    ("given_size", "bytes_"), [("1GB", 10**9), ("1.5 GiB", 3 << 29), ("512mb", 512 * 10**6), (300_000_000, 300_000_000)]
)
def test_sizes(given_size, bytes_):
    assert bound(given_size) == bytes_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "sparc"}, "no engine 'sparc'. Did you mean"),
        ({"kind": "files", "master": "local"}, "`master=` goes with `engine='spark'`"),
        ({"memory": "lots"}, "must be a size such as 500MB"),
        ({"memory": "1MB"}, "256MB at least"),
        ({"kind": "spark", "memory": "1GB"}, "Spark's is set by its own"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(howsure.InputError, match=message):
        Engine(**settings)
