"""Kernels behind one door: compiled for real work, interpreted where that is quicker than compiling on a fresh machine."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from howsure.kernels.compiling import KERNELS, is_cached, ready


def chosen(kernels: dict[str, Any], small: float) -> Callable[[str, float], Any]:
    """A function of a kernel's name and its work, in steps of its inner loop: the kernel, uncompiled for at most `small`."""

    def kernel(name: str, work: float) -> Any:
        found = kernels[name]
        if not found.signatures:
            if work <= small and not is_cached(found):
                return found.py_func
            ready(found.py_func.__module__)
        return found

    return kernel


def by_name(*families: ModuleType) -> dict[str, Any]:
    """The kernels of some modules."""
    return {kernel.py_func.__name__: kernel for family in families for kernel in KERNELS[family.__name__]}
