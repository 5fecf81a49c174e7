"""Bad inputs and the exact line that each of them gives, on arrays, files and Spark."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import howsure
from howsure.errors import HowsureError
from howsure.verbs.recalibrate import apply_recalibrator

N = 40


def table():
    rng = np.random.default_rng(37)
    q = np.round(rng.random(N), 4)
    y = (rng.random(N) < q).astype(np.int64)
    made = {"id": np.arange(N), "y": y, "q": q, "r": np.round(q**1.2, 4), "doc": [f"d{i // 4}" for i in range(N)]}
    made |= {"w": np.ones(N, np.int64), "tag": ["NN", "VB"] * (N // 2), "word": ["yes" if v else "no" for v in y]}
    made |= {"gold": ["a", "b"] * (N // 2), "pred": ["a"] * N, "pred2": ["b"] * N, "z": np.round(rng.normal(size=N), 3)}
    made |= {"p_a": q, "p_b": np.round(1 - q, 4), "s_1": q, "s_2": q + 0.1, "q10": q, "q90": q + 1.0}
    return {k: list(v) if isinstance(v, list) else v.tolist() for k, v in made.items()}


def changed(**cells):
    """The table with other values in some cells: column=(row, value)."""
    made = table()
    for name, (row, value) in cells.items():
        made[name][row] = value
    return made


def whole(**columns):
    """The table with other columns."""
    return table() | {k: [v] * N if not isinstance(v, list) else v for k, v in columns.items()}


def check(source, engine=None, **options):
    return howsure.check(source, **({"prob": "q", "true": "y"} | options), engine=engine)


def compare(source, engine=None, **options):
    return howsure.compare(source, **({"prob": "q,r", "true": "y"} | options), engine=engine)


def labels(source, engine=None, **options):
    return howsure.compare(source, **({"pred": "pred,pred2", "true": "gold", "samples": 20} | options), engine=engine)


def score(source, engine=None, **options):
    return howsure.score(source, **({"true": "gold", "pred": "pred"} | options), engine=engine)


def forecasts(source, engine=None, **options):
    return howsure.check_continuous(source, **({"true": "z"} | options))


def recalibrate(source, engine=None, **options):
    return howsure.recalibrate(source, **({"prob": "q", "true": "y"} | options))


def agree(source, engine=None, **options):
    return howsure.agree(source, **({"item": "id", "annotator": "doc", "label": "gold"} | options))


def split(source, engine=None, **options):
    return howsure.split(source, **options)


def joined(source, engine=None, second=None, **options):
    other = Path(source).with_name("second" + Path(source).suffix)
    written(other, table() if second is None else second)
    return howsure.compare([source, str(other)], **({"key": "id", "prob": "q", "true": "y"} | options), engine=engine)


def written(path, columns):
    made = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(made, path)
        return
    rows = zip(*(made[c].to_pylist() for c in made.column_names), strict=True)
    lines = [",".join(made.column_names), *(",".join("" if v is None else str(v) for v in r) for r in rows)]
    path.write_text("\n".join(lines) + "\n")


# Tables: name, (verb, rows, options). Each runs on CSV and on Parquet.
TABLES = {
    "q above 1": (check, changed(q=(17, 1.3)), {}),
    "q below 0": (check, changed(q=(17, -0.5)), {}),
    "q missing": (check, changed(q=(5, None)), {}),
    "q NaN": (check, changed(q=(5, float("nan"))), {}),
    "q text": (check, whole(q=["0.5"] * 20 + ["high"] * 20), {}),
    "q bad after where": (check, changed(q=(17, 1.3)), {"where": "id > 3"}),
    "y is 2": (check, changed(y=(9, 2)), {}),
    "y missing": (check, changed(y=(9, None)), {}),
    "y words": (check, table(), {"true": "word"}),
    "positive unknown": (check, table(), {"true": "word", "positive": "yess"}),
    "positive no number": (check, table(), {"positive": "one"}),
    "weight half": (check, changed(w=(3, 0.5)), {"sample_weight": "w"}),
    "weight negative": (check, changed(w=(3, -2)), {"sample_weight": "w", "groups": "doc"}),
    "weight missing": (check, changed(w=(3, None)), {"sample_weight": "w"}),
    "group missing": (check, changed(doc=(11, None)), {"groups": "doc"}),
    "group missing by": (check, changed(doc=(11, None)), {"groups": "doc", "by": "tag"}),
    "one group": (check, whole(doc="d"), {"groups": "doc"}),
    "no rows": (check, table(), {"where": "id > 1000"}),
    "where nonsense": (check, table(), {"where": "id >"}),
    "where two": (check, table(), {"where": "1; drop table t"}),
    "where unknown": (check, table(), {"where": "size > 3"}),
    "no column": (check, table(), {"prob": "qq"}),
    "no weight column": (check, table(), {"sample_weight": "weight"}),
    "same column": (check, table(), {"prob": "y"}),
    "two guesses": (check, whole(prob=0.5, score=0.5), {"prob": None}),
    "no guess": (check, {k: v for k, v in table().items() if k != "y"}, {"true": None}),
    "bins": (check, table(), {"bins": "wide:3"}),
    "level": (check, table(), {"confidence_level": 1.5}),
    "seed": (check, table(), {"rng": -1}),
    "curve": (check, table(), {"curve": "spline"}),
    "array by": (check, table(), {"by": [1, 2]}),
    "classes one": (check, table(), {"prob": "s*_1", "true": "gold"}),
    "classes sum": (check, changed(p_a=(6, 0.9), p_b=(6, 0.9)), {"prob": "p_*", "true": "gold"}),
    "classes missing": (check, changed(p_a=(6, None)), {"prob": "p_*", "true": "gold", "missing": "error"}),
    "classes label": (check, changed(gold=(6, "c")), {"prob": "p_*", "true": "gold"}),
    "classes no label": (check, changed(gold=(6, None)), {"prob": "p_*", "true": "gold", "missing": "error"}),
    "classes group": (check, changed(doc=(6, None)), {"prob": "p_*", "true": "gold", "groups": "doc"}),
    "classes one group": (check, whole(doc="d"), {"prob": "p_*", "true": "gold", "groups": "doc"}),
    "classes none": (check, table(), {"prob": "p_*", "true": "gold", "where": "id < 0"}),
    "compare one": (compare, table(), {"prob": "q"}),
    "compare twice": (compare, table(), {"prob": "q,q"}),
    "compare r above 1": (compare, changed(r=(7, 2.0)), {}),
    "compare r missing": (compare, changed(r=(7, None)), {"groups": "doc"}),
    "compare r text": (compare, whole(r=["0.5"] * 39 + ["x"]), {}),
    "compare none": (compare, table(), {"where": "id < 0"}),
    "compare positive": (compare, table(), {"true": "word", "positive": "oui"}),
    "compare group": (compare, changed(doc=(2, None)), {"groups": "doc", "by": "tag"}),
    "compare one group": (compare, whole(doc="d"), {"groups": "doc"}),
    "compare metric": (compare, table(), {"metric": "accuracy"}),
    "join key twice": (joined, changed(id=(3, 2)), {}),
    "join key missing": (joined, changed(id=(3, None)), {}),
    "join other items": (joined, changed(id=(3, 999)), {}),
    "join other label": (joined, table(), {"second": changed(y=(0, 1 - table()["y"][0]))}),
    "join bad q": (joined, table(), {"second": changed(q=(8, 1.5))}),
    "join group": (joined, changed(doc=(2, None)), {"groups": "doc"}),
    "join where": (joined, table(), {"where": "id > 3"}),
    "labels none shared": (labels, whole(pred="x"), {}),
    "labels twice": (labels, table(), {"pred": "pred,pred"}),
    "labels f1": (labels, table(), {"metric": "f1"}),
    "labels metric": (labels, table(), {"metric": "f2"}),
    "labels positive": (labels, table(), {"positive": "c"}),
    "labels group": (labels, changed(doc=(2, None)), {"groups": "doc"}),
    "labels one group": (labels, whole(doc="d"), {"groups": "doc"}),
    "labels prob": (labels, changed(q=(4, 1.4)), {"prob": "q,r"}),
    "labels probs": (labels, table(), {"prob": "q"}),
    "labels spans": (labels, table(), {"metric": "span-f1"}),
    "score true twice": (score, table(), {"pred": "gold"}),
    "score empty": (score, whole(pred=None), {}),
    "score none": (score, table(), {"where": "id < 0"}),
    "score group": (score, changed(doc=(2, None)), {"groups": "doc"}),
    "score one group": (score, whole(doc="d"), {"groups": "doc"}),
    "score no pred": (score, {k: v for k, v in table().items() if k != "pred"}, {"pred": None}),
    "score spans": (score, table(), {"spans": True}),
    "score tag missing": (score, changed(gold=(2, None)), {"spans": True, "groups": "doc"}),
    "draws missing": (forecasts, changed(s_1=(3, None)), {"draws": "s_*"}),
    "draws text": (forecasts, whole(s_1=["1"] * 39 + ["x"]), {"draws": "s_*"}),
    "draws infinite": (forecasts, changed(z=(3, float("inf"))), {"draws": "s_*"}),
    "draws one": (forecasts, table(), {"draws": "s_1"}),
    "draws unknown": (forecasts, table(), {"draws": "t_*"}),
    "quantiles cross": (forecasts, changed(q90=(3, -9.0)), {"quantiles": "q[0-9]*"}),
    "quantiles level": (forecasts, table(), {"quantiles": "p_*"}),
    "recalibrate few": (recalibrate, table(), {"where": "id < 5"}),
    "recalibrate one label": (recalibrate, whole(y=1), {}),
    "recalibrate one group": (recalibrate, whole(doc="d"), {"groups": "doc"}),
    "recalibrate none": (recalibrate, table(), {"where": "id < 0"}),
    "recalibrate method": (recalibrate, table(), {"method": "splines"}),
    "recalibrate q": (recalibrate, changed(q=(12, 1.01)), {}),
    "recalibrate classes": (recalibrate, changed(gold=(6, "c")), {"prob": "p_*", "true": "gold"}),
    "recalibrate classes sum": (recalibrate, changed(p_a=(6, 0.99), p_b=(6, 0.99)), {"prob": "p_*", "true": "gold"}),
    "recalibrate classes group": (
        recalibrate,
        changed(doc=(6, None)),
        {"prob": "p_*", "true": "gold", "groups": "doc"},
    ),
    "agree column": (agree, table(), {"label": "lable"}),
    "agree one": (agree, whole(doc="d"), {}),
    "agree none": (agree, table(), {"where": "id < 0"}),
    "agree gold": (agree, whole(id=["i"] * N), {"gold": "gold"}),
    "agree wide": (agree, table(), {"annotators": "gold", "annotator": None, "label": None, "item": None}),
    "split column": (split, table(), {"groups": "document"}),
    "split date": (split, table(), {"date": "word"}),
    "split parts": (split, table(), {"parts": "train=8,dev"}),
    "split few": (split, table(), {"folds": 50}),
}
# Those that run on Spark too.
SPARK = (
    "q above 1",
    "q text",
    "y missing",
    "weight half",
    "group missing by",
    "one group",
    "where nonsense",
    "no column",
)
SPARK += ("compare r missing", "compare positive", "join key twice", "join other items", "join bad q", "join group")
SPARK += ("labels group", "labels prob", "score group", "score none", "score spans", "classes sum")

y, q = table()["y"], table()["q"]
ARRAYS = {
    "lengths": lambda: howsure.check(y, q[1:]),
    "empty": lambda: howsure.check([], []),
    "q above 1": lambda: howsure.check(y, [*q[:17], 1.3, *q[18:]]),
    "q NaN": lambda: howsure.check(y, [*q[:17], None, *q[18:]]),
    "q text": lambda: howsure.check(y, ["a"] * N),
    "y is 2": lambda: howsure.check([2, *y[1:]], q),
    "y words": lambda: howsure.check(table()["word"], q),
    "positive": lambda: howsure.check(table()["word"], q, positive="y"),
    "weights": lambda: howsure.check(y, q, sample_weight=[0.5] * N),
    "group missing": lambda: howsure.check(y, q, groups=[None, *table()["doc"][1:]]),
    "one group": lambda: howsure.check(y, q, groups=["d"] * N),
    "mixed by": lambda: howsure.check(y, q, by=np.array([1, "a"] * (N // 2), object)),
    "two dimensions": lambda: howsure.check([y], q),
    "no table": lambda: howsure.check(y),
    "column of arrays": lambda: howsure.check(y, q, prob="q"),
    "logits NaN": lambda: howsure.check(y, [float("nan")] * N, logits=True),
    "classes number": lambda: howsure.check([5] * N, np.full((N, 3), 1 / 3)),
    "classes names": lambda: howsure.check(["a"] * N, np.full((N, 3), 1 / 3), classes=["b", "c", "d"]),
    "classes count": lambda: howsure.check(["a"] * N, np.full((N, 3), 1 / 3), classes=["a", "b"]),
    "classes sum": lambda: howsure.check([0] * N, np.full((N, 3), 0.5)),
    "classes group": lambda: howsure.check([0] * N, np.full((N, 3), 1 / 3), groups=[None] + ["d"] * (N - 1)),
    "engine": lambda: howsure.check("x.csv", engine="duck"),
    "no file": lambda: howsure.check("no-such-file.csv"),
    "compare one": lambda: howsure.compare(y, {"a": q}),
    "compare lengths": lambda: howsure.compare(y, {"a": q, "b": q[1:]}),
    "compare q": lambda: howsure.compare(y, {"a": q, "b": [*q[:3], -0.1, *q[4:]]}),
    "compare y": lambda: howsure.compare([2, *y[1:]], {"a": q, "b": q}),
    "compare group": lambda: howsure.compare(y, {"a": q, "b": q}, groups=[None, *table()["doc"][1:]]),
    "compare key": lambda: howsure.compare(["a.csv", "b.csv"], prob="q"),
    "labels one": lambda: howsure.compare(y, y_preds={"a": y}),
    "labels probs": lambda: howsure.compare(y, {"a": q}, y_preds={"a": y, "b": y}),
    "labels lengths": lambda: howsure.compare(y, y_preds={"a": y, "b": y[1:]}),
    "score alone": lambda: howsure.score(y),
    "score lengths": lambda: howsure.score(y, y[1:]),
    "score none shared": lambda: howsure.score(["a", "b"], ["c", "d"]),
    "score beta": lambda: howsure.score(y, y, beta=-1),
    "draws none": lambda: howsure.check_continuous(q),
    "draws and quantiles": lambda: howsure.check_continuous(q, np.zeros((N, 3)), quantiles=np.zeros((N, 3))),
    "draws one": lambda: howsure.check_continuous(q, np.zeros((N, 1))),
    "draws NaN": lambda: howsure.check_continuous(q, np.full((N, 3), np.nan)),
    "levels": lambda: howsure.check_continuous(q, quantiles=np.zeros((N, 3)), levels=[0.1, 0.5]),
    "no levels": lambda: howsure.check_continuous(q, quantiles=np.zeros((N, 3))),
    "crossing": lambda: howsure.check_continuous(q, quantiles=np.tile([1.0, 0.0], (N, 1)), levels=[0.1, 0.5]),
    "recalibrate few": lambda: howsure.recalibrate(y[:5], q[:5]),
    "recalibrate logits": lambda: howsure.recalibrate([0] * N, np.full((N, 3), 1 / 3), logits=True),
    "recalibrate label": lambda: howsure.recalibrate([0.5, *y[1:]], q),
    "recalibrate class": lambda: howsure.recalibrate([7] * N, np.full((N, 3), 1 / 3)),
    "agree number": lambda: howsure.agree(3),
    "agree lengths": lambda: howsure.agree({"a": [1, 2], "b": [1]}, annotators="a,b"),
    "split both": lambda: howsure.split(10, parts="a=1,b=1", folds=2),
    "split lengths": lambda: howsure.split(10, groups=["a"]),
    "split nothing": lambda: howsure.split(None),
    "apply nothing": lambda: apply_recalibrator("no-such.json", "x.csv", "y.csv"),
}


def line(run, folder):
    """The error's one line, or what happened instead."""
    try:
        made = run()
    except HowsureError as error:
        return f"{type(error).__name__}: {error}".replace(str(folder), "…")
    return f"no error: {type(made).__name__}"


def _one_type(column):
    """Whole numbers beside others as floats, for Arrow."""
    kinds = {type(v) for v in column if v is not None}
    return [None if v is None else float(v) for v in column] if len(kinds) > 1 else column


def lines(folder, engine):
    """The line of each bad input: "arrays", or tables as "csv", "parquet" or on "spark"."""
    if engine == "arrays":
        return {name: line(run, folder) for name, run in ARRAYS.items()}
    folder = Path(folder) / engine
    folder.mkdir()
    path = folder / ("rows.csv" if engine == "csv" else "rows.parquet")
    found = {}
    for name, (verb, columns, options) in TABLES.items():
        if engine != "spark" or name in SPARK:
            written(path, {k: _one_type(c) for k, c in columns.items()})
            wanted = "spark" if engine == "spark" else None
            found[name] = line(
                lambda verb=verb, options=options, wanted=wanted: verb(str(path), wanted, **options), folder
            )
    return found
