"""Memory and time of logs with a million records: a file of each kind is made, given to the whole command, and removed.

    python bench/speed/log_scale.py FOLDER [RECORDS [KIND]]

Prints megabytes of the file, and of `howsure check` and `howsure score` seconds of processor time and the peak of resident memory.
"""

import json
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path


def used(*command: str) -> tuple[float, int]:
    """Seconds of processor time and peak megabytes of a whole command."""
    child = subprocess.Popen([sys.executable, "-m", "howsure", *command], stdout=subprocess.DEVNULL)
    _, status, of = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"howsure {' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return of.ru_utime + of.ru_stime, of.ru_maxrss // 1024


def lm_eval(path: Path, n: int) -> None:
    with path.open("w") as file:
        for i in range(n):
            said = [[-random.expovariate(0.5), False] for _ in range(4)]
            doc = {"question": f"What is {i}?", "template": f"t{i % 100}", "passage": "word " * 40 + str(i % 1000)}
            file.write(
                json.dumps({"doc_id": i, "doc": doc, "target": i % 4, "filtered_resps": said, "filter": "none"}) + "\n"
            )


def samples(path: Path, n: int) -> None:
    """Five samples of each item."""
    with path.open("w") as file:
        for i in range(n):
            record = {"item": i // 5, "answer": random.choice("aaab"), "correct": i % 2, "logprobs": [-0.1, -0.2]}
            file.write(json.dumps(record) + "\n")


def inspect(path: Path, n: int) -> None:
    head = {"version": 2, "eval": {"task": "t", "task_id": "x", "run_id": "y", "model": "m"}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        packed.writestr("header.json", json.dumps(head))
        for i in range(n):
            said = f"The answer is {i}. Confidence: {random.randint(50, 99)}%"
            record = {"id": i, "epoch": 1, "target": "x", "output": {"completion": said, "choices": []}}
            record |= {"scores": {"match": {"value": random.choice("CI"), "answer": str(i)}}, "metadata": {}}
            packed.writestr(f"samples/{i}_epoch_1.json", json.dumps(record))


def document(path: Path, n: int) -> None:
    """promptfoo's single JSON document."""
    with path.open("w") as file:
        file.write('{"evalId": "e", "results": {"version": 3, "results": [')
        for i in range(n):
            record = {"success": i % 3 > 0, "score": 1, "provider": {"id": "p"}, "prompt": {"raw": f"What is {i}?"}}
            record |= {"response": {"output": f"{i}. Confidence: {50 + i % 50}%"}, "testCase": {"vars": {"a": i}}}
            file.write((", " if i else "") + json.dumps(record))
        file.write("]}}")


CASES = {
    "lm-eval": ("samples_t_2024-01-01.jsonl", lm_eval),
    "llm": ("samples.jsonl", samples),
    "inspect": ("log.eval", inspect),
    "promptfoo": ("log.json", document),
}


def main(folder: str, n: str = "1000000", only: str | None = None) -> None:
    for kind, (name, make) in CASES.items():
        if only not in (None, kind):
            continue
        random.seed(1)
        path = Path(folder) / name
        make(path, int(n))
        size = path.stat().st_size / 1e6
        for verb in ("check", "score"):
            seconds, peak = used(verb, str(path), "--from", kind)
            print(
                f"{kind:10} {verb:6} {int(n):>9,} records {size:5.0f} MB {seconds:6.1f} s {peak:4} MB peak", flush=True
            )
        path.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
