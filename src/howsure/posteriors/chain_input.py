"""The checks on what a chain posterior is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.posteriors.chain_passes import Chain

Floats = NDArray[np.float64]


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
    """The scores and each token's largest: one pass that finds NaN and infinity too."""
    made = values if isinstance(values, np.ndarray) and values.dtype == np.float64 else None
    if made is None or made.ndim != 2 or not made.shape[1]:
        made = _numbers(values, "scores", 2)
    made = np.ascontiguousarray(made)
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
