"""The result of `howsure.check`: one frozen object with every number, its words, and its pictures."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, overload

from howsure._result import Record, Result, drawn_by, plain, shown_as
from howsure.calibration.curves.bins import Bins
from howsure.calibration.estimation.bias import Region
from howsure.calibration.estimation.decompositions import ScoreParts
from howsure.calibration.estimation.discrimination import LabelDistribution
from howsure.calibration.estimation.estimate import Resolution
from howsure.calibration.estimation.intervals import Estimate
from howsure.calibration.estimation.perfection import PerfectionTest, benjamini_hochberg
from howsure.kernels.cells import Floats

if TYPE_CHECKING:
    from howsure.calibration.curves.smooth import Curve


@dataclass(frozen=True, slots=True)
class Bias(Record):
    """The direction of the error. `gap` is mean q less the base rate; `slope` below 1 means q is too extreme."""

    SHOWN = "*gap direction slope extremity regions"
    __repr__ = shown_as("{gap!r}, slope={slope!r}")

    gap: Estimate
    slope: Estimate | None
    regions: tuple[Region, ...]

    @property
    def direction(self) -> str | None:
        """ "too high" or "too low" on average, when the interval of the gap leaves out 0."""
        return self.gap.side(0.0, "too low", "too high")

    @property
    def extremity(self) -> str | None:
        """ "too extreme" or "too timid" (too near the base rate), when the interval of the slope leaves out 1."""
        return None if self.slope is None else self.slope.side(1.0, "too extreme", "too timid")


@dataclass(frozen=True, slots=True)
class Slice(Record):
    """One value of the `by` column: its own calibration, and the p-value adjusted for the number of slices."""

    SHOWN = """slice=name n=calibration.n base_rate=calibration.base_rate error=calibration.error
        bias=calibration.bias brier=calibration.brier.value p_value=calibration.p_value adjusted_p_value"""
    __repr__ = shown_as("{name!r}, {calibration!r}")

    name: str
    calibration: Calibration
    adjusted_p_value: float | None

    def row(self) -> dict[str, Any]:
        """A line of the tables of slices."""
        c = self.calibration
        return {"": self.name, "n": c.n, "RMS error": c.error, "ECE": c.ece and c.ece.value, "Brier": c.brier.value}


def worst_first(slices: Iterable[Slice]) -> tuple[Slice, ...]:
    """By the lower limit of the error, so that a slice is not blamed for being small; then the error, then the name."""

    return tuple(sorted(slices, key=lambda s: badness(s.name, s.calibration)))


def adjusted_slices(found: Sequence[tuple[str, Calibration]]) -> tuple[Slice, ...]:
    """Slices in the order given, their p-values adjusted for their number (Benjamini-Hochberg)."""
    adjusted = benjamini_hochberg([c.p_value for _, c in found])
    return tuple(Slice(name, c, p) for (name, c), p in zip(found, adjusted, strict=True))


def badness(name: str, c: Calibration) -> tuple[float, float, str]:
    """What `worst_first` orders by: limits that are shown alike are alike."""
    e = c.error
    return (0.0, 0.0, name) if e is None else (-round(e.low or 0.0, 4), -e.value, name)


@dataclass(frozen=True, slots=True)
class Calibration(Result):
    """How calibrated a model's probabilities are. Made by `howsure.check`."""

    SHOWN = """verdict n base_rate confidence_level error error_squared ece resolution max_error bias brier
        log_loss auc tests bins_rule=bins.rule bins positives negatives curve? n_groups? effective_groups?"""

    n: int
    base_rate: float
    bins: Bins
    error: Estimate | None  # RMS; None when fewer than two rows
    error_squared: Estimate | None
    ece: Estimate | None
    max_error: float
    bias: Bias
    brier: ScoreParts
    brier_interval: Estimate
    log_loss: ScoreParts
    auc: float | None
    positives: LabelDistribution
    negatives: LabelDistribution
    tests: tuple[PerfectionTest, ...]
    p_value: float | None = None  # of the combined test of perfect calibration, the first one
    resolution: Resolution | None = None  # of the bins behind the error; None when it is not estimated
    band: tuple[Floats, Floats] | None = None
    confidence_level: float = 0.95
    curve: Curve | None = None
    n_groups: int | None = None
    effective_groups: float | None = None  # groups of equal size that would say as much
    by: str | None = None
    slices: Sequence[Slice] = ()  # a tuple unless there are very many
    notes: tuple[str, ...] = ()
    source: str = field(default="", compare=False)
    of_predicted: bool = False  # q is the probability of the predicted class, y whether it is right
    # Makes the fields that are not there yet.
    later: Callable[[], Calibration] | None = field(default=None, compare=False)

    @classmethod
    def begun(cls, later: Callable[[], Calibration] | None, known: Mapping[str, Any]) -> Calibration:
        """One of which only `known` fields are there. The first of the others that is asked for makes them all."""
        made = object.__new__(cls)
        for name, value in known.items():
            object.__setattr__(made, name, value)
        object.__setattr__(made, "later", later)
        return made

    def __getattr__(self, name: str) -> Any:
        if name == "later" or name not in self.__slots__:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        assert self.later is not None
        whole = self.later()
        for part in self.__slots__:
            object.__setattr__(self, part, getattr(whole, part))
        return getattr(self, name)

    def __reduce__(self) -> tuple[Any, ...]:
        known: dict[str, Any] = {}
        for name in self.__slots__:
            with suppress(AttributeError):  # those that are there
                known[name] = object.__getattribute__(self, name)
        return Calibration.begun, (known.pop("later"), known)

    def __repr__(self) -> str:
        error = "error not estimated" if self.error is None else f"error={self.error!r}"
        p = "" if self.p_value is None else f", p={self.p_value:.3g}"
        return f"Calibration({error}{p}, n={self.n:,})"

    @property
    def confidence(self) -> str | None:
        """ "overconfident" or "underconfident": the confidence in what is predicted is clearly above, or below, accuracy.

        None where neither is clear, and of probabilities that are not those of a predicted class.
        """
        words = {"too high": "overconfident", "too low": "underconfident"}
        return words.get(self.bias.direction or "") if self.of_predicted else None

    @property
    def verdict(self) -> str:
        from howsure.calibration.verdict import verdict

        return verdict(self)

    def to_dict(self) -> dict[str, Any]:
        made = Result.to_dict(self)
        for name in ("error", "error_squared", "ece"):
            made[name] = made[name] or {"value": None, "low": None, "high": None}
        made["brier"] |= {"low": self.brier_interval.low, "high": self.brier_interval.high}
        if self.band is not None:
            for record, low, high in zip(made["bins"], *(side.tolist() for side in self.band), strict=True):
                record["band_low"], record["band_high"] = low, high
        if self.of_predicted:
            made["bias"]["confidence"] = self.confidence
        if self.by is not None:
            made |= {"by": self.by, "slices": plain(self.slices)}
        return made | {"notes": list(self.notes)}

    def table(self) -> list[dict[str, Any]]:
        """All rows, then each slice."""
        return [s.row() for s in (Slice("all", self, None), *self.slices)]

    def headline(self) -> dict[str, str]:
        """Rows, errors and Brier score."""
        errors = {"RMS error": repr(self.error), "ECE": repr(self.ece)}
        return {"rows": f"{self.n:,}", **errors, "Brier score": f"{self.brier.value:.4f}"}

    plot = drawn_by("howsure.plots.curves.draw_curve", Result.plot)
    figure = drawn_by("howsure.plots.curves.figure")
    to_text = drawn_by("howsure.report.text.calibration.calibration_text")
    to_html = drawn_by("howsure.report.pages.calibration_page")
    explanation = drawn_by("howsure.report.text.calibration.explanation")


def _of_main(name: str) -> Callable[..., Any]:
    """The method of that name of the main calibration."""

    @wraps(getattr(Result, name))
    def method(self: Composite, *args: Any, **options: Any) -> Any:
        return getattr(self.main, name)(*args, **options)

    return method


class Composite(Result):
    """A result that contains several calibrations; the one that `MAIN` names is the one that is drawn."""

    __slots__ = ()
    MAIN: ClassVar[str] = "top"

    @property
    def main(self) -> Any:
        """The calibration that is drawn."""
        return getattr(self, self.MAIN)

    @property
    def error(self) -> Estimate | None:
        """The RMS error of the main calibration."""
        return self.main.error

    def to_html(self) -> bytes:
        """The main calibration's page, under this verdict."""
        return self.main.to_html(self.verdict)

    plot = _of_main("plot")
    figure = _of_main("figure")
    table = _of_main("table")
    headline = _of_main("headline")


MANY = 1_000  # slices; below, they are kept as they are


@dataclass(frozen=True, slots=True)
class FoundSlice:
    """A slice's result, packed, and what the slices are ordered and adjusted by."""

    name: str
    p_value: float | None
    place: tuple[float, float, str]
    packed: bytes

    @staticmethod
    def of(name: str, c: Calibration) -> FoundSlice:
        """Pack a result. It is unpacked by this program alone, from memory or from its own workers."""
        return FoundSlice(name, c.p_value, badness(name, c), zlib.compress(pickle.dumps(c, 5), 1))

    @property
    def calibration(self) -> Calibration:
        """Unpacked."""
        return pickle.loads(zlib.decompress(self.packed))


class PackedSlices(Sequence[Slice]):
    """Slices, made when they are asked for."""

    def __init__(self, found: Sequence[FoundSlice], adjusted: Sequence[float | None]) -> None:
        self._found, self._adjusted = found, adjusted

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, at: int) -> Slice: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Slice, ...]: ...
    def __getitem__(self, at: int | slice) -> Slice | tuple[Slice, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        found = self._found[at]
        return Slice(found.name, found.calibration, self._adjusted[at])

    def __repr__(self) -> str:
        return f"PackedSlices({len(self):,})"


def slice_table(found: Sequence[FoundSlice]) -> Sequence[Slice]:
    """The slices with adjusted p-values, worst first."""
    ordered = sorted(found, key=lambda f: f.place)
    adjusted = benjamini_hochberg([f.p_value for f in ordered])
    slices = PackedSlices(ordered, adjusted)
    return slices if len(slices) > MANY else tuple(slices)
