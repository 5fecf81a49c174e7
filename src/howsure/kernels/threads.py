"""How many cores and how much memory there are, and sentences divided among threads: compiled kernels run without the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def cores() -> int:
    """Number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_size() -> int | None:
    """Bytes of the machine's memory; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def portions(starts: NDArray[np.int64], tokens: int) -> list[tuple[int, int]]:
    """Runs of sentences (first, after) of about `tokens` tokens each, at least one sentence."""
    n = len(starts) - 1
    made, first = [], 0
    while first < n:
        after = max(first + 1, int(starts.searchsorted(starts[first] + tokens, side="right")) - 1)
        made.append((first, after))
        first = after
    return made


def for_each(work: Callable[[int, int], None], starts: NDArray[np.int64]) -> None:
    """Call `work(first, after)` on runs of sentences that together are all of them, on all cores."""
    threads, total = cores(), int(starts[-1])
    if threads == 1 or total < 2_000:
        work(0, len(starts) - 1)
        return
    from concurrent.futures import ThreadPoolExecutor

    left = iter(portions(starts, max(1_000, total // (4 * threads))))

    def run() -> None:
        for first, after in left:  # whichever thread is free takes the next
            work(first, after)

    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(run) for _ in range(threads - 1)]
        run()
    for other in others:
        other.result()  # raises what was raised there
