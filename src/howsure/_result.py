"""The base of every result: plain data by walking its fields, and from it JSON, tables, pages and files."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from functools import cache, wraps
from importlib import import_module
from math import isfinite
from operator import attrgetter
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from howsure.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLOTS = (".svg", ".png", ".pdf")


class Record:
    """Plain data by name.

    `SHOWN` lists the keys of `to_dict` in order, separated by spaces; without it: all fields, after the verdict if there
    is one. A key is an attribute's name; `key=path.to.attribute` gives it another; `*attribute` merges that record's
    keys here; a trailing `?` leaves out what is None, 0 or empty. A method without arguments is called.
    """

    __slots__ = ()
    SHOWN: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints and pages show."""
        made: dict[str, Any] = {}
        for name, path, merged, optional in _keys(type(self)):  # type: ignore[arg-type]
            value = path(self)
            value = plain(value() if callable(value) else value)
            if merged:
                made |= value
            elif value or not optional:
                made[name] = value
        return made


@cache
def _keys(of: type[Record | Columns]) -> list[tuple[str, attrgetter[Any], bool, bool]]:
    """Each key of a class's `to_dict`: name, how to get at it, whether it is merged, whether it may be left out."""
    made = []
    verdict = ["verdict"] if issubclass(of, Result) else []
    for key in of.SHOWN.split() or [*verdict, *(f.name for f in fields(of))]:  # type: ignore[arg-type]
        name, _, path = key.strip("*?").partition("=")
        made.append((name, attrgetter(path or name), key.startswith("*"), key.endswith("?")))
    return made


class Columns:
    """Arrays of one length by name, which become read-only; as plain data a record for each place, with `SHOWN` as in `Record`."""

    __slots__ = ()
    SHOWN: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for f in fields(self):  # type: ignore[arg-type]
            if hasattr(getattr(self, f.name), "flags"):
                getattr(self, f.name).flags.writeable = False

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]

    def to_dict(self) -> list[dict[str, Any]]:
        """One record a place."""
        return records(**{name: path(self) for name, path, *_ in _keys(type(self))})  # type: ignore[arg-type]


class Attributes:
    """A record's attributes by name, for templates; `#name` is how many items the attribute has."""

    def __init__(self, record: Any) -> None:
        self.record = record

    def __getitem__(self, name: str) -> Any:
        return len(getattr(self.record, name[1:])) if name[0] == "#" else getattr(self.record, name)


def shown_as(template: str) -> Callable[[Any], str]:
    """A `__repr__` of the class's name and, in brackets, a format string that names attributes: "{question}, {#places:,} places"."""
    return lambda self: f"{type(self).__name__}({template.format_map(Attributes(self))})"


def drawn_by(path: str, like: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A method that hands its result to a function of `plots` or `report`, imported when it is called; it is described as `like` is."""
    module, _, name = path.rpartition(".")

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(self, *args, **options)

    method.__doc__ = f"See `{path}`."
    return method if like is None else wraps(like)(method)


class Result(Record):
    """What a verb returns: a verdict in words, plain data, and the same as text, tables, pages and files.

    The picture is of `layers` (Vega-Lite), where a result has them, else of the main table's column `DRAWN`: without that,
    the first with limits, else of shares or numbers. A `DRAWN` that begins with - says why there is no picture.
    """

    __slots__ = ()
    DRAWN: ClassVar[str] = ""

    @property
    def verdict(self) -> str:
        """The answer in words."""
        raise NotImplementedError

    def table(self) -> list[dict[str, Any]]:
        """The main table, one record a row: by default every number of `to_dict`, with its limits."""
        made = []
        for name, value in self.to_dict().items():
            limits = value if isinstance(value, dict) and "value" in value else {"value": value}
            if not isinstance(limits["value"], (dict, list)) and name != "verdict":
                made.append({"name": name} | {k: limits.get(k) for k in ("value", "low", "high")})
        return made

    def to_pandas(self) -> Any:
        """The main table (`table`) as a pandas data frame; an estimate's limits are columns of their own."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("a data frame needs pandas: pip install pandas.") from None
        return pandas.DataFrame(_spread(self.table()))

    def to_markdown(self) -> str:
        """The main table in Markdown."""
        from howsure.report.tables import markdown

        return markdown(self.table(), self.level)

    def to_latex(self) -> str:
        """The main table in LaTeX (booktabs)."""
        from howsure.report.tables import latex

        return latex(self.table(), self.level)

    def to_text(self) -> str:
        """Verdict first, then the main table: what the shell prints, at most 80 columns wide."""
        return textwrap.fill(self.verdict, 80) + "\n"

    def to_html(self) -> bytes:
        """A self-contained page."""
        raise InputError(f"there is no page of a {type(self).__name__}.")

    def figure(self) -> dict[str, Any]:
        """The picture of `--plot` as a Vega-Lite specification."""
        from howsure.plots.tables import table_figure
        from howsure.plots.vega import picture

        drawn = getattr(self, "layers", None)
        return picture(width=420, height=300, layer=drawn()) if drawn else table_figure(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw on Matplotlib axes and return them."""
        from howsure.plots.tables import draw_layers, draw_table

        drawn = getattr(self, "layers", None)
        return draw_layers(drawn(), ax) if drawn else draw_table(self, ax)

    def headline(self) -> dict[str, str]:
        """The few numbers that stand above the picture in a notebook."""
        return {}

    _repr_html_ = drawn_by("howsure.report.tables.snippet")

    def save(self, path: str | Path) -> None:
        """Write the result, whole or not at all; the name's ending chooses the form.

        `.json` holds everything, and `howsure.load` opens it; `.csv`, `.md` and `.tex` hold the main table, `.html` the
        page, `.txt` the text, `.svg`, `.png` and `.pdf` the picture.
        """
        from howsure.files import write_whole

        write_whole(str(path), self.as_file(Path(path).suffix.lower()))

    def as_file(self, suffix: str) -> bytes:
        """The bytes of the file that `save` writes under a name with this ending."""
        forms = {
            ".json": lambda: json_text(self.to_dict() | {"howsure": self._saved()}) + "\n",
            ".csv": lambda: csv_text(_spread(self.table())),
            ".md": self.to_markdown,
            ".tex": self.to_latex,
            ".txt": self.to_text,
        }
        if suffix in forms:
            return forms[suffix]().encode()
        if suffix == ".html":
            return self.to_html()
        if suffix not in PLOTS:
            raise InputError(f"a result is saved as {', '.join([*forms, '.html', *PLOTS])}; got {suffix!r}.")
        from howsure.plots.vega import rendered

        return rendered(self.figure(), suffix)

    @property
    def level(self) -> float:
        """Confidence level of the intervals in the tables."""
        return float(getattr(self, "confidence_level", 0.95))

    def _saved(self) -> dict[str, Any]:
        """What a `SavedResult` needs beyond `to_dict`."""
        try:
            drawn = self.figure()
        except InputError:
            drawn = None
        said = {"verdict": self.verdict, "text": self.to_text(), "table": plain(self.table()), "level": self.level}
        return {"result": type(self).__name__, "version": 1, **said, "figure": plain(drawn)}


class Sums:
    """Adds up field by field: numbers and arrays by +, tuples element by element."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        made = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return type(self)(*(_added(a, b) for a, b in made))


def _added(a: Any, b: Any) -> Any:
    return tuple(_added(x, y) for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else a + b


class Limits(NamedTuple):
    """A value of a saved table, with its limits."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class SavedResult(Result):
    """A result that `save` wrote to a `.json` file, read back: the same data, text, tables and picture."""

    data: dict[str, Any]
    about: dict[str, Any]

    __repr__ = shown_as("{about[result]}: {verdict}")

    @property
    def verdict(self) -> str:
        return str(self.about["verdict"])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data."""
        return self.data

    def table(self) -> list[dict[str, Any]]:
        """The main table."""
        return [{k: Limits(**v) if isinstance(v, dict) else v for k, v in row.items()} for row in self.about["table"]]

    def to_text(self) -> str:
        """What the shell printed."""
        return str(self.about["text"])

    def figure(self) -> dict[str, Any]:
        """The picture as a Vega-Lite specification."""
        if self.about.get("figure") is None:
            raise InputError(f"there is no picture of a {self.about['result']}.")
        return dict(self.about["figure"])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the main table's numbers on Matplotlib axes and return them."""
        self.figure()  # there is one
        return Result.plot(self, ax)

    @property
    def level(self) -> float:
        return float(self.about["level"])

    def _saved(self) -> dict[str, Any]:
        return self.about

    @classmethod
    def of(cls, saved: Any, name: str) -> SavedResult:
        """The result in the plain data of a file, or an error."""
        about = saved.get("howsure") if isinstance(saved, dict) else None
        wanted = {"result": str, "version": int, "verdict": str, "text": str, "table": list, "level": float}
        if not isinstance(about, dict) or not all(isinstance(about.get(k), t) for k, t in wanted.items()):
            raise InputError(f"{name} is not a result that howsure saved.")
        if about["version"] != 1 or not all(
            isinstance(row, dict)
            and all(not isinstance(v, dict) or v.keys() == {"value", "low", "high"} for v in row.values())
            for row in about["table"]
        ):
            raise InputError(f"{name} is a damaged result, or one of another version of howsure.")
        return cls({k: v for k, v in saved.items() if k != "howsure"}, about)


class Training(Result):
    """What training gives: a `model`, and how it was made."""

    __slots__ = ()
    DRAWN = "-training gives a model and its settings; checking it on other text gives a picture"
    model: Any

    def save(self, path: str | Path) -> None:
        """Write the model, if the name ends in `.npz` (or `.arpa`, of a language model), else the result as any other."""
        if Path(path).suffix.lower() in (".npz", ".arpa"):
            self.model.save(path)
        else:
            Result.save(self, path)


def json_text(data: Any) -> str:
    """Plain data as `--json` prints it."""
    return json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Any part of a result as what JSON knows: records become dicts, arrays and tuples lists, dates text."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        return value.tolist()
    if isinstance(value, Mapping):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (date, PurePath)):
        return value.isoformat() if isinstance(value, date) else str(value)
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    return [plain(v) for v in value]


def records(**columns: Any) -> list[dict[str, Any]]:
    """Arrays of one length as a record for each position."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]


def printable(text: str) -> str:
    """Text for a terminal: control characters in data never reach it."""
    return "".join(ch if ch.isprintable() else "�" for ch in text)


def harmless(text: str) -> str:
    """Lines of text for a terminal, without control characters: what data and file names hold cannot move its cursor."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "�", text.replace("\r\n", "\n"))


def finite(value: float | None) -> float | None:
    """A number as JSON can say it: None for infinite."""
    return value if value is not None and isfinite(value) else None


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV for spreadsheets, with the columns of the first."""
    import csv
    import io

    file = io.StringIO()
    if rows:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows([{k: unformulated(v) for k, v in row.items()} for row in rows])
    return file.getvalue()


def unformulated(value: Any) -> Any:
    """A cell that a spreadsheet shows and does not compute: text that begins like a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _spread(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with the value and the limits of estimates in three columns."""
    estimates = {name for row in rows for name, value in row.items() if hasattr(value, "low")}
    made = []
    for row in rows:
        flat: dict[str, Any] = {}
        for name, value in row.items():
            flat[name] = getattr(value, "value", value)
            if name in estimates:
                flat |= {f"{name} {side}": getattr(value, side, None) for side in ("low", "high")}
        made.append(flat)
    return made
