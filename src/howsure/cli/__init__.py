"""One file per command: parse, call a verb, format. Errors become one line on stderr and exit status 2."""

import gc
import sys


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    gc.set_threshold(100_000)  # what is imported stays: it is searched for garbage seldom here, and not at the end
    try:
        try:
            from howsure.cli.application import run
        except ModuleNotFoundError as error:  # a broken installation: not even the parser of options is there
            from howsure.verbs.doctor import doctor

            print(f"howsure: there is no module {error.name}. {doctor().verdict}", file=sys.stderr)
            sys.exit(1)
        status = run(arguments)
    except KeyboardInterrupt:  # while it starts, or between two steps of `run`, which answers it otherwise
        print("howsure: stopped", file=sys.stderr)
        status = 130
    gc.freeze()
    sys.exit(status)
