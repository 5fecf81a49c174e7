"""Kernels that are loaded from the cache, without what only compiling needs."""

import os
import subprocess
import sys

import pytest

MODULE = """
import numpy as np
from howsure.kernels.compiling import KERNELS, kernel, ready

@kernel("float64(float64[::1])")
def total(x):
    s = np.zeros(1)
    for v in x:
        s[0] += v
    return s[0]

@kernel("Tuple((float64, float64[::1]))(float64[::1])")
def halved(x):
    return total(x) / 2.0, x / 2.0
"""
RUN = """
import sys, numpy as np, made
made.ready("made")
half, array = made.halved(np.arange(4.0))
hits = [sum(k.stats.cache_hits.values()) for k in (made.total, made.halved)]
print(half, array.tolist(), hits, "scipy.linalg" in sys.modules, "numba.np.arraymath" in sys.modules)
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "made.py").write_text(MODULE)
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def said():
        done = subprocess.run([sys.executable, "-c", RUN], env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    return said


def test_a_cached_kernel_loads_without_the_compiler_and_one_that_is_not_is_compiled_beside_it(run, tmp_path):
    right = "3.0 [0.0, 0.5, 1.0, 1.5]"
    assert run() == f"{right} [0, 0] True True"
    assert run() == f"{right} [1, 1] False False"
    for lost in ("halved", "total"):  # one calls the other
        [index] = (tmp_path / "cache").rglob(f"made.{lost}-*.nbi")
        index.unlink()
        assert run() == f"{right} {[int(lost == 'halved'), int(lost == 'total')]} True True"
