"""The English model as files: weights in half precision, labels, lemmas. Opening them runs no code."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from howsure._result import shown_as
from howsure.data.vectors import shipped_path as vectors_path
from howsure.english.confidence import read_curves
from howsure.english.encoding import encoder
from howsure.english.lemmas import Lemmatiser, Vocabulary
from howsure.english.pipeline import LABELLED, Shape, blank_pipeline, set_weights
from howsure.english.tokens import RULES, remembering, tokenizer
from howsure.errors import InputError, MissingExtra

SHIPPED = Path(__file__).parent / "model"
WEIGHTS, LEMMAS, CURVES = "weights.npz", "lemmas.json", "curves.json"
VOCABULARY, VECTORS = "vocabulary", "vectors"  # arrays beside the weights: known words; a hash of the vectors' file
OWN = "howsure-english"
COREFERENCE = "coref.npz"
MOST_REMEMBERED = 200_000  # lemmas


@dataclass(frozen=True, slots=True)
class Model:
    """A spaCy pipeline ready to run, what tells its version, and where it is ours its curves, lemmas and known words."""

    nlp: Any
    version: str
    tokenise: Any
    curves: np.ndarray | None = None
    lemma: Callable[[str, str], str] | None = None  # of a word and its tag
    known: Vocabulary | None = None

    __repr__ = shown_as("{version}")


def spacy_module() -> Any:
    """spaCy, or one line that says how to get it."""
    try:
        import spacy
    except ImportError:
        raise MissingExtra('parsing text needs spaCy: pip install "howsure[text]".') from None
    return spacy


@cache
def model(name: str | None = None) -> Model:
    """The shipped model, one in another folder of the same kind, or any spaCy pipeline by name; loaded once."""
    spacy = spacy_module()
    if name is None or Path(name, WEIGHTS).is_file():
        return _own(SHIPPED if name is None else Path(name))
    try:
        nlp = spacy.load(name, exclude=["ner"])
    except OSError:
        raise InputError(f'spaCy has no pipeline "{name}" here; leave `model=` out for the one that ships.') from None
    meta = nlp.meta
    version = f"{meta['lang']}_{meta['name']}-{meta['version']}-spacy{spacy.__version__}"
    return Model(nlp, version + (f"-{_content(Path(name))}" if Path(name).is_dir() else ""), nlp.tokenizer)


def model_version(name: str | None = None) -> str:
    """What identifies the shipped model's output: a hash of its files, without loading it."""
    if name is None or Path(name, WEIGHTS).is_file():
        return _version(SHIPPED if name is None else Path(name))
    return model(name).version


def _content(folder: Path) -> str:
    """A hash of a folder's files: pipelines that were saved but not packaged all have the same name and version."""
    digest = hashlib.sha256()
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest.update(file.relative_to(folder).as_posix().encode())
        with open(file, "rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()[:16]


@cache
def known_words(name: str | None = None) -> Vocabulary | None:
    """The words that a model of our own met in training, without loading the rest of it."""
    folder = SHIPPED if name is None else Path(name)
    if not (folder / WEIGHTS).is_file():
        return None
    with np.load(folder / WEIGHTS, allow_pickle=False) as kept:
        return Vocabulary.from_array(kept[VOCABULARY])


@cache
def _version(folder: Path) -> str:
    digest = hashlib.sha256(str(RULES).encode())
    for file in (folder / WEIGHTS, folder / LEMMAS, *(folder / f"{n}.json" for n in LABELLED)):
        if not file.is_file():
            raise InputError(f"the English model is not whole: there is no {file}.")
        digest.update(file.read_bytes())
    return f"{OWN}-{digest.hexdigest()[:16]}"


def vectors_hash() -> bytes:
    """What identifies the word vectors that ship: weights are right with those that they were trained with only."""
    return hashlib.sha256(vectors_path().read_bytes()).digest()


def _own(folder: Path) -> Model:
    version = _version(folder)
    with np.load(folder / WEIGHTS, allow_pickle=False) as kept:
        arrays = {k: kept[k] for k in kept.files if k != VOCABULARY}
    vectors = arrays.pop(VECTORS, None)
    shape = Shape.of(arrays)
    if shape.vectors and (vectors is None or vectors.tobytes() != vectors_hash()):
        raise ValueError("the word vectors are not those that the weights were trained with")
    nlp = blank_pipeline(folder, shape=shape)
    set_weights(nlp, arrays)
    tok2vec = nlp.get_pipe("tok2vec")
    tok2vec.model = encoder(tok2vec.model, nlp.vocab)
    curves = read_curves(folder / CURVES)
    known = known_words(str(folder))
    assert known is not None
    lemmas = Lemmatiser.from_dict(json.loads((folder / LEMMAS).read_text(encoding="utf-8")), known)
    lemma = lru_cache(MOST_REMEMBERED)(lemmas.lemma)  # most words of a text are repetitions
    return Model(nlp, version, remembering(tokenizer(nlp.vocab)), curves, lemma, known)
