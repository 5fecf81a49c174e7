"""Raw English text to sentences, tags, dependencies and entities: a small spaCy pipeline of our own that ships with the package."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from howsure.english.confidence import probabilities
    from howsure.english.coreference import with_coreference
    from howsure.english.parsing import parse
    from howsure.english.tokens import original_text

__all__ = ["original_text", "parse", "probabilities", "with_coreference"]


_LAZY = {
    "parse": "parsing",
    "original_text": "tokens",
    "probabilities": "confidence",
    "with_coreference": "coreference",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'howsure.english' has no attribute {name!r}")
    return getattr(import_module(f"howsure.english.{_LAZY[name]}"), name)
