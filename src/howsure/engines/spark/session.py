"""One place that finds or makes a Spark session, keeps it quiet, and says in one line what went wrong in it."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any, TypeVar

from howsure._validate import BadRow
from howsure.errors import HowsureError, InputError, MissingExtra
from howsure.kernels.threads import memory_size

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OLDEST_JAVA = 17
ATTEMPTS = 4  # of a task; a local master makes one by default
LOCAL = "local[*]"
REACHED_WITHIN = 10.0  # seconds, for the master of a standalone cluster
# A task has a core.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
UNLESS_SET = {"spark.app.name": "howsure", "spark.sql.execution.arrow.pyspark.enabled": "true"}
UNLESS_SET |= {"spark.ui.showConsoleProgress": "false"} | {f"spark.executorEnv.{name}": "1" for name in ONE_THREAD}
HERE = {"spark.ui.enabled": "false"} | dict.fromkeys(("spark.driver.bindAddress", "spark.driver.host"), "127.0.0.1")
PANDAS = "PySpark does not yet fully support pandas"  # said of any pandas 3, used or not
_silencing = threading.Lock()
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


@contextmanager
def session(master: str | None = None) -> Iterator[SparkSession]:
    """The session that is there, or one made here and stopped at the end.

    A session that is there is taken as it is; a `master` that is not its own is an error. One that is made runs on
    `master`, by default on all cores of this machine. Settings of `spark-defaults.conf` and `PYSPARK_SUBMIT_ARGS`
    hold; ours fill in what they leave open. What Spark itself says goes to a temporary file, never to the terminal.
    """
    wanted = check_spark(master)
    from pyspark import SparkContext

    running = SparkContext._active_spark_context
    if running is not None:
        if wanted is not None and _plain(wanted) != _plain(str(running.master)):
            raise InputError(
                f"`master='{master}'`: a Spark session with the master {running.master} is running already."
            )
        yield _wrapped(running)
        return
    # Made in another thread, where Spark leaves the handler of Ctrl-C alone: its own breaks the call that it interrupts.
    context = in_thread(lambda: _started(wanted or checked_master(LOCAL)), lambda late: late.stop())
    try:
        yield _wrapped(context)
    finally:
        context.stop()


def map_in_arrow(frame: DataFrame, function: Callable[[Iterator[Any]], Iterator[Any]], schema: str) -> DataFrame:
    """`frame.mapInArrow(function, schema)`, without the warning about a pandas that is not used."""
    with quiet():
        return frame.mapInArrow(partial(_on_worker, function), schema)


def _on_worker(function: Callable[[Iterator[Any]], Iterator[Any]], batches: Iterator[Any]) -> Iterator[Any]:
    """The function, on an executor. Its Python collects garbage after each task: not among all that was imported."""
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()
        atexit.register(gc.unfreeze)  # what is left at the end is told as a leak
    return function(batches)


@contextmanager
def quiet() -> Iterator[None]:
    """Without Spark's warning about pandas 3; one thread at a time, because filters of warnings are global."""
    with _silencing, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=PANDAS, category=FutureWarning)
        yield


def checked_master(master: str) -> str:
    """The master as Spark takes it. A local one gets attempts: a lost worker means that a task is done again.

    >>> checked_master("local[2]"), checked_master("local"), checked_master("yarn")
    ('local[2,4]', 'local[1,4]', 'yarn')
    """
    given = master.strip()
    if match := re.fullmatch(r"local(?:\[\s*(\*|\d+)\s*(?:,\s*(\d+)\s*)?\])?", given):
        cores, attempts = match[1] or "1", match[2] or str(ATTEMPTS)
        if cores == "0" or attempts == "0":
            raise InputError(f"`master='{master}'`: there must be a core and an attempt, at least.")
        return f"local[{cores},{attempts}]"
    if re.fullmatch(r"(?:spark|k8s)://\S+|yarn|local-cluster\[.*\]", given):
        return given
    if given.startswith("sc://"):
        raise InputError("`master=`: Spark Connect (sc://) is not supported; name the master of the cluster itself.")
    raise InputError(f"`master=` must be local[2], local[*], spark://host:port, yarn or k8s://…; got {master!r}.")


def _plain(master: str) -> str:
    """Without the attempts, which do not change where the work runs."""
    match = re.fullmatch(r"local\[([^,\]]+)(?:,.*)?\]", master.replace(" ", ""))
    return f"local[{match[1]}]" if match else master


def java_version() -> tuple[str, int]:
    """The Java that Spark would run, and its major version; an error that says what was found if it will not do."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    if shutil.which(java) is None:
        where = f"JAVA_HOME ({home}) holds no bin/java" if home else "there is no `java` on the PATH"
        raise InputError(f"Spark needs Java {OLDEST_JAVA} or later, and {where}.")
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"Spark needs Java {OLDEST_JAVA} or later, and `{java} -version` fails: {error}.") from None
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    if match is None:
        raise InputError(f"Spark needs Java {OLDEST_JAVA} or later, and `{java} -version` names no version.")
    if int(match[1]) < OLDEST_JAVA:
        raise InputError(f"Spark needs Java {OLDEST_JAVA} or later; {shutil.which(java)} is Java {match[1]}.")
    return java, int(match[1])


def check_spark(master: str | None) -> str | None:
    """Complains, before any work, about what can be known without starting Spark; returns the master as Spark takes it."""
    for package in ("pyspark", "pandas"):  # mapInArrow asks for pandas, and never calls it
        try:
            __import__(package)
        except ImportError:
            raise MissingExtra(f"`engine='spark'` needs {package}: pip install 'howsure[spark]'.") from None
    wanted = None if master is None else checked_master(master)
    from pyspark import SparkContext

    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:  # spark-submit starts us from a JVM
        java_version()
    return wanted


def _wrapped(context: Any) -> SparkSession:
    with quiet():
        from pyspark.sql import SparkSession

        return SparkSession(context)


def _started(master: str) -> Any:
    from pyspark import SparkContext

    logging.getLogger("py4j").addHandler(logging.NullHandler())  # a broken connection raises its own exception
    _check_reachable(master)
    with tempfile.TemporaryFile(prefix="howsure-spark-") as log:  # the JVM has a handle of its own
        if SparkContext._gateway is None:
            _launch(master, log)
        return _context(master, log)


def _context(master: str, log: IO[bytes]) -> Any:
    from pyspark import SparkConf, SparkContext

    is_local = master.startswith("local[")
    try:
        with quiet():
            conf = SparkConf().set("spark.master", master)
            for name, value in (UNLESS_SET | HERE if is_local else UNLESS_SET).items():
                conf.setIfMissing(name, value)
            if is_local:
                conf.set("spark.executorEnv.PYTHONPATH", os.pathsep.join(p for p in sys.path if p))
            context = SparkContext(conf=conf)
    except Exception as error:
        raise InputError(f"no Spark session on {master}: {explained(error)} {log_reason(log)}".rstrip()) from None
    if is_local:
        context.pythonExec = sys.executable
    context.setLogLevel("ERROR")
    return context


def _launch(master: str, log: IO[bytes]) -> None:
    """Starts Spark's JVM, which speaks to `log`."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False)
    if master.startswith("local["):  # its JVM does all, and only one that has not started can be given memory
        quarter = (memory_size() or 1 << 33) >> 32
        conf.set("spark.driver.memory", f"{min(max(quarter, 1), 4)}g")
    try:
        gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
    except Exception as error:
        raise InputError(f"Spark does not start: {explained(error)} {log_reason(log)}".rstrip()) from None
    SparkContext._ensure_initialized(gateway=gateway)


def _check_reachable(master: str) -> None:
    """Spark itself takes a minute to say that there is nobody."""
    if not master.startswith("spark://"):
        return
    why = ""
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise InputError(f"`master=` must be spark://host:port; got {master}.")
        try:
            socket.create_connection((host.strip("[]"), int(port)), REACHED_WITHIN).close()
            return
        except OSError as error:
            why = error.strerror or str(error)
    raise InputError(f"`master='{master}'` cannot be reached: {why}.")


# Jobs of Spark from threads of their own: this thread stays free to hear Ctrl-C, which cancels them.
#
# A call into the JVM that Ctrl-C interrupts leaves its connection broken and its job running. So no job is waited for
# in the main thread.


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
