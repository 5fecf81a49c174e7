"""Taggers by file: whichever kind of model it holds."""

from __future__ import annotations

from pathlib import Path

from howsure.errors import InputError
from howsure.models.saved import model_kind
from howsure.models.taggers.crf import Crf
from howsure.models.taggers.hmm import Hmm

Tagger = Crf | Hmm
KINDS: dict[str, type[Crf] | type[Hmm]] = {"crf": Crf, "hmm": Hmm}


def load_tagger(path: str | Path) -> Tagger:
    """A saved HMM or CRF."""
    kind = model_kind(path)
    if kind not in KINDS:
        raise InputError(f"{path} holds a model of kind {kind}; a tagger ({' or '.join(KINDS)}) was expected.")
    return KINDS[kind].load(path)
