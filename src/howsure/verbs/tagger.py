"""`howsure tagger`: train a tagger, check the calibration of its posterior, apply it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howsure import _validate
from howsure.calibration.analysis import analyse_rows
from howsure.calibration.multiclass import analyse_classes
from howsure.calibration.result import Slice, adjusted_slices, worst_first
from howsure.corpora.document import Document
from howsure.corpora.tagged import read_tagged, sentences_of
from howsure.errors import InputError
from howsure.evaluation.cross_validation import CrossValidation
from howsure.evaluation.model_checks import TaggerCheck
from howsure.evaluation.predictive import PredictiveStatistic
from howsure.evaluation.scores.metrics import share_of_groups
from howsure.kernels.cells import Floats, Ints
from howsure.models.taggers.crf import Crf
from howsure.models.taggers.features import tag_lexicon
from howsure.models.taggers.hmm import Hmm, HmmCounts
from howsure.models.taggers.tagger import Candidate, Tagger, TaggerTraining
from howsure.models.taggers.temperature import FittedTemperature
from howsure.models.taggers.temperature import fit_temperature as fitted_temperature
from howsure.posteriors.chain import ChainPosterior, accuracy, top_pairs
from howsure.processes import Progress
from howsure.verbs.applying import Applied, kept
from howsure.verbs.load import model_of

Source = str | Path | Sequence[str | Path] | Sequence[Document]

L2_TRIED = (0.03, 0.1, 0.5)
PSEUDOCOUNTS_TRIED = (0.0001, 0.001, 0.01, 0.1, 1.0)


def train_tagger(
    source: Source,
    *,
    method: str = "crf",
    dev: Source | None = None,
    column: str | None = None,
    features: str = "advanced",
    lexicon: Source | None = None,
    l2: float | None = None,
    pseudocount: float | None = None,
    rare: int = 1,
    optimiser: str = "lbfgs",
    max_iterations: int = 150,
    fit_temperature: bool = False,
    progress: Progress | None = None,
) -> TaggerTraining:
    """Train an HMM or a CRF on tagged text.

    Parameters
    ----------
    source, dev : path, paths or documents
        CoNLL-U, columns or Penn .pos. The regulariser (CRF) or pseudocount (HMM) of best accuracy on `dev` is chosen.
    method : "crf" or "hmm"
    column : str
        What to read as tags; see `howsure.corpora.tagged.read_tagged`.
    features : str
        Of the CRF: "basic", "advanced", comma-separated template names, "advanced-shape" to leave one out.
    lexicon : path, paths or documents
        Other tagged text, of any tag set, whose tags of a word become features (CRF).
    l2, pseudocount : float
        The CRF's regulariser and the HMM's pseudocount, if they are not to be chosen (0 is maximum likelihood).
    rare : int
        HMM: words seen so often or less are treated by their shape and ending.
    optimiser : "lbfgs" or "adagrad"
    fit_temperature : bool
        Fit a temperature on `dev` and keep it in the model.

    Returns
    -------
    TaggerTraining
        The tagger, what was tried, and its accuracy on `dev`.
    """
    if method not in ("hmm", "crf"):
        raise InputError(f"a tagger is hmm or crf; got {method!r}.")
    if fit_temperature and dev is None:
        raise InputError("a temperature is fitted on held-out text: give `dev=`.")
    words, starts, tags, _ = tagged(source, column)
    held_out = None if dev is None else tagged(dev, column)
    how = {"features": features, "lexicon": lexicon, "l2": l2, "pseudocount": pseudocount, "rare": rare}
    how |= {"method": optimiser, "max_iterations": max_iterations}
    fits = _fits(method, (words, starts, tags), how, dev is not None, progress)
    best: Tagger | None = None
    tried: list[Candidate] = []
    for setting, value, made in fits:
        score = None if held_out is None else accuracy(made.posterior(held_out[0], held_out[1]), held_out[2])
        if best is None or (score is not None and score > max(t.dev_accuracy or 0.0 for t in tried)):
            best = made
        tried.append(Candidate(setting, value, score))
    assert best is not None
    fitted: FittedTemperature | None = None
    if fit_temperature and held_out is not None:
        posterior = best.posterior(held_out[0], held_out[1])
        fitted = fitted_temperature(posterior, posterior.codes(held_out[2]))
        best = best.with_settings(temperature=fitted.temperature)
    return TaggerTraining(
        best, len(starts) - 1, len(words), tuple(tried), fitted, None if held_out is None else len(held_out[0])
    )


def _named(progress: Progress, name: str) -> Progress:
    return lambda done, total, what="": progress(done, total, f"{name}, {what}")


def cv_tagger(
    source: Source,
    *,
    method: str = "crf",
    folds: int = 10,
    column: str | None = None,
    features: str = "advanced",
    l2: float = 0.1,
    pseudocount: float = 0.1,
    rare: int = 1,
    max_iterations: int = 150,
    groups: str | None = None,
    second: str | None = None,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    progress: Progress | None = None,
) -> CrossValidation:
    """k-fold cross-validation of a tagger: train on k - 1 folds, tag the other, for each in turn.

    `groups` is what stays in one fold and is independent: "document" or "sentence"; by default documents, where there are
    two a fold at least. The baseline gives each word its commonest tag in the training folds. `second` is what to read as the
    tags of a second annotator, whose accuracy is the ceiling.
    """
    from howsure.verbs.cross_validation import cross_validated
    from howsure.verbs.split import split

    if method not in ("hmm", "crf"):
        raise InputError(f"a tagger is hmm or crf; got {method!r}.")
    if folds < 2:
        raise InputError(f"`folds=` must be 2 or more; got {folds}.")
    if groups not in (None, "sentence", "document"):
        raise InputError(f"`groups=` must be sentence or document; got {groups!r}.")
    words, starts, tags, of_document = tagged(source, column)
    by_document = groups == "document" or (groups is None and len(set(of_document.tolist())) >= 2 * folds)
    of_sentence = of_document if by_document else np.arange(len(starts) - 1)
    sentence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    part = split(len(starts) - 1, folds=folds, groups=[str(g) for g in of_sentence], rng=rng).part

    def taken(rows: NDArray[Any]) -> tuple[list[str], Ints, list[str]]:
        sizes = np.bincount(np.unique(sentence[rows], return_inverse=True)[1])
        chosen = rows.tolist()
        return [words[i] for i in chosen], np.concatenate([[0], np.cumsum(sizes)]), [tags[i] for i in chosen]

    def trained(train: NDArray[Any], test: NDArray[Any]) -> tuple[list[str], Floats, list[str]]:
        seen, ends, given = taken(train)
        fits = _fits(method, (seen, ends, given), how)
        posterior = next(iter(fits))[2].posterior(*taken(test)[:2])
        codes = posterior.mbr_tags()
        counted: dict[str, Counter[str]] = defaultdict(Counter)
        for w, t in zip(seen, given, strict=True):
            counted[w][t] += 1
        commonest = Counter(given).most_common(1)[0][0]
        best = {w: c.most_common(1)[0][0] for w, c in counted.items()}
        sure = posterior.marginals()[np.arange(len(codes)), codes]
        return [posterior.tags[c] for c in codes.tolist()], sure, [best.get(words[i], commonest) for i in test.tolist()]

    how = {"features": features, "l2": l2, "pseudocount": pseudocount, "rare": rare}
    how |= {"method": "lbfgs", "max_iterations": max_iterations}
    kept = "documents" if by_document else "sentences"
    about: dict[str, Any] = {"what": "tokens", "baseline": "each word's commonest tag in the training folds"}
    about |= {"notes": (f"{kept.capitalize()} are kept in one fold and taken as independent.",)}
    about |= {"second": None if second is None else _column(source, second), "groups": of_sentence[sentence]}
    folds_of = np.asarray(part)[sentence]
    running: dict[str, Any] = {"confidence_level": confidence_level, "progress": progress}
    return cross_validated(tags, folds_of, trained, method=method.upper(), **about, **running)


def _fits(
    method: str, text: tuple[Any, ...], how: dict[str, Any], has_dev: bool = False, progress: Progress | None = None
) -> Iterator[tuple[str, float, Tagger]]:
    """Taggers of a text (words, starts, tags), by what is tried: the setting's name, its value, and the tagger."""
    if method == "hmm":
        counts = HmmCounts(*text, rare=_validate.count(how["rare"], "rare") if how["rare"] else 0)
        given = how["pseudocount"]
        for value in (given,) if given is not None else PSEUDOCOUNTS_TRIED if has_dev else (0.01,):
            yield "pseudocount", value, counts.fit(pseudocount=value)
        return
    from howsure.models.taggers.training import CrfTrainer

    other = None if how.get("lexicon") is None else tagged(how["lexicon"], None)
    entries = None if other is None else tag_lexicon(other[0], other[2])
    words, starts, tags = text
    trainer = CrfTrainer(words, starts, tags, how["features"], entries)
    given, training = how["l2"], {k: how[k] for k in ("method", "max_iterations")}
    for value in (given,) if given is not None else L2_TRIED if has_dev else (0.1,):
        said = None if progress is None else _named(progress, f"l2 = {value:g}")
        yield "l2", value, trainer.fit(l2=value, progress=said, **training)


def tagged(source: Source, column: str | None) -> tuple[list[str], Ints, list[str], Ints]:
    """Words, starts of sentences, tags, and each sentence's document, of files or documents."""
    documents = _documents(source, column, need_tags=True)
    words, starts, of_document = sentences_of(documents)
    return words, starts, [t for d in documents for t in d.column("tag")], of_document


def _column(source: Source, name: str) -> list[str]:
    """Another column of the same tokens: of documents by its name, of files as `column` names it."""
    documents = _documents(source, name, need_tags=True)
    given = not isinstance(source, str | Path) and isinstance(source[0], Document)
    return [t for d in documents for t in d.column(name if given else "tag")]


def _documents(source: Source, column: str | None, *, need_tags: bool) -> list[Document]:
    if not isinstance(source, str | Path) and len(source) and isinstance(source[0], Document):
        return list(source)  # type: ignore[arg-type]
    return read_tagged(source, column, need_tags=need_tags)  # type: ignore[arg-type]


def check_tagger(
    model: Tagger | TaggerTraining | str | Path,
    source: Source,
    *,
    column: str | None = None,
    groups: str | None = None,
    pairs: int = 100,
    predictive: int = 0,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
) -> TaggerCheck:
    """Is a tagger's posterior calibrated: each tag's probability, the commonest tag pairs', and spans' if it has any?

    `groups` is what is independent: "sentence" or "document"; by default documents where there are several (`# newdoc`), and
    the result says which. Tags that the model has never seen have probability 0. `predictive` is a number of samples of all tags,
    whose statistics are compared with those of gold.
    """
    level = _validate.fraction(confidence_level, "confidence_level")
    if groups not in (None, "sentence", "document"):
        raise InputError(f"`groups=` must be sentence or document; got {groups!r}.")
    tagger = model_of(model, Crf, Hmm)
    words, starts, tags, of_document = tagged(source, column)
    groups = groups or ("document" if of_document[-1] > 0 else "sentence")
    posterior = tagger.posterior(words, starts)
    codes = posterior.codes(tags)
    unseen = sorted({t for t, c in zip(tags, codes.tolist(), strict=True) if c < 0})
    if (codes < 0).mean() > 0.5:
        raise InputError(
            f"most tags are none that the model knows, such as `{unseen[0]}`; was another column meant? "
            f"{_validate.nearest(unseen[0], tagger.tags).strip()}"
        )
    of_sentence = of_document if groups == "document" else np.arange(len(starts) - 1)
    _validate.several(int(of_sentence[-1]) + 1, groups)
    group = of_sentence[posterior.sentence]
    names = (*tagger.tags, *unseen)
    q = np.concatenate([posterior.marginals(), np.zeros((len(words), len(unseen)))], axis=1)
    place = {t: i for i, t in enumerate(names)}
    y = np.array([place[t] for t in tags], np.int64)
    name = Path(source).name if isinstance(source, str | Path) else "text"
    classes = analyse_classes(
        y, q / q.sum(axis=1, keepdims=True), names, groups=group, confidence_level=level,
        rng=_validate.generator(rng), source=name,
    )  # fmt: skip
    checks: tuple[PredictiveStatistic, ...] = ()
    if predictive:
        from howsure.verbs.predictive import of_tags

        checks = of_tags(posterior, codes, _validate.count(predictive, "predictive"), _validate.generator(rng))
    log_prob = posterior.log_probability(codes)
    known = np.isfinite(log_prob)
    right = (posterior.mbr_tags() == codes).astype(np.float64)
    asked = [(kind, posterior.span_is(kind)) for kind in posterior.span_kinds()]
    spans = [(kind, a.y_true(codes), a.y_prob, of_sentence[a.sentence]) for kind, a in asked if len(a)]
    return TaggerCheck(
        classes=classes,
        accuracy=share_of_groups(right, np.ones(len(right)), group, level),
        viterbi_accuracy=float(np.mean(posterior.best().tags[:, 0] == codes)),
        n_sentences=len(starts) - 1,
        groups=groups,
        n_groups=int(group.max()) + 1,
        log_loss=-float(log_prob[known].sum()) / max(int(np.diff(starts)[known].sum()), 1),
        per_pair=pair_slices(posterior, codes, group, pairs, level),
        per_span=worst_first(analysed(spans, level)),
        unseen=tuple(unseen),
        source=f"{model} on {name}" if isinstance(model, str | Path) else name,
        predictive=checks,
    )


def pair_slices(posterior: ChainPosterior, codes: Ints, group: Ints, most: int, level: float) -> tuple[Slice, ...]:
    """Calibration of the commonest pairs of consecutive tags."""
    top = top_pairs(posterior, codes, most)
    if not top:
        return ()
    found: list[tuple[Ints, Floats]] = []
    posterior.pairs(top, lambda tokens, q: found.append((tokens, q.copy())))
    at, q = (np.concatenate(part) for part in zip(*found, strict=True))
    made = []
    for k, (a, b) in enumerate(top):
        i, j = posterior.codes([a, b])
        y = ((codes[at] == i) & (codes[at + 1] == j)).astype(np.uint8)
        made.append((f"{a} {b}", y, np.ascontiguousarray(np.minimum(q[:, k], 1.0)), group[at]))
    return worst_first(analysed(made, level))


def analysed(rows: list[tuple[str, NDArray[np.uint8], Floats, Ints]], level: float) -> tuple[Slice, ...]:
    """Calibration of named rows (labels, probabilities, groups) each, p-values adjusted for their number."""
    return adjusted_slices([(name, analyse_rows(y, q, group, level)[0]) for name, y, q, group in rows])


def apply_tagger(
    model: Tagger | TaggerTraining | str | Path,
    source: Source,
    out: str | Path | None = None,
    *,
    column: str | None = None,
    best: int = 1,
    samples: int = 0,
    rng: np.random.Generator | int | None = 0,
) -> Applied:
    """Tag text: a table with a row per token, in memory or, with `out`, in a Parquet file.

    Columns: document, sentence, word, tag (where the text has one), predicted and its prob (the largest marginal), best_1 …
    and best_1_prob (the most probable sequences, and the probability of each as a whole), sample_1 …, and p_TAG for every tag.
    """
    import pyarrow as pa

    if best < 0 or samples < 0:
        raise InputError("`best=` and `samples=` must be 0 or more.")
    tagger = model_of(model, Crf, Hmm)
    documents = _documents(source, column, need_tags=False)
    words, starts, of_document = sentences_of(documents)
    posterior = tagger.posterior(words, starts)
    q = posterior.marginals()
    names = pa.array(tagger.tags)
    lengths = np.diff(starts)

    def tag_column(codes: NDArray[Any]) -> Any:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), names)

    predicted = posterior.mbr_tags()
    given: dict[str, Any] = {
        "document": pa.array([documents[i].name for i in np.repeat(of_document, lengths).tolist()]),
        "sentence": pa.array(posterior.sentence),
        "word": pa.array(words),
    }
    if all("tag" in d.columns for d in documents):
        given["tag"] = pa.array([t for d in documents for t in d.column("tag")])
    made: dict[str, Any] = {"predicted": tag_column(predicted), "prob": pa.array(q[np.arange(len(words)), predicted])}
    if best:
        found = posterior.k_best(best)
        for k in range(best):
            made[f"best_{k + 1}"] = tag_column(found.tags[:, k])
            made[f"best_{k + 1}_prob"] = pa.array(np.repeat(found.prob[:, k], lengths))
    if samples:
        drawn = posterior.samples(samples, rng)
        made |= {f"sample_{k + 1}": tag_column(drawn[k]) for k in range(samples)}
    made |= {f"p_{t}": pa.array(np.ascontiguousarray(q[:, i])) for i, t in enumerate(tagger.tags)}
    return kept(pa.table(given | made), made, "tokens", out)
