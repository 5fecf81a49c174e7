"""One file per command: parse, call a verb, format. Errors become one line on stderr and exit status 2."""

import atexit
import gc
import os
import sys
import threading
from contextlib import suppress


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit; without arguments they are the shell's, and the process ends here."""
    gc.set_threshold(100_000)  # what is imported stays: garbage is searched for seldom
    # Threads of NumPy's and SciPy's OpenBLAS sleep after 2**20 ticks without work (half a millisecond), not after 2**26.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "20")
    try:
        try:
            from howsure.cli.application import run
        except ModuleNotFoundError as error:  # a broken installation: not even the parser of options is there
            from howsure.verbs.doctor import doctor

            sys.exit(say(f"there is no module {error.name}. {doctor().verdict}", 1))
        status = run(arguments)
    except KeyboardInterrupt:  # while it starts, or between two steps of `run`, which answers it otherwise
        status = say("stopped", 130)
    if arguments is None:
        _end(status)
    sys.exit(status)


def _end(status: int) -> None:
    """End the process as Python would, without taking the interpreter apart first: that takes longer than a small check."""
    waits_for_threads = threading._shutdown  # type: ignore[attr-defined]
    for step in (waits_for_threads, atexit._run_exitfuncs, _flush):
        try:
            step()
        except KeyboardInterrupt:
            status = 130 if status == 130 else say("stopped", 130)
        except BrokenPipeError:  # whoever read it has seen enough
            pass
        except (OSError, ValueError) as error:  # a stream is closed or full
            status = status or say(f"{error.__class__.__name__}: {error}", 2)
    os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def say(line: str, status: int) -> int:
    """The status, with one line that says why: where that cannot be written, the status has to do."""
    with suppress(OSError, ValueError):
        if sys.stderr is not None:  # else Python would print it with the output
            print(f"howsure: {line}", file=sys.stderr, flush=True)
    return status
