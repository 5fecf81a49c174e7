"""Many slices, each packed until it is asked for: a hundred thousand results are too many to hold as objects."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from howsure.calibration.multiplicity import benjamini_hochberg
from howsure.calibration.result import Calibration, Slice, badness

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
        made: Calibration = pickle.loads(zlib.decompress(self.packed))
        return made


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
