"""Probabilities from a back-off trie (see `counts_compiled`): `log_p` of the n-grams seen, `log_b` of contexts.

p(w | h) is that of the n-gram h w if it was seen; else the back-off weight of h (1 when h was not seen) times
p(w | h without its first word). Every smoothing of `howsure.models.ngrams` is written in this form.

To score much text, a hash of (context, word) to child takes two memory accesses a lookup where a search takes a dozen. A
slot holds `mark << 32 | child + 1`, the mark being the upper half of the hash. A hit is checked against the trie, so the
answer is exact.
"""

import math

import numpy as np

from howsure.kernels.compiling import array, kernel, piece
from howsure.kernels.ngrams.counts_compiled import child_of
from howsure.kernels.ngrams.text_ids_compiled import INTS, LONGS, SHORTS

FLOATS = array("float64")
TRIE = f"{SHORTS}, {SHORTS}, {FLOATS}, {FLOATS}"


@piece
def backed_off(log_p, log_b, context, found, held, length, depth):
    """log p of the n-gram found, with the back-off weights of the contexts that are longer than it."""
    total = log_p[found]
    # Contexts longer than the match: the one the search failed in, then those not yet overwritten.
    if length <= depth:
        total += log_b[held]
        for k in range(length, depth):
            total += log_b[context[k]]
    return total


@piece
def child_hash(node, w):
    """A hash of a context and a word, both unsigned."""
    h = (node * np.uint64(0x9E3779B97F4A7C15)) ^ (w * np.uint64(0xC2B2AE3D27D4EB4F))
    h ^= h >> np.uint64(29)
    return h * np.uint64(0xBF58476D1CE4E5B9)


@kernel(f"void({SHORTS}, {SHORTS}, int64, uint64[::1])")
def fill_index(start, word, n_contexts, slots):
    """Enter every child of every context."""
    mask = np.uint64(slots.size - 1)
    for node in range(n_contexts):
        for child in range(np.int64(start[node]), np.int64(start[node + 1])):
            h = child_hash(np.uint64(node), np.uint64(word[child]))
            slot = (h ^ (h >> np.uint64(32))) & mask
            while slots[slot] != 0:
                slot = (slot + np.uint64(1)) & mask
            slots[slot] = (h & np.uint64(0xFFFFFFFF00000000)) | np.uint64(child + 1)


@piece
def indexed_child(start, word, slots, node, w):
    """As `child_of`, by the index."""
    mask = np.uint64(slots.size - 1)
    h = child_hash(np.uint64(node), np.uint64(w))
    slot = (h ^ (h >> np.uint64(32))) & mask
    while slots[slot] != 0:
        entry = slots[slot]
        if (entry ^ h) >> np.uint64(32) == 0:
            at = np.int64(entry & np.uint64(0xFFFFFFFF)) - 1
            if np.int64(word[at]) == w and np.int64(start[node]) <= at < np.int64(start[node + 1]):
                return at
        slot = (slot + np.uint64(1)) & mask
    return np.int64(-1)


@kernel(f"void({INTS}, int64, int64, int64, {TRIE}, {array('uint64')}, int64[::1], float64[::1], uint8[::1])")
def score_ids(ids, begin, end, order, start, word, log_p, log_b, slots, context, log_prob, matched):
    """Log probability of each id given those before it in its sentence; <s> starts a sentence and scores 0.

    `context[k]` is the node of the last k + 1 words, `context[order]` how many of them there are; `matched` is the
    order of the longest n-gram found. Children are found by the index, or searched if `slots` is empty.
    """
    depth = context[order]
    was_bos = False
    for i in range(begin, end):
        w = np.int64(ids[i])
        if w == 1 and not was_bos:
            depth = 0
        was_bos = w == 1
        # Find w after ever longer contexts; the found nodes are the next contexts.
        found = w
        held = context[0]
        context[0] = w
        length = 1
        while length <= depth:
            node = held
            if length < order:
                held = context[length]
            child = indexed_child(start, word, slots, node, w) if slots.size else child_of(start, word, node, w)
            if child < 0:
                held = node
                break
            found = child
            if length < order - 1:
                context[length] = child
            length += 1
        log_prob[i - begin] = 0.0 if was_bos else backed_off(log_p, log_b, context, found, held, length, depth)
        matched[i - begin] = 0 if was_bos else length
        depth = min(length, order - 1)
    context[order] = depth


@kernel(f"int64({INTS}, int64, {SHORTS}, {SHORTS}, int64[::1])")
def walk_context(ids, order, start, word, context):
    """The nodes of the last 1, 2, … words of `ids` that were seen; returns how many."""
    n = min(ids.size, order - 1)
    for depth in range(n):
        node = np.int64(ids[ids.size - depth - 1])
        for j in range(ids.size - depth, ids.size):
            node = child_of(start, word, node, np.int64(ids[j]))
            if node < 0:
                return depth
        context[depth] = node
    return n


@kernel(f"void({LONGS}, int64, {TRIE}, float64[::1])")
def fill_distribution(context, depth, start, word, log_p, log_b, probs):
    """The probability of every word after a context given by its nodes."""
    for w in range(probs.size):
        probs[w] = math.exp(log_p[w])
    for k in range(depth):
        node = context[k]
        b = math.exp(log_b[node])
        for w in range(probs.size):
            probs[w] *= b
        for child in range(np.int64(start[node]), np.int64(start[node + 1])):
            probs[np.int64(word[child])] = math.exp(log_p[child])
    probs[1] = 0.0


@kernel(f"void({SHORTS}, {SHORTS}, {FLOATS}, int64, int64, uint32[::1])")
def best_children(start, word, log_p, first, last, best):
    """The child of largest probability of each node (the first among equals); 0 where there is none."""
    for node in range(first, last):
        top = -math.inf
        best[node] = 0
        for child in range(np.int64(start[node]), np.int64(start[node + 1])):
            if log_p[child] > top and word[child] != 1:
                top = log_p[child]
                best[node] = child


@kernel(f"void({INTS}, int64, {TRIE}, {SHORTS}, {SHORTS}, int64[::1], int32[::1], float64[::1])")
def predict_ids(ids, order, start, word, log_p, log_b, best, ranked, contexts, guess, log_guess):
    """The likeliest next word before each id, and its log probability.

    At every context length the best child counts unless a longer context has it too; only then its siblings are
    searched. `contexts` is scratch of `order` + 1.
    """
    depth = 0
    was_bos = False
    for i in range(ids.size):
        w = np.int64(ids[i])
        if w == 1 and not was_bos:
            depth = 0
        was_bos = w == 1
        top, top_word, total = -math.inf, np.int64(0), 0.0
        for k in range(depth, -1, -1):
            node = contexts[k - 1] if k > 0 else np.int64(0)
            first = np.int64(start[node]) if k > 0 else np.int64(0)
            n = np.int64(start[node + 1]) - first if k > 0 else ranked.size
            for j in range(-1 if k > 0 and n > 0 else 0, n):
                child = np.int64(ranked[j]) if k == 0 else np.int64(best[node]) if j < 0 else first + j
                v, value = np.int64(word[child]), total + log_p[child]
                better = v != 1 and (value > top or (value == top and v < top_word))
                hidden = False
                for deeper in range(k, depth if better else k):
                    hidden = hidden or child_of(start, word, contexts[deeper], v) >= 0
                if better and not hidden:
                    top, top_word = value, v
                if not hidden and (j < 0 or k == 0):  # what follows is not likelier
                    break
            if k > 0:
                total += log_b[node]
        guess[i], log_guess[i] = top_word, top
        # The contexts after w.
        held = contexts[0]
        contexts[0] = w
        length = 1
        while length <= depth and length < order:
            node = held
            held = contexts[length]
            child = child_of(start, word, node, w)
            if child < 0:
                break
            contexts[length] = child
            length += 1
        depth = min(length, order - 1)


@kernel(f"void({SHORTS}, {SHORTS}, {SHORTS}, {SHORTS}, int64, int64, {FLOATS}, float64[::1], float64[::1])")
def discounted(start, word, link, adjusted, first, last, discounts, p, b):
    """Interpolated discounting of the children of contexts first … last: p of each child and the weight of the context.

    p = (a - D(a)) / Σa + γ p(without the first word), γ = Σ D(a) / Σa; D has three steps: for 1, 2, and 3 or more.
    """
    for node in range(first, last):
        total = 0
        taken = 0.0
        for child in range(np.int64(start[node]), np.int64(start[node + 1])):
            if word[child] != 1:
                a = np.int64(adjusted[child])
                total += a
                taken += discounts[min(a, 3)]
        if total == 0:
            b[node] = 1.0
            continue
        gamma = taken / total
        b[node] = gamma
        for child in range(np.int64(start[node]), np.int64(start[node + 1])):
            a = np.int64(adjusted[child])
            kept = (a - discounts[min(a, 3)]) / total + gamma * p[np.int64(link[child])]
            p[child] = kept if word[child] != 1 else 0.0
