"""Small tables that ship with the package: numbers only, with attribution in the README."""

from importlib.resources import files


def demo_table() -> str:
    """Path of the demo: 1,759 predictions of a relation classifier, its confidence and whether it was right."""
    return str(files("howsure.data") / "relations.csv")
