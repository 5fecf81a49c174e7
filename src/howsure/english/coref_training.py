"""The coreference weights that ship: `python -m howsure.english.coref_training TARGET`.

Learnt from OntoGUM's training part without the genres whose texts may not be used commercially, on the pipeline's own
parses of its words, once as they are and once in upper case, with mentions found in those parses; the temperature is
fitted on the development part. Needs the corpora under HOWSURE_DATA.
"""

from __future__ import annotations

import sys
from pathlib import Path

from howsure.corpora.coreference.documents import gum_documents
from howsure.corpora.document import Document
from howsure.english.annotating import reparsed
from howsure.english.shipped import model, model_version
from howsure.english.training_data import NON_COMMERCIAL
from howsure.models.coreference.ranker import CorefModel, fit_coref, fit_temperature, gold_clusters


def open_documents(part: str) -> list[Document]:
    """OntoGUM's documents of a part, without the non-commercial genres."""
    return [d for d in gum_documents(part) if d.name.split("_")[1] not in NON_COMMERCIAL]


def trained() -> CorefModel:
    """Weights and temperature; the settings say what they were learnt from."""
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
