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
    if arguments[:1] == ["--version"]:
        print(f"howsure {__version__}")
        return 0
    try:
        first = arguments[0] if arguments else ""
        meant = [command for command, words in WORDS.items() if first.lower() in words.split()]
        if meant and first not in COMMANDS:
            return _complain(f"{first} belongs to howsure {meant[0]}. Try 'howsure {meant[0]} --help'.")
        known = [first] if first in COMMANDS else COMMANDS
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
