"""How sure is your NLP model, and is it right to be?

    import howsure
    howsure.check(y_true, y_prob)      # or howsure.check("predictions.csv")

Everything loads when it is used: `import howsure` costs little more than `import numpy`.
"""

import re
from importlib import import_module
from typing import Any

# The public names are listed once, in the stub beside this file: `from MODULE import NAME as NAME`, a line each.
with open(__file__.removesuffix("py") + "pyi", encoding="utf-8") as _stub:
    _PUBLIC = {name: module for module, name in re.findall(r"^from (\S+) import (\w+) as", _stub.read(), re.M)}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'howsure' has no attribute {name!r}")
    home = _PUBLIC[name]
    own = home in ("howsure", "howsure.verbs")  # a module with verbs of its own
    value = import_module(f"{home}.{name}") if own else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
