"""The rooms of docs/architecture.md: imports only point upwards."""

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "howsure"

# A room may import from itself and from the rooms named here; `data`, `errors`, `files`, `processes`, `_validate` and `_written` are open to all but kernels.
ROOMS = {
    "kernels": set(),
    "calibration": {"kernels"},
    "evaluation": {"calibration", "kernels"},
    "posteriors": {"kernels"},
    "counting": {"calibration", "kernels"},
    "corpora": set(),
    "models": {"posteriors", "corpora", "kernels"},
    "english": {"corpora", "models", "posteriors", "kernels"},
    "events": {"posteriors", "corpora", "models", "kernels"},
    "engines": {"calibration", "evaluation", "counting", "kernels"},
    "plots": {"calibration", "evaluation", "counting", "events", "kernels"},
    "report": {"plots", "calibration", "evaluation", "counting", "models", "events", "kernels"},
    "data": set(),
}
ROOMS["exploring"] = {"events", "english", "engines", "counting", "report", *ROOMS["events"]}
ROOMS["verbs"] = set(ROOMS)
ROOMS["experiments"] = set(ROOMS)
ROOMS["cli"] = {"verbs", "Engine"}  # `howsure.Engine` is public: what --engine means
OPEN = {"data", "errors", "files", "processes", "_validate", "_written", "_version", "_result"}
# A result draws itself: these methods import `plots` and `report` when they are called.
DRAWS = {"as_file", "plot", "figure", "to_html", "to_text", "_repr_html_"}
# Experiments are done with the verbs; only the verb that runs them knows them.
EXCEPTIONS = {("verbs/reproduce.py", "experiments")}


DRAWN_BY = re.compile(r'drawn_by\("howsure\.(\w+)')


parsed = cache(ast.parse)  # of a module's text


def modules():
    return [p for p in SOURCE.rglob("*.py") if p.parent != SOURCE]


def imported_rooms(tree):
    """Rooms imported anywhere but where a result draws itself."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr):  # holds no statement
            continue
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "howsure" else [f"howsure.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "howsure" and len(parts) > 1:
                yield parts[1]
        drawn = {"plots", "report"} if isinstance(node, ast.FunctionDef) and node.name in DRAWS else set()
        yield from (room for room in imported_rooms(node) if room not in drawn)


def broken_rules(inside, text):
    """Rooms that the text of the module `inside` imports and may not."""
    room = inside.split("/")[0]
    allowed = ROOMS[room] | {room} | (set() if room == "kernels" else OPEN)
    if "from howsure import" not in text and set(re.findall(r"howsure\.(\w+)", text)) <= allowed:
        return set()  # none is so much as named: most modules need no parsing
    return {r for r in imported_rooms(parsed(text)) if r not in allowed and (inside, r) not in EXCEPTIONS}


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_upwards(path):
    assert not broken_rules(path.relative_to(SOURCE).as_posix(), path.read_text())


def test_results_are_drawn_by_the_rooms_that_draw():
    """`drawn_by` imports by name, where no import is seen."""
    named = {room for path in SOURCE.rglob("*.py") for room in DRAWN_BY.findall(path.read_text())}
    assert named == {"plots", "report"}


BROKEN = {
    "cli/check.py": ("from howsure.calibration.result import Calibration", "calibration"),
    "cli/explore.py": ("import howsure.plots.vega", "plots"),
    "report/pages.py": ("from howsure.verbs.check import check", "verbs"),
    "kernels/cells.py": ("from howsure.errors import InputError", "errors"),
    "calibration/result.py": ("def table(self):\n    from howsure.report.page import render", "report"),
}


@pytest.mark.parametrize("inside", BROKEN)
def test_a_line_that_breaks_the_rule_is_found(inside):
    line, room = BROKEN[inside]
    assert broken_rules(inside, line) == {room}


def test_every_room_says_what_may_live_there():
    for room in ROOMS:
        assert ast.get_docstring(parsed((SOURCE / room / "__init__.py").read_text()))


def test_every_module_has_a_docstring():
    for path in SOURCE.rglob("*.py"):
        if path.name != "_version.py":
            assert re.match(r'"""\s*[^\s"]', path.read_text()), path


def test_special_functions_are_imported_the_short_way():
    using = [p.name for p in SOURCE.rglob("*.py") if re.search("^ *(from|import) scipy.special", p.read_text(), re.M)]
    assert using == ["special.py"]


@pytest.mark.parametrize("verb", ["score", "compare"])
def test_nothing_is_said_when_python_ends(verb):
    """An object of DuckDB that is kept alive, even by an annotation, makes it print its leaks to the user."""
    done = subprocess.run([sys.executable, "-c", f"import howsure.verbs.{verb}"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_benches_import_is_there():
    """They are run rarely, and no type checker reads them."""
    gone = []
    for path in sorted((SOURCE.parents[1] / "bench").rglob("*.py")):
        for node in ast.walk(parsed(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "howsure":
                module = import_module(node.module)
                names = {alias.name for alias in node.names} - set(vars(module)) - set(getattr(module, "__all__", ()))
                is_module = {n for n in names if hasattr(module, "__path__") and find_spec(f"{node.module}.{n}")}
                gone += [f"{path.name}:{node.lineno} {node.module}.{name}" for name in names - is_module]
    assert gone == []
