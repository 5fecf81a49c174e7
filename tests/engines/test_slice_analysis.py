"""Slices analysed in blocks: the numbers of each by itself, to the bit; and by processes that load little."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from howsure.calibration.analysis import MOST_KEPT, analyse, cluster_rows
from howsure.calibration.sketch import SketchBuilder
from howsure.engines import slice_analysis
from howsure.engines.engine import Engine
from howsure.engines.shares import JOB

ROW = ["n", "base_rate", "error", "error_squared", "ece", "bias", "brier", "p_value"]


def hard_rows():
    """Labels, probabilities and weights of slices that are at some edge."""
    rng = np.random.default_rng(41)
    for n in range(1, 6):
        for _ in range(4):
            yield rng.random(n) < 0.5, rng.random(n), None
            yield rng.random(n) < 0.5, rng.random(n).round(1), rng.integers(1, 3, n)
    for n in (1, 2, 5, 40, 100):
        half = np.arange(n) % 2 == 0
        for q in (np.full(n, 0.3), np.full(n, 0.5), np.full(n, 1e-300), half * 1.0, 1.0 - half, 1.0 - 1e-16 * half):
            yield half, q, None
        yield np.ones(n, bool), rng.random(n), None
        yield np.zeros(n, bool), rng.random(n).round(2), rng.integers(0, 4, n) + (np.arange(n) == 0)
        yield rng.random(n) < 0.4, np.where(half, 0.2, 0.9), None
        yield rng.random(n) < 0.5, rng.beta(0.05, 0.05, n), None
        yield rng.random(n) < 0.02, rng.beta(0.1, 4, n), None
    for n in (MOST_KEPT, MOST_KEPT + 1, 2_000):  # the last two are analysed at once
        yield rng.random(n) < 0.7, rng.random(n), None


def hard_slices():
    for i, (y, q, weight) in enumerate(hard_rows()):
        builder = SketchBuilder()
        builder.add(y.astype(np.uint8), q, weight)
        yield str(i), builder.finish()


def row(calibration):
    return [getattr(calibration, name) for name in ROW]


@pytest.mark.parametrize(("bins", "level"), [(None, 0.95), (20, 0.8), ("isotonic", 0.9)])
def test_a_block_says_of_each_slice_what_it_says_alone(bins, level):
    named = list(hard_slices())
    together = slice_analysis._analysed(bins, level, named)
    assert [f.name for f in together] == [name for name, _ in named]
    for found, (name, sketch) in zip(together, hard_slices(), strict=True):
        alone = analyse(sketch, bins=bins, confidence_level=level)
        made = found.calibration
        assert row(made) == row(alone), name
        assert found.p_value == alone.p_value
        assert made.to_dict() == alone.to_dict(), name  # the rest is made when it is asked for
    (last,) = slice_analysis._analysed(bins, level, named[-4:-3])
    assert last.packed == together[-4].packed


def test_grouped_slices_among_others_keep_their_places():
    rng = np.random.default_rng(42)
    y, q, groups = (rng.random(90) < 0.6).astype(np.uint8), rng.random(90), (np.arange(90) // 3).astype(np.uint64)
    named = [("a", (y, q, groups, None)), *list(hard_slices())[:3], ("b", (y[:4], q[:4], groups[:4], None))]
    made = slice_analysis._analysed(None, 0.95, named)
    assert [f.name for f in made] == ["a", "0", "1", "2", "b"]
    builder = SketchBuilder()
    builder.add(y, q)
    sketch = builder.finish()
    wanted = analyse(sketch, clusters=cluster_rows(sketch, y, q, groups, None, 0.95))
    assert made[0].calibration.to_dict() == wanted.to_dict()
    assert made[-1].calibration.n_groups == 2


def test_blocks_end_where_a_slice_is_large(monkeypatch):
    monkeypatch.setattr(slice_analysis, "BLOCK", 3)
    monkeypatch.setattr(slice_analysis, "ENTRIES", 100)
    sizes = [1, 2, 3, 4, 500, 5, 60, 60, 7]
    named = [(str(n), (np.zeros(n, np.uint8), np.zeros(n), np.zeros(n, np.uint64), None)) for n in sizes]
    blocks = [[int(name) for name, _ in block] for block in slice_analysis._blocks(iter(named))]
    assert blocks == [[1, 2, 3], [4, 500], [5, 60, 60], [7]]


@pytest.mark.parametrize("stays_from", [1, 1_000])
def test_large_blocks_stay_in_this_process(stays_from, monkeypatch):
    monkeypatch.setattr(slice_analysis, "MANY_SLICES", 2)
    monkeypatch.setattr(slice_analysis, "STAYS_FROM", stays_from)
    named = list(hard_slices())[:60]
    analysis = slice_analysis.Analysis(None, 0.95, 2)
    try:
        made = analysis.found(iter(named), len(named))
        assert bool(analysis._pool.started) == (stays_from == 1_000)
    finally:
        analysis.close()
    assert [f.packed for f in made] == [f.packed for f in slice_analysis._analysed(None, 0.95, named)]


def test_pickled_sketches_are_the_same_and_small():
    for _, sketch in hard_slices():
        before = len(pickle.dumps(sketch, 5))
        analyse(sketch)
        packed = pickle.dumps(sketch, 5)
        assert len(packed) == before < 400 + 10 * len(sketch.keys)
        made = pickle.loads(packed)
        assert made == sketch
        assert made.counts.dtype == np.int64


def test_processes_that_analyse_slices_load_nothing_that_reads_tables():
    """Two of them are to fit into the memory bound of 1 GB."""
    code = (
        f"import sys, {slice_analysis.__name__}; print([m for m in ('pyarrow', 'duckdb', 'numba') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
    assert Engine("files", memory="1GB").budget // JOB == 2
