"""Trains the English pipeline on EWT and GUM, with checkpoints: killed work goes on where it stopped.

    python -m howsure.english.training FOLDER [--steps N] [--export FOLDER]

FOLDER keeps `checkpoint.npz` (weights, Adam's moments, averages, step), `labels/`, `best.npz` (averaged weights
with the best development score) and `log.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from howsure.english.pipeline import LABELLED, blank_pipeline, language, parameters, set_weights, weights
from howsure.english.shipped import export
from howsure.english.training_data import Sentence, batches, example, scores, sentences, treebank
from howsure.files import whole_file, whole_folder

SEED = 20150917
STEPS = 6000
WORDS_PER_BATCH = 1600
PEAK_RATE, WARM_UP, LAST_SHARE = 0.0015, 300, 0.02
DROPOUT = 0.2
EVERY = 400


def learning_rate(step: int, steps: int) -> float:
    """Linear warm-up, then linear decay to a fiftieth of the peak."""
    if step < WARM_UP:
        return PEAK_RATE * (step + 1) / WARM_UP
    left = max(0.0, (steps - step) / (steps - WARM_UP))
    return PEAK_RATE * (LAST_SHARE + (1 - LAST_SHARE) * left)


def train(folder: str | Path, steps: int = STEPS) -> Path:
    """Trains up to `steps` batches, going on from the folder's checkpoint where there is one; returns the best weights."""
    from spacy.util import fix_random_seed
    from thinc.api import Adam

    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    fix_random_seed(SEED)
    data = treebank("train")
    documents = [sentences(d) for d in data["ewt"] + data["gum"]]
    check = {name: [s for d in part for s in sentences(d)] for name, part in treebank("dev").items()}
    nlp = _pipeline(home, documents)
    optimizer = Adam(PEAK_RATE, L2=0.01, L2_is_weight_decay=True, grad_clip=1.0, use_averages=True)
    done, best = _resume(home, nlp, optimizer)
    stream = batches(documents, WORDS_PER_BATCH, SEED)
    for _ in range(done):
        next(stream)
    losses: dict[str, float] = {}
    began, words = time.time(), 0
    for step in range(done, steps):
        batch = [example(nlp.vocab, group, how) for group, how in next(stream)]
        words += sum(len(e.reference) for e in batch)
        fix_random_seed(SEED + step)  # dropout: a resumed run goes the same way
        optimizer.learn_rate = learning_rate(step, steps)
        # Given the optimiser, `update` would step the shared encoder before the others' gradients have reached it.
        nlp.update(batch, drop=DROPOUT, sgd=False, losses=losses)
        for _, component in nlp.pipeline:
            component.finish_update(optimizer)
        if (step + 1) % EVERY == 0 or step + 1 == steps:
            best = _evaluate(home, nlp, optimizer, check, step + 1, best, losses, words / (time.time() - began))
            _checkpoint(home, nlp, optimizer, step + 1, best)
            losses, began, words = {}, time.time(), 0
    return home / "best.npz"


def _pipeline(home: Path, documents: list[list[Sentence]]) -> Any:
    """The pipeline to train; its labels are found once and kept, so that a resumed run has the same output layers."""
    kept = home / "labels"
    if not kept.exists():
        vocab = language()().vocab
        nlp = blank_pipeline(examples=lambda: [example(vocab, [s]) for d in documents for s in d])
        with whole_folder(kept) as made:
            for name in LABELLED:
                text = json.dumps(nlp.get_pipe(name).label_data, indent=0, ensure_ascii=False)
                (made / f"{name}.json").write_text(text, encoding="utf-8")
    return blank_pipeline(kept)


def _evaluate(
    home: Path,
    nlp: Any,
    optimizer: Any,
    check: dict[str, list[Sentence]],
    step: int,
    best: float,
    losses: dict[str, float],
    speed: float,
) -> float:
    """Scores the averaged weights on the development parts; keeps them when they are the best so far."""
    with nlp.use_params(optimizer.averages):
        found = {name: scores(nlp, part) for name, part in check.items()}
        found["ewt upper"] = scores(nlp, check["ewt"], "upper")
        average = weights(nlp)
        average = {k: v.copy() for k, v in average.items()}
    value = (2 * found["ewt"].las + found["gum"].las + found["ewt upper"].las + 2 * found["ewt"].xpos) / 6
    line: dict[str, Any] = {
        "step": step,
        "value": value,
        "words per second": round(speed),
        "losses": {k: round(float(v), 1) for k, v in losses.items()},
    }
    line |= {name: part.to_dict() for name, part in found.items()}
    with open(home / "log.jsonl", "a", encoding="utf-8") as log:
        log.write(json.dumps(line) + "\n")
    print(
        step, f"{value:.3f}", *(f"{k} {v!r}" for k, v in found.items()), f"{speed:.0f} words/s", sep="\n  ", flush=True
    )
    if value > best:
        _save(home / "best.npz", average)
        return value
    return best


def _checkpoint(home: Path, nlp: Any, optimizer: Any, step: int, best: float) -> None:
    arrays = {f"weight {k}": v for k, v in weights(nlp).items()}
    for key, (node, param) in parameters(nlp).items():
        at = (node.id, param)
        for kind, table in (("mom1", optimizer.mom1), ("mom2", optimizer.mom2), ("average", optimizer.averages)):
            if at in table:
                arrays[f"{kind} {key}"] = table[at]
        arrays[f"updates {key}"] = np.array(optimizer.nr_update[at])
    _save(home / "checkpoint.npz", {**arrays, "step": np.array(step), "best": np.array(best)})


def _resume(home: Path, nlp: Any, optimizer: Any) -> tuple[int, float]:
    path = home / "checkpoint.npz"
    if not path.exists():
        return 0, 0.0
    with np.load(path, allow_pickle=False) as kept:
        set_weights(nlp, {k[7:]: kept[k] for k in kept.files if k.startswith("weight ")})
        for key, (node, param) in parameters(nlp).items():
            at = (node.id, param)
            for kind, table in (("mom1", optimizer.mom1), ("mom2", optimizer.mom2), ("average", optimizer.averages)):
                if f"{kind} {key}" in kept.files:
                    table[at] = kept[f"{kind} {key}"].copy()
            optimizer.nr_update[at] = int(kept[f"updates {key}"])
        return int(kept["step"]), float(kept["best"])


def _save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with whole_file(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Trains the English pipeline; a killed run goes on where it stopped.")
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--export", help="folder to write the finished model to")
    arguments = parser.parse_args()
    train(arguments.folder, arguments.steps)
    if arguments.export:
        export(arguments.folder, arguments.export)
