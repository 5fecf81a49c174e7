"""Arrays in memory to a sketch, in chunks that fit the cache, on all cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from howsure._validate import BadRow, Origin
from howsure.calibration.sketch import Sketch, SketchBuilder, compile_from, is_outgrown

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

    def add(builder: SketchBuilder, first: int, after: int) -> None:
        part = slice(first, after)
        weight = None if sample_weight is None else sample_weight[part]
        here = replace(origin, first=origin.first + first)
        builder.add(y_true[part], y_prob[part], weight, here, logits=logits)

    if n <= compile_from():
        builder = SketchBuilder(width)
        add(builder, 0, n)
        return builder.finish()
    workers = cores()
    collapsed = sample_weight is None and is_outgrown(y_true[:CHUNK], y_prob[:CHUNK], origin, logits=logits)

    def work(number: int) -> Sketch | BadRow:
        builder = SketchBuilder(width, collapsed=collapsed)
        for a in range(number * CHUNK, n, workers * CHUNK):
            try:
                add(builder, a, min(a + CHUNK, n))
            except BadRow as bad:
                return bad
        return builder.finish()

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
