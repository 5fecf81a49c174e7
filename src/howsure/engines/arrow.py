"""pyarrow, loaded when something of it is first used: a small CSV of numbers is read without it."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    value = getattr(import_module("pyarrow"), name)
    globals()[name] = value
    return value
