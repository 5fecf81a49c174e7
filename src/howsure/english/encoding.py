"""The encoder of the pipeline as NumPy runs it fastest: what thinc's layers compute, to the bit.

A word's embedding depends on the word alone, and most words of a text are repetitions: it is computed once and kept. The layers
of the window write into arrays that are kept, for few enough rows at a time to stay in the processor's cache.
"""

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

Units = NDArray[np.float32]

MOST_REMEMBERED = 100_000  # words, of 450 bytes each
ROWS = 512  # of the window's layers at a time; longer documents in one piece
SMALL = np.float32(1e-8)  # added to a variance
KEY = "encoder"


class Encoder:
    """The embeddings of words and the layers of the window, taken from a "tok2vec" of `configuration`."""

    def __init__(self, tok2vec: Any, vocab: Any) -> None:
        self.vocab, self.embed = vocab, tok2vec.get_ref("embed")
        nodes = [n for n in tok2vec.get_ref("encode").walk(order="dfs_pre") if n.name in ("maxout", "layernorm")]
        pairs = zip(nodes[::2], nodes[1::2], strict=True)
        self.layers = [(*_planes(a), b.get_param("G"), b.get_param("b")) for a, b in pairs]
        self.width = int(tok2vec.get_dim("nO"))
        self.lock = Lock()
        self.row: dict[int, int] = {}
        self.known: Units = np.empty((0, self.width), np.float32)

    def __call__(self, docs: Sequence[Any]) -> list[Units]:
        """What the encoder makes of each word of each document."""
        made: list[Units] = []
        open_: list[Units] = []
        for given in self.embedded([doc.to_array("ORTH") for doc in docs]):
            if open_ and sum(map(len, open_)) + len(given) > ROWS:
                made += self.encoded(open_)
                open_ = []
            open_.append(given)
        return made + self.encoded(open_)

    def embedded(self, words: list[NDArray[np.uint64]]) -> list[Units]:
        """The embedding of each word of each document; new words are embedded together."""
        distinct, inverse = np.unique(np.concatenate(words), return_inverse=True)
        with self.lock:  # threads must not write to one row
            kept = self._kept(distinct)
        return [kept[part] for part in np.split(inverse, np.cumsum([len(w) for w in words])[:-1])]

    def _kept(self, distinct: NDArray[np.uint64]) -> Units:
        """The embeddings of words, those that are new computed first."""
        if len(self.row) + len(distinct) > MOST_REMEMBERED:
            self.row = {}
        new = [w for w in distinct.tolist() if w not in self.row]
        if new:
            from spacy.tokens import Doc

            (made,) = self.embed.predict([Doc(self.vocab, words=[self.vocab.strings[w] for w in new])])
            n = len(self.row)
            if n + len(new) > len(self.known):
                self.known = np.concatenate([self.known[:n], np.empty((n + 2 * len(new), self.width), np.float32)])
            self.known[n : n + len(new)] = made
            self.row.update(zip(new, range(n, n + len(new)), strict=True))
        return self.known[[self.row[w] for w in distinct.tolist()]]

    def encoded(self, given: list[Units]) -> list[Units]:
        """The layers of the window on several documents, as many rows apart as there are layers."""
        apart = np.zeros((len(self.layers) + 1, self.width), np.float32)  # and one that a window reaches over the edge
        x = np.concatenate([apart, *(part for d in given for part in (d, apart[1:])), apart[:1]])
        inner, n = x[1:-1], len(x) - 2
        windows = np.lib.stride_tricks.as_strided(x, (n, 3 * self.width), x.strides, writeable=False)
        columns, pieces = (np.empty((n, 3 * self.width), np.float32) for _ in range(2))
        for weights, bias, scale, shift in self.layers:
            np.copyto(columns, windows)
            np.matmul(columns, weights, out=pieces)
            pieces += bias
            y = np.maximum(pieces[:, : self.width], pieces[:, self.width : -self.width])
            np.maximum(y, pieces[:, -self.width :], out=y)
            y -= y.mean(axis=1, keepdims=True)
            variance = np.multiply(y, y, out=pieces.reshape(-1)[: y.size].reshape(y.shape)).mean(axis=1, keepdims=True)
            y *= (variance + SMALL) ** -0.5
            y *= scale
            y += shift
            inner += y
        made, at = [], len(self.layers)
        for d in given:
            made.append(inner[at : at + len(d)].copy())
            at += len(d) + len(self.layers)
        return made


def _planes(maxout: Any) -> tuple[Units, Units]:
    """The weights of a layer of three pieces, inputs × outputs, first pieces first: largest of them without a stride."""
    weights, bias = maxout.get_param("W"), maxout.get_param("b")
    planes = weights.transpose(2, 1, 0).reshape(weights.shape[2], -1)
    return np.ascontiguousarray(planes), np.ascontiguousarray(bias.T).reshape(-1)


def encoder(tok2vec: Any, vocab: Any) -> Any:
    """A thinc model that gives what `tok2vec` does; it cannot be trained."""
    from thinc.api import Model

    def forward(model: Any, docs: Sequence[Any], is_train: bool) -> tuple[list[Units], None]:
        return model.attrs[KEY](docs), None

    attrs = {KEY: Encoder(tok2vec, vocab)}
    return Model(KEY, forward, dims={"nO": tok2vec.get_dim("nO")}, attrs=attrs, layers=[tok2vec])


def trainable(model: Any) -> Any:
    """The model whose weights these are."""
    return model.layers[0] if model.name == KEY else model
