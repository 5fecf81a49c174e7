"""Jobs of Spark from threads of their own: this thread stays free to hear Ctrl-C, which cancels them.

A call into the JVM that Ctrl-C interrupts leaves its connection broken and its job running. So no job is waited for
in the main thread.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import IO, TYPE_CHECKING, Any, TypeVar

from howsure._validate import BadRow
from howsure.errors import HowsureError, InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

# A message may have several lines; Java's frames follow it, or its SQLSTATE, or nothing.
_END = r"(?=\s*SQLSTATE: |\n\s*at |\n\n|\Z)"
_OURS = re.compile(
    rf"^\s*howsure\.(?:errors|_validate)\.(InputError|HowsureError|MissingExtra|BadRow): (.+?){_END}",
    re.MULTILINE | re.DOTALL,
)
_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_RAISED = re.compile(rf"^((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b(?:: .+?)?){_END}", re.MULTILINE | re.DOTALL)
_GAVE_UP = re.compile(r"failed (\d+) times?, most recent failure: (?:Lost task [\d.]+ in stage [\d.]+ )?(.+)")
_LONGEST = 300  # characters


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


# -- what went wrong in Spark, in one line ------------------------------------------------------------------------------


def explained(error: BaseException) -> InputError:
    """One line about an exception of PySpark or Py4J.

    An error of howsure's own that a worker raised comes back with its message, as if raised here.
    """
    if isinstance(error, HowsureError):
        return error if isinstance(error, InputError) else InputError(str(error))
    text = str(error)
    if found := _OURS.findall(text):
        name, said = found[-1]
        return BadRow(" ".join(said.split()), 0) if name == "BadRow" else InputError(" ".join(said.split()))
    if found := _MODULE.findall(text):
        name = found[-1].partition(".")[0]
        return InputError(f"the Python of Spark's executors has no {name}; install howsure there as here.")
    if "PYTHON_VERSION_MISMATCH" in text:
        return InputError("Spark's executors run another version of Python; set PYSPARK_PYTHON to the same one.")
    if "exited unexpectedly" in text or "ExecutorLostFailure" in text:
        match = _GAVE_UP.search(text)
        times = f" {match[1]} times" if match else ""
        lost = "an executor was lost" if "ExecutorLostFailure" in text else "a Python worker ended"
        return InputError(f"Spark gave up: {lost}{times} while it worked on the same task (out of memory?).")
    if "Py4JNetworkError" in (type(error).__name__, *[c.__name__ for c in type(error).__mro__]):
        return InputError("Spark's JVM has ended (out of memory?).")
    if "An exception was thrown from the Python worker" in text and (found := _RAISED.findall(text)):
        return InputError(f"a task failed on Spark: {_short(found[-1])}.")
    if match := _GAVE_UP.search(text):
        return InputError(f"a task failed on Spark {match[1]} times: {_short(match[2])}.")
    return InputError(f"Spark failed: {_short(_cause(text) or type(error).__name__)}.")


def log_reason(log: IO[bytes]) -> str:
    """The last complaint in what Spark's JVM said, in brackets; empty if there is none."""
    log.seek(0)
    lines = log.read()[-20_000:].decode("utf-8", "replace").splitlines()
    found = [line for line in lines if re.search(r"ERROR|Exception|Error:|[Uu]nrecognized", line)]
    return f"({_short(found[-1])})" if found else ""


def _cause(text: str) -> str:
    """What a Java exception says, without its class where more follows."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    first = lines[0]
    if first.startswith("An error occurred while calling") and len(lines) > 1:
        first = lines[1].removeprefix(": ")
    return re.sub(r"^(?:[a-z]\w*\.)+[A-Z]\w*: ", "", first)


def _short(line: str) -> str:
    line = re.sub(r"\s*SQLSTATE: \w+", "", " ".join(line.split())).rstrip(" .;")
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
