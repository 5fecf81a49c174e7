"""`howsure count --to-label`: which items to label, drawn with known inclusion probabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from howsure import _validate
from howsure.counting.design import Strata, cell_plan
from howsure.counting.result import Drawn, DrawnStratum
from howsure.counting.sample import strata_of_places
from howsure.counting.tally import Cell, Tally
from howsure.engines.counted import DrawWork, TallyWork, mixed
from howsure.engines.engine import Engine, engine_of
from howsure.engines.items import is_table, open_table
from howsure.engines.writing import output, write_columns
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.verbs.count import Asked, Opened, key_notes, laid_out, opened_items

ADDED = ("stratum", "inclusion")  # columns of a drawn table


def to_label(
    source: Any,
    n: int,
    *,
    out: str | None = None,
    prob: str | None = None,
    true: str | None = None,
    positive: Any = None,
    labels: Any = None,
    key: str | None = None,
    date: str | None = None,
    every: str = "month",
    by: str | None = None,
    groups: str | None = None,
    where: str | None = None,
    scale: str | None = None,
    logits: bool = False,
    rng: int = 0,
    engine: Engine | str | None = None,
) -> Drawn:
    """Draw n items to label: those that tell most about how many are positive, with known probabilities.

    Parameters
    ----------
    source : table
        A path or a data frame with the column `prob`.
    n : int
        How many more to label.
    out : path
        Write the drawn rows there (.csv, .tsv, .jsonl or .parquet), with two more columns: `stratum`, and `inclusion`,
        the probability with which the item was drawn. Their order is random, so that stopping early does no harm.
    true, positive, labels, key
        Labels that are there already, as for `count`: such items are not drawn again, and half of the weight of a stratum
        follows what its labels say.
    date, every, by
        Draw evenly over these. A period or group that would get fewer than four labels is drawn apart, at random from all of its
        items, so that it gets four (fewer where there are many such cells).
    groups : a column's name
        Draw whole groups (documents) at random, about n items in all.
    rng : int
        Seed.

    Returns
    -------
    Drawn
        `.rows` holds the drawn rows as an Arrow table.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, howsure
    >>> items = pa.table({"id": np.arange(2000), "p": np.random.default_rng(0).beta(0.3, 3, 2000)})
    >>> howsure.to_label(items, 100, prob="p").rows.column_names
    ['id', 'p', 'stratum', 'inclusion']
    """
    wanted_n = _validate.count(n, "n")
    if not is_table(source):
        raise InputError("items to label are drawn from a table: give a path or a data frame.")
    target = None if out is None else output(str(out))
    chosen = engine_of(engine)
    if chosen.kind == "memory":
        chosen = Engine("files", memory=chosen.memory, skip_bad_files=chosen.skip_bad_files)
    given = _validate.scale(scale, logits=logits)
    asked = Asked(prob, true, positive, labels, key, date, every, by, None, "random", groups, where, given)
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise InputError(f"`rng=` must be a seed of 0 or more; got {rng!r}.")
    seed = int(rng)
    with open_table(source, chosen) as table:
        there = {c.name.lower() for c in table.columns}
        for name in (name for name in ADDED if name in there):
            raise InputError(f"{table.name} has a column `{name}` already, which drawn tables add; rename it first.")
        opened = opened_items(table, asked, every_column=True, labels_needed=False)
        with opened.rows as rows:
            work = TallyWork(rows.items, opened.roles, date or "", opened.keyed, opened.labelled)
            tally = rows.rows.fold(work).in_order()
            if not tally.n_items:
                raise InputError("there are no items to draw from.")
            key_notes(tally, opened.keyed, str(source))
            of_place = strata_of_places(tally)
            plan = _plan(tally, of_place, asked, opened, wanted_n, np.random.default_rng(seed))
            names = [c.name for c in table.columns]
            drawn = rows.rows.fold(DrawWork(work, of_place, plan.wanted, seed, len(names), plan.groups))
    import pyarrow as pa

    if not len(drawn.stratum):
        raise InputError("every item is labelled: there is nothing left to draw.")
    order = np.argsort(mixed(drawn.row.astype(np.uint64), seed + 1), kind="stable")
    whole = pa.concat_tables(drawn.rows).rename_columns(names).take(pa.array(order))
    made = plan.strata(drawn.stratum)
    texts = [f"{s.from_prob:.6g} to {s.to_prob:.6g}" for s in made]
    at = [(int(drawn.stratum[i]), drawn.cell[i]) for i in order.tolist()]
    whole = whole.append_column("stratum", pa.array([plan.apart.get(cell, texts[h]) for h, cell in at]))
    whole = whole.append_column("inclusion", pa.array([float(plan.inclusion[h, plan.number[cell]]) for h, cell in at]))
    if target is not None:
        write_columns({name: whole.column(name) for name in whole.column_names}, target)
    half, n_groups = (plan.half_width(made), None) if plan.groups is None else (None, len(plan.groups))
    about = made, whole, n_groups, None if out is None else str(out), tuple(plan.apart.values())
    return Drawn(tally.n_items, len(tally.labels), len(order), half, *about)


@dataclass(frozen=True, slots=True)
class _Plan:
    """How many to draw of each stratum and cell; or which groups."""

    now: Strata
    low: Floats
    high: Floats
    wanted: dict[tuple[int, Cell], int]
    inclusion: Floats  # of the items of each stratum and cell
    number: dict[Cell, int]
    apart: dict[Cell, str]  # cells drawn apart, with the name of their stratum
    groups: Any = None

    def strata(self, stratum: Ints) -> tuple[DrawnStratum, ...]:
        """What was drawn of each."""
        n = np.bincount(stratum, minlength=len(self.now.items))
        shared = [c for cell, c in self.number.items() if cell not in self.apart]
        inclusion = self.inclusion[:, shared or slice(None)].max(1)
        columns = (self.low, self.high, self.now.items, self.now.labelled, n, inclusion)
        return tuple(DrawnStratum(*row) for row in zip(*(column.tolist() for column in columns), strict=True))

    def half_width(self, made: tuple[DrawnStratum, ...]) -> float:
        """Of the share's interval, if labels come out as the model and the labels so far say."""
        n = np.array([s.n_labels + s.n_drawn for s in made], np.float64)
        p = (self.now.positive + 20 * self.now.mean_prob) / (self.now.labelled + 20)
        size = self.now.items.astype(np.float64)
        used = (size > 0) & (n > 0)
        w = size / size.sum()
        v = (w**2 * np.maximum(1 - n / np.maximum(size, 1), 0) * p * (1 - p) / np.maximum(n, 1))[used].sum()
        return float(1.96 * np.sqrt(v))


def _plan(tally: Tally, of_place: Ints, asked: Asked, opened: Opened, n: int, rng: np.random.Generator) -> _Plan:
    h = int(of_place.max()) + 1
    labels = tally.labels
    size = np.bincount(of_place[tally.place], tally.n, h).astype(np.int64)
    total = np.bincount(of_place[tally.place], tally.sum.astype(np.float64), h) / 2**32
    have = np.bincount(of_place[labels.place], minlength=h)
    positive = np.bincount(of_place[labels.place], labels.y, h).astype(np.int64)
    now = Strata(size, total / np.maximum(size, 1), have, positive)
    sums = np.bincount(tally.place, tally.sum.astype(np.float64))
    mean = sums / np.maximum(np.bincount(tally.place, tally.n), 1) / 2**32
    places = np.unique(tally.place)
    low, high = np.full(h, np.inf), np.full(h, -np.inf)
    np.minimum.at(low, of_place[places], mean[places])
    np.maximum.at(high, of_place[places], mean[places])
    # Cells in order: periods in time, groups within them.
    cells, of_cell, _ = laid_out(tally.cells, asked, opened.roles)
    number = dict(zip(tally.cells, of_cell.tolist(), strict=True))
    if asked.groups is not None:
        known = np.unique(labels.group)
        free = np.setdiff1d(tally.groups, known)
        m = min(len(free), max(2, round(n / (tally.n_items / len(tally.groups)))))
        drawn = np.sort(rng.choice(free, m, replace=False))
        same = np.full((h, len(cells)), (m + len(known)) / len(tally.groups))
        return _Plan(now, low, high, {}, same, number, {}, drawn)

    def crossed(stratum: Ints, cell: Ints, values: Any) -> Ints:
        code = stratum * len(cells) + of_cell[cell]
        return np.bincount(code, values, h * len(cells)).reshape(h, -1).astype(np.int64)

    items = crossed(of_place[tally.place], tally.cell, tally.n)
    taken, found = (crossed(of_place[labels.place], labels.cell, v) for v in (np.ones(len(labels)), labels.y))
    names = ["all of " + ", ".join(part for part in cell if part) for cell in cells]
    before = np.isin(names, list(opened.keyed.strata) if opened.keyed else [])
    plan = cell_plan(items, taken, found, now.mean_prob, n, rng, before)
    back = {i: name for name, i in number.items()}
    wanted = {(a, back[c]): int(plan.wanted[a, c]) for a, c in np.argwhere(plan.wanted).tolist()}
    apart = {back[c]: names[c] for c in np.flatnonzero(plan.apart).tolist()}
    return _Plan(now, low, high, wanted, plan.inclusion, number, apart)
