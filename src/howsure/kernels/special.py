"""SciPy's special functions; the only way in, so that `scipy.special` is imported without what it does not need.

`scipy.special` imports all of NumPy's submodules, though only its tests use them: a compiler of Fortran, tools for
tests. They are made lazy first (they load when something uses them), which halves the time of the import.
"""

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec
from typing import Any

LATER = ("f2py", "testing", "polynomial", "ctypeslib", "typing", "rec", "char", "core", "strings")


def _postpone(parent: str, child: str) -> None:
    """Put a module that loads at its first use where `import` would put it."""
    name = f"{parent}.{child}"
    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.loader is None:
        return
    spec.loader = LazyLoader(spec.loader)
    sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    setattr(sys.modules[parent], child, sys.modules[name])


if "scipy.special" not in sys.modules:
    for _module in LATER:
        _postpone("numpy", _module)

import scipy.special  # noqa: E402


def __getattr__(name: str) -> Any:
    return getattr(scipy.special, name)
