"""The English model as files: weights in half precision, labels, lemmas. Opening them runs no code."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from howsure.english.lemmas import Lemmatiser, Vocabulary, learnt_lemmatiser
from howsure.english.pipeline import LABELLED, blank_pipeline, set_weights
from howsure.english.tokens import RULES, tokenizer
from howsure.errors import InputError, MissingExtra
from howsure.files import write_whole

SHIPPED = Path(__file__).parent / "model"
WEIGHTS, LEMMAS, VOCABULARY = "weights.npz", "lemmas.json", "vocabulary"
COREFERENCE = "coref.npz"


@dataclass(frozen=True, slots=True)
class Model:
    """A spaCy pipeline ready to run, what tells its version, and where it is ours its lemmas and known words."""

    nlp: Any
    version: str
    tokenise: Any
    lemmas: Lemmatiser | None = None
    known: Vocabulary | None = None

    def __repr__(self) -> str:
        return f"Model({self.version})"


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
    return f"howsure-english-{digest.hexdigest()[:16]}"


def _own(folder: Path) -> Model:
    version = _version(folder)
    nlp = blank_pipeline(folder)
    with np.load(folder / WEIGHTS, allow_pickle=False) as kept:
        set_weights(nlp, {k: kept[k] for k in kept.files if k != VOCABULARY})
    known = known_words(str(folder))
    assert known is not None
    lemmas = Lemmatiser.from_dict(json.loads((folder / LEMMAS).read_text(encoding="utf-8")), known)
    return Model(nlp, version, tokenizer(nlp.vocab), lemmas, known)


def export(training: str | Path, target: str | Path) -> Path:
    """Writes the best weights of a training folder as a model, with lemmas and vocabulary learnt from the same data."""
    from howsure.english.training_data import treebank

    source, folder = Path(training), Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    documents = [d for part in treebank("train").values() for d in part]
    triples = [t for d in documents for t in zip(d.words, d.column("xpos"), d.column("lemma"), strict=True)]
    counted = Counter(word.lower() for triple in triples for word in {triple[0], triple[2]})
    known = Vocabulary.of(counted)
    with np.load(source / "best.npz", allow_pickle=False) as kept:
        arrays = {k: kept[k].astype(np.float16) for k in kept.files}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays, **{VOCABULARY: known.to_array()})  # type: ignore[arg-type]
    lemmas = json.dumps(learnt_lemmatiser(triples, known).to_dict(), ensure_ascii=False, sort_keys=True, indent=0)
    write_whole(folder / LEMMAS, lemmas.encode())
    for name in LABELLED:
        write_whole(folder / f"{name}.json", (source / "labels" / f"{name}.json").read_bytes())
    write_whole(folder / WEIGHTS, buffer.getvalue())
    return folder
