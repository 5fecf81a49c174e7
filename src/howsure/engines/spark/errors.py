"""What went wrong in Spark, in one line: the message that a Python worker raised, or what became of the task."""

from __future__ import annotations

import re
from typing import IO

from howsure.errors import HowsureError, InputError

# A message may have several lines; Java's frames follow it, or its SQLSTATE, or nothing.
_END = r"(?=\s*SQLSTATE: |\n\s*at |\n\n|\Z)"
_OURS = re.compile(
    rf"^\s*howsure\.(?:errors|_validate)\.(?:InputError|HowsureError|MissingExtra|BadRow): (.+?){_END}",
    re.MULTILINE | re.DOTALL,
)
_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_RAISED = re.compile(rf"^((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b(?:: .+?)?){_END}", re.MULTILINE | re.DOTALL)
_GAVE_UP = re.compile(r"failed (\d+) times?, most recent failure: (?:Lost task [\d.]+ in stage [\d.]+ )?(.+)")
_LONGEST = 300  # characters


def explained(error: BaseException) -> InputError:
    """One line about an exception of PySpark or Py4J.

    An error of howsure's own that a worker raised comes back with its message, as if raised here.
    """
    if isinstance(error, HowsureError):
        return error if isinstance(error, InputError) else InputError(str(error))
    text = str(error)
    if found := _OURS.findall(text):
        return InputError(" ".join(found[-1].split()))
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
