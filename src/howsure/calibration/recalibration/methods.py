"""Which methods there are, and how a saved one is read back: JSON with a format and a version, never code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from howsure import _validate
from howsure.calibration.recalibration.beta import Beta
from howsure.calibration.recalibration.histogram import Histogram
from howsure.calibration.recalibration.identity import Identity
from howsure.calibration.recalibration.isotonic import Isotonic
from howsure.calibration.recalibration.platt import Platt, Temperature
from howsure.calibration.recalibration.recalibrator import FORMAT, VERSION, Recalibrator
from howsure.calibration.recalibration.vector import Vector
from howsure.errors import InputError

# In order of complexity: of two that score the same, the simpler is taken.
METHODS: dict[str, type[Recalibrator]] = {
    c.method: c for c in (Identity, Temperature, Platt, Beta, Isotonic, Histogram, Vector)
}
FOR_TWO_CLASSES = ("temperature", "platt", "beta", "isotonic", "histogram")
FOR_MANY_CLASSES = ("temperature", "vector")


def candidates(method: str, n_classes: int) -> dict[str, Recalibrator]:
    """The methods to try: all that suit the number of classes, or the one asked for."""
    suited = FOR_TWO_CLASSES if n_classes == 2 else FOR_MANY_CLASSES
    if method == "auto":
        return {name: METHODS[name]() for name in suited}
    if method not in suited:
        if method in METHODS:
            raise InputError(
                f"method {method!r} is not for {n_classes} classes.{_validate.nearest(method, ('auto', *suited))}"
            )
        raise InputError(f"there is no method {method!r}.{_validate.nearest(method, ('auto', *suited))}")
    return {method: METHODS[method]()}


def from_dict(saved: Any, name: str = "this") -> Recalibrator:
    """The recalibrator that `Recalibrator.to_dict` made."""
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        raise InputError(f"{name} is not a saved recalibrator: make one with `howsure recalibrate fit`.")
    if saved.get("version") != VERSION:
        raise InputError(
            f"{name} is of version {saved.get('version')!r}, and this howsure reads version {VERSION}: fit it again."
        )
    if saved.get("method") not in METHODS:
        raise InputError(f"{name} holds an unknown method {saved.get('method')!r}; known: {', '.join(METHODS)}.")
    try:
        made = METHODS[saved["method"]](**saved["settings"])
        n_classes, fitted = int(saved["n_classes"]), dict(saved["fitted"])
        wanted = {name for name in type(made).__annotations__ if name.endswith("_")}
        if set(fitted) != wanted:
            raise ValueError(f"it should hold {', '.join(sorted(wanted)) or 'no numbers'}")
        made._restore(n_classes, fitted)
        if not np.isfinite(made.transform(np.full((1, n_classes), 1.0 / n_classes))).all():
            raise ValueError("its numbers are not finite")
    except (KeyError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
        raise InputError(f"{name} is a damaged recalibrator: {str(error).rstrip('.')}.") from None
    return made


def read_saved(path: str | Path) -> dict[str, Any]:
    """The plain data of a saved recalibrator."""
    try:
        made = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise InputError(f"{path} is not a saved recalibrator: it is not JSON.") from None
    return made if isinstance(made, dict) else {}


def load(path: str | Path) -> Recalibrator:
    """Read a saved recalibrator; opening one never runs code.

    >>> import tempfile, pathlib
    >>> fitted = Platt().fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "cal.json"
    ...     _ = path.write_text(fitted.to_json())
    ...     load(path).slope_ == fitted.slope_
    True
    """
    return from_dict(read_saved(path), str(path))
