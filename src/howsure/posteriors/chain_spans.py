"""Exact probabilities of spans: chunks and names in chains tagged B-, I-, O (and E-, S-)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints
from howsure.kernels.chains.log_space import not_last
from howsure.posteriors.answers import Answers
from howsure.posteriors.chain_passes import Chain, Messages


def backward_step(chain: Chain, m: Messages, token: Ints, tag: Ints | np.int64, following: Ints | np.int64) -> Floats:
    """P(y_t = tag | y_{t+1} = following) for tokens t that are not last; 0 where `following` is impossible."""
    ahead = m.log_alpha[token + 1, following]
    possible = np.isfinite(ahead)
    log_p = (
        m.log_alpha[token, tag]
        + chain.transitions[tag, following]
        + chain.scores[token + 1, following]
        - m.log_c[token + 1]
        - np.where(possible, ahead, 0.0)
    )
    return np.where(possible, np.exp(np.minimum(log_p, 0.0)), 0.0)


def run_probability(chain: Chain, m: Messages, first: Ints, run: Ints) -> Floats:
    """P(y_t … = run) at each token t of `first`."""
    length = len(run)
    q = m.marginals[first + length - 1, run[-1]]
    for d in range(length - 2, -1, -1):
        q = q * backward_step(chain, m, first + d, run[d], run[d + 1])
    return q


def pairs_between(chain: Chain, m: Messages, tokens: Ints) -> Floats:
    """P(y_t = i, y_{t+1} = j), (len(tokens), T, T), for tokens t that are not last."""
    every = np.arange(chain.scores.shape[1])
    step = backward_step(chain, m, tokens[:, None, None], every[None, :, None], every[None, None, :])
    return step * m.marginals[tokens + 1][:, None, :]


def entropy(chain: Chain, m: Messages) -> Floats:
    """Σ_t H(y_t | y_{t+1}) + H(y_L), each sentence, in nats."""
    n_tags = chain.scores.shape[1]
    ends = chain.starts[1:] - 1
    per_token = np.zeros(len(chain.scores))
    per_token[ends] = -_x_log_x(m.marginals[ends]).sum(axis=1)
    tokens, every = not_last(chain.starts), np.arange(n_tags)
    part = max(1, 2_000_000 // n_tags**2)
    for a in range(0, len(tokens), part):
        t = tokens[a : a + part]
        step = backward_step(chain, m, t[:, None, None], every[None, :, None], every[None, None, :])
        per_token[t] = -(_x_log_x(step).sum(axis=1) * m.marginals[t + 1]).sum(axis=1)
    return np.maximum(np.add.reduceat(per_token, chain.starts[:-1]), 0.0) if len(ends) else np.zeros(0)


def _x_log_x(x: Floats) -> Floats:
    return x * np.log(np.where(x > 0, x, 1.0))


def log_weight(chain: Chain, codes: NDArray[np.integer]) -> Floats:
    """Log weight of one tag sequence for each sentence; -inf where it has a tag below 0."""
    at = np.maximum(codes.astype(np.int64), 0)
    per_token = chain.scores[np.arange(len(at)), at]
    step = np.zeros(len(at))
    step[1:] = chain.transitions[at[:-1], at[1:]]
    first, last = chain.starts[:-1], chain.starts[1:] - 1
    step[first] = chain.initial[at[first]]
    per_token = per_token + step
    per_token[last] += chain.final[at[last]]
    per_token[codes < 0] = -np.inf
    return np.add.reduceat(per_token, first) if len(first) else np.zeros(0)


def kinds(tags: tuple[str, ...]) -> list[str]:
    """The kinds that tags begin: B-NP, S-NP → NP."""
    return sorted({t[2:] for t in tags if t[:2] in ("B-", "S-") and len(t) > 2})


class Scheme:
    """The tags of one kind of span. With E- or S- tags a span ends in E or is one S (BIOES); else not-I ends it (BIO)."""

    def __init__(self, tags: tuple[str, ...], kind: str) -> None:
        _validate.known(kind, kinds(tags), f"there are no spans of kind `{kind}`")
        place = {t: i for i, t in enumerate(tags)}
        self.begin, self.inner = place.get(f"B-{kind}", -1), place.get(f"I-{kind}", -1)
        self.end, self.single = place.get(f"E-{kind}", -1), place.get(f"S-{kind}", -1)
        self.closed = any(t[:2] in ("E-", "S-") for t in tags)
        # What a span of one token is tagged, and the last token of a longer one.
        self.alone, self.last = (self.single, self.end) if self.closed else (self.begin, self.inner)

    def spans(self, codes: Ints, starts: Ints) -> NDArray[np.bool_] | Any:
        """(start, end) of the spans in one tag sequence: B (or S) and what goes on from it."""
        last_of = np.repeat(starts[1:], np.diff(starts))
        if self.closed:
            single = np.flatnonzero((codes == self.single) & (self.single >= 0))
            begin = np.flatnonzero((codes == self.begin) & (self.begin >= 0))
            stop = _run_end(codes, begin + 1, self.inner, last_of)
            whole = (stop < last_of[begin]) & (np.append(codes, -2)[stop] == self.end) & (self.end >= 0)
            found = np.concatenate([np.stack([single, single + 1], 1), np.stack([begin[whole], stop[whole] + 1], 1)])
            return found[np.lexsort((found[:, 1], found[:, 0]))]
        begin = np.flatnonzero(codes == self.begin)
        return np.stack([begin, _run_end(codes, begin + 1, self.inner, last_of)], 1)


def _run_end(codes: Ints, first: Ints, tag: int, last_of: Ints) -> Ints:
    """For each token, the first at or after it within the sentence of first - 1 that has not `tag`."""
    other = np.append(codes != tag, True) if tag >= 0 else np.ones(len(codes) + 1, bool)
    places = np.flatnonzero(other)
    stop = places[np.searchsorted(places, first)]
    return np.minimum(stop, last_of[first - 1]) if len(first) else first


def span_answers(
    chain: Chain, m: Messages, tags: tuple[str, ...], sentence: Ints, kind: str, spans: Any, least: float
) -> Answers:
    """Is each span exactly a `kind`?"""
    scheme = Scheme(tags, kind)
    if spans is None:
        if not 0.0 < least < 1.0:
            raise InputError(f"`least` must lie between 0 and 1; got {least!r}.")
        start, end, q = _search(chain, m, scheme, sentence, least)
    else:
        asked = np.asarray(spans, np.int64).reshape(-1, 2)
        start, end = asked[:, 0], asked[:, 1]
        if len(asked) and (start.min() < 0 or end.max() > len(sentence) or (end <= start).any()):
            raise InputError("`spans` must hold (start, end) with 0 ≤ start < end ≤ the number of tokens.")
        if np.any(sentence[start] != sentence[end - 1]):
            raise InputError("a span must lie within one sentence.")
        q = _given(chain, m, scheme, sentence, start, end)
    key = start * (len(sentence) + 1) + end

    def truth(gold: Ints) -> NDArray[np.bool_]:
        found = scheme.spans(gold, chain.starts)
        return np.isin(key, found[:, 0] * (len(sentence) + 1) + found[:, 1])

    return Answers(f"span is {kind}", start, end, sentence[start], np.minimum(q, 1.0), truth)


def _closing(chain: Chain, m: Messages, scheme: Scheme, sentence: Ints, last: Ints, tag: int) -> Floats:
    """P(y_last = tag, and the span ends there): the next tag is not I, or the scheme's tag says so itself."""
    if scheme.closed or scheme.inner < 0:
        return m.marginals[last, tag]
    q = m.marginals[last, tag].copy()
    more = np.append(sentence, -1)[last + 1] == sentence[last]
    t = last[more]
    others = np.delete(np.arange(chain.scores.shape[1]), scheme.inner)
    part = max(1, 4_000_000 // max(len(others), 1))
    total = np.empty(len(t))
    for a in range(0, len(t), part):
        here = t[a : a + part, None]
        steps = backward_step(chain, m, here, np.int64(tag), others) * m.marginals[here + 1, others]
        total[a : a + part] = steps.sum(axis=1)
    q[more] = total
    return q


def _given(chain: Chain, m: Messages, scheme: Scheme, sentence: Ints, start: Ints, end: Ints) -> Floats:
    q = np.zeros(len(start))
    one = end == start + 1
    if scheme.alone >= 0:
        q[one] = _closing(chain, m, scheme, sentence, start[one], scheme.alone)
    if scheme.last < 0 or scheme.begin < 0:
        return q
    many = np.flatnonzero(~one)
    p = _closing(chain, m, scheme, sentence, end[many] - 1, scheme.last)
    at, tag = end[many] - 1, np.full(len(many), scheme.last)
    while len(many):
        before = at - 1
        is_first = before == start[many]
        step = np.where(is_first, scheme.begin, scheme.inner)
        if scheme.inner < 0:
            p = np.where(is_first, p, 0.0)
        p = p * backward_step(chain, m, before, np.maximum(step, 0), tag)
        q[many[is_first]] = p[is_first]
        kept = ~is_first
        many, p, at, tag = many[kept], p[kept], before[kept], step[kept]
    return q


def _search(chain: Chain, m: Messages, scheme: Scheme, sentence: Ints, least: float) -> tuple[Ints, Ints, Floats]:
    """Every span of probability `least` or more: from each end leftwards, while the run itself is that probable."""
    tokens = np.arange(len(sentence))
    found = [(tokens[:0], tokens[:0], np.zeros(0))]
    if scheme.alone >= 0:
        likely = tokens[m.marginals[:, scheme.alone] >= least]
        found.append((likely, likely + 1, _closing(chain, m, scheme, sentence, likely, scheme.alone)))
    if scheme.last >= 0 and scheme.begin >= 0:
        last = tokens[m.marginals[:, scheme.last] >= least]
        p = _closing(chain, m, scheme, sentence, last, scheme.last)
        at, tag = last, np.full(len(last), scheme.last)
        while True:
            kept = (p >= least) & (at > 0) & (sentence[at - 1] == sentence[at])
            last, p, at, tag = last[kept], p[kept], at[kept], tag[kept]
            if not len(last):
                break
            before = at - 1
            found.append((before, last + 1, p * backward_step(chain, m, before, np.int64(scheme.begin), tag)))
            if scheme.inner < 0:
                break
            p = p * backward_step(chain, m, before, np.int64(scheme.inner), tag)
            at, tag = before, np.full(len(last), scheme.inner)
    start, end, q = (np.concatenate([f[i] for f in found]) for i in range(3))
    order = np.lexsort((end, start))
    kept = order[q[order] >= least]
    return start[kept], end[kept], q[kept]
