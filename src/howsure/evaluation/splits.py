"""Train, dev and test, or folds, that share no group and no time.

Three ways, each exact about what it promises (docs/guides/split.md):

- rows: a shuffle, dealt out so that the sizes are exact and any run of the shuffle is in proportion; sorted by label
  first when stratified, so that every label is in proportion too.
- groups: shuffled by a hash of their names and the seed, laid end to end, and cut; a group goes where its middle lies.
  Of several shuffles the one nearest to the proportions (of rows and, if stratified, labels) is taken.
- dates: cut between distinct dates, nearest to the proportions. A group that straddles a cut stays in the part of
  which it is the largest share, which keeps the proportions; its other rows are left out.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from howsure import _validate
from howsure._result import Result, drawn_by
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.chains.log_space import mixed

SHUFFLES = 64
LEFT_OUT = -1
STRADDLES = "their group was put into another part (it straddles a cut between dates)"


@dataclass(frozen=True, slots=True)
class Split(Result):
    """Which part each row is in. Made by `howsure.split`."""

    names: tuple[str, ...]
    part: Ints  # of each row: its number in `names`, -1 if it was left out
    target: tuple[float, ...]  # shares asked for
    n_groups: tuple[int, ...] | None = None  # of each part
    dates: tuple[tuple[str, str], ...] | None = None  # first and last of each part
    labels: tuple[str, ...] = ()
    label_counts: Ints | None = None  # (parts, labels) when stratified
    left_out: Mapping[str, int] = field(default_factory=dict)  # reason: rows
    is_folds: bool = False
    source: str = ""
    files: tuple[str, ...] = ()  # written

    def __repr__(self) -> str:
        return f"Split({', '.join(f'{name} {size:,}' for name, size in self.sizes.items())})"

    @property
    def sizes(self) -> dict[str, int]:
        """Rows of each part."""
        counted = np.bincount(self.part[self.part >= 0], minlength=len(self.names))
        return dict(zip(self.names, counted.tolist(), strict=True))

    def rows(self, name: str) -> Ints:
        """Numbers of the rows of a part."""
        _validate.known(name, self.names, f"there is no part `{name}`")
        return np.flatnonzero(self.part == self.names.index(name))

    def folds(self) -> Iterator[tuple[Ints, Ints]]:
        """(rows to train on, rows to test on) for each fold in turn; by date, only earlier folds are trained on."""
        for k in range(1 if self.dates is not None else 0, len(self.names)):
            before = (self.part < k) if self.dates is not None else (self.part != k)
            yield np.flatnonzero(before & (self.part >= 0)), np.flatnonzero(self.part == k)

    @property
    def verdict(self) -> str:
        """What was done, in words."""
        n = int((self.part >= 0).sum())
        shown = ", ".join(f"{name} {size:,} ({size / n:.1%})" for name, size in self.sizes.items())
        kept = [] if self.n_groups is None else ["no group is in two parts"]
        kept += [] if self.dates is None else ["every part is later than the one before"]
        said = f"{n:,} rows in {len(self.names)} {'folds' if self.is_folds else 'parts'}: {shown}."
        return said + (f" {' and '.join(kept).capitalize()}." if kept else "")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data: what `--json` prints."""
        total = max(int((self.part >= 0).sum()), 1)
        parts = []
        for i, (name, size) in enumerate(self.sizes.items()):
            made: dict[str, Any] = {"name": name, "n": size, "share": size / total, "target": self.target[i]}
            if self.n_groups is not None:
                made["n_groups"] = self.n_groups[i]
            if self.dates is not None:
                made["first_date"], made["last_date"] = self.dates[i]
            if self.label_counts is not None:
                made["labels"] = dict(zip(self.labels, self.label_counts[i].tolist(), strict=True))
            parts.append(made)
        more = {"left_out": dict(self.left_out), "files": list(self.files)}
        return {"verdict": self.verdict, "n": total, "parts": parts, **more}

    def table(self) -> list[dict[str, Any]]:
        """One row a part."""
        return [{k: v for k, v in part.items() if k != "labels"} for part in self.to_dict()["parts"]]

    to_text = drawn_by("howsure.report.text.labels.split_text")


def quotas(n: int, share: Floats) -> Ints:
    """Whole numbers in proportion that sum to n: largest remainders."""
    exact = n * share
    made = np.floor(exact).astype(np.int64)
    made[np.argsort(-(exact - made), kind="stable")[: n - int(made.sum())]] += 1
    return made


def dealt(n: int, share: Floats) -> Ints:
    """Parts of positions 0 … n-1: totals are the quotas, and every run of positions is in proportion to within two."""
    sizes = quotas(n, share)
    times = np.concatenate([(np.arange(s) + 0.5) / s for s in sizes if s] or [np.zeros(0)])
    return np.repeat(np.arange(len(share)), sizes)[np.argsort(times, kind="stable")]


def split_rows(n: int, share: Floats, rng: np.random.Generator, strata: Ints | None = None) -> Ints:
    """A part for each row, at random; with `strata`, each of them in proportion."""
    order = rng.permutation(n)
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
        order = np.roll(order, int(rng.integers(n)))  # a stratum of one row may fall to any part
    return dealt(n, share)[np.argsort(order)]


def split_groups(groups: Ints, names: Sequence[str], share: Floats, seed: int, strata: Ints | None = None) -> Ints:
    """A part for each row, whole groups together; the order of the rows makes no difference."""
    n_groups, n_parts = len(names), len(share)
    if n_groups < n_parts:
        raise InputError(f"{n_parts} parts need as many groups at least; there are {n_groups}.")
    size = np.bincount(groups, minlength=n_groups).astype(np.float64)
    cuts = np.cumsum(share)[:-1]
    counts = None
    if strata is not None:
        k = int(strata.max()) + 1
        counts = np.bincount(groups * k + strata, minlength=n_groups * k).reshape(n_groups, k).astype(np.float64)
    key = seed.to_bytes(16, "little")
    hashes = (hashlib.blake2b(n.encode(errors="surrogatepass"), digest_size=8, key=key).digest() for n in names)
    keys = np.frombuffer(b"".join(hashes), "<u8").astype(np.uint64)
    best: tuple[float, Ints] | None = None
    for attempt in range(SHUFFLES):
        with np.errstate(over="ignore"):  # another shuffle from the same hashes (a round of splitmix64)
            shuffled = mixed(keys + np.uint64((attempt * 0x9E3779B97F4A7C15) % 2**64))
        order = np.argsort(shuffled, kind="stable")
        middle = (np.cumsum(size[order]) / size.sum()) - size[order] / (2.0 * size.sum())
        parts = np.empty(n_groups, np.int64)
        parts[order] = np.searchsorted(cuts, middle, side="right")
        badness = _badness(parts, size, counts, share)
        if best is None or badness < best[0]:
            best = badness, parts
    assert best is not None
    return _filled(best[1], size, n_parts)[groups]


def _filled(parts: Ints, size: Floats, n_parts: int) -> Ints:
    """A part smaller than the groups may have got none: it gets the smallest of the part that has most groups."""
    held = np.bincount(parts, minlength=n_parts)
    for empty in np.flatnonzero(held == 0).tolist():
        inside = np.flatnonzero(parts == int(held.argmax()))
        parts[inside[size[inside].argmin()]] = empty
        held = np.bincount(parts, minlength=n_parts)
    return parts


def _badness(parts: Ints, size: Floats, counts: Floats | None, share: Floats) -> float:
    """How far sizes (and labels) are from the proportions; a part without a group is worst."""
    n_parts = len(share)
    empty = float(n_parts - len(np.unique(parts)))
    rows = np.bincount(parts, size, n_parts)
    off = float(np.sum((rows - size.sum() * share) ** 2 / (size.sum() * share))) / float(size.sum())
    if counts is not None:
        made = np.zeros((n_parts, counts.shape[1]))
        np.add.at(made, parts, counts)
        wanted = np.outer(share, counts.sum(axis=0))
        off += float(np.sum((made - wanted) ** 2 / np.maximum(wanted, 0.5))) / float(size.sum())
    return 1e6 * empty + off


def split_dates(date: Ints, share: Floats) -> Ints:
    """A part for each row (`date` numbers the distinct dates in order): cut between dates, nearest to the proportions.

    Every part has a date of its own.
    """
    size = np.bincount(date)
    n_parts = len(share)
    if len(size) < n_parts:
        raise InputError(f"{n_parts} parts need as many different dates at least; there are {len(size)}.")
    before = np.concatenate([[0], np.cumsum(size)])  # rows before each possible cut
    cuts: list[int] = []
    for i, wanted in enumerate(np.cumsum(share)[:-1] * len(date)):
        lowest, highest = (cuts[-1] if cuts else 0) + 1, len(size) - (n_parts - 1 - i)
        reachable = before[lowest : highest + 1]
        cuts.append(lowest + int(np.argmin(np.abs(reachable - wanted))))
    return np.searchsorted(np.array(cuts), date, side="right").astype(np.int64)


def without_straddling(part: Ints, groups: Ints, n_parts: int) -> Ints:
    """Rows of a group outside the part of which it is the largest share (of equals the latest) are left out.

    Not the part that has most of its rows: groups active all the time would all fall to the largest part.
    """
    n_groups = int(groups.max()) + 1
    counts = np.bincount(groups * n_parts + part, minlength=n_groups * n_parts).reshape(n_groups, n_parts)
    share = counts / np.maximum(counts.sum(axis=0), 1)
    return np.where(part == (n_parts - 1 - share[:, ::-1].argmax(axis=1))[groups], part, LEFT_OUT)
