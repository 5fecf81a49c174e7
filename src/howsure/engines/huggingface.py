"""What Hugging Face's `Trainer.predict` and pipelines give, with gold labels, as a table that `check` reads.

- `.npz` with `predictions`, `label_ids` and perhaps `classes`, or two `.npy`: logits (n, K) of texts, or (n, length, K) of tokens;
  places labelled -100 (padding, special tokens, all but the first piece of a word) are left out.
- JSON lines, a text each: `logits` and `labels`, of the text or of its tokens (with `word_ids`, first pieces count); or `scores` and
  `gold` (a text-classification pipeline); or `entities` and `gold` (a token-classification pipeline). docs/guides/bring-your-own.md
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from howsure.engines.logs.records import json_records
from howsure.errors import InputError
from howsure.kernels.special import softmax

LOGITS, GOLD = ("predictions", "logits"), ("label_ids", "labels", "gold", "label", "true")
IGNORED = -100
Record = dict[str, Any]
Read = tuple[list[Any], list[Any], list[str] | None]  # scores or logits, what is true, names of classes


def read_huggingface(path: str, labels: str | None = None) -> tuple[pa.Table, dict[str, str]]:
    """A table and the roles of its columns; `labels` is the file of labels beside a `.npy` of logits."""
    if not Path(path).is_file():
        raise InputError(f"there is no file {path!r}.")
    is_array = Path(path).suffix in (".npy", ".npz")
    if (labels is None) == (Path(path).suffix == ".npy"):
        raise InputError(f"{path}: a second file of labels (`true=`) goes with .npy, which holds logits alone.")
    q, gold, sequence = list[Any](), list[Any](), list[int]()
    kinds, names = set(), None
    for number, record in enumerate(_array_records(path, labels), 1) if is_array else json_records(path):
        kind = next((k for k in READERS if k in record), "")
        try:
            found, true, said = READERS[kind](record)
        except (LookupError, TypeError, ValueError, AttributeError, StopIteration) as error:
            why = f"{type(error).__name__}: {error}" if kind else f"it has none of {', '.join(READERS)}"
            raise InputError(f"{path}, {'row' if is_array else 'line'} {number}: cannot be read ({why}).") from None
        kinds.add((kind, said == names or names is None))
        names = said
        q += found
        gold += true
        sequence += [number] * len(true)
    if len(kinds) != 1 or not len(q):
        raise InputError(f"{path}: " + ("lines of different kinds or classes." if len(q) else "nothing is labelled."))
    roles = {"groups": "sequence"} if len(set(sequence)) < len(sequence) else {}
    if "entities" in next(iter(kinds)):
        made = {"confidence": np.array(q, np.float64), "correct": np.array(gold, np.int64), "sequence": sequence}
        return pa.table(made), roles | {"prob": "confidence", "true": "correct"}
    if len({len(row) for row in q}) > 1 or len(names or q[0]) != len(q[0]):
        raise InputError(f"{path}: the number of classes is not the same everywhere.")
    names = names or [str(i) for i in range(len(q[0]))]
    table = np.array(q, np.float64)
    if not ((table >= 0.0).all() and np.allclose(table.sum(axis=1), 1.0, atol=1e-3)):
        table = softmax(table, axis=1)
    labelled = [names[g] if isinstance(g, int | np.integer) and 0 <= g < len(names) else str(g) for g in gold]
    columns = pa.StructArray.from_arrays([pa.array(np.ascontiguousarray(c)) for c in table.T], names)
    shown = {"label": labelled, "probabilities": columns, "sequence": sequence}
    return pa.table(shown), roles | {"prob": "probabilities", "true": "label"}


def _array_records(path: str, labels: str | None) -> Iterator[Record]:
    """The texts of arrays, as the objects that lines have."""
    try:
        if labels is not None:
            given = {"logits": np.load(path, allow_pickle=False), "labels": np.load(labels, allow_pickle=False)}
        else:
            with np.load(path, allow_pickle=False) as file:
                given = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, LookupError, AttributeError) as error:
        raise InputError(f"{path} cannot be read as arrays ({error}).") from None
    logits, gold = (next((given[k] for k in keys if k in given), None) for keys in (LOGITS, GOLD))
    if logits is None or gold is None:
        raise InputError(f"{path} needs arrays {LOGITS[0]} and {GOLD[0]}; it has {', '.join(given)}.")
    if logits.ndim not in (2, 3) or gold.shape != logits.shape[:-1] or gold.dtype.kind not in "iu":
        raise InputError(
            f"{path}: logits (n, K) need n numbers of classes, and (n, length, K) need (n, length); got {logits.shape} and "
            f"{gold.shape} of {gold.dtype}."
        )
    more = {"id2label": dict(enumerate(given["classes"]))} if "classes" in given else {}
    for row, true in zip(logits, gold, strict=True):
        yield {"logits": row, "labels": true.tolist(), **more}


def _logits(record: Record) -> Read:
    """Of a text, or of its tokens: first pieces of words that are labelled."""
    logits, gold = record["logits"], next(record[k] for k in GOLD if k in record)
    named = record.get("id2label")
    names = [str(named[k]) for k in sorted(named, key=int)] if named else None
    if not isinstance(gold, list):
        return ([], [], names) if gold == IGNORED else ([np.asarray(logits, np.float64)], [gold], names)
    words = record.get("word_ids", range(len(logits)))
    first = [i for i, w in enumerate(words) if w is not None and (i == 0 or words[i - 1] != w)]
    true = {i: gold[i if len(gold) == len(logits) else words[i]] for i in first}
    kept = [i for i in first if true[i] != IGNORED]
    return [np.asarray(logits[i], np.float64) for i in kept], [true[i] for i in kept], names


def _scores(record: Record) -> Read:
    listed = sorted((str(s["label"]), float(s["score"])) for s in record["scores"])
    total = sum(score for _, score in listed)
    if abs(total - 1.0) > 1e-3:
        raise ValueError(
            f"scores sum to {total:.4g}: give all (`top_k=None`), and labels that are no alternatives one by one"
        )
    gold = str(next(record[k] for k in GOLD if k in record))
    return [np.array([score for _, score in listed])], [gold], [label for label, _ in listed]


def _entities(record: Record) -> Read:
    """Each predicted entity's score, and whether gold has its label there; of pieces of one word, the first counts."""
    gold = [(int(g["start"]), int(g["end"]), _kind(g["label"])) for g in record["gold"]]
    q, right, last = [], [], -1
    for e in record["entities"]:
        start, before, last = int(e["start"]), last, int(e["end"])
        if "entity_group" in e:
            right.append(int((start, last, _kind(e["entity_group"])) in gold))
        elif start == before:  # a further piece
            continue
        else:
            right.append(int(any(s <= start < t and k == _kind(e["entity"]) for s, t, k in gold)))
        q.append(float(e["score"]))
    return q, right, None


def _kind(label: str) -> str:
    return label[2:] if label[1:2] == "-" else label


READERS: dict[str, Callable[[Record], Read]] = {"logits": _logits, "scores": _scores, "entities": _entities}
