"""The command `howsure` and how its errors are said."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from howsure._result import harmless
from howsure._version import __version__
from howsure.cli.parser import Family
from howsure.errors import HowsureError

# Each command, or family of commands, and the module where it stands.
COMMANDS = {
    "agree": "labels",
    "check": "check",
    "compare": "check",
    "count": "count",
    "score": "labels",
    "explore": "explore",
    "top": "explore",
    "label": "count",
    "page": "explore",
    "serve": "explore",
    "parse": "explore",
    "reproduce": "reproduce",
    "split": "labels",
    "doctor": "reproduce",
    "recalibrate": "check",
    "classify": "classify",
    "tagger": "tagger",
    "coref": "coref",
    "lm": "lm",
}


def application(names: Iterable[str] = COMMANDS) -> Family:
    """The command line with these commands: a command alone is ready sooner than all of them."""
    commands = {name: getattr(import_module(f"howsure.cli.{COMMANDS[name]}"), name) for name in names}
    return Family("How sure is your NLP model, and is it right to be?", commands)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["--version"]:
        print(f"howsure {__version__}")
        return 0
    try:
        known = arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS
        with _interrupts_kept():
            return application(known).run("", arguments)
    except HowsureError as error:
        return _complain(str(error))
    except (KeyboardInterrupt, EOFError):
        print("howsure: stopped", file=sys.stderr)
        return 130
    except (OSError, UnicodeError) as error:
        return _complain(f"{error.__class__.__name__}: {error}")


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Python ignores an exception in a destructor or a weak reference's callback: a Ctrl-C that falls there is sent again."""
    before = sys.unraisablehook

    def unraisable(ignored: Any) -> None:
        if issubclass(ignored.exc_type, KeyboardInterrupt):
            later = threading.Timer(0.05, _thread.interrupt_main)  # at once it would fall into this function
            later.daemon = True
            later.start()
        else:
            before(ignored)

    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        sys.unraisablehook = before


def _complain(message: str) -> int:
    print("howsure: " + harmless(" ".join(message.split())), file=sys.stderr)
    return 2
