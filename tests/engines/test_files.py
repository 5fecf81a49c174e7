"""Any table gives the same sketch; anything that is not a table gives one clear line."""

import csv
import gzip
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

import howsure
from howsure.engines import tables

N = 2_000


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(11)
    q = rng.beta(0.4, 0.4, N).round(6)
    return pd.DataFrame(
        {"id": np.arange(N), "q": q, "y": (rng.random(N) < q).astype(int), "tag": rng.choice(["NN", "VB"], N)}
    )


WRITERS = {
    "a.csv": lambda f, p: f.to_csv(p, index=False),
    "a.tsv": lambda f, p: f.to_csv(p, index=False, sep="\t"),
    "a.csv.gz": lambda f, p: f.to_csv(p, index=False, compression="gzip"),
    "a.jsonl": lambda f, p: f.to_json(p, orient="records", lines=True, double_precision=15),
    "a.jsonl.gz": lambda f, p: f.to_json(p, orient="records", lines=True, double_precision=15, compression="gzip"),
    "a.json": lambda f, p: f.to_json(p, orient="records", double_precision=15),
    "a.parquet": lambda f, p: pq.write_table(pa.table(f), p, row_group_size=300),
    "a.arrow": lambda f, p: feather.write_feather(pa.table(f), str(p), compression="uncompressed"),
    "misnamed.txt": lambda f, p: pq.write_table(pa.table(f), p),
}


def write_stream(frame, path):
    table = pa.table(frame)
    with ipc.new_stream(str(path), table.schema) as out:
        out.write_table(table)


def write_zstd(frame, path):
    with pa.CompressedOutputStream(str(path), "zstd") as out:
        out.write(frame.to_csv(index=False).encode())


WRITERS |= {"a.arrows": write_stream, "a.csv.zst": write_zstd}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_numbers(frame, tmp_path, name):
    path = tmp_path / name
    WRITERS[name](frame, path)
    expected = howsure.check(frame.y.to_numpy(), frame.q.to_numpy()).to_dict()
    assert howsure.check(path).to_dict() == expected
    assert howsure.check(str(path), prob="Q", true="y", where="id >= 0").to_dict() == expected


def test_frames_globs_and_folders(frame, tmp_path):
    expected = howsure.check(frame.y, frame.q).to_dict()
    assert howsure.check(frame).to_dict() == expected
    assert howsure.check(pa.table(frame)).to_dict() == expected
    for i in range(3):
        frame.iloc[i::3].to_csv(tmp_path / f"part-{i}.csv", index=False)
    assert howsure.check(f"{tmp_path}/part-*.csv").to_dict() == expected
    assert howsure.check(tmp_path).to_dict() == expected
    for i in range(3):
        frame.iloc[i::3].to_parquet(tmp_path / f"part-{i}.parquet", index=False)
    assert howsure.check(f"{tmp_path}/*.parquet").to_dict() == expected
    with pytest.raises(ValueError, match="different kinds"):
        howsure.check(tmp_path)


def test_slices_equal_a_check_of_each(frame):
    c = howsure.check(frame, by="tag")
    assert {s.name for s in c.slices} == {"NN", "VB"}
    for s in c.slices:
        part = frame[frame.tag == s.name]
        assert s.calibration.error == howsure.check(part.y, part.q).error
    again = howsure.check(frame.y, frame.q, by=frame.tag)
    assert [s.to_dict() for s in again.slices] == [s.to_dict() for s in c.slices]
    assert c.slices[0].calibration.error.low >= c.slices[1].calibration.error.low


def test_many_values_in_a_slice_collapse_only_that_slice(monkeypatch):
    from howsure.calibration import sketch
    from howsure.engines import slices

    monkeypatch.setattr(slices, "EXACT_LIMIT", 500)
    monkeypatch.setattr(sketch, "EXACT_LIMIT", 500)
    monkeypatch.setattr(slices, "COMPACT_FROM", 700)
    rng = np.random.default_rng(12)
    builder = slices.SlicedSketchBuilder()
    codes, q = rng.integers(0, 2, 4000), rng.random(4000)
    q[codes == 1] = q[codes == 1].round(2)
    y = (rng.random(4000) < q).astype(np.uint8)
    for part in np.array_split(np.arange(4000), 9):
        builder.add(codes[part], y[part], q[part])
    made = dict(slices.sketches(builder.parts()))
    for code in (0, 1):
        whole = sketch.SketchBuilder()
        whole.add(y[codes == code], q[codes == code])
        assert made[code] == whole.finish()
    assert not made[0].exact
    assert made[1].exact


@pytest.mark.parametrize("most", [1, 2**16, 2**16 + 1, 2**40])
def test_order_by_slice_and_value(most):
    from howsure.engines.slices import _in_order

    rng = np.random.default_rng(14)
    codes, values = rng.integers(0, most, 3000), rng.random(3000).round(2)
    codes[:50] = most - 1
    order, wanted = _in_order(codes, values), np.lexsort((values, codes))
    assert np.array_equal(np.sort(order), np.arange(3000))
    assert np.array_equal(codes[order], codes[wanted])
    assert np.array_equal(values[order], values[wanted])
    assert len(_in_order(codes[:0], values[:0])) == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_large_slices_with_tables_of_their_own_say_the_same(monkeypatch, weighted):
    from howsure.calibration import sketch
    from howsure.engines import slices

    monkeypatch.setattr(slices, "EXACT_LIMIT", 500)
    monkeypatch.setattr(sketch, "EXACT_LIMIT", 500)
    monkeypatch.setattr(slices, "COMPACT_FROM", 700)
    monkeypatch.setattr(slices, "LARGE_FROM", 60)
    rng = np.random.default_rng(13)
    n = 9000
    codes, q = rng.choice(6, n, p=[0.5, 0.2, 0.15, 0.1, 0.04, 0.01]), rng.random(n)
    codes[6000:][codes[6000:] == 4] = 70_000  # a slice that comes late, with a large number
    q[codes == 1] = q[codes == 1].round(2)
    y = (rng.random(n) < q).astype(np.uint8)
    w = rng.integers(0, 3, n) if weighted else None
    builder, names, whole = slices.SlicedSketchBuilder(3 * slices.TABLE), slices.SliceNames(), {}

    def collect(parts):
        for number, made in slices.sketches(parts):
            code = int(names.names[number])
            whole[code] = whole[code] + made if code in whole else made

    for i, part in enumerate(np.array_split(np.arange(n), 23)):
        numbers = names.codes(pa.array(codes[part]))
        builder.add(numbers, y[part], q[part], None if w is None else w[part])
        if i in (9, 22):  # right before the end, too: nothing is pending then
            collect(builder.taken())
            names = builder.renumbered(names)
            assert sorted(names.names) == ["0", "1", "2"]  # the others would fill the memory
    collect(builder.parts())
    assert set(whole) == {0, 1, 2, 3, 4, 5, 70_000}
    for code, made in whole.items():
        rows = codes == code
        other = sketch.SketchBuilder()
        other.add(y[rows], q[rows], None if w is None else w[rows])
        assert made == other.finish()


def test_labels_by_name_where_weights_and_logits(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("score,label,w,lang\n0.9,spam,2,en\n0.2,ham,1,de\n0.6,spam,3,en\n")
    c = howsure.check(path, positive="spam", sample_weight="w")
    assert (c.n, c.base_rate) == (6, 5 / 6)
    assert howsure.check(path, positive="spam", where="lang = 'en'").n == 2
    assert howsure.check([1, 0], [2.0, -2.0], logits=True).bins.mean_prob.mean() == pytest.approx(0.5)
    assert howsure.check(["spam", "ham"], [0.7, 0.4], positive="spam").base_rate == 0.5
    path.write_text('{"p": 0.5, "correct": true}\n{"p": 0.7, "correct": false}\n')
    assert howsure.check(path).base_rate == 0.5


SMALL = {
    "plain": {},
    "missing": {"prob": "gaps"},
    "truth values": {"true": "said"},
    "words": {"true": "word", "positive": "no"},
    "condition": {"where": "n % 3 > 0"},
    "groups": {"groups": "n"},
    "groups and slices": {"groups": "doc", "by": "doc"},
    "weights": {"sample_weight": "n"},
    "in memory": {"engine": "memory"},
}


@pytest.mark.parametrize("options", SMALL.values(), ids=SMALL)
def test_a_small_csv_is_held_and_says_the_same_as_one_that_is_read_again(tmp_path, monkeypatch, options):
    rng = np.random.default_rng(3)
    path, q = tmp_path / "a.csv", rng.random(300).round(4)
    frame = pd.DataFrame({"q": q, "y": (rng.random(300) < q).astype(int), "n": np.arange(300) // 4})
    frame["gaps"] = frame["q"].mask(frame["n"] % 7 == 0)
    frame["said"], frame["word"] = frame["y"] == 1, np.where(frame["y"] == 1, "no", "off")
    frame["doc"] = "doc " + (frame["n"] % 20).astype(str)
    frame.to_csv(path, index=False)
    options = {"prob": "q", "true": "y", **options}
    with tables.Table(path) as table:
        assert table._is_held
    held = howsure.check(path, **options).to_dict()
    monkeypatch.setattr(tables, "FEW", 0)
    with tables.Table(path) as table:
        assert not table._is_held
    assert howsure.check(path, **options).to_dict() == held


@pytest.mark.parametrize("before", [10_000, 20_479, 20_600])
def test_a_fraction_far_down_in_a_small_csv_is_not_rounded(tmp_path, monkeypatch, before):
    """What DuckDB takes for a column of whole numbers, from its first rows."""
    path = tmp_path / "a.csv"
    path.write_text("q,y\n" + "0,0\n" * (before - 1) + "1,1\n0.25,0\n" + "0,0\n" * 1_000)
    found = howsure.check(path).to_dict()
    monkeypatch.setattr(tables, "FEW", 0)
    assert howsure.check(path).to_dict() == found
    with tables.Table(path) as table:
        assert sum(b.column(0).to_pylist().count(0.25) for b in table.batches(["CAST(q AS DOUBLE)"])) == 1


def test_a_small_csv_of_numbers_is_read_without_pyarrow(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("q,y\n0.2,0\n0.9,1\n0.4,1\n")
    code = (
        f"import sys, howsure; print(howsure.check({str(path)!r}).n, 'pyarrow' in sys.modules, 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "False", "False"]


CSV_ERRORS = {
    "q,y\n0.5,1\n1.3,0\n": r"`q` must lie in \[0, 1\]; got 1.3 in row 2\. For another scale pass `scale='percent'`",
    "q,y\n,1\n,0\n": r"2 of 2 rows have no `q`: nothing is left",
    "q,y\n0.5,\nnan,0\n": r"2 of 2 rows have no `y` \(1\) or no `q` \(1\): nothing is left",
    "q,y\n0.5,1\n0.2,2\n": r"`y` must be 0 or 1; got 2 in row 2",
    "q,y\n0.5,a\n0.2,b\n": r"`y` holds 'a', 'b': say which value counts as 1 with `positive=`",
    "q,y\nhigh,1\n0.5,0\n": r"`q` must hold numbers; got 'high' in row 1",
    "q,y\n": r"no rows",
    "a,b\n1,2\n": r"no column of .* is named like a probability: name it with `prob=`\. Columns: `a`, `b`",
    "p,q,y\n.1,.2,1\n": r"could be `p`, `q`: name it with `prob=`",
    "q,y,label\n.1,1,1\n": r"could be `y`, `label`: name it with `true=`",
    "": r"is empty",
    "\n\n": r"is empty",
}


@pytest.mark.parametrize("text", CSV_ERRORS)
def test_bad_tables(tmp_path, text):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(howsure.InputError, match=CSV_ERRORS[text]) as caught:
        howsure.check(path)
    assert "\n" not in str(caught.value)


def test_bad_row_number_deep_in_a_parquet_file(tmp_path):
    q = np.full(5000, 0.5)
    q[[4321, 4500]] = 1.5, -1
    pq.write_table(pa.table({"q": q, "y": np.zeros(5000, np.int8)}), tmp_path / "a.parquet", row_group_size=1000)
    with pytest.raises(ValueError, match=r"got 1.5 in row 4,322"):
        howsure.check(tmp_path / "a.parquet")


def test_a_bad_value_after_the_sniffed_part_names_its_line(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("q,y\n" + "0.5,1\n" * 60_000 + "oops,1\n" + "0.5,0\n" * 10)
    with pytest.raises(ValueError, match=r"`q` holds 'oops' in line 60002, which is not a number"):
        howsure.check(path)


def test_damaged_and_binary_files(tmp_path, frame):
    whole = tmp_path / "a.parquet"
    frame.to_parquet(whole)
    (tmp_path / "cut.parquet").write_bytes(whole.read_bytes()[:-2000])
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"q,y\n" + b"0.5,1\n" * 9999)[:40])
    (tmp_path / "image.csv").write_bytes(b"\x89PNG\x00\x00\x01\x02" * 50)
    (tmp_path / "cut.jsonl").write_text(json.dumps({"q": 0.5, "y": 1}) + '\n{"q": 0.7, "y"')
    (tmp_path / "paper.csv").write_bytes(b"%PDF-1.4\n%\xe2\xe3\n")
    (tmp_path / "page.csv").write_text("<!DOCTYPE html>\n<html></html>\n")
    (tmp_path / "sheet.csv").write_bytes(b"PK\x03\x04\x00\x00")
    (tmp_path / "wide.csv").write_text("q,y\n" + "0.5,1\n" * 9 + "0.5,1,7\n" + "0.5,0\n" * 9)
    (tmp_path / "narrow.csv.gz").write_bytes(gzip.compress(b"q;y\n" + b"0.5;1\n" * 9 + b"0.5\n" + b"0.5;0\n" * 9))
    (tmp_path / "late.csv").write_text("q,y\n" + "0.5,1\n" * 60_000 + "0.5,1,7\n" + "0.5,0\n" * 9)
    for name, message in {
        "cut.parquet": "cannot be read",
        "cut.csv.gz": "cannot be read|damaged",
        "image.csv": "is not a table: it holds binary data",
        "cut.jsonl": "cannot be read",
        "paper.csv": "is not a table: it is a PDF",
        "page.csv": "is not a table: it is a web page",
        "sheet.csv": "is not a table: it is a zip archive or a spreadsheet",
        "wide.csv": "line 11 has 3 fields and the first line 2",
        "narrow.csv.gz": "line 11 has 1 field and the first line 2",
        "late.csv": "cannot be read in line 60002: it has 3 fields and the first line 2",
        "no.csv": "there is no file",
    }.items():
        with pytest.raises(howsure.InputError, match=message) as caught:
            howsure.check(tmp_path / name)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "where", ["q > 0; drop table x", "true) UNION SELECT 1, 2 WHERE (true", "q >", "1, 2", "", " "]
)
def test_where_is_a_single_expression(frame, where):
    if not where.strip():
        where = ","
    with pytest.raises(ValueError, match="`where=` must be a single SQL expression"):
        howsure.check(frame, where=where)


def test_where_that_keeps_nothing_or_names_no_column(frame):
    with pytest.raises(ValueError, match="`where=` kept none"):
        howsure.check(frame, where="q > 2")
    with pytest.raises(ValueError, match=r"has no column `tagg`\. Did you mean `tag`"):
        howsure.check(frame, where="tagg = 'NN'")
    with pytest.raises(ValueError, match="Did you mean `tag`"):
        howsure.check(frame, by="tga")
    with pytest.raises(ValueError, match=r"no row has `tag` = 'NNN'\. Did you mean `NN`"):
        howsure.check(frame, true="tag", positive="NNN")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "csv.gz", "two.jsonl"])
def test_fractions_after_many_whole_numbers_are_not_rounded(tmp_path, kind):
    rng = np.random.default_rng(0)
    n, late = 24_000, np.arange(24_000) >= 21_000
    p = np.where(late, rng.random(n).round(3), np.arange(n) % 2)
    y = (rng.random(n) < p).astype(int)
    group = np.arange(n) % 5 + np.where(late, 0.25, 0)
    rows = list(zip(p.tolist(), y.tolist(), group.tolist(), strict=True))

    def written(x):
        return str(int(x)) if x == int(x) else str(x)

    if "json" in kind:
        lines = [f'{{"p": {written(a)}, "y": {b}, "g": {written(c)}, "x": [1, {written(a)}]}}' for a, b, c in rows]
    else:
        lines = ["p,y,g", *(f"{written(a)},{b},{written(c)}" for a, b, c in rows)]
    path = tmp_path / f"late.{kind}"
    if kind == "two.jsonl":
        path = tmp_path / "late"
        path.mkdir()
        (path / "a.jsonl").write_text("\n".join(lines[:22_000]))
        (path / "b.jsonl").write_text("\n".join(lines[22_000:]))
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress("\n".join(lines).encode()))
    else:
        path.write_text("\n".join(lines))
    wanted = howsure.check(y, p, groups=group)
    for how in ({}, {"where": "p >= 0 and g >= 0"}):
        found = howsure.check(path, prob="p", true="y", groups="g", **how)
        assert (found.brier.value, found.n_groups) == (pytest.approx(wanted.brier.value, rel=1e-12), 10)
    assert howsure.check(path, prob="p", true="y", where="p > 0 and p < 1").n == int(((p > 0) & (p < 1)).sum())
    if "json" in kind:
        with tables.Table(path) as table:
            assert [c.type for c in table.columns] == ["DOUBLE", "BIGINT", "DOUBLE", "DOUBLE[]"]
            last = table.value_at("x[2]", n - 1)
        assert last == p[-1]


@pytest.mark.parametrize("other", ["{z}", 'an "other" \'s', "e"])
def test_fractions_are_found_beside_columns_that_turn_into_text(tmp_path, other):
    path = tmp_path / "late.csv"
    with path.open("w", newline="") as file:
        written = csv.writer(file)
        written.writerow(["p", "y", other])
        written.writerows([i % 2, i % 2, i] for i in range(21_000))
        written.writerows([0.25, int(i % 4 == 0), "none"] for i in range(4_000))
    found = howsure.check(path, prob="p", true="y", where="p >= 0")
    assert found.brier.value == pytest.approx(4_000 * 0.25 * 0.75 / 25_000, rel=1e-12)
    with pytest.raises(howsure.InputError, match="'none'"):
        howsure.check(path, prob="p", true="y", groups=other)


def test_fractions_are_found_in_the_files_that_are_left(tmp_path):
    good = "p,y\n" + "0,0\n1,1\n" * 11_000 + "0.25,0\n" * 3_000 + "0.25,1\n" * 1_000
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(good.encode()))
    digits = np.random.default_rng(0).integers(0, 10, (200_000, 12))
    rows = "".join(f"{i % 2},1{''.join(map(str, row))}\n" for i, row in enumerate(digits.tolist()))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(f"p,y\n{rows}".encode())[:-100_000])
    with pytest.raises(howsure.InputError, match=r"1 of 2 files cannot be read: .*b\.csv\.gz") as told:
        howsure.check(tmp_path, prob="p", true="y")
    assert "`skip_bad_files=True`" in str(told.value)
    found = howsure.check(
        tmp_path, prob="p", true="y", where="p >= 0", engine=howsure.Engine("files", skip_bad_files=True)
    )
    assert (found.n, found.brier.value) == (26_000, pytest.approx(4_000 * 0.25 * 0.75 / 26_000, rel=1e-12))
