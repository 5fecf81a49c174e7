"""The posterior over clusterings of an antecedent model: exact answers, samples, temperature."""

import hashlib
import sys
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.coreference import antecedents as kernels
from howsure.kernels.coreference.antecedents import first_members, largest_expected_f, linked_clusters
from howsure.kernels.poisson_binomial import poisson_binomial
from howsure.posteriors.answers import CountLaw

COMPILED_FROM = 500_000  # draws; below, NumPy is done before a compiled kernel is loaded
COMPILED_PAIRS_FROM = 120  # mentions
MATRIX_PRODUCTS_FROM = 2_000  # mentions; from there BLAS on large blocks is fastest
SUM_TOLERANCE = 1e-3


def rows_of(matrix: Any, name: str, scores: bool = False) -> tuple[Any, Floats, Ints, Ints, Ints]:
    """The matrix, its entries below the diagonal row by row, their columns (empty: 0, 1, … in each), starts, counts."""
    shape = getattr(matrix, "shape", None) or np.shape(matrix)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"{name}: antecedents must be a square matrix; got shape {tuple(shape)}.")
    n = int(shape[0])
    if hasattr(matrix, "tocsr"):
        from scipy.sparse import csr_array

        made = csr_array(matrix, dtype=np.float64, copy=True)
        made.sum_duplicates()
        counts = np.diff(made.indptr).astype(np.int64)
        rows = np.repeat(np.arange(n), counts)
        if (at := _first(made.indices >= rows)) is not None:
            raise _not_before(name, rows[at])
        if made.nnz:
            return made, made.data, made.indices.astype(np.int64), made.indptr[:-1].astype(np.int64), counts
        matrix = np.zeros((n, n)) if not scores else np.full((n, n), -np.inf)
    try:
        a = np.ascontiguousarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: antecedents cannot be read as numbers: {error}.") from None
    if not scores and (row := _first(np.triu(a).any(axis=1))) is not None:
        raise _not_before(name, row)
    return a, a.reshape(-1), np.zeros(0, np.int64), np.arange(n, dtype=np.int64) * n, np.arange(n, dtype=np.int64)


def _first(where: Any) -> int | None:
    """The first place where something is true."""
    return int(np.argmax(where)) if where.any() else None


def _not_before(name: str, row: Any) -> InputError:
    return InputError(f"{name}: an antecedent comes before its mention; row {row} names one that does not.")


def row_sums(values: Floats, columns: Ints, counts: Ints, n: int) -> Floats:
    """The sum of each row."""
    if len(columns):
        return np.bincount(np.repeat(np.arange(n), counts), values, n).astype(np.float64)
    return np.asarray(values.reshape(n, n).sum(axis=1))


def roots_of(choice: Ints) -> Ints:
    """The first mention of each one's entity, given its antecedent, or itself where it has none."""
    while (choice != choice[choice]).any():
        choice = choice[choice]
    return choice


class AntecedentPosterior:
    """Mentions 0 … N-1 in order; mention i takes antecedent k < i with probability A[i, k] or starts a new entity.

    Choices are independent, and entities are the connected components of the chosen links.

    Parameters
    ----------
    antecedents : array or SciPy sparse matrix, shape (N, N)
        A, strictly lower triangular.
    new : array, shape (N,), optional
        P(NEW); by default what the row of A leaves over.
    name : str
        The document's name. Samples of a document depend on the seed and this name, not on what else is sampled.

    Notes
    -----
    A row whose sum is off by no more than a thousandth is rounding and is divided by its sum.

    Examples
    --------
    >>> p = AntecedentPosterior([[0, 0, 0], [0.6, 0, 0], [0.1, 0.5, 0]], [1, 0.4, 0.4])
    >>> round(p.pair(0, 2), 10)  # 0.1 directly, 0.5 × 0.6 through mention 1
    0.4
    >>> round(p.probability([0, 0, 1]), 10)
    0.24
    """

    __slots__ = ("_a", "_columns", "_counts", "_pairs", "_starts", "_values", "name", "new")

    def __init__(self, antecedents: Any, new: Any = None, *, name: str = "document") -> None:
        a, values, columns, starts, counts = rows_of(antecedents, name)
        n = len(counts)
        scores = "Scores become probabilities with AntecedentPosterior.from_scores."
        if (at := _first(~((values >= 0.0) & (values <= 1.0 + SUM_TOLERANCE)))) is not None:
            row = int(np.searchsorted(starts + counts, at, side="right")) if len(columns) else at // n
            got = f"got {values[at]:.6g} in row {row}"
            raise InputError(f"{name}: antecedent probabilities must lie in [0, 1]; {got}. {scores}")
        sums = row_sums(values, columns, counts, n)
        given = 1.0 - sums if new is None else _validate.one_dimensional(new, "new").astype(np.float64)
        if len(given) != n:
            raise InputError(f"{name}: `new` has {len(given)} entries for {n} mentions.")
        if new is None:
            given = np.where(np.abs(given) <= SUM_TOLERANCE, np.maximum(given, 0.0), given)
        if (i := _first(~((given >= 0.0) & (given <= 1.0 + SUM_TOLERANCE)))) is not None:
            raise InputError(f"{name}: P(NEW) must lie in [0, 1]; it is {given[i]:.6g} for mention {i}.")
        total = sums + given
        if (i := _first(np.abs(total - 1.0) > SUM_TOLERANCE)) is not None:
            said = f"the antecedent row of mention {i} and P(NEW) sum to {total[i]:.6g}"
            raise InputError(f"{name}: {said}, not to one. {scores}")
        if np.any(np.abs(total - 1.0) > 1e-15):
            given = given / total
            if len(columns) or a is not antecedents:
                values /= np.repeat(total, counts) if len(columns) else np.repeat(total, n)
            else:
                a = antecedents / total[:, None]
                values = a.reshape(-1)
        self._set(a, values, columns, starts, counts, np.ascontiguousarray(given), name)

    def _set(self, a: Any, values: Floats, columns: Ints, starts: Ints, counts: Ints, new: Floats, name: str) -> None:
        new.flags.writeable = False
        self._a, self._values, self._columns, self._starts, self._counts = a, values, columns, starts, counts
        self.new, self.name = new, name
        self._pairs: Floats | None = None

    @classmethod
    def from_scores(cls, scores: Any, new_scores: Any, *, name: str = "document") -> Self:
        """From log-linear scores (logits): P(a_i = k) ∝ exp(scores[i, k]), P(NEW) ∝ exp(new_scores[i]).

        In a dense matrix only the part below the diagonal is read; -inf forbids an antecedent. In a sparse matrix an
        entry that is not stored is forbidden.
        """
        _, values, columns, starts, counts = rows_of(scores, name, scores=True)
        n = len(counts)
        given = _validate.one_dimensional(new_scores, "new_scores").astype(np.float64)
        if len(given) != n:
            raise InputError(f"{name}: `new_scores` has {len(given)} entries for {n} mentions.")
        if np.isnan(given).any() or np.isnan(values).any() or (values == np.inf).any() or (given == np.inf).any():
            raise InputError(f"{name}: scores must be numbers or -inf; there is NaN or +inf among them.")
        hopeless = np.isinf(given)
        if hopeless.any():
            hopeless &= row_sums(np.isfinite(values).astype(np.float64), columns, counts, n) == 0
            if (i := _first(hopeless)) is not None:
                raise InputError(f"{name}: mention {i} has no antecedent and no NEW with a score above -inf.")
        if len(columns):
            return cls._of_rows(values, given, columns, starts, counts, name)
        below = np.tril(np.ones((n, n), bool), -1)
        square = np.where(below, values.reshape(n, n), -np.inf)
        largest = np.maximum(given, square.max(axis=1, initial=-np.inf))
        square -= largest[:, None]  # in place: at 5,000 mentions each copy is 200 MB
        np.exp(square, out=square)
        new_power = np.exp(given - largest)
        total = square.sum(axis=1) + new_power
        square /= total[:, None]
        self = cls.__new__(cls)
        self._set(square, square.reshape(-1), columns, starts, counts, new_power / total, name)
        return self

    @classmethod
    def from_logits(cls, logits: Any, *, name: str = "document") -> Self:
        """From logits of shape (N, N + 1), as neural resolvers give them; only those below the diagonal and the last, the dummy's, count.

        >>> AntecedentPosterior.from_logits([[0, 0, 0], [2.0, 0, 0]]).pair(0, 1).__round__(4)
        0.8808
        """
        try:
            given = np.asarray(logits, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name}: logits cannot be read as numbers: {error}.") from None
        given = given[0] if given.ndim == 3 and given.shape[0] == 1 else given  # a batch of one
        if given.ndim != 2 or given.shape[1] != given.shape[0] + 1:
            raise InputError(f"{name}: logits have shape (N, N + 1), the dummy last; got {given.shape}.")
        return cls.from_scores(given[:, :-1], given[:, -1], name=name)

    @classmethod
    def _of_rows(cls, scores: Floats, new_scores: Floats, columns: Ints, starts: Ints, counts: Ints, name: str) -> Self:
        from scipy.sparse import csr_array

        values, new = kernels.softmax_rows(scores, new_scores, starts, counts)
        a = csr_array((values, columns, np.append(starts, len(values))), shape=(len(new), len(new)))
        self = cls.__new__(cls)
        self._set(a, values, columns, starts, counts, new, name)
        return self

    def __len__(self) -> int:
        return len(self.new)

    def __repr__(self) -> str:
        kind = "sparse" if len(self._columns) else "dense"
        return f"AntecedentPosterior({self.name!r}: {len(self):,} mentions, {kind}, {self.new.sum():.1f} entities expected)"

    @property
    def antecedents(self) -> Any:
        """A: an array, or a SciPy sparse array."""
        return self._a

    # exact answers

    def pairs(self) -> Floats:
        """P(i and j are the same entity) for all pairs, exactly; shape (N, N), symmetric. O(N³) in matrix products."""
        if self._pairs is None:
            q = self._all_pairs()
            np.minimum(q, 1.0, out=q)
            q.flags.writeable = False
            self._pairs = q
        return self._pairs

    def _all_pairs(self) -> Floats:
        sparse, n = len(self._columns) > 0, len(self)
        if n < COMPILED_PAIRS_FROM or (n > MATRIX_PRODUCTS_FROM and not sparse):
            return kernels.pair_probabilities(self._a)
        from howsure.kernels.coreference import antecedents_compiled

        if sparse:
            return antecedents_compiled.sparse_pairs(self._values, self._columns, self._starts, self._counts)
        return antecedents_compiled.dense_pairs(self._a)

    def pair(self, i: int, j: int) -> float:
        """P(i and j are the same entity)."""
        return float(self.pairs()[self._mention(i), self._mention(j)])

    def probability(self, clustering: Any) -> float:
        """P(the whole clustering), given as each mention's cluster: Π_i Σ_{k < i, same cluster} A[i, k], with P(NEW)
        for the first mention of a cluster."""
        return float(np.exp(self.log_probability(clustering)))

    def log_probability(self, clustering: Any) -> float:
        """The logarithm of `probability`; -inf for an impossible clustering."""
        given = np.asarray(clustering).reshape(-1)
        if len(given) != len(self):
            raise InputError(f"a clustering names a cluster for each of {len(self)} mentions; got {len(given)}.")
        e = first_members(given)
        if len(self._columns):
            rows = self._row_numbers()
            inside = e[rows] == e[self._columns]
            linked = np.bincount(rows[inside], self._values[inside], len(self))
        else:
            linked = np.sum(self._a, axis=1, where=e[:, None] == e[None, :])
        first = e == np.arange(len(self))
        with np.errstate(divide="ignore"):
            return float(np.log(np.where(first, self.new, linked)).sum())

    def entity_probability(self, mentions: Iterable[int]) -> float:
        """P(exactly these mentions form an entity)."""
        inside = np.zeros(len(self), bool)
        for i in mentions:
            inside[self._mention(i)] = True
        if not inside.any():
            raise InputError("an entity has one mention at least.")
        linked = np.asarray(self._a @ inside.astype(np.float64))
        first = int(np.argmax(inside))
        factors = np.where(inside, linked, 1.0 - linked)[first:]
        factors[0] = self.new[first]
        return float(np.prod(np.clip(factors, 0.0, 1.0)))

    def singletons(self) -> Floats:
        """P(mention i is alone in its entity): P(NEW) Π_{j > i} (1 - A[j, i])."""
        with np.errstate(divide="ignore"):
            log_free = np.minimum(self._values if len(self._columns) else self._a, 1.0)
            np.log1p(np.negative(log_free, out=log_free), out=log_free)
        sparse = len(self._columns) > 0
        total = np.bincount(self._columns, log_free, len(self)) if sparse else log_free.sum(axis=0)
        return np.asarray(self.new * np.exp(total))

    def singleton(self, i: int) -> float:
        """P(mention i is alone in its entity)."""
        return float(self.singletons()[self._mention(i)])

    def roots(self) -> Floats:
        """R[i, r] = P(the first mention of i's entity is r), shape (N, N); the diagonal is P(NEW)."""
        return kernels.root_probabilities(self._a, self.new)

    def root(self, i: int) -> Floats:
        """P(the first mention of i's entity is r) for each r: one row of `roots`."""
        return self.roots()[self._mention(i)]

    def n_entities(self) -> CountLaw:
        """The exact law of the number of entities: Poisson-binomial in P(NEW)."""
        law = poisson_binomial(self.new)
        law.flags.writeable = False
        return CountLaw(law)

    def expected_sizes(self) -> Floats:
        """The expected number of mentions of each mention's entity, itself included: the row sums of `pairs`."""
        return np.asarray(self.pairs().sum(axis=1))

    def expected_size(self, i: int) -> float:
        """The expected number of mentions of mention i's entity."""
        return float(self.expected_sizes()[self._mention(i)])

    # single clusterings

    def best(self) -> Ints:
        """The clustering of each mention's most probable choice (ties: NEW, then the nearest), as first members."""
        n = len(self)
        choice = np.arange(n)
        if not n:
            return choice
        if len(self._columns):
            rows, top, nearest = self._row_numbers(), np.full(n, -1.0), np.full(n, -1)
            np.maximum.at(top, rows, self._values)
            is_top = self._values == top[rows]
            np.maximum.at(nearest, rows[is_top], self._columns[is_top])
        else:
            top = self._a.max(axis=1)
            nearest = n - 1 - np.argmax(self._a[:, ::-1], axis=1)
        links = top > self.new
        choice[links] = nearest[links]
        return roots_of(choice)

    def minimum_risk(self) -> Ints:
        """A clustering of large expected pairwise F (the ratio of expectations, exact pair probabilities)."""
        return largest_expected_f(self.pairs(), self.best())

    def linked(self, cut: float) -> Ints:
        """The clusters of average linkage: joined while the mean pair probability between two is `cut` or more."""
        if not 0.0 < cut <= 1.0:
            raise InputError(f"`cut=` must be above 0 and at most 1; got {cut!r}.")
        return linked_clusters(self.pairs(), cut)

    # samples

    def samples(self, n: int, rng: np.random.Generator | int | None = 0) -> NDArray[np.int32]:
        """n independent clusterings, shape (n, N): each mention's cluster, named by its first mention."""
        return self.ask(np.arange(len(self)), n, rng)

    def ask(self, mentions: Any, n: int, rng: np.random.Generator | int | None = 0) -> NDArray[np.int32]:
        """In n samples, the entities of some mentions only, shape (n, len(mentions)): equal numbers, same entity.

        Any yes/no question about entities that needs these mentions alone is answered from the result. Drawn lazily:
        only the mentions that these lead up to; and the same draws as `samples`, column for column.
        """
        n = _validate.count(n, "n")
        wanted = np.asarray(mentions, dtype=np.int64).reshape(-1)
        if len(wanted) and not (wanted.min() >= 0 and wanted.max() < len(self)):
            raise InputError(f"mentions are numbered 0 to {len(self) - 1}; got {int(wanted[np.argmax(abs(wanted))])}.")
        needed = np.zeros(len(self), bool)
        needed[wanted] = True
        is_seed = isinstance(rng, int | np.integer) and rng >= 0
        seed = int(rng) if is_seed else int(_validate.generator(rng).integers(1 << 63))  # type: ignore[arg-type]
        # A stream of its own for each seed and document's name.
        digest = hashlib.blake2b(f"{seed}\0{self.name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        given = (self._values, self._columns, self._starts, self._counts, self.new)
        draw = kernels.sampled_roots
        if n * len(self) >= COMPILED_FROM or "numba" in sys.modules:  # the same draws either way
            from howsure.kernels.coreference.antecedents_compiled import sampled_roots as draw
        roots = draw(*given, n, int.from_bytes(digest, "little"), needed)
        return roots if len(wanted) == len(self) and needed.all() else roots[:, wanted]

    # temperature

    def tempered(self, t: float) -> Self:
        """The posterior of scores divided by t: each row's probabilities to the power 1/t, summing to one again."""
        if (t := _validate.temperature(t)) == 1.0:
            return self
        with np.errstate(divide="ignore"):
            new = np.log(self.new) / t
            if not len(self._columns):
                return self.from_scores(np.log(self._a) / t, new, name=self.name)
            scores = np.log(self._values) / t
        return self._of_rows(scores, new, self._columns, self._starts, self._counts, self.name)

    # inside

    def _mention(self, i: int) -> int:
        if i >= len(self) or i < -len(self):
            raise InputError(f"mentions are numbered 0 to {len(self) - 1}; got {i}.")
        return int(i) % len(self)

    def _row_numbers(self) -> Ints:
        """The row of each stored entry of a sparse A."""
        return np.repeat(np.arange(len(self)), self._counts)
