"""Raw English text to sentences, tags, dependencies and entities: a small spaCy pipeline of our own that ships with the package."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from howsure.english.coreference import with_coreference
    from howsure.english.parsing import parse
    from howsure.english.tokens import original_text

__all__ = ["original_text", "parse", "with_coreference"]


def __getattr__(name: str) -> Any:
    if name == "parse":
        from howsure.english.parsing import parse

        return parse
    if name == "original_text":
        from howsure.english.tokens import original_text

        return original_text
    if name == "with_coreference":
        from howsure.english.coreference import with_coreference

        return with_coreference
    raise AttributeError(f"module 'howsure.english' has no attribute {name!r}")
