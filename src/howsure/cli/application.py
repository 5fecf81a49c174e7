"""The command `howsure` and how its errors are said."""

import _thread
import os
import re
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ExtensionFileLoader
from types import FrameType
from typing import Any

from howsure._result import harmless
from howsure._version import __version__
from howsure.cli import say
from howsure.cli.parser import Family
from howsure.errors import HowsureError
from howsure.files import remove_unfinished

# The commands in groups, each with the module where it stands.
GROUPS = {
    "Measure": {"check": "check", "compare": "check", "score": "labels", "agree": "labels"},
    "Repair": {"recalibrate": "check", "abstain": "check"},
    "Count": {"count": "count", "label": "count", "explore": "explore"},
    "Models": {
        "classify": "classify",
        "tagger": "tagger",
        "parser": "trees",
        "coref": "coref",
        "lm": "lm",
        "parse": "explore",
        "split": "labels",
    },
    "Look": {
        "top": "explore",
        "page": "explore",
        "serve": "explore",
        "reproduce": "reproduce",
        "doctor": "reproduce",
        "completion": "completion",
    },
}
COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}
# What people type for a command.
WORDS = {
    "check": "ace auc auroc brier calibration calibration-error confidence crps ece hosmer-lemeshow log-loss logloss mce "
    "pit reliability spiegelhalter",
    "compare": "ab bootstrap mcnemar p-value permutation significance ttest wilcoxon",
    "score": "accuracy confusion f-score f1 fscore macro-f1 metrics precision recall seqeval",
    "agree": "ac1 agreement alpha annotators cohen crowd dawid-skene fleiss gwet iaa kappa krippendorff scott",
    "abstain": "conformal coverage learn-then-test reject rejection risk-coverage selective threshold",
    "recalibrate": "beta calibrate isotonic platt scale temperature temperature-scaling",
    "count": "how-many ppi prevalence quantification quantify share",
    "label": "annotate annotation labelling",
    "explore": "events timeline",
    "split": "cv folds kfold train-test-split",
    "classify": "classifier logistic naive-bayes sentiment",
    "tagger": "chunk crf hmm ner pos tag",
    "coref": "coreference",
    "coref score": "b3 ceaf conll lea muc",
    "lm": "kenlm kneser-ney language-model ngram ngrams",
    "lm perplexity": "bits entropy perplexity ppl",
    "lm correct": "spelling",
    "parser": "constituents eisner grammar mst pcfg treebank",
    "parse": "conllu dependencies lemma spacy",
    "page": "report",
    "doctor": "install version",
    "completion": "autocomplete complete",
}


def application(names: Iterable[str] = COMMANDS) -> Family:
    """The command line with these commands: a command alone is ready sooner than all of them."""
    commands = {name: getattr(import_module(f"howsure.cli.{COMMANDS[name]}"), name) for name in names}
    return Family("How sure is your NLP model, and is it right to be?", commands, GROUPS)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    heard = threading.Event()
    with _interrupts_kept(heard):
        return _answered(arguments, heard)


def _answered(arguments: list[str], heard: threading.Event) -> int:
    try:
        first = arguments[0] if arguments else ""
        if first == "--version":
            print(f"howsure {__version__}")
            return 0
        meant = [command for command, words in WORDS.items() if first.lower() in words.split()]
        if meant and first not in COMMANDS:
            return _complain(f"{first} belongs to howsure {meant[0]}. Try 'howsure {meant[0]} --help'.")
        known = [first] if first in COMMANDS else COMMANDS
        with _ends_soon(heard):
            return application(known).run("", arguments)
    except (KeyboardInterrupt, Exception) as error:
        # Libraries may make another error of a Ctrl-C.
        interrupted = isinstance(error, RuntimeError) and INTERRUPTED in str(error)
        if heard.is_set() or interrupted or isinstance(error, (KeyboardInterrupt, EOFError)):
            return say("stopped", 130)
        if isinstance(error, HowsureError):
            return _complain(str(error))
        if isinstance(error, (OSError, UnicodeError)):
            return _complain(f"{error.__class__.__name__}: {error}")
        raise


@contextmanager
def _interrupts_kept(heard: threading.Event) -> Iterator[None]:
    """Python ignores an exception in a destructor or a weak reference's callback: a Ctrl-C that falls there is sent again.

    Once one was heard, objects that it left half-made fail in their destructors; nothing is said of them.
    """
    before = sys.unraisablehook

    def unraisable(ignored: Any) -> None:
        if issubclass(ignored.exc_type, KeyboardInterrupt):
            _again()
        elif not heard.is_set():
            before(ignored)

    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        sys.unraisablehook = before


def _again() -> None:
    """Ctrl-C once more, a little later: at once it would fall into the same function."""
    later = threading.Timer(0.05, _thread.interrupt_main)
    later.daemon = True
    later.start()


def _in_extension(frame: FrameType | None) -> bool:
    """Whether an extension module is being imported: there a Ctrl-C gets lost, becomes an ImportError or aborts (DuckDB)."""
    while frame:
        if isinstance(frame.f_locals.get("self"), ExtensionFileLoader):
            return True
        frame = frame.f_back
    return False


INTERRUPTED = "Query interrupted"  # what DuckDB makes of a Ctrl-C
PATIENCE = 0.5  # seconds that a Ctrl-C may take
MORE_PATIENCE = 10.0  # where Spark has jobs to cancel


@contextmanager
def _ends_soon(heard: threading.Event) -> Iterator[None]:
    """Where Ctrl-C has to wait for compiled code (a first compile, threads that sum up), the process ends without waiting.

    Python hears a signal only between two steps of its own, which sets `heard`, and then waits for its threads. The
    system tells a thread at once, through a pipe.
    """
    main = threading.current_thread()
    is_main = main is threading.main_thread() and sys.platform != "win32"
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    done, (told, tell) = threading.Event(), os.pipe()
    os.set_blocking(tell, False)

    def hear(number: int, frame: FrameType | None) -> None:
        if _in_extension(frame):
            _again()
        else:
            heard.set()
            signal.default_int_handler(number, frame)

    def watch() -> None:
        while (said := os.read(told, 1)) != b"\0":
            patience = MORE_PATIENCE if "pyspark" in sys.modules else PATIENCE
            for seconds in (patience, *[0.1] * 20) if said == bytes([signal.SIGINT]) else ():
                if done.wait(seconds):
                    break
                handled = sys._current_exceptions().get(main.ident or 0)
                if not heard.is_set() or re.search(f"KeyboardInterrupt|{INTERRUPTED}", repr(handled)):
                    _end()

    watcher = threading.Thread(target=watch, name="howsure-interrupts", daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        done.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.set_wakeup_fd(before)
        os.write(tell, b"\0")
        watcher.join()
        os.close(tell)
        os.close(told)


def _end() -> None:
    """Ends the process from a thread: its workers, its temporary files, one line, no more."""
    try:
        if workers := sys.modules.get("howsure.processes"):
            for process in list(workers.STARTED):
                process.kill()
        remove_unfinished()
        shown = "\x1b[?25h\r" if os.isatty(2) else ""  # a progress bar hides the cursor
        terminal = os.dup(2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where the thread of a progress bar goes on
        os.write(terminal, f"{shown}howsure: stopped\n".encode())
    finally:
        os._exit(130)


def _complain(message: str) -> int:
    return say(harmless(" ".join(message.split())), 2)
