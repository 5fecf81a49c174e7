"""Who wrote it, and in which language? P(class | text) by Bayes' rule from a language model for each class."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np

from howsure._result import shown_as
from howsure.errors import InputError
from howsure.models.ngrams.model import ARRAYS, LanguageModel
from howsure.models.ngrams.training import trained
from howsure.models.saved import Array, load_model, save_model
from howsure.posteriors.classes import ClassPosterior
from howsure.processes import Progress

KIND, VERSION = "ngram-classifier", 1
WARMEST = 1000.0


@dataclass(frozen=True, eq=False, repr=False)
class NgramClassifier:
    """P(class | text) ∝ P(class) p(text | class)^(1/T), p(text | class) by an n-gram model of the class's texts.

    All models share one vocabulary, so that none wins by knowing fewer words. An n-gram model takes what it has counted for
    independent evidence, so that the posterior of a long text is far too sure; the temperature T and the priors, fitted on
    held-out texts, make it right.
    """

    classes: tuple[str, ...]
    models: tuple[LanguageModel, ...]
    log_prior: np.ndarray
    settings: dict[str, Any]

    __repr__ = shown_as("{#classes} classes, order {settings[order]}, {settings[units]}")

    @property
    def words(self) -> tuple[str, ...]:
        """What the models know: words or characters."""
        return tuple(self.models[0].vocabulary.words[3:])

    def posterior(self, texts: Sequence[str]) -> ClassPosterior:
        """Probabilities of the classes for each text."""
        log_p = self._log_p(texts) / float(self.settings.get("temperature", 1.0))
        return ClassPosterior(log_p + self.log_prior, self.classes)

    def _log_p(self, texts: Sequence[str]) -> np.ndarray:
        return np.column_stack([m.scores(list(texts)) for m in self.models]).reshape(len(texts), len(self.classes))

    def save(self, path: str | Path) -> None:
        """Write a `.npz` file without pickle."""
        arrays = {"log_prior": self.log_prior}
        for i, m in enumerate(self.models):
            arrays |= {f"{name} {i}": a for name, a in m.saved_arrays().items()}
        models = [{**m.settings, "order": m.order} for m in self.models]
        about = {**self.settings, "classes": list(self.classes), "models": models}
        save_model(path, KIND, VERSION, about, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        settings, _ = load_model(path, KIND, VERSION, {}, lists={"classes": "class"})
        classes = tuple(settings["classes"])
        wanted: dict[str, Any] = {"log_prior": Array("f", ("class",))}
        for i in range(len(classes)):
            for name, a in ARRAYS.items():
                below = a.below and f"{a.below} {i}"
                wanted[f"{name} {i}"] = Array(a.kind, tuple(f"{s} {i}" for s in a.shape), below=below, log=a.log)
        settings, arrays = load_model(path, KIND, VERSION, wanted, lists={"classes": "class"})
        models, about = [], settings.pop("models", None)
        if not isinstance(about, list) or len(about) != len(classes) or len(classes) < 2:
            raise InputError(f"{path} is damaged: it has not one model for each class.")
        for i, given in enumerate(about):
            parts = {name: arrays[f"{name} {i}"] for name in ARRAYS}
            models.append(LanguageModel.of_saved(dict(given), parts, path))
        return cls(tuple(settings.pop("classes")), tuple(models), arrays["log_prior"], settings)


def fit_ngrams(
    texts: Sequence[str],
    labels: Sequence[str],
    *,
    dev: tuple[Sequence[str], Sequence[str]] | None = None,
    order: int = 4,
    units: str = "characters",
    smoothing: str = "witten-bell",
    min_count: int = 2,
    progress: Progress | None = None,
) -> NgramClassifier:
    """A model of each class's texts over one vocabulary; with `dev`, the temperature and priors under which its labels are likeliest.

    Units seen less than `min_count` times in all texts together are <UNK> to every model.
    """
    classes = tuple(sorted({str(c) for c in labels}))
    if len(classes) < 2:
        raise InputError(f'all training texts have one label, "{classes[0]}"; a classifier needs two at least.')
    split: Callable[[str], list[str]] = list if units == "characters" else str.split
    counts = Counter(chain.from_iterable(map(split, texts)))
    known = sorted(w for w, n in counts.items() if n >= min_count and w.strip())
    if not known:
        raise InputError(f"no unit occurs {min_count} times or more; lower `min_count=`.")
    models, sizes = [], []
    for number, c in enumerate(classes):
        mine = [t for t, label in zip(texts, labels, strict=True) if str(label) == c]
        models.append(trained(mine, order=order, smoothing=smoothing, units=units, words=known))
        sizes.append(len(mine))
        if progress is not None:
            progress(number + 1, len(classes))
    settings = {"method": "ngrams", "order": order, "units": units, "smoothing": smoothing, "min_count": min_count}
    settings |= {"texts": len(texts), "dev": []}
    made = NgramClassifier(classes, tuple(models), np.log(np.array(sizes) / sum(sizes)), settings)
    return made if dev is None else _tempered(made, *dev)


def _tempered(model: NgramClassifier, texts: Sequence[str], labels: Sequence[str]) -> NgramClassifier:
    """The same with the temperature and the priors of least log loss on held-out texts.

    A class of few texts has a flatter model, which loses on every word: the priors make up for it. They are held near the shares of
    the training texts by a normal prior of standard deviation 3, so that a class that dev lacks keeps one.
    """
    from scipy.optimize import minimize

    unseen = sorted({str(c) for c in labels} - set(model.classes))
    if unseen:
        raise InputError(f'dev has the label "{unseen[0]}", which training has not.')
    log_p = model._log_p(texts)
    log_p -= log_p.max(axis=1, keepdims=True)
    gold = np.array([model.classes.index(str(c)) for c in labels])
    n = len(gold)

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        scale, prior = np.exp(-x[0]), x[1:]
        z = log_p * scale + prior
        top = z.max(axis=1, keepdims=True)
        q = np.exp(z - top)
        total = q.sum(axis=1, keepdims=True)
        value = float(np.mean(top[:, 0] + np.log(total[:, 0]) - z[np.arange(n), gold]))
        by_z = q / total
        by_z[np.arange(n), gold] -= 1.0
        off = prior - model.log_prior
        by_x = [[-scale * float((by_z * log_p).sum()) / n], by_z.mean(axis=0) + off / (9.0 * n)]
        return value + float(off @ off) / (18.0 * n), np.concatenate(by_x)

    start = np.concatenate([[0.0], model.log_prior])
    warmest = float(np.log(WARMEST))
    bounds = [(-warmest, warmest), *[(None, None)] * len(model.classes)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    t = float(np.exp(found[0]))
    tried = [{"temperature": u, "log_loss": loss(x)[0]} for u, x in ((1.0, start), (t, found))]
    prior = found[1:] - np.log(np.exp(found[1:] - found[1:].max()).sum()) - found[1:].max()
    return NgramClassifier(model.classes, model.models, prior, {**model.settings, "temperature": t, "dev": tried})
