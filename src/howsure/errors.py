"""The error tree. The command line turns any of these into one line on stderr and exit status 2."""


class HowsureError(Exception):
    """Base of every error that howsure raises on purpose."""


class InputError(HowsureError, ValueError):
    """The data or an argument breaks a rule; the message says which, where, and what to do."""


class MissingExtra(HowsureError, ImportError):
    """An optional package is needed; the message names the extra that installs it."""
