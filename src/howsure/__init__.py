"""How sure is your NLP model, and is it right to be?

    import howsure
    howsure.check(y_true, y_prob)      # or howsure.check("predictions.csv")

Everything loads when it is used: `import howsure` costs little more than `import numpy`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from howsure._version import __version__ as __version__
from howsure.errors import HowsureError as HowsureError
from howsure.errors import InputError as InputError
from howsure.errors import MissingExtra as MissingExtra

_PUBLIC = {  # the names of each module
    "calibration.abstaining.result": "Abstention",
    "calibration.by_source": "SourceCalibrations",
    "calibration.comparing.result": "Comparison",
    "calibration.estimation.decompositions": "ScoreDecomposition score_decomposition",
    "calibration.forecasts.result": "ContinuousCalibration",
    "calibration.multiclass": "MulticlassCalibration",
    "calibration.paper": "PaperCalibration",
    "calibration.recalibration.result": "Recalibration",
    "calibration.result": "Calibration",
    "counting.result": "Counts Drawn",
    "engines.engine": "Engine",
    "evaluation.annotation.result": "Agreement",
    "evaluation.contests.result": "Contest",
    "evaluation.coreference": "coreference_scores",
    "evaluation.predictive": "predictive_statistic",
    "evaluation.scores.benchmark": "Benchmark",
    "evaluation.scores.result": "Score",
    "evaluation.splits": "Split",
    "events.exploration": "Exploration",
    "models.coreference.ranker": "CorefModel",
    "posteriors.antecedents": "AntecedentPosterior",
    "posteriors.chain": "ChainPosterior",
    "posteriors.classes": "ClassPosterior",
    "posteriors.constituents": "ConstituentPosterior Grammar",
    "posteriors.mixture": "MixturePosterior",
    "posteriors.trees": "TreePosterior",
    "verbs.abstain": "abstain apply_abstention",
    "verbs.agree": "agree",
    "verbs.calibrated_classifier": "CalibratedClassifier",
    "verbs.check": "check",
    "verbs.check_continuous": "check_continuous",
    "verbs.check_paper": "check_paper",
    "verbs.classify": "apply_classifier check_classifier cv_classifier train_classifier",
    "verbs.compare": "compare",
    "verbs.coref": "check_coref resolve score_coref train_coref",
    "verbs.count": "count",
    "verbs.doctor": "Diagnosis doctor",
    "verbs.explore": "explore",
    "verbs.load": "load",
    "verbs.logs": "Log",
    "verbs.parse": "parse",
    "verbs.parser": "apply_parser check_parser train_parser",
    "verbs.pipeline": "pipeline span_pairs",
    "verbs.recalibrate": "apply_recalibrator recalibrate",
    "verbs.reproduce": "reproduce",
    "verbs.results": "page serve",
    "verbs.score": "score",
    "verbs.split": "split",
    "verbs.tagger": "apply_tagger check_tagger cv_tagger train_tagger",
    "verbs.to_label": "to_label",
}
_LAZY = {name: f"howsure.{module}" for module, names in _PUBLIC.items() for name in names.split()}
_MODULES = {"english": "howsure.english", "lm": "howsure.verbs.lm"}  # verbs with verbs of their own

__all__ = sorted([*_LAZY, *_MODULES, "HowsureError", "InputError", "MissingExtra", "__version__"])

if TYPE_CHECKING:  # the same for type checkers
    from howsure import english as english
    from howsure.calibration.abstaining.result import Abstention as Abstention
    from howsure.calibration.by_source import SourceCalibrations as SourceCalibrations
    from howsure.calibration.comparing.result import Comparison as Comparison
    from howsure.calibration.estimation.decompositions import ScoreDecomposition as ScoreDecomposition
    from howsure.calibration.estimation.decompositions import score_decomposition as score_decomposition
    from howsure.calibration.forecasts.result import ContinuousCalibration as ContinuousCalibration
    from howsure.calibration.multiclass import MulticlassCalibration as MulticlassCalibration
    from howsure.calibration.paper import PaperCalibration as PaperCalibration
    from howsure.calibration.recalibration.result import Recalibration as Recalibration
    from howsure.calibration.result import Calibration as Calibration
    from howsure.counting.result import Counts as Counts
    from howsure.counting.result import Drawn as Drawn
    from howsure.engines.engine import Engine as Engine
    from howsure.evaluation.annotation.result import Agreement as Agreement
    from howsure.evaluation.contests.result import Contest as Contest
    from howsure.evaluation.coreference import coreference_scores as coreference_scores
    from howsure.evaluation.predictive import predictive_statistic as predictive_statistic
    from howsure.evaluation.scores.benchmark import Benchmark as Benchmark
    from howsure.evaluation.scores.result import Score as Score
    from howsure.evaluation.splits import Split as Split
    from howsure.events.exploration import Exploration as Exploration
    from howsure.models.coreference.ranker import CorefModel as CorefModel
    from howsure.posteriors.antecedents import AntecedentPosterior as AntecedentPosterior
    from howsure.posteriors.chain import ChainPosterior as ChainPosterior
    from howsure.posteriors.classes import ClassPosterior as ClassPosterior
    from howsure.posteriors.constituents import ConstituentPosterior as ConstituentPosterior
    from howsure.posteriors.constituents import Grammar as Grammar
    from howsure.posteriors.mixture import MixturePosterior as MixturePosterior
    from howsure.posteriors.trees import TreePosterior as TreePosterior
    from howsure.verbs import lm as lm
    from howsure.verbs.abstain import abstain as abstain
    from howsure.verbs.abstain import apply_abstention as apply_abstention
    from howsure.verbs.agree import agree as agree
    from howsure.verbs.calibrated_classifier import CalibratedClassifier as CalibratedClassifier
    from howsure.verbs.check import check as check
    from howsure.verbs.check_continuous import check_continuous as check_continuous
    from howsure.verbs.check_paper import check_paper as check_paper
    from howsure.verbs.classify import apply_classifier as apply_classifier
    from howsure.verbs.classify import check_classifier as check_classifier
    from howsure.verbs.classify import cv_classifier as cv_classifier
    from howsure.verbs.classify import train_classifier as train_classifier
    from howsure.verbs.compare import compare as compare
    from howsure.verbs.coref import check_coref as check_coref
    from howsure.verbs.coref import resolve as resolve
    from howsure.verbs.coref import score_coref as score_coref
    from howsure.verbs.coref import train_coref as train_coref
    from howsure.verbs.count import count as count
    from howsure.verbs.doctor import Diagnosis as Diagnosis
    from howsure.verbs.doctor import doctor as doctor
    from howsure.verbs.explore import explore as explore
    from howsure.verbs.load import load as load
    from howsure.verbs.logs import Log as Log
    from howsure.verbs.parse import parse as parse
    from howsure.verbs.parser import apply_parser as apply_parser
    from howsure.verbs.parser import check_parser as check_parser
    from howsure.verbs.parser import train_parser as train_parser
    from howsure.verbs.pipeline import pipeline as pipeline
    from howsure.verbs.pipeline import span_pairs as span_pairs
    from howsure.verbs.recalibrate import apply_recalibrator as apply_recalibrator
    from howsure.verbs.recalibrate import recalibrate as recalibrate
    from howsure.verbs.reproduce import reproduce as reproduce
    from howsure.verbs.results import page as page
    from howsure.verbs.results import serve as serve
    from howsure.verbs.score import score as score
    from howsure.verbs.split import split as split
    from howsure.verbs.tagger import apply_tagger as apply_tagger
    from howsure.verbs.tagger import check_tagger as check_tagger
    from howsure.verbs.tagger import cv_tagger as cv_tagger
    from howsure.verbs.tagger import train_tagger as train_tagger
    from howsure.verbs.to_label import to_label as to_label


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
