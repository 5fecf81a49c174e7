"""Slices analysed, many of them in processes of their own. These import this module: nothing here may load what reads tables."""

import base64
import os
import pickle
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.calibration.analysis import analyse_rows, analyse_slices
from howsure.calibration.result import FoundSlice
from howsure.calibration.sketch import Sketch
from howsure.kernels.cells import Floats, Ints
from howsure.processes import Here, Pool, Progress

MANY_SLICES = 200  # from which on processes share them
BLOCK, ENTRIES = 64, 10_000  # slices analysed together, fewer where that many entries are reached
STAYS_FROM = 200_000  # entries of a block that this process analyses itself: on its way to another one it would be there several times
LOST = "a process that analysed slices ended too early: most likely the memory ran out."

GroupedRows = tuple[NDArray[np.uint8], Floats, NDArray[np.uint64], Ints | None]  # y, q, groups and weight
Named = tuple[str, Sketch | GroupedRows]


class Analysis:
    """Analyses slices: many of them in `jobs` processes, and says how many are done. Close it."""

    def __init__(self, bins: int | str | None, level: float, jobs: int = 1, progress: Progress | None = None) -> None:
        self._how, self._jobs, self._progress = (bins, level), jobs, progress
        self._lock = threading.Lock()
        self._pool: Pool | None = None
        self._done = self._total = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Analysis, self._how  # in a process that is one of many

    def found(self, named: Iterator[Named], n: int) -> list[FoundSlice]:
        """Of `n` slices, a block at a time: what is computed from sketches stays with them. Threads may ask side by side."""
        with self._lock:
            self._total += n
            can_start = os.access(sys.executable or "", os.X_OK)  # not where Python is embedded
            if n >= MANY_SLICES and self._jobs > 1 and can_start and self._pool is None:
                self._pool = Pool(f"{__name__}:analyser", self._how, self._jobs, packed=_packed, lost=LOST)
        here = Here(partial(_analysed, *self._how))
        runner = self._pool or here
        made: list[FoundSlice] = []
        waiting: deque[Future[Any]] = deque()
        for block in chain(_blocks(named), repeat(None, runner.in_flight)):  # in the end only what is waited for
            if block is not None:
                stays = sum(map(_entries, block)) >= STAYS_FROM
                waiting.append((here if stays else runner).submit(block))
            if waiting and (block is None or len(waiting) > runner.in_flight):
                got = waiting.popleft().result()
                found = _unpacked(got) if isinstance(got, str) else got
                made.extend(found)
                with self._lock:
                    for _ in found:
                        self._done += 1
                        if self._progress is not None and self._total >= MANY_SLICES:
                            self._progress(self._done, self._total)
        return made

    def close(self) -> None:
        """Ends the processes."""
        if self._pool is not None:
            self._pool.close()


def _blocks(named: Iterator[Named]) -> Iterator[list[Named]]:
    """Slices to be analysed together; one with many entries ends its block."""
    block: list[Named] = []
    entries = 0
    for one in named:
        block.append(one)
        entries += _entries(one)
        if len(block) == BLOCK or entries >= ENTRIES:
            yield block
            block, entries = [], 0
    if block:
        yield block


def _entries(named: Named) -> int:
    _, rows = named
    return len(rows.keys) if isinstance(rows, Sketch) else len(rows[0])


def _analysed(bins: int | str | None, level: float, block: list[Named]) -> list[FoundSlice]:
    made = iter(analyse_slices([rows for _, rows in block if isinstance(rows, Sketch)], bins, level))
    return [
        FoundSlice.of(
            name, next(made) if isinstance(rows, Sketch) else analyse_rows(*rows[:3], level, bins, rows[3])[0]
        )
        for name, rows in block
    ]


def analyser(how: list[Any]) -> Callable[[str], str]:
    """What a worker of `Analysis` does with a task."""
    bins, level = how
    return lambda task: _packed(_analysed(bins, level, _unpacked(task)))


def _packed(made: Any) -> str:
    """For a process of this program or back from it; nothing else is ever unpacked."""
    return base64.b64encode(pickle.dumps(made, 5)).decode()


def _unpacked(made: str) -> Any:
    return pickle.loads(base64.b64decode(made))
