"""`howsure lm`: n-gram language models. The module is `howsure.lm` in Python.

model = howsure.lm.train("train.txt", order=3)
howsure.lm.perplexity(model, "test.txt")
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from howsure import _validate
from howsure._result import finite
from howsure.engines.engine import bound
from howsure.errors import InputError
from howsure.models.ngrams.model import LanguageModel, LanguageTraining
from howsure.models.ngrams.training import trained
from howsure.models.ngrams.trie import MEMORY
from howsure.models.ngrams.vocabulary import blocks
from howsure.processes import Progress
from howsure.verbs.load import model_of

if TYPE_CHECKING:  # what training does not need is loaded where it is used
    from howsure.evaluation.model_checks import LanguageCalibration
    from howsure.models.ngrams.comparison import ModelComparison
    from howsure.models.ngrams.evaluation import Evaluation
    from howsure.models.ngrams.spelling import Correction, Corrector
    from howsure.models.ngrams.study import SmoothingStudy
    from howsure.models.ngrams.use import NextWords, RankedTexts, SentenceProbabilities


def train(
    text: Any,
    *,
    order: int = 3,
    smoothing: str = "modified-kneser-ney",
    units: str | None = None,
    sentences: bool = True,
    padding: str = "one",
    lowercase: bool = False,
    min_count: int = 1,
    vocabulary_size: int | None = None,
    vocabulary: str | Path | Sequence[str] | None = None,
    closed: bool = False,
    dev: Any = None,
    alpha: float | None = None,
    cut_off: int | None = None,
    memory: int | str | None = None,
    progress: Progress | None = None,
) -> LanguageTraining:
    """A language model of a text.

    Parameters
    ----------
    text : path, "-", list of paths, or list of sentences
        UTF-8, a sentence a line; `.gz` is read too.
    order : int
        n: a word depends on the n-1 before it.
    smoothing : str
        mle, laplace, lidstone, good-turing, simple-good-turing, interpolated, katz, witten-bell,
        absolute-discounting, kneser-ney or modified-kneser-ney.
    units : str or None
        "words" (between spaces), "punctuation" (words and punctuation marks apart) or "characters". By default
        "punctuation" where most marks touch a word, and a note says so; "words" where they stand apart already.
    sentences : bool
        Whether a line is a sentence, <s> before it and </s> after it; if not, the text is one long stretch.
    padding : "one" or "full"
        One <s> a sentence (as KenLM does), or n - 1.
    lowercase : bool
        Read the text in lower case.
    min_count, vocabulary_size, vocabulary
        Words seen less often, beyond this number of the most frequent, or not in a given list become <UNK>.
    closed : bool
        No <UNK>: other words cannot occur.
    dev : as `text`
        What lidstone's α and interpolated's weights are tuned on; by default the training text itself, leaving out
        each occurrence in turn. With any smoothing, its perplexity is reported (infinite where a word has probability 0).
    alpha, cut_off
        Lidstone's α; the largest count that good-turing and katz discount.
    memory : int or str
        A bound for memory, in bytes or such as "1GB"; more is spilled to temporary files and merged.
    progress : callable
        Called with the share that is done of what is being done, 1.0, and what that is.

    Returns
    -------
    LanguageTraining
        `.model`, with `.score` and `.distribution`; `.save("lm.npz")` writes it.

    References
    ----------
    Chen & Goodman, An empirical study of smoothing techniques for language modeling, 1999.

    Examples
    --------
    >>> import howsure
    >>> made = howsure.lm.train(["I am Sam", "Sam I am", "I do not like green eggs and ham"], order=2, smoothing="mle")
    >>> model = made.model
    >>> round(float(model.distribution("I")[model.vocabulary.number("am")]), 3)
    0.667
    """
    if padding not in ("one", "full"):
        raise InputError(f"`padding=` is one or full; got {padding!r}.")
    options: dict[str, Any] = {}
    if alpha is not None:
        if smoothing != "lidstone":
            raise InputError("alpha goes with `smoothing='lidstone'`.")
        if not alpha > 0:
            raise InputError(f"alpha must be above 0; got {alpha:g}.")
        options["alpha"] = alpha
    if cut_off is not None:
        if smoothing not in ("good-turing", "katz"):
            raise InputError("a cut-off goes with `smoothing='good-turing'` or katz.")
        if cut_off < 1:
            raise InputError(f"the cut-off must be 1 or more; got {cut_off}.")
        options["cut_off"] = cut_off
    if vocabulary is not None and (min_count > 1 or vocabulary_size is not None):
        raise InputError("give a vocabulary, or a minimum count or size, not both.")
    options |= {"order": order, "smoothing": smoothing, "units": units, "sentences": sentences, "lowercase": lowercase}
    options |= {"min_count": min_count, "size": vocabulary_size, "words": _words(vocabulary), "closed": closed}
    options |= {"padding": 1 if padding == "one" else max(1, order - 1), "dev": None if dev is None else _source(dev)}
    model = trained(_source(text), memory=MEMORY if memory is None else bound(memory), progress=progress, **options)
    if dev is not None:
        from howsure.models.ngrams.evaluation import evaluated

        found = evaluated(model, _source(dev))
        model.settings["dev_perplexity"] = finite(found.perplexity)
        if found.impossible:
            model.settings["notes"].append("On the dev text: " + found.verdict)
    return LanguageTraining(model)


def load(path: str | Path) -> LanguageModel:
    """A saved model: `.npz`, or ARPA (`.arpa`)."""
    return _model(path)


def perplexity(model: Any, text: Any, *, groups: Any = None, confidence_level: float = 0.95) -> Evaluation:
    """How well a model predicts a text: perplexity with and without unknown words and </s>, bits, accuracy.

    `groups` (a number each sentence) says which sentences are dependent: of the same document.
    """
    from howsure.models.ngrams.evaluation import evaluated

    level = _validate.fraction(confidence_level, "confidence_level")
    found = _model(model)
    numbers = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)
    return evaluated(found, _source(text), groups=numbers, confidence_level=level, name=_name(model), text=_name(text))


def compare(
    a: Any, b: Any, text: Any, *, confidence_level: float = 0.95, rng: np.random.Generator | int | None = 0
) -> ModelComparison:
    """Which of two models predicts a text better: a paired test over sentences, on the words both know."""
    from howsure.models.ngrams.comparison import compared

    level = _validate.fraction(confidence_level, "confidence_level")
    names = (_name(a) or "A", _name(b) or "B")
    return compared(
        _model(a), _model(b), _source(text), names=names, confidence_level=level, rng=_validate.generator(rng)
    )


def generate(
    model: Any,
    *,
    words: int = 50,
    temperature: float = 1.0,
    top_k: int | None = None,
    history: str = "",
    rng: np.random.Generator | int | None = None,
) -> str:
    """Text drawn from a model, a line each sentence."""
    from howsure.models.ngrams.use import sampled

    return sampled(
        _model(model), words, rng=_validate.generator(rng), temperature=temperature, top_k=top_k, history=history
    )


def prob(model: Any, sentences: str | Sequence[str]) -> SentenceProbabilities:
    """The probability of a sentence, or of several, word by word.

    >>> import howsure
    >>> model = howsure.lm.train(["I am Sam", "Sam I am", "I do not like green eggs and ham"], order=2, smoothing="mle")
    >>> [round(w.prob, 3) for w in howsure.lm.prob(model, "I am Sam").sentences[0].words]
    [0.667, 0.667, 0.5, 0.5]
    """
    from howsure.models.ngrams.use import sentence_probabilities

    return sentence_probabilities(_model(model), [sentences] if isinstance(sentences, str) else list(sentences))


def next(model: Any, history: str = "", *, words: int = 10) -> NextWords:
    """The likeliest words after a history, with their probabilities."""
    from howsure.models.ngrams.use import next_words

    return next_words(_model(model), history, words)


def rank(
    model: Any,
    hypotheses: Any,
    *,
    text: str | None = None,
    channel: Sequence[float] | str | None = None,
    key: Sequence[str] | str | None = None,
    weight: float = 1.0,
) -> RankedTexts:
    """Hypotheses of a recogniser or translator by a noisy channel: channel + weight · log p(text).

    Parameters
    ----------
    hypotheses : list of sentences, or a table (path or data frame)
        Of a table, `text`, `channel` and `key` are columns.
    channel : list of float, or a column's name
        Natural log of p(signal | text), from an acoustic, translation or error model; 0 if not given.
    key : list of str, or a column's name
        Which hypotheses compete: those of the same utterance. All of them, if not given.
    weight : float
        Power of the language model's probability.

    Returns
    -------
    RankedTexts
        `.hypotheses` with their probability among those of their key, `.best`.
    """
    from howsure.models.ngrams.use import ranked

    if isinstance(hypotheses, Sequence) and not isinstance(hypotheses, str):
        texts, scores, named = list(hypotheses), channel, key
    else:
        texts, scores, named = _hypotheses(hypotheses, text, channel, key)
    return ranked(_model(model), texts, channel=scores, keys=named, weight=weight)  # type: ignore[arg-type]


def _hypotheses(source: Any, text: str | None, channel: Any, keys: Any) -> tuple[list[str], Any, Any]:
    """Texts, channel scores and keys from the columns of a table."""
    from howsure.engines.coded import read_texts
    from howsure.engines.tables import Table

    more = tuple(c for c in (channel, keys) if c is not None)
    with Table(source) as table:
        rows = read_texts(table, text, None, labelled=False, more=more)
    scores: list[float] = []
    for given in () if channel is None else rows.more[channel]:
        try:
            scores.append(float(str(given)))
        except ValueError:
            raise InputError(f"column `{channel}` must hold log probabilities; got {given!r}.") from None
    return rows.texts, scores or None, None if keys is None else [str(k) for k in rows.more[keys]]


def study(
    text: Any,
    *,
    dev: Any = None,
    test: Any = None,
    order: int = 4,
    smoothings: Sequence[str] | None = None,
    min_count: int = 2,
    units: str | None = None,
    lowercase: bool = False,
    confidence_level: float = 0.95,
    rng: np.random.Generator | int | None = 0,
    progress: Progress | None = None,
) -> SmoothingStudy:
    """The perplexity of every smoothing at every order up to `order`, on the same text and vocabulary.

    Without `dev` and `test` the last tenth of the sentences is for testing and the tenth before it for development.
    Lidstone's α and the weights of interpolation are tuned on the dev text, the best model is chosen on it, and all perplexities
    shown are those of the test text. Words seen less than `min_count` times become <UNK>.
    """
    from howsure.models.ngrams.study import studied

    def sentences(source: Any) -> list[str]:
        return [line for block in blocks(_source(source)) for line in block.decode().splitlines() if line.strip()]

    dev_text, test_text = (None if given is None else sentences(given) for given in (dev, test))
    level = _validate.fraction(confidence_level, "confidence_level")
    how: dict[str, Any] = {
        "most_order": _validate.count(order, "order"),
        "smoothings": smoothings,
        "progress": progress,
    }
    how |= {"text": _name(text), "confidence_level": level, "rng": _validate.generator(rng)}
    return studied(sentences(text), dev_text, test_text, **how, min_count=min_count, units=units, lowercase=lowercase)


def corrector(
    model: Any,
    errors: str | Path | Sequence[tuple[str, str]] | None = None,
    *,
    error_rate: float = 0.05,
    weight: float | None = None,
    dev: str | Path | Sequence[tuple[str, str]] | None = None,
) -> Corrector:
    """A noisy-channel spelling corrector: `.line(text)`, `.word(typed)`; `.weight` is the weight used.

    Parameters
    ----------
    errors : (typed, meant) pairs, or a file of them with a TAB between
        What the channel learns from; by default counts of edits that ship.
    error_rate : float
        Share of words that are mistyped.
    weight : float or None
        Power of the language model's probability of the words in context; 1 unless `dev` chooses it.
    dev : (typed, meant) lines, or a file of them with a TAB between
        Text with errors in context: the weight that gets most of its words right is used.
    """
    from howsure.models.ngrams.spelling import Corrector, error_model, tune_weight

    if weight is not None and dev is not None:
        raise InputError("`weight` is either given or chosen on `dev`, not both.")
    learnt = None if errors is None else error_model(_pairs(errors))
    made = Corrector(_model(model), learnt, error_rate=error_rate, weight=1.0 if weight is None else weight)
    if dev is not None:
        tune_weight(made, _pairs(dev))
    return made


def corrected(model: Any, text: Any, **options: Any) -> list[tuple[str, list[Correction]]]:
    """Each line of a text corrected as a whole, with what was changed in it; a corrector, or a model and its options."""
    from howsure.models.ngrams.spelling import Corrector

    made = model if isinstance(model, Corrector) else corrector(model, **options)
    return [made.line(line) for block in blocks(_source(text)) for line in block.decode().splitlines()]


def check(model: Any, text: Any, **options: Any) -> LanguageCalibration:
    """Is the model's probability of the next word right? Options: `bins`, `confidence_level`, `events`, `rng`."""
    from howsure.verbs.lm_check import check_language

    return check_language(_model(model), _source(text), name=_name(model), text=_name(text), **options)


def _model(given: Any) -> LanguageModel:
    return model_of(given, LanguageModel)


def _name(given: Any) -> str:
    return str(given) if isinstance(given, str | Path) else ""


def _source(text: Any) -> Any:
    """A path, several, or sentences: a string is a path."""
    if isinstance(text, str):
        return text if text == "-" else Path(text)
    return text


def _words(vocabulary: Any) -> list[str] | None:
    if vocabulary is None:
        return None
    if not isinstance(vocabulary, str | Path):
        return [str(w) for w in vocabulary]

    from howsure.corpora.reading import numbered_lines

    made = [line.strip() for _, line in numbered_lines(vocabulary) if line.strip()]
    if not made:
        raise InputError(f"{vocabulary} names no words.")
    return made


def _pairs(path: str | Path | Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """What was typed and what was meant, from a file or as given."""
    if not isinstance(path, str | Path):
        return list(path)

    from howsure.corpora.reading import numbered_lines

    made = []
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != 2 or not all(c.strip() for c in cells):
            raise InputError(f"{path}, line {number}: what was typed, a TAB and what was meant were expected.")
        made.append((cells[0].strip(), cells[1].strip()))
    return made
