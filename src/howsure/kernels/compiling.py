"""How a kernel is compiled: by Numba, once, into a cache that later runs load in milliseconds.

Numba keeps the cache beside the package, or in the user's cache folder when the package is read-only.
"""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numba.extending
import numpy as np

_LOCK = threading.Lock()


def kernel(function: Callable[..., Any]) -> Any:
    """Mark `function` as a compiled kernel: cached on disk, and run without holding the GIL."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder can be written at all: compile in memory
        return numba.njit(nogil=True)(function)


def fused_kernel(function: Callable[..., Any]) -> Any:
    """A kernel whose products and sums may be fused (one rounding instead of two), and nothing else reordered."""
    try:
        return numba.njit(nogil=True, cache=True, fastmath={"contract"})(function)
    except RuntimeError:
        return numba.njit(nogil=True, fastmath={"contract"})(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A piece of a kernel, copied into each kernel that uses it."""
    return numba.njit(inline="always", fastmath={"contract"})(function)


@inlined
def mix(x: Any) -> Any:
    """A hash of a 64-bit number (the last steps of splitmix64): what samplers draw from."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def piece(function: Callable[..., Any]) -> Any:
    """A piece of kernels that also runs uncompiled: called from Python it is a plain function."""
    return numba.extending.register_jitable(forceinline=True)(function)


def ready(*dispatchers: Any, signatures: tuple[str, ...]) -> None:
    """Compile each dispatcher for its signature, saying so when the cache cannot answer."""
    with _LOCK:
        _compile(dispatchers, signatures)


def _compile(dispatchers: tuple[Any, ...], signatures: tuple[str, ...]) -> None:
    waiting = [(d, s) for d, s in zip(dispatchers, signatures, strict=True) if not d.signatures]
    if any(not _is_cached(d) for d, _ in waiting):
        print("howsure: compiling once for this machine (a few seconds) …", file=sys.stderr, flush=True)
    for dispatcher, signature in waiting:
        dispatcher.compile(signature)
        dispatcher.disable_compile()  # a wrong argument type is an error, not a silent second compilation


def _is_cached(dispatcher: Any) -> bool:
    path = dispatcher.stats.cache_path
    if path is None:
        return False
    function = dispatcher.py_func
    stem = Path(function.__code__.co_filename).stem
    return any(Path(path).glob(f"{stem}.{function.__qualname__}-*.nbi"))
