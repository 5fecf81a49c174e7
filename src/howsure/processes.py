"""Worker processes: plain `python -c` commands that exchange lines of JSON with this one, and the progress of long work.

Unlike `multiprocessing` this asks nothing of the caller's script (no `if __name__ == "__main__"`), and what passes
between processes is text. A worker ends when its input ends, so none outlives the command, however that ends.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from typing import Any, Protocol

from howsure.errors import HowsureError, InputError


class Progress(Protocol):
    """Called as work goes on: how much is done, of how much (None: not known) and, in some work, what is being done."""

    def __call__(self, done: float, total: float | None, what: str = "", /) -> None: ...


# Ctrl-C is for the command alone.
ENTRY = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from howsure.processes import serve; serve()"
STARTED: weakref.WeakSet[subprocess.Popen[str]] = weakref.WeakSet()
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Here:
    """Does each task at once, in this process: what small work uses."""

    in_flight = 0  # tasks to submit before waiting for one

    def __init__(self, run: Callable[[Any], Any]) -> None:
        self.run = run

    def submit(self, task: Any) -> Future[Any]:
        """The result of a task, which is there."""
        done: Future[Any] = Future()
        done.set_result(self.run(task))
        return done

    def flush(self) -> None:
        """Sends tasks that wait for others; none does."""

    def close(self) -> None:
        """Ends what was started; nothing was."""


class Pool:
    """Does tasks in `n` processes, each with one thread.

    A worker calls the function `entry` ("module:function") with `setup`, which JSON can hold, and what that returns with each
    task as `packed` makes it. `lost` is the error message where a process ends too early.
    """

    def __init__(self, entry: str, setup: Any, n: int, *, packed: Callable[[Any], Any], lost: str) -> None:
        self.entry, self.setup, self.packed, self.lost = entry, setup, packed, lost
        self.in_flight = 2 * n
        self.local = threading.local()
        self.started: list[subprocess.Popen[str]] = []
        self.threads = ThreadPoolExecutor(n, thread_name_prefix="howsure-worker")

    def submit(self, task: Any) -> Future[Any]:
        """The result of a task, in the future."""
        return self.threads.submit(self._run, task)

    def _run(self, task: Any) -> Any:
        process: subprocess.Popen[str] | None = getattr(self.local, "process", None)
        if process is None:
            process = self.local.process = self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(self.packed(task)) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except (BrokenPipeError, ValueError):
            line = ""
        if not line:
            raise HowsureError(self.lost)
        answer = json.loads(line)
        if "error" in answer:
            raise (InputError if answer["is_input"] else HowsureError)(answer["error"])
        return answer["result"]

    def _start(self) -> subprocess.Popen[str]:
        if sys.platform != "win32":  # blocked in this thread of the pool, so in the worker too, from its first moment
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        process = subprocess.Popen(
            [sys.executable, "-c", ENTRY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=os.environ
            | dict.fromkeys(THREADS, "1")
            | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "PYTHONIOENCODING": "utf-8"},
        )
        self.started.append(process)
        STARTED.add(process)
        assert process.stdin is not None
        process.stdin.write(json.dumps([self.entry, self.setup]) + "\n")
        return process

    def flush(self) -> None:
        """Sends tasks that wait for others; none does."""

    def close(self) -> None:
        """Ends the processes; tasks that were submitted and not begun are dropped."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        for process in self.started:
            process.terminate()
        self.threads.shutdown(wait=True)
        for process in self.started:
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()


def serve() -> None:
    """The loop of a worker: tasks in, results out, until the input ends."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints does not disturb the results
    entry, setup = json.loads(sys.stdin.readline())
    module, _, function = entry.partition(":")
    run = getattr(import_module(module), function)(setup)
    for line in sys.stdin:
        try:
            answer = {"result": run(json.loads(line))}
        except HowsureError as error:
            answer = {"error": str(error), "is_input": isinstance(error, InputError)}
        out.write(json.dumps(answer) + "\n")
        out.flush()
