"""ARPA files: what KenLM, SRILM and others read and write. log10, nine decimals; -99 stands for probability 0."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure.errors import InputError
from howsure.files import check_writable, whole_file
from howsure.kernels.ngrams.arpa_compiled import LOWEST, read_lines, ready_arpa, write_lines
from howsure.models.ngrams.model import LARGEST_WEIGHT, LanguageModel
from howsure.models.ngrams.training import find_children
from howsure.models.ngrams.trie import Trie
from howsure.models.ngrams.vocabulary import Vocabulary

LN10 = float(np.log(10.0))
_PIECE = 1 << 18  # nodes written at a time


def write_arpa(model: LanguageModel, path: str | Path) -> None:
    """Write a model as ARPA, whole or not at all."""
    ready_arpa()
    check_writable(str(path))
    trie = model.trie
    text, ends = model.vocabulary.packed
    longest = int(np.diff(ends, prepend=0).max())
    with whole_file(path) as file:
        sizes = "".join(f"ngram {k}={n}\n" for k, n in enumerate(trie.sizes(), 1))
        file.write(f"\\data\\\n{sizes}".encode())
        tables = (trie.start, trie.word, text, ends, model.log_p / LN10, model.log_b / LN10)
        for order in range(1, trie.order + 1):
            file.write(f"\n\\{order}-grams:\n".encode())
            level = trie.level(order)
            ancestors = np.array([int(b) for b in trie.bases[:order]], np.int64)
            out = np.empty(min(_PIECE, level.stop - level.start) * (64 + order * (longest + 4)) + 64, np.uint8)
            for first in range(level.start, level.stop, _PIECE):
                last = min(first + _PIECE, level.stop)
                made = write_lines(first, last, order, *tables, int(order < trie.order), ancestors, out)
                file.write(out[:made].data)
        file.write(b"\n\\end\\\n")


def read_arpa(path: str | Path) -> LanguageModel:
    """A model from an ARPA file. Its contexts must be among its n-grams, as the usual tools write them."""
    ready_arpa()
    if not Path(path).is_file():
        raise InputError(f"there is no model file {path}.")
    raw = Path(path).read_bytes()
    head = raw.find(b"\\data\\")
    sizes = (
        [int(n) for _, n in re.findall(rb"^ngram +(\d+) *= *(\d+)", raw[head : head + 4096], re.M)] if head >= 0 else []
    )
    if not sizes:
        raise InputError(f"{path} is not an ARPA file: it has no \\data\\ section with n-gram counts.")
    if (most := max(sizes)) > len(raw) // 4:  # a number, a tab, a word and the end of the line
        raise InputError(f"{path} announces {most:,} n-grams of one order, more than a file of its size can hold.")
    data = np.frombuffer(raw, np.uint8)
    vocabulary = Vocabulary(max(1 << 10, sizes[0] + 8))
    levels = []
    for order, n in enumerate(sizes, 1):
        mark = re.search(rb"^\\%d-grams: *\r?\n" % order, raw, re.M)
        if mark is None:
            raise InputError(f"{path} has no section \\{order}-grams:.")
        end = raw.find(b"\n\\", mark.end() - 1)
        room = (end if end >= 0 else len(raw)) - mark.end() + 16
        log_p, log_b, words = np.empty(n), np.zeros(n), np.empty(max(room, 16), np.uint8)
        made, filled = read_lines(data, mark.end(), order, n, log_p, log_b, words)
        if made != n:
            line = raw.count(b"\n", 0, mark.end()) + abs(made) + (made >= 0)
            raise InputError(f"{path}, line {line}: not a line of a {order}-gram ({n:,} were announced).")
        if n and log_p.max() > 1e-4:
            raise InputError(f"{path}: a {order}-gram has a log probability above 0 ({log_p.max():g}).")
        if n and log_b.max() * LN10 > LARGEST_WEIGHT:
            raise InputError(f"{path}: a {order}-gram has a back-off weight beyond reach (10 to the {log_b.max():g}).")
        ids = vocabulary.read(words[:filled], 0, -1, grow=order == 1).astype(np.int64)
        if ids.size != n * order:
            raise InputError(f"{path}: a word of its {order}-grams holds white space.")
        ids = ids.reshape(n, order)
        levels.append((ids, log_p * LN10, log_b * LN10))
    return _assembled(path, vocabulary, levels)


def _assembled(path: Any, vocabulary: Vocabulary, levels: list[Any]) -> LanguageModel:
    n_words, order = len(vocabulary), len(levels)
    ids, p, b = levels[0]
    log_p, log_b = np.full(n_words, -np.inf), np.zeros(n_words)
    if len(np.unique(ids)) != len(ids):
        raise InputError(f"{path} lists a word twice.")
    log_p[ids[:, 0]], log_b[ids[:, 0]] = p, b
    all_p, all_b, words = [log_p], [log_b], [np.arange(n_words)]
    starts: list[NDArray[Any]] = []
    bases = [0, n_words]
    for k, (ids, p, b) in enumerate(levels[1:], 2):
        node = ids[:, 0]
        trie = _partial(bases, words, starts)
        for j in range(1, k - 1):
            node = find_children(trie, node, ids[:, j])
            if (node < 0).any():
                words_said = " ".join(vocabulary.words[i] for i in ids[int(np.argmax(node < 0))])
                raise InputError(f"{path}: the {k}-gram {words_said!r} has a context that is not listed.")
        sort = np.lexsort((ids[:, -1], node))
        node, last = node[sort], ids[sort, -1]
        if ((node[1:] == node[:-1]) & (last[1:] == last[:-1])).any():
            raise InputError(f"{path} lists a {k}-gram twice.")
        starts.append(bases[-1] + np.searchsorted(node, np.arange(bases[-2], bases[-1])))
        words.append(last)
        bases.append(bases[-1] + len(last))
        all_p.append(p[sort])
        all_b.append(b[sort])
    trie = _partial(bases, words, starts)
    log_p = np.concatenate(all_p)
    log_b = np.concatenate(all_b[:-1]) if order > 1 else np.zeros(0)
    log_p[log_p <= LOWEST * LN10 + 1e-6] = -np.inf
    log_b[log_b <= LOWEST * LN10 + 1e-6] = -np.inf
    log_p[1] = -np.inf
    characters = "▁" in set(vocabulary.words)
    settings: dict[str, Any] = {"smoothing": "arpa", "units": "words", "sentences": bool(np.isfinite(log_p[2]))}
    settings |= {"padding": 1, "lowercase": False, "closed": not np.isfinite(log_p[0])}
    settings["notes"] = ["Its words were separated by ▁: give characters separated by spaces."] if characters else []
    return LanguageModel(vocabulary, trie, log_p, log_b, settings)


def _partial(bases: list[int], words: list[NDArray[Any]], starts: list[NDArray[Any]]) -> Trie:
    word = np.concatenate(words).astype(np.uint32)
    start = np.concatenate([*starts, [len(word)]]).astype(np.uint32)
    return Trie(len(words), np.array(bases, np.int64), word, start, np.zeros(len(word), np.uint32))
