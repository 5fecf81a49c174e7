"""`howsure split`: train, dev and test, or folds, that share no group and no time."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from howsure import _validate
from howsure.engines.coded import Coded, codes_of, date_codes, n_rows, text_codes
from howsure.engines.items import is_table
from howsure.engines.tables import Table
from howsure.engines.writing import KINDS, ending, write_folds, write_parts
from howsure.errors import InputError
from howsure.evaluation import splits
from howsure.evaluation.splits import Split
from howsure.kernels.cells import Floats

PARTS = "train=8,dev=1,test=1"


def split(
    rows: Any,
    *,
    parts: Mapping[str, float] | str | None = None,
    folds: int | None = None,
    groups: Any = None,
    date: Any = None,
    stratify: Any = None,
    rng: np.random.Generator | int | None = 0,
    out: str | Path | None = None,
) -> Split:
    """Split rows into parts that never share a group or a time.

    Parameters
    ----------
    rows : table or int
        A path or a data frame, or a number of rows.
    parts : mapping of name to weight, or "train=8,dev=1,test=1"
        Proportions; by default these. With `date`, the earliest part first.
    folds : int
        Number of equal parts instead, for cross-validation.
    groups, date, stratify : array, shape (n,); or a column's name
        What must stay together (document, author); what must not be later in an earlier part; whose values
        are to be in proportion in every part.
    rng : Generator, int or None
        Seeds the shuffle.
    out : path
        Folder to write a table for each part to, in the input's format; with `folds`, a file name writes one
        table with a column `fold`. Only for tables.

    Returns
    -------
    Split
        `.part` holds the number of each row's part; `.rows("train")`, `.folds()`.

    Notes
    -----
    Rows without a group, date or label to stratify by are left out and counted. A group's part depends on names, sizes
    and the seed, not on the order of the rows.

    Examples
    --------
    >>> import howsure
    >>> made = howsure.split(10, groups=list("aabbccddee"), parts={"train": 3, "test": 2})
    >>> made.sizes
    {'train': 6, 'test': 4}
    """
    if parts is not None and folds is not None:
        raise InputError("`parts=` and `folds=` exclude one another.")
    if date is not None and stratify is not None:
        raise InputError("`date=` and `stratify=` exclude one another: time decides what is in a part.")
    names, share = _shares(parts, folds)
    seed = int(_validate.generator(rng).integers(2**62))
    if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
        if out is not None:
            raise InputError("`out` needs a table to write.")
        n = _validate.count(int(rows), "rows")
        return _made(n, _array_codes(n, groups=groups, date=date, stratify=stratify), names, share, seed, folds, "")
    if not is_table(rows):
        raise InputError("give a path, a data frame or a number of rows.")
    with Table(rows) as table:
        groups = groups if table.log is None else table.log.groups(groups)
        for keyword, value in (("groups", groups), ("date", date), ("stratify", stratify)):
            if value is not None and not isinstance(value, str):
                raise InputError(f"with a table, `{keyword}` names one of its columns; got a {type(value).__name__}.")
        n, codes = _table_codes(table, groups, date, stratify)
        source = Path(table.name).name if table.files else table.name
        made = _made(n, codes, names, share, seed, folds, source)
        if out is not None:
            made = replace(made, files=tuple(str(p) for p in written_files(rows, table, made, out)))
        return made


Codes = dict[str, Coded]


def _shares(parts: Mapping[str, float] | str | None, folds: int | None) -> tuple[tuple[str, ...], Floats]:
    if folds is not None:
        k = _validate.count(folds, "folds")
        if k < 2:
            raise InputError(f"`folds=` must be 2 at least; got {k}.")
        return tuple(str(i + 1) for i in range(k)), np.full(k, 1.0 / k)
    rule = f"`parts=` must be names with weights, such as {PARTS}"
    weights: dict[str, float] = {}
    if parts is None or isinstance(parts, str):
        for piece in (parts or PARTS).split(","):
            name, equals, weight = (x.strip() for x in piece.partition("="))
            try:
                value = float(weight)
            except ValueError:
                raise InputError(f"{rule}; got {piece!r}.") from None
            if not equals or name in weights:
                raise InputError(f"{rule}, each name once; got {piece!r}.")
            weights[name] = value
    else:
        weights = {str(k): float(v) for k, v in parts.items()}
    for name, value in weights.items():
        if not name or name.startswith(".") or any(c in name for c in "/\\\0") or not 0.0 < value < np.inf:
            raise InputError(f"{rule}: a plain name and a weight above 0; got {name!r}={value:g}.")
    if len(weights) < 2:
        raise InputError(f"{rule}; got one part.")
    share = np.array(list(weights.values()))
    return tuple(weights), share / share.sum()


def _array_codes(n: int, **given: Any) -> Codes:
    import pyarrow as pa

    made: Codes = {}
    for name, values in given.items():
        if values is None:
            continue
        array = _validate.one_dimensional(values, name, numbers=name == "date")
        if len(array) != n:
            raise InputError(f"lengths differ: there are {n:,} rows and `{name}` has {len(array):,}.")
        if name == "date":
            missing = np.isnat(array) if array.dtype.kind in "mM" else array != array
            kept = array[~missing]
            if kept.dtype.kind == "O":
                raise InputError("`date` must hold numbers or dates (numpy datetime64).")
            distinct, codes = np.unique(kept, return_inverse=True)
            coded = np.full(n, -1, np.int64)
            coded[~missing] = codes
            made[name] = coded, [str(v) for v in distinct.tolist()]
        else:
            texts = [None if v is None or v != v else str(v) for v in array.tolist()]
            made[name] = codes_of(pa.array(texts, pa.string()))
    return made


def _table_codes(table: Table, groups: str | None, date: str | None, stratify: str | None) -> tuple[int, Codes]:
    named = {name: column for name, column in (("groups", groups), ("stratify", stratify)) if column is not None}
    made = {name: text_codes(table, table.column(column)) for name, column in named.items()}
    made |= {} if date is None else {"date": date_codes(table, table.column(date))}
    n = len(next(iter(made.values()))[0]) if made else n_rows(table)
    if not n:
        raise InputError(f"{table.name} has no rows.")
    return n, made


def _made(
    n: int, codes: Codes, names: tuple[str, ...], share: Floats, seed: int, folds: int | None, source: str
) -> Split:
    part = np.full(n, splits.LEFT_OUT, np.int64)
    left_out: dict[str, int] = {}
    kept = np.ones(n, bool)
    for key, what in (("groups", "group"), ("date", "date"), ("stratify", "label")):
        if key in codes:
            missing = (codes[key][0] < 0) & kept
            if missing.any():
                left_out[f"they have no {what}"] = int(missing.sum())
            kept &= ~missing
    at = np.flatnonzero(kept)
    if len(at) < len(names):
        raise InputError(f"{len(names)} parts need as many rows at least; there are {len(at):,}.")
    here = {key: values[at] for key, (values, _) in codes.items()}
    if "date" in here:
        found = splits.split_dates(np.unique(here["date"], return_inverse=True)[1], share)
        if "groups" in here:
            found = splits.without_straddling(found, here["groups"], len(names))
            dropped = int((found < 0).sum())
            if dropped:
                left_out[splits.STRADDLES] = dropped
    elif "groups" in here:
        present, numbered = np.unique(here["groups"], return_inverse=True)
        group_names = [codes["groups"][1][i] for i in present.tolist()]
        found = splits.split_groups(numbered, group_names, share, seed, here.get("stratify"))
    else:
        found = splits.split_rows(len(at), share, np.random.default_rng(seed), here.get("stratify"))
    part[at] = found
    held = [part == i for i in range(len(names))]
    empty = [name for name, rows in zip(names, held, strict=True) if not rows.any()]
    if empty:
        raise InputError(
            f"the part {empty[0]!r} would be empty: all groups in its dates have a larger share of another part. "
            "Ask for fewer parts, or give it more weight."
        )
    n_groups, dates, counts, labels = None, None, None, list[str]()
    if "groups" in codes:
        n_groups = tuple(len(np.unique(codes["groups"][0][rows])) for rows in held)
    if "date" in codes:
        values, shown = codes["date"]
        dates = tuple((shown[values[rows].min()], shown[values[rows].max()]) for rows in held)
    if "stratify" in codes:
        values, labels = codes["stratify"]
        counts = np.array([np.bincount(values[rows], minlength=len(labels)) for rows in held])
    found_in = n_groups, dates, tuple(labels), counts, left_out
    return Split(names, part, tuple(share.tolist()), *found_in, folds is not None, source)


def written_files(rows: Any, table: Table, made: Split, out: str | Path) -> list[Path]:
    """Write a split: a table per part in a folder, or folds as a column of one table."""
    from howsure.files import check_outputs, make_folder

    if made.is_folds and not is_folder(out):
        check_outputs(str(out), inputs=[getattr(rows, "path", rows)])
        write_folds(table, made.part, str(out))
        return [Path(out)]
    suffix = ending(table)
    paths = [Path(out) / f"{'fold-' if made.is_folds else ''}{name}{suffix}" for name in made.names]
    make_folder(str(out))
    check_outputs(*map(str, paths), inputs=[getattr(rows, "path", rows)])
    write_parts(table, made.part, [str(p) for p in paths])
    return paths


def is_folder(out: str | Path) -> bool:
    """Whether an output is meant as a folder: it is one, ends in a slash, or has no ending of a table."""
    endings = [s.lower() for s in Path(out).suffixes if s.lower() != ".gz"][-1:]
    return Path(out).is_dir() or str(out).endswith("/") or not endings or endings[0] not in KINDS
