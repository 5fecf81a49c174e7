"""What is frozen: every option and label case of the verbs that read tables, on every engine and format.

A case is a verb, its options and the kinds of source it runs on. Columns are named like the verbs' arguments, so that
arrays and tables must say the same; what a source is called is frozen apart.
"""

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

import howsure
from howsure.verbs.check import error_like
from howsure.verbs.recalibrate import apply_recalibrator

N = 480
CLASSES = ("cat", "dog", "eel")
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def columns():
    """One table for all verbs."""
    rng = np.random.default_rng(19)
    doc = np.sort(rng.integers(0, 40, N))
    q = np.round(rng.beta(0.5, 0.6, N), 6)
    q[:4] = 0.0, 1.0, 1e-12, 1 - 2**-40
    shift = rng.normal(0, 0.6, 40)[doc]
    inside = np.clip(q, 1e-9, 1 - 1e-9)
    y = (rng.random(N) < 1 / (1 + (1 / inside - 1) * np.exp(-shift))).astype(np.int64)
    logit = np.log(inside) - np.log1p(-inside)
    p = rng.dirichlet([0.7, 0.5, 0.6], N)
    p = np.round(p, 4)
    p[:, 2] = 1 - p[:, 0] - p[:, 1]
    p = np.clip(p, 0, 1)
    kind = np.array([rng.choice(3, p=row / row.sum()) for row in 0.8 * p + 0.2 / 3])
    said = p.argmax(axis=1)
    other = np.where(rng.random(N) < 0.7, kind, rng.integers(0, 3, N))
    mean = rng.normal(size=N)
    x = rng.normal(mean, 1.2)
    draws = np.round(rng.normal(mean[:, None], 1.0, (N, 9)), 3)
    from scipy.special import ndtri

    tags = rng.choice(["O", "B-PER", "I-PER", "B-LOC"], N, p=[0.6, 0.15, 0.15, 0.1])
    guess = np.where(rng.random(N) < 0.8, tags, rng.choice(["O", "B-PER", "I-PER"], N))
    names = np.array(CLASSES)
    made = {
        "y_true": y,
        "y_prob": q,
        "groups": np.array([f"d{i}" for i in doc]),
        "by": rng.choice(["NN", "VB", "né", "a 'q' <b>"], N, p=[0.5, 0.3, 0.15, 0.05]),
        "sample_weight": rng.integers(0, 4, N),
        "second_prob": np.round(q**1.3, 6),
        "third_prob": np.round(0.15 + 0.7 * q, 6),
        "logit": np.round(logit, 6),
        "logit2": np.round(logit * 0.8, 6),
        "answer": np.where(y == 1, "yes", "no"),
        "truth": y == 1,
        "number": np.where(y == 1, 7, 3),
        "tiny": y.astype(np.int8),
        "single": q.astype(np.float32),
        "id": np.arange(N) * 7 % 997,
        "gold": names[kind],
        "said": names[said],
        "other": names[other],
        "said_prob": np.round(p.max(axis=1), 4),
        "other_prob": np.round(0.4 + 0.5 * rng.random(N), 4),
        "float_gold": kind.astype(np.float64),
        "int_said": said,
        "x": np.round(x, 3),
        "tag": tags,
        "guess": guess,
        "sentence": np.arange(N) // 6,
        "date": np.array([f"20{i // 200:02d}-{1 + i // 40 % 12:02d}-{1 + i % 28:02d}" for i in range(N)]),
    }
    made |= {f"p_{c}": p[:, i] for i, c in enumerate(CLASSES)}
    made |= {f"s_{i}": draws[:, i] for i in range(9)}
    made |= {f"q{round(100 * t):02d}": np.round(mean + ndtri(t), 3) for t in LEVELS}
    holes = made["said"].astype(object)
    holes[::37] = None
    return made | {"holes": holes}


def counted(made):
    """Items of which some are labelled: at random, by known probabilities, and documents whole."""
    rng = np.random.default_rng(37)
    inclusion = np.round(np.clip(0.1 + 0.8 * made["y_prob"] * (1 - made["y_prob"]) * 4, 0.0, 1.0), 6)
    chosen = {
        "at_random": rng.random(N) < 0.3,
        "by_design": rng.random(N) < inclusion,
        "documents": np.isin(made["groups"], [f"d{i}" for i in rng.choice(40, 14, replace=False)]),
    }
    labels = {
        name: [int(y) if c else None for y, c in zip(made["y_true"], c, strict=True)] for name, c in chosen.items()
    }
    kept = {name: made[name] for name in ("id", "y_prob", "groups", "by", "number", "date")}
    return pa.table(kept | labels | {"chance": inclusion})


def ratings():
    """Labels of four annotators, a row each."""
    rng = np.random.default_rng(23)
    truth = rng.integers(0, 3, 50)
    rows = {"item": [], "annotator": [], "label": [], "gold": [], "doc": []}
    for i in range(50):
        for a in rng.choice(4, rng.integers(1, 5), replace=False).tolist():
            right = rng.random() < (0.9, 0.8, 0.7, 0.4)[a]
            rows["item"].append(f"i{i:02d}")
            rows["annotator"].append("abcd"[a])
            rows["label"].append(CLASSES[truth[i] if right else rng.integers(0, 3)])
            rows["gold"].append(CLASSES[truth[i]] if i % 3 else None)
            rows["doc"].append(f"d{i % 8}")
    wide = {"unit": [f"u{i}" for i in range(50)], "doc": [f"d{i % 8}" for i in range(50)]}
    for a, skill in zip("abc", (0.9, 0.7, 0.6), strict=True):
        wide[a] = [str(truth[i]) if rng.random() < skill else str(rng.integers(0, 3)) for i in range(50)]
        wide[a][5 * "abc".index(a)] = None
    return {"long": rows, "wide": wide}


def nested(made, kind):
    """The table with the probabilities of all classes in one column, by the format's own types."""
    p = np.stack([made[f"p_{c}"] for c in CLASSES], axis=1)
    table = pa.table({"gold": made["gold"], "groups": made["groups"], "float_gold": made["float_gold"]})
    if kind == "list":
        column = pa.array(p.tolist())
    elif kind == "struct":
        column = pa.array([dict(zip(CLASSES, row, strict=True)) for row in p.tolist()])
    else:
        column = pa.array(
            [list(zip(CLASSES, row, strict=True)) for row in p.tolist()], pa.map_(pa.string(), pa.float64())
        )
    return table.append_column("probs", column)


class Sources:
    """One table in a folder in every format."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.columns = columns()
        self.table = pa.table(self.columns)
        self.write("rows", self.table)
        (self.folder / "parts").mkdir()
        for i in range(3):
            part = self.table.slice(i * 170, 170)
            pq.write_table(part, self.folder / "parts" / f"part-{i}.parquet", row_group_size=50)
        for kind in ("list", "map", "struct"):
            pq.write_table(nested(self.columns, kind), self.folder / f"{kind}.parquet")
        keys = np.random.default_rng(29).permutation(N)
        for i, q in enumerate(("y_prob", "second_prob", "third_prob")):
            kept = self.table.select(["id", "y_true", "groups", "by", "answer"]).append_column("q", self.table[q])
            self.write(f"model{i}", kept.take(pa.array(keys)) if i else kept)
        self.write("counted", counted(self.columns))
        for name, made in ratings().items():
            self.write(name, pa.table(made))

    def write(self, name, table, formats=("csv", "jsonl", "parquet", "arrow", "tsv.gz")):
        rows = table.to_pylist()
        for kind in formats:
            path = self.folder / f"{name}.{kind}"
            if kind == "parquet":
                pq.write_table(table, path, row_group_size=200)
            elif kind == "arrow":
                feather.write_feather(table, path, compression="uncompressed")
            elif kind == "jsonl":
                path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
            else:
                mark = "," if kind == "csv" else "\t"
                lines = [mark.join(table.column_names)]
                lines += [mark.join("" if v is None else str(v) for v in r.values()) for r in rows]
                text = ("\n".join(lines) + "\n").encode()
                path.write_bytes(text if kind == "csv" else gzip.compress(text, mtime=0))
        return self

    def path(self, name):
        return str(self.folder / name)


# Where a table can be: what is given to the verb, and the engine.
TABLES = {
    "frame": lambda s, name: (
        s.table.to_pandas() if name == "rows" else pq.read_table(s.path(f"{name}.parquet")),
        None,
    ),
    "csv": lambda s, name: (s.path(f"{name}.csv"), None),
    "tsv.gz": lambda s, name: (s.path(f"{name}.tsv.gz"), None),
    "jsonl": lambda s, name: (s.path(f"{name}.jsonl"), "files"),
    "arrow": lambda s, name: (s.path(f"{name}.arrow"), None),
    "parquet": lambda s, name: (s.path(f"{name}.parquet"), None),
    "parts": lambda s, name: (s.path("parts/*.parquet"), None),
    "memory": lambda s, name: (s.path(f"{name}.parquet"), "memory"),
    "bounded": lambda s, name: (s.path(f"{name}.parquet"), howsure.Engine("files", memory="300MB")),
    "spark": lambda s, name: (s.path("parts") if name == "rows" else s.path(f"{name}.parquet"), "spark"),
}
EVERYWHERE = ("arrays", "frame", "csv", "tsv.gz", "jsonl", "arrow", "parquet", "parts", "memory", "bounded")
IN_MEMORY = ("csv", "jsonl", "parquet")  # what takes no engine


def check(s, place, **options):
    if place == "arrays":
        prob, true = options.pop("prob", "y_prob"), options.pop("true", "y_true")
        roles = ("sample_weight", "groups", "by")
        options = {k: s.columns[v] if k in roles else v for k, v in options.items()}
        return howsure.check(s.columns[true], s.columns[prob], **options).to_dict()
    source, engine = TABLES[place](s, "rows")
    return howsure.check(source, **({"prob": "y_prob", "true": "y_true"} | options), engine=engine).to_dict()


def classes(s, place, **options):
    if place == "arrays":
        p = np.stack([s.columns[f"p_{c}"] for c in CLASSES], axis=1)
        if "groups" in options:
            options["groups"] = s.columns["groups"]
        return howsure.check(s.columns["gold"], p, classes=CLASSES, **options).to_dict()
    if place in ("list", "map", "struct"):
        more = {"classes": CLASSES} if place == "list" else {}
        return howsure.check(s.path(f"{place}.parquet"), prob="probs", true="gold", **more, **options).to_dict()
    source, _ = TABLES[place](s, "rows")
    return howsure.check(source, prob="p_*", true="gold", **options).to_dict()


def forecasts(s, place, **options):
    if place == "arrays":
        names = [c for c in s.columns if c.startswith("s_" if "draws" in options else "q")]
        x = np.stack([s.columns[c] for c in names], axis=1)
        if "draws" in options:
            return howsure.check_continuous(s.columns["x"], x).to_dict()
        return howsure.check_continuous(s.columns["x"], quantiles=x, levels=LEVELS).to_dict()
    return howsure.check_continuous(TABLES[place](s, "rows")[0], true="x", **options).to_dict()


def compare(s, place, **options):
    if place == "arrays":
        c, options = s.columns, dict(options)
        true = c[options.pop("true")]
        given = {}
        for key, name in (("prob", "y_probs"), ("pred", "y_preds")):
            if key in options:
                given[name] = {n: c[n] for n in options.pop(key).split(",")}
        if "y_preds" in given and "y_probs" in given:
            given["y_probs"] = dict(zip(given["y_preds"], given["y_probs"].values(), strict=True))
        roles = ("groups", "by", "sentence")
        options = {k: c[v] if k in roles else v for k, v in options.items()}
        return howsure.compare(true, **given, **options).to_dict()
    source, engine = TABLES[place](s, "rows")
    return howsure.compare(source, engine=engine, **options).to_dict()


def joined(s, place, models=2, **options):
    sources = [TABLES[place](s, f"model{i}") for i in range(models)]
    return howsure.compare([x for x, _ in sources], key="id", engine=sources[0][1], **options).to_dict()


def score(s, place, **options):
    if place == "arrays":
        c, options = s.columns, dict(options)
        true, pred = c[options.pop("true")], c[options.pop("pred")]
        roles = ("groups", "second", "sentence")
        return howsure.score(true, pred, **{k: c[v] if k in roles else v for k, v in options.items()}).to_dict()
    source, engine = TABLES[place](s, "rows")
    return howsure.score(source, engine=engine, **options).to_dict()


def recalibrate(s, place, **options):
    if place == "arrays":
        c, options = s.columns, dict(options)
        prob, true = options.pop("prob"), options.pop("true")
        p = np.stack([c[f"p_{k}"] for k in CLASSES], axis=1) if "*" in prob else c[prob]
        y = c["float_gold"] if "*" in prob else c[true]
        roles = {"groups": np.unique(c["groups"], return_inverse=True)[1]}
        made = howsure.recalibrate(y, p, **{k: roles.get(k, v) for k, v in options.items()})
    else:
        made = howsure.recalibrate(TABLES[place](s, "rows")[0], **options)
    found = made.to_dict()
    for key in ("classes", "prob", "scale"):  # arrays have no names
        found["recalibrator"].pop(key, None)
    return found


def applied(s, place, out="csv", **options):
    """The new columns, every 16th row, and how the rest of the file is written."""
    saved, target = s.path("saved.json"), s.path(f"out-{place}.{out}")
    fitted = howsure.recalibrate(s.table, method="temperature", **options)
    Path(saved).write_text(fitted.to_json())
    source, engine = TABLES[place](s, "rows")
    made = apply_recalibrator(saved, source, target, engine=engine)
    rows, names = made.n, list(made.columns)
    from howsure.engines.tables import Table

    with Table(target) as table:
        columns = pa.Table.from_batches(list(table.batches([f'"{n}"' for n in ["id", *names]])))
    order = np.argsort(columns.column(0).to_pylist(), kind="stable")[::16]
    found = {n: [columns.column(i + 1)[int(k)].as_py() for k in order] for i, n in enumerate(names)}
    return {"rows": rows, "names": names, "values": found}


def agree(s, place, **options):
    name = "wide" if "annotators" in options else "long"
    return howsure.agree(TABLES[place](s, name)[0], **options).to_dict()


def split(s, place, write=None, **options):
    if place == "arrays":
        given = {k: s.columns[v] if k in ("groups", "stratify") else v for k, v in options.items()}
        made = howsure.split(N, **given)
        return made.to_dict() | {"part": "".join(map(str, made.part.tolist()))}
    out = None if write is None else s.path(f"split-{place}-{write}")
    made = howsure.split(TABLES[place](s, "rows")[0], **options, out=out)
    found = made.to_dict() | {"part": "".join(map(str, made.part.tolist()))}
    if out is not None:
        found["files"] = {Path(f).name: _content(Path(f)) for f in made.files}
    return found


def _content(path):
    """Rows of a file and a digest of its text (of Parquet, of its values)."""
    import hashlib

    raw = path.read_bytes()
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        raw = json.dumps(table.to_pylist(), default=str).encode()
        return [table.num_rows, hashlib.sha256(raw).hexdigest()[:16]]
    raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
    return [raw.count(b"\n"), hashlib.sha256(raw).hexdigest()[:16]]


def log(s, place, kind):
    path = s.folder / f"samples_{kind}_2024-05-01T10-00-00.jsonl"
    rng = np.random.default_rng(31)
    with path.open("w") as file:
        for i in range(200):
            if kind == "lm-eval":
                record = {
                    "doc_id": i,
                    "target": i % 4,
                    "filtered_resps": [[round(float(x), 4) - 9.0, False] for x in rng.normal(size=4)],
                }
            else:
                record = {"correct": bool(rng.random() < 0.7), "confidence": f"{rng.integers(40, 100)}%"}
                if i % 3 == 0:
                    record = {"acc": 1.0, "logprobs": {"content": [{"logprob": -0.25}, {"logprob": -0.01 * (i % 7)}]}}
            file.write(json.dumps(record) + "\n")
    return howsure.check(howsure.Log(path, kind), by="task").to_dict()


def like(s, place, **options):
    return error_like("hle", TABLES[place](s, "rows")[0], prob="y_prob", true="y_true", **options).to_dict()


def count(s, place, **options):
    if place == "arrays":
        c = {
            n: v.to_numpy(zero_copy_only=False)
            for n, v in zip(counted(s.columns).column_names, counted(s.columns), strict=True)
        }
        given = {k: c[v] for k, v in options.items() if k == "groups" or v == "chance"}
        return howsure.count(c[options.pop("true")], c["y_prob"], **options | given).to_dict()
    source, engine = TABLES[place](s, "counted")
    return howsure.count(source, prob="y_prob", **options, engine=engine).to_dict()


def to_label(s, place, **options):
    source, engine = TABLES[place](s, "counted")
    made = howsure.to_label(source, prob="y_prob", **options, engine=engine)
    return made.to_dict() | {
        "drawn": sorted(made.rows["id"].to_pylist()),
        "inclusion": made.rows["inclusion"].to_pylist(),
    }


WITHOUT_ARRAYS = EVERYWHERE[1:]
COUNTED = ("csv", "jsonl", "parquet", "memory", "bounded")
TABLE_CLASSES = ("arrays", "frame", "csv", "jsonl", "parquet", "parts")

# Cases that run on Spark too: each takes seconds there.
SPARK = (
    "check",
    "check by",
    "check weights groups by",
    "check where",
    "check positive no",
    "check small types",
    "check logits",
    "compare groups by",
    "compare joined groups by",
    "compare labels groups",
    "compare labels probs groups",
    "score groups second",
    "apply parquet",
    "count design",
    "count documents",
    "count dates by",
    "to_label more",
)

CASES = {
    "check": (check, EVERYWHERE, {}),
    "check groups": (check, EVERYWHERE, {"groups": "groups"}),
    "check by": (check, EVERYWHERE, {"by": "by"}),
    "check groups by": (check, EVERYWHERE, {"groups": "groups", "by": "by"}),
    "check weights": (check, EVERYWHERE, {"sample_weight": "sample_weight"}),
    "check weights groups by": (check, EVERYWHERE, {"sample_weight": "sample_weight", "groups": "groups", "by": "by"}),
    "check weights by": (check, ("arrays", "csv", "parquet"), {"sample_weight": "sample_weight", "by": "by"}),
    "check where": (check, WITHOUT_ARRAYS, {"where": "y_prob > 0.1 and \"by\" <> 'VB'", "groups": "groups"}),
    "check positive": (check, EVERYWHERE, {"true": "answer", "positive": "yes"}),
    "check positive no": (check, ("arrays", "csv", "jsonl", "parquet"), {"true": "answer", "positive": "no"}),
    "check positive number": (check, ("arrays", "csv", "parquet"), {"true": "number", "positive": 7}),
    "check booleans": (check, EVERYWHERE, {"true": "truth"}),
    "check small types": (check, ("arrays", "parquet", "memory", "arrow"), {"true": "tiny", "prob": "single"}),
    "check logits": (check, EVERYWHERE, {"prob": "logit", "logits": True, "groups": "groups"}),
    "check bins": (check, ("arrays", "csv", "parquet"), {"bins": 60, "groups": "groups", "by": "by"}),
    "check width": (check, ("arrays", "csv", "parquet"), {"bins": "width:7", "by": "by"}),
    "check isotonic": (check, ("arrays", "csv", "parquet"), {"bins": "isotonic", "groups": "groups"}),
    "check curve kernel": (check, ("arrays", "parquet"), {"curve": "kernel:logit", "groups": "groups"}),
    "check curve gp": (check, ("arrays", "parquet"), {"curve": "gp"}),
    "check level": (check, ("arrays", "parquet"), {"confidence_level": 0.8, "rng": 5, "groups": "groups"}),
    "check by number": (check, ("csv", "parquet", "memory"), {"by": "number", "groups": "sentence"}),
    "check like": (like, ("csv", "parquet"), {}),
    "check log lm-eval": (log, ("jsonl",), {"kind": "lm-eval"}),
    "check log llm": (log, ("jsonl",), {"kind": "llm"}),
    "classes": (classes, (*TABLE_CLASSES, "list", "map", "struct"), {}),
    "classes groups": (classes, (*TABLE_CLASSES, "list"), {"groups": "groups", "bins": 40}),
    "classes where": (classes, ("csv", "parquet"), {"where": "sentence < 50", "normalise": True}),
    "draws": (forecasts, ("arrays", "frame", "csv", "jsonl", "parquet", "parts"), {"draws": "s_*"}),
    "quantiles": (forecasts, ("arrays", "frame", "csv", "jsonl", "parquet", "parts"), {"quantiles": "q[0-9]*"}),
    "draws where": (forecasts, ("csv", "parquet"), {"draws": "s_*", "where": "sentence < 50"}),
    "compare": (compare, EVERYWHERE, {"true": "y_true", "prob": "y_prob,second_prob,third_prob"}),
    "compare groups": (compare, EVERYWHERE, {"true": "y_true", "prob": "y_prob,second_prob", "groups": "groups"}),
    "compare by": (compare, EVERYWHERE, {"true": "y_true", "prob": "y_prob,second_prob", "by": "by"}),
    "compare groups by": (
        compare,
        EVERYWHERE,
        {"true": "y_true", "prob": "y_prob,third_prob", "groups": "groups", "by": "by"},
    ),
    "compare positive where": (
        compare,
        ("csv", "parquet"),
        {"true": "answer", "positive": "yes", "prob": "y_prob,second_prob", "where": "sentence < 60"},
    ),
    "compare logits": (
        compare,
        ("arrays", "csv", "parquet"),
        {"true": "y_true", "prob": "logit,logit2", "logits": True, "groups": "groups"},
    ),
    "compare joined": (joined, ("csv", "jsonl", "parquet", "memory"), {"true": "y_true", "models": 3}),
    "compare joined groups by": (
        joined,
        ("csv", "parquet", "bounded"),
        {"true": "answer", "positive": "yes", "groups": "groups", "by": "by"},
    ),
    "compare labels": (compare, EVERYWHERE, {"true": "gold", "pred": "said,other", "samples": 300}),
    "compare labels groups": (
        compare,
        EVERYWHERE,
        {"true": "gold", "pred": "said,other", "metric": "macro-f1", "groups": "groups", "samples": 300},
    ),
    "compare labels f1": (
        compare,
        ("arrays", "csv"),
        {"true": "gold", "pred": "said,other,holes", "positive": "dog", "samples": 200, "planned": 2000},
    ),
    "compare labels spans": (
        compare,
        ("arrays", "csv", "parquet"),
        {"true": "tag", "pred": "guess,tag", "metric": "span-f1", "sentence": "sentence", "samples": 200}
        | {"pred": "guess,said"},
    ),
    "compare labels sentence": (
        compare,
        ("arrays", "csv"),
        {"true": "gold", "pred": "said,other", "sentence": "sentence", "samples": 200},
    ),
    "compare labels probs": (
        compare,
        ("arrays", "csv", "parquet", "memory"),
        {"true": "gold", "pred": "said,other", "prob": "said_prob,other_prob", "samples": 200},
    ),
    "compare labels probs groups": (
        compare,
        ("arrays", "csv", "parquet"),
        {
            "true": "gold",
            "pred": "said,holes",
            "prob": "said_prob,other_prob",
            "positive": "cat",
            "groups": "groups",
            "samples": 200,
        },
    ),
    "score": (score, EVERYWHERE, {"true": "gold", "pred": "said"}),
    "score groups second": (
        score,
        WITHOUT_ARRAYS,
        {"true": "gold", "pred": "holes", "groups": "groups", "second": "other"},
    ),
    "score numbers": (score, ("arrays", "csv", "parquet"), {"true": "float_gold", "pred": "int_said", "beta": 2.0}),
    "score where": (score, ("csv", "parquet"), {"true": "gold", "pred": "said", "where": "sentence < 50"}),
    "score spans": (
        score,
        ("arrays", "csv", "jsonl", "parquet"),
        {"true": "tag", "pred": "guess", "spans": True, "sentence": "sentence", "groups": "groups"},
    ),
    "score spans second": (
        score,
        ("arrays", "csv"),
        {"true": "tag", "pred": "guess", "spans": True, "groups": "groups", "second": "tag"},
    ),
    "recalibrate": (recalibrate, ("arrays", "frame", *IN_MEMORY), {"true": "y_true", "prob": "y_prob"}),
    "recalibrate groups": (
        recalibrate,
        ("frame", *IN_MEMORY),
        {"true": "answer", "prob": "y_prob", "positive": "yes", "groups": "groups", "method": "beta"},
    ),
    "recalibrate logits": (
        recalibrate,
        ("arrays", *IN_MEMORY),
        {"true": "y_true", "prob": "logit", "logits": True, "method": "platt"},
    ),
    "recalibrate classes": (recalibrate, ("arrays", "csv"), {"true": "gold", "prob": "p_*"}),
    "recalibrate classes groups": (
        recalibrate,
        ("csv", "parquet"),
        {"true": "gold", "prob": "p_*", "groups": "groups", "method": "vector", "where": "sentence < 60"},
    ),
    "apply csv": (applied, ("csv", "parquet", "jsonl", "memory"), {"true": "y_true", "prob": "y_prob"}),
    "apply jsonl": (
        applied,
        ("jsonl", "frame", "tsv.gz"),
        {"true": "y_true", "prob": "logit", "logits": True, "out": "jsonl.gz"},
    ),
    "apply parquet": (applied, ("csv", "parquet"), {"true": "gold", "prob": "p_*", "out": "parquet"}),
    "agree": (agree, ("frame", "csv", "jsonl", "parquet"), {}),
    "agree gold groups": (
        agree,
        ("frame", "csv", "parquet"),
        {"gold": "gold", "groups": "doc", "where": "annotator <> 'x'"},
    ),
    "agree wide": (agree, ("frame", "csv", "parquet"), {"annotators": "a,b,c", "item": "unit", "groups": "doc"}),
    "split": (split, ("arrays", "frame", *IN_MEMORY), {}),
    "split groups": (split, ("arrays", *IN_MEMORY), {"groups": "groups", "stratify": "gold", "rng": 3}),
    "split second": (split, ("arrays", *IN_MEMORY), {"groups": "groups", "parts": "a=2,b=1"}),
    "split date": (split, ("csv",), {"date": "date", "groups": "groups", "parts": "a=2,b=1", "write": "parts"}),
    "split date jsonl": (split, ("jsonl",), {"date": "date", "groups": "groups", "parts": "a=2,b=1", "write": "parts"}),
    "split date parquet": (split, ("parquet",), {"date": "date", "parts": "a=2,b=1", "write": "parts"}),
    "split folds": (split, ("csv",), {"folds": 3, "groups": "groups", "write": "folds.csv"}),
    "split folds jsonl": (split, ("jsonl",), {"folds": 4, "stratify": "gold", "write": "folds.jsonl"}),
    "split folds parquet": (split, ("parquet",), {"folds": 4, "write": "folds.parquet"}),
    "count": (count, EVERYWHERE[:-3], {"true": "at_random", "design": "random"}),
    "count design": (count, ("arrays", *COUNTED), {"true": "by_design", "design": "chance"}),
    "count documents": (count, ("arrays", *COUNTED), {"true": "documents", "design": "random", "groups": "groups"}),
    "count dates": (count, COUNTED, {"true": "at_random", "design": "random", "date": "date", "every": "quarter"}),
    "count dates by": (
        count,
        COUNTED,
        {
            "true": "at_random",
            "design": "random",
            "date": "date",
            "every": "year",
            "by": "by",
            "where": "y_prob < 0.97",
        },
    ),
    "count formula": (
        count,
        COUNTED,
        {"true": "at_random", "design": "random", "date": "date", "formula": "y ~ month + by", "until": 0.03},
    ),
    "to_label": (to_label, COUNTED, {"n": 60}),
    "to_label more": (to_label, COUNTED, {"n": 40, "true": "by_design", "rng": 3, "key": "id"}),
    "to_label documents": (to_label, COUNTED, {"n": 12, "groups": "groups"}),
}
