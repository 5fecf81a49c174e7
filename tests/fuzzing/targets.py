"""What is fuzzed: a command for every reader, on a small valid input that is made here."""

import io
import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N = 60
WORDS = ["the", "a", "blue", "red", "dog", "river", "bird", "child", "sees", "sings", "crosses", "finds"]


@dataclass(frozen=True)
class Target:
    """A command, the files that it reads, and the one that is mutated; {} is the folder."""

    name: str
    command: list[str]
    file: str
    beside: tuple[str, ...] = ()


def _table():
    rng = np.random.default_rng(0)
    q = rng.random(N).round(3)
    y = (rng.random(N) < q).astype(int)
    return {
        "id": [f"i{i}" for i in range(N)],
        "q": q.tolist(),
        "r": rng.random(N).round(3).tolist(),
        "y": y.tolist(),
        "gold": [("a", "b", "c")[i % 3] for i in range(N)],
        "pred": [("a", "b", "c")[(i + (i % 5 == 0)) % 3] for i in range(N)],
        "other": [("a", "b", "c")[(i + (i % 7 == 0)) % 3] for i in range(N)],
        "doc": [f"d{i // 6}" for i in range(N)],
        "day": [f"2024-{1 + i % 6:02d}-{1 + i % 27:02d}" for i in range(N)],
        "text": [" ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 7)) for i in range(N)],
    }


def _csv(table):
    lines = [",".join(table)] + [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    return ("\n".join(lines) + "\n").encode()


def _jsonl(table):
    rows = (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _arrow(table):
    sink = io.BytesIO()
    made_ = pa.table(table)
    with pa.ipc.new_file(sink, made_.schema) as file:
        file.write_table(made_, max_chunksize=20)
    return sink.getvalue()


def _parquet(table):
    sink = io.BytesIO()
    pq.write_table(pa.table(table), sink, row_group_size=25)
    return sink.getvalue()


TAGGED = (
    "".join(
        f"{w}\t{t}\n"
        for w, t in zip(["the", "blue", "dog", "sees", "a", "river"], ["DT", "JJ", "NN", "VB", "DT", "NN"], strict=True)
    )
    + "\n"
) * 8
CONLLU = "# newdoc id = d1\n" + "".join(
    f"# sent_id = s{i}\n# text = the dog sees it\n"
    "1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\tEntity=(e1-person\n2\tdog\tdog\tNOUN\tNN\tNumber=Sing\t3\tnsubj\t_\tEntity=e1)\n"
    "3\tsees\tsee\tVERB\tVBZ\t_\t0\troot\t_\t_\n4\tit\tit\tPRON\tPRP\t_\t3\tobj\t_\tEntity=(e1-person)\n\n"
    for i in range(4)
)
CONLL2012 = (
    "#begin document (d1); part 000\n"
    + "".join(
        "d1 0 0 the DT * - - - - * (1\nd1 0 1 dog NN * - - - - * 1)\nd1 0 2 sees VB * - - - - * -\nd1 0 3 it PRP * - - - - * (1)\n\n"
        for _ in range(3)
    )
    + "#end document\n"
)
COREF_JSONL = "".join(
    json.dumps(
        {
            "name": f"d{i}",
            "sentences": [["the", "dog", "sees", "it"], ["it", "sings"]],
            "clusters": [[[0, 2], [3, 4], [4, 5]]],
        }
    )
    + "\n"
    for i in range(3)
)
TEXT = "\n".join(" ".join(WORDS[(i * k) % len(WORDS)] for k in range(1, 8)) for i in range(40)) + "\n"
LM_EVAL = "".join(
    json.dumps(
        {
            "doc_id": i,
            "target": str(i % 2),
            "resps": [[["-1.2", "False"]], [["-0.4", "True"]]],
            "filtered_resps": [["-1.2", "False"], ["-0.4", "True"]],
            "acc": float(i % 2),
            "doc": {"question": f"q{i}"},
        }
    )
    + "\n"
    for i in range(30)
)
RATINGS = "item,annotator,label\n" + "".join(f"i{i},a{j},{'xyz'[(i * j) % 3]}\n" for i in range(15) for j in range(4))
ACTORS = "code,name,words\nZAN,Zandar,Zandar|Zandarian\nVAL,Valdoria,Valdoria|Valdorian\n"
STORIES = "id,date,text\n" + "".join(
    f's{i},2024-0{1 + i % 9}-11,"Zandar attacked Valdoria. They fled."\n' for i in range(4)
)


def content_of(name, folder):
    """A valid file of that name."""
    from howsure.cli.application import run

    table = _table()
    plain = {
        "t.csv": lambda: _csv(table),
        "t.jsonl": lambda: _jsonl(table),
        "t.arrow": lambda: _arrow(table),
        "t.parquet": lambda: _parquet(table),
        "other.csv": lambda: _csv({"id": table["id"], "q": table["r"], "y": table["y"]}),
        "plain.csv": lambda: _csv({k: table[k] for k in ("q", "y")}),
        "text.txt": TEXT.encode,
        "tagged.txt": TAGGED.encode,
        "d.conllu": CONLLU.encode,
        "d.conll": CONLL2012.encode,
        "d.jsonl": COREF_JSONL.encode,
        "samples.jsonl": LM_EVAL.encode,
        "ratings.csv": RATINGS.encode,
        "actors.csv": ACTORS.encode,
        "stories.csv": STORIES.encode,
    }
    if name in plain:
        return plain[name]()
    trained = {
        "cal.json": ["recalibrate", "fit", "t.csv", "--prob", "q", "--true", "y", "-o", name],
        "hmm.npz": ["tagger", "train", "hmm", "tagged.txt", "--pseudocount", "1", "-o", name],
        "crf.npz": ["tagger", "train", "crf", "tagged.txt", "--l2", "1", "-o", name],
        "lm.npz": ["lm", "train", "text.txt", "--order", "3", "-o", name],
        "lm.arpa": ["lm", "train", "text.txt", "--order", "2", "-o", name],
        "lr.npz": ["classify", "train", "naive-bayes", "t.csv", "--text", "text", "--true", "gold", "-o", name],
        "coref.npz": ["coref", "train", "d.conllu", "-o", name],
    }[name]
    for argument in trained:
        if argument in plain:
            (folder / argument).write_bytes(plain[argument]())
    here = [str(folder / a) if a in plain or a == name else a for a in trained]
    status = run(here)
    assert status == 0, (here, status)
    return (folder / name).read_bytes()


def made(target, folder):
    """The valid files of a target, by name."""
    return {name: content_of(name, folder) for name in (target.file, *target.beside)}


def _targets():
    check = ["--prob", "q", "--true", "y", "--json"]
    for kind in ("csv", "jsonl", "arrow", "parquet"):
        yield Target(f"check-{kind}", ["check", f"{{}}/t.{kind}", *check, "--by", "gold"], f"t.{kind}")
    yield Target("check-groups", ["check", "{}/t.csv", *check, "--groups", "doc"], "t.csv")
    yield Target("check-found", ["check", "{}/plain.csv", "--json"], "plain.csv")
    yield Target("check-log", ["check", "{}/samples.jsonl", "--from", "lm-eval", "--json"], "samples.jsonl")
    yield Target(
        "compare",
        ["compare", "{}/t.csv", "{}/other.csv", "--key", "id", "--prob", "q", "--true", "y", "--json"],
        "other.csv",
        ("t.csv",),
    )
    yield Target("check-draws", ["check", "{}/t.csv", "--draws", "[qr]", "--true", "y", "--json"], "t.csv")
    yield Target(
        "compare-labels",
        ["compare", "{}/t.csv", "--true", "gold", "--pred", "pred,other", "--groups", "doc", "--json"],
        "t.csv",
    )
    yield Target(
        "score", ["score", "{}/t.csv", "--true", "gold", "--pred", "pred", "--groups", "doc", "--json"], "t.csv"
    )
    yield Target("agree", ["agree", "{}/ratings.csv", "--json"], "ratings.csv")
    yield Target(
        "count",
        [
            "count",
            "{}/t.csv",
            "--prob",
            "q",
            "--true",
            "y",
            "--design",
            "random",
            "--date",
            "day",
            "--every",
            "month",
            "--json",
        ],
        "t.csv",
    )
    yield Target("split", ["split", "{}/t.csv", "--groups", "doc", "--out", "{}/parts", "--json"], "t.csv")
    yield Target(
        "recalibrate-fit",
        ["recalibrate", "fit", "{}/t.csv", "--prob", "q", "--true", "y", "-o", "{}/new.json", "--json"],
        "t.csv",
    )
    yield Target(
        "recalibrate-apply",
        ["recalibrate", "apply", "{}/cal.json", "{}/t.csv", "--prob", "q", "-o", "{}/out.csv", "--json"],
        "cal.json",
        ("t.csv",),
    )
    for kind in ("hmm", "crf"):
        yield Target(
            f"tagger-{kind}",
            ["tagger", "apply", f"{{}}/{kind}.npz", "{}/tagged.txt", "--json"],
            f"{kind}.npz",
            ("tagged.txt",),
        )
    yield Target(
        "tagger-text", ["tagger", "check", "{}/hmm.npz", "{}/tagged.txt", "--json"], "tagged.txt", ("hmm.npz",)
    )
    yield Target(
        "tagger-conllu",
        ["tagger", "train", "hmm", "{}/d.conllu", "--pseudocount", "1", "-o", "{}/new.npz", "--json"],
        "d.conllu",
    )
    yield Target(
        "classify",
        ["classify", "apply", "{}/lr.npz", "{}/t.csv", "--text", "text", "-o", "{}/out.csv", "--json"],
        "lr.npz",
        ("t.csv",),
    )
    yield Target("lm-model", ["lm", "prob", "{}/lm.npz", "the blue dog sees", "--json"], "lm.npz")
    yield Target("lm-arpa", ["lm", "prob", "{}/lm.arpa", "the blue dog sees", "--json"], "lm.arpa")
    yield Target("lm-text", ["lm", "train", "{}/text.txt", "--order", "2", "-o", "{}/new.npz", "--json"], "text.txt")
    for kind in ("conllu", "conll", "jsonl"):
        yield Target(f"coref-{kind}", ["coref", "score", f"{{}}/d.{kind}", f"{{}}/d.{kind}", "--json"], f"d.{kind}")
    yield Target(
        "coref-model",
        ["coref", "resolve", "{}/coref.npz", "{}/d.conllu", "-o", "{}/out.jsonl", "--json"],
        "coref.npz",
        ("d.conllu",),
    )
    yield Target(
        "explore-actors",
        [
            "explore",
            "{}/stories.csv",
            "--text",
            "text",
            "--date",
            "date",
            "--actors",
            "{}/actors.csv",
            "--coref",
            "none",
            "--json",
        ],
        "actors.csv",
        ("stories.csv",),
    )
    yield Target(
        "explore-table",
        ["explore", "{}/stories.csv", "--text", "text", "--date", "date", "--coref", "none", "--json"],
        "stories.csv",
    )


TARGETS = {target.name: target for target in _targets()}
