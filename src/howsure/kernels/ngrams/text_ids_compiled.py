"""Bytes of text to numbers of words: one pass that splits, hashes and interns, with no Python object per token.

Words live in one run of bytes (`text`, word i ending at `ends[i]`); `slots` is an open-addressing table of
`hash << 32 | number + 1`. The kernels stop and say so when a table is full, and go on where they stopped. They also
run uncompiled (`.py_func`), which serves small texts on a machine where nothing has been compiled yet: so products
stay below 2**63 and bytes are widened before arithmetic.
"""

import numpy as np

from howsure.kernels.compiling import array, kernel, piece

BYTES, LONGS, INTS, SHORTS = map(array, ("uint8", "int64", "int32", "uint32"))


@piece
def word_hash(data, a, b):
    """A hash of the bytes a … b."""
    h = 0
    for i in range(a, b):
        h = (h * 131 + np.int64(data[i]) + 1) & 0x7FFFFFFF
    h = (h * 1103515245 + 12345) & 0x7FFFFFFF
    return h ^ (h >> 15)


@piece
def is_space(c):
    """Whether a byte separates words."""
    return c == 32 or 9 <= c <= 13 or c == 0


@piece
def is_letter(c):
    """Whether a byte is part of a word: letters, digits, and all beyond ASCII."""
    return c >= 128 or 48 <= c <= 57 or 65 <= c <= 90 or 97 <= c <= 122


@piece
def find_word(h, data, a, b, slots, text, ends):
    """The slot and the number of the word with the hash h and the bytes a … b; -1 and a free slot where it is not known."""
    mask = slots.size - 1
    slot = h & mask
    while slots[slot] != 0:
        entry = slots[slot]
        if entry >> 32 == h:
            at = (entry & 0xFFFFFFFF) - 1
            begin = ends[at - 1] if at > 0 else 0
            if ends[at] - begin == b - a:
                i = 0
                while i < b - a and text[begin + i] == data[a + i]:
                    i += 1
                if i == b - a:
                    return slot, at
        slot = (slot + 1) & mask
    return slot, np.int64(-1)


@piece
def entered(h, slot, data, a, b, n_words, n_text, slots, text, ends):
    """Append the word data[a:b] to the table as number `n_words`; returns the length of the text with it."""
    for i in range(a, b):
        text[n_text] = data[i]
        n_text += 1
    ends[n_words] = n_text
    slots[slot] = (h << 32) | (n_words + 1)
    return n_text


@kernel(f"int64({BYTES}, int64, int64, int64, int64[::1], uint8[::1], int64[::1], int32[::1], int64[::1])")
def read_tokens(data, mode, frame, grow, slots, text, ends, ids, state):
    """Append the numbers of the tokens of `data` to `ids`, from byte `state[POSITION]` on.

    A line with a token becomes `frame` times <s>, its words, </s>; with `frame` 0 there are no sentences. <s> and
    </s> written in the text are skipped (kept with `frame` -1, which makes no sentences). Unknown words are added if `grow`, else they are <UNK>.
    """
    n = data.size
    pos, n_words, n_ids, n_text, in_line = state[0], state[1], state[2], state[3], state[4]
    status = 0
    while pos < n:
        if n_ids + frame + 3 > ids.size:
            status = 1
            break
        c = np.int64(data[pos])
        if c == 10:
            if frame > 0:
                if in_line == 1:
                    ids[n_ids] = 2
                    n_ids += 1
                in_line = 0
            if mode != 2 or frame > 0:
                pos += 1
                continue
        if c == 13 if mode == 2 else is_space(c):
            pos += 1
            continue
        a = pos
        b = pos + 1
        if mode == 2:
            while c >= 192 and b < n and np.int64(data[b]) & 192 == 128:
                b += 1
        elif mode == 0:
            while b < n and not is_space(np.int64(data[b])):
                b += 1
        else:
            plain = is_letter(c)
            while plain and b < n:
                before = c
                c = np.int64(data[b])
                if is_letter(c):
                    b += 1
                    continue
                if b + 1 >= n:
                    break
                after = np.int64(data[b + 1])
                between = (c == 44 or c == 46) and 48 <= before <= 57 and 48 <= after <= 57
                if not between and not ((c == 39 or c == 45) and is_letter(after)):
                    break
                b += 2
                c = after
        h = word_hash(data, a, b)
        slot, word = find_word(h, data, a, b, slots, text, ends)
        if word < 0 and grow == 1:
            if 2 * n_words >= slots.size or n_words >= ends.size or n_text + b - a > text.size:
                status = 2
                break
            n_text = entered(h, slot, data, a, b, n_words, n_text, slots, text, ends)
            word = n_words
            n_words += 1
        pos = b
        if (word == 1 or word == 2) and frame >= 0:
            continue
        if frame > 0 and in_line == 0:
            for _ in range(frame):
                ids[n_ids] = 1
                n_ids += 1
            in_line = 1
        ids[n_ids] = max(word, 0)
        n_ids += 1
    state[0], state[1], state[2], state[3], state[4] = pos, n_words, n_ids, n_text, in_line
    return status


@kernel(f"void({BYTES}, {LONGS}, int64, int64[::1], uint8[::1], int64[::1], int64[::1], int32[::1])")
def add_words(other_text, other_ends, grow, slots, text, ends, state, numbers):
    """Numbers of the words of another list, adding those that are not there if `grow` (else <UNK>). The tables must have room."""
    n_words, n_text = state[1], state[3]
    a = 0
    for j in range(other_ends.size):
        b = other_ends[j]
        h = word_hash(other_text, a, b)
        slot, word = find_word(h, other_text, a, b, slots, text, ends)
        if word < 0 and grow == 1:
            n_text = entered(h, slot, other_text, a, b, n_words, n_text, slots, text, ends)
            word = n_words
            n_words += 1
        numbers[j] = max(word, 0)
        a = b
    state[1], state[3] = n_words, n_text


@kernel(f"void({BYTES}, {LONGS}, int64, int64[::1])")
def rehash(text, ends, n_words, slots):
    """Fill an empty table with words known to be distinct."""
    mask = slots.size - 1
    a = 0
    for j in range(n_words):
        h = word_hash(text, a, ends[j])
        a = ends[j]
        slot = h & mask
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = (h << 32) | (j + 1)


@kernel(f"void({INTS}, int64[::1])")
def count_ids(ids, counts):
    """Add one to the count of each number."""
    for i in range(ids.size):
        counts[ids[i]] += 1
