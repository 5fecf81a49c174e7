"""Pipelines in processes of their own, one a core.

A worker is a plain `python -c`, spoken to in lines of JSON: unlike multiprocessing it asks nothing of the caller's script
(no `if __name__ == "__main__"`), and no pickles pass between processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from howsure.english.annotating import Parsed, annotated
from howsure.english.shipped import Model, model
from howsure.errors import HowsureError

ENTRY = "from howsure.english.workers import serve; serve()"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Workers:
    """Annotates batches of texts in `jobs` processes."""

    def __init__(self, name: str | None, jobs: int) -> None:
        self.name = name
        self.here = threading.local()
        self.started: list[subprocess.Popen[str]] = []
        self.threads = ThreadPoolExecutor(jobs, thread_name_prefix="howsure-parse")

    def submit(self, texts: list[str]) -> Future[list[Parsed]]:
        return self.threads.submit(self._run, texts)

    def _run(self, texts: list[str]) -> list[Parsed]:
        process: subprocess.Popen[str] | None = getattr(self.here, "process", None)
        if process is None:
            process = self.here.process = self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(texts) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except (BrokenPipeError, ValueError):
            line = ""
        if not line:
            raise HowsureError(
                "a parsing process ended before its work was done (out of memory?); fewer --jobs may help."
            )
        answer = json.loads(line)
        if isinstance(answer, str):
            raise HowsureError(answer)
        return list(answer)

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", ENTRY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the parent, which ends its workers
            env=os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        self.started.append(process)
        assert process.stdin is not None
        process.stdin.write(json.dumps(self.name) + "\n")
        return process

    def close(self) -> None:
        """Ends the processes; what was submitted and not begun is dropped."""
        self.threads.shutdown(wait=False, cancel_futures=True)
        for process in self.started:
            process.terminate()
        self.threads.shutdown(wait=True)
        for process in self.started:
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()


class Here:
    """The same in this process, at once: what small work and pipelines without a name use."""

    def __init__(self, ready: Model) -> None:
        self.ready = ready

    def submit(self, texts: list[str]) -> Future[list[Parsed]]:
        done: Future[list[Parsed]] = Future()
        done.set_result(list(annotated(self.ready, texts)))
        return done

    def close(self) -> None:
        """Nothing to end."""


def serve(lines: Iterable[str] | None = None, out: Any = None) -> None:
    """A worker's life: a line with the model's name, then a line of texts and a line of results, until the end."""
    out = sys.stdout if out is None else out
    source = iter(sys.stdin if lines is None else lines)
    ready: Model | None = None
    name = json.loads(next(source))
    for line in source:
        try:
            ready = model(name) if ready is None else ready
            answer: Any = list(annotated(ready, json.loads(line)))
        except Exception as error:  # told to the parent, which raises it
            answer = f"parsing failed: {error.__class__.__name__}: {error}"
        out.write(json.dumps(answer) + "\n")
        out.flush()
