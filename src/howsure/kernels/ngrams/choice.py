"""The n-gram kernels behind one door: compiled for real work, interpreted for a small text on a fresh machine."""

from typing import Any

from howsure.kernels.compiling import KERNELS, is_cached, ready
from howsure.kernels.ngrams import counts_compiled, scores_compiled, text_ids_compiled

SMALL = 2_000  # bytes or tokens; interpreting them takes less time than compiling
_FAMILIES = [family.__name__ for family in (text_ids_compiled, counts_compiled, scores_compiled)]
_KERNELS = {kernel.py_func.__name__: kernel for family in _FAMILIES for kernel in KERNELS[family]}


def kernel(name: str, work: int) -> Any:
    """The kernel of that name: compiled or not, whichever is faster for this number of bytes, tokens or nodes."""
    found = _KERNELS[name]
    if not found.signatures:
        if work <= SMALL and not is_cached(found):
            return found.py_func
        ready(found.py_func.__module__)
    return found
