"""Compiled kernels without Numba: the object code that Numba left in its cache, loaded by llvmlite and called by ctypes.

To import Numba and to load kernels its way takes longer than to count a million words. So the object code of a module's
kernels is kept once more, in one file, with what a call needs to know: the symbol, the arguments' types, the result's. It
is used as long as nothing that it depends on has changed; whatever is missing or unknown is left to Numba. Only kernels of
one-dimensional arrays and numbers are kept, and none that allocates or raises: those need Numba's runtime.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

# Numba's runtime, in the parts of the object code that are never called: those that take arguments from Python.
UNUSED = ("NRT_MemInfo_call_dtor", "NRT_adapt_ndarray_from_python", "numba_gil_ensure", "numba_gil_release")
HARMLESS = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"}  # any other setting of Numba's is for Numba to follow
SCALARS: dict[str, tuple[Any, type]] = {"int64": (ctypes.c_int64, int), "float64": (ctypes.c_double, float)}
ARRAY = (ctypes.c_void_p,) * 2 + (ctypes.c_int64,) * 2 + (ctypes.c_void_p,) + (ctypes.c_int64,) * 2
SUM = 9  # bytes at the beginning of a file, a checksum of all others
DONE = (0, -2)  # what a kernel returns that ended well, with a result or without
_LOCK = threading.Lock()
_ENGINE: list[Any] = []


def loaded(source: str) -> dict[str, Callable[..., Any]]:
    """The kernels of a module's source file by name; none where they were not kept, or not for this machine as it is."""
    kept = _kept(source)
    if kept is None:
        return {}
    from llvmlite import binding

    kernels, code = kept
    with _LOCK:
        engine = _engine()
        made, begin = {}, 0
        for name, symbol, size, arguments, result in kernels:
            part = code[begin : begin + size]
            begin += size
            if _needs_no_runtime(part):  # a library that was loaded then (of vector mathematics) may not be there now
                engine.add_object_file(binding.ObjectFileRef.from_data(part))
                made[name] = symbol, arguments, result
        engine.finalize_object()
        return {name: _callable(name, engine.get_function_address(s), *how) for name, (s, *how) in made.items()}


def is_kept(source: str) -> bool:
    """Whether that file's kernels are there for later runs."""
    return _kept(source) is not None


def _kept(source: str) -> tuple[list[Any], bytes] | None:
    """What was kept: a description of each kernel, and their object code; None if something has changed since."""
    path = kept_path(source)
    if path is None:
        return None
    with suppress(ImportError, OSError):
        whole = path.read_bytes()
        if whole[:SUM] == _sum(whole[SUM:]):  # code that was damaged could do anything
            header, _, code = whole[SUM:].partition(b"\n")
            found = json.loads(header)
            if found["of"] == _depends_on(source):
                return found["kernels"], code
    return None


def _sum(content: bytes) -> bytes:
    return b"%08x\n" % crc32(content)


def keep(source: str, compiled: Iterator[tuple[str, bytes, Any]]) -> None:
    """Write the kernels of a source file, as (name, object code, Numba's description), for later runs; write errors are ignored."""
    path = kept_path(source)
    if path is None or not os.access(path.parent, os.W_OK):
        return
    kernels, codes = [], []
    for name, code, described in compiled:
        types = _types(described)
        if types is not None and _needs_no_runtime(code):
            kernels.append([name, described.llvm_func_name, len(code), *types])
            codes.append(code)
    beside = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    with suppress(OSError):
        try:
            header = json.dumps({"of": _depends_on(source), "kernels": kernels})
            content = header.encode() + b"\n" + b"".join(codes)
            beside.write_bytes(_sum(content) + content)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)


def kept_path(source: str) -> Path | None:
    """The file of a module's kernels, in Numba's folder; None where they are not kept."""
    settings = {name for name in os.environ if name.startswith("NUMBA_")}
    if sys.platform != "linux" or sys.byteorder != "little" or settings - HARMLESS:
        return None
    folder = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(os.path.dirname(source), "__pycache__")
    return Path(folder, f"{Path(source).stem}.{sys.implementation.cache_tag}.native")


def _depends_on(source: str) -> list[Any]:
    """What must be as it was: Python, Numba, LLVM, the processor, and the sources of the kernels and of all their pieces."""
    from importlib.util import find_spec

    import llvmlite
    from llvmlite import binding

    numba = find_spec("numba")
    if numba is None or numba.origin is None:
        raise ImportError("numba")
    files = [Path(numba.origin).with_name("_version.py"), *map(Path(__file__).with_name, ("native.py", "compiling.py"))]
    files += [Path(source), *sorted(Path(source).parent.glob("*_compiled.py"))]
    stamps = [[f.stat().st_mtime_ns, f.stat().st_size, crc32(f.read_bytes())] for f in files]
    machine = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    return [sys.version, source, llvmlite.__version__, *machine, stamps]


def _engine() -> Any:
    """LLVM's linker in memory, made once and kept as long as the process lives."""
    if not _ENGINE:
        from llvmlite import binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        abort = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value
        for name in UNUSED:
            if binding.address_of_symbol(name) is None:
                binding.add_symbol(name, abort)
        machine = binding.Target.from_default_triple().create_target_machine()
        _ENGINE.append(binding.create_mcjit_compiler(binding.parse_assembly(""), machine))
    return _ENGINE[0]


def _callable(name: str, address: int, arguments: list[str], result: str | None) -> Callable[..., Any]:
    """A Python function that calls the code as Numba does: results and errors by pointer, arrays in seven parts."""
    flat: list[Any] = []
    for kind in arguments:
        flat += SCALARS[kind][:1] if kind in SCALARS else ARRAY
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *flat)(address)
    takes = [SCALARS[k][1] if k in SCALARS else (np.dtype(k.split()[0]), k.endswith("written")) for k in arguments]
    returned = SCALARS[result or "int64"][0]

    def call(*given: Any) -> Any:
        parts: list[Any] = []
        for value, kind in zip(given, takes, strict=True):
            if isinstance(kind, type):
                parts.append(kind(value))
                continue
            dtype, is_written = kind
            if value.dtype != dtype or value.ndim != 1 or not value.flags.c_contiguous:
                raise TypeError(
                    f"{name} takes a contiguous array of {dtype}; got {value.dtype}, {value.ndim} dimensions"
                )
            if is_written and not value.flags.writeable:
                raise TypeError(f"{name} writes to an array that is read-only")
            parts += None, None, value.size, dtype.itemsize, value.ctypes.data, value.size, dtype.itemsize
        made, error = returned(), ctypes.c_void_p()
        if run(ctypes.addressof(made), ctypes.addressof(error), *parts) not in DONE:
            raise RuntimeError(f"the kernel {name} failed")
        return None if result is None else made.value

    return call


def _types(described: Any) -> tuple[list[str], str | None] | None:
    """The arguments' types and the result's; None if a call would need others, or Numba passes them in another way."""
    from llvmlite import ir
    from numba.core import types
    from numba.core.registry import cpu_target

    arguments, expected = [], [ir.PointerType, ir.PointerType]
    for kind in described.argtypes:
        if isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C":
            arguments.append(f"{kind.dtype.name} {'written' if kind.mutable else 'read'}")
            expected += [ir.PointerType] * 2 + [ir.IntType] * 2 + [ir.PointerType] + [ir.IntType] * 2
        elif kind in (types.int64, types.float64):
            arguments.append(kind.name)
            expected.append(ir.IntType if kind == types.int64 else ir.DoubleType)
        else:
            return None
    result = None if described.restype == types.none else described.restype.name
    if result is not None and result not in SCALARS:
        return None
    passed = cpu_target.target_context.call_conv.get_function_type(described.restype, described.argtypes)
    wide = all(not isinstance(a, ir.IntType) or a.width == 64 for a in passed.args)
    alike = len(passed.args) == len(expected) and all(map(isinstance, passed.args, expected))
    return (arguments, result) if wide and alike and str(passed.return_type) == "i32" else None


def _needs_no_runtime(code: bytes) -> bool:
    """Whether all that object code calls is there without Numba, or is never called."""
    from llvmlite import binding

    numbas = {name for name in _undefined(code) if name.startswith(("NRT_", "numba_"))}
    return numbas <= set(UNUSED) and all(binding.address_of_symbol(name) for name in _undefined(code) - numbas)


def _undefined(code: bytes) -> set[str]:
    """The symbols that an ELF object leaves to the linker."""
    if code[:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian
        return {"numba_unknown"}
    (table,), (width, number) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQII", code, table + i * width) for i in range(number)]
    made = set()
    for _, kind, _, _, offset, size, link, _ in sections:
        for at in range(offset, offset + size, 24) if kind == 2 else ():  # a table of symbols
            name, _, _, section = struct.unpack_from("<IBBH", code, at)
            if section == 0 and name:
                begin = sections[link][4] + name
                made.add(code[begin : code.index(b"\0", begin)].decode())
    return made
