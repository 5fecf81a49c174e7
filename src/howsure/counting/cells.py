"""Counts per period or group: one curve from probability to frequency shared by all cells, and an effect of each cell.

logit p_ht = s_h + δ t + u_t for stratum h and cell t, with s_h ~ log-F(1, 1), u_t ~ N(0, τ²), τ ~ half-normal(1) on a grid and,
where cells are ordered in time, δ ~ N(0, 1) on standardised time. Cells share the strata's curve as far as the labels say, and
no further: τ is learnt. What is counted are draws: k_ht labelled positives and Binomial(N_ht - n_ht, p_ht) of the rest.

The posterior given τ is log-concave; its mode comes from Newton's method, with the Hessian's arrow shape (cells meet only in
s and δ) keeping every step linear in the number of cells. Draws start from the Laplace approximations, mixed over τ, and are
moved by sweeps of elliptical slice sampling around them and of τ given u: exact in the limit, and nearly so at the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howsure.counting.share import Share, share_of_positives
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.special import expit, logit, ndtri

TAU = np.array([0.02, 0.06, 0.12, 0.2, 0.3, 0.45, 0.65, 0.9, 1.2, 1.6, 2.2])
SWEEPS = 12


@dataclass(frozen=True, slots=True)
class CellDraws:
    """Joint draws of the number of positives in each cell, shape (draws, T), and the share of all items together."""

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
    mode: Floats  # s, δ, u
    factor: Floats  # upper Cholesky factor of the inverse of the Schur complement
    schur: Floats
    cross: Floats  # ∂²/∂(s, δ)∂u, shape (A, T)
    diagonal: Floats
    log_mass: float

    def steps(self, n: int, rng: np.random.Generator) -> Floats:
        """n draws around zero."""
        head = rng.standard_normal((n, len(self.schur))) @ self.factor
        tail = rng.standard_normal((n, len(self.diagonal))) / np.sqrt(self.diagonal)
        return np.hstack([head, tail - head @ (self.cross / self.diagonal)])

    def half_norm(self, x: Floats) -> Floats:
        """½ (x - mode)' H (x - mode)."""
        d = x - self.mode
        head, tail = d[:, : len(self.schur)], d[:, len(self.schur) :]
        inner = tail + head @ (self.cross / self.diagonal)
        return 0.5 * (np.einsum("ia,ab,ib->i", head, self.schur, head) + (inner**2 * self.diagonal).sum(1))


class CellModel:
    """The posterior of the model above, given the table stratum × cell of items, labels and positive labels.

    Parameters
    ----------
    items, labelled, positive : arrays, shape (H, T)
    ordered : bool
        Whether cells are ordered in time and have a trend δ.
    """

    def __init__(self, items: Ints, labelled: Ints, positive: Ints, *, ordered: bool) -> None:
        self.items, self.labelled, self.positive = items, labelled, positive
        self._h, self._t = items.shape
        self._ordered = ordered and self._t > 1
        time = np.arange(self._t, dtype=np.float64) - (self._t - 1) / 2
        self._time = time / time.std() if self._ordered else np.zeros(self._t)
        self._head = self._h + self._ordered
        # Only cells with labels say anything: the likelihood is a sum over these.
        self._row, self._column = np.nonzero(labelled)
        self._n = labelled[self._row, self._column].astype(np.float64)
        self._k = positive[self._row, self._column].astype(np.float64)

    def logits(self, x: Floats) -> Floats:
        """Of p_ht for each parameter vector, shape (draws, H, T)."""
        return x[:, : self._h, None] + self._effects(x)[:, None, :]

    def _effects(self, x: Floats) -> Floats:
        effects = x[:, self._head :]
        return effects + x[:, self._h, None] * self._time if self._ordered else effects

    def log_likelihood(self, x: Floats) -> Floats:
        """Of each parameter vector, with the priors of s and δ but not that of u."""
        eta = x[:, self._row] + self._effects(x)[:, self._column]
        s = x[:, : self._h]
        made = (self._k * eta - self._n * np.logaddexp(0, eta)).sum(1) + (s / 2 - np.logaddexp(0, s)).sum(1)
        return made - x[:, self._h] ** 2 / 2 if self._ordered else made

    def log_prior(self, x: Floats, tau: float) -> Floats:
        """Of u given τ."""
        return -(x[:, self._head :] ** 2).sum(1) / (2 * tau**2) - self._t * np.log(tau)

    @cached_property
    def _laplace(self) -> list[_Laplace]:
        n, k = self.labelled.sum(1), self.positive.sum(1)
        x = np.zeros(self._head + self._t)
        x[: self._h] = np.log((k + 0.5) / (n - k + 0.5))
        made = []
        for tau in TAU:
            x, parts = self._mode(x, tau)
            made.append(parts)
        return made

    def _mode(self, x: Floats, tau: float) -> tuple[Floats, _Laplace]:
        h, t, a = self._h, self._t, self._head
        for _ in range(100):
            p = expit(x[self._row] + self._effects(x[None])[0, self._column])
            rest, weight = self._k - self._n * p, self._n * p * (1 - p)
            by_cell = np.bincount(self._column, rest, t)
            table = np.zeros((h, t))
            table[self._row, self._column] = weight
            s = expit(x[:h])
            gradient = np.concatenate(
                [
                    np.bincount(self._row, rest, h) + 0.5 - s,
                    [by_cell @ self._time - x[h]] if self._ordered else [],
                    by_cell - x[a:] / tau**2,
                ]
            )
            top = np.diag(table.sum(1) + s * (1 - s))
            cross = table
            if self._ordered:
                middle = (table * self._time).sum(1)
                corner = (table.sum(0) * self._time**2).sum() + 1
                top = np.block([[top, middle[:, None]], [middle[None], np.array([[corner]])]])
                cross = np.vstack([table, table.sum(0) * self._time])
            diagonal = table.sum(0) + 1 / tau**2
            schur = top - (cross / diagonal) @ cross.T
            head = np.linalg.solve(schur, gradient[:a] - (cross / diagonal) @ gradient[a:])
            step = np.concatenate([head, (gradient[a:] - head @ cross) / diagonal])
            x = x + step * min(1.0, 3.0 / max(np.abs(step).max(), 1e-300))
            if np.abs(step).max() < 1e-9:
                break
        lower = np.linalg.cholesky(schur)
        log_mass = float(
            (self.log_likelihood(x[None]) + self.log_prior(x[None], tau))[0]
            - np.log(np.diag(lower)).sum()
            - np.log(diagonal).sum() / 2
        )
        factor = np.linalg.inv(lower)  # rows z @ factor have the covariance of the head
        return x, _Laplace(float(tau), x, factor, schur, cross, diagonal, log_mass)

    def draws(self, n: int, rng: np.random.Generator) -> Floats:
        """n parameter vectors (s, δ, u) from the posterior."""
        prior = np.log(np.gradient(TAU)) - TAU**2 / 2
        mass = np.array([p.log_mass for p in self._laplace]) + prior
        chosen = rng.choice(len(TAU), n, p=_normalised(mass))
        x = np.empty((n, self._head + self._t))
        for j, part in enumerate(self._laplace):
            mine = np.flatnonzero(chosen == j)
            x[mine] = part.mode + part.steps(len(mine), rng)
        for _ in range(SWEEPS):
            for j, part in enumerate(self._laplace):
                mine = np.flatnonzero(chosen == j)
                if len(mine):
                    x[mine] = self._moved(x[mine], part, rng)
            squares = (x[:, self._head :] ** 2).sum(1)
            density = prior - squares[:, None] / (2 * TAU**2) - self._t * np.log(TAU)
            gumbel = rng.gumbel(size=density.shape)
            chosen = (density + gumbel).argmax(1)
        return x

    def _moved(self, x: Floats, part: _Laplace, rng: np.random.Generator) -> Floats:
        """One step of elliptical slice sampling each, the Laplace approximation standing in for the Gaussian prior."""

        def excess(at: Floats) -> Floats:
            return self.log_likelihood(at) + self.log_prior(at, part.tau) + part.half_norm(at)

        level = excess(x) + np.log(rng.random(len(x)))
        other = part.steps(len(x), rng)
        angle = rng.random(len(x)) * 2 * np.pi
        low, high = angle - 2 * np.pi, angle.copy()
        here, made = x - part.mode, x.copy()
        open_ = np.arange(len(x))
        while len(open_):
            turned = part.mode + here[open_] * np.cos(angle[open_, None]) + other[open_] * np.sin(angle[open_, None])
            good = excess(turned) > level[open_]
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
    *,
    ordered: bool,
    n_draws: int = 2_000,
    confidence_level: float = 0.95,
    rng: np.random.Generator,
) -> CellDraws:
    """Joint draws of the number of positives in each cell, their total in accord with the tilted interval.

    The model's own total is too narrow with few labels, so that each draw's logits are moved together until its expected
    total is the quantile, of the same rank, of the tilted interval (a normal law on each side of its estimate, in logits).
    """
    total = share_of_positives(items.sum(1), labelled.sum(1), positive.sum(1), confidence_level)
    model = CellModel(items, labelled, positive, ordered=ordered)
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
    expected = (positive + np.einsum("ht,dht->d", rest.astype(np.float64), expit(eta))) / n
    rank = (np.argsort(np.argsort(expected, kind="stable"), kind="stable") + 0.5) / len(expected)
    z = ndtri(rank) / ndtri((1 + total.confidence_level) / 2)
    goal = expit(middle + np.where(z < 0, (middle - low) * z, (high - middle) * z))
    goal = np.clip(goal, (positive + floor) / n, (positive + rest.sum() - floor) / n)
    a, b = np.full(len(goal), -30.0), np.full(len(goal), 30.0)
    for _ in range(60):
        c = (a + b) / 2
        reached = (positive + np.einsum("ht,dht->d", rest.astype(np.float64), expit(eta + c[:, None, None]))) / n
        a, b = np.where(reached < goal, c, a), np.where(reached < goal, b, c)
    return (a + b) / 2


def _normalised(log_mass: Floats) -> Floats:
    mass = np.exp(log_mass - log_mass.max())
    return mass / mass.sum()
