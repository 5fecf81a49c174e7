"""Arrays without groups or slices go straight from validation to the result."""

import subprocess
import sys
from pathlib import Path

import howsure

SOURCE = Path(howsure.__file__).parent

CHECK = """
import sys
import numpy as np
import howsure

rng = np.random.default_rng(0)
q = rng.random(1_000)
y = rng.random(1_000) < q
seen = set()


def note(frame, event, _):
    if event == "call":
        seen.add(frame.f_code.co_filename)


howsure.check(y, q)  # imports what it needs; what counts is what the call runs through
sys.setprofile(note)
howsure.check(y, q)
sys.setprofile(None)
print(*sorted(f for f in seen if f.startswith(SOURCE)), sep="\\n")
HEAVY = "duckdb", "pyarrow", "pandas", "numba", "scipy.optimize", "numpy.f2py.f2py2e"
print("loaded", *(m for m in HEAVY if m in sys.modules))
"""


def run(code):
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    return made.stdout.splitlines()


def test_few_files_and_no_reader_of_tables():
    *files, loaded = run(f"SOURCE = {str(SOURCE)!r}\n{CHECK}")
    assert loaded.split() == ["loaded"]
    assert len(files) <= 14, files
    assert not [f for f in files if "engines" in f]


def test_long_arrays_load_no_reader_of_tables_either():
    code = (
        "import sys, numpy as np, howsure\n"
        "from howsure.engines.rows import sketched_arrays\n"
        "q = np.random.default_rng(0).random(1_200_000).round(3)\n"
        "assert sketched_arrays(q > 0.5, q).n == len(q)\n"
        "print(*(m for m in ('duckdb', 'pyarrow', 'pandas') if m in sys.modules))\n"
    )
    assert run(code) == [""]


def test_modules_that_special_functions_do_not_need_load_when_they_are_used():
    code = (
        "import sys, numpy as np\n"
        "from howsure.kernels.special import ndtr\n"
        "print(ndtr(0.0), 'numpy.testing._private.utils' in sys.modules)\n"
        "np.testing.assert_array_equal([1], [1])\n"
        "print(np.ma.masked_equal([1, 2], 2).sum(), 'numpy.testing._private.utils' in sys.modules)\n"
    )
    assert run(code) == ["0.5 False", "1 True"]
