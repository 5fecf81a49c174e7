"""Entities of parsed documents, with the coreference weights that ship; `python -m howsure.english.coreference TARGET` trains them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from howsure.corpora.document import Document
from howsure.english.shipped import COREFERENCE, SHIPPED, model, model_version
from howsure.models.coreference.ranker import CorefModel, fit_coref, fit_temperature, gold_clusters
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


def open_documents(part: str) -> list[Document]:
    """OntoGUM's documents of a part, without the non-commercial genres."""
    from howsure.corpora.coreference import gum_documents
    from howsure.english.training_data import NON_COMMERCIAL

    return [d for d in gum_documents(part) if d.name.split("_")[1] not in NON_COMMERCIAL]


def trained() -> CorefModel:
    """Weights and temperature; the settings say what they were learnt from.

    That is OntoGUM's training part without the genres whose texts may not be used commercially, on the pipeline's own parses
    of its words, once as they are and once in upper case, with mentions found in those parses; the temperature is fitted on
    the development part. Needs the corpora under HOWSURE_DATA.
    """
    from howsure.english.annotating import reparsed

    parser = model()
    train, dev = (
        [d for upper in (False, True) for d in reparsed(parser, open_documents(part), upper=upper)]
        for part in ("train", "dev")
    )
    made = fit_coref(train, mentions="predicted")
    given = [made.candidates(d, "predicted") for d in dev]
    posteriors = [made.posterior(d, m, temperature=1.0) for d, m in zip(dev, given, strict=True)]
    gold = [gold_clusters(d, m) for d, m in zip(dev, given, strict=True)]
    made = made.with_temperature(fit_temperature(posteriors, gold, "likelihood"))
    assert made.settings is not None
    made.settings.update({"corpus": "OntoGUM, open genres, as is and upper case", "parser": model_version()})
    return made


def main() -> None:
    """Train and save."""
    made = trained()
    made.save(Path(sys.argv[1]))
    print(f"{made!r}\nWritten: {sys.argv[1]}")


if __name__ == "__main__":
    main()
