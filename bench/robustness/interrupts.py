"""Ctrl-C in every long command: how long until it has stopped, by the clock and in processor time.

python bench/robustness/interrupts.py [TIMES] [COMMAND ...]      (3 moments for each command by default; prints a table)

Each command works on an input that keeps it busy for long; after 1 to 5 seconds of its own processor time the whole group of processes gets SIGINT, as from a terminal.
The last line is a first run: its kernels are compiled into an empty cache, and Ctrl-C comes while they are.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HOWSURE = [sys.executable, "-c", "from howsure.cli import main; main()"]
WORDS = ["the", "a", "blue", "red", "dog", "river", "bird", "child", "sees", "sings", "crosses", "finds"]
COMMANDS = {
    "check": "check t.csv --prob q --true y --groups doc --by tag",
    "compare": "compare t.csv --true y --prob q,r --groups doc",
    "score": "score t.csv --true tag --pred other --groups doc",
    "agree": "agree ratings.csv",
    "count": "count t.csv --prob q --true some --design random --date day --every month --by tag",
    "recalibrate fit": "recalibrate fit t.csv --prob q --true y -o cal.json",
    "split": "split t.csv --groups doc --stratify tag -o parts",
    "classify train": "classify train logistic t.csv --text text --true tag -o model.npz",
    "tagger train": "tagger train crf tagged.txt --l2 0.1 -o crf.npz",
    "lm train": "lm train text.txt --order 5 -o lm.npz",
    "explore": "explore stories.csv --text text --date date --no-cache --out results",
    "parse": "parse text.txt --no-cache -o parsed.conllu",
}


def inputs(folder, rows=600_000):
    """Tables and texts that keep the commands busy."""
    rng = random.Random(1)
    lines = [" ".join(rng.choices(WORDS, k=12)) for _ in range(2_000)]
    with open(folder / "t.csv", "w") as file:
        file.write("doc,tag,other,day,q,r,y,some,text\n")
        for i in range(rows):
            q = rng.random()
            y, tag = int(rng.random() < q), "abcd"[i % 4]
            some = y if i % 50 == 0 else ""
            other = tag if rng.random() < 0.8 else "a"
            file.write(
                f"d{i // 9},{tag},{other},2024-{1 + i % 12:02d}-03,{q:.5f},{min(q + 0.1, 1):.5f},{y},{some},{lines[i % 2000]}\n"
            )
    with open(folder / "ratings.csv", "w") as file:
        file.write("item,annotator,label\n")
        file.writelines(
            f"i{i},a{rng.randrange(40)}-{j},{rng.choice('xyz')}\n" for i in range(rows // 15) for j in range(4)
        )
    with open(folder / "text.txt", "w") as file:
        file.writelines(f"{lines[i % 2000]} {lines[i % 1999]} {i}\n" for i in range(400_000))
    with open(folder / "tagged.txt", "w") as file:
        for _ in range(rows // 30):
            file.writelines(f"{rng.choice(WORDS)}{rng.randrange(50)}\t{rng.choice('ABCDEFGH')}\n" for _ in range(12))
            file.write("\n")
    with open(folder / "stories.csv", "w") as file:
        file.write("id,date,text\n")
        file.writelines(
            f's{i},2024-01-02,"France attacked Spain on day {i}. {lines[i % 2000]}."\n' for i in range(rows // 200)
        )


def used(session):
    """Processor time so far of all processes of a session, those that have ended included."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def stopped(command, folder, busy, cache=None):
    """(seconds by the clock, seconds of processor time, exit status, last line) after Ctrl-C; None if it ended before.

    With an empty folder as Numba's cache, the seconds before Ctrl-C are counted from when it says that it compiles.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and their children
    environment = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})
    # That kernels are compiled is said on terminals only.
    ours, theirs = os.pipe() if cache is None else os.openpty()
    with open(ours, "rb", buffering=0) as terminal:
        process = subprocess.Popen(
            [*HOWSURE, *command.split()], cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs, start_new_session=True,
            env=environment,
        )  # fmt: skip
        os.close(theirs)
        said = bytearray()
        reader = threading.Thread(target=_listen, args=(terminal, said))
        reader.start()
        while cache is not None and process.poll() is None and b"compiling" not in said:
            time.sleep(0.01)
        busy += 0.0 if cache is None else used(process.pid)
        while process.poll() is None and used(process.pid) < busy:
            time.sleep(0.02)
        if process.poll() is not None:
            reader.join()
            return None
        before, begun = used(process.pid), time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begun
        reader.join()
        last = (said.decode().strip().splitlines() or [""])[-1]
        return seconds, usage.ru_utime + usage.ru_stime - before, process.returncode, last


def _listen(terminal, said):
    """Keeps what is written until the other end is closed."""
    with contextlib.suppress(OSError):  # how a terminal ends
        while part := terminal.read(1 << 16):
            said += part


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    names = sys.argv[2:] or list(COMMANDS)
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        inputs(folder)
        print(
            "| command | Ctrl-C | longest by the clock | most processor time | exit status | left behind |\n|---|---|---|---|---|---|"
        )
        for name in [*names, *["lm train, first run"] * ("lm train" in names)]:
            first = "first run" in name
            found = []
            for _ in range(times):
                with tempfile.TemporaryDirectory(dir=folder.parent) as empty:
                    moment = rng.uniform(0.1, 3.0) if first else rng.uniform(1.0, 5.0)
                    one = stopped(COMMANDS[name.partition(",")[0]], folder, moment, empty if first else None)
                    found += [one] if one else []
            left = [p.name for p in folder.iterdir() if p.name.startswith(".")]  # not what a run that had ended wrote
            if not found:
                print(f"| `{name}` | ended before | | | | |", flush=True)
                continue
            clock, busy = max(f[0] for f in found), max(f[1] for f in found)
            statuses = ", ".join(sorted({str(f[2]) for f in found}))
            print(
                f"| `{name}` | {len(found)} | {clock:.2f} s | {busy:.2f} s | {statuses} | {', '.join(left) or 'nothing'} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
