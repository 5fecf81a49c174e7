"""Coreference models and documents that experiments share: OntoNotes where it is, else OntoGUM."""

from __future__ import annotations

from typing import Any

import numpy as np

from howsure.corpora.conll2012 import read_conll2012
from howsure.corpora.coreference import gum_documents
from howsure.corpora.document import Document
from howsure.corpora.reading import corpus_path
from howsure.english import shipped
from howsure.english.annotating import reparsed
from howsure.errors import InputError
from howsure.experiments.registry import Work
from howsure.models.coreference.ranker import CorefModel, fit_coref, fit_temperature, gold_clusters

# What is trained on, what a temperature is fitted on, and what is asked about: on OntoNotes as the paper, on GUM by its splits.
PARTS = {"conll-2011": ("train", "test", "dev"), "gum": ("train", "dev", "test")}


def documents(corpus: str, part: str, limit: int | None = None) -> list[Document]:
    """Documents with gold mentions and parses: GUM's own, or those of the English pipeline where the corpus has none."""
    if corpus == "gum":
        return gum_documents(part)[:limit]
    files = sorted(corpus_path(corpus, part).rglob("*_conll"))
    gold = [f for f in files if f.name.endswith("gold_conll")] or files
    if not gold:
        raise InputError(f"there is no *_conll file below {corpus_path(corpus, part)}.")
    read = [d for f in gold for d in read_conll2012(f)][:limit]
    return list(reparsed(shipped.model(), read))


def fitted(
    work: Work,
    settings: dict[str, Any],
    train: list[Document],
    tune: list[Document],
    *,
    mentions: str,
    costs: bool = False,
) -> CorefModel:
    """A model with the temperature that was fitted on `tune`; kept for other experiments and runs."""
    key = {k: settings[k] for k in ("data", "data_fingerprint", "limit", "epochs")} | {
        "mentions": mentions,
        "costs": costs,
    }

    def make() -> CorefModel:
        work(f"training on {mentions} mentions{' with error costs' if costs else ''}")
        model = fit_coref(train, mentions=mentions, costs=costs, epochs=settings["epochs"], rng=0)
        given = [model.candidates(d) for d in tune]
        raw = [model.posterior(d, m, temperature=1.0) for d, m in zip(tune, given, strict=True)]
        gold = [gold_clusters(d, m) for d, m in zip(tune, given, strict=True)]
        return model.with_temperature(fit_temperature(raw, gold, "likelihood"))

    return work.kept("coref", key, make, lambda model, path: model.save(path), CorefModel.load)


class Pairs:
    """All pairs of mentions of all documents: label, exact probability, document; and samples when asked for."""

    def __init__(self, model: CorefModel, given: list[Document]) -> None:
        used = [d for d in given if d.mentions]
        found = [model.candidates(d) for d in used]
        self.posteriors = [model.posterior(d, m) for d, m in zip(used, found, strict=True)]
        gold = [gold_clusters(d, m) for d, m in zip(used, found, strict=True)]
        lower = [np.tril_indices(len(e), -1) for e in gold]
        self.y = np.concatenate([e[i] == e[j] for e, (i, j) in zip(gold, lower, strict=True)])
        self.q = np.concatenate([p.pairs()[at] for p, at in zip(self.posteriors, lower, strict=True)])
        self.document = np.repeat(np.arange(len(used)), [len(i) for i, _ in lower])
        self.n_documents, self.n_mentions = len(used), sum(map(len, gold))

    def sampled(self, n: int, rng: np.random.Generator) -> Any:
        """The pairs' frequencies in n sampled clusterings of each document."""
        from howsure.kernels.coreference.antecedents_compiled import pair_frequencies

        seen = [pair_frequencies(p.samples(n, rng)) for p in self.posteriors]
        return np.concatenate([s[np.tril_indices(len(s), -1)] for s in seen])
