"""The word vectors that ship."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from howsure.corpora.reading import corpus_path
from howsure.data.vectors import read_vectors, shipped_path, word_vectors
from howsure.errors import InputError


@pytest.fixture(scope="module")
def packed_vectors(study):
    return study("english_vectors").packed_vectors


def test_rows_are_looked_up_in_lower_case():
    vectors = word_vectors()
    rows = vectors.rows(["London", "LONDON", "no-such-word-here", ""])
    assert rows[0] == rows[1] >= 0
    assert rows[2:].tolist() == [-1, -1]
    assert vectors.words[rows[0]] == "london"
    assert vectors.of(["no-such-word-here"]).tolist() == [[0.0] * 100]
    np.testing.assert_array_equal(vectors.of(["London"])[0], vectors.matrix[rows[0]])
    assert vectors.rows([]).shape == (0,)
    assert vectors.of([]).shape == (0, 100)


def test_shape_size_and_time():
    began = time.process_time()
    vectors = read_vectors(shipped_path())
    assert time.process_time() - began < 0.5
    assert vectors.matrix.dtype == np.float32
    assert vectors.matrix.shape == (len(vectors), 100) == (40_000, 100)
    assert np.isfinite(vectors.matrix).all()
    assert shipped_path().stat().st_size < 2_100_000


def test_words_of_one_kind_are_near():
    vectors = word_vectors()
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    near = [vectors.words[i] for i in np.argsort(-unit @ unit[vectors.rows(["ibm"])[0]])[1:6]]
    assert {"microsoft", "intel", "compaq"} & set(near)


@pytest.mark.corpus
def test_four_bits_keep_the_vectors():
    with np.load(corpus_path("vectors", "glove-100d.npz"), allow_pickle=False) as kept:
        given = kept["vectors"].astype(np.float32) * kept["scale"][:, None]
    words = corpus_path("vectors", "words.txt").read_text(encoding="utf-8").split("\n")
    vectors = word_vectors()
    assert list(vectors.words) == words[: len(vectors)]
    lost = ((vectors.matrix - given[: len(vectors)]) ** 2).sum() / (given[: len(vectors)] ** 2).sum()
    assert lost < 0.015


@given(arrays(np.float32, (5, 8), elements=st.floats(-1e6, 1e6, width=32)))
def test_packing_is_right_to_half_a_step(tmp_path_factory, packed_vectors, matrix):
    path = tmp_path_factory.mktemp("v") / "v.npz"
    np.savez(path, **packed_vectors("abcde", matrix))
    found = read_vectors(path)
    step = np.abs(matrix).max(axis=1, keepdims=True) / 7
    assert found.words == tuple("abcde")
    assert (np.abs(found.matrix - matrix) <= step * 0.5001 + 1e-37).all()


def test_damage_is_told(tmp_path, packed_vectors):
    good = packed_vectors("ab", np.ones((2, 4), np.float32))
    path = tmp_path / "v.npz"
    bad = {
        "words": np.frombuffer(b"a\na", np.uint8),
        "scale": np.array([1.0, np.nan], np.float32),
        "packed": good["packed"].astype(np.int16),
    }
    for name, array in bad.items():
        np.savez(path, **{**good, name: array})
        with pytest.raises(InputError, match="damaged"):
            read_vectors(path)
    np.savez(path, words=good["words"])
    with pytest.raises(InputError, match="damaged"):
        read_vectors(path)
    path.write_bytes(shipped_path().read_bytes()[:-100])
    with pytest.raises(InputError, match="damaged"):
        read_vectors(path)
    np.savez(path, **{**good, "words": np.array([object()], dtype=object)})
    with pytest.raises(InputError, match="damaged"):
        read_vectors(path)
