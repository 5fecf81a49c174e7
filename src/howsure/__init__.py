"""How sure is your NLP model, and is it right to be?

    import howsure
    howsure.check(y_true, y_prob)      # or howsure.check("predictions.csv")

Everything loads when it is used: `import howsure` costs little more than `import numpy`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from howsure._version import __version__
from howsure.errors import HowsureError, InputError, MissingExtra

if TYPE_CHECKING:
    from howsure.calibration.comparison import Comparison
    from howsure.calibration.continuous import ContinuousCalibration
    from howsure.calibration.multiclass import MulticlassCalibration
    from howsure.calibration.recalibration.result import Recalibration
    from howsure.calibration.result import Calibration
    from howsure.verbs import lm
    from howsure.verbs.check import check
    from howsure.verbs.check_continuous import check_continuous
    from howsure.verbs.compare import compare
    from howsure.verbs.recalibrate import recalibrate
    from howsure.verbs.reproduce import reproduce

__all__ = [
    "Calibration",
    "Comparison",
    "ContinuousCalibration",
    "HowsureError",
    "InputError",
    "MissingExtra",
    "MulticlassCalibration",
    "Recalibration",
    "__version__",
    "check",
    "check_continuous",
    "compare",
    "lm",
    "recalibrate",
    "reproduce",
]

_LAZY = {
    "Calibration": "howsure.calibration.result",
    "Comparison": "howsure.calibration.comparison",
    "ContinuousCalibration": "howsure.calibration.continuous",
    "MulticlassCalibration": "howsure.calibration.multiclass",
    "Recalibration": "howsure.calibration.recalibration.result",
    "check": "howsure.verbs.check",
    "check_continuous": "howsure.verbs.check_continuous",
    "compare": "howsure.verbs.compare",
    "recalibrate": "howsure.verbs.recalibrate",
    "reproduce": "howsure.verbs.reproduce",
}


def __getattr__(name: str) -> Any:
    if name == "lm":  # a verb with verbs of its own
        return import_module("howsure.verbs.lm")
    if name not in _LAZY:
        raise AttributeError(f"module 'howsure' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, "lm"})
