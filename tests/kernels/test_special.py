"""The compiled special functions are SciPy's own, and come without the rest of `scipy.special`."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from howsure.kernels import special

SOURCE = Path(special.__file__).parents[1]
USED = sorted(
    {
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r"^[^#\n]*\bspecial\.([a-z]\w+)\(", path.read_text(), re.M)
    }
    - {"softmax"}
)


def said(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_functions_are_scipys_own_whichever_is_imported_first():
    assert {"ndtri", "betaincinv", "stdtrit"} <= set(USED)
    same = f"all(getattr(special, name) is getattr(scipy.special, name) for name in {USED})"
    ours = "from howsure.kernels import special; special.ndtri"
    for first, second in ((ours, "import scipy.special"), ("import scipy.special", ours)):
        assert (
            said(f"{first}\n{second}\nprint({same}, scipy.special.ndtri([0.5]), scipy.special.comb(4, 2))")
            == "True [0.] 6.0"
        )


def test_what_is_used_does_not_import_the_package():
    code = f"from howsure.kernels import special; [getattr(special, name) for name in {USED}]"
    loaded = said(f"import sys; {code}; print('numpy.ma' in sys.modules, 'scipy.special' in sys.modules)")
    assert loaded == "False False"


@pytest.mark.parametrize("part", ["_gufuncs", "_ufuncs", "_of_another_scipy"])
def test_other_versions_of_scipy_are_imported_as_they_are(part):
    """A part that is not there, or cannot be imported alone."""
    code = (
        "from howsure.kernels import special; import sys\n"
        "from importlib.machinery import PathFinder\n"
        "find = PathFinder.find_spec\n"
        f"special.COMPILED = ({part!r}, *special.COMPILED)\n"
        "class Alone:\n"
        "    def find_spec(self, name, path):\n"
        f"        return None if name.endswith({part!r}) else find(name, path)\n"
        "special.PathFinder = Alone()\n"
        "print(special.ndtri(0.5), 'scipy.special' in sys.modules)"
    )
    assert said(code) == "0.0 True"


def test_functions_that_are_not_compiled_come_from_the_package():
    assert special.softmax([0.0, 0.0]).tolist() == [0.5, 0.5]
    with pytest.raises(AttributeError):
        special.no_such_function  # noqa: B018


def test_threads_that_come_first_together():
    code = (
        "from concurrent.futures import ThreadPoolExecutor; from howsure.kernels import special\n"
        "with ThreadPoolExecutor(16) as pool: print(set(pool.map(lambda i: float(special.ndtri(0.5)), range(64))))"
    )
    assert {said(code) for _ in range(3)} == {"{0.0}"}


def test_who_imports_the_package_meanwhile_waits():
    code = (
        "import sys, threading, time; from howsure.kernels import special\n"
        "from importlib.machinery import PathFinder\n"
        "find = PathFinder.find_spec\n"
        "def package():\n"
        "    import scipy.special\n"
        "    found.append(float(scipy.special.ndtri(0.5)))\n"
        "found, other = [], threading.Thread(target=package)\n"
        "class Slow:\n"
        "    def find_spec(self, name, path):\n"
        "        spec = find(name, path)\n"
        "        load = spec.loader.exec_module\n"
        "        spec.loader.exec_module = lambda module: (other.ident or other.start(), time.sleep(0.05), load(module))\n"
        "        return spec\n"
        "special.PathFinder = Slow()\n"
        "found.append(float(special.ndtri(0.5)))\n"
        "other.join()\n"
        "import scipy.special\n"
        "print(found, scipy.special.ndtri is special.ndtri)"
    )
    assert said(code) == "[0.0, 0.0] True"
