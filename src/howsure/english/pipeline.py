"""The shape of the English pipeline: tagger, morphology and UD parser over one small convolutional encoder.

The encoder reads hashed features of each word and, where its shape says so, the word vectors that ship
(`howsure.data.vectors`), which stay fixed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from howsure.data.vectors import word_vectors
from howsure.english.encoding import trainable

WIDTH = 112
TOY_TAG = "NN"  # of the example that spaCy asks for; any tag of the labels will do
COMPONENTS = ("tok2vec", "tagger", "morphologizer", "parser")
LABELLED = ("tagger", "morphologizer", "parser")

# Words become four hashed features. Prefix and suffix ignore case, so that ALL-CAPS text shares what was learnt from
# ordinary text; the shape keeps the case.
FEATURES = ("NORM", "PREFIX", "SUFFIX", "SHAPE")
ROWS = (7000, 3000, 3000, 1000)


@dataclass(frozen=True, slots=True)
class Shape:
    """What may differ between pipelines: layers of the encoder, and whether it reads word vectors."""

    depth: int = 6
    vectors: bool = True

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> Self:
        """The shape of the pipeline that weights belong to: a layer for each array of three dimensions but the first."""
        layers = [a.ndim for key, a in arrays.items() if key.startswith("tok2vec.") and key.endswith(".W")]
        return cls(layers.count(3) - 1, 2 in layers)


@cache
def language() -> type[Any]:
    """English with prefixes and suffixes, of three characters, that ignore case."""
    from spacy.attrs import PREFIX, SUFFIX
    from spacy.lang.en import English

    class CaselessEnglish(English):  # type: ignore[misc]
        class Defaults(English.Defaults):  # type: ignore[misc]
            lex_attr_getters: ClassVar[dict[int, Callable[[str], Any]]] = {
                **English.Defaults.lex_attr_getters,
                PREFIX: lambda word: word[:3].lower(),
                SUFFIX: lambda word: word[-3:].lower(),
            }

    return CaselessEnglish


def add_vectors(vocab: Any) -> Any:
    """The vocabulary with the word vectors that ship, looked up in lower case."""
    from spacy.vectors import Vectors

    known, strings = word_vectors(), vocab.strings
    keys = [strings.add(w) for w in known.words]
    vocab.vectors = Vectors(strings=strings, data=known.matrix, keys=keys, name="howsure", attr="LOWER")
    return vocab


def configuration(shape: Shape) -> dict[str, Any]:
    """The components and their models, as a spaCy configuration."""

    def model(architecture: str, **settings: Any) -> dict[str, Any]:
        return {"@architectures": f"spacy.{architecture}", **settings}

    listener = model("Tok2VecListener.v1", width=WIDTH, upstream="*")
    tagger = model("Tagger.v2", tok2vec=listener, nO=None, normalize=False)
    features = {"attrs": list(FEATURES), "rows": list(ROWS), "include_static_vectors": shape.vectors}
    embed = model("MultiHashEmbed.v2", width=WIDTH, **features)
    encode = model("MaxoutWindowEncoder.v2", width=WIDTH, depth=shape.depth, window_size=1, maxout_pieces=3)
    states = {"state_type": "parser", "extra_state_tokens": True, "use_upper": True}
    parser = model("TransitionBasedParser.v2", **states, hidden_width=96, maxout_pieces=2, tok2vec=listener, nO=None)
    models = {"tok2vec": model("Tok2Vec.v2", embed=embed, encode=encode), "tagger": tagger, "morphologizer": tagger}
    components: dict[str, Any] = {name: {"factory": name, "model": made} for name, made in models.items()}
    components["parser"] = {"factory": "parser", "min_action_freq": 10, "model": parser}
    return {"nlp": {"lang": "en", "pipeline": list(COMPONENTS)}, "components": components}


def blank_pipeline(
    labels: Path | None = None, examples: Callable[[], Any] | None = None, shape: Shape | None = None
) -> Any:
    """The pipeline with random weights, its outputs sized for the label files of a folder (or for `examples`).

    Products of matrices are NumPy's: the BLIS that spaCy brings along knows no processor in particular (3.5 times slower).
    """
    from thinc.api import NumpyOps

    shape = shape or Shape()
    settings = configuration(shape)
    if labels is not None:
        paths = {name: str(labels / f"{name}.json") for name in LABELLED}
        read = {n: {"labels": {"@readers": "spacy.read_labels.v1", "path": path}} for n, path in paths.items()}
        settings["initialize"] = {"components": read}
    nlp = language().from_config(settings)
    if shape.vectors:
        add_vectors(nlp.vocab)
    nlp.initialize(examples if examples is not None else lambda: [_toy_example(nlp)])
    by_numpy = NumpyOps(use_blis=False)
    for _, component in nlp.pipeline:
        for node in component.model.walk():
            node.ops = by_numpy
    return nlp


def parameters(nlp: Any) -> dict[str, tuple[Any, str]]:
    """Every weight array by a stable name: component, number of the layer, name of the weight → (layer, weight)."""
    found = {}
    for name in COMPONENTS:
        for i, node in enumerate(trainable(nlp.get_pipe(name).model).walk()):
            for param in node.param_names:
                if node.has_param(param):
                    found[f"{name}.{i}.{param}"] = (node, param)
    return found


def weights(nlp: Any) -> dict[str, np.ndarray]:
    """The weights by name."""
    return {key: np.asarray(node.get_param(param)) for key, (node, param) in parameters(nlp).items()}


def set_weights(nlp: Any, arrays: dict[str, np.ndarray]) -> None:
    """Replaces all weights; names and shapes must be those of the pipeline."""
    slots = parameters(nlp)
    if slots.keys() != arrays.keys():
        raise ValueError("the weights are not of this pipeline")
    for key, (node, param) in slots.items():
        if node.get_param(param).shape != arrays[key].shape:
            raise ValueError(f"the weights {key} have another shape")
        if arrays[key].dtype.kind != "f" or not np.isfinite(arrays[key]).all():
            raise ValueError(f"the weights {key} are not finite numbers")
        node.set_param(param, np.ascontiguousarray(arrays[key], dtype=np.float32))


def _toy_example(nlp: Any) -> Any:
    """One word: spaCy asks for an example even when all sizes are known."""
    from spacy.tokens import Doc
    from spacy.training import Example

    reference = Doc(nlp.vocab, words=["Yes"], tags=[TOY_TAG], heads=[0], deps=["ROOT"])
    return Example(Doc(nlp.vocab, words=["Yes"]), reference)
