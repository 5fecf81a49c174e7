"""`howsure doctor`: what is installed, what is missing, and how to get it. Imports nothing that could be missing."""

import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from howsure._result import Record, Result
from howsure._version import __version__
from howsure.corpora.reading import CORPORA
from howsure.files import user_cache
from howsure.kernels.threads import cores, memory_size


@dataclass(frozen=True, slots=True)
class Package(Record):
    """A package that is needed, the oldest version that will do, and the one that is there."""

    SHOWN = "name needed version trouble"

    name: str
    needed: str  # "" when any will do
    version: str | None  # None: not installed

    @property
    def trouble(self) -> str | None:
        """What is wrong with it, in words; None when nothing is."""
        if self.version is None:
            return "not installed"
        return f"{self.needed} or newer is needed" if _numbers(self.version) < _numbers(self.needed) else None


@dataclass(frozen=True, slots=True)
class Extra(Record):
    """An optional set of packages, what it is for, and what else it lacks (Spark needs Java)."""

    SHOWN = "name purpose is_there remedy remark packages"

    name: str
    purpose: str
    packages: tuple[Package, ...]
    lacks: str | None = None
    remark: str = ""

    @property
    def is_there(self) -> bool:
        """Whether all of it can be used."""
        return self.lacks is None and all(p.trouble is None for p in self.packages)

    @property
    def remedy(self) -> str | None:
        """How to get it."""
        if any(p.trouble is not None for p in self.packages):
            return f"pip install 'howsure[{self.name}]'"
        return self.lacks


@dataclass(frozen=True, slots=True)
class Folder(Record):
    """A folder in which things are kept: its size in bytes, and whether one can write there."""

    what: str
    path: str
    size: int | None  # None: it does not exist yet
    is_writable: bool
    is_whole: bool = True  # False: too many files to add up; the size is a lower bound


@dataclass(frozen=True, slots=True)
class Machine(Record):
    """Where it runs: cores that may be used, memory in all and free disk of the temporary folder in bytes."""

    python: str
    platform: str
    cores: int
    memory: int | None
    temporary: str
    free_disk: int


@dataclass(frozen=True, slots=True)
class Diagnosis(Result):
    """What is installed, what is missing, and how to get it. Made by `howsure.doctor`."""

    DRAWN = "-it lists what is installed"
    SHOWN = "verdict is_well version base extras english_model machine folders data corpora is_thorough troubles"

    version: str
    base: tuple[Package, ...]
    extras: tuple[Extra, ...]
    english: str | None  # what is wrong with the model that ships; None: nothing
    machine: Machine
    folders: tuple[Folder, ...]
    data: str | None  # HOWSURE_DATA
    corpora: tuple[str, ...]
    troubles: tuple[str, ...] = ()  # of a thorough examination
    is_thorough: bool = False

    def __repr__(self) -> str:
        state = "well" if self.is_well else "broken"
        return f"Diagnosis({state}, {len(self.missing)} of {len(self.extras)} extras missing)"

    @property
    def is_well(self) -> bool:
        """Whether the base works: its packages are there and new enough, and so is the model that ships."""
        return not self.troubles and self.english is None and all(p.trouble is None for p in self.base)

    @property
    def missing(self) -> tuple[Extra, ...]:
        """The extras that cannot be used."""
        return tuple(e for e in self.extras if not e.is_there)

    @property
    def verdict(self) -> str:
        """The answer in words, with what to do."""
        if not self.is_well:
            wrong = [f"{p.name} ({p.trouble})" for p in self.base if p.trouble is not None]
            wrong += [] if self.english is None else [f"the English model ({self.english})"]
            wrong += self.troubles
            return f"howsure {self.version} is broken: {'; '.join(wrong)}. Repair it with: pip install --force-reinstall howsure"
        said = f"howsure {self.version} is well: "
        if not self.base:
            return said + "but it runs from sources that were never installed, so that what it needs is not known."
        if not self.missing:
            return said + "everything is installed."
        names = ", ".join(e.name for e in self.missing)
        few = "one extra is" if len(self.missing) == 1 else f"{len(self.missing)} extras are"
        said += f"the base is complete; {few} missing ({names})."
        return said + " " + "; ".join(dict.fromkeys(str(e.remedy) for e in self.missing))

    @property
    def english_model(self) -> dict[str, Any]:
        """Whether the files of the model that ships are as they were written."""
        return {"is_whole": self.english is None, "trouble": self.english}

    def table(self) -> list[dict[str, Any]]:
        """One row a package or extra."""
        rows = [(p.name, p.version, p.trouble) for p in self.base]
        rows += [(f"[{e.name}]", "there" if e.is_there else "missing", e.remedy) for e in self.extras]
        return [dict(zip(("", "version", "remedy"), row, strict=True)) for row in rows]

    def to_text(self) -> str:
        """Verdict first, then packages, extras, the machine, the folders and the corpora."""
        from howsure.report.text.layout import filled

        d, m = self, self.machine
        lines = [filled(d.verdict, break_on_hyphens=False), "", "Base"]
        lines += [f"  {p.name:<18} {p.version or '–':<14} {p.trouble or ''}".rstrip() for p in d.base]
        lines += [f"  {'English model':<18} {d.english or 'its files are whole'}", "", "Extras"]
        for e in d.extras:
            there = ", ".join(f"{p.name} {p.version}" for p in e.packages) if e.is_there else "missing"
            remark = f", {e.remark}" if e.remark else ""
            lines.append(_entry(e.name, f"{there}{remark}: {e.purpose}"))
            lines += [] if e.remedy is None else [f"  {'':<18} {e.remedy}"]
        memory = "memory unknown" if m.memory is None else f"{m.memory / 1e9:.1f} GB of memory"
        lines += ["", "Machine", _entry("Python", f"{m.python} on {m.platform}")]
        lines.append(_entry("cores", f"{m.cores}, {memory}"))
        lines.append(_entry("temporary folder", f"{m.temporary}, {m.free_disk / 1e9:.1f} GB free"))
        for f in d.folders:
            size = "empty yet" if f.size is None else f"{'' if f.is_whole else 'at least '}{f.size / 1e6:.1f} MB"
            state = "" if f.is_writable else ", NOT WRITABLE: nothing is kept"
            lines.append(_entry(f.what, f"{f.path}, {size}{state}"))
        lines += ["", "Corpora (only the studies need them)", _entry("HOWSURE_DATA", d.data or "not set")]
        if d.data is not None:
            lines.append(_entry("found", ", ".join(d.corpora) or "none of those that howsure knows"))
        return "\n".join(lines) + "\n"


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: (2, 4, 0) of "2.4.0rc1"."""
    leading = re.match(r"\d+(?:\.\d+)*", version)
    found = [int(n) for n in leading[0].split(".")] if leading else []
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)


def _entry(name: str, said: str) -> str:
    from howsure.report.text.layout import filled

    head = f"  {name:<18} "
    return filled(said, head, " " * len(head), break_on_hyphens=False, break_long_words=False)


# What each extra is for. Its packages, and those of the base, are read from the installed package's own metadata.
PURPOSES = {
    "plot": "`.plot(ax=)` on Matplotlib axes",
    "models": "training text classifiers",
    "text": "raw English text: parse, explore, coref resolve --raw",
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
    data = os.environ.get("HOWSURE_DATA") or None
    corpora = tuple(name for name in CORPORA if data is not None and Path(data, name).is_dir())
    troubles = _thorough(base, extras) if thorough else ()
    temporary = tempfile.gettempdir()
    room = memory_size(), temporary, shutil.disk_usage(temporary).free
    machine = Machine(platform.python_version(), platform.platform(terse=True), cores(), *room)
    named = os.environ.get("NUMBA_CACHE_DIR")
    kernels = Path(named) if named else Path(__file__).parents[1] / "kernels"
    folders = [_folder("parses", user_cache("parses"), "*"), _folder("script of pages", user_cache("pages"), "*")]
    folders.append(_folder("compiled kernels", kernels, "**/*.n[ba][ict]*"))
    around = machine, tuple(folders), data, corpora
    return Diagnosis(__version__, base, extras, _english_trouble(), *around, troubles, thorough)


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
        for path in (folder / "weights.npz", folder / "coref.npz", folder.parents[1] / "data" / "vectors.npz"):
            with zipfile.ZipFile(path) as packed:
                if broken := packed.testzip():
                    return f"{path.name} is damaged at {broken}"
        for name in ("curves", "lemmas", "morphologizer", "parser", "tagger"):
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
