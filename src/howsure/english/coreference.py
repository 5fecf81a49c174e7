"""Entities of parsed documents, with the coreference weights that ship."""

from collections.abc import Iterable, Iterator
from functools import cache

from howsure.corpora.document import Document
from howsure.english.shipped import COREFERENCE, SHIPPED
from howsure.models.coreference.ranker import CorefModel
from howsure.posteriors.antecedents import AntecedentPosterior


@cache
def coref_model() -> CorefModel:
    """The coreference model that ships, loaded once."""
    return CorefModel.load(SHIPPED / COREFERENCE)


def with_coreference(
    documents: Iterable[Document], model: CorefModel | None = None
) -> Iterator[tuple[Document, AntecedentPosterior]]:
    """Each document with its mentions (each an entity of its own until one is chosen), and their posterior.

    A document that brings mentions keeps them; in others they are found in the parse.

    Parameters
    ----------
    documents : parsed documents
        What `howsure.english.parse` yields.
    model : CorefModel or None
        Another model than the one that ships.
    """
    used = coref_model() if model is None else model
    for document in documents:
        found = used.candidates(document, "predicted" if document.mentions is None else "gold")
        yield document.with_(mentions=found), used.posterior(document, found)
