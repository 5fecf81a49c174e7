"""Counts per period or group: one curve from probability to frequency shared by all cells, and an effect of each cell.

logit p_hc = s_h + x_c b + u_c for stratum h and cell c, with s_h ~ log-F(1, 1), u_c ~ τ times Student's t with 4 degrees of
freedom and τ ~ half-normal(1) on a grid. x_c holds, where cells are periods, standardised time, whose slope is N(0, 1); where
cells are periods by groups, the effects of the period and of the group, N(0, τ²), u_c being half as large. Cells share the
strata's curve as far as the labels say, and no further: τ is learnt, and a cell unlike the others is allowed for by the t's
tails. What is counted are draws: the labelled positives and Binomial(N_hc - n_hc, p_hc) of the rest.

Given s, b and τ the cells are independent, so that each u_c is integrated out on a grid of its own. What is left has few dimensions:
it is drawn from Laplace approximations (with Gaussian u, one for each τ) and resampled by importance; u then follows from the same
grids. A difference between cells must not be shrunk as the cells are: it is taken from draws in which each u_c, and an effect w_hc of
each stratum in the cell, is t with 4 degrees of freedom and scale 1, whatever τ is (`freed`). The mode comes from Newton's method, with the Hessian's arrow shape (cells meet only in s and b) keeping every step linear in
the number of cells.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from howsure._result import shown_as
from howsure.counting.share import Share, share_of_positives
from howsure.kernels import special
from howsure.kernels.cells import Floats, Ints

TAU = np.array([0.02, 0.06, 0.12, 0.2, 0.3, 0.45, 0.65, 0.9, 1.2, 1.6, 2.2])
FREEDOM = 4.0  # of the t law of the cells' own effects
FREE = 1.0  # scale of an effect that does not lean on other cells: that of τ's prior
STEP = 0.3
NODES = np.sinh(STEP * (np.arange(29) - 14))  # of the grid on which an effect is integrated out, in standard deviations
LOGITS = np.linspace(-20.0, 20.0, 161)  # at which a likelihood is known once a stratum's own effect is integrated out
WIDER = 1.1  # than the approximation are the heads that are proposed
ENOUGH = 0.2  # effective share of draws; below it more are proposed
MOST_ROUNDS = 10
BLOCK = 1 << 22  # numbers held at once


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
    if group is None:
        return Effects(time[:, None], np.ones(1), np.zeros(1))
    dummies = np.hstack([np.eye(int(factor.max()) + 1)[factor] for factor in (period, group)])
    scaled = np.arange(1 + dummies.shape[1]) > 0
    return Effects(np.column_stack([time, dummies]), np.where(scaled, 0.0, 1.0), np.where(scaled, 1.0, 0.0), 4.0)


@dataclass(frozen=True, slots=True)
class CellDraws:
    """Joint draws of the number of positives in each cell, shape (draws, C), and the share of all items together.

    `free` are draws for differences: each cell keeps to its own labels, not to the other cells, and only loosely to the strata's curve.
    """

    counts: Ints
    free: Ints
    n_items: Ints
    total: Share

    __repr__ = shown_as("{counts.shape[1]} cells, {counts.shape[0]:,} draws, all: {total}")

    def interval(self, confidence_level: float = 0.95) -> tuple[Ints, Ints]:
        """Lower and upper limits of each cell's count."""
        tail = (1 - confidence_level) / 2
        low, high = np.quantile(self.counts, [tail, 1 - tail], axis=0, method="inverted_cdf")
        return low.astype(np.int64), high.astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Laplace:
    """The Gaussian approximation given τ: of s and b (the head), and of each u given these."""

    head: Floats  # mode of s, b
    error: Floats  # their standard deviations
    root: Floats  # of their correlations, a lower triangle
    own: Floats  # mode of u
    slope: Floats  # how the mean of u falls as the head rises, shape (A, C)
    own_error: Floats  # standard deviation of u given the head
    log_mass: float

    def heads(self, n: int, n_strata: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draws of s and b, a little wider than the approximation, with their log density.

        Each s has the log-F law of the same mode and curvature, which is skew where a stratum has few positives; a Gaussian copula
        joins them.
        """
        g = rng.standard_normal((n, len(self.head)))
        z = g @ self.root.T
        log = 0.5 * ((z**2).sum(1) - (g**2).sum(1)) - np.log(np.diag(self.root)).sum()
        p = special.expit(self.head[:n_strata])
        total = 1 / (WIDER**2 * self.error[:n_strata] ** 2 * p * (1 - p))
        a, b = p * total, (1 - p) * total
        s = np.empty((n, n_strata))
        for h in range(n_strata):
            low = z[:, h] < 0
            s[low, h] = special.logit(special.betaincinv(a[h], b[h], special.ndtr(z[low, h])))
            s[~low, h] = -special.logit(special.betaincinv(b[h], a[h], special.ndtr(-z[~low, h])))
        s = np.clip(s, -600, 600)
        log += (s @ a) - np.logaddexp(0, s) @ (a + b) - special.betaln(a, b).sum()
        rest, error = z[:, n_strata:], WIDER * self.error[n_strata:]
        log -= 0.5 * (rest**2).sum(1) + np.log(error).sum() + 0.5 * np.log(2 * np.pi) * len(error)
        return np.hstack([s, self.head[n_strata:] + error * rest]), log


class CellModel:
    """The posterior of the model above, given the tables stratum × cell of labels and positive labels.

    They hold whole numbers, or effective ones where items were drawn with unequal probabilities.
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

    @cached_property
    def laplace(self) -> list[_Laplace]:
        """An approximation for each τ, all by one run of Newton's method."""
        h, c, a, e = self._h, self._c, self._head, self.effects
        precision = e.fixed + e.scaled / TAU[:, None] ** 2
        own = e.own / TAU[:, None] ** 2
        x = np.zeros((len(TAU), a + c))
        x[:, :h] = self._start
        table, left = np.zeros((2, len(TAU), h, c))
        inside = np.arange(a)
        for _ in range(100):
            eta = x[:, self._row] + self._of_cells(x)[:, self._column]
            p = special.expit(eta)
            left[:, self._row, self._column] = self._k - self._n * p
            table[:, self._row, self._column] = self._n * p * (1 - p)
            s, by_cell, total = special.expit(x[:, :h]), left.sum(1), table.sum(1)
            gradient = np.hstack([left.sum(2) + 0.5 - s, by_cell @ e.columns - x[:, h:a] * precision])
            gradient_own = by_cell - x[:, a:] * own
            # The Hessian: `top` of s and b, `cross` of these with u, `diagonal` of u.
            top = np.zeros((len(TAU), a, a))
            top[:, :h, h:] = table @ e.columns
            top[:, h:, :h] = top[:, :h, h:].transpose(0, 2, 1)
            top[:, h:, h:] = np.einsum("tc,ca,cb->tab", total, e.columns, e.columns, optimize=True)
            top[:, inside, inside] += np.hstack([table.sum(2) + s * (1 - s), precision])
            cross = np.concatenate([table, (e.columns.T * total[:, None, :])], axis=1)
            diagonal = total + own
            slope = cross / diagonal[:, None, :]
            schur = top - slope @ cross.transpose(0, 2, 1)
            step = np.linalg.solve(schur, (gradient - (slope @ gradient_own[:, :, None])[:, :, 0])[:, :, None])[:, :, 0]
            step_own = (gradient_own - (step[:, None, :] @ cross)[:, 0]) / diagonal
            step = np.hstack([step, step_own])
            size = np.abs(step).max(1, keepdims=True)
            if size.max() < 1e-6:
                break
            x = x + step * np.minimum(1.0, 3.0 / np.maximum(size, 1e-300))
        covariance = np.linalg.inv(schur)
        error = np.sqrt(covariance[:, inside, inside])
        root = np.linalg.cholesky(covariance / (error[:, :, None] * error[:, None, :]))
        u = x[:, a:]
        log_mass = (
            eta @ self._k
            - np.logaddexp(0, eta) @ self._n
            + self._log_prior_of_head(x[:, :a], TAU)
            - 0.5 * (own * u**2).sum(1)
            - c * np.log(TAU)
            + np.log(error * root[:, inside, inside]).sum(1)
            - np.log(diagonal).sum(1) / 2
        )
        return [
            _Laplace(*parts)
            for parts in zip(x[:, :a], error, root, u, slope, diagonal**-0.5, log_mass.tolist(), strict=True)
        ]

    def _log_prior_of_head(self, head: Floats, tau: Floats) -> Floats:
        s, b, e = head[:, : self._h], head[:, self._h :] ** 2, self.effects
        log = (s / 2 - np.logaddexp(0, s)).sum(1) - 0.5 * (b @ e.fixed + (b @ e.scaled) / tau**2)
        return np.asarray(log - e.scaled.sum() * np.log(tau))

    def draws(self, n: int, rng: np.random.Generator) -> Floats:
        """n parameter vectors (s, b, u) from the posterior."""
        prior = np.log(np.gradient(TAU)) - TAU**2 / 2
        mass = np.array([p.log_mass for p in self.laplace]) + prior
        proposed = 0.8 * _normalised(mass) + 0.2 * _normalised(prior)
        x, log_weight = np.zeros((0, self._head + self._c)), np.zeros(0)
        for _ in range(MOST_ROUNDS):
            more, log_more = self._proposals(n, proposed, prior, rng)
            x, log_weight = np.concatenate([x, more]), np.concatenate([log_weight, log_more])
            weight = _normalised(log_weight)
            if 1 / (weight @ weight) > ENOUGH * n:
                break
        at = np.searchsorted(np.cumsum(weight)[:-1], (np.arange(n) + rng.random()) / n)
        return x[rng.permutation(at)]

    def freed(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Logits, as of `logits`, of the same s and b with effects that know nothing of how much cells differ.

        Both the effect of a cell and that of each stratum in it are t of scale FREE: the cell may leave the strata's curve.
        """
        head = x[:, : self._head]
        part = self.laplace[int(np.argmin(np.abs(TAU - FREE)))]
        centre = part.own - (head - part.head) @ part.slope
        error = np.broadcast_to(part.own_error, centre.shape)
        scale = np.full(len(x), FREE * np.sqrt(self.effects.own))
        # Of each number of labels and positives: the law of a stratum's logit z, t around each of LOGITS, times the likelihood.
        kinds, which = np.unique(np.stack([self._n, self._k]), axis=1, return_inverse=True)
        n, k = kinds[:, :, None, None]
        told = (k + 0.5) * (n - k + 0.5) / (n + 1)
        middle = (LOGITS[:, None] + told * FREE**2 * np.log((k + 0.5) / (n - k + 0.5))) / (1 + told * FREE**2)
        spread = (FREE**-2 + told) ** -0.5
        z = middle + spread * NODES
        log = (
            k * z - n * np.logaddexp(0, z) - (FREEDOM + 1) / 2 * np.log1p(((z - LOGITS[:, None]) / FREE) ** 2 / FREEDOM)
        )
        top = log.max(2, keepdims=True)
        below = np.cumsum(np.exp(log - top) * np.sqrt(1 + NODES**2), axis=2)
        of = which.ravel()
        blurred = (top[:, :, 0] + np.log(below[:, :, -1]))[of]
        centres = self.logits(np.hstack([head, self._effects_given(head, scale, centre, error, rng, blurred)[1]]))
        made = np.asarray(centres + FREE * rng.standard_t(FREEDOM, centres.shape))  # stays where there is no label
        for e, (h, c) in enumerate(zip(self._row, self._column, strict=True)):
            near = (centres[:, h, c] - LOGITS[0]) / (LOGITS[1] - LOGITS[0]) + rng.random(len(x))
            at = np.clip(near, 0, len(LOGITS) - 1).astype(np.int64)
            law = below[of[e], at]
            node = NODES[np.minimum((law < rng.random((len(x), 1)) * law[:, -1:]).sum(1), len(NODES) - 1)]
            node = np.sinh(np.arcsinh(node) + STEP * (rng.random(len(x)) - 0.5))
            made[:, h, c] = middle[of[e], at, 0] + spread[of[e], 0, 0] * node
        return made

    def _proposals(self, n: int, proposed: Floats, prior: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Vectors with their log importance."""
        j = np.sort(rng.choice(len(TAU), n, p=proposed))
        head, log_proposal = np.empty((n, self._head)), np.log(proposed[j])
        centre, error = np.empty((n, self._c)), np.empty((n, self._c))
        for i in np.unique(j).tolist():
            mine, part = np.flatnonzero(j == i), self.laplace[i]
            head[mine], log = part.heads(len(mine), self._h, rng)
            log_proposal[mine] += log
            centre[mine] = part.own - (head[mine] - part.head) @ part.slope
            error[mine] = part.own_error
        log_likelihood, u = self._effects_given(head, TAU[j], centre, error, rng)
        log_target = prior[j] + self._log_prior_of_head(head, TAU[j]) + log_likelihood
        return np.hstack([head, u]), log_target - log_proposal

    def _effects_given(
        self,
        head: Floats,
        tau: Floats,
        centre: Floats,
        error: Floats,
        rng: np.random.Generator,
        blurred: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Log likelihood of each head with u integrated out, and a draw of u.

        `blurred` holds the log likelihood of each stratum and cell with labels at `LOGITS`, instead of the binomial one.
        """
        n, g = len(head), len(NODES)
        scale = tau / np.sqrt(self.effects.own)
        u = scale[:, None] * rng.standard_t(FREEDOM, (n, self._c))  # stays where there is no label
        log_all = np.zeros(n)
        base = head[:, self._h :] @ self.effects.columns.T if len(self.effects.fixed) else np.zeros((n, self._c))
        width = STEP * np.sqrt(1 + NODES**2)
        there = np.unique(self._column)
        of_stratum = np.exp(np.clip(head[:, : self._h], -300, 300))
        for cells in np.array_split(there, -(-len(there) * n * g // BLOCK)):
            at = centre[:, cells, None] + error[:, cells, None] * NODES
            log = np.log(1 + (at / scale[:, None, None]) ** 2 / FREEDOM)  # NumPy's log1p takes five times as long
            log *= -(FREEDOM + 1) / 2
            at += base[:, cells, None]
            odds = np.exp(np.clip(at, -300, 300))
            for i, c in enumerate(cells.tolist()):
                mine = np.flatnonzero(self._column == c)
                if blurred is not None:
                    for e in mine.tolist():
                        log[:, i] += np.interp(at[:, i] + head[:, self._row[e], None], LOGITS, blurred[e])
                    continue
                log[:, i] += self._k[mine].sum() * at[:, i] + (head[:, self._row[mine]] @ self._k[mine])[:, None]
                for e in mine.tolist():
                    log[:, i] -= self._n[e] * np.log(1 + odds[:, i] * of_stratum[:, self._row[e], None])
            top = log.max(2, keepdims=True)
            mass = np.exp(log - top) * width
            total = np.cumsum(mass, axis=2)
            log_all += (top[:, :, 0] + np.log(total[:, :, -1]) + np.log(error[:, cells]) - np.log(scale)[:, None]).sum(
                1
            )
            wanted = rng.random((n, len(cells), 1)) * total[:, :, -1:]
            k = np.minimum((total < wanted).sum(2, keepdims=True), g - 1)
            below = np.take_along_axis(total, k, 2) - np.take_along_axis(mass, k, 2)
            inside = (wanted - below) / np.maximum(np.take_along_axis(mass, k, 2), 1e-300) - 0.5
            node = np.arcsinh(NODES[k]) + inside * STEP
            u[:, cells] = centre[:, cells] + error[:, cells] * np.sinh(node[:, :, 0])
        return log_all, u


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

    Tables are stratum × cell. `effective` says what labels (and positive ones) are worth where they were drawn with unequal
    probabilities; `total` is the share of all items, by default the tilted interval of the table's rows.
    """
    if total is None:
        total = share_of_positives(items.sum(1), labelled.sum(1), positive.sum(1), confidence_level)
    n, k = effective or (labelled, positive)
    model = CellModel(n, k, effects)
    x, rest = model.draws(n_draws, rng), items - labelled
    shift = _shift(model.logits(x), rest, int(positive.sum()), total)[:, None, None]
    counts, free = (
        positive.sum(0) + rng.binomial(rest, special.expit(eta + shift)).sum(1)
        for eta in (model.logits(x), model.freed(x, rng))
    )
    return CellDraws(counts, free, items.sum(0), total)


def _shift(eta: Floats, rest: Ints, positive: int, total: Share) -> Floats:
    """What to add to the logits of each draw."""
    n = total.n_items
    floor = 0.3 / n
    low, middle, high = special.logit(np.clip([total.low, total.value, total.high], floor, 1 - floor)).tolist()
    middle = min(max(middle, low + 1e-9), high - 1e-9)
    flat, weight = eta.reshape(len(eta), -1), rest.astype(np.float64).ravel()
    expected = (positive + special.expit(flat) @ weight) / n
    rank = (np.argsort(np.argsort(expected, kind="stable"), kind="stable") + 0.5) / len(expected)
    z = special.ndtri(rank) / special.ndtri((1 + total.confidence_level) / 2)
    goal = special.expit(middle + np.where(z < 0, (middle - low) * z, (high - middle) * z))
    goal = np.clip(goal, (positive + floor) / n, (positive + rest.sum() - floor) / n)
    a, b = np.full(len(goal), -30.0), np.full(len(goal), 30.0)
    c = np.zeros(len(goal))
    for _ in range(60):  # Newton's method, kept inside a bracket
        p = special.expit(flat + c[:, None])
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
