"""One place that finds or makes a Spark session, keeps it quiet, and says in one line what went wrong in it."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from howsure.engines.spark.jobs import explained, in_thread, log_reason
from howsure.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OLDEST_JAVA = 17
ATTEMPTS = 4  # of a task; a local master makes one unless told otherwise
LOCAL = "local[*]"
LOOPBACK = "127.0.0.1"
REACHED_WITHIN = 10.0  # seconds, for the master of a standalone cluster
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PANDAS = "PySpark does not yet fully support pandas"  # said of any pandas 3, used or not
_silencing = threading.Lock()


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
            raise InputError(f"--master {master}: a Spark session with the master {running.master} is running already.")
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
        return frame.mapInArrow(function, schema)


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
            raise InputError(f"--master {master}: there must be a core and an attempt, at least.")
        return f"local[{cores},{attempts}]"
    if re.fullmatch(r"(?:spark|k8s)://\S+|yarn|local-cluster\[.*\]", given):
        return given
    if given.startswith("sc://"):
        raise InputError("--master: Spark Connect (sc://) is not supported; name the master of the cluster itself.")
    raise InputError(f"--master must be local[2], local[*], spark://host:port, yarn or k8s://…; got {master!r}.")


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
    """Complains, before any work, about what can be told without starting Spark; returns the master as Spark takes it."""
    for package in ("pyspark", "pandas"):  # mapInArrow asks for pandas, and never calls it
        try:
            __import__(package)
        except ImportError:
            raise MissingExtra(f"--engine spark needs {package}: pip install 'howsure[spark]'.") from None
    wanted = None if master is None else checked_master(master)
    from pyspark import SparkContext

    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:  # spark-submit starts us from a JVM
        java_version()
    return wanted


def _wrapped(context: Any) -> SparkSession:
    with quiet():
        from pyspark.sql import SparkSession

        return SparkSession(context)


def _settings(master: str) -> tuple[dict[str, str], dict[str, str]]:
    """What must be so, and what is so unless it is set."""
    must = {"spark.master": master}
    open_ = {
        "spark.app.name": "howsure",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.ui.showConsoleProgress": "false",
    }
    open_ |= {f"spark.executorEnv.{name}": "1" for name in ONE_THREAD}  # a task has a core
    if master.startswith("local["):
        must["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        open_ |= {
            "spark.ui.enabled": "false",
            "spark.driver.bindAddress": LOOPBACK,
            "spark.driver.host": LOOPBACK,
        }
    return must, open_


def _driver_memory() -> str:
    """For a local master, whose JVM does all: a quarter of the machine's, 1 to 4 GB."""
    try:
        gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError, AttributeError):
        gigabytes = 8.0
    return f"{min(max(int(gigabytes / 4), 1), 4)}g"


def _started(master: str) -> Any:
    from pyspark import SparkContext

    logging.getLogger("py4j").addHandler(logging.NullHandler())  # a broken connection is told by its exception
    _check_reachable(master)
    with tempfile.TemporaryFile(prefix="howsure-spark-") as log:  # the JVM has a handle of its own
        if SparkContext._gateway is None:
            _launch(master, log)
        return _context(master, log)


def _context(master: str, log: IO[bytes]) -> Any:
    from pyspark import SparkConf, SparkContext

    must, open_ = _settings(master)
    try:
        with quiet():
            conf = SparkConf()
            for name, value in open_.items():
                conf.setIfMissing(name, value)
            for name, value in must.items():
                conf.set(name, value)
            context = SparkContext(conf=conf)
    except Exception as error:
        raise InputError(f"no Spark session on {master}: {explained(error)} {log_reason(log)}".rstrip()) from None
    if master.startswith("local["):
        context.pythonExec = sys.executable
    context.setLogLevel("ERROR")
    return context


def _launch(master: str, log: IO[bytes]) -> None:
    """Starts Spark's JVM, which speaks to `log`."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    conf = SparkConf(loadDefaults=False)
    if master.startswith("local["):  # only a JVM that has not started can be given memory
        conf.set("spark.driver.memory", _driver_memory())
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
            raise InputError(f"--master must be spark://host:port; got {master}.")
        try:
            socket.create_connection((host.strip("[]"), int(port)), REACHED_WITHIN).close()
            return
        except OSError as error:
            why = error.strerror or str(error)
    raise InputError(f"--master {master} cannot be reached: {why}.")
