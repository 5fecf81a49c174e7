"""`howsure.load`: whatever howsure has saved, by its file or folder."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from howsure._result import SavedResult, Training
from howsure.errors import InputError

# Where the class of each kind of model stands.
MODELS = {
    "classifier": "models.classifiers.TextClassifier",
    "ngram-classifier": "models.ngrams.classifier.NgramClassifier",
    "hmm": "models.taggers.hmm.Hmm",
    "crf": "models.taggers.crf.Crf",
    "arcs": "models.parsers.arcs.ArcParser",
    "pcfg": "models.parsers.pcfg.Pcfg",
    "coref": "models.coreference.ranker.CorefModel",
    "ngrams": "models.ngrams.model.LanguageModel",
}


def load(path: str | Path) -> Any:
    """Open what howsure has saved: a model, a recalibrator, a result, or the folder of an exploration.

    Opening a file never runs code.

    Parameters
    ----------
    path : str or Path
        `.npz` or `.arpa`: a model, ready for `check_…` and `apply_…`. `.json`: a recalibrator (what `recalibrate fit` and
        `Recalibration.to_json` write), or a result that `save` wrote. A folder: what `explore` wrote.

    Examples
    --------
    >>> import howsure, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "check.json"
    ...     howsure.check([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4]).save(path)
    ...     howsure.load(path).to_dict()["n"]
    4
    """
    target = Path(path)
    if target.is_dir():
        from howsure.verbs.results import opened

        return opened(target)
    if not target.is_file():
        raise InputError(f"there is no file {path}.")
    if target.suffix.lower() == ".arpa":
        from howsure.models.ngrams.arpa import read_arpa

        return read_arpa(target)
    if target.suffix.lower() == ".json":
        return _from_json(target)
    from howsure.models.saved import model_kind

    kind = model_kind(target)
    if kind not in MODELS:
        raise InputError(f"{path} holds a model of kind {kind}, which this howsure does not know.")
    module, _, name = MODELS[kind].rpartition(".")
    return getattr(import_module(f"howsure.{module}"), name).load(target)


def _from_json(path: Path) -> Any:
    from howsure.calibration.recalibration.methods import from_dict
    from howsure.calibration.recalibration.recalibrator import FORMAT

    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
    if isinstance(data, dict) and data.get("format") == FORMAT:
        return from_dict(data, str(path))
    return SavedResult.of(data, str(path))


def model_of(given: Any, *kinds: type) -> Any:
    """The model that is meant: a model, what training gave, or a saved one's path."""
    found = load(given) if isinstance(given, (str, Path)) else given.model if isinstance(given, Training) else given
    if not isinstance(found, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"{given} holds a {type(found).__name__}; {wanted} was expected.")
    return found
