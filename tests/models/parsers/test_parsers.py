"""Parsers of dependencies and constituents: readers, training, calibration, files, bad input."""

import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import howsure
from howsure.cli.application import run
from howsure.corpora.bracketed import BracketedTree, plain_label, read_bracketed
from howsure.corpora.conllu import read_conllu
from howsure.english.shipped import SHIPPED
from howsure.errors import InputError
from howsure.kernels.trees.choice import kernel
from howsure.models.parsers import arcs
from howsure.models.parsers.arcs import ArcParser, encoded, gold_trees, train_arcs
from howsure.models.parsers.pcfg import Pcfg, train_pcfg
from howsure.posteriors.trees import TreePosterior

WORDS = {"DET": ("the", "a"), "NOUN": ("dog", "cat", "walk"), "VERB": ("sees", "walk"), "ADP": ("in", "with")}


def sentence(rng):
    """Words, tags, heads and relations of a small language with an attachment that is a toss-up."""
    rows = [("DET", 2, "det"), ("NOUN", 3, "nsubj"), ("VERB", 0, "root"), ("DET", 5, "det"), ("NOUN", 3, "obj")]
    if rng.random() < 0.5:
        to = 3 if rng.random() < 0.7 else 5
        rows += [("ADP", 7, "case"), ("NOUN", to, "obl" if to == 3 else "nmod")]
    return [(str(rng.choice(WORDS[t])), t, h, r) for t, h, r in rows]


def write_conllu(path, n, seed):
    rng, lines = np.random.default_rng(seed), []
    for d in range(n // 5):
        lines.append(f"# newdoc id = d{d}")
        for _ in range(5):
            rows = sentence(rng)
            lines += [f"{i}\t{w}\t_\t{t}\t{t}\t_\t{h}\t{r}\t_\t_" for i, (w, t, h, r) in enumerate(rows, 1)] + [""]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def write_trees(path, n, seed):
    rng, made = np.random.default_rng(seed), []
    for _ in range(n):
        det, noun, verb, adp = (str(rng.choice(WORDS[k])) for k in ("DET", "NOUN", "VERB", "ADP"))
        np_ = f"(NP (DT {det}) (NN {noun}))"
        pp = f"(PP (IN {adp}) {np_})"
        rest = np_ if rng.random() < 0.4 else f"{np_} {pp}" if rng.random() < 0.6 else f"(NP {np_} {pp})"
        made.append(f"( (S (NP-SBJ-1 (NN {noun})) (VP (VBZ {verb}) {rest}) (-NONE- *T*-1)) )")
    path.write_text("\n".join(made) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("parsers")
    for name, n, seed in (("train", 200, 1), ("dev", 100, 2), ("test", 200, 3)):
        write_conllu(made / f"{name}.conllu", n, seed)
    for name, n, seed in (("train", 150, 1), ("dev", 60, 2), ("test", 80, 3), ("more", 80, 4)):
        write_trees(made / f"{name}.mrg", n, seed)
    return made


@pytest.fixture(scope="module")
def small_arcs(folder):
    return train_arcs(read_conllu(folder / "train.conllu"), bits=12, label_bits=8, epochs=4)


@pytest.fixture(scope="module")
def grammar(folder):
    return train_pcfg(read_bracketed(folder / "train.mrg").trees)


# -- brackets ------------------------------------------------------------------------------------------------------


def read(tmp_path, text):
    path = tmp_path / "t.mrg"
    path.write_text(text)
    return read_bracketed(path).trees


def test_traces_function_tags_unary_cycles_and_several_roots(tmp_path):
    text = """( (S (NP-SBJ-2 (-NONE- *-1)) (VP (VBP go) (NP (NP (NP (NN home))))) (. .)))
    (ROOT (NP (NN one)) (NP=3 (NN two)))
    (TOP (X (-NONE- 0)))
    (NP-TMP (-LRB- -LRB-))"""
    go, two, none, bracket = read(tmp_path, text)
    assert go.words == ("go", "home", ".")
    assert go.spans == ((0, 3, "S"), (0, 2, "VP"), (1, 2, "NP"), (1, 2, "NP"), (1, 2, "NP"))
    assert go.n_traces == 1
    assert two.spans == ((0, 1, "NP"), (1, 2, "NP"))
    assert (len(none), none.spans, none.n_traces) == (0, (), 1)
    assert (bracket.tags, bracket.spans) == (("-LRB-",), ((0, 1, "NP"),))
    assert [plain_label(x) for x in ("NP-SBJ", "ADVP=2", "-NONE-", "PRP$")] == ["NP", "ADVP", "-NONE-", "PRP$"]


def test_what_is_written_is_read_again(tmp_path, folder):
    for tree in read_bracketed(folder / "test.mrg").trees:
        (again,) = read(tmp_path, tree.text())
        assert (again.words, again.tags, again.spans) == (tree.words, tree.tags, tree.spans)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(S (NP (NN a))", "line 1 is not closed"),
        ("(S (NN a)))", "line 1: a bracket is closed"),
        ("word", "begins with a bracket"),
        ("(S ())", "empty"),
        ("(S (NN a) b)", "too much"),
        ("(NN a (S (NN b)))", "not both"),
        ("", "no trees"),
        ("(S " * 400 + "(NN a)" + ")" * 400, "deep"),
    ],
)
def test_bad_brackets_are_named(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read(tmp_path, text)


# -- grammar -------------------------------------------------------------------------------------------------------


def test_relative_frequencies_are_those_of_the_trees(tmp_path):
    trees = read(tmp_path, "(S (NN a) (VP (VB b) (NN a) (NN c)))\n(S (NN a) (VP (VB b) (NN a)))\n(S (NN c) (VB b))")
    g = train_pcfg(trees, horizontal=1).grammar
    p = {tuple(g.symbols[s] for s in r): np.exp(w) for r, w in zip(g.rules.tolist(), g.weight, strict=True)}
    assert p["ROOT S(", ")NN(", "VP(S"] == pytest.approx(2 / 3)
    assert p["VP(S", ")VB(", "(VP(S|VB"] == pytest.approx(1 / 2)
    assert p["(VP(S|VB", ")NN(", ")NN("] == 1.0
    totals = Counter()
    for r, w in p.items():
        totals[r[0]] += w
    assert all(t == pytest.approx(1.0) for t in totals.values())


def test_gold_trees_have_probability_and_unknown_words_parse(grammar, folder):
    for tree in read_bracketed(folder / "test.mrg").trees[:10]:
        assert np.isfinite(grammar.posterior(tree.words).log_probability(tree.spans))
    p = grammar.posterior(["zork", "sees", "the", "Blorg"])
    assert p.has_tree
    assert p.best().tags == ("NN", "VBZ", "DT", "NN")
    assert not grammar.posterior(["the"] * 3).has_tree


def test_unary_cycles_and_several_roots_are_learnt(tmp_path):
    trees = read(tmp_path, "(ROOT (NP (NP (NN a))) (NP (NN b)))\n(ROOT (NN a))\n(ROOT (X (-NONE- 0)))")
    g = train_pcfg(trees)
    assert g.posterior(["a", "b"]).best().spans == ((0, 1, "NP"), (0, 1, "NP"), (1, 2, "NP"))
    assert g.posterior(["a"]).best().spans == ()
    with pytest.raises(InputError, match="no trees with words"):
        train_pcfg(trees[2:])


# -- dependencies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("projective", [True, False])
def test_one_step_goes_along_the_gradient_of_the_likelihood(folder, projective):
    """AdaGrad's first step from w is -g / √(g² + 1): g from it, and from differences of log P."""
    documents = read_conllu(folder / "train.conllu")[:1]
    one = documents[0].with_(starts=documents[0].starts[:2])
    s, (heads, _) = encoded([one]), gold_trees(documents)
    n, rng = int(s.starts[1]), np.random.default_rng(0)
    text = s.tokens, s.coarse, s.starts, heads[:n]
    w = rng.normal(size=256).astype(np.float32) * 0.3
    shift, everything = np.uint64(56), np.ones(256, bool)

    def log_p(weights, rate=0.0):
        squares = np.zeros(256, np.float32)
        with np.errstate(over="ignore"):
            run_it = kernel("arc_epoch", 1e9)
            return run_it(*text, np.zeros(1, np.int64), weights, squares, everything, shift, projective, rate, 0.0)

    moved = w.copy()
    log_p(moved, 1.0)
    step = (w - moved).astype(float)
    gradient = step / np.sqrt(1 - step**2)
    assert np.abs(gradient).max() > 0.3
    for k in np.argsort(-np.abs(gradient))[:12].tolist():
        up, down = w.copy(), w.copy()
        up[k] += 0.01
        down[k] -= 0.01
        slope = -(log_p(up) - log_p(down)) / (float(up[k]) - float(down[k]))
        assert gradient[k] == pytest.approx(slope, rel=2e-3, abs=2e-3)


def test_interpreted_and_compiled_scores_agree(small_arcs, folder):
    documents = read_conllu(folder / "test.conllu")[:1]
    from howsure.kernels.trees import arc_models

    compiled = list(small_arcs.posteriors(documents))
    kernel("labelled_scores", 1e9)
    s = encoded(documents)
    w, rows = (
        small_arcs._expanded(small_arcs.arcs, "arc_step"),
        small_arcs._expanded(small_arcs.of_labels, "label_step"),
    )
    a, z = s.base[:2].tolist()
    made = np.zeros((z - a, z - a - 1, len(small_arcs.labels)))
    with np.errstate(over="ignore"):
        how = w, arcs._shift(w), rows, arcs._shift(rows)
        arc_models.labelled_scores.py_func(s.tokens[a:z], s.coarse[a:z], *how, made)
    inner = ~np.isneginf(made)
    np.testing.assert_allclose(made[inner], compiled[0]._given[inner], rtol=1e-5, atol=1e-5)


def test_the_parser_learns_and_its_doubt_is_right(folder, small_arcs):
    found = howsure.check_parser(small_arcs, folder / "test.conllu")
    assert found.accuracy["UAS"].value > 0.93
    assert found.accuracy["LAS"].value > 0.9
    toss_up = [p.marginals()[3, 6] for p in small_arcs.posteriors(read_conllu(folder / "test.conllu")) if p.n == 7]
    assert 0.5 < np.mean(toss_up) < 0.85  # 0.7 in truth
    assert {s.name for s in found.calibration.slices} >= {"chosen arc", "chosen arc, label", "whole tree"}
    assert found.n_groups == 40


def test_what_the_posterior_generates_is_compared_with_gold(folder, small_arcs, grammar):
    found = howsure.check_parser(small_arcs, folder / "test.conllu", predictive=19).predictive
    assert [s.statistic for s in found] == ["label", "length of arcs (0: root)", "dependents of a word"]
    assert sum(c.seen for c in found[0].categories) > 500
    spans = howsure.check_parser(grammar, folder / "test.mrg", predictive=19, groups="sentence")
    assert {s.statistic for s in spans.predictive} == {"label", "length of constituents", "constituents of a sentence"}
    assert "Is gold like what the posterior generates?" in spans.to_text()
    assert spans.to_dict()["predictive"][0]["n_samples"] == 19


def test_the_verdict_is_of_chosen_spans_though_the_first_sentence_has_no_tree(tmp_path):
    path = tmp_path / "a.mrg"
    path.write_text("( (S (A a) (B b)) )\n" * 9)
    grammar = train_pcfg(read_bracketed(path).trees)
    odd = "( (S (A a) (B b) (A a)) )\n"
    path.write_text(odd + "( (S (A a) (B b)) )\n" * 9)
    made = howsure.check_parser(grammar, path, groups="sentence")
    assert "1 sentences have no tree in the grammar: their spans count as missed." in made.notes
    assert (made.calibration.slices[0].name, made.calibration.n, made.calibration.base_rate) == ("chosen span", 9, 1.0)
    path.write_text(odd * 3)
    with pytest.raises(InputError, match="cannot make any of these sentences"):
        howsure.check_parser(grammar, path, groups="sentence")


def test_temperature_is_fitted_on_held_out_trees(folder):
    made = howsure.train_parser(folder / "train.mrg", dev=folder / "dev.mrg")
    assert made.temperature.after <= made.temperature.before
    assert made.model.settings["temperature"] == made.temperature.temperature
    assert "temperature" in made.verdict


def test_crossing_and_broken_trees_are_left_out_and_counted(tmp_path):
    rows = ["1\ta\t_\tX\tX\t_\t3\tx\t_\t_", "2\tb\t_\tX\tX\t_\t0\troot\t_\t_", "3\tc\t_\tX\tX\t_\t2\tx\t_\t_"]
    plain = ["1\ta\t_\tX\tX\t_\t0\troot\t_\t_"]
    two_roots = ["1\ta\t_\tX\tX\t_\t0\troot\t_\t_", "2\tb\t_\tX\tX\t_\t0\troot\t_\t_"]
    path = tmp_path / "x.conllu"
    path.write_text("\n\n".join("\n".join(s) for s in (rows, plain, two_roots)) + "\n")
    made = train_arcs(read_conllu(path), bits=8, label_bits=4, epochs=1)
    assert made.settings["left_out"] == 2
    assert train_arcs(read_conllu(path), bits=8, label_bits=4, epochs=1, projective=False).settings["left_out"] == 1
    checked = howsure.check_parser(made, path, groups="sentence")
    assert "2 sentences" in " ".join(checked.notes)
    path.write_text("\n".join(two_roots) + "\n")
    with pytest.raises(InputError, match="nothing to train on"):
        train_arcs(read_conllu(path), bits=8, label_bits=4, epochs=1)


# -- files and the shell -------------------------------------------------------------------------------------------


def test_models_are_read_again(tmp_path, small_arcs, grammar):
    for model in (small_arcs.with_settings(temperature=1.5), grammar.with_settings(temperature=0.8)):
        model.save(tmp_path / "m.npz")
        again = howsure.load(tmp_path / "m.npz")
        assert again.settings == model.settings
        assert repr(again) == repr(model)
    words = ["dog", "sees", "the", "cat"]
    assert howsure.load(tmp_path / "m.npz").posterior(words).log_partition == pytest.approx(
        grammar.with_settings(temperature=0.8).posterior(words).log_partition
    )


@pytest.mark.parametrize("break_", ["step", "no step", "temperature", "size", "words", "tag"])
def test_damaged_models_are_refused(tmp_path, small_arcs, grammar, break_):
    from dataclasses import replace

    broken = {
        "step": lambda: small_arcs.with_settings(arc_step=0.0),
        "no step": lambda: replace(
            small_arcs, settings={k: v for k, v in small_arcs.settings.items() if k != "label_step"}
        ),
        "temperature": lambda: small_arcs.with_settings(temperature=0.0),
        "size": lambda: replace(small_arcs, arcs=small_arcs.arcs[:100]),
        "words": lambda: replace(
            grammar, words={w: i for i, w in enumerate(str(k) for k in range(len(grammar.words)))}
        ),
        "tag": lambda: replace(grammar, tags=("x",), of_words=grammar.of_words[:, :1]),
    }[break_]()
    broken.save(tmp_path / "m.npz")
    with pytest.raises(InputError, match="damaged"):
        howsure.load(tmp_path / "m.npz")


def test_conllu_keeps_multiword_tokens_empty_nodes_and_comments(tmp_path, small_arcs):
    lines = [
        "# newdoc id = d", "# text = don't", "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No",
        "1\tthe\t_\tDET\tDET\t_\t_\t_\t_\t_", "2\tdog\t_\tNOUN\tNOUN\t_\t_\t_\t_\tX=1", "2.1\tsees\t_\tVERB\t_\t_\t_\t_\t_\t_", "",
        "1\tcat\t_\tNOUN\tNOUN\t_\t_\t_\t_\t_", "",
    ]  # fmt: skip
    (tmp_path / "in.conllu").write_text("\n".join(lines) + "\n")
    howsure.apply_parser(small_arcs, tmp_path / "in.conllu", tmp_path / "out.conllu")
    out = (tmp_path / "out.conllu").read_text().split("\n")
    assert [o for o, i in zip(out, lines, strict=False) if o == i] == [i for i in lines if i[:2] not in ("1\t", "2\t")]
    assert out[4].split("\t")[9].startswith("X=1|ArcProb=")
    assert out[7].split("\t")[6] == "0"
    heads = [d.heads.tolist() for d in read_conllu(tmp_path / "out.conllu")]
    assert sorted(heads[0][:2]) in ([-1, 0], [-1, 1])


def test_other_tagged_text_is_not_written_as_conllu_without_trees(tmp_path, small_arcs):
    (tmp_path / "in.tsv").write_text("the\tDET\ndog\tNOUN\n\n")
    with pytest.raises(InputError, match=r"write a \.parquet file"):
        howsure.apply_parser(small_arcs, tmp_path / "in.tsv", tmp_path / "out.conllu")
    assert not (tmp_path / "out.conllu").exists()
    assert howsure.apply_parser(small_arcs, tmp_path / "in.tsv").n == 2


def test_apply_gives_trees_samples_and_probabilities(tmp_path, small_arcs, grammar, folder):
    made = howsure.apply_parser(small_arcs, folder / "test.conllu", best=2, samples=3).data
    assert {"head", "label", "prob", "head_2", "sample_3", "tree_prob"} <= set(made.column_names)
    assert made.num_rows == sum(len(d) for d in read_conllu(folder / "test.conllu"))
    spans = howsure.apply_parser(grammar, folder / "test.mrg", samples=1).data.to_pylist()
    assert {s["tree"] for s in spans} == {"best_1", "sample_1"}
    assert all(0 < s["prob"] <= 1 for s in spans)
    (tmp_path / "raw.tsv").write_text("dog\tNN\nsees\tVBZ\nthe\tDT\ncat\tNN\n\nthe\tDT\n")
    howsure.apply_parser(grammar, tmp_path / "raw.tsv", tmp_path / "raw.mrg")
    first, second = read_bracketed(tmp_path / "raw.mrg").trees
    assert first.words == ("dog", "sees", "the", "cat")
    assert second.spans == ()  # no tree: the word is kept
    assert isinstance(next(small_arcs.posteriors(read_conllu(folder / "test.conllu"))), TreePosterior)


def test_the_shell(tmp_path, folder, grammar, capsys):
    model = str(tmp_path / "g.npz")
    assert run(["parser", "train", str(folder / "train.mrg"), "--dev", str(folder / "dev.mrg"), "-o", model]) == 0
    assert "Trained Pcfg" in capsys.readouterr().out
    files = [str(folder / "test.mrg"), str(folder / "more.mrg")]
    assert run(["parser", "check", model, *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["accuracy"]["F1"]["value"] > 0.7
    assert run(["parser", "check", model, files[0], "--groups", "sentence", "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)["accuracy"]
    assert all(a["low"] < a["value"] <= a["high"] <= 1.0 for a in alone.values())  # all right or not
    assert run(["parser", "check", model, *files]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.split("\n"))) <= 80
    assert "recall" in out
    assert run(["parser", "apply", model, files[0]]) == 0
    assert "best_1\t0\t" in capsys.readouterr().out
    for wrong, said in (
        (["parser", "check", model, str(folder / "test.conllu")], "bracketed trees"),
        (
            ["parser", "check", model, files[0]],
            "all is one document; intervals need two at least. Take sentences as independent with --groups sentence.",
        ),
        (["parser", "apply", model, files[0], "-o", str(tmp_path / "x.csv")], ".parquet"),
        (["parser", "train", files[0], "--dev", str(folder / "dev.conllu"), "-o", model], "both"),
        (["parser", "train", files[0], str(folder / "dev.conllu"), "-o", model], "not both"),
    ):
        assert run(wrong) == 2
        assert said in capsys.readouterr().err


@pytest.mark.corpus
def test_the_wsj_sample_is_read_whole():
    if not os.environ.get("HOWSURE_DATA"):
        pytest.skip("HOWSURE_DATA is not set")
    files = sorted(Path(os.environ["HOWSURE_DATA"], "treebank").glob("wsj_*.mrg"))
    trees = [t for f in files for t in read_bracketed(f).trees]
    assert len(trees) == 3914
    assert sum(len(t) for t in trees) == 94_084
    assert sum(t.n_traces for t in trees) == 6_592
    assert all(isinstance(t, BracketedTree) for t in trees)
    assert Pcfg.kind == "pcfg"
    assert ArcParser.kind == "arcs"


def test_the_parser_that_ships_parses_english(tmp_path):
    rows = [
        ("The", "DET", "DT"),
        ("dog", "NOUN", "NN"),
        ("saw", "VERB", "VBD"),
        ("a", "DET", "DT"),
        ("cat", "NOUN", "NN"),
    ]
    lines = [f"{i}\t{w}\t_\t{u}\t{x}\t_\t_\t_\t_\t_" for i, (w, u, x) in enumerate(rows, 1)]
    (tmp_path / "in.conllu").write_text("\n".join(lines) + "\n\n")
    found = howsure.apply_parser("english", tmp_path / "in.conllu").data.to_pylist()
    assert [r["head"] for r in found] == [2, 3, 0, 5, 3]
    assert [r["label"] for r in found] == ["det", "nsubj", "root", "det", "obj"]
    assert min(r["prob"] for r in found) > 0.8
    assert (SHIPPED / "arcs.npz").stat().st_size < 3_000_000
