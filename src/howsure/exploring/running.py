"""Runs the blocks of a corpus: in this process, in worker processes, or on Spark."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from howsure import _validate
from howsure.corpora.dated import DatedText
from howsure.engines.spark.session import check_spark
from howsure.errors import InputError
from howsure.events.storage import has_part, write_part
from howsure.exploring.blocks import Seconds, Work, block_rows, packed, unpacked
from howsure.exploring.corpus import BLOCK, Census, Corpus, blocks
from howsure.exploring.spark import OnSpark
from howsure.kernels.threads import cores
from howsure.processes import Here, Pool, Progress

ENGINES = ("local", "spark")
FEW = 4  # blocks that are done before another process is up
LOST = (
    "a process ended before its work was done (out of memory?). Run the same command again: it goes on "
    "where it stopped; fewer --workers may help."
)


@dataclass(frozen=True, slots=True)
class Place:
    """What to do with each block, where to write its part, and which engine runs it."""

    folder: Path
    work: Work
    workers: int | None
    on_spark: bool
    master: str | None
    manifest: dict[str, Any]
    parses: bool

    def runner(self, n_missing: int) -> Here | Pool | OnSpark:
        """What does the blocks that are missing."""
        if self.on_spark and n_missing:
            return OnSpark(self.folder, self.work, self.master, self.manifest, self.parses)
        n = self.workers or (1 if n_missing <= FEW else cores())
        if n == 1:
            return Here(lambda block: write_block(self.folder, self.work, *block))
        setup = {"folder": str(self.folder), "work": self.work.to_dict()}
        return Pool("howsure.exploring.running:block_writer", setup, n, packed=_packed_block, lost=LOST)


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


def write_block(folder: Path, work: Work, name: str, texts: list[DatedText]) -> Seconds:
    """Writes the part of one block; returns where the time went."""
    block = block_rows(texts, work)
    write_part(folder, name, block.rows)
    return block.seconds


def block_writer(setup: dict[str, Any]) -> Callable[[dict[str, Any]], Seconds]:
    """What a worker process does with a block."""
    folder, work = Path(setup["folder"]), Work.from_dict(setup["work"])
    return lambda task: write_block(folder, work, task["name"], [unpacked(t) for t in task["texts"]])


def _packed_block(block: tuple[str, list[DatedText]]) -> dict[str, Any]:
    return {"name": block[0], "texts": [packed(t) for t in block[1]]}


def run_blocks(place: Place, corpus: Corpus, found: Census, progress: Progress | None) -> dict[str, float]:
    """Does the blocks whose parts are missing; returns where the time went."""
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
            flying[runner.submit((found.parts[i], block))] = len(block)
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
