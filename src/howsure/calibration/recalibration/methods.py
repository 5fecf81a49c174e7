"""Which methods there are, and how a saved one is read back: JSON with a format and a version, never code."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from howsure import _validate
from howsure.calibration.recalibration.histogram import Histogram, HistogramPlatt
from howsure.calibration.recalibration.isotonic import Isotonic, IsotonicPlatt
from howsure.calibration.recalibration.platt import Beta, Identity, Platt, Temperature, Vector
from howsure.calibration.recalibration.recalibrator import FORMAT, VERSION, Recalibrator
from howsure.errors import InputError
from howsure.kernels.cells import Floats

# In order of complexity: of two that score the same, the simpler is taken.
METHODS: dict[str, type[Recalibrator]] = {
    c.method: c
    for c in (Identity, Temperature, Platt, Beta, IsotonicPlatt, HistogramPlatt, Isotonic, Histogram, Vector)
}
FOR_TWO_CLASSES = ("temperature", "platt", "beta", "isotonic-platt", "histogram-platt")
BY_NAME = ("isotonic", "histogram")  # as published: with frequencies of 0 and 1 they lose to their blends
FOR_MANY_CLASSES = ("temperature", "vector")
MOST_CLASSES = 100_000


def candidates(method: str, n_classes: int) -> dict[str, Recalibrator]:
    """The methods to try: all that suit the number of classes, or the one asked for."""
    suited = FOR_TWO_CLASSES if n_classes == 2 else FOR_MANY_CLASSES
    if method == "auto":
        return {name: METHODS[name]() for name in suited}
    suited = (*suited, *BY_NAME) if n_classes == 2 else suited
    if method not in suited:
        known = f"method {method!r} is not for {n_classes} classes"
        wrong = known if method in METHODS else f"there is no method {method!r}"
        raise InputError(f"{wrong}.{_validate.nearest(method, ('auto', *suited))}")
    return {method: METHODS[method]()}


def from_dict(saved: Any, name: str = "this") -> Recalibrator:
    """The recalibrator that `Recalibrator.to_dict` made."""
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        raise InputError(f"{name} is not a saved recalibrator: make one with `howsure.recalibrate`.")
    if saved.get("version") != VERSION:
        raise InputError(
            f"{name} is of version {saved.get('version')!r}, and this howsure reads version {VERSION}: fit it again."
        )
    if saved.get("method") not in METHODS:
        raise InputError(f"{name} holds an unknown method {saved.get('method')!r}; known: {', '.join(METHODS)}.")
    try:
        made = METHODS[_named(saved)](**saved["settings"])
        n_classes, fitted = int(saved["n_classes"]), dict(saved["fitted"])
        wanted = {name for name in type(made).__annotations__ if name.endswith("_")}
        if set(fitted) != wanted:
            raise ValueError(f"it should hold {', '.join(sorted(wanted)) or 'no numbers'}")
        made._restore(n_classes, fitted)
        if not 2 <= n_classes <= MOST_CLASSES:
            raise ValueError(f"it is for {n_classes:,} classes")
        q = made.transform(_grid(n_classes))
        if not (q >= 0.0).all() or not (q <= 1.0).all() or not np.allclose(q.sum(axis=1), 1.0, rtol=0.0, atol=1e-6):
            raise ValueError("it yields what is no probability")
    except (
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
        NotImplementedError,
        OverflowError,
        MemoryError,
    ) as error:
        raise InputError(f"{name} is a damaged recalibrator: {str(error).rstrip('.')}.") from None
    return made


def _named(saved: dict[str, Any]) -> str:
    """The method; the blends with Platt were once saved under the plain methods' names."""
    blends = {"isotonic": "slope_" in saved["fitted"], "histogram": "shifts_" in saved["fitted"]}
    method = str(saved["method"])
    return f"{method}-platt" if blends.get(method) else method


def _grid(n_classes: int) -> Floats:
    """Probabilities of all sizes to try a recalibrator on, shape (n, K)."""
    if n_classes == 2:
        small = np.concatenate([[0.0], np.logspace(-300, -3, 100)])
        q = np.concatenate([small, np.linspace(0.0, 1.0, 2001), 1.0 - small])
        return np.stack([1.0 - q, q], axis=1)
    even, corner = np.full(n_classes, 1.0 / n_classes), np.eye(min(n_classes, 100), n_classes)
    return np.concatenate([even[None], corner, (corner + even) / 2.0])


def read_saved(path: str | Path) -> dict[str, Any]:
    """The plain data of a saved recalibrator."""
    try:
        made = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise InputError(f"{path} is not a saved recalibrator: it is not JSON.") from None
    if not isinstance(made, dict):
        return {}
    inner = made.get("recalibrator")  # of a result that was saved whole
    return inner if isinstance(inner, dict) else made


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
