"""No command replaces a file that it reads, by whatever name it is called."""

import os
import re
import subprocess
import sys

import pytest

import howsure
from howsure.cli.application import application, run
from howsure.errors import InputError

ROWS = "id,q,y,pred,text,label,date,item,annotator\n" + "".join(
    f"{i},{(i % 9 + 1) / 10},{i % 2},{i % 3 % 2},a text,{i % 2},1990-01-0{i % 9 + 1},{i // 2},ann{i % 2}\n"
    for i in range(60)
)
SAVED = """{"format": "howsure recalibrator", "version": 1, "method": "temperature", "n_classes": 2, "settings": {},
 "fitted": {"slope_": 1.0}}"""
TEXT = "the\tDT\ndog\tNN\n\n"

# (command, option that names the output): arguments. IN is the input, OUT the output, other words name files that are there.
TABLES = {
    ("check", "html"): "check IN --prob q --true y --html OUT",
    ("check", "plot"): "check IN --prob q --true y --plot OUT",
    ("compare", "html"): "compare IN --prob q,id --true y --html OUT",
    ("compare", "plot"): "compare IN --prob q,id --true y --plot OUT",
    ("count", "html"): "count IN --prob q --true y --html OUT",
    ("count", "plot"): "count IN --prob q --true y --plot OUT",
    ("count", "out"): "count IN --prob q --to-label 5 -o OUT",
    ("label", "out"): "label IN --text text --key id -o OUT",
    ("score", "html"): "score IN --true y --pred pred --html OUT",
    ("score", "plot"): "score IN --true y --pred pred --plot OUT",
    ("abstain", "html"): "abstain IN --html OUT",
    ("abstain", "plot"): "abstain IN --plot OUT",
    ("abstain", "out"): "abstain IN --apply OTHER --out OUT",
    ("agree", "html"): "agree IN --html OUT",
    ("agree", "plot"): "agree IN --plot OUT",
    ("agree", "posteriors"): "agree IN --posteriors OUT",
    ("split", "out"): "split IN --folds 2 -o OUT",
    ("recalibrate fit", "out"): "recalibrate fit IN --prob q --true y -o OUT",
    ("recalibrate apply", "out"): "recalibrate apply saved.json IN --prob q -o OUT",
    ("classify train", "out"): "classify train logistic IN -o OUT",
    ("classify cv", "html"): "classify cv naive-bayes IN --strength 1 --html OUT",
    ("classify cv", "plot"): "classify cv naive-bayes IN --strength 1 --plot OUT",
    ("classify check", "html"): "classify check model.npz IN --html OUT",
    ("classify check", "plot"): "classify check model.npz IN --plot OUT",
    ("classify apply", "out"): "classify apply model.npz IN -o OUT",
    ("explore", "plot"): "explore IN --plot OUT",
    ("explore", "csv_file"): "explore IN --csv OUT",
}
FILES = {
    ("lm train", "out"): [
        "lm train IN -o OUT",
        "lm train t.txt IN -o OUT",
        "lm train t.txt --vocabulary IN -o OUT",
        "lm train t.txt --dev IN -o OUT",
    ],
    ("lm study", "html"): [
        "lm study IN --html OUT",
        "lm study t.txt --dev IN --html OUT",
        "lm study t.txt --test IN --html OUT",
    ],
    ("lm study", "plot"): ["lm study IN --plot OUT"],
    ("tagger cv", "html"): ["tagger cv hmm IN --html OUT"],
    ("tagger cv", "plot"): ["tagger cv hmm t.txt IN --plot OUT"],
    ("lm check", "html"): ["lm check IN t.txt --html OUT", "lm check lm.npz IN --html OUT"],
    ("tagger train", "out"): [
        "tagger train crf IN -o OUT",
        "tagger train crf t.txt --dev IN -o OUT",
        "tagger train crf t.txt --lexicon IN -o OUT",
    ],
    ("tagger check", "html"): ["tagger check IN t.txt --html OUT", "tagger check m.npz IN --html OUT"],
    ("tagger apply", "out"): ["tagger apply IN t.txt -o OUT", "tagger apply m.npz IN -o OUT"],
    ("parser train", "out"): ["parser train IN -o OUT", "parser train t.txt --dev IN -o OUT"],
    ("parser check", "html"): ["parser check IN t.txt --html OUT", "parser check m.npz IN --html OUT"],
    ("parser check", "plot"): ["parser check IN t.txt --plot OUT", "parser check m.npz IN --plot OUT"],
    ("parser apply", "out"): ["parser apply IN t.txt -o OUT", "parser apply m.npz IN -o OUT"],
    ("coref train", "out"): ["coref train IN -o OUT", "coref train d.conllu --dev IN -o OUT"],
    ("coref resolve", "out"): [
        "coref resolve IN d.conllu -o OUT",
        "coref resolve m.npz IN -o OUT",
        "coref resolve --raw IN -o OUT",
    ],
    ("coref check", "html"): ["coref check IN d.conllu --html OUT", "coref check m.npz IN --html OUT"],
    ("lm check", "plot"): ["lm check IN t.txt --plot OUT", "lm check lm.npz IN --plot OUT"],
    ("tagger check", "plot"): ["tagger check IN t.txt --plot OUT", "tagger check m.npz IN --plot OUT"],
    ("coref check", "plot"): ["coref check IN d.conllu --plot OUT", "coref check m.npz IN --plot OUT"],
    ("classify check", "plot"): ["classify check IN data/b.csv --plot OUT"],
    ("parse", "out"): ["parse IN -o OUT"],
    ("compare", "html"): ["compare data/b.csv IN --key id --html OUT"],
    ("count", "html"): ["count data/b.csv --prob q --labels IN --key id --html OUT"],
    ("count", "plot"): ["count data/b.csv --prob q --labels IN --key id --plot OUT"],
    ("count", "out"): ["count data/b.csv --prob q --labels IN --key id --to-label 5 -o OUT"],
    ("recalibrate apply", "out"): ["recalibrate apply IN data/b.csv --prob q -o OUT"],
    ("classify train", "out"): ["classify train logistic data/b.csv --dev IN -o OUT"],
    ("classify check", "html"): ["classify check IN data/b.csv --html OUT"],
    ("classify apply", "out"): ["classify apply IN data/b.csv -o OUT"],
    ("explore", "csv_file"): [f"explore data --{o} IN --csv OUT" for o in ("actors", "verbs", "metadata", "coref")],
    ("explore", "plot"): [f"explore data --{o} IN --plot OUT" for o in ("actors", "verbs", "metadata", "coref")],
}
FOLDERS = {  # outputs that are folders, or that other tests below try
    ("explore", "out"),
    ("explore", "tables"),
    ("split", "out"),
    ("page", "out"),
    ("reproduce", "out"),
}
WAYS = ("itself", "another spelling", "symbolic link", "hard link")
ENDINGS = {"plot": ".svg", "html": ".html", "marginals": ".parquet", "posteriors": ".csv", "csv_file": ".csv"}


def commands(group=None, before=""):
    for name, command in (group or application()).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} ")
        else:
            yield f"{before}{name}", command


def test_every_output_of_every_command_is_tried():
    outputs = set()
    for name, command in commands():
        for parameter in command.parameters:
            if re.search(
                r"\b(write|save|draw the|folder (for|of the results)|the file to|table to write)\b",
                parameter.help or "",
                re.I,
            ):
                outputs.add((name, parameter.name))
    assert len(outputs) > 20
    assert outputs == set(TABLES) | set(FILES) | FOLDERS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in ("a", "b"):
        (tmp_path / "data" / f"{name}.csv").write_text(ROWS)
    for name in ("t.txt", "d.conllu", "m.npz", "lm.npz", "model.npz", "in.txt"):
        (tmp_path / name).write_text(TEXT)
    (tmp_path / "saved.json").write_text(SAVED)
    return tmp_path


def contents(folder):
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refused(arguments, folder, capsys, said="it is the input"):
    before = contents(folder)
    assert run(arguments) == 2
    assert said in capsys.readouterr().err
    assert contents(folder) == before


def linked(way, file, out):
    if way == "itself":
        return file
    if way == "another spelling":
        return f"./data/../{file}"
    os.symlink(os.path.abspath(file), out) if way == "symbolic link" else os.link(file, out)
    return out


@pytest.mark.parametrize("named", ["data/a.csv", "data/*.csv", "data", "-"])
@pytest.mark.parametrize("case", TABLES, ids="-".join)
def test_tables_survive(folder, capsys, monkeypatch, case, named):
    if case[0] == "explore" and named in ("-", "data/*.csv"):
        pytest.skip("a corpus is a file or a folder")
    file = "data/a.csv" if named in ("data/a.csv", "-") else "data/b.csv"
    for way in WAYS:
        out = linked(way, file, f"{way}{ENDINGS.get(case[1], '.csv')}")
        with open("data/a.csv") as text:
            monkeypatch.setattr(sys, "stdin", text)
            was = os.dup(0)
            os.dup2(text.fileno(), 0)
            try:
                refused([{"IN": named, "OUT": out}.get(a, a) for a in TABLES[case].split()], folder, capsys)
            finally:
                os.dup2(was, 0)
                os.close(was)


@pytest.mark.parametrize("case", [(c, a) for c, all_ in FILES.items() for a in all_], ids=lambda c: c[1])
def test_other_inputs_survive(folder, capsys, case):
    for way in WAYS:
        out = linked(way, "in.txt", way + ENDINGS.get(case[0][1], ".npz"))
        refused([{"IN": "in.txt", "OUT": out}.get(a, a) for a in case[1].split()], folder, capsys)


@pytest.mark.parametrize(
    "arguments",
    [
        "parse texts -o texts/deep/b.conllu",
        "coref resolve --raw texts -o texts/deep/b.conllu",
        "explore texts --csv texts/deep/b.conllu",
        "coref resolve m.npz d.conllu -o d.conll",  # gold entities, read with d.conllu
        "coref check m.npz texts/deep --html texts/deep/b.conllu",
    ],
)
def test_files_inside_folders_and_beside_others_survive(folder, capsys, arguments):
    (folder / "texts" / "deep").mkdir(parents=True)
    (folder / "texts" / "a.txt").write_text("A text.")
    (folder / "texts" / "deep" / "b.conllu").write_text("1\tA\n")
    (folder / "d.conll").write_text("1\tA\t_\n")
    refused(arguments.split(), folder, capsys)


def test_parts_of_a_split_never_replace_its_input(folder, capsys):
    (folder / "data" / "train.csv").write_text(ROWS)
    refused(["split", "data/train.csv", "-o", "data"], folder, capsys)
    refused(["split", "data/*.csv", "-o", "data"], folder, capsys)
    (folder / "fold-1.csv").symlink_to("data/a.csv")
    refused(["split", "data", "--folds", "2", "-o", "."], folder, capsys)


def test_results_never_go_where_the_corpus_is(folder, capsys):
    (folder / "news" / "parts").mkdir(parents=True)
    (folder / "news" / "documents.csv").write_text(ROWS)
    (folder / "news" / "verbs.csv").write_text("lemma\nattack\n")
    (folder / "news" / "mine.csv").write_text("code,name,words\nX,Xland,Xland\n")
    (folder / "news" / "parts" / "a.csv").write_text(ROWS)
    for source in ("news/documents.csv", "news", "news/parts/a.csv", "news/parts"):
        refused(["explore", source, "--out", "news", "--again"], folder, capsys, "it holds the input")
        refused(["explore", source, "--tables", "news"], folder, capsys, "it holds the input")
    for option in ("--out", "--tables"):
        refused(["explore", "data/a.csv", "--verbs", "news/verbs.csv", option, "news"], folder, capsys, "holds")
        refused(["explore", "data/a.csv", "--actors", "news/mine.csv,stories", option, "news"], folder, capsys, "holds")
    refused(["explore", "data/a.csv", "--actors", "stories,news/mine.csv", "--csv", "news/mine.csv"], folder, capsys)
    # What is not a folder of results is not emptied.
    refused(["explore", "data/a.csv", "--out", "news", "--again"], folder, capsys, "is not empty")


def test_a_page_does_not_replace_the_results(folder, capsys):
    assert run(["explore", "--coref", "none", "--out", "results"]) == 0
    assert run(["page", "results", "-o", "results/events.html"]) == 0
    assert run(["page", "results", "-o", "results/events.html"]) == 0  # its own page it may
    for name in ("documents.parquet", "events.parquet", "chains.parquet", "pairs.parquet", "manifest.json"):
        refused(["page", "results", "-o", f"results/{name}"], folder, capsys)


def test_an_experiment_is_not_written_into_a_corpus(folder, capsys, monkeypatch):
    (folder / "crowd").mkdir()
    (folder / "crowd" / "index.html").write_text("a corpus")
    monkeypatch.setenv("HOWSURE_DATA", str(folder))
    refused(["reproduce", "synthetic", "--quick", "--out", "crowd/made"], folder, capsys, "it is in the corpus")


def test_in_python_too(folder):
    from howsure.verbs.recalibrate import apply_recalibrator

    with pytest.raises(InputError, match="it is the input"):
        apply_recalibrator("saved.json", "data/*.csv", "data/b.csv", prob="q")
    with pytest.raises(InputError, match="it is the input"):
        howsure.split("data/*.csv", folds=2, out="data/b.csv")


def test_the_two_commands_that_lost_files(folder):
    """As they were met, in processes of their own."""
    for arguments in ("recalibrate apply saved.json data/*.csv --prob q -o data/b.csv", "check data --html data/a.csv"):
        done = subprocess.run([sys.executable, "-m", "howsure", *arguments.split()], capture_output=True, text=True)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
    assert (folder / "data" / "a.csv").read_text() == (folder / "data" / "b.csv").read_text() == ROWS
