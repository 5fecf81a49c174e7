"""`howsure parse`: files, folders, standard input; errors in one line, nothing half-written."""

import io
import json

import pytest

pytest.importorskip("spacy")

from howsure.cli.application import run
from howsure.corpora.conllu import read_conllu
from howsure.english.shipped import SHIPPED, WEIGHTS

pytestmark = pytest.mark.skipif(not (SHIPPED / WEIGHTS).is_file(), reason="the English model is not in this checkout")
TEXT = "The senators met the envoy in the capital. They didn't agree on anything, and the talks failed."


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HOWSURE_CACHE", str(tmp_path / "cache"))


def test_a_file_to_conllu(tmp_path, capsys):
    (tmp_path / "talks.txt").write_text(TEXT)
    out = tmp_path / "talks.conllu"
    assert run(["parse", str(tmp_path / "talks.txt"), "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"1 document, 2 sentences, 21 words.\nWritten: {out}\n"
    (document,) = read_conllu(out)
    assert (document.name, document.text()) == ("talks", TEXT)


def test_a_folder_with_parsed_files_in_it(tmp_path, capsys):
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "one.txt").write_text(TEXT)
    (folder / ".hidden.txt").write_text("no")
    (folder / "two.conllu").write_text("# newdoc id = two\n1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_\n\n")
    out = tmp_path / "all.conllu"
    assert run(["parse", str(folder), "-o", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["n_documents"], said["n_words"]) == (2, 22)
    assert [d.name for d in read_conllu(out)] == ["sub/one", "two"]


def test_standard_input_to_standard_output(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert run(["parse", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "# text = The senators met the envoy in the capital."
    assert lines[3].split("\t")[:4] == ["2", "senators", "senator", "NOUN"]


def test_json_holds_everything(tmp_path, capsys):
    (tmp_path / "t.txt").write_text(TEXT)
    assert run(["parse", str(tmp_path / "t.txt"), "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)["documents"]
    assert len(document["words"]) == len(document["heads"]) == len(document["xpos"]) == 21


def test_encodings(tmp_path, capsys):
    path = tmp_path / "cafe.txt"
    path.write_bytes("First line.\nThe café is closed.".encode("latin-1"))
    out = tmp_path / "out.conllu"
    out.write_text("old")
    assert run(["parse", str(path), "-o", str(out)]) == 2
    said = capsys.readouterr().err
    assert "line 2: byte 8 of the line (0xe9) is not utf-8" in said
    assert "--encoding" in said
    assert out.read_text() == "old"
    assert run(["parse", str(path), "-o", str(out), "--encoding", "latin-1"]) == 0
    assert "café" in out.read_text()
    assert run(["parse", str(path), "--encoding", "klingon"]) == 2
    assert 'no encoding "klingon"' in capsys.readouterr().err


def test_a_text_in_another_language_has_a_note(tmp_path, capsys):
    path = tmp_path / "ru.txt"
    path.write_text("Все счастливые семьи похожи друг на друга. " * 5)
    assert run(["parse", str(path), "-o", str(tmp_path / "ru.conllu")]) == 0
    said = capsys.readouterr()
    assert "1 with words mostly unknown" in said.out
    assert "ru: 100% of the words are unknown to the model; is this English?" in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["parse", "nowhere.txt"], "no file or folder 'nowhere.txt'"),
        (["parse", "{}"], "there is no text in"),
        (["parse", "t.txt", "-o", "t.txt"], "it is the input"),
        (["parse", "t.txt", "-o", "no/where.conllu"], "there is no folder"),
        (["parse", "t.txt", "--cache", "x", "--no-cache"], "exclude each other"),
        (["parse", "t.txt", "--jobs", "0"], "--jobs must be"),
        (["parse", "t.txt", "--model", "en_none"], "no pipeline"),
    ],
)
def test_bad_requests_are_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "t.txt").write_text(TEXT)
    assert run([a.format(tmp_path / "empty") for a in arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "cache") == ["empty", "t.txt"]
