"""Blocks of documents in processes of their own, each writing its part.

A worker is a plain `python -c` that is spoken to in lines of JSON. It ends when its input ends, so none outlives the
command, however that ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from howsure.corpora.news.dated import DatedText
from howsure.errors import HowsureError, InputError
from howsure.events.storage import write_part
from howsure.verbs.explore_blocks import Work, block_rows, packed, unpacked

# Ctrl-C is for the command alone; a worker hears nothing of it, not even while it starts.
ENTRY = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); from howsure.verbs.explore_workers import serve; serve()"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
Seconds = dict[str, float]


def do_block(folder: Path, name: str, texts: list[DatedText], work: Work) -> Seconds:
    """Writes the part of one block; returns where the time went."""
    block = block_rows(texts, work)
    write_part(folder, name, block.rows)
    return {"parsing": block.parsing, "resolving": block.resolving, "asking": block.asking}


class Here:
    """Does each block at once, in this process."""

    in_flight = 0

    def __init__(self, folder: Path, work: Work) -> None:
        self.folder, self.work = folder, work

    def submit(self, name: str, texts: list[DatedText]) -> Future[Seconds]:
        made: Future[Seconds] = Future()
        made.set_result(do_block(self.folder, name, texts, self.work))
        return made

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing to end."""


class Workers:
    """Does blocks in `n` processes."""

    def __init__(self, folder: Path, work: Work, n: int) -> None:
        self.folder, self.work = folder, work
        self.in_flight = 2 * n
        self.here = threading.local()
        self.started: list[subprocess.Popen[str]] = []
        self.threads = ThreadPoolExecutor(n, thread_name_prefix="howsure-explore")

    def submit(self, name: str, texts: list[DatedText]) -> Future[Seconds]:
        return self.threads.submit(self._run, name, texts)

    def _run(self, name: str, texts: list[DatedText]) -> Seconds:
        process: subprocess.Popen[str] | None = getattr(self.here, "process", None)
        if process is None:
            process = self.here.process = self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"name": name, "texts": [packed(t) for t in texts]}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except (BrokenPipeError, ValueError):
            line = ""
        if not line:
            raise HowsureError(
                "a process ended before its work was done (out of memory?). Run the same command again: it goes on "
                "where it stopped; fewer --workers may help."
            )
        answer: Any = json.loads(line)
        if isinstance(answer, str):
            raise InputError(answer)
        return {str(k): float(v) for k, v in answer.items()}

    def _start(self) -> subprocess.Popen[str]:
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
        assert process.stdin is not None
        process.stdin.write(json.dumps({"folder": str(self.folder), "work": self.work.to_dict()}) + "\n")
        return process

    def flush(self) -> None:
        """Nothing waits."""

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


def serve() -> None:
    """The loop of a worker: blocks in, seconds out."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever prints does not disturb the answers
    setup = json.loads(sys.stdin.readline())
    folder, work = Path(setup["folder"]), Work.from_dict(setup["work"])
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer: Any = do_block(folder, job["name"], [unpacked(t) for t in job["texts"]], work)
        except HowsureError as error:
            answer = str(error)
        out.write(json.dumps(answer) + "\n")
        out.flush()
