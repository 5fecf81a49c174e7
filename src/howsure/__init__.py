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
    from howsure.evaluation.coreference import coreference_scores
    from howsure.events.exploration import Exploration
    from howsure.models.coref import CorefModel
    from howsure.posteriors.antecedents import AntecedentPosterior
    from howsure.verbs.check import check
    from howsure.verbs.check_continuous import check_continuous
    from howsure.verbs.compare import compare
    from howsure.verbs.coref import resolve, score_coref, train_coref
    from howsure.verbs.coref_check import check_coref
    from howsure.verbs.explore import explore
    from howsure.verbs.page import page
    from howsure.verbs.parse import parse
    from howsure.verbs.recalibrate import recalibrate
    from howsure.verbs.reproduce import reproduce
    from howsure.verbs.serve import serve

__all__ = [
    "AntecedentPosterior",
    "Calibration",
    "Comparison",
    "ContinuousCalibration",
    "CorefModel",
    "Exploration",
    "HowsureError",
    "InputError",
    "MissingExtra",
    "MulticlassCalibration",
    "Recalibration",
    "__version__",
    "check",
    "check_continuous",
    "check_coref",
    "compare",
    "coreference_scores",
    "explore",
    "page",
    "parse",
    "recalibrate",
    "reproduce",
    "resolve",
    "score_coref",
    "serve",
    "train_coref",
]

_LAZY = {
    "AntecedentPosterior": "howsure.posteriors.antecedents",
    "Calibration": "howsure.calibration.result",
    "Comparison": "howsure.calibration.comparison",
    "ContinuousCalibration": "howsure.calibration.continuous",
    "Exploration": "howsure.events.exploration",
    "CorefModel": "howsure.models.coref",
    "MulticlassCalibration": "howsure.calibration.multiclass",
    "Recalibration": "howsure.calibration.recalibration.result",
    "check": "howsure.verbs.check",
    "check_continuous": "howsure.verbs.check_continuous",
    "check_coref": "howsure.verbs.coref_check",
    "compare": "howsure.verbs.compare",
    "explore": "howsure.verbs.explore",
    "page": "howsure.verbs.page",
    "parse": "howsure.verbs.parse",
    "coreference_scores": "howsure.evaluation.coreference",
    "recalibrate": "howsure.verbs.recalibrate",
    "reproduce": "howsure.verbs.reproduce",
    "resolve": "howsure.verbs.coref",
    "score_coref": "howsure.verbs.coref",
    "serve": "howsure.verbs.serve",
    "train_coref": "howsure.verbs.coref",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'howsure' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
