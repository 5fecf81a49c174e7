"""A hash of (context, word) to child, for scoring much text: two memory accesses a lookup where a search takes a dozen.

A slot holds `mark << 32 | child + 1`, the mark being the upper half of the hash. A hit is checked against the trie, so
the answer is exact.
"""

import numpy as np

from howsure.kernels.compiling import kernel, piece
from howsure.kernels.ngrams.counts_compiled import SHORTS
from howsure.kernels.ngrams.scores_compiled import FLOATS, backed_off
from howsure.kernels.ngrams.text_ids_compiled import INTS, READ


@piece
def child_hash(node, w):
    """A hash of a context and a word, both unsigned."""
    h = (node * np.uint64(0x9E3779B97F4A7C15)) ^ (w * np.uint64(0xC2B2AE3D27D4EB4F))
    h ^= h >> np.uint64(29)
    return h * np.uint64(0xBF58476D1CE4E5B9)


@kernel
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


@kernel
def score_indexed(ids, begin, end, order, start, word, log_p, log_b, slots, context, log_prob, matched):
    """As `score_ids`, children found by the index."""
    mask = np.uint64(slots.size - 1)
    depth = context[order]
    was_bos = False
    for i in range(begin, end):
        w = np.int64(ids[i])
        if w == 1 and not was_bos:
            depth = 0
        was_bos = w == 1
        found = w
        held = context[0]
        context[0] = w
        length = 1
        while length <= depth:
            node = held
            if length < order:
                held = context[length]
            h = child_hash(np.uint64(node), np.uint64(w))
            slot = (h ^ (h >> np.uint64(32))) & mask
            child = np.int64(-1)
            while True:
                entry = slots[slot]
                if entry == 0:
                    break
                if (entry ^ h) >> np.uint64(32) == 0:
                    at = np.int64(entry & np.uint64(0xFFFFFFFF)) - 1
                    if np.int64(word[at]) == w and np.int64(start[node]) <= at < np.int64(start[node + 1]):
                        child = at
                        break
                slot = (slot + np.uint64(1)) & mask
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


LONGER = READ.format("uint64")
SIGNATURES = {
    fill_index: f"void({SHORTS}, {SHORTS}, int64, uint64[::1])",
    score_indexed: f"void({INTS}, int64, int64, int64, {SHORTS}, {SHORTS}, {FLOATS}, {FLOATS}, {LONGER}, int64[::1], "
    "float64[::1], uint8[::1])",
}
