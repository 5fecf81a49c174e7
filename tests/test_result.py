"""Every result in every form: plain data, data frame, Markdown, LaTeX, text, notebook, files."""

import importlib
import inspect
import json
import pkgutil
import re
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import howsure
from howsure._result import Record, Result, csv_text, harmless, plain

LINES = ["the fox saw a hen", "the hen saw the fox", "a fox met the hen", "the old fox left"] * 8


def rows(n=120):
    rng = np.random.default_rng(3)
    q = rng.beta(0.7, 0.7, n)
    gold = rng.choice(["a", "b", "c"], n)
    import pyarrow as pa

    columns = {
        "y": (rng.random(n) < q).astype(int),
        "first": q,
        "second": 0.8 * q + 0.1,
        "gold": gold,
        "one": np.where(rng.random(n) < 0.8, gold, "a"),
        "two": np.where(rng.random(n) < 0.6, gold, "b"),
        "tag": rng.choice(["NN_1", "VB"], n),
    }
    return pa.table(columns)


def tagged(path, n, seed):
    rng = np.random.default_rng(seed)
    words = {"D": ["the", "a"], "N": ["dog", "walk"], "V": ["walk", "sees"]}
    tags = [[str(t) for t in rng.choice(list(words), int(rng.integers(2, 6)))] for _ in range(n)]
    path.write_text("\n".join("".join(f"{rng.choice(words[t])}\t{t}\n" for t in s) for s in tags))
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("results")
    (made / "train.txt").write_text("\n".join(LINES) + "\n")
    tagged(made / "train.tsv", 30, 1), tagged(made / "test.tsv", 30, 2)
    return made


def language_model(folder, order=2):
    return howsure.lm.train(folder / "train.txt", order=order, smoothing="witten-bell")


def classifier(folder):
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(5)
    words = {"x": ["good", "fine"], "y": ["bad", "poor"]}
    labels = [str(k) for k in rng.choice(["x", "y"], 60)]
    texts = [" ".join(rng.choice(words[k if rng.random() < 0.8 else "x"], 3)) for k in labels]
    table = folder / "texts.tsv"
    table.write_text("text\tlabel\n" + "".join(f"{t}\t{k}\n" for t, k in zip(texts, labels, strict=True)))
    model = howsure.train_classifier(str(table), text="text", true="label", strength=1.0)
    return howsure.check_classifier(model, str(table), text="text", true="label")


def stories():
    sys.path.insert(0, str(Path(__file__).parent / "models"))
    from coref_stories import story

    return [story(seed) for seed in range(4)]


def labelled(folder):
    from howsure.verbs.label import Labelling

    for who in ("mia", "tom"):
        session = Labelling(exploration(folder).folder, limit=12, out=folder / "answers.csv", annotator=who)
        for i, item in enumerate(session.answers.items):
            session.answers.answer(item, i % 2 == 0 or who == "tom")
    return session.result()


def copied():
    from howsure.verbs.check import error_like

    return error_like("hle", rows(400), prob="first", true="y")


def classifier_training(folder):
    classifier(folder)
    return howsure.train_classifier(str(folder / "texts.tsv"), text="text", true="label", strength=1.0)


def ranking(folder):
    from howsure.verbs.results import top

    exploration(folder)
    return top(folder / "explored")


def exploration(folder):
    return howsure.explore(coref="simple", out=str(folder / "explored"))


def cross_validation(folder):
    from howsure.verbs.tagger import cv_tagger

    return cv_tagger(str(folder / "train.tsv"), method="hmm", pseudocount=1.0, folds=2)


def ratings():
    rng = np.random.default_rng(4)
    truth = ["xyz"[i % 3] for i in range(40)]
    given = {w: [t if rng.random() < 0.8 else "x" for t in truth] for w in ("ann", "bob", "cy")}
    import pyarrow as pa

    return howsure.agree(pa.table({**given, "gold": truth}), annotators="ann,bob,cy", gold="gold")


def classes():
    rng = np.random.default_rng(6)
    p = rng.dirichlet([1, 1, 1], 90)
    return howsure.check(rng.integers(0, 3, 90), p)


def counts():
    import pyarrow as pa

    rng = np.random.default_rng(8)
    q = rng.beta(0.5, 2, 400)
    y = np.where(rng.random(400) < 0.3, rng.random(400) < q, np.nan)
    day = np.datetime64("2024-01-01") + rng.integers(0, 120, 400)
    frame = pa.table({"q": q, "y": pa.array(y, from_pandas=True), "day": day, "team": rng.choice(["a|b", "c"], 400)})
    return howsure.count(
        frame, prob="q", true="y", design="random", date="day", by="team", formula="y ~ month + team", until=0.01
    )


def reproduction():
    from howsure.experiments.findings import Finding
    from howsure.experiments.result import Reproduction

    finding = Finding(source="§1", claim="It holds", verdict="confirmed", said="It is.", numbers={})
    return Reproduction("tiny", "A claim", "that it holds", {}, (finding,))


def saved(folder):
    howsure.check(rows(), prob="first", true="y", by="tag").save(folder / "check.json")
    return howsure.load(folder / "check.json")


def forecast():
    rng = np.random.default_rng(7)
    return howsure.check_continuous(rng.normal(size=60), rng.normal(size=(60, 50)))


def trees(folder):
    path = folder / "trees.mrg"
    path.write_text(
        "(S (NP (DT the) (NN fox)) (VP (VB saw) (NP (DT a) (NN hen))))\n(S (NP (NN hen)) (VP (VB saw)))\n" * 9
    )
    return path


MAKERS = {
    "Calibration": lambda f: howsure.check(rows(), prob="first", true="y", by="tag"),
    "MulticlassCalibration": lambda f: classes(),
    "ContinuousCalibration": lambda f: forecast(),
    "Counts": lambda f: counts(),
    "Drawn": lambda f: howsure.to_label(rows(), 20, prob="first"),
    "Comparison": lambda f: howsure.compare(rows(), prob="first,second", true="y", by="tag"),
    "Abstention": lambda f: howsure.abstain(rows(2000), prob="first", true="y", risk=0.3, by="tag"),
    "SourceCalibrations": lambda f: howsure.check(howsure.Log(Path(__file__).parent / "engines/log_files/promptfoo")),
    "Contest": lambda f: howsure.compare(rows(), pred="one,two", true="gold", samples=200),
    "Score": lambda f: howsure.score(rows(), true="gold", pred="one", second="two"),
    "Benchmark": lambda f: howsure.score(howsure.Log(Path(__file__).parent / "engines/log_files/lm-eval")),
    "Agreement": lambda f: ratings(),
    "Recalibration": lambda f: howsure.recalibrate(rows(), prob="first", true="y", method="platt"),
    "Split": lambda f: howsure.split(rows(), stratify="gold"),
    "RankedTexts": lambda f: howsure.lm.rank(language_model(f), ["the fox saw a hen", "the fax saw a hen"]),
    "Evaluation": lambda f: howsure.lm.perplexity(language_model(f), f / "train.txt"),
    "ModelComparison": lambda f: howsure.lm.compare(language_model(f), language_model(f, 1), f / "train.txt"),
    "SentenceProbabilities": lambda f: howsure.lm.prob(language_model(f), ["the dog", "a cat"]),
    "NextWords": lambda f: howsure.lm.next(language_model(f), "the"),
    "SmoothingStudy": lambda f: howsure.lm.study(f / "train.txt", order=2, smoothings=["laplace", "witten-bell"]),
    "CrossValidation": cross_validation,
    "LanguageCalibration": lambda f: howsure.lm.check(language_model(f), f / "train.txt"),
    "TaggerTraining": lambda f: howsure.train_tagger(str(f / "train.tsv"), method="hmm", dev=str(f / "test.tsv")),
    "TaggerCheck": lambda f: howsure.check_tagger(
        howsure.train_tagger(str(f / "train.tsv"), method="hmm", pseudocount=1.0), str(f / "test.tsv")
    ),
    "ParserTraining": lambda f: howsure.train_parser(trees(f)),
    "ParserCheck": lambda f: howsure.check_parser(howsure.train_parser(trees(f)), trees(f), groups="sentence"),
    "CopiedError": lambda f: copied(),
    "PaperCalibration": lambda f: howsure.check_paper(rows(), prob="first", true="y", bin_size=20),
    "ScoreDecomposition": lambda f: howsure.score_decomposition([0, 1, 1], [0.2, 0.4, 0.9]),
    "ClassifierCheck": classifier,
    "ClassifierTraining": classifier_training,
    "LanguageTraining": lambda f: language_model(f),
    "Ranking": ranking,
    "CoreferenceScores": lambda f: howsure.score_coref(stories(), stories(), samples=20),
    "CorefTraining": lambda f: howsure.train_coref(stories(), epochs=1),
    "CorefCheck": lambda f: howsure.check_coref(
        howsure.train_coref(stories(), epochs=1).model, stories(), sample_sizes=[5]
    ),
    "Exploration": exploration,
    "Labelled": labelled,
    "Diagnosis": lambda f: howsure.doctor(),
    "Reproduction": lambda f: reproduction(),
    "Applied": lambda f: howsure.apply_tagger(
        howsure.train_tagger(str(f / "train.tsv"), method="hmm", pseudocount=1.0), str(f / "test.tsv")
    ),
    "SavedResult": saved,
    "ParsedTexts": lambda f: importlib.import_module("howsure.english.result").ParsedTexts(tuple(stories()), "none"),
}


def result_classes(base=Result):
    for module in pkgutil.walk_packages(howsure.__path__, "howsure."):
        if "__main__" not in module.name and not module.name.startswith("howsure.experiments."):
            importlib.import_module(module.name)
    importlib.import_module("howsure.experiments.result")
    found, queue = set(), [base]
    while queue:
        for sub in queue.pop().__subclasses__():
            found.add(sub)
            queue.append(sub)
    return {c for c in found if "__dataclass_fields__" in vars(c)}  # not those that only others are made of


@pytest.fixture(scope="module")
def made(folder):
    kept = {}

    def get(name):
        if name not in kept:
            kept[name] = MAKERS[name](folder)
        return kept[name]

    return get


def test_every_result_class_is_tested():
    found = {(c.__module__, c.__name__) for c in result_classes()}
    assert sorted(name for _, name in found) == sorted(MAKERS)  # each once: no two classes of one name


def test_every_class_says_that_it_draws_on_axes():
    """So does its page on the site."""
    for at in result_classes():
        assert list(inspect.signature(at.plot).parameters)[:2] == ["self", "ax"], at
        assert inspect.getdoc(at.plot).startswith("Draw"), at


# Why some have no picture; all others draw what their verdict is about (a column of the main table, or layers of their own).
UNDRAWN = {
    "TaggerTraining": "gives a model",
    "ParserTraining": "gives a model",
    "ClassifierTraining": "gives a model",
    "LanguageTraining": "gives a model",
    "CorefTraining": "gives a model",
    "CopiedError": "one number",
    "Diagnosis": "lists what is installed",
    "Reproduction": "files of their own",
    "Applied": "each token",
    "ParsedTexts": "parsed text",
}


@pytest.mark.parametrize("name", UNDRAWN)
def test_why_there_is_no_picture(name, made, tmp_path):
    why = f"there is no picture of a {name}: .*{UNDRAWN[name]}"
    for draw in (made(name).figure, made(name).plot, lambda: made(name).save(tmp_path / "saved.svg")):
        with pytest.raises(howsure.InputError, match=why):
            draw()
    assert not (tmp_path / "saved.svg").exists()
    made(name).save(tmp_path / "saved.json")
    again = howsure.load(tmp_path / "saved.json")
    for draw in (again.figure, again.plot):
        with pytest.raises(howsure.InputError, match=f"no picture of a {name}"):
            draw()


@pytest.mark.parametrize(
    ("name", "drawn"),
    {"Score": "F1", "CoreferenceScores": "F1", "Evaluation": "perplexity", "RankedTexts": "prob"}.items(),
)
def test_pictures_show_what_the_verdict_is_about(name, drawn, made):
    from howsure.plots.tables import table_points

    assert table_points(made(name))[0] == drawn


def test_layers_on_axes_have_the_numbers_of_the_picture(made):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    try:
        paper = made("PaperCalibration")
        ax = paper.plot()
        [curve] = [line for line in ax.get_lines() if len(line.get_xdata()) == len(paper.bins.to_dict()) > 2][:1]
        assert list(curve.get_ydata()) == [b["mean_true"] for b in paper.bins.to_dict()]
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("prediction strength", "empirical frequency")
        folds = made("CrossValidation").plot()
        assert [t.get_text() for t in folds.get_legend().get_texts()] == ["HMM", "baseline"]
        assert made("SmoothingStudy").plot().get_yscale() == "log"
        wrong = made("Abstention").plot().get_lines()[0].get_ydata()
        assert list(wrong) == [1 - point["accuracy"] for point in made("Abstention").risk_coverage.curve]
    finally:
        pyplot.close("all")


@pytest.mark.parametrize("name", MAKERS)
def test_every_result_in_every_form(name, made, tmp_path):
    result = made(name)
    assert type(result).__name__ == name
    assert result.verdict
    frame = result.to_pandas()
    table = result.table()
    assert len(frame) == len(table) > 0
    markdown = result.to_markdown().splitlines()
    assert len(markdown) == len(table) + 2
    assert len({line.replace("\\|", "").count("|") for line in markdown}) == 1
    latex = result.to_latex()
    assert latex.count(r"\\") == len(table) + 1
    assert latex.count("{tabular}") == 2
    assert max(map(len, result.to_text().splitlines())) <= 80
    assert result.verdict.split()[0] in result.to_text()
    assert result.verdict.split(" ")[0].replace("&", "&amp;")[:5] in result._repr_html_()
    for ending in ("json", "csv", "md", "tex", "txt"):
        result.save(tmp_path / f"saved.{ending}")
    saved = json.loads((tmp_path / "saved.json").read_text())
    assert saved.pop("howsure")["result"] == ("Calibration" if name == "SavedResult" else name)
    assert saved == json.loads(json.dumps(result.to_dict()))
    assert len((tmp_path / "saved.csv").read_text().splitlines()) == len(table) + 1
    with pytest.raises(howsure.InputError, match=r"saved as \.json.* got '\.xyz'"):
        result.save(tmp_path / "saved.xyz")


@pytest.mark.parametrize("name", MAKERS)
def test_a_saved_result_opens_with_all_its_forms(name, made, tmp_path):
    result = made(name)
    result.save(tmp_path / "saved.json")
    again = howsure.load(tmp_path / "saved.json")
    assert again.verdict == result.verdict
    assert again.to_dict() == json.loads(json.dumps(result.to_dict()))
    assert again.to_markdown() == result.to_markdown()
    assert again.to_latex() == result.to_latex()
    assert again.to_text() == result.to_text()
    assert again.to_pandas().shape == result.to_pandas().shape
    if name not in UNDRAWN:
        assert again.figure() == json.loads(json.dumps(result.figure()))


@pytest.mark.parametrize("name", MAKERS)
def test_pages_and_pictures(name, made, tmp_path):
    result = made(name)
    if type(result).to_html is Result.to_html:
        with pytest.raises(howsure.InputError, match=f"of a {name}"):
            result.save(tmp_path / "saved.html")
    else:
        result.save(tmp_path / "saved.html")
        assert (tmp_path / "saved.html").read_bytes()[:15].lower().startswith(b"<!doctype html>")
    if name in UNDRAWN:
        return
    result.save(tmp_path / "saved.svg")
    assert (tmp_path / "saved.svg").read_bytes().startswith(b"<svg")


@pytest.mark.parametrize("name", sorted(MAKERS.keys() - UNDRAWN))
def test_every_result_draws_itself_on_axes(name, made):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    _, ax = pyplot.subplots()
    try:
        assert made(name).plot(ax=ax) is ax
        assert ax.has_data()
        own = made(name).plot()
        assert own is not ax
        assert own.has_data()
    finally:
        pyplot.close("all")


# What the house calls by one name: (what must not be said, what is meant by it elsewhere and may be).
NOT_SAID = {
    "squared calibration error": (
        r"squared error",
        r"squared calibration error|Mean squared error of the probabilities",
    ),
    "groups": (r"cluster\w*", r"cluster-robust|clusterings?|Clustering"),
    "positive favours the first": (r"negative favours|first less second", r"^$"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_one_word_for_one_thing(name, made):
    result = made(name)
    texts = [result.verdict, repr(result), result.to_text()]
    if type(result).to_html is not Result.to_html:
        texts.append(re.sub(r"<(script|style)\b.*?</\1>", "", result.to_html().decode(), flags=re.DOTALL))
    for text in texts:
        for meant, (wrong, allowed) in NOT_SAID.items():
            said = set(re.findall(wrong, re.sub(allowed, "", text)))
            assert not said, f"{said}: {meant}"
        q = re.search(r"(?<![\w.{])q(?!\w)", text)  # a symbol, introduced before or where it first stands
        assert q is None or "robabilit" in text[: q.end()], text[max(0, q.start() - 60) : q.end() + 20]
    for line in re.findall(r"^.*= [\d.]+ miscalibration.*$", result.to_text(), re.M):
        assert "discrimination" in line


@pytest.mark.parametrize("name", ["TaggerCheck", "ParserCheck", "CrossValidation", "LanguageCalibration"])
def test_overconfident_is_said_of_every_predicted_answer(name, made):
    result = made(name)
    of = {"TaggerCheck": lambda r: r.classes.top, "LanguageCalibration": lambda r: r.top}
    assert of.get(name, lambda r: r.calibration)(result).of_predicted


def noisy(folder, name, told, noise):
    """Words with tags, and texts with one of three classes: a share `noise` of the labels is drawn at random."""
    rng = np.random.default_rng(len(name))
    words = {"D": ["the", "a"], "N": ["dog", "hen"], "V": ["sees", "has"]}

    def said(label):
        return str(rng.choice(list(words))) if rng.random() < noise else label

    truth = [[str(rng.choice(list(words))) for _ in range(4)] for _ in range(told)]
    tags = "\n".join("".join(f"{rng.choice(words[t])}\t{said(t)}\n" for t in s) for s in truth)
    (folder / f"{name}.tags").write_text(tags)
    texts = "".join(f"{' '.join(rng.choice(words[s[0]], 4))}\t{said(s[0])}\n" for s in truth)
    (folder / f"{name}.tsv").write_text("text\tlabel\n" + texts)
    lines = [LINES[i] if rng.random() >= noise else " ".join(rng.permutation(LINES[i].split())) for i in range(4)]
    (folder / f"{name}.txt").write_text("\n".join(str(lines[i % 4]) for i in range(told)))
    return folder / f"{name}.tags", folder / f"{name}.tsv", folder / f"{name}.txt"


@pytest.mark.parametrize(("taught", "asked", "word"), [(0.0, 0.7, "overconfident"), (0.7, 0.0, "underconfident")])
def test_one_rule_of_confidence_in_all_commands(taught, asked, word, folder):
    """Labels of the text that is asked about are noisier than those taught, or less noisy: confidence is above, or below, accuracy."""
    pytest.importorskip("sklearn")
    tags, texts, lines = noisy(folder, f"taught-{word}", 120, taught)
    new_tags, new_texts, new_lines = noisy(folder, f"asked-{word}", 200, asked)
    columns = {"text": "text", "true": "label"}
    found = [
        howsure.check_tagger(howsure.train_tagger(tags, method="hmm", pseudocount=0.1), new_tags),
        howsure.check_classifier(howsure.train_classifier(texts, **columns, strength=1.0), new_texts, **columns),
    ]
    if word == "overconfident":  # a text that is taught as noise makes a model that is right to be unsure
        found.append(howsure.lm.check(howsure.lm.train(lines, order=2, smoothing="witten-bell"), new_lines))
    for result in found:
        sure, right = map(
            float, re.search(r"confidence is ([\d.]+) on average, accuracy ([\d.]+)\.", result.verdict).groups()
        )
        assert (sure > right) == (word == "overconfident")
        assert f"The model is {word}: " in result.verdict
        assert {"overconfident", "underconfident"} & set(re.findall(r"\w+", result.to_text())) == {word}


def test_other_probabilities_are_too_high_or_low(made):
    """Of pairs of mentions, and of one of two classes, nothing is predicted: no word of confidence."""
    for name in ("CorefCheck", "ClassifierCheck"):
        assert "confident" not in made(name).verdict
        assert "confident" not in made(name).to_text()


def test_headlines_are_short_and_ece_stands_beside_rms(made):
    """At most two lines of the page's heading, which holds 80 letters a line; and no number such as 3e+14."""
    with_error = set()
    for name in MAKERS:
        result = made(name)
        if type(result).to_html is Result.to_html:
            continue
        page = re.sub(r"<(script|style)\b.*?</\1>", "", result.to_html().decode(), flags=re.DOTALL)
        heading = unescape(re.sub(r"<.*?>", "", re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)[1]))
        assert len(heading) <= 160, (name, heading)
        assert not re.search(r"\de\+\d", page), name
        if "RMS error" in page and name not in ("Reproduction", "Agreement"):
            with_error.add(name)
            assert "ECE" in page, name
    assert {"Calibration", "MulticlassCalibration", "Comparison", "TaggerCheck", "LanguageCalibration"} <= with_error


def test_positive_favours_the_first_in_all_comparisons(folder):
    rng = np.random.default_rng(0)
    p = rng.random(2_000)
    y = rng.random(2_000) < p
    right = np.where(rng.random(2_000) < 0.9, y, ~y)
    for groups in (None, np.arange(2_000) // 10):
        pair = howsure.compare(y, {"good": p, "bad": p**3}, groups=groups).pairs[0]
        duel = howsure.compare(y, y_preds={"good": right, "bad": rng.random(2_000) < 0.5}, groups=groups, samples=100)
        models = howsure.lm.compare(language_model(folder), language_model(folder, 1), folder / "train.txt")
        found = [pair.error_squared.low, pair.brier.low, pair.log_loss.low, duel.duels[0].difference.low, models.low]
        assert min(found) > 0
        assert "better calibrated than bad" in howsure.compare(y, {"good": p, "bad": p**3}, groups=groups).verdict


def test_latex_escapes_names(made):
    assert r"NN\_1 & " in made("Calibration").to_latex()
    assert made("Calibration").to_latex().count(r"\midrule") == 2


def test_keys_are_renamed_merged_and_left_out():
    from dataclasses import dataclass

    @dataclass(frozen=True, slots=True)
    class Inner(Record):
        low: int
        high: int

    @dataclass(frozen=True, slots=True)
    class Outer(Record):
        SHOWN = "name=title *inner deep=inner.low empty? doubled"

        title: str
        inner: Inner
        empty: tuple[str, ...] = ()

        def doubled(self) -> list[int]:
            return [2 * self.inner.high]

    assert Outer("t", Inner(1, 2)).to_dict() == {"name": "t", "low": 1, "high": 2, "deep": 1, "doubled": [4]}
    assert list(Outer("t", Inner(1, 2), ("x",)).to_dict()) == ["name", "low", "high", "deep", "empty", "doubled"]


def test_plain_knows_arrays_and_dates():
    from datetime import date

    assert plain({"a": np.arange(2), "b": (np.float64(1.0), date(2020, 1, 2))}) == {
        "a": [0, 1],
        "b": [1.0, "2020-01-02"],
    }


def test_cells_that_begin_like_a_formula():
    rows = [{"name": "=1+1", "n": -2}, {"name": "@x", "n": 3.5}, {"name": "a=b", "n": None}]
    assert csv_text(rows) == "name,n\n'=1+1,-2\n'@x,3.5\na=b,\n"


def test_control_characters_of_data_never_reach_the_terminal():
    assert harmless("a\x1b[2Jb\x9bc\r\nd\te\rf\x00 ü\u3000") == "a�[2Jb�c\nd\te�f� ü\u3000"
