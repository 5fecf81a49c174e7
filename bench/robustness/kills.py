"""kill -9 at random moments: nothing half-written is left, and the same command run again gives the same bytes.

python bench/robustness/kills.py [KILLS]      (50 by default, over six commands; prints a table)

Each command runs once undisturbed; then again and again, killed with all its processes at a moment that is drawn from its duration. After every kill the outputs
are either absent or whole: the bytes of the undisturbed run. Then the command runs to its end: the outputs are those bytes, and no temporary file is left.
"""

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORDS = ["the", "a", "blue", "red", "dog", "river", "bird", "child", "sees", "sings", "crosses", "finds"]
HOWSURE = [sys.executable, "-c", "from howsure.cli import main; main()"]


def inputs(folder):
    """What the commands read."""
    rng = random.Random(1)
    with open(folder / "t.csv", "w") as file:
        file.write("id,doc,day,q,y\n")
        for i in range(60_000):
            q = rng.random()
            y = "" if i % 20 else int(rng.random() < q)
            file.write(f"{i},d{i // 30},2024-{1 + i % 12:02d}-03,{q:.4f},{y}\n")
    with open(folder / "text.txt", "w") as file:
        file.writelines(" ".join(rng.choices(WORDS, k=12)) + "\n" for _ in range(30_000))
    tags = dict(zip(WORDS, ["DT", "DT", "JJ", "JJ", "NN", "NN", "NN", "NN", "VB", "VB", "VB", "VB"], strict=True))
    with open(folder / "tagged.txt", "w") as file:
        for _ in range(1_500):
            file.writelines(f"{w}\t{tags[w]}\n" for w in rng.choices(WORDS, k=10))
            file.write("\n")
    with open(folder / "stories.csv", "w") as file:
        file.write("id,date,text\n")
        for i in range(100):
            one, two = rng.sample(["Kestia", "Valdoria", "Zandar"], 2)
            file.write(f's{i},2024-{1 + i % 9:02d}-11,"{one} attacked {two} on day {i}. Its army fled."\n')


COMMANDS = {
    "explore": ("explore ../stories.csv --text text --date date --actors ../actors.csv --out results", ["results"]),
    "recalibrate apply": ("recalibrate apply ../cal.json ../t.csv --prob q -o out.csv", ["out.csv"]),
    "split": ("split ../t.csv --groups doc -o parts", ["parts"]),
    "lm train": ("lm train ../text.txt --order 4 -o lm.npz", ["lm.npz"]),
    "tagger train": ("tagger train crf ../tagged.txt --l2 1 -o crf.npz", ["crf.npz"]),
    "count": (
        "count ../t.csv --prob q --true y --design random --date day --every month --html page.html",
        ["page.html"],
    ),
}


def started(command, folder):
    environment = {**os.environ, "HOWSURE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*HOWSURE, *command.split()], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


def finished(command, folder):
    process = started(command, folder)
    error = process.communicate()[1]
    assert process.returncode == 0, error.decode()


def content(folder, outputs):
    """Hash of every output file; of folders, of the files in them."""
    made = {}
    for name in outputs:
        top = folder / name
        files = (
            sorted(p for p in top.rglob("*") if p.is_file() and ".part" not in p.name)
            if top.is_dir()
            else [top]
            if top.exists()
            else []
        )
        for path in files:
            made[path.relative_to(folder).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return made


def remove(folder, outputs):
    """Forget the outputs, and the parses that are kept."""
    for output in (*outputs, "cache"):
        path = folder / output
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def leftovers(folder):
    return [p for p in folder.rglob("*") if p.name.endswith(".part") and "cache" not in p.relative_to(folder).parts]


def main():
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        inputs(root)
        (root / "actors.csv").write_text(
            "code,name,words\nKES,Kestia,Kestia\nVAL,Valdoria,Valdoria\nZAN,Zandar,Zandar\n"
        )
        (root / "first").mkdir()
        finished("recalibrate fit ../t.csv --prob q --true y --method platt -o ../cal.json", root / "first")
        heads = ["command", "kills", "no output yet", "output whole", "run to go on with", "half-written"]
        heads += ["temporary files left, then removed", "same bytes at the end"]
        print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}", flush=True)
        for number, (name, (command, outputs)) in enumerate(COMMANDS.items()):
            n = kills // len(COMMANDS) + (number < kills % len(COMMANDS))
            folder = root / f"run{number}"
            folder.mkdir()
            finished(command, folder)  # compiles what is compiled once
            remove(folder, outputs)
            started_at = time.monotonic()
            finished(command, folder)
            duration, wanted = time.monotonic() - started_at, content(folder, outputs)
            absent = whole = begun = half = left = same = 0
            for _ in range(n):
                remove(folder, outputs)
                process = started(command, folder)
                time.sleep(rng.uniform(0.1, 1.0) * duration)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                found = content(folder, outputs)
                absent += not found
                whole += bool(found) and found == wanted
                if found and found != wanted:  # a folder of results says that it is not complete; its parts are whole
                    manifest = folder / "results" / "manifest.json"
                    going_on = manifest.exists() and not json.loads(manifest.read_text())["complete"]
                    begun, half = begun + going_on, half + (not going_on)
                left += len(leftovers(folder))
                finished(command, folder)
                same += content(folder, outputs) == wanted
                assert not leftovers(folder), leftovers(folder)
            print(f"| `{name}` | {n} | {absent} | {whole} | {begun} | {half} | {left} | {same} of {n} |", flush=True)


if __name__ == "__main__":
    main()
