"""The encoder gives what spaCy's layers give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("spacy")

from spacy.tokens import Doc

from howsure.english import encoding
from howsure.english.pipeline import Shape, blank_pipeline
from howsure.english.shipped import SHIPPED

WORDS = st.lists(
    st.sampled_from(["the", "The", "attack", "Baghdad", "1990", "xqzzt", ".", "é"]), min_size=1, max_size=40
)


@pytest.fixture(scope="module", params=[Shape(2, False), Shape(3, True)], ids=["no vectors", "vectors"])
def pipeline(request):
    return blank_pipeline(SHIPPED, shape=request.param)


@settings(max_examples=25, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=5))
def test_encoder_is_the_layers(pipeline, texts):
    tok2vec = pipeline.get_pipe("tok2vec").model
    docs = [Doc(pipeline.vocab, words=words) for words in texts]
    found, wanted = encoding.Encoder(tok2vec, pipeline.vocab)(docs), tok2vec.predict(docs)
    assert [len(x) for x in found] == [len(x) for x in wanted]
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(
            ours, theirs, rtol=1e-4, atol=1e-5
        )  # products of few rows may be summed in another order


def test_documents_in_several_pieces_and_words_that_were_forgotten(pipeline, monkeypatch):
    tok2vec = pipeline.get_pipe("tok2vec").model
    docs = [Doc(pipeline.vocab, words=[f"w{(i * k) % 23}" for i in range(30)]) for k in range(1, 9)]
    wanted = tok2vec.predict(docs)
    monkeypatch.setattr(encoding, "ROWS", 70)
    monkeypatch.setattr(encoding, "MOST_REMEMBERED", 25)
    encoder = encoding.encoder(tok2vec, pipeline.vocab)
    for part in (docs[:3], docs[3:], docs):
        for ours, theirs in zip(encoder.predict(part), wanted[docs.index(part[0]) :], strict=False):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
