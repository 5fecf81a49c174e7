"""Jobs of Spark from threads of their own: this thread stays free to hear Ctrl-C, which cancels them.

A call into the JVM that Ctrl-C interrupts leaves its connection broken and its job running. So no job is waited for
in the main thread.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar

from howsure.engines.spark.errors import explained

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


class Jobs:
    """Runs functions that run jobs of Spark, `at_once` of them at a time; what is left at the end is cancelled.

    Errors of Spark come as one line (`explained`), other errors as they are.
    """

    def __init__(self, spark: SparkSession, at_once: int = 1) -> None:
        self.context = spark.sparkContext
        self.tag = f"howsure-{uuid.uuid4().hex}"
        self.threads = ThreadPoolExecutor(at_once, thread_name_prefix="howsure-spark")
        self.running: set[Future[Any]] = set()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """The work's result, later."""
        made = self.threads.submit(self._run, work)
        self.running.add(made)
        made.add_done_callback(self.running.discard)
        return made

    def result(self, work: Callable[[], T]) -> T:
        """The work's result, waited for."""
        return self.submit(work).result()

    def _run(self, work: Callable[[], T]) -> T:
        self.context.addJobTag(self.tag)  # of this thread
        try:
            return work()
        except Exception as error:
            if type(error).__module__.partition(".")[0] in ("pyspark", "py4j"):
                raise explained(error) from None
            raise

    def close(self) -> None:
        """Cancels what runs, drops what waits."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        while self.running:
            if self.context._jsc is not None:
                self.context.cancelJobsWithTag(self.tag)
            wait(set(self.running), timeout=0.2)  # a thread may be about to start a job: cancelled in the next round
        self.threads.shutdown(wait=True)

    def __enter__(self) -> Jobs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def in_thread(work: Callable[[], T], undo: Callable[[T], Any]) -> T:
    """The result of work that no signal shall tear apart; where the wait for it is, `undo` takes care of it later."""
    made: Future[T] = Future()

    def run() -> None:
        try:
            made.set_result(work())
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=run, name="howsure-spark-start", daemon=True).start()
    try:
        return made.result()
    except KeyboardInterrupt:
        made.add_done_callback(lambda f: None if f.exception() else undo(f.result()))
        raise
