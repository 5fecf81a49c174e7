"""`howsure explore` from a corpus to results: interrupted, in parallel, on bad input."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import howsure
from howsure.errors import InputError
from howsure.events.exploration import Exploration
from howsure.events.ranking import ranked_documents
from howsure.events.storage import SCHEMAS, read_table
from howsure.exploring.corpus import DocumentColumns, open_corpus

TABLES = [*(f"{t}.parquet" for t in SCHEMAS), "manifest.json"]
ROW = "{i}\t{w}\t{lemma}\t{upos}\t_\t_\t{h}\t{rel}\t_\t_"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return howsure.explore(coref="simple", out=tmp_path_factory.mktemp("results") / "stories")


@pytest.fixture(scope="module")
def whole(many_stories, tmp_path_factory):
    """What one process makes of the stories six times."""
    folder = tmp_path_factory.mktemp("whole") / "r"
    howsure.explore(many_stories, actors="stories", coref="simple", out=folder, jobs=1)
    return contents(folder)


def contents(folder):
    return {name: (folder / name).read_bytes() for name in TABLES}


def test_the_embedded_corpus_needs_no_spacy(found, tmp_path):
    code = (
        "import sys; sys.modules['spacy'] = None; import howsure;"
        f"print(howsure.explore(coref='simple', out={str(tmp_path / 'r')!r}).verdict)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == found.verdict
    assert found.manifest["n_documents"] == 60
    assert len([1 for _, law in found.totals() if law.mean > 1]) >= 4


def test_any_number_of_workers_gives_the_same_bytes(many_stories, whole, tmp_path):
    """One, and three; two in the next test."""
    howsure.explore(many_stories, actors="stories", coref="simple", out=tmp_path / "r", jobs=3)
    assert whole == contents(tmp_path / "r")


def test_killed_ten_times_and_resumed_gives_the_same_result(many_stories, whole, tmp_path):
    torn = tmp_path / "torn"
    command = [sys.executable, "-m", "howsure", "explore", str(many_stories), "--actors", "stories"]
    command += ["--coref", "simple", "--out", str(torn), "--jobs"]
    rng, kills = random.Random(0), 0
    wait = 0.8
    while kills < 10:
        process = subprocess.Popen(
            [*command, str(1 + kills % 2)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(wait * (0.5 + rng.random()))
        if process.poll() is not None:  # it was done before it could be killed: begun anew for the next kill
            assert process.returncode == 0
            shutil.rmtree(torn)
            wait *= 0.7
            continue
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    subprocess.run([*command, "2"], check=True, stdout=subprocess.DEVNULL)
    assert contents(torn) == whole
    assert not (torn / "parts").exists()


def test_finished_results_are_used_again_and_other_settings_refused(found):
    before = contents(found.folder)
    again = howsure.explore(coref="simple", out=found.folder, every="month")
    assert again.every == "month"
    assert [len(again.timeline("VAL", e)) for e in ("quarter", "month")] == [8, 24]
    howsure.explore(coref="simple", out=found.folder)
    assert contents(found.folder) == before
    with pytest.raises(InputError, match=r"other settings \(verbs: \['attack'\], not \['bomb'\]\).*`again=True`"):
        howsure.explore(coref="simple", out=found.folder, verbs="bomb")
    with pytest.raises(InputError, match=r"other settings \(seed: 0, not 1\)"):
        howsure.explore(coref="simple", out=found.folder, rng=1)
    assert contents(found.folder) == before


def test_results_of_another_version_are_refused(found, tmp_path):
    for name, content in contents(found.folder).items():
        (tmp_path / name).write_bytes(content)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    for change, said in (({"version": "0.0.1"}, "results of howsure 0.0.1"), ({"format": 99}, "format 99")):
        (tmp_path / "manifest.json").write_text(json.dumps(manifest | change))
        with pytest.raises(InputError, match=said):
            howsure.explore(coref="simple", out=tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        Exploration.open(tmp_path)


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match=r"not empty \(it holds thesis.txt\)"):
        howsure.explore(coref="simple", out=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_interrupted_run_cannot_be_opened_as_results(found, tmp_path):
    manifest = json.loads((found.folder / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"complete": False}))
    with pytest.raises(InputError, match="interrupted; run the same"):
        Exploration.open(tmp_path)


def test_probabilities_and_counts_agree_with_the_tables(found):
    rows = [r for r in read_table(found.folder, "events") if r["actor"] == "VAL"]
    assert found.total("VAL").mean == pytest.approx(sum(r["probability"] for r in rows))
    assert sum(c.mean for c in found.timeline("valdoria")) == pytest.approx(found.total("VAL").mean)
    assert sum(c.best for c in found.timeline("VAL")) == sum(r["best"] > 0 for r in rows)
    law = found.compare_all("VAL", "KES")
    assert law.mean == pytest.approx(found.total("VAL").mean - found.total("KES").mean)
    with pytest.raises(InputError, match="Did you mean `VAL`"):
        found.timeline("VALL")


def test_tokens_point_into_the_text(found):
    documents = {d["id"]: d for d in read_table(found.folder, "documents")}
    for c in read_table(found.folder, "chains"):
        d = documents[c["id"]]
        verb = d["text"][d["token_starts"][c["verb"]] : d["token_ends"][c["verb"]]]
        assert verb.lower().startswith("attack")
        assert 0 < c["probability"] <= 1
        assert (
            d["text"][d["token_starts"][c["agent_start"]] : d["token_ends"][c["agent_end"] - 1]] in c["why"] + d["text"]
        )


def test_ranking_by_probability_and_by_uncertainty(found):
    sure = [d.probability for d in ranked_documents(found, limit=5)]
    unsure = [abs(d.probability - 0.5) for d in ranked_documents(found, uncertain=True, limit=5)]
    assert sure == sorted(sure, reverse=True)
    assert unsure == sorted(unsure)
    assert all(d.chains[0].sentence for d in ranked_documents(found, "VAL", limit=3))


def test_plot_draws_each_actor_with_its_bands(found):
    pytest.importorskip("matplotlib").use("agg")
    axes = found.plot(actors=["VAL", "KES"])
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["Valdoria", "Kessia"]
    means = [c.mean for c in found.reported_timeline("VAL")]
    assert axes.lines[1].get_ydata().tolist() == [*means, means[-1]]  # steps: the last one has an end
    assert len(axes.collections) == 6
    import matplotlib.pyplot as plt

    plt.close(axes.figure)


def test_ctrl_c_stops_quietly_and_the_run_goes_on_later(many_stories, tmp_path):
    # Tests that run in the background inherit a deaf ear for Ctrl-C.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    code += "from howsure.cli.application import run; sys.exit(run(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "explore", str(many_stories), "--actors", "stories"]
    command += ["--coref", "simple", "--out", str(tmp_path / "r"), "--jobs", "2"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while process.poll() is None and not (tmp_path / "r" / "parts").exists():
        time.sleep(0.005)  # the workers still have to start when the folder is there
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate()[1]
    assert process.returncode == 130
    assert "Traceback" not in said
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert Exploration.open(tmp_path / "r").manifest["n_documents"] == 360


def conllu(name, day, words):
    lines = [f"# newdoc id = {name}"] + ([f"# meta::date = {day}"] if day else [])
    return "\n".join(lines + words) + "\n\n"


ATTACK = [
    ROW.format(i=1, w="Iraq", lemma="Iraq", upos="PROPN", h=2, rel="nsubj"),
    ROW.format(i=2, w="attacked", lemma="attack", upos="VERB", h=0, rel="root"),
]


def test_undated_impossible_and_unparsed_documents_are_counted(tmp_path):
    path = tmp_path / "c.conllu"
    bare = "1\tHi\t_\t_\t_\t_\t_\t_\t_\t_"
    path.write_text(
        conllu("a", "1999-01-02", ATTACK) + conllu("b", "", ATTACK) + conllu("c", "1999-02-30", ATTACK)
        + conllu("d", "1999-01-03", [bare]) + conllu("e", "2999-01-03", ATTACK)
    )  # fmt: skip
    made = howsure.explore(path, coref="none", every="year")
    m = made.manifest
    assert (m["n_documents"], m["n_undated"], m["n_failed"], m["n_future"]) == (5, 2, 1, 1)
    assert m["undated"] == {"impossible date": 1, "no date": 1}
    assert "not parsed" in next(iter(m["failures"]))
    assert made.total("IRQ").mean == 2.0  # the undated are in the table, not in the periods
    assert len(read_table(made.folder, "events")) == 4


def test_duplicate_ids_are_refused(tmp_path):
    path = tmp_path / "c.conllu"
    path.write_text(conllu("a", "1999-01-02", ATTACK) * 2)
    with pytest.raises(InputError, match="two documents have the id 'a'"):
        howsure.explore(path, coref="none")


def test_folders_of_text_with_all_that_is_wrong_in_them(tmp_path):
    (tmp_path / "1999-05-01.txt").write_text("Iraq attacked.")
    (tmp_path / "undated.txt").write_text("Text.")
    (tmp_path / "19990230-x.txt").write_text("Text.")
    (tmp_path / "empty-1999-05-02.txt").write_text("  \n")
    (tmp_path / "binary-1999-05-02.txt").write_bytes(b"\x00\x01\x02")
    (tmp_path / "latin-1999-05-02.txt").write_bytes("café".encode("latin-1"))
    (tmp_path / "page-1999-05-02.html").write_text("<html><script>x()</script><p>Iraq &amp; Iran.</p></html>")
    (tmp_path / "long-1999-05-02.txt").write_text("word " * 1_000_000)
    (tmp_path / ".hidden").write_text("no")
    made = {t.id: t for t in open_corpus(tmp_path)}
    assert len(made) == 8
    assert made["1999-05-01.txt"].date == date(1999, 5, 1)
    assert made["undated.txt"].undated == "no date in the name"
    assert "no day" in made["19990230-x.txt"].undated
    assert made["empty-1999-05-02.txt"].failure == "empty"
    assert made["binary-1999-05-02.txt"].failure == "binary data, not text"
    assert "not utf-8 text (byte 3)" in made["latin-1999-05-02.txt"].failure
    assert made["page-1999-05-02.html"].text == "Iraq & Iran."
    assert made["page-1999-05-02.html"].was_html
    assert "5,000,000 characters" in made["long-1999-05-02.txt"].failure
    latin = {t.id: t for t in open_corpus(tmp_path, encoding="latin-1")}
    assert latin["latin-1999-05-02.txt"].text == "café"


def test_dates_from_a_metadata_file(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("Text.")
    meta = tmp_path / "meta.csv"
    meta.write_text("file,date,title\na.txt,26-FEB-1987,One\nb.txt,03/04/1990,Two\n")
    a, b = open_corpus(folder, metadata=str(meta))
    assert (a.date, a.title) == (date(1987, 2, 26), "One")
    assert b.undated == "'03/04/1990' is not a date; write YYYY-MM-DD."
    meta.write_text("name,date\n")
    with pytest.raises(InputError, match="no column `file`"):
        open_corpus(folder, metadata=str(meta))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_tables_with_text_and_date_columns(tmp_path, kind):
    rows = [
        {"body": "Iraq attacked.", "published": "1999-01-02", "url": "u1"},
        {"body": "Nothing.", "published": None, "url": "u2"},
        {"body": None, "published": "1999-01-03", "url": "u3"},
    ]
    path = tmp_path / f"wire.{kind}"
    if kind == "csv":
        path.write_text("body,published,url\nIraq attacked.,1999-01-02,u1\nNothing.,,u2\n,1999-01-03,u3\n")
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    made = list(open_corpus(path, DocumentColumns(text="body", date="published")))
    assert [t.id for t in made] == ["u1", "u2", "u3"]
    assert [t.date for t in made] == [date(1999, 1, 2), None, date(1999, 1, 3)]
    assert [t.failure for t in made] == ["", "", "empty"]
    with pytest.raises(InputError, match="no column `bodi`"):
        list(open_corpus(path, DocumentColumns(text="bodi")))


def test_sources_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        list(open_corpus(tmp_path / "no.csv"))
    with pytest.raises(InputError, match="holds no files"):
        open_corpus(tmp_path)
    with pytest.raises(InputError, match="no format `reuter`"):
        open_corpus(tmp_path, format="reuter")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_says_so_and_keeps_what_is_done(many_stories, whole, tmp_path, monkeypatch):
    from howsure.events import storage

    real, calls = pq.write_table, []

    def full(table, where, **options):
        calls.append(where)
        if len(calls) > 30:
            raise OSError(28, "No space left on device")
        real(table, where, **options)

    monkeypatch.setattr(storage.pq, "write_table", full)
    with pytest.raises(InputError, match=r"No space left on device\. What is done so far is kept"):
        howsure.explore(many_stories, actors="stories", coref="simple", out=tmp_path / "r", jobs=1)
    monkeypatch.setattr(storage.pq, "write_table", real)
    kept = sorted(p.name for p in (tmp_path / "r" / "parts").iterdir())
    assert len(kept) == 30 // len(SCHEMAS)
    assert not any(name.startswith(".") for name in kept)
    howsure.explore(many_stories, actors="stories", coref="simple", out=tmp_path / "r", jobs=1)
    assert contents(tmp_path / "r") == whole


def spoilt(content, how):
    """A file's bytes, cut short, with one bit of its middle turned, or gone."""
    if how == "cut":
        return content[: len(content) // 2]
    if how == "empty":
        return b""
    middle = len(content) // 3
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("how", ["cut", "empty", "bit"])
def test_a_damaged_part_is_never_counted_and_done_again(found, tmp_path, monkeypatch, how):
    from howsure.verbs import explore as verb

    options = {"coref": "simple", "jobs": 1}

    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(verb, "join_parts", stopped)
        with pytest.raises(KeyboardInterrupt):
            howsure.explore(out=tmp_path / "r", **options)
    part = sorted((tmp_path / "r" / "parts").iterdir())[1]
    file = part / "documents.parquet"
    file.write_bytes(spoilt(file.read_bytes(), how))
    with pytest.raises(
        InputError, match=r"documents\.parquet was damaged \(.*\)\. Run the same command again"
    ) as caught:
        howsure.explore(out=tmp_path / "r", **options)
    assert len(str(caught.value).splitlines()) == 1
    assert not part.exists()
    assert not (tmp_path / "r" / "documents.parquet").exists()
    repaired = howsure.explore(out=tmp_path / "r", **options)
    assert repaired.timing["documents"] == 28
    assert contents(tmp_path / "r") == contents(found.folder)


def test_damaged_results_are_refused(found, tmp_path):
    for name, content in contents(found.folder).items():
        (tmp_path / name).write_bytes(spoilt(content, "bit") if name == "events.parquet" else content)
    with pytest.raises(InputError, match=r"events\.parquet cannot be read"):
        Exploration.open(tmp_path).totals()


def test_a_document_that_breaks_is_recorded_and_the_run_goes_on(tmp_path, monkeypatch):
    from howsure.exploring import blocks

    real = blocks.detect_mentions

    def fragile(document):
        if document.name == "story-06":
            raise RuntimeError("no\nluck")
        return real(document)

    monkeypatch.setattr(blocks, "detect_mentions", fragile)
    made = howsure.explore(coref="simple", out=tmp_path / "r", jobs=1)
    assert made.manifest["failures"] == {"RuntimeError: no luck": 1}
    assert made.manifest["n_failed"] == 1
    assert "1 failed" in made.verdict
