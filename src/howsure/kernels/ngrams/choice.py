"""The n-gram kernels behind one door: compiled for real work, interpreted for a small text on a fresh machine.

Where object code was kept and Numba is not there yet, they run without it (`kernels/native.py`), for as many calls as
take less time than its import.
"""

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from howsure.kernels import native

SMALL = 2_000  # bytes or tokens; interpreting them takes less time than compiling
CALLS = 10_000  # without Numba, which takes a few microseconds less for each
FAMILIES = ("text_ids_compiled", "counts_compiled", "scores_compiled")
_called = 0


def kernel(name: str, work: int) -> Any:
    """The kernel of that name: compiled or not, whichever is faster for this number of bytes, tokens or nodes."""
    global _called
    if _called < CALLS and "numba" not in sys.modules:
        _called += 1
        if (there := _natives().get(name)) is not None:
            return there
    from howsure.kernels.compiling import is_cached, objects, ready

    found = _kernels()[name]
    if not found.signatures:
        if work <= SMALL and not is_cached(found):
            return found.py_func
        module = found.py_func.__module__
        ready(module)
        source = _source(module.rpartition(".")[2])
        path = native.kept_path(source)
        if path is not None and not native.is_kept(source):
            native.keep(source, objects(module))
    return found


def _source(family: str) -> str:
    return str(Path(__file__).with_name(f"{family}.py"))


@cache
def _natives() -> dict[str, Any]:
    """The kernels that are there without Numba."""
    return {name: run for family in FAMILIES for name, run in native.loaded(_source(family)).items()}


@cache
def _kernels() -> dict[str, Any]:
    """Numba's, by name."""
    from howsure.kernels.compiling import KERNELS

    modules = [import_module(f"howsure.kernels.ngrams.{family}").__name__ for family in FAMILIES]
    return {kernel.py_func.__name__: kernel for module in modules for kernel in KERNELS[module]}
