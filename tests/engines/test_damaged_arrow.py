"""Arrow files with wrong bytes are an error of one line; they never end the process."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import howsure
from howsure.cli.application import run
from howsure.errors import InputError

# Reads this number of damaged files in a process that writes down how each ended, and in a new one after a file that ends it;
# prints how those ended that ended badly.
FUZZ = """
import io, os, sys, tempfile
import duckdb, numpy as np, pyarrow as pa, pyarrow.dataset
from howsure.engines.tables import Table, quoted
from howsure.errors import InputError

stream, compression, n = sys.argv[1] == "stream", sys.argv[2] if sys.argv[2] != "none" else None, int(sys.argv[3])
N = 240
text = [f"text {i % 17}" for i in range(N)]
table = pa.table({
    "q": np.arange(N) / N, "y": np.arange(N) % 2, "text": text, "code": pa.array(text).dictionary_encode(),
    "list": [list(range(i % 4)) for i in range(N)], "struct": [{"a": i, "b": str(i)} for i in range(N)],
    "view": pa.array(text, pa.string_view()), "large": pa.array(text, pa.large_string()),
    "number": pa.array([None if i % 3 else i for i in range(N)], pa.int32()),
    "map": pa.array([[(t, 1)] for t in text], pa.map_(pa.string(), pa.int8())),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([100, N], pa.int32()), pa.array(["a", "b"])),
})
sink = io.BytesIO()
make = pa.ipc.new_stream if stream else pa.ipc.new_file
with make(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as file:
    file.write_table(table, max_chunksize=80)
whole = sink.getvalue()


def read(seed, path):
    rng = np.random.default_rng([seed, len(whole)])
    made = bytearray(whole)
    for _ in range(rng.integers(1, 5)):
        at, width = rng.integers(len(made)), rng.integers(1, 9)
        old = made[at : at + width]
        other = rng.integers(len(made))
        made[at : at + width] = [
            rng.bytes(len(old)), bytes(b ^ (1 << rng.integers(8)) for b in old), b"\\xff" * len(old), bytes(len(old)),
            (made[other : other + len(old)] + old)[: len(old)],
        ][rng.integers(5)]
    with open(path, "wb") as file:
        file.write(made if rng.random() < 0.95 else made[: rng.integers(len(made))])
    try:
        with Table(path) as opened:
            for batch in opened.batches([quoted(c.name) for c in opened.columns]):
                batch.validate(full=True)
        return 0
    except InputError as error:
        return 2 if "\\n" not in str(error) else 3
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\\n")
        sys.stderr.flush()
        return 4


ends, seed = {}, 0
with tempfile.TemporaryDirectory() as folder:
    while seed < n:
        ours, theirs = os.pipe()
        if (child := os.fork()) == 0:
            for k in range(seed, n):
                os.write(theirs, bytes([read(k, os.path.join(folder, f"{k}.arrow"))]))
            os._exit(0)
        os.close(theirs)
        with open(ours, "rb") as told:
            for ended in told.read():
                ends.setdefault(ended, []).append(seed)
                seed += 1
        if ended := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            ends.setdefault(ended, []).append(seed)
            seed += 1
print({e: len(s) if e in (0, 2) else s for e, s in sorted(ends.items())})
sys.exit(0 if set(ends) <= {0, 2} and len(ends) == 2 else 1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.parametrize(
    ("kind", "compression"), [("file", "none"), ("stream", "none"), ("file", "lz4"), ("stream", "zstd")]
)
def test_no_damaged_file_ends_the_process(kind, compression):
    done = subprocess.run([sys.executable, "-c", FUZZ, kind, compression, "100"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def damaged(path, n_batches=3):
    """A file whose last batch has an offset that points outside."""
    table = pa.table({"q": [0.2, 0.7] * 30, "y": [0, 1] * 30, "doc": ["a word", "another"] * 30})
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=60 // n_batches)
    offsets = np.cumsum([0] + [6, 7] * (30 // n_batches), dtype=np.int32).tobytes()
    content = bytearray(path.read_bytes())
    at = content.rindex(offsets)
    content[at + 4 : at + 8] = b"\xf0\xff\xff\x6f"
    path.write_bytes(content)
    return path


def test_a_wrong_offset_is_told_and_left_out_if_asked(tmp_path, capsys):
    path = damaged(tmp_path / "a.arrow")
    assert run(["check", str(path), "--groups", "doc"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"howsure: {path} cannot be read: ")
    assert told.count("\n") == 1
    good = pa.table({"q": [0.2, 0.7] * 30, "y": [0, 1] * 30, "doc": ["a word", "another"] * 30})
    with pa.ipc.new_file(tmp_path / "b.arrow", good.schema) as file:
        file.write_table(good)
    with pytest.raises(InputError, match=r"1 of 2 files cannot be read: .*a\.arrow"):
        howsure.check(tmp_path)
    made = howsure.check(tmp_path, engine=howsure.Engine(skip_bad_files=True))
    assert made.n == 60
