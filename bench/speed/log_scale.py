"""Memory and time of logs with a million records: a file of each kind is made, read in a process of its own, and removed.

    python bench/speed/log_scale.py FOLDER [RECORDS]

Prints records, megabytes of the file, seconds of processor time and the peak of resident memory.
"""

import json
import random
import subprocess
import sys
import zipfile
from pathlib import Path

READ = """
import resource, sys, howsure
c = howsure.check(howsure.Log(sys.argv[1], sys.argv[2]), prob=sys.argv[3])
used = resource.getrusage(resource.RUSAGE_SELF)
print(c.n, round(used.ru_utime + used.ru_stime, 1), used.ru_maxrss // 1024)
"""


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
    "samples_t_2024-01-01.jsonl": (lm_eval, "lm-eval", "choices"),
    "samples.jsonl": (samples, "llm", "agreement"),
    "log.eval": (inspect, "inspect", "stated"),
    "log.json": (document, "promptfoo", "stated"),
}


def main(folder: str, n: int = 1_000_000) -> None:
    random.seed(1)
    for name, (make, kind, source) in CASES.items():
        path = Path(folder) / name
        make(path, n)
        size = path.stat().st_size / 1e6
        told = subprocess.run(
            [sys.executable, "-c", READ, str(path), kind, source], capture_output=True, text=True, check=True
        )
        rows, seconds, peak = told.stdout.split()
        print(
            f"{kind:10} {int(rows):>9,} records {size:7.0f} MB {float(seconds):7.1f} s {int(peak):5} MB peak",
            flush=True,
        )
        path.unlink()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
