"""Logs of language-model evaluations as (confidence, right) pairs.

- `lm-eval`: lm-evaluation-harness `--log_samples` JSON lines of multiple-choice tasks: the choices' log-likelihoods,
  normalised over the choices; the confidence is that of the choice made.
- `llm`: any JSON lines with a right/wrong key and either a verbalised confidence (0-1, 0-100, "85%") or the answer's
  token log-probabilities, whose sum is the log of its probability.
"""

from __future__ import annotations

import glob
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.cells import Floats, Ints

FORMATS = ("lm-eval", "llm")
RIGHT_KEYS = ("correct", "is_correct", "right", "acc", "exact_match", "label", "score")
CONFIDENCE_KEYS = ("confidence", "verbalized_confidence", "verbalised_confidence", "certainty", "probability", "prob")
LOGPROB_KEYS = ("logprobs", "token_logprobs", "log_probs", "logprob")


@dataclass(frozen=True)
class LogRows:
    """What a log says of each answer; `task` is the file's or the record's."""

    confidence: Floats
    right: Ints
    task: list[str]

    def table(self) -> pa.Table:
        """The same as a table that `howsure check` reads."""
        return pa.table({"confidence": self.confidence, "correct": self.right, "task": self.task})


def read_log(pattern: str, kind: str) -> LogRows:
    """Read the logs that a path or a glob names."""
    if kind not in FORMATS:
        raise InputError(f"`log=` knows {', '.join(FORMATS)}; got {kind!r}.{_validate.nearest(kind, FORMATS)}")
    paths = sorted(p for p in (glob.glob(pattern, recursive=True) or [pattern]) if Path(p).is_file())
    if not paths:
        raise InputError(f"there is no file {pattern!r}.")
    reader: Callable[[dict[str, Any]], tuple[Any, bool]] = _lm_eval if kind == "lm-eval" else _generic
    confidence: list[Any] = []
    right: list[int] = []
    task: list[str] = []
    for path in paths:
        for number, record in json_records(path):
            try:
                said, good = reader(record)
            except (KeyError, IndexError, TypeError, ValueError) as error:
                detail = error.args[0] if isinstance(error, _NotThisFormat) else f"{type(error).__name__}: {error}"
                raise InputError(f"{path}, line {number}: not a record of the {kind} format ({detail}).") from None
            confidence.append(said)
            right.append(int(good))
            task.append(str(record.get("task_name") or record.get("task") or _task_of(path)))
    if not confidence:
        raise InputError(f"{pattern} holds no records.")
    return LogRows(_as_probabilities(confidence, paths), np.array(right, np.int64), task)


class _NotThisFormat(ValueError):
    """Raised by a reader with a sentence about what is missing."""


def json_records(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, with their line numbers."""
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"{path}, line {number}: not JSON ({error.msg}).") from None
            if not isinstance(record, dict):
                raise InputError(f"{path}, line {number}: not a JSON object.")
            yield number, record


def _task_of(path: str) -> str:
    """samples_arc_easy_2024-05-01T10-00-00.jsonl → arc_easy."""
    stem = Path(path).name.removesuffix(".jsonl").removeprefix("samples_")
    head, _, tail = stem.rpartition("_")
    return head if head and tail[:4].isdigit() else stem


def _lm_eval(record: dict[str, Any]) -> tuple[float, bool]:
    """Confidence in the choice made and whether it is the target."""
    answers = record.get("filtered_resps") or record.get("resps")
    if not isinstance(answers, list) or len(answers) < 2:
        raise _NotThisFormat("no list of two or more responses; only multiple-choice samples have log-likelihoods")
    likelihood = np.array([_first_number(a) for a in answers])
    target = record["target"]
    if isinstance(target, str) and not target.strip().lstrip("-").isdigit():
        choices = record.get("doc", {}).get("choices")
        texts = choices.get("text") if isinstance(choices, dict) else choices
        labels = choices.get("label") if isinstance(choices, dict) else None
        for listed in (labels, texts):
            if isinstance(listed, list) and target in listed:
                target = listed.index(target)
                break
        else:
            raise _NotThisFormat(f"the target {target!r} is neither a number nor one of the choices")
    index = int(target)
    if not 0 <= index < len(likelihood):
        raise _NotThisFormat(f"the target {index} is not one of the {len(likelihood)} choices")
    if likelihood.max() == -math.inf:
        raise _NotThisFormat("all choices have the log-likelihood minus infinity")
    shifted = np.exp(likelihood - likelihood.max())
    return float(shifted.max() / shifted.sum()), int(likelihood.argmax()) == index


def _first_number(answer: Any) -> float:
    """The log-likelihood of [ll, greedy], [[ll, greedy]] or ll."""
    while isinstance(answer, list):
        answer = answer[0]
    value = float(answer)
    if math.isnan(value) or value == math.inf:
        raise _NotThisFormat("a log-likelihood is NaN or infinite")
    return value


def _generic(record: dict[str, Any]) -> tuple[Any, bool]:
    right = next((record[k] for k in RIGHT_KEYS if k in record), None)
    if right is None:
        raise _NotThisFormat(f"none of the keys {', '.join(RIGHT_KEYS)}")
    good = {
        "true": True,
        "yes": True,
        "1": True,
        "1.0": True,
        "false": False,
        "no": False,
        "0": False,
        "0.0": False,
    }.get(str(right).strip().lower())
    if good is None:
        raise _NotThisFormat(f"{right!r} does not say right or wrong")
    for key in CONFIDENCE_KEYS:
        if record.get(key) is not None:
            return _confidence(record[key]), good
    for key in LOGPROB_KEYS:
        if record.get(key) is not None:
            return math.exp(min(_sum_logprobs(record[key]), 0.0)), good
    raise _NotThisFormat(f"none of the keys {', '.join(CONFIDENCE_KEYS + LOGPROB_KEYS)}")


@dataclass(frozen=True)
class _Bare:
    """A confidence without a percent sign: of 1 or of 100, as the whole log will tell."""

    value: float


def _confidence(said: Any) -> float | _Bare:
    if isinstance(said, str) and said.strip().endswith("%"):
        return float(said.strip().rstrip("%")) / 100.0
    return _Bare(float(said))


def _sum_logprobs(value: Any) -> float:
    """A number, a list of numbers, of {logprob: …}, or OpenAI's {content: [{logprob: …}]}."""
    if isinstance(value, dict):
        value = value.get("content") or value.get("token_logprobs") or value["logprob"]
    if isinstance(value, list):
        return sum(_sum_logprobs(v) for v in value if v is not None)
    return float(value)


def _as_probabilities(said: list[Any], paths: list[str]) -> Floats:
    bare = [s.value for s in said if isinstance(s, _Bare)]
    scale = 100.0 if bare and max(bare) > 1.0 else 1.0
    values = np.array([s.value / scale if isinstance(s, _Bare) else s for s in said], np.float64)
    bad = ~((values >= 0.0) & (values <= 1.0))
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(
            f"{paths[0]}: a confidence of {values[i] * scale:g} (record {i + 1:,}) is not in 0-1 or 0-100."
        )
    return values
