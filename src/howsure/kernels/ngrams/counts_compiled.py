"""N-grams as sorted 64-bit keys, and the sorted keys as a trie in level order.

A key is `parent << (bits * e) | words`: a node of the trie so far (for the first stage, the first word) and up to `e`
more words of `bits` bits each, stored as number + 1 so that 0 means "the sentence ended". Nodes of order 1 are all
words; nodes of order k lie sorted by (parent, word), so the children of node j are `start[j] … start[j+1]`, for all
orders in one array.
"""

import numpy as np

from howsure.kernels.compiling import kernel, piece
from howsure.kernels.ngrams.text_ids_compiled import INTS, LONGS, SHORTS


@piece
def child_of(start, word, node, w):
    """The child of a node for a word, -1 if there is none; children are sorted by their words.

    Halving without a branch to mispredict: the searches of neighbouring tokens overlap.
    """
    low = np.int64(start[node])
    size = np.int64(start[node + 1]) - low
    if size == 0:
        return np.int64(-1)
    while size > 1:
        half = size >> 1
        low += half * np.int64(word[low + half - 1] < w)
        size -= half
    return low if word[low] == w else np.int64(-1)


@piece
def with_words(ids, key, j, e, bits, has_sentences, ended):
    """A key with the `e` words after position j appended, 0 for each beyond the end of the sentence."""
    for _ in range(e):
        key <<= bits
        j += 1
        if not ended and j < ids.size:
            w = np.int64(ids[j])
            key |= w + 1
            ended = has_sentences == 1 and w == 2
        else:
            ended = True
    return key


@kernel(f"void({INTS}, int64, int64, int64, int64, int64, int64[::1])")
def first_keys(ids, begin, end, bits, e, has_sentences, keys):
    """Keys of the n-grams that start at ids begin … end: a word and up to `e` more before the sentence ends."""
    for i in range(begin, end):
        key = np.int64(ids[i])
        keys[i - begin] = with_words(ids, key, i, e, bits, has_sentences, has_sentences == 1 and key == 2)


@kernel(f"int64({INTS}, int64, int64, int64, int64, int64, int64, {SHORTS}, {SHORTS}, int64[::1])")
def next_keys(ids, begin, end, bits, length, e, has_sentences, start, word, keys):
    """Keys for a later stage: the node of the first `length` words and up to `e` more. Returns how many there are."""
    made = 0
    for i in range(begin, min(end, ids.size - length)):
        node = np.int64(ids[i])
        whole = not (has_sentences == 1 and node == 2)
        j = i
        while whole and j < i + length - 1:
            j += 1
            w = np.int64(ids[j])
            node = child_of(start, word, node, w)
            whole = not (has_sentences == 1 and w == 2)
        if whole:
            keys[made] = with_words(ids, node, j, e, bits, has_sentences, False)
            made += 1
    return made


@kernel("int64(int64[::1], uint32[::1])")
def run_lengths(keys, counts):
    """Sorted keys to distinct keys, in place, and how often each occurs; returns how many are distinct."""
    made = run = 0
    for i in range(keys.size):
        run += 1
        if i + 1 == keys.size or keys[i + 1] != keys[i]:
            keys[made], counts[made] = keys[i], run
            made += 1
            run = 0
    return made


@kernel(f"int64({LONGS}, {SHORTS}, {LONGS}, {SHORTS}, int64[::1], uint32[::1])")
def merge_runs(a, a_counts, b, b_counts, keys, counts):
    """Merge two sorted runs of distinct keys, adding counts; returns how many keys there are."""
    i = j = made = 0
    while i < a.size and j < b.size:
        x, y = a[i], b[j]
        keys[made] = min(x, y)
        counts[made] = 0
        if x <= y:
            counts[made] += a_counts[i]
            i += 1
        if y <= x:
            counts[made] += b_counts[j]
            j += 1
        made += 1
    for k in range(i, a.size):
        keys[made], counts[made] = a[k], a_counts[k]
        made += 1
    for k in range(j, b.size):
        keys[made], counts[made] = b[k], b_counts[k]
        made += 1
    return made


@kernel(f"void({LONGS}, int64, int64, int64[::1])")
def count_levels(keys, bits, e, sizes):
    """How many nodes each of the `e` further levels has."""
    mask = (1 << bits) - 1
    last = np.int64(-1)
    for i in range(keys.size):
        key = keys[i]
        for k in range(e):
            shift = bits * (e - 1 - k)
            if (key >> shift) & mask == 0:
                break
            if last < 0 or key >> shift != last >> shift:
                sizes[k] += 1
        last = key


@kernel(f"void({LONGS}, {SHORTS}, int64, int64, int64[::1], int64, uint32[::1], uint32[::1], uint32[::1])")
def fill_levels(keys, key_counts, bits, e, bases, counts_parent, start, word, count):
    """Write the nodes of `e` further levels; `bases` are the first node of the parents' level and of each further one.

    `bases` is changed. `counts_parent` is 1 when the parents' own counts are to be added up too (the first stage).
    """
    mask = (1 << bits) - 1
    first_made = bases[1]
    at = bases  # from now on one past the newest node of each level; of the parents' level, one past the last begun
    last = np.int64(-1)
    for i in range(keys.size):
        key = keys[i]
        c = key_counts[i]
        parent = key >> (bits * e)
        while e > 0 and at[0] <= parent:
            start[at[0]] = at[1]
            at[0] += 1
        if counts_parent == 1:
            count[parent] += c
        for k in range(e):
            shift = bits * (e - 1 - k)
            w = (key >> shift) & mask
            if w == 0:
                break
            if last < 0 or key >> shift != last >> shift:
                node = at[k + 1]
                word[node] = w - 1
                count[node] = 0
                if k + 1 < e:
                    start[node] = at[k + 2]
                at[k + 1] = node + 1
            count[at[k + 1] - 1] += c
        last = key
    while e > 0 and at[0] < first_made:
        start[at[0]] = at[1]
        at[0] += 1


@kernel(f"void({SHORTS}, {SHORTS}, int64, int64, uint32[::1])")
def suffix_links(start, word, first, last, link):
    """For the children of nodes first … last: the node of the same n-gram without its first word.

    The parents' own links must be there. Children and the children of the link are both sorted: gallop.
    """
    for node in range(first, last):
        low, end = np.int64(start[np.int64(link[node])]), np.int64(start[np.int64(link[node]) + 1])
        for child in range(np.int64(start[node]), np.int64(start[node + 1])):
            w = word[child]
            step = 1
            high = low
            while high < end and word[high] < w:
                low = high + 1
                high = min(high + step, end)
                step *= 2
            while low < high:
                middle = (low + high) >> 1
                if word[middle] < w:
                    low = middle + 1
                else:
                    high = middle
            link[child] = low
            low += 1


@kernel(f"void({SHORTS}, {SHORTS}, int64, int64, uint32[::1])")
def left_extensions(link, word, first, last, adjusted):
    """For the n-grams first … last: add one to the n-gram without the first word, unless they end in <s>."""
    for node in range(first, last):
        if word[node] != 1:
            adjusted[np.int64(link[node])] += 1
