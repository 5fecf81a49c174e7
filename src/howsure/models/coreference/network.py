"""A network of one hidden layer that scores antecedents beside the hashed weights: word vectors, small templates, relations.

A pair's score is Σ_k o_k max(0, (U_i + V_j + Σ_c E_c)_k), with U_i and V_j linear in the mentions' word vectors and templates and
E_c a row for each code of each relation; NEW's is the same of one mention. Trained on the likelihood of the gold antecedents.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from howsure.kernels.cells import Floats
from howsure.kernels.coreference import hidden as kernels

Units = NDArray[np.float32]
HALVES = 3  # of a mention: as anaphor, as antecedent, as new
ROW_BITS = 11
CODES = 256
COMPILED_FROM = 20_000  # pairs
BETAS, SMALL = (0.9, 0.999), 1e-8  # of Adam


@dataclass(frozen=True, slots=True)
class Network:
    """Weights: by word vectors (3, D, H), rows of templates (3, 2048, H), codes of relations (R, 256, H), and outputs."""

    vectors: Units
    rows: Units
    relations: Units
    out: Units
    out_new: Units
    bias: Units

    @classmethod
    def started(cls, dimensions: int, relations: int, size: int, rng: np.random.Generator) -> Self:
        """Small random weights."""

        shapes = [(HALVES, dimensions, size), (HALVES, 1 << ROW_BITS, size), (relations, CODES, size), (size,), (size,)]
        given = zip((0.1, 0.05, 0.05, 0.15, 0.15), shapes, strict=True)
        made = [(scale * rng.standard_normal(shape)).astype(np.float32) for scale, shape in given]
        return cls(*[*made, np.zeros(1, np.float32)])

    def fits(self, dimensions: int, relations: int) -> bool:
        """Whether the weights are of that many inputs."""
        shapes = [w.shape[:-1] for w in (self.vectors, self.rows, self.relations)]
        wanted = [(HALVES, dimensions), (HALVES, 1 << ROW_BITS), (relations, CODES)]
        return shapes == wanted and self.bias.shape == (1,)

    def arrays(self) -> dict[str, Units]:
        """The weights by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def units(self, vectors: Units, rows: NDArray[np.int64]) -> list[Units]:
        """U, V and the inputs of the units of NEW, for each mention."""
        return [vectors @ self.vectors[h] + self.rows[h][rows].sum(axis=1) for h in range(HALVES)]

    def scores(self, vectors: Any, rows: NDArray[np.int64], codes: NDArray[np.uint8]) -> tuple[Floats, Floats]:
        """Score of each pair j < i (row i(i-1)/2 + j) and of starting an entity."""
        u, v, new = self.units(vectors.astype(np.float32), rows)
        scores: Any = kernels.pair_scores
        few = len(codes) < COMPILED_FROM
        if "numba" in sys.modules or not few:
            from howsure.kernels.coreference import hidden_compiled

            # Of few pairs the same numbers as without compiled kernels, to the bit.
            scores = partial(scores, filled=hidden_compiled.active) if few else hidden_compiled.pair_scores
        pair = scores(u, v, self.relations, codes, self.out)
        return pair, (np.maximum(new, 0.0) @ self.out_new + self.bias[0]).astype(np.float64)


class NetworkTrainer:
    """Adam with decay of weights on a few documents at a time; units and inputs are dropped at random in each step."""

    def __init__(self, network: Network, *, decay: float, dropped: float, rng: np.random.Generator) -> None:
        self.network, self.decay, self.dropped, self.rng = network, decay, dropped, rng
        arrays = network.arrays()
        self.mean, self.square = ({k: np.zeros_like(w) for k, w in arrays.items()} for _ in range(2))
        self.steps = 0

    def _mask(self, size: int) -> Units:
        kept = 1.0 - self.dropped
        return ((self.rng.random(size) < kept) / kept).astype(np.float32)

    def step(self, lessons: Sequence[tuple[Any, NDArray[np.int64], NDArray[np.uint8], Any]], rate: float) -> float:
        """Learn from some documents: word vectors, rows, codes, and a function of the scores of pairs and of NEW that gives
        the loss's derivatives by them, and the loss. Each counts by the rows of derivatives that are not 0."""
        total: dict[str, Units] = {}
        loss, n = 0.0, 0
        for vectors, rows, codes, difference in lessons:
            made, own, counted = self._derivatives(vectors.astype(np.float32), rows, codes, difference)
            for k, d in zip(self.network.arrays(), made, strict=True):
                total[k] = total[k] + d if k in total else d
            loss, n = loss + own, n + counted
        self._adam(total, rate, max(n, 1))
        return loss

    def _derivatives(
        self, given: Units, rows: NDArray[np.int64], codes: NDArray[np.uint8], difference: Any
    ) -> tuple[tuple[Units, ...], float, int]:
        from howsure.kernels.coreference import hidden_compiled

        net = self.network
        vectors = given * self._mask(given.shape[1])
        mask, mask_new = self._mask(len(net.out)), self._mask(len(net.out_new))
        u, v, new = net.units(vectors, rows)
        out, out_new = net.out * mask, net.out_new * mask_new
        pair = hidden_compiled.pair_scores(u, v, net.relations, codes, out)
        active = np.maximum(new, 0.0)
        d_pair, d_new, loss = difference(pair, (active @ out_new + net.bias[0]).astype(np.float64))
        d_u, d_v, d_relations, d_out = hidden_compiled.derivatives(u, v, net.relations, codes, out, d_pair)
        d32 = d_new.astype(np.float32)
        d_rows, d_vectors = np.zeros_like(net.rows), np.empty_like(net.vectors)
        for h, d in enumerate((d_u, d_v, (new > 0) * d32[:, None] * out_new)):
            d_vectors[h] = vectors.T @ d
            for column in rows.T:
                np.add.at(d_rows[h], column, d)
        made = (d_vectors, d_rows, d_relations, d_out * mask, (active.T @ d32) * mask_new, d32.sum(keepdims=True))
        return made, float(loss), int(np.count_nonzero(d_new))

    def _adam(self, derivatives: dict[str, Units], rate: float, n: int) -> None:
        from howsure.kernels.coreference import hidden_compiled

        self.steps += 1
        corrected = (1.0 - b**self.steps for b in BETAS)
        by = np.array([n, *(1.0 - b for b in BETAS), *corrected, SMALL, rate, self.decay], np.float32)
        for name, weights in self.network.arrays().items():
            hidden_compiled.adam(weights, derivatives[name], self.mean[name], self.square[name], by)

    def trained(self) -> Network:
        """The network in half precision; weights that no document touched are 0."""
        made = {k: np.where(self.square[k] > 0, w, 0) for k, w in self.network.arrays().items()}
        return Network(**{k: w.astype(np.float16).astype(np.float32) for k, w in made.items()})
