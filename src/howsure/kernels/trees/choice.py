"""The kernels of trees behind one door: compiled for real work, interpreted where that is quicker than compiling."""

from typing import Any

from howsure.kernels.compiling import KERNELS, is_cached, ready
from howsure.kernels.trees import arc_models, charts, projective

SMALL = 30_000  # steps of the inner loop; interpreting them takes less time than compiling
_KERNELS = {k.py_func.__name__: k for family in (arc_models, charts, projective) for k in KERNELS[family.__name__]}


def kernel(name: str, work: float) -> Any:
    """The kernel of that name, compiled or not, for this many steps of its inner loop."""
    found = _KERNELS[name]
    if not found.signatures:
        if work <= SMALL and not is_cached(found):
            return found.py_func
        ready(found.py_func.__module__)
    return found
