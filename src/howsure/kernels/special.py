"""SciPy's special functions, such as `special.ndtri`: its compiled ones, imported at the first use without the rest of `scipy.special`.

The rest (masked arrays, transforms, tools for other array libraries, a look at every docstring) takes three times as long
to import as these functions and NumPy together. Whoever imports `scipy.special` afterwards gets all of it, with these same functions.
"""

import sys
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from os.path import join
from threading import Lock
from types import ModuleType
from typing import Any

# In the order in which they import each other.
COMPILED = ("_sf_error", "_ufuncs_cxx", "_ellip_harm_2", "_special_ufuncs", "_gufuncs", "_ufuncs")
_LOCK = Lock()  # no thread may see a module that another one is still loading


@cache
def _compiled() -> ModuleType:
    """The module that holds the compiled functions, or `scipy.special` where SciPy is not made of these parts."""
    import scipy

    names = [f"scipy.special.{part}" for part in COMPILED]
    folders = [join(folder, "special") for folder in scipy.__path__]
    with _LOCK:
        if "scipy.special" in sys.modules:
            return _package()
        try:
            for name in names:
                spec = PathFinder.find_spec(name, folders)
                if spec is None or spec.loader is None:
                    raise ImportError
                if name not in sys.modules:
                    sys.modules[name] = module = module_from_spec(spec)
                    spec.loader.exec_module(module)
            return sys.modules[names[-1]]
        except ImportError:
            for name in names:
                sys.modules.pop(name, None)
            return _package()


def _package() -> ModuleType:
    import scipy.special

    return scipy.special


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    found = getattr(_compiled(), name, None)
    globals()[name] = getattr(_package(), name) if found is None else found
    return globals()[name]
