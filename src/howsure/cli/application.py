"""The command `howsure` and how its errors are told."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer

from howsure._version import __version__
from howsure.errors import HowsureError

# Each is the function, or the commands, of that name in the module of that name, or in the one named below.
COMMANDS = (
    "agree",
    "check",
    "compare",
    "count",
    "score",
    "explore",
    "top",
    "label",
    "page",
    "serve",
    "parse",
    "reproduce",
    "split",
    "doctor",
)
MODULES = dict.fromkeys(("top", "label", "page", "serve"), "results")
FAMILIES = ("recalibrate", "classify", "tagger", "coref", "lm")


def application(names: Collection[str] = (*COMMANDS, *FAMILIES)) -> typer.Typer:
    """The command line with these commands: a command alone is ready sooner than all of them."""
    app = typer.Typer(
        name="howsure",
        help="How sure is your NLP model, and is it right to be?",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )

    @app.callback(invoke_without_command=False)
    def howsure(
        version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
    ) -> None:
        """How sure is your NLP model, and is it right to be?"""

    for name in names:
        made = getattr(import_module(f"howsure.cli.{MODULES.get(name, name)}"), name)
        if name in COMMANDS:
            app.command()(made)
        else:
            app.add_typer(made, name=name)
    return app


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["--version"]:
        print(f"howsure {__version__}")
        return 0
    try:
        known = arguments[:1] if arguments and arguments[0] in COMMANDS + FAMILIES else (*COMMANDS, *FAMILIES)
        with _interrupts_kept():
            status = typer.main.get_command(application(known)).main(
                args=arguments, prog_name="howsure", standalone_mode=False
            )
        return status if isinstance(status, int) else 0
    except HowsureError as error:
        return _complain(str(error))
    except (KeyboardInterrupt, EOFError):
        print("howsure: stopped", file=sys.stderr)
        return 130
    except (OSError, UnicodeError) as error:
        return _complain(f"{error.__class__.__name__}: {error}")
    except Exception as error:
        if hasattr(error, "format_message"):  # the parser's own complaints: usage, unknown options
            message = error.format_message()
            if type(error).__name__ == "NoArgsIsHelpError":  # a command of commands, with none given
                print(message)
                return 2
            context = getattr(error, "ctx", None)
            command = "howsure" if context is None else context.command_path
            return _complain(f"{message} Try '{command} --help'.") if message else 2
        if hasattr(error, "exit_code"):
            return int(error.exit_code)
        raise


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
    print("howsure: " + " ".join(message.split()), file=sys.stderr)
    return 2
