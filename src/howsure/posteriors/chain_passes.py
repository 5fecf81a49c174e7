"""The passes over a chain: which way to compute, and on how many threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.chains import log_space as chains
from howsure.kernels.threads import cores, for_each, portions

COMPILE_FROM = 4_000_000  # tokens × T², padding included: below this NumPy is done before Numba would be loaded
LOADED_FROM = 20_000
PART = 4_096  # tokens of a streamed part
WIDEST = 200.0  # range of the log potentials up to which probability space is safe: see chains_compiled


@dataclass(frozen=True)
class Chain:
    """Validated log potentials."""

    scores: Floats
    starts: Ints
    transitions: Floats
    initial: Floats
    final: Floats

    @property
    def potentials(self) -> tuple[Floats, Floats, Floats]:
        """Those that all sentences share."""
        return self.transitions, self.initial, self.final

    def divided(self, temperature: float) -> Chain:
        """All log potentials divided by a number."""
        return Chain(self.scores / temperature, self.starts, *(x / temperature for x in self.potentials))

    @property
    def is_narrow(self) -> bool:
        """Whether probability space is safe."""
        return all(float(np.ptp(x)) <= WIDEST for x in self.potentials)

    def goes_in_step(self, parts: Sequence[tuple[int, int]] | None = None) -> bool:
        """Whether sentences (of each part) are many, like enough in length and narrow: then marginals are quickest in step."""
        return not self.is_small and self.is_narrow and bool(_in_step().are_even(self.starts, parts))

    @property
    def is_small(self) -> bool:
        """Whether NumPy is the quicker way."""
        lengths = np.diff(self.starts)
        work = len(lengths) * int(lengths.max(initial=0)) * self.scores.shape[1] ** 2
        return work <= (LOADED_FROM if "howsure.kernels.chains.compiled" in sys.modules else COMPILE_FROM)


@dataclass(frozen=True)
class Messages:
    """Forward messages (normalised; what was divided out is in `log_c`), marginals and log Z."""

    log_alpha: Floats
    log_c: Floats
    marginals: Floats
    log_z: Floats


def _scaled(chain: Chain) -> tuple[tuple[Floats, ...], Floats]:
    """Exponentials of the transitions (also transposed) and of the ends, each less its largest; what that took from log Z."""
    tops = [float(x.max()) for x in chain.potentials]
    e, initial, final = (np.exp(x - top) for x, top in zip(chain.potentials, tops, strict=True))
    return (e, np.ascontiguousarray(e.T), initial, final), (np.diff(chain.starts) - 1) * tops[0] + tops[1] + tops[2]


def _run(name: str, given: tuple[Any, ...], made: tuple[Any, ...]) -> None:
    """Fill `made` by a compiled kernel, runs of sentences on all cores; `given[1]` is where sentences start."""
    kernel = getattr(_compiled(), name)
    for_each(lambda first, after: kernel(*given, first, after, *made), given[1])


def marginals_of(chain: Chain) -> tuple[Floats, Floats]:
    """Token marginals and log Z."""
    if not len(chain.scores):
        return np.zeros_like(chain.scores), np.zeros(0)
    if not chain.goes_in_step():
        messages = messages_of(chain)
        return messages.marginals, messages.log_z
    (e, _, *ends), constant = _scaled(chain)
    out, log_z = np.empty_like(chain.scores), np.empty(len(chain.starts) - 1)
    kernels, none = _in_step(), np.empty(0, np.int64)
    order, batches = kernels.batches(chain.starts)
    given, made = (chain.scores, chain.starts, order, e, *ends, none, none), (out, log_z, *[np.empty((0, 0))] * 2)
    for_each(lambda first, after: kernels.scaled(*given, first, after, *made), batches)
    return out, log_z + constant


def messages_of(chain: Chain) -> Messages:
    """Forward messages, marginals and log Z."""
    if not len(chain.scores):
        return Messages(np.zeros_like(chain.scores), np.zeros(0), np.zeros_like(chain.scores), np.zeros(0))
    made = _small_messages(chain) if chain.is_small else _compiled_messages(chain)
    impossible = ~np.isfinite(made.log_z)
    if impossible.any():
        raise InputError(f"no tag sequence is possible for sentence {int(np.argmax(impossible))}: all are forbidden.")
    return made


def _small_messages(chain: Chain) -> Messages:
    scores, lengths = chains.padded(chain.scores, chain.starts)
    kept = chains.inside(lengths)
    log_alpha, log_c = chains.forward(scores, chain.transitions, chain.initial)
    return Messages(
        log_alpha[kept],
        log_c[kept],
        chains.marginals(scores, log_alpha, lengths, chain.transitions, chain.final)[kept],
        chains.log_partition(log_alpha, log_c, lengths, chain.final),
    )


def _compiled_messages(chain: Chain) -> Messages:
    log_alpha, out = np.empty_like(chain.scores), np.empty_like(chain.scores)
    log_c, log_z = np.empty(len(chain.scores)), np.empty(len(chain.starts) - 1)
    made = (log_alpha, log_c, out, log_z)
    if not chain.is_narrow:
        _run("log_messages", (chain.scores, chain.starts, *chain.potentials), made)
        return Messages(*made)
    scaled, constant = _scaled(chain)
    _run("scaled_messages", (chain.scores, chain.starts, *scaled), made)
    with np.errstate(divide="ignore"):
        np.log(log_alpha, out=log_alpha)  # NumPy takes many logarithms at once
    top = float(chain.transitions.max())
    log_c += top
    log_c[chain.starts[:-1]] += float(chain.initial.max()) - top
    return Messages(log_alpha, log_c, out, log_z + constant)


def pair_parts(
    chain: Chain, left: Ints, right: Ints, consume: Callable[[Ints, Floats], None]
) -> tuple[Floats, Floats, Floats]:
    """Hand on P(y_t = left, y_{t+1} = right) part by part; returns marginals, log Z and expected counts of all pairs."""
    parts = portions(chain.starts, PART)
    if not chain.goes_in_step(parts):
        messages = messages_of(chain)
        expected = _pairs_of(chain, messages, left, right, consume)
        return messages.marginals, messages.log_z, expected
    n_tags, inner = chain.scores.shape[1], chains.not_last(chain.starts)
    out, log_z, expected = np.empty_like(chain.scores), np.empty(len(chain.starts) - 1), np.zeros((n_tags, n_tags))
    kernels = _in_step()
    (e, _, *ends), constant = _scaled(chain)
    widest = max(int(chain.starts[after] - chain.starts[first]) for first, after in parts)
    threads = min(cores(), len(parts))
    buffers = [np.empty((widest, len(left))) for _ in range(threads)]
    sums = [kernels.pair_sums(n_tags) for _ in range(threads)]

    def work(place: int, first: int, after: int) -> None:
        begin, end = chain.starts[first], chain.starts[after]
        sums[place][:] = 0.0
        starts = chain.starts[first : after + 1] - begin
        order, batches = kernels.batches(starts)
        given = (chain.scores[begin:end], starts, order, e, *ends, left, right, 0, len(batches) - 1)
        kernels.scaled(*given, out[begin:end], log_z[first:after], buffers[place], sums[place])

    with ThreadPoolExecutor(threads) as pool:
        for a in range(0, len(parts), threads):
            together = parts[a : a + threads]
            list(pool.map(lambda item: work(item[0], *item[1]), enumerate(together)))
            for place, (first, after) in enumerate(together):  # in order, whatever finished first
                begin, end = int(chain.starts[first]), int(chain.starts[after])
                mine = inner[slice(*np.searchsorted(inner, (begin, end)))]
                consume(mine, buffers[place][mine - begin])
                expected += sums[place][:n_tags, :n_tags]
    return out, log_z + constant, expected * e


def _pairs_of(
    chain: Chain, messages: Messages, left: Ints, right: Ints, consume: Callable[[Ints, Floats], None]
) -> Floats:
    """The same from messages; in probability space P(i, j) = α_t[i] e[i, j] m_{t+1}[j] / (α_t e)[j], a product of two vectors."""
    from howsure.posteriors.chain_spans import pairs_between

    n_tags, inner = chain.scores.shape[1], chains.not_last(chain.starts)
    e = np.exp(chain.transitions - chain.transitions.max())
    expected = np.zeros((n_tags, n_tags))
    per_part = max(1, 1_000_000 // (n_tags if chain.is_narrow else n_tags**2))
    for a in range(0, len(inner), per_part):
        tokens = inner[a : a + per_part]
        if chain.is_narrow:
            alpha = np.exp(messages.log_alpha[tokens])
            after = messages.marginals[tokens + 1] / (alpha @ e)
            expected += e * (alpha.T @ after)
            consume(tokens, alpha[:, left] * e[left, right] * after[:, right])
        else:
            both = pairs_between(chain, messages, tokens)
            expected += both.sum(axis=0)
            consume(tokens, np.ascontiguousarray(both[:, left, right]))
    return expected


def best_of_chain(chain: Chain, k: int) -> tuple[NDArray[np.int16], Floats]:
    """The k heaviest sequences, (tokens, k), and their log weights, (sentences, k)."""
    n = len(chain.starts) - 1
    if not len(chain.scores):
        return np.zeros((0, k), np.int16), np.zeros((n, k))
    if chain.is_small and len(chain.scores) * k * k <= 1_000_000:
        scores, lengths = chains.padded(chain.scores, chain.starts)
        found, weights = chains.k_best(scores, lengths, *chain.potentials, k)
        return found.transpose(0, 2, 1)[chains.inside(lengths)].astype(np.int16), weights
    made, weight = np.empty((len(chain.scores), k), np.int16), np.empty((n, k))
    given = (chain.scores, chain.starts, *chain.potentials)
    if k == 1:
        _run("viterbi", given, (made.ravel(), weight.ravel()))
    else:
        _run("k_best", given, (made, weight))
    return made, weight


def sample_of(chain: Chain, messages: Messages, n: int, seed: int) -> NDArray[np.int16]:
    """Exact samples, (n, tokens)."""
    if chain.is_small and n * len(chain.scores) * chain.scores.shape[1] <= 20_000_000:
        lengths = np.diff(chain.starts)
        log_alpha, _ = chains.padded(messages.log_alpha, chain.starts)
        u = chains.uniforms(seed, np.arange(len(lengths)), n, lengths)
        drawn = chains.samples(log_alpha, lengths, chain.transitions, chain.final, u)
        return np.ascontiguousarray(drawn.transpose(0, 2, 1)[chains.inside(lengths)].T)
    made = np.empty((n, len(chain.scores)), np.int16)
    transposed = np.ascontiguousarray(chain.transitions.T)
    _run("sample", (messages.log_alpha, chain.starts, transposed, chain.final, np.uint64(seed)), (made,))
    return made


def _compiled() -> Any:
    from howsure.kernels.chains import compiled as chains_compiled

    chains_compiled.compile_all()
    return chains_compiled


def _in_step() -> Any:
    from howsure.kernels.chains import in_step

    in_step.compile_all()
    return in_step


def checked_chain(
    scores: Any, transitions: Any, starts: Any, initial: Any, final: Any, tags: Sequence[str] | None
) -> tuple[Chain, tuple[str, ...]]:
    """The chain in canonical arrays, and its tags' names."""
    s, top = _scores(scores)
    move = _numbers(transitions, "transitions", 2)
    n_tags = s.shape[1]
    if n_tags < 1 or n_tags > 30_000:
        raise InputError(f"`scores` must have a column for each of 1 to 30,000 tags; got {n_tags}.")
    if move.shape != (n_tags, n_tags):
        raise InputError(f"`transitions` must have shape ({n_tags}, {n_tags}), as scores has tags; got {move.shape}.")
    ends = []
    for name, value in (("initial", initial), ("final", final)):
        made = np.zeros(n_tags) if value is None else _numbers(value, name, 1)
        if made.shape != (n_tags,):
            raise InputError(f"`{name}` must have shape ({n_tags},), as scores has tags; got {made.shape}.")
        ends.append(made)
    impossible = np.isneginf(top)
    if impossible.any():
        raise InputError(f"`scores` forbids every tag of token {int(np.argmax(impossible))}.")
    names = tuple(str(i) for i in range(n_tags)) if tags is None else tuple(str(t) for t in tags)
    if len(names) != n_tags or len(set(names)) < n_tags:
        raise InputError(f"`tags` must name {n_tags} different tags; got {len(names)}, {len(set(names))} different.")
    return Chain(s, _starts(starts, len(s)), move, *ends), names


def _scores(values: Any) -> tuple[Floats, Floats]:
    """The scores and each token's largest, none of them if nothing is forbidden: one pass that finds NaN and infinity too."""
    made = values if isinstance(values, np.ndarray) and values.dtype == np.float64 else None
    if made is None or made.ndim != 2 or not made.shape[1]:
        made = _numbers(values, "scores", 2)
    made = np.ascontiguousarray(made)
    if made.size and made.max() <= 1e100 and made.min() >= -1e100:  # cheaper than the largest by row
        return made, np.empty(0)
    top: Floats = made.max(axis=1) if made.shape[1] else np.zeros(len(made))
    if not (top <= 1e100).all():
        _numbers(made, "scores", 2)  # says where
    return made, top


def _numbers(values: Any, name: str, dimensions: int) -> Floats:
    try:
        made = np.ascontiguousarray(values, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"`{name}` cannot be read as an array of numbers: {error}.") from None
    if made.ndim != dimensions:
        raise InputError(f"`{name}` must have {dimensions} dimension{'s' * (dimensions > 1)}; got shape {made.shape}.")
    if not made.size or (made.max() <= 1e100 and made.min() >= -1e100):  # one quick pass clears a good array
        return made
    bad = np.isnan(made) | (made > 1e100) | ((made < -1e100) & ~np.isneginf(made))
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(f"`{name}` must hold finite numbers or -inf; got {made[at]:g} at {at}.")
    return made


def _starts(starts: Any, n_tokens: int) -> NDArray[np.int64]:
    made = np.array([0, n_tokens] if starts is None else starts)
    if made.ndim != 1 or made.dtype.kind not in "iu" or len(made) < 2:
        raise InputError("`starts` must hold the first token of each sentence and the number of tokens.")
    made = made.astype(np.int64)
    if made[0] != 0 or made[-1] != n_tokens:
        raise InputError(f"`starts` must begin with 0 and end with {n_tokens:,}; got {made[0]} and {made[-1]}.")
    short = np.diff(made) < 1
    if short.any():
        raise InputError(f"sentence {int(np.argmax(short))} is empty: `starts` must increase.")
    return made
