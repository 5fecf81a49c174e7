"""Tokens and counts against Python's own, whatever the number of cores, the order or the memory."""

import errno
import os
import re
import tempfile
from collections import Counter
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.errors import InputError
from howsure.kernels.ngrams import choice as kernels
from howsure.models.ngrams import trie
from howsure.models.ngrams import vocabulary as text_numbers
from howsure.models.ngrams.training import trained
from howsure.models.ngrams.trie import count_ngrams
from howsure.models.ngrams.vocabulary import Vocabulary, block_ids, blocks, natural_units, text_bytes, vocabulary_of


def tokens_of(text, units, frame=0):
    vocabulary = Vocabulary()
    ids = block_ids(
        text_bytes(text), vocabulary, {"words": 0, "punctuation": 1, "characters": 2}[units], frame, grow=True
    )
    return [vocabulary.words[i] for i in ids.tolist()]


@given(st.lists(st.text("ab é漢\t.'-1,", max_size=20), max_size=5))
def test_words_are_what_split_gives(lines):
    assert tokens_of(lines, "words") == [w for line in lines for w in re.findall(r"[^ \t\n\r\x0b\x0c\0]+", line)]


@given(st.text("xyé漢 z", max_size=30))
def test_characters_are_characters(line):
    assert tokens_of([line], "characters", frame=1) == (["<s>", *line, "</s>"] if line else [])


def test_punctuation_stands_apart_but_not_inside_words_and_numbers():
    said = tokens_of(['"Don\'t pay 3,500.25 for rock-salt," he said...'], "punctuation")
    assert said == ['"', "Don't", "pay", "3,500.25", "for", "rock-salt", ",", '"', "he", "said", ".", ".", "."]


def test_lines_become_sentences_and_written_marks_are_not_doubled():
    assert tokens_of(["<s> I am Sam </s>", "", "Sam"], "words", frame=1) == [
        "<s>", "I", "am", "Sam", "</s>", "<s>", "Sam", "</s>",
    ]  # fmt: skip


def slow_counts(ids, order):
    made = Counter()
    for i in range(len(ids)):
        for k in range(1, order + 1):
            gram = tuple(ids[i : i + k])
            if len(gram) == k and 2 not in gram[:-1]:
                made[gram] += 1
    return made


def all_grams(trie):
    made = {}
    prefixes = {j: (j,) for j in range(int(trie.bases[1]))}
    for j in prefixes:
        made[(j,)] = int(trie.count[j])
    for _k in range(2, trie.order + 1):
        new = {}
        for node, words in prefixes.items():
            for child in range(int(trie.start[node]), int(trie.start[node + 1])):
                new[child] = (*words, int(trie.word[child]))
                made[new[child]] = int(trie.count[child])
        prefixes = new
    return {g: c for g, c in made.items() if c}


@given(
    st.lists(st.lists(st.integers(3, 9), min_size=1, max_size=7), min_size=1, max_size=12),
    st.integers(1, 5),
    st.sampled_from([10, 300, 3_000]),
)
def test_counts_are_those_of_a_dictionary(lines, order, n_words):
    ids = [w for line in lines for w in (1, *line, 2)]
    n_words = max(n_words, 10)
    trie = count_ngrams(np.array(ids, np.int32), n_words, order, has_sentences=True)
    assert all_grams(trie) == dict(slow_counts(ids, order))


@pytest.mark.parametrize("order", [2, 3, 5])
@pytest.mark.parametrize("n_words", [5_000, 200_000])
def test_spilling_and_stages_change_nothing(order, n_words, monkeypatch):
    """200,000 words need two stages at order 5 (18 bits a word); little memory makes many runs on disk."""
    rng = np.random.default_rng(5)
    ids = (rng.zipf(1.3, 200_000) % 4_000 + 3).astype(np.int32)
    ids[::17] = 2
    ids[1::17] = 1
    at_once = count_ngrams(ids, n_words, order, has_sentences=True)
    spilled = count_ngrams(ids, n_words, order, has_sentences=True, memory=1)
    for name in ("bases", "word", "start", "count"):
        assert np.array_equal(getattr(at_once, name), getattr(spilled, name)), name
    assert int(at_once.count[: at_once.bases[1]].sum()) == len(ids)
    few = slow_counts(ids[:3_000].tolist(), order)
    assert all_grams(count_ngrams(ids[:3_000], n_words, order, has_sentences=True)) == dict(few)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("words", [1, 3_000])
def test_a_full_disk_is_an_error_while_words_are_written(monkeypatch, words):
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: open("/dev/full", "w+b"))  # noqa: SIM115
    with pytest.raises(OSError, match="No space left"):
        trained(["w " * words], order=1, smoothing="mle", memory=1)


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room on the disk cannot be reserved")
def test_runs_on_disk_have_their_room_before_they_are_mapped(monkeypatch, tmp_path):
    """Else a full disk would end the process with a signal."""
    path = tmp_path / "run"
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: open(path, "w+b"))  # noqa: SIM115
    trie._array(100_000, np.int64, True)
    assert path.stat().st_blocks * 512 >= path.stat().st_size == 800_000
    for number, refused in ((errno.ENOSPC, True), (errno.EOPNOTSUPP, False)):

        def reserve(*_, number=number):
            raise OSError(number, "")

        monkeypatch.setattr(os, "posix_fallocate", reserve)
        with pytest.raises(OSError) if refused else nullcontext():
            trie._array(10, np.uint32, True)[:] = 1


def test_cores_do_not_change_the_numbers_of_words(monkeypatch):
    rng = np.random.default_rng(0)
    text = "\n".join(" ".join(f"w{i}" for i in rng.zipf(1.4, 12) % 5_000) for _ in range(3_000)).encode() + b"\n"
    monkeypatch.setattr(text_numbers, "PARALLEL_FROM", 1)
    made = []
    for workers in (1, 2, 5):
        monkeypatch.setattr(text_numbers, "cores", lambda n=workers: n)
        vocabulary = Vocabulary()
        made.append((block_ids(text, vocabulary, 0, 1, grow=True), vocabulary.words))
    for ids, words in made[1:]:
        assert np.array_equal(ids, made[0][0])
        assert words == made[0][1]


def test_interpreted_kernels_give_the_same(sentences, monkeypatch):
    compiled = trained(sentences, order=3, smoothing="modified-kneser-ney")
    monkeypatch.setattr(kernels, "kernel", lambda name, work: kernels._kernels()[name].py_func)
    for module in ("vocabulary", "trie", "model", "training"):
        monkeypatch.setattr(f"howsure.models.ngrams.{module}.kernel", kernels.kernel)
    slow = trained(sentences, order=3, smoothing="modified-kneser-ney")
    assert np.array_equal(slow.trie.word, compiled.trie.word)
    assert np.array_equal(slow.log_p[: len(slow.vocabulary)], compiled.log_p[: len(slow.vocabulary)])
    assert slow.score("the fox met a hen") == pytest.approx(compiled.score("the fox met a hen"), rel=1e-12)


def test_vocabularies(sentences):
    def known(model):
        return set(model.vocabulary.words[3:])

    counts = Counter(w for s in sentences for w in s.split())
    frequent = trained(sentences, order=2, smoothing="laplace", min_count=20)
    assert known(frequent) == {w for w, c in counts.items() if c >= 20}
    assert int(frequent.trie.count[0]) == sum(c for c in counts.values() if c < 20)
    sized = trained(sentences, order=2, smoothing="laplace", size=4)
    assert known(sized) == {w for w, _ in counts.most_common(4)}
    listed = trained(sentences, order=2, smoothing="laplace", words=["fox", "zebra"])
    assert known(listed) == {"fox", "zebra"}
    with pytest.raises(InputError, match="'fox' twice"):
        vocabulary_of(["fox", "hen", "fox"])
    with pytest.raises(InputError, match="closed vocabulary"):
        trained(sentences, order=2, smoothing="laplace", words=["fox"], closed=True)


def test_bad_text(tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"fine\nnot \xff fine\n")
    with pytest.raises(InputError, match="byte 9 "):
        list(blocks(bad))
    with pytest.raises(InputError, match="empty"):
        trained(["", " "], order=2, smoothing="mle")
    with pytest.raises(InputError, match="can be 3 at most"):
        trained(["one"], order=5, smoothing="mle")


def test_marks_are_set_apart_where_most_touch_a_word():
    """Against a plain walk over the characters of made-up texts."""
    rng = np.random.default_rng(0)
    for _ in range(2_000):
        text = "".join(rng.choice(list("ab_é.,!? \n-"), 12))
        touching = apart = 0
        for i, mark in enumerate(text):
            if mark in ".,;:!?" and (i + 1 == len(text) or text[i + 1].isspace()):
                touching += i > 0 and (text[i - 1].isalnum() or text[i - 1] == "_")
                apart += i == 0 or text[i - 1].isspace()
        assert natural_units(text.encode()) == ("punctuation" if touching > apart else "words")
