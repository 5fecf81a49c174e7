"""Where the blocks of a corpus are done (here, in processes, on Spark), and the loop that keeps that place busy."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from howsure import _validate
from howsure.engines.spark_session import check_spark
from howsure.errors import InputError
from howsure.events.storage import has_part
from howsure.verbs.explore_blocks import Work
from howsure.verbs.explore_census import BLOCK, Census, blocks
from howsure.verbs.explore_corpus import Corpus
from howsure.verbs.explore_spark import OnSpark
from howsure.verbs.explore_workers import Here, Seconds, Workers

ENGINES = ("local", "spark")
FEW = 4  # blocks that are done before another process is up
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Place:
    """What is to be done, and where."""

    folder: Path
    work: Work
    workers: int | None
    on_spark: bool
    master: str | None
    manifest: dict[str, Any]
    parses: bool

    def runner(self, n_missing: int) -> Here | Workers | OnSpark:
        """Who does so many blocks."""
        if self.on_spark and n_missing:
            return OnSpark(self.folder, self.work, self.master, self.manifest, self.parses)
        n = self.workers or (1 if n_missing <= FEW else _cores())
        return Here(self.folder, self.work) if n == 1 else Workers(self.folder, self.work, n)


def check_engine(engine: str | None, master: str | None, workers: int | None) -> bool:
    """Whether the work goes to Spark."""
    if engine not in (None, *ENGINES):
        raise InputError(f"--engine: there is no engine `{engine}` here.{_validate.nearest(str(engine), ENGINES)}")
    if engine != "spark":
        if master is not None:
            raise InputError("--master goes with --engine spark.")
        return False
    if workers is not None:
        raise InputError("--workers is for the processes of this machine; with Spark, --master says how many.")
    check_spark(master)
    return True


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_blocks(place: Place, corpus: Corpus, found: Census, progress: Progress | None) -> dict[str, float]:
    """Does the blocks that are not there yet; returns where the time went."""
    began = time.perf_counter()
    missing = {i for i, name in enumerate(found.parts) if not has_part(place.folder, name)}
    runner = place.runner(len(missing))
    spent: dict[str, float] = {"parsing": 0.0, "resolving": 0.0, "asking": 0.0}
    flying: dict[Future[Seconds], int] = {}
    done = found.n - sum(min(BLOCK, found.n - BLOCK * i) for i in missing)

    kept = done

    def landed(until: int) -> int:
        count = 0
        while len(flying) > until:
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                count += flying.pop(future)
                for key, value in future.result().items():
                    spent[key] += value
        return count

    try:
        if progress is not None:
            progress(done, found.n)
        for i, block in enumerate(blocks(corpus)):
            if i not in missing:
                continue
            flying[runner.submit(found.parts[i], block)] = len(block)
            done += landed(runner.in_flight)
            if progress is not None:
                progress(done, found.n)
        runner.flush()
        done += landed(0)
        if progress is not None:
            progress(done, found.n)
    finally:
        runner.close()
    return spent | {"total": time.perf_counter() - began, "documents": float(done - kept)}
