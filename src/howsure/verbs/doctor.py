"""`howsure doctor`: what is installed, what is missing, and how to get it. Imports nothing that could be missing."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path

from howsure._version import __version__
from howsure.corpora.reading import CORPORA
from howsure.kernels.threads import cores
from howsure.verbs.doctor_result import Diagnosis, Extra, Folder, Machine, Package

# What each extra is for. Its packages, and those of the base, are read from the installed package's own metadata.
PURPOSES = {
    "plot": "`.plot(ax=)` on Matplotlib axes",
    "models": "training text classifiers",
    "text": "raw English text: parse, explore, coref resolve --text",
    "spark": "tables larger than one machine",
    "crfsuite": "importing models of CRFsuite",
}
MODULES = {"scikit-learn": "sklearn", "vl-convert-python": "vl_convert", "python-crfsuite": "pycrfsuite"}
PATIENCE = 0.5  # seconds to spend on adding up the sizes of files in a folder


def doctor(*, thorough: bool = False) -> Diagnosis:
    """Examine the installation.

    Parameters
    ----------
    thorough : bool
        Also import every package of the base, load the English model and parse a sentence with it: a few seconds.

    Returns
    -------
    Diagnosis
        `.verdict` in words, `.is_well`, the packages of the base and of each extra, the machine, the caches and the
        corpora found under HOWSURE_DATA.

    Examples
    --------
    >>> import howsure
    >>> found = howsure.doctor()
    >>> found.is_well, found.base[0].name
    (True, 'numpy')
    """
    needed = requirements()
    base = tuple(_package(name, oldest) for name, oldest in needed.get("", ()))
    extras = tuple(_extra(name, needed[name]) for name in PURPOSES if name in needed)
    english = _english_trouble()
    data = os.environ.get("HOWSURE_DATA") or None
    return Diagnosis(
        version=__version__,
        base=base,
        extras=extras,
        english=english,
        machine=_machine(),
        folders=_folders(),
        data=data,
        corpora=tuple(name for name in CORPORA if data is not None and Path(data, name).is_dir()),
        troubles=_thorough(base, extras) if thorough else (),
        is_thorough=thorough,
    )


def requirements() -> dict[str, tuple[tuple[str, str], ...]]:
    """The packages needed, with their oldest version, for each extra; "" is the base."""
    try:
        lines = metadata.requires("howsure") or []
    except metadata.PackageNotFoundError:  # sources that were never installed
        return {}
    made: dict[str, list[tuple[str, str]]] = {}
    for line in lines:
        found = re.match(r"\s*([\w.-]+)\s*(?:\(?\s*>=\s*([\w.]+))?", line)
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", line)
        if found and found[1] != "howsure":
            made.setdefault(extra[1] if extra else "", []).append((found[1], found[2] or ""))
    return {name: tuple(packages) for name, packages in made.items()}


def _package(name: str, oldest: str) -> Package:
    try:
        there = find_spec(MODULES.get(name, name.replace("-", "_"))) is not None
        return Package(name, oldest, metadata.version(name) if there else None)
    except (metadata.PackageNotFoundError, ImportError, ValueError):
        return Package(name, oldest, None)


def _extra(name: str, packages: tuple[tuple[str, str], ...]) -> Extra:
    found = tuple(_package(*p) for p in packages)
    lacks, remark = None, ""
    if name == "spark" and all(p.trouble is None for p in found):
        java = _java()
        lacks, remark = ("install Java 17 or newer", "") if java is None else (None, f"Java {java}")
    return Extra(name, PURPOSES[name], found, lacks, remark)


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    command = shutil.which("java") if home is None else str(Path(home, "bin", "java"))
    if command is None:
        return None
    try:
        said = subprocess.run([command, "-version"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "([^"]+)"', said.stderr + said.stdout)
    return found[1] if found else None


def _english_trouble() -> str | None:
    """What is wrong with the files of the model that ships: every checksum is compared, nothing is loaded."""
    folder = Path(__file__).parents[1] / "english" / "model"
    try:
        for path in (folder / "weights.npz", folder / "coref.npz"):
            with zipfile.ZipFile(path) as packed:
                if broken := packed.testzip():
                    return f"{path.name} is damaged at {broken}"
        for name in ("lemmas", "morphologizer", "parser", "tagger"):
            json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        return f"{type(error).__name__}: {error}"
    return None


def _thorough(base: tuple[Package, ...], extras: tuple[Extra, ...]) -> tuple[str, ...]:
    """What breaks when it is used, though it is there."""
    troubles = []
    for package in base:
        if package.version is not None:
            try:
                import_module(MODULES.get(package.name, package.name))
            except Exception as error:  # whatever a broken build raises
                troubles.append(f"{package.name} cannot be imported ({type(error).__name__}: {error})")
    if not troubles and any(e.name == "text" and e.is_there for e in extras):
        try:
            from howsure.verbs.parse import parse

            words = parse(["It works."], cache=False)[0].words
            if list(words) != ["It", "works", "."]:
                troubles.append(f"the English model reads {words} in 'It works.'")
        except Exception as error:
            troubles.append(f"the English model does not load ({type(error).__name__}: {error})")
    return tuple(troubles)


def _machine() -> Machine:
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on this system
        memory = None
    temporary = tempfile.gettempdir()
    free = shutil.disk_usage(temporary).free
    return Machine(platform.python_version(), platform.platform(terse=True), cores(), memory, temporary, free)


def _folders() -> tuple[Folder, ...]:
    made = []
    try:
        from howsure.english.cache import cache_folder

        made.append(_folder("parses", cache_folder(), "*"))
    except ImportError:  # NumPy is missing: the verdict says so
        pass
    named = os.environ.get("NUMBA_CACHE_DIR")
    beside = Path(__file__).parents[1] / "kernels"
    made.append(_folder("compiled kernels", Path(named) if named else beside, "**/*.nb[ic]"))
    return tuple(made)


def _folder(what: str, path: Path, pattern: str) -> Folder:
    """A folder's size, added up for half a second at most."""
    above = path
    while not above.exists() and above != above.parent:
        above = above.parent
    writable = os.access(above, os.W_OK) and above.is_dir()
    if not path.is_dir():
        return Folder(what, str(path), None, writable)
    size, until = 0, time.monotonic() + PATIENCE
    for file in path.rglob(pattern):
        try:
            size += file.stat().st_size if file.is_file() else 0
        except OSError:  # gone meanwhile
            continue
        if time.monotonic() > until:
            return Folder(what, str(path), size, writable, is_whole=False)
    return Folder(what, str(path), size, writable)
