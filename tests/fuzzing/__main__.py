"""Mutated inputs for every reader: no traceback, no crash, no hang, no number that cannot be.

    make fuzz                                          (100,000 inputs)
    python -m tests.fuzzing --inputs 500 --only check-csv,lm-arpa

Each target is a command on a small valid input of its own; one of its files is mutated, by a generator that the target's name and
the input's number seed. Inputs run in processes of their own, some hundred in one; a process that dies, or that is silent for 10 seconds
of its processor time (where that is known, else of the clock) or for ten minutes, has found a fault. What failed is kept in `--keep`.
"""

import argparse
import contextlib
import io
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from tests.fuzzing.targets import TARGETS, made

TOGETHER = 250  # inputs of one process
PATIENCE = 10.0  # seconds for one input; more for the first, which imports
TOKENS = [
    *[
        b"nan",
        b"NaN",
        b"inf",
        b"-inf",
        b"-1",
        b"1e309",
        b"-0.0",
        b"0",
        b"1.0000001",
        b"99999999999999999999",
        b"1e-320",
    ],
    *[
        b"",
        b"\x00",
        b"\xff\xfe",
        b'"',
        b"'",
        b"\x1b[31m",
        b"=1+1",
        b"\r",
        b"\n",
        b"\t",
        b",",
        b"{",
        b"}",
        b"[]",
        b"null",
        b"true",
    ],
    *[
        "é".encode(),
        "\u202e".encode(),
        "👩‍👩‍👧".encode(),
        b"a" * 5000,
        b"../../etc/passwd",
        b"2024-13-45",
        b"0000-00-00",
    ],
]
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE]-?\d+)?")
BETWEEN_0_AND_1 = {"p_value", "accuracy", "probability", "ece", "brier", "share", "low_share", "high_share"}


def mutated(content, rng):
    """The bytes with one to four changes."""
    made_ = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        at, width = int(rng.integers(len(made_) + 1)), int(rng.integers(1, 17))
        other = int(rng.integers(len(made_) + 1))
        numbers = list(NUMBER.finditer(made_)) if rng.random() < 0.4 else []
        if numbers:
            found = numbers[int(rng.integers(len(numbers)))]
            made_[found.start() : found.end()] = TOKENS[int(rng.integers(len(TOKENS)))]
            continue
        piece = made_[at : at + width]
        made_[at : at + width] = [
            rng.bytes(len(piece)),
            bytes(b ^ (1 << int(rng.integers(8))) for b in piece),
            b"\xff" * len(piece),
            b"",
            piece * int(rng.integers(2, 50)),
            made_[other : other + 10 * width],
            TOKENS[int(rng.integers(len(TOKENS)))] + piece,
        ][int(rng.integers(7))]
    return bytes(made_) if rng.random() < 0.9 else bytes(made_[: int(rng.integers(len(made_) + 1))])


def mutated_arrays(content, rng):
    """A saved model with one array (or its header) changed, and whole as a file."""
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    name = list(arrays)[int(rng.integers(len(arrays)))]
    array = arrays[name]
    if array.dtype == np.uint8 and array.ndim == 1:  # the header, or text
        arrays[name] = np.frombuffer(mutated(array.tobytes(), rng), np.uint8)
    else:
        flat = array.reshape(-1).copy()
        kinds = [array[:-1] if array.ndim else array, array.astype(np.float32), array[None], np.zeros(0, array.dtype)]
        if len(flat) and rng.random() < 0.7:
            worst = np.array([np.nan, np.inf, -1, 1e300, 2**31, -(2**62), 0])[rng.integers(7, size=3)]
            with np.errstate(invalid="ignore", over="ignore"), contextlib.suppress(ValueError, OverflowError):
                flat[rng.integers(len(flat), size=3)] = worst.astype(array.dtype)
            arrays[name] = flat.reshape(array.shape)
        else:
            arrays[name] = kinds[int(rng.integers(4))]
    if rng.random() < 0.1:
        del arrays[name]
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def fault_in(said):
    """Why a printed result cannot be right; None where nothing is wrong with it."""

    def refuse(name):
        raise ValueError(name)

    try:
        result = json.loads(said, parse_constant=refuse)
    except ValueError as error:
        return f"not JSON: {error}" if said.strip() else None
    waiting = [("", result)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(k, v) for k, v in value.items()]
        elif isinstance(value, list):
            waiting += [(name, v) for v in value]
        elif name in BETWEEN_0_AND_1 and isinstance(value, float) and not -1e-12 <= value <= 1 + 1e-12:
            return f"{name} = {value}"
    return None


def one(target, number, folder, files):
    """Runs one input; what is wrong, or None."""
    from howsure.cli.application import run

    rng = np.random.default_rng([zlib.crc32(target.name.encode()), number])
    for name, content in files.items():
        (folder / name).write_bytes(content)
    content = files[target.file]
    change = mutated_arrays if target.file.endswith(".npz") and rng.random() < 0.7 else mutated
    (folder / target.file).write_bytes(change(content, rng))
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run([a.replace("{}", str(folder)) for a in target.command])
    except BaseException:
        return traceback.format_exc()
    if status not in (0, 2):
        return f"status {status}: {err.getvalue()}"
    if status == 2 and (err.getvalue().count("\n") != 1 or not err.getvalue().startswith("howsure: ")):
        return f"not one line: {err.getvalue()!r}"
    if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", out.getvalue() + err.getvalue()):
        return f"control characters: {out.getvalue()!r} {err.getvalue()!r}"
    return fault_in(out.getvalue()) if status == 0 and "--json" in target.command else None


def child(name, first, after):
    """Runs some inputs of a target, saying of each that it begins and how it went."""
    said = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    target = TARGETS[name]
    with tempfile.TemporaryDirectory() as scratch:
        files = made(target, Path(scratch))
        for number in range(first, after):
            print(json.dumps(["begins", number]), file=said, flush=True)
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                fault = one(target, number, Path(folder), files)
                if fault is not None:
                    print(json.dumps(["fault", fault, (Path(folder) / target.file).read_bytes().hex()]), file=said)
        print(json.dumps(["done", after]), file=said, flush=True)


def _listen(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put(None)


def seconds_used(pid):
    """Processor time of a process; infinite where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("inf")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watched(name, first, after):
    """The faults of inputs of a target: (number, what, input). After a crash or a hang a new process goes on with the next."""
    faults = []
    while first < after:
        command = [sys.executable, "-m", "tests.fuzzing", "--child", name, str(first), str(after)]
        with (
            tempfile.TemporaryFile() as log,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
        ):
            lines = queue.Queue()
            listening = threading.Thread(target=_listen, args=(process.stdout, lines))
            listening.start()
            number, ended = first, None
            used, begun = seconds_used(process.pid), time.monotonic()
            while ended is None:
                try:
                    what, *rest = json.loads(lines.get(timeout=PATIENCE) or '["ends"]')
                except queue.Empty:
                    busy, waited = seconds_used(process.pid) - used, time.monotonic() - begun
                    if waited > 60 * PATIENCE or (number > first and not busy < PATIENCE):
                        ended = f"hangs: {waited:.0f} s, {busy:.0f} s of processor time"
                else:
                    if what == "begins":
                        number, used, begun = rest[0], seconds_used(process.pid), time.monotonic()
                    elif what == "fault":
                        faults.append((number, *rest))
                    else:
                        ended = what
            process.kill()
            listening.join()
            if ended == "done":
                return faults
            if ended == "ends":
                log.seek(0)
                ended = f"ends with {process.wait()}: {log.read()[-2000:].decode(errors='replace')}"
            faults.append((number, ended, ""))
            first = number + 1
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000, help="of all targets together")
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each target")
    parser.add_argument("--only", help="some targets: " + ", ".join(TARGETS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing new after so many")
    parser.add_argument("--keep", default="build/fuzz", help="folder for inputs that fail")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child[0], *map(int, given.child[1:]))
        return 0
    names = given.only.split(",") if given.only else list(TARGETS)
    each = -(-given.inputs // len(names))
    work = [
        (n, a, min(a + TOGETHER, given.first + each))
        for a in range(given.first, given.first + each, TOGETHER)
        for n in names
    ]
    begun, bad, inputs = time.monotonic(), 0, 0

    def in_time(part):
        return None if time.monotonic() - begun > 60 * given.minutes else watched(*part)

    shutil.rmtree(given.keep, ignore_errors=True)
    with ThreadPoolExecutor(given.jobs) as pool:
        for done, ((name, first, after), faults) in enumerate(zip(work, pool.map(in_time, work), strict=True), 1):
            if faults is None:
                continue
            inputs += after - first
            for number, what, content in faults:
                bad += 1
                Path(given.keep).mkdir(parents=True, exist_ok=True)
                (Path(given.keep) / f"{name}-{number}").write_bytes(bytes.fromhex(content))
                print(f"\n{name} {number}: {what[-1500:]}", flush=True)
            if sys.stderr.isatty():
                print(f"\r{done}/{len(work)}", end="", file=sys.stderr, flush=True)
            elif given.minutes < float("inf") and done % 8 == 0:
                print(
                    f"{inputs:,} inputs after {(time.monotonic() - begun) / 60:.0f} minutes",
                    file=sys.stderr,
                    flush=True,
                )
    minutes = (time.monotonic() - begun) / 60
    print(f"{inputs:,} inputs of {len(names)} targets in {minutes:.1f} minutes: {bad} faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
