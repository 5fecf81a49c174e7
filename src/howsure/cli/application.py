"""The command `howsure` and how its errors are told."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from howsure._version import __version__
from howsure.cli.agree import agree
from howsure.cli.check import check
from howsure.cli.classify import classify
from howsure.cli.compare import compare
from howsure.cli.coref import coref
from howsure.cli.doctor import doctor
from howsure.cli.explore import explore
from howsure.cli.lm import lm
from howsure.cli.parse import parse
from howsure.cli.recalibrate import recalibrate
from howsure.cli.reproduce import reproduce
from howsure.cli.results import label, page, serve, top
from howsure.cli.score import score
from howsure.cli.split import split
from howsure.cli.tagger import tagger
from howsure.errors import HowsureError

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


for _command in (agree, check, compare, score, explore, top, label, page, serve, parse, reproduce, split, doctor):
    app.command()(_command)
for _name, _commands in {
    "recalibrate": recalibrate,
    "classify": classify,
    "tagger": tagger,
    "coref": coref,
    "lm": lm,
}.items():
    app.add_typer(_commands, name=_name)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["--version"]:
        print(f"howsure {__version__}")
        return 0
    try:
        status = typer.main.get_command(app).main(args=arguments, prog_name="howsure", standalone_mode=False)
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


def _complain(message: str) -> int:
    print("howsure: " + " ".join(message.split()), file=sys.stderr)
    return 2
