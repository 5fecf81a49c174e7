"""What a record of a log says: the answer, whether it is right, and each confidence apart by where it comes from.

| source | confidence in the answer |
|---|---|
| `choices` | its share of the likelihood of all choices |
| `sequence` | probability of all its tokens: exp of the sum of their log-probabilities |
| `per_token` | geometric mean of its tokens' probabilities: exp of the mean |
| `first_token` | probability of its first token |
| `stated` | what the model says: 85%, 0.85, 8 of 10, or a word on a scale that is given |
| `agreement` | share of the other samples of the same item that give the same answer |
| `judge` | the probability that a judge gives |
"""

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from howsure.engines.logs.records import DATED, Place, Skipped, task_of

SOURCES = ("choices", "sequence", "per_token", "first_token", "stated", "agreement", "judge")
SURELY_RIGHT = {"correct", "is_correct", "acc", "exact_match"}
RIGHT_KEYS = ("correct", "is_correct", "right", "acc", "exact_match", "label", "score")
CONFIDENCE_KEYS = ("confidence", "verbalized_confidence", "verbalised_confidence", "certainty", "probability", "prob")
LOGPROB_KEYS = ("logprobs", "token_logprobs", "log_probs", "logprob")
JUDGE_KEYS = ("judge_probability", "judge_prob", "judge")
ITEM_KEYS = ("item", "item_id", "id", "question_id", "doc_id", "custom_id", "key")
ANSWER_KEYS = ("answer", "prediction", "pred", "response", "output", "completion")
GOLD_KEYS = ("target", "gold", "expected", "ideal", "reference")
WORDS = {"true": 1.0, "yes": 1.0, "correct": 1.0, "c": 1.0, "pass": 1.0, "p": 0.5} | dict.fromkeys(
    ("false", "no", "incorrect", "i", "n", "fail"), 0.0
)
STATED = re.compile(
    r"(?:confidence|certainty)(?:\s+(?:level|score))?\s*(?:is|=|:|of)?\s*\**\s*(\d+(?:\.\d+)?\s*(?:%|/\s*100?\b)?)",
    re.I,
)
ANSWERED = re.compile(r"^[\s*]*(?:the\s+)?(?:final\s+)?answer\s*(?:is\b|:)[\s*]*(\S.*)$", re.I | re.M)
LONGEST = 200  # characters of a text that is kept as it is
ROUNDING = 1e-6  # a log-probability above 0 by no more than this is 0
Scale = Mapping[str, float]


@dataclass(slots=True)
class Answer:
    """One row of the table."""

    item: str | None
    task: str
    model: str
    run: str
    value: float | None = None  # the metric: 1 right, 0 wrong, or in between
    answer: str | None = None
    expected: str | None = None
    sample: int | None = None
    confidences: dict[str, float] = field(default_factory=dict)  # by source; `bare` is stated on a scale not yet known
    agreeing: tuple[int, int] | None = None  # of how many other samples of the record
    tokens: int | None = None
    more: dict[str, Any] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)  # why a confidence is left out
    compared: bool = False  # whether right or wrong comes from comparing the answer with the gold one
    of_file: bool = False  # whether the task is the file's name, for want of another

    @property
    def correct(self) -> float | None:
        """1 or 0 where the metric is one of them."""
        return self.value if self.value in (0.0, 1.0) else None

    def add_logprobs(self, found: Any) -> None:
        """Confidences of the answer's token log-probabilities."""
        each = _logprobs(found)
        if not each:
            return
        if max(each) > ROUNDING:
            self.lost.append("a log-probability is above 0")
            return
        if any(math.isnan(x) for x in each):
            self.lost.append("a log-probability is NaN")
            return
        total = min(sum(each), 0.0)
        self.tokens = len(each)
        self.confidences["sequence"] = math.exp(total)
        if len(each) > 1:
            self.confidences |= {"per_token": math.exp(total / len(each)), "first_token": math.exp(min(each[0], 0.0))}

    def add_stated(self, said: Any, scale: Scale) -> None:
        """A confidence that the model states."""
        text = str(said).strip().lower()
        number, percent = (text[:-1].strip(), True) if text.endswith("%") else (text, False)
        parts = [p.strip() for p in number.split("/")]
        try:
            if text in scale:
                self.confidences["stated"] = scale[text]
            elif percent or len(parts) == 2:
                self.confidences["stated"] = float(parts[0]) / (100.0 if percent else float(parts[1]))
            else:
                self.confidences["bare"] = float(number)
        except (ValueError, ZeroDivisionError):
            self.lost.append("a stated confidence is neither a number nor a word of `stated='likely=0.8,certain=0.95'`")
            return
        if not 0.0 <= self.confidences.get("stated", 0.0) <= 1.0 or not self.confidences.get("bare", 0.0) >= 0.0:
            self.confidences.pop("stated", None), self.confidences.pop("bare", None)
            self.lost.append("a stated confidence is not in 0-100%")

    def add_text(self, text: Any, scale: Scale) -> None:
        """A confidence that the answer's text ends in or begins with, such as `Confidence: 85%`."""
        found = STATED.findall(text) if isinstance(text, str) else []
        if found:
            self.add_stated(found[-1], scale)


def _logprobs(found: Any) -> list[float]:
    """Numbers from a number, a list of numbers or of {logprob: …}, or {content: […]} as OpenAI has it."""
    if isinstance(found, dict):
        found = found.get("content") or found.get("token_logprobs") or found.get("logprob")
    if isinstance(found, list):
        return [x for v in found if v is not None for x in _logprobs(v)]
    return [] if found is None else [float(found)]


def _value(said: Any) -> float | None:
    """A metric's value as a number; words for right and wrong too."""
    if isinstance(said, list | dict) or said is None:
        return None
    if isinstance(said, bool | int | float):
        return float(said) if math.isfinite(said) else None
    try:
        return float(said)
    except ValueError:
        return WORDS.get(str(said).strip().lower())


def _first(record: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((record[k] for k in keys if record.get(k) is not None), None)


def _text(value: Any) -> str | None:
    return None if value is None else value if isinstance(value, str) else str(value)


def clipped(text: str | None) -> str | None:
    """A text, or the beginning of a long one with a hash of all of it."""
    if text is None or len(text) <= LONGEST:
        return text
    return f"{text[:40]}… {hashlib.blake2b(text.encode(errors='replace'), digest_size=8).hexdigest()}"


def normalised(text: str | None) -> str:
    """An answer without case, punctuation and spaces at its ends."""
    return " ".join(re.sub(r"[^\w\s]|_", " ", str(text).lower()).split())


def said_answer(text: str | None) -> str | None:
    """What a text answers: without the confidence stated in it, and of several lines what follows the last `Answer:`."""
    if text is None:
        return None
    bare = STATED.sub("", text).strip()
    found = ANSWERED.findall(bare)
    return str(found[-1]).strip() if found else bare


# -- one reader per format ---------------------------------------------------------------------------------------------


def _lm_eval(record: dict[str, Any], place: Place, scale: Scale) -> Iterator[Answer]:
    """lm-evaluation-harness, `--log_samples`: log-likelihoods of choices, or generated text."""
    said = record.get("filtered_resps") or record.get("resps")
    if not isinstance(said, list) or not said:
        raise Skipped("no list of responses")
    kind, stem = record.get("filter", "none"), Path(place.path).name.removesuffix(".jsonl")
    task = str(record.get("task_name") or record.get("task") or task_of(place.path))
    dated = DATED.search(stem)
    folder = Path(place.path).resolve().parent.name
    made = Answer(
        _text(record.get("doc_id")),
        task if kind == "none" else f"{task} ({kind})",
        folder if stem.startswith("samples_") else stem,
        dated[1] if dated else stem,
        expected=_text(record.get("target")),
    )
    doc = record.get("doc")
    made.more = {"doc_id": record.get("doc_id")} | (doc if isinstance(doc, dict) else {})
    metrics = record.get("metrics") or RIGHT_KEYS
    made.value = next((v for k in metrics if (v := _value(record.get(k))) is not None), None)
    likelihood = [x for a in said if (x := _likelihood(a)) is not None]
    if len(likelihood) == len(said) > 1:
        _choose(made, likelihood, record)
    elif _likelihood(said[0]) is None:
        samples = [_text(s) for s in _flat(record.get("resps") or said)]
        made.answer = _text(_flat(said)[0])
        if made.value is None:
            raise Skipped("no metric that says right or wrong")
        made.add_text(samples[0], scale)
        if len(samples) > 1:
            same = sum(normalised(s) == normalised(made.answer) for s in samples)
            made.agreeing = (same - 1, len(samples) - 1) if same else None
    elif made.value is None:
        raise Skipped("a task without choices and without a metric that says right or wrong")
    yield made


def _choose(made: Answer, likelihood: list[float], record: dict[str, Any]) -> None:
    """The choice of the greatest likelihood."""
    if any(math.isnan(x) for x in likelihood):
        raise Skipped("a log-likelihood is NaN")
    if max(likelihood) == -math.inf:
        raise Skipped("all choices have the log-likelihood minus infinity")
    if max(likelihood) > ROUNDING:
        raise Skipped("a log-likelihood is above 0")
    best = max(likelihood)
    chosen = likelihood.index(best)
    made.answer = str(chosen)
    made.confidences["choices"] = 1.0 / math.fsum(math.exp(x - best) for x in likelihood)
    target: Any = record.get("target")
    if not str(target).strip().lstrip("-").isdigit():
        listed = made.more.get("choices")
        lists = [listed.get("label"), listed.get("text")] if isinstance(listed, dict) else [listed]
        target = next((x.index(target) for x in lists if isinstance(x, list) and target in x), None)
        if target is None and made.value is None:
            raise Skipped("the target is neither a number nor one of the choices")
    if target is not None:
        if not 0 <= int(target) < len(likelihood):
            raise Skipped("the target is not one of the choices")
        made.expected = str(int(target))
        made.value = float(int(target) == chosen)


def _likelihood(answer: Any) -> float | None:
    """Of [ll, greedy], [[ll, greedy]] or ll; None of anything else."""
    while isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    try:
        if isinstance(answer, list):
            number, greedy = answer
            return float(number) if str(greedy).lower() in ("true", "false", "x", "0", "1") else None
    except (TypeError, ValueError):
        return None
    return float(answer) if isinstance(answer, int | float) else None


def _flat(values: Any) -> list[Any]:
    return [x for v in values for x in _flat(v)] if isinstance(values, list) else [values]


def _inspect(record: dict[str, Any], place: Place, scale: Scale) -> Iterator[Answer]:
    """A sample of inspect_ai: the first scorer tells right or wrong."""
    about = place.about.get("eval") or {}
    if record.get("error"):
        raise Skipped("the sample ended in an error")
    output = record.get("output") or {}
    scores = record.get("scores") or ({"": record["score"]} if record.get("score") else {})
    name, score = next(iter(scores.items()), ("", {}))
    if not isinstance(score, dict) or not score:
        raise Skipped("the sample has no score")
    value = score.get("value")
    if isinstance(value, dict):
        value = next(iter(value.values()), None)
    made = Answer(
        _text(record.get("id")),
        str(about.get("task", task_of(place.path))),
        str(about.get("model", "")),
        str(about.get("run_id", "")),
        _value(value),
        _text(score.get("answer") or output.get("completion")),
        _text(record.get("target")),
        record.get("epoch"),
    )
    if made.value is None:
        raise Skipped(f"the score of {name!r} is not a number and not C or I")
    made.more = dict(record.get("metadata") or {})
    made.more |= {f"score_{k}": v.get("value") for k, v in list(scores.items())[1:] if isinstance(v, dict)}
    choices = output.get("choices") or [{}]
    made.add_logprobs(choices[0].get("logprobs"))
    stated = _first(score.get("metadata") or {}, CONFIDENCE_KEYS)
    if stated is not None:
        made.add_stated(stated, scale)
    else:
        made.add_text(output.get("completion"), scale)
    yield made


def _openai(record: dict[str, Any], place: Place, scale: Scale) -> Iterator[Answer]:
    """Chat completions, completions and responses, as they are, in a `response`, or as a batch's output."""
    body = record
    while isinstance(body.get("response"), dict) or isinstance(body.get("body"), dict):
        body = body["response"] if isinstance(body.get("response"), dict) else body["body"]
    if body.get("error") or record.get("error"):
        raise Skipped("the response is an error")
    around = {**(body.get("metadata") or {}), **(record.get("metadata") or {}), **record}
    pieces = list(_pieces(body))
    if not pieces:
        raise Skipped("the response has no answer")
    for number, (text, logprobs) in enumerate(pieces):
        made = _generic_row(around, place, text, str(body.get("model") or ""))
        made.sample = number + 1 if len(pieces) > 1 else None
        made.add_logprobs(logprobs)
        made.add_text(text, scale)
        yield made


def _pieces(body: dict[str, Any]) -> Iterator[tuple[str | None, Any]]:
    """The answers of a response, with their log-probabilities."""
    for choice in body.get("choices") or ():
        message = choice.get("message") or {}
        yield _text(message.get("content", choice.get("text"))), choice.get("logprobs")
    parts = [p for o in body.get("output") or () if isinstance(o, dict) for p in o.get("content") or ()]
    texts = [p for p in parts if isinstance(p, dict) and p.get("type") == "output_text"]
    if texts:
        yield "".join(str(p.get("text")) for p in texts), [x for p in texts for x in p.get("logprobs") or ()]


def _generic_row(record: Mapping[str, Any], place: Place, answer: str | None, model: str) -> Answer:
    expected, right = _first(record, GOLD_KEYS), _first(record, RIGHT_KEYS)
    value, answer = _value(right), said_answer(answer)
    if right is not None and value is None:
        raise Skipped(f"{str(right)[:40]!r} does not say right or wrong")
    compared = value is None and expected is not None and answer is not None
    if compared:
        value = float(normalised(answer) == normalised(str(expected)))
    task = _first(record, ("task_name", "task"))
    made = Answer(
        _text(_first(record, ITEM_KEYS)),
        str(task or task_of(place.path)),
        str(model or record.get("model") or task_of(place.path)),
        str(record.get("run") or ""),
        value,
        answer,
        _text(expected),
        compared=compared,
        of_file=not task,
    )
    used = {*RIGHT_KEYS, *GOLD_KEYS, *ITEM_KEYS, *ANSWER_KEYS, *CONFIDENCE_KEYS, *LOGPROB_KEYS, *JUDGE_KEYS}
    made.more = {k: v for k, v in record.items() if k not in used | {"task", "task_name", "model", "run", "body"}}
    return made


def _promptfoo(record: dict[str, Any], place: Place, scale: Scale) -> Iterator[Answer]:
    """A result of promptfoo: whether its assertions passed, and their score."""
    if record.get("error") and not record.get("gradingResult"):
        raise Skipped("the provider gave an error")
    response = record.get("response") or {}
    case, provider = record.get("testCase") or {}, record.get("provider") or {}
    if record.get("success") is None:
        raise Skipped("the result does not say whether it passed")
    prompt = record.get("prompt") or {}
    made = Answer(
        clipped(_text(prompt.get("raw"))) or _text(record.get("testIdx")),
        task_of(place.path),
        str(provider.get("label") or provider.get("id") or ""),
        str(place.about.get("evalId") or record.get("evalId") or ""),
        float(bool(record["success"])),
        _text(response.get("output")),
        of_file=True,
    )
    names = {
        **(case.get("metadata") or {}),
        **(record.get("vars") or case.get("vars") or {}),
        "prompt": prompt.get("label"),
    }
    made.more = names | {"assertion_score": record.get("score")}
    made.add_logprobs(response.get("logProbs"))
    made.add_text(response.get("output"), scale)
    yield made


def _generic(record: dict[str, Any], place: Place, scale: Scale) -> Iterator[Answer]:
    """Any JSON lines with a right/wrong key, and confidences where they are."""
    text = _text(_first(record, ANSWER_KEYS))
    made = _generic_row(record, place, text, "")
    stated, judge = _first(record, CONFIDENCE_KEYS), _first(record, JUDGE_KEYS)
    if stated is not None:
        made.add_stated(stated, scale)
    else:
        made.add_text(text, scale)
    made.add_logprobs(_first(record, LOGPROB_KEYS))
    if judge is not None and (said := _value(judge)) is not None:
        if 0.0 <= said <= 1.0:
            made.confidences["judge"] = said
        else:
            made.lost.append("a judge's probability is not in 0-1")
    if made.value is None:
        raise Skipped(f"none of the keys {', '.join(RIGHT_KEYS)}")
    yield made


READERS: dict[str, Callable[[dict[str, Any], Place, Scale], Iterator[Answer]]] = {
    "lm-eval": _lm_eval,
    "inspect": _inspect,
    "openai": _openai,
    "promptfoo": _promptfoo,
    "llm": _generic,
}
