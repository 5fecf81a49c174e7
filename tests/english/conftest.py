"""Tests that parse need the shipped model; each keeps its parses in a folder of its own."""

import importlib
import sys
from pathlib import Path

import pytest

STUDIES = Path(__file__).parents[2] / "bench" / "studies"
sys.path.insert(0, str(STUDIES))  # the scripts import each other


@pytest.fixture(scope="session")
def study():
    """A script of bench/studies as a module, by name."""

    return importlib.import_module


def pytest_collection_modifyitems(items):
    from howsure.english.shipped import SHIPPED, WEIGHTS

    if not (SHIPPED / WEIGHTS).is_file():
        for item in items:
            if "shipped" in item.fixturenames:
                item.add_marker(pytest.mark.skip(reason="the English model is not in this checkout"))


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """The model that ships, and an empty cache."""
    pytest.importorskip("spacy")
    monkeypatch.setenv("HOWSURE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
