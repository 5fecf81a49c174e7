"""Goldens as JSON: a file for each verb, and one for the lines of errors."""

import json
import math
from pathlib import Path

from tests.goldens import cases, errors

HERE = Path(__file__).parent
DIGITS = 14
# Vector instructions (AVX2, AVX-512) round exp, log and sums in ways of their own, and what is found by steps to 1e-12 ends elsewhere:
# up to 1.5e-12 of a limit of a slope and 2.6e-13 of a gain in log loss, between the processors seen.
REL = 5e-12
LEAST = 5e-13  # what is zero but for rounding
FITTED = {
    "recalibrate classes": 1e-10
}  # fits of many parameters end where the loss falls by less than 1e-13: 1.4e-11 was seen


def plain(value):
    """A result as JSON keeps it."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, bool | int | str) else value.item()


def result(sources, name, place):
    """What a case says, as it is frozen; what the source is called is frozen apart."""
    run, _, options = cases.CASES[name]
    found = plain(run(sources, place, **options))
    found.pop("source", None)
    return found


def source_names(sources):
    """What each kind of source is called in a result."""
    return {place: cases.check(sources, place).get("source") for place in cases.EVERYWHERE}


def difference(found, wanted, at="", rel=REL):
    """The first place where two results differ, or None: counts and words must be equal, numbers but for rounding."""
    if isinstance(wanted, bool) or not isinstance(wanted, int | float | dict | list) or type(found) is not type(wanted):
        return None if found == wanted and type(found) is type(wanted) else f"{at}: {found!r}, not {wanted!r}"
    if isinstance(wanted, dict):
        if list(found) != list(wanted):
            return f"{at}: keys {list(found)}, not {list(wanted)}"
        every = ((found[k], wanted[k], f"{at}.{k}") for k in wanted)
    elif isinstance(wanted, list):
        if len(found) != len(wanted):
            return f"{at}: {len(found)} entries, not {len(wanted)}"
        every = ((a, b, f"{at}[{i}]") for i, (a, b) in enumerate(zip(found, wanted, strict=True)))
    else:
        close = found == wanted if isinstance(wanted, int) else math.isclose(found, wanted, rel_tol=rel, abs_tol=LEAST)
        return None if close else f"{at}: {found!r}, not {wanted!r}"
    return next((d for d in (difference(*e, rel) for e in every) if d), None)


def path(name):
    """The file that holds a case."""
    return HERE / f"{name.split()[0]}.json"


def read_lines(name):
    """Frozen lines of errors on an engine, or names of sources."""
    return json.loads(path("errors").read_text())[name]


def read(name):
    """The frozen case."""
    return json.loads(path(name).read_text())[name]


def text(value, depth=0):
    """JSON with a line for each member of the outer objects, so that a difference shows where it is."""
    if depth < 4 and isinstance(value, dict) and value:
        inner = ",\n".join(f"{' ' * (depth + 1)}{json.dumps(k)}: {text(v, depth + 1)}" for k, v in value.items())
        return "{\n" + inner + "\n" + " " * depth + "}"
    return json.dumps(value, ensure_ascii=False)


def write(folder, wanted, spark):
    """Freeze what the verbs say now: results from the first kind of source of each case."""
    sources = cases.Sources(folder)
    made = {}
    for name, (_, places, _) in cases.CASES.items():
        whole = made.setdefault(path(name), json.loads(path(name).read_text()) if path(name).exists() else {})
        if name.startswith(wanted):
            whole[name] = result(sources, name, places[0])
    for file, whole in made.items():
        file.write_text(text({n: whole[n] for n in cases.CASES if n in whole}) + "\n")
    for engine in ("arrays", "csv", "parquet", *(["spark"] if spark else [])):
        if f"errors {engine}".startswith(wanted):
            _write_lines(engine, errors.lines(folder, engine))
    if "sources".startswith(wanted):
        _write_lines("sources", source_names(sources))


def _write_lines(name, lines):
    file = path("errors")
    whole = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(text(whole | {name: lines}) + "\n")
