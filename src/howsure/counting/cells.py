"""Counts per period or group: one curve from probability to frequency shared by all cells, and an effect of each cell.

logit p_hc = s_h + x_c b + u_c for stratum h and cell c, with s_h ~ log-F(1, 1), u_c ~ τ times Student's t with 4 degrees of
freedom and τ ~ half-normal(1) on a grid. x_c holds, where cells are periods, standardised time, whose slope is N(0, 1); where
cells are periods by groups, the effects of the period and of the group, N(0, τ²), u_c being half as large. Cells share the
strata's curve as far as the labels say, and no further: τ is learnt, and a cell unlike the others is allowed for by the t's
tails. What is counted are draws: the labelled positives and Binomial(N_hc - n_hc, p_hc) of the rest.

The posterior with Gaussian u given τ is log-concave; its mode comes from Newton's method, with the Hessian's arrow shape (cells
meet only in s and b) keeping every step linear in the number of cells. Draws start from these Laplace approximations, mixed
over τ, and are moved by sweeps of elliptical slice sampling around them and of τ given the effects: exact in the limit, and
nearly so at the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howsure.counting.share import Share, share_of_positives
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.special import expit, logit, ndtri

TAU = np.array([0.02, 0.06, 0.12, 0.2, 0.3, 0.45, 0.65, 0.9, 1.2, 1.6, 2.2])
SWEEPS = 8
FREEDOM = 4.0  # of the t law of the cells' own effects


@dataclass(frozen=True, slots=True)
class Effects:
    """What cells have in common beside the strata's curve.

    `columns`, shape (C, A), hold x_c; coefficients have prior precision `fixed` + `scaled` ÷ τ², the cells' own effects
    `own` ÷ τ².
    """

    columns: Floats
    fixed: Floats
    scaled: Floats
    own: float = 1.0


def exchangeable(n_cells: int) -> Effects:
    """Cells in no order: groups."""
    return Effects(np.zeros((n_cells, 0)), np.zeros(0), np.zeros(0))


def in_time(period: Ints, group: Ints | None = None) -> Effects:
    """Cells of periods (numbered in time), alone or by group."""
    n = int(period.max()) + 1
    time = (period - (n - 1) / 2) / max(np.arange(n).std(), 1e-300)
    columns, fixed, scaled = [time[:, None]], [1.0], [0.0]
    if group is None:
        return Effects(np.hstack(columns), np.array(fixed), np.array(scaled))
    for factor in (period, group):
        dummies = np.eye(int(factor.max()) + 1)[factor]
        columns.append(dummies)
        fixed += [0.0] * dummies.shape[1]
        scaled += [1.0] * dummies.shape[1]
    return Effects(np.hstack(columns), np.array(fixed), np.array(scaled), 4.0)


@dataclass(frozen=True, slots=True)
class CellDraws:
    """Joint draws of the number of positives in each cell, shape (draws, C), and the share of all items together."""

    counts: Ints
    n_items: Ints
    total: Share

    def __repr__(self) -> str:
        return f"CellDraws({self.counts.shape[1]} cells, {self.counts.shape[0]:,} draws, all: {self.total})"

    def interval(self, confidence_level: float = 0.95) -> tuple[Ints, Ints]:
        """Lower and upper limits of each cell's count."""
        tail = (1 - confidence_level) / 2
        low, high = np.quantile(self.counts, [tail, 1 - tail], axis=0, method="inverted_cdf")
        return low.astype(np.int64), high.astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Laplace:
    """The Gaussian approximation given τ: mode, and the arrow-shaped Hessian as Schur complement and diagonal."""

    tau: float
    mode: Floats  # s, b, u
    factor: Floats  # rows z @ factor have the covariance of the head
    schur: Floats
    cross: Floats  # ∂²/∂(s, b)∂u, shape (A, C)
    diagonal: Floats
    log_mass: float

    def steps(self, n: int, rng: np.random.Generator) -> Floats:
        """n draws around zero."""
        head = rng.standard_normal((n, len(self.schur))) @ self.factor
        tail = rng.standard_normal((n, len(self.diagonal))) / np.sqrt(self.diagonal)
        return np.hstack([head, tail - head @ (self.cross / self.diagonal)])

    def product(self, x: Floats, y: Floats) -> Floats:
        """x' H y of rows, both around zero."""
        a = len(self.schur)
        slope = self.cross / self.diagonal
        inner, other = (d[:, a:] + d[:, :a] @ slope for d in (x, y))
        return ((x[:, :a] @ self.schur) * y[:, :a]).sum(1) + (inner * other) @ self.diagonal


class CellModel:
    """The posterior of the model above, given the table stratum × cell of labels and positive labels.

    Parameters
    ----------
    labelled, positive : arrays, shape (H, C)
        Whole numbers, or effective ones where items were drawn with unequal probabilities.
    effects : Effects
    """

    def __init__(self, labelled: Floats | Ints, positive: Floats | Ints, effects: Effects) -> None:
        self.effects = effects
        self._h, self._c = labelled.shape
        self._head = self._h + len(effects.fixed)
        # Only cells with labels say anything: the likelihood is a sum over these.
        self._row, self._column = np.nonzero(labelled)
        self._n = labelled[self._row, self._column].astype(np.float64)
        self._k = positive[self._row, self._column].astype(np.float64)
        self._start = np.log((positive.sum(1) + 0.5) / (labelled.sum(1) - positive.sum(1) + 0.5))

    def logits(self, x: Floats) -> Floats:
        """Of p_hc for each parameter vector, shape (draws, H, C)."""
        return x[:, : self._h, None] + self._of_cells(x)[:, None, :]

    def _of_cells(self, x: Floats) -> Floats:
        own = x[:, self._head :]
        return own + x[:, self._h : self._head] @ self.effects.columns.T if len(self.effects.fixed) else own

    def log_likelihood(self, x: Floats) -> Floats:
        """Of each parameter vector, with the prior of s."""
        eta = x[:, self._row] + self._of_cells(x)[:, self._column]
        s = x[:, : self._h]
        # log(1 + exp η) without care for η below -36, where it is nothing; NumPy's own logaddexp takes three times as long.
        return np.asarray(
            eta @ self._k - np.log(1 + np.exp(np.minimum(eta, 700))) @ self._n + (s / 2 - np.logaddexp(0, s)).sum(1)
        )

    def log_prior(self, x: Floats, tau: Floats | float, freedom: float | None = FREEDOM) -> Floats:
        """Of b and u given τ, one for all or one for each vector; `freedom` None for Gaussian u."""
        b, u = x[:, self._h : self._head] ** 2, x[:, self._head :] ** 2
        e = self.effects
        precise = 1 / np.square(tau)
        log = -0.5 * (b @ e.fixed + (b @ e.scaled) * precise) - (e.scaled.sum() + self._c) * np.log(tau)
        if freedom is None:
            return np.asarray(log - 0.5 * e.own * precise * u.sum(1))
        scale = np.reshape(precise * e.own / freedom, (-1, 1))
        return np.asarray(log - (freedom + 1) / 2 * np.log1p(u * scale).sum(1))

    @cached_property
    def laplace(self) -> list[_Laplace]:
        """An approximation for each τ."""
        x = np.zeros(self._head + self._c)
        x[: self._h] = self._start
        made = []
        for tau in TAU:
            x, parts = self._mode(x, tau)
            made.append(parts)
        return made

    def _mode(self, x: Floats, tau: float) -> tuple[Floats, _Laplace]:
        h, c, a, e = self._h, self._c, self._head, self.effects
        precision = e.fixed + e.scaled / tau**2
        for _ in range(100):
            p = expit(x[self._row] + self._of_cells(x[None])[0, self._column])
            rest, weight = self._k - self._n * p, self._n * p * (1 - p)
            by_cell = np.bincount(self._column, rest, c)
            table = np.zeros((h, c))
            table[self._row, self._column] = weight
            s = expit(x[:h])
            gradient = np.concatenate(
                [
                    np.bincount(self._row, rest, h) + 0.5 - s,
                    by_cell @ e.columns - x[h:a] * precision,
                    by_cell - x[a:] * e.own / tau**2,
                ]
            )
            total = table.sum(0)
            middle = table @ e.columns
            corner = (e.columns * total[:, None]).T @ e.columns + np.diag(precision)
            top = np.block([[np.diag(table.sum(1) + s * (1 - s)), middle], [middle.T, corner]])
            cross = np.vstack([table, (e.columns * total[:, None]).T])
            diagonal = total + e.own / tau**2
            schur = top - (cross / diagonal) @ cross.T
            head = np.linalg.solve(schur, gradient[:a] - (cross / diagonal) @ gradient[a:])
            step = np.concatenate([head, (gradient[a:] - head @ cross) / diagonal])
            x = x + step * min(1.0, 3.0 / max(np.abs(step).max(), 1e-300))
            if np.abs(step).max() < 1e-9:
                break
        lower = np.linalg.cholesky(schur)
        log_mass = float(
            (self.log_likelihood(x[None]) + self.log_prior(x[None], tau, None))[0]
            - np.log(np.diag(lower)).sum()
            - np.log(diagonal).sum() / 2
        )
        return x, _Laplace(float(tau), x, np.linalg.inv(lower), schur, cross, diagonal, log_mass)

    def draws(self, n: int, rng: np.random.Generator) -> Floats:
        """n parameter vectors (s, b, u) from the posterior."""
        prior = np.log(np.gradient(TAU)) - TAU**2 / 2
        mass = np.array([p.log_mass for p in self.laplace]) + prior
        chosen = rng.choice(len(TAU), n, p=_normalised(mass))
        x = np.empty((n, self._head + self._c))
        for j, part in enumerate(self.laplace):
            mine = np.flatnonzero(chosen == j)
            x[mine] = part.mode + part.steps(len(mine), rng)
        for _ in range(SWEEPS):
            x = self._moved(x, chosen, rng)
            density = prior + np.stack([self.log_prior(x, tau) for tau in TAU], axis=1)
            chosen = (density + rng.gumbel(size=density.shape)).argmax(1)
        return x

    def _moved(self, x: Floats, chosen: Ints, rng: np.random.Generator) -> Floats:
        """One step of elliptical slice sampling each, the Laplace approximation standing in for the Gaussian prior.

        On the ellipse mode + a cos θ + b sin θ the approximation's exponent is a quadratic form in cos θ and sin θ.
        """
        mode, other = np.empty_like(x), np.empty_like(x)
        squares = np.empty((3, len(x)))  # a'Ha, a'Hb, b'Hb
        for j in np.unique(chosen).tolist():
            mine, part = np.flatnonzero(chosen == j), self.laplace[j]
            here, there = x[mine] - part.mode, part.steps(len(mine), rng)
            mode[mine], other[mine] = part.mode, there
            squares[:, mine] = part.product(here, here), part.product(here, there), part.product(there, there)
        here, tau = x - mode, TAU[chosen]

        def excess(at: Floats, rows: Ints, cos: Floats, sin: Floats) -> Floats:
            aa, ab, bb = squares[:, rows]
            norm = aa * cos**2 + 2 * ab * cos * sin + bb * sin**2
            return self.log_likelihood(at) + self.log_prior(at, tau[rows]) + norm / 2

        everyone = np.arange(len(x))
        level = excess(x, everyone, np.ones(len(x)), np.zeros(len(x))) + np.log(rng.random(len(x)))
        angle = rng.random(len(x)) * 2 * np.pi
        low, high = angle - 2 * np.pi, angle.copy()
        made, open_ = x.copy(), everyone
        while len(open_):
            cos, sin = np.cos(angle[open_]), np.sin(angle[open_])
            turned = mode[open_] + here[open_] * cos[:, None] + other[open_] * sin[:, None]
            good = excess(turned, open_, cos, sin) > level[open_]
            made[open_[good]] = turned[good]
            open_ = open_[~good]
            negative = angle[open_] < 0
            low[open_] = np.where(negative, angle[open_], low[open_])
            high[open_] = np.where(negative, high[open_], angle[open_])
            angle[open_] = low[open_] + rng.random(len(open_)) * (high[open_] - low[open_])
        return made


def cell_counts(
    items: Ints,
    labelled: Ints,
    positive: Ints,
    effects: Effects,
    *,
    effective: tuple[Floats, Floats] | None = None,
    total: Share | None = None,
    n_draws: int = 1_000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> CellDraws:
    """Joint draws of the number of positives in each cell, their total in accord with the tilted interval.

    The model's own total is too narrow with few labels, so that each draw's logits are moved together until its expected
    total is the quantile, of the same rank, of the tilted interval (a normal law on each side of its estimate, in logits).

    Parameters
    ----------
    items, labelled, positive : arrays, shape (H, C)
    effects : Effects
        `exchangeable` or `in_time`.
    effective : (labelled, positive)
        What labels are worth where they were drawn with unequal probabilities; as they are by default.
    total : Share
        The share of all items; by default the tilted interval of the table's rows.
    """
    if total is None:
        total = share_of_positives(items.sum(1), labelled.sum(1), positive.sum(1), confidence_level)
    n, k = effective or (labelled, positive)
    model = CellModel(n, k, effects)
    eta = model.logits(model.draws(n_draws, rng))
    rest = items - labelled
    eta = eta + _shift(eta, rest, int(positive.sum()), total)[:, None, None]
    counts = positive.sum(0) + rng.binomial(rest, expit(eta)).sum(1)
    return CellDraws(counts, items.sum(0), total)


def _shift(eta: Floats, rest: Ints, positive: int, total: Share) -> Floats:
    """What to add to the logits of each draw."""
    n = total.n_items
    floor = 0.3 / n
    low, middle, high = (float(logit(np.clip(v, floor, 1 - floor))) for v in (total.low, total.value, total.high))
    middle = min(max(middle, low + 1e-9), high - 1e-9)
    flat, weight = eta.reshape(len(eta), -1), rest.astype(np.float64).ravel()
    expected = (positive + expit(flat) @ weight) / n
    rank = (np.argsort(np.argsort(expected, kind="stable"), kind="stable") + 0.5) / len(expected)
    z = ndtri(rank) / ndtri((1 + total.confidence_level) / 2)
    goal = expit(middle + np.where(z < 0, (middle - low) * z, (high - middle) * z))
    goal = np.clip(goal, (positive + floor) / n, (positive + rest.sum() - floor) / n)
    a, b = np.full(len(goal), -30.0), np.full(len(goal), 30.0)
    c = np.zeros(len(goal))
    for _ in range(60):  # Newton's method, kept inside a bracket
        p = expit(flat + c[:, None])
        rises = (p * (1 - p)) @ weight / n
        off = (positive + p @ weight) / n - goal
        a, b = np.where(off < 0, c, a), np.where(off < 0, b, c)
        c_next = c - off / np.maximum(rises, 1e-300)
        c_next = np.where((c_next > a) & (c_next < b), c_next, (a + b) / 2)
        if np.abs(c_next - c).max() < 1e-7:
            return c_next
        c = c_next
    return c


def _normalised(log_mass: Floats) -> Floats:
    mass = np.exp(log_mass - log_mass.max())
    return mass / mass.sum()
