"""How a kernel is compiled: by Numba, once, into a cache that later runs load in milliseconds.

Numba keeps the cache beside the package, or in the user's cache folder when the package is read-only.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
import numba.core.caching
import numba.extending
import numpy as np

_LOCK = threading.Lock()
KERNELS: dict[str, dict[Any, tuple[str, ...]]] = {}  # of each module, with their signatures
_READY: set[Any] = set()


class Kept(numba.core.caching.FunctionCache):
    """Numba's cache of one function, which loads it without all that Numba needs to compile (and `scipy.linalg` with it)."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function of this signature, or None: then Numba gets ready and compiles it."""
        numba.core.runtime.nrt.rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function; where the disk is full it is compiled again next time."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def kernel(*signatures: str, fused: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Mark a function as a kernel, compiled for these signatures alone: cached on disk, and run without holding the GIL.

    Products and sums of a `fused` one may be fused (one rounding instead of two), and nothing else reordered.
    """
    options: dict[str, Any] = {"nogil": True, "fastmath": {"contract"} if fused else False}

    def made(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # then that is the function itself, which runs as it is written
            dispatcher.py_func, dispatcher.signatures = function, signatures
        with suppress(RuntimeError):  # no folder can be written at all: compile in memory
            dispatcher._cache = Kept(function)  # type: ignore[no-untyped-call]
        KERNELS.setdefault(function.__module__, {})[dispatcher] = signatures
        return dispatcher

    return made


def array(kind: str, dimensions: int = 1, order: str = "C") -> str:
    """An array that a kernel only reads, in its signature."""
    return f"Array({kind}, {dimensions}, '{order}', readonly=True)"


def inlined(function: Callable[..., Any]) -> Any:
    """A piece of fused kernels, compiled once and copied into each that uses it."""
    return numba.njit(forceinline=True, fastmath={"contract"})(function)


@inlined
def mix(x: Any) -> Any:
    """A hash of a 64-bit number (the last steps of splitmix64): what samplers draw from."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def piece(function: Callable[..., Any]) -> Any:
    """A piece of kernels that also runs uncompiled: called from Python it is a plain function."""
    return numba.extending.register_jitable(forceinline=True)(function)


def ready(*kernels: Any) -> None:
    """Compile or load kernels, or all of the modules that are named, saying so on a terminal when the cache cannot answer."""
    chosen = [k for name in kernels for k in (KERNELS[name] if isinstance(name, str) else (name,))]
    if _READY.issuperset(chosen):  # asked before every call of a kernel
        return
    signatures = {k: s for module in KERNELS.values() for k, s in module.items()}
    with _LOCK:
        waiting = [d for d in chosen if not d.signatures]
        if sys.stderr is not None and sys.stderr.isatty() and not all(map(is_cached, waiting)):
            print("howsure: compiling once for this machine (a few seconds) …", file=sys.stderr, flush=True)
        for dispatcher in waiting:
            for signature in signatures[dispatcher]:
                dispatcher.compile(signature)
            dispatcher.disable_compile()  # a wrong argument type is an error, not a silent second compilation
        _READY.update(chosen)


def objects(module: str) -> Iterator[tuple[str, bytes, Any]]:
    """Name, object code and Numba's description of a module's kernels that are in its cache with one signature.

    None of a source file that has been changed since it was imported.
    """
    for dispatcher, signatures in KERNELS[module].items():
        cache = dispatcher._cache
        # Another Numba may keep it in another way.
        with suppress(AttributeError, LookupError, TypeError, ValueError, OSError):
            [signature] = signatures
            key = cache._index_key(signature, dispatcher.targetctx.codegen())
            (_, kind, (code, _)), described = cache._cache_file.load(key)[:2]
            if kind == "object" and cache._cache_file._source_stamp == cache._impl.locator.get_source_stamp():
                yield dispatcher.py_func.__name__, bytes(code), described


def is_cached(dispatcher: Any) -> bool:
    """Whether this machine has compiled a kernel before."""
    path = dispatcher.stats.cache_path
    if path is None:
        return False
    function = dispatcher.py_func
    stem = Path(function.__code__.co_filename).stem
    return any(Path(path).glob(f"{stem}.{function.__qualname__}-*.nbi"))
