"""Arrays in memory to a sketch, in chunks that fit the cache, on all cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from howsure import _validate
from howsure._validate import BadRow, Origin
from howsure.calibration.sketch import COMPILE_FROM, Sketch, SketchBuilder

CHUNK = 1 << 17


def cores() -> int:
    """Number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sketch_arrays(
    y_true: NDArray[Any],
    y_prob: NDArray[Any],
    sample_weight: NDArray[Any] | None = None,
    *,
    logits: bool = False,
    width: int | None = None,
    origin: Origin | None = None,
) -> Sketch:
    """Validate and sketch arrays of equal length. Extra memory is a few tables, whatever the number of rows."""
    origin = origin or Origin()
    n = len(y_prob)
    workers = cores() if n > COMPILE_FROM else 1
    step = CHUNK if n > COMPILE_FROM else max(n, 1)

    def work(first: int) -> Sketch | BadRow:
        builder = SketchBuilder(width)
        for a in range(first * step, n, workers * step):
            part = slice(a, a + step)
            here = replace(origin, first=origin.first + a)
            try:
                builder.add(
                    _validate.labels(y_true[part], here),
                    _validate.probabilities(y_prob[part], here, logits=logits),
                    None if sample_weight is None else _validate.weights(sample_weight[part], here),
                )
            except BadRow as bad:
                return bad
        return builder.finish()

    if workers == 1:
        return merged(iter([work(0)]))
    if n > COMPILE_FROM:
        from howsure.kernels import cells_compiled

        cells_compiled.compile_all()  # before the threads start: Numba compiles under a lock
    with ThreadPoolExecutor(workers) as pool:
        return merged(pool.map(work, range(workers)))


def merged(results: Iterator[Sketch | BadRow]) -> Sketch:
    """The sum of the parts, or the error of the first bad row among them."""
    parts, bad = [], []
    for result in results:
        if isinstance(result, BadRow):
            bad.append(result)
        else:
            parts.append(result)
    if bad:
        raise min(bad, key=lambda b: b.row)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total

