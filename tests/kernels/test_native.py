"""Kernels that are called without Numba, from the object code that it left."""

import os
import subprocess
import sys

import pytest

from howsure.kernels.native import kept_path

MODULE = """
import numpy as np
from howsure.kernels.compiling import array, kernel

@kernel(f"float64({array('float64')}, int64, float64)")
def weighed(x, first, weight):
    s = 0.0
    for i in range(first, x.size):
        s += weight * x[i]
    return s

@kernel("void(int32[::1], int64)")
def added(x, by):
    for i in range(x.size):
        x[i] += by

@kernel("float64(float64[::1])")
def allocating(x):
    return (x * 2.0).sum()

@kernel("float64(float64[:, ::1])")
def of_two_dimensions(x):
    return x[0, 0]

@kernel("int64(int64, int64)")
def divided(a, b):
    return a // b
"""
COMPILE = """
import numpy as np, made
from howsure.kernels import native
from howsure.kernels.compiling import objects, ready
ready("made")
native.keep(made.__file__, objects("made"))
"""
USE = """
import sys, numpy as np
from howsure.kernels import native
found = native.loaded({source!r})
print(*sorted(found))
if found:
    x = np.arange(4, dtype=np.int32)
    print(found["weighed"](np.arange(4.0), 1, 0.5), found["weighed"](np.arange(4.0), np.int64(3), 2), found["added"](x, 7), x.tolist())
    x.flags.writeable = False
    for wrong in (x, np.zeros(2), np.zeros((2, 2), np.int32), np.zeros(4, np.int32)[::2]):
        try:
            found["added"](wrong, 1)
        except TypeError as error:
            print(error)
print("numba" in sys.modules)
"""
DAMAGE = """
from howsure.kernels import native
path = native.kept_path({source!r})
whole = path.read_bytes()
for i in range(0, len(whole), 29):
    path.write_bytes(whole[:i])
    assert not native.is_kept({source!r})
    path.write_bytes(whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1:])
    assert not native.is_kept({source!r})
path.write_bytes(whole)
print(native.is_kept({source!r}))
"""
EDITED = COMPILE.replace("native.keep", "open(made.__file__, 'a').write('# changed'); native.keep")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="object code is kept on Linux alone")


@pytest.fixture
def run(tmp_path):
    (tmp_path / "made.py").write_text(MODULE)
    (tmp_path / "cache").mkdir()
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def said(code, **more):
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env={**environment, **more}, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    return said


def test_kernels_that_were_compiled_run_without_numba(run, tmp_path):
    source = tmp_path / "made.py"
    use = USE.format(source=str(source))
    assert run(use) == ["", "False"]
    run(COMPILE)
    right = [
        "added weighed",  # what allocates, raises or takes matrices is left to Numba
        "3.0 6.0 None [7, 8, 9, 10]",
        "added writes to an array that is read-only",
        "added takes a contiguous array of int32; got float64, 1 dimensions",
        "added takes a contiguous array of int32; got int32, 2 dimensions",
        "added takes a contiguous array of int32; got int32, 1 dimensions",
        "False",
    ]
    assert run(use) == right
    assert run(use, NUMBA_OPT="0") == ["", "False"]  # a setting that is for Numba to follow
    [kept] = (tmp_path / "cache").glob("made.*.native")
    whole = kept.read_bytes()
    for damaged in (whole[:-1], whole[: len(whole) // 2], b"", b"{}\n", whole.replace(b'"kernels"', b'"kernel"')):
        kept.write_bytes(damaged)
        assert run(use) == ["", "False"]
    kept.write_bytes(whole)
    assert run(use) == right
    assert run(DAMAGE.format(source=str(source))) == ["True"]  # of any length, and one bit anywhere
    before = source.stat()
    source.write_text(MODULE.replace("//", "/ "))
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))  # as in archives that know no times
    assert run(use) == ["", "False"]
    source.write_text(MODULE)
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run(use) == right
    os.utime(source, ns=(1, 1))
    assert run(use) == ["", "False"]


def test_what_cannot_be_kept_is_left_out(run, tmp_path):
    use = USE.format(source=str(tmp_path / "made.py"))
    run(EDITED)  # after it was compiled, and before it was kept
    assert run(use) == ["", "False"]
    assert run(use, NUMBA_CACHE_DIR=str(tmp_path / ("long" * 100))) == ["", "False"]
    [name] = [p.name for p in (tmp_path / "cache").glob("made.*.native")]
    (tmp_path / "cache" / name).unlink()
    (tmp_path / "cache" / name).mkdir()
    run(COMPILE)
    assert run(use) == ["", "False"]
    assert [p.name for p in (tmp_path / "cache").glob("made.*")] == [name]


def test_a_language_model_is_the_same_with_numba_and_without(tmp_path):
    """At the first run kernels may have to be compiled; the second has what it kept."""
    code = (
        (
            "import howsure, sys; from howsure.kernels.ngrams import choice\n"
            "lines = [' '.join(f'w{{i * i % 97 + j * j % (i % 9 + 2)}}' for j in range(3 + i % 9)) for i in range(3000)]\n"
            "made = howsure.lm.train(lines, order=4); made.save(sys.argv[1])\n"
            "print(made.model.score('w1 w2 w3'), len(choice._natives()), 'numba' in sys.modules)"
        )
        .replace("{{", "{")
        .replace("}}", "}")
    )
    said = []
    for first, name in (("import numba\n", "a.npz"), ("", "b.npz"), ("", "c.npz")):
        command = [sys.executable, "-c", first + code, str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        said.append(done.stdout.split())
    assert said[0][0] == said[1][0] == said[2][0]
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes() == (tmp_path / "c.npz").read_bytes()
    from howsure.kernels.ngrams.choice import _source

    path = kept_path(_source("counts_compiled"))
    if path is not None and os.access(path.parent, os.W_OK):
        assert said[2][1:] == ["19", "False"]
