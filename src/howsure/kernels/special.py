"""SciPy's special functions, `special.name(...)`: imported at the first use, without what `scipy.special` does not need.

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


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    for module in LATER if "scipy.special" not in sys.modules else ():
        _postpone("numpy", module)
    import scipy.special

    globals()[name] = getattr(scipy.special, name)
    return globals()[name]
