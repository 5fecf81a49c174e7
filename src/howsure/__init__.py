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
    from howsure import english
    from howsure.calibration.comparing.result import Comparison
    from howsure.calibration.estimation.decompositions import ScoreDecomposition, score_decomposition
    from howsure.calibration.forecasts.result import ContinuousCalibration
    from howsure.calibration.multiclass import MulticlassCalibration
    from howsure.calibration.paper import PaperCalibration
    from howsure.calibration.recalibration.result import Recalibration
    from howsure.calibration.result import Calibration
    from howsure.counting.result import Counts
    from howsure.engines.engine import Engine
    from howsure.evaluation.annotation.result import Agreement
    from howsure.evaluation.contests.result import Contest
    from howsure.evaluation.coreference import coreference_scores
    from howsure.evaluation.scores.result import Score
    from howsure.evaluation.splits import Split
    from howsure.events.exploration import Exploration
    from howsure.models.coreference.ranker import CorefModel
    from howsure.posteriors.antecedents import AntecedentPosterior
    from howsure.posteriors.chain import ChainPosterior
    from howsure.posteriors.classes import ClassPosterior
    from howsure.verbs import lm
    from howsure.verbs.agree import agree
    from howsure.verbs.check import check
    from howsure.verbs.check_continuous import check_continuous
    from howsure.verbs.check_paper import check_paper
    from howsure.verbs.classify import apply_classifier, check_classifier, train_classifier
    from howsure.verbs.compare import compare
    from howsure.verbs.coref import resolve, score_coref, train_coref
    from howsure.verbs.coref_check import check_coref
    from howsure.verbs.count import count
    from howsure.verbs.doctor import Diagnosis, doctor
    from howsure.verbs.explore import explore
    from howsure.verbs.page import page
    from howsure.verbs.parse import parse
    from howsure.verbs.recalibrate import recalibrate
    from howsure.verbs.reproduce import reproduce
    from howsure.verbs.score import score
    from howsure.verbs.serve import serve
    from howsure.verbs.split import split
    from howsure.verbs.tagger import apply_tagger, check_tagger, train_tagger

__all__ = [
    "Agreement",
    "AntecedentPosterior",
    "Calibration",
    "ChainPosterior",
    "ClassPosterior",
    "Comparison",
    "Contest",
    "ContinuousCalibration",
    "CorefModel",
    "Counts",
    "Diagnosis",
    "Engine",
    "Exploration",
    "HowsureError",
    "InputError",
    "MissingExtra",
    "MulticlassCalibration",
    "PaperCalibration",
    "Recalibration",
    "Score",
    "ScoreDecomposition",
    "Split",
    "__version__",
    "agree",
    "apply_classifier",
    "apply_tagger",
    "check",
    "check_classifier",
    "check_continuous",
    "check_coref",
    "check_paper",
    "check_tagger",
    "compare",
    "coreference_scores",
    "count",
    "doctor",
    "english",
    "explore",
    "lm",
    "page",
    "parse",
    "recalibrate",
    "reproduce",
    "resolve",
    "score",
    "score_coref",
    "score_decomposition",
    "serve",
    "split",
    "train_classifier",
    "train_coref",
    "train_tagger",
]

_LAZY = {
    "Agreement": "howsure.evaluation.annotation.result",
    "AntecedentPosterior": "howsure.posteriors.antecedents",
    "Calibration": "howsure.calibration.result",
    "ChainPosterior": "howsure.posteriors.chain",
    "ClassPosterior": "howsure.posteriors.classes",
    "Comparison": "howsure.calibration.comparing.result",
    "Contest": "howsure.evaluation.contests.result",
    "ContinuousCalibration": "howsure.calibration.forecasts.result",
    "CorefModel": "howsure.models.coreference.ranker",
    "Counts": "howsure.counting.result",
    "Diagnosis": "howsure.verbs.doctor",
    "Engine": "howsure.engines.engine",
    "Exploration": "howsure.events.exploration",
    "MulticlassCalibration": "howsure.calibration.multiclass",
    "PaperCalibration": "howsure.calibration.paper",
    "Recalibration": "howsure.calibration.recalibration.result",
    "Score": "howsure.evaluation.scores.result",
    "ScoreDecomposition": "howsure.calibration.estimation.decompositions",
    "Split": "howsure.evaluation.splits",
    "agree": "howsure.verbs.agree",
    "apply_classifier": "howsure.verbs.classify",
    "apply_tagger": "howsure.verbs.tagger",
    "check": "howsure.verbs.check",
    "check_classifier": "howsure.verbs.classify",
    "check_continuous": "howsure.verbs.check_continuous",
    "check_coref": "howsure.verbs.coref_check",
    "check_paper": "howsure.verbs.check_paper",
    "check_tagger": "howsure.verbs.tagger",
    "compare": "howsure.verbs.compare",
    "coreference_scores": "howsure.evaluation.coreference",
    "count": "howsure.verbs.count",
    "doctor": "howsure.verbs.doctor",
    "explore": "howsure.verbs.explore",
    "page": "howsure.verbs.page",
    "parse": "howsure.verbs.parse",
    "recalibrate": "howsure.verbs.recalibrate",
    "reproduce": "howsure.verbs.reproduce",
    "resolve": "howsure.verbs.coref",
    "score": "howsure.verbs.score",
    "score_coref": "howsure.verbs.coref",
    "score_decomposition": "howsure.calibration.estimation.decompositions",
    "serve": "howsure.verbs.serve",
    "split": "howsure.verbs.split",
    "train_classifier": "howsure.verbs.classify",
    "train_coref": "howsure.verbs.coref",
    "train_tagger": "howsure.verbs.tagger",
}

_MODULES = {"english": "howsure.english", "lm": "howsure.verbs.lm"}  # verbs with verbs of their own


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _LAZY:
        raise AttributeError(f"module 'howsure' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})
