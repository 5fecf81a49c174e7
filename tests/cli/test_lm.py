"""`howsure lm` as users type it."""

import json
import math

import pytest

import howsure
from howsure.cli.application import run

LINES = [
    "the fox saw a hen",
    "the hen saw the fox",
    "a fox met the hen",
    "the old fox left",
    "a hen left the barn",
] * 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("lm")
    (made / "train.txt").write_text("\n".join(LINES) + "\n")
    (made / "test.txt").write_text("the fox left the hen\na zebra met the fox\nthe old hen saw\n")
    (made / "pairs.tsv").write_text("fxo\tfox\nhne\then\nteh\tthe\nmte\tmet\n")
    assert run(["lm", "train", str(made / "train.txt"), "--order", "3", "-o", str(made / "lm.npz")]) == 0
    small = ["--order", "1", "--smoothing", "laplace", "-o", str(made / "small.npz")]
    assert run(["lm", "train", str(made / "train.txt"), *small]) == 0
    return made


def said(capsys, *arguments):
    capsys.readouterr()
    status = run(["lm", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_punctuation_is_set_apart_where_it_touches_words(tmp_path, capsys):
    natural, apart = tmp_path / "natural.txt", tmp_path / "apart.txt"
    natural.write_text("The dog, he said, sleeps.\nMr. Cat sleeps, too!\n" * 3)
    apart.write_text("The dog , he said , sleeps .\nMr. Cat sleeps , too !\n" * 3)
    words = {}
    for text, extra in ((natural, []), (apart, []), (natural, ["--units", "words"])):
        assert run(["lm", "train", str(text), "--order", "2", "-o", str(tmp_path / "lm.npz"), *extra]) == 0
        said = capsys.readouterr().out
        assert ("set apart from words" in said) == (text is natural and not extra)
        assert "`" not in said
        model = howsure.lm.load(tmp_path / "lm.npz")
        words[text.name, bool(extra)] = (model.settings["units"], model.vocabulary.number("dog") > 2)
    assert words == {
        ("natural.txt", False): ("punctuation", True),
        ("apart.txt", False): ("words", True),
        ("natural.txt", True): ("words", False),
    }
    assert run(["lm", "train", str(natural), "--order", "2", "-o", str(tmp_path / "lm.arpa")]) == 0
    assert "dog," in (tmp_path / "lm.arpa").read_text()


def test_perplexity(folder, capsys):
    status, out, _ = said(capsys, "perplexity", folder / "lm.npz", folder / "test.txt", "--json")
    assert status == 0
    found = json.loads(out)
    assert found["out_of_vocabulary"] == 1
    assert found["sentences"] == 3
    assert found["low"] < found["perplexity"] < found["high"]
    status, out, _ = said(capsys, "perplexity", folder / "lm.npz", folder / "test.txt")
    assert out.startswith("Perplexity ")
    assert max(map(len, out.split("\n"))) <= 80


def test_compare(folder, capsys):
    status, out, _ = said(capsys, "compare", folder / "lm.npz", folder / "small.npz", folder / "train.txt", "--json")
    assert status == 0
    found = json.loads(out)
    assert found["difference"] > 0
    assert found["p_value"] < 0.01
    status, out, _ = said(capsys, "compare", folder / "lm.npz", folder / "small.npz", folder / "train.txt")
    assert "predicts better" in " ".join(out.split())


def test_generate(folder, capsys):
    _, once, _ = said(capsys, "generate", folder / "lm.npz", "--words", "12", "--seed", "1")
    _, again, _ = said(capsys, "generate", folder / "lm.npz", "--words", "12", "--seed", "1")
    assert once == again
    assert len(once.split()) == 12
    assert set(once.split()) <= {w for line in LINES for w in line.split()}


def test_correct(folder, capsys, tmp_path):
    typed = tmp_path / "typed.txt"
    typed.write_text("The fxo saw a hne\nteh old fox left\n")
    status, out, _ = said(capsys, "correct", folder / "lm.npz", typed, "--errors", folder / "pairs.tsv")
    assert status == 0
    assert out == "The fox saw a hen\nthe old fox left\n"
    # Counts of edits ship: no list of errors is needed.
    status, out, _ = said(capsys, "correct", folder / "lm.npz", typed, "--json")
    assert [line["text"] for line in json.loads(out)] == ["The fox saw a hen", "the old fox left"]
    assert json.loads(out)[0]["corrections"][0]["candidates"][0]["word"] == "fox"


def test_the_weight_of_context_is_chosen_on_errors_in_context(folder, capsys, tmp_path):
    typed, dev = tmp_path / "typed.txt", tmp_path / "dev.tsv"
    typed.write_text("The fxo saw a hne\n")
    dev.write_text("teh old fxo left\tthe old fox left\nthe hne saw a fox\tthe hen saw a fox\n")
    status, out, err = said(capsys, "correct", folder / "lm.npz", typed, "--dev", dev)
    assert (status, out) == (0, "The fox saw a hen\n")
    assert err == f"howsure: the best weight on {dev} is 1.\n"
    assert said(capsys, "correct", folder / "lm.npz", typed, "--dev", dev, "--lm-weight", "2")[0] == 2
    dev.write_text("teh old\tthe\n")
    status, _, err = said(capsys, "correct", folder / "lm.npz", typed, "--dev", dev)
    assert (status, err.count("\n")) == (2, 1)
    assert "as many words typed as meant" in err


def test_maximum_likelihood_takes_a_dev_text_and_says_that_it_is_impossible(folder, capsys, tmp_path):
    mle = ["--smoothing", "mle", "--dev", folder / "test.txt", "-o", tmp_path / "mle.npz"]
    status, out, _ = said(capsys, "train", folder / "train.txt", *mle, "--json")
    assert status == 0
    found = json.loads(out)
    assert found["dev_perplexity"] is None
    assert "have probability 0" in found["notes"][-1]
    status, out, _ = said(capsys, "train", folder / "train.txt", *mle)
    assert "perplexity of the dev text: infinite" in out
    possible = tmp_path / "possible.txt"
    possible.write_text(LINES[0] + "\n")
    status, out, _ = said(capsys, "train", folder / "train.txt", *mle[:3], possible, *mle[4:], "--json")
    assert json.loads(out)["dev_perplexity"] > 1


def test_probabilities_of_sentences_and_next_words(folder, capsys, monkeypatch):
    status, out, _ = said(capsys, "prob", folder / "lm.npz", "the fox left", "a zebra left", "--json")
    assert status == 0
    first, second = json.loads(out)["sentences"]
    assert [w["word"] for w in first["words"]] == ["the", "fox", "left", "</s>"]
    assert first["log2_prob"] == pytest.approx(sum(w["log2_prob"] for w in first["words"]))
    assert first["perplexity"] == pytest.approx(2 ** (-first["log2_prob"] / 4))
    assert [w["known"] for w in second["words"]] == [True, False, True, True]
    status, out, _ = said(capsys, "next", folder / "lm.npz", "the", "--words", "3", "--json")
    words = json.loads(out)["words"]
    assert [w["prob"] for w in words] == sorted((w["prob"] for w in words), reverse=True)
    after = {w["word"]: w for w in words}
    _, out, _ = said(capsys, "prob", folder / "lm.npz", "the " + words[0]["word"], "--json")
    assert json.loads(out)["sentences"][0]["words"][1] == after[words[0]["word"]]
    status, out, _ = said(capsys, "prob", folder / "lm.npz", "the fox left")
    assert max(map(len, out.split("\n"))) <= 80
    assert said(capsys, "next", folder / "lm.npz", "--words", "0")[0] == 2


def test_rank_adds_the_channel(folder, capsys, tmp_path):
    """By hand: of a key, prob is the softmax of channel + weight · log p(text)."""
    import howsure

    table = tmp_path / "heard.tsv"
    rows = [
        ("u1", "the fox left", -4.0),
        ("u1", "the hen left", -1.0),
        ("u2", "fox the left", 0.0),
        ("u2", "a hen left", -2.0),
    ]
    table.write_text("utterance\ttext\tacoustic\n" + "".join(f"{k}\t{t}\t{c}\n" for k, t, c in rows))
    status, out, _ = said(
        capsys,
        "rank",
        folder / "lm.npz",
        table,
        "--channel",
        "acoustic",
        "--key",
        "utterance",
        "--lm-weight",
        "0.5",
        "--json",
    )
    assert status == 0
    model = howsure.lm.load(folder / "lm.npz")
    score = {t: c + 0.5 * model.score(t) for _, t, c in rows}
    for found in json.loads(out)["hypotheses"]:
        mine = [math.exp(score[t]) for k, t, _ in rows if k == found["key"]]
        assert found["prob"] == pytest.approx(math.exp(score[found["text"]]) / sum(mine))
        assert found["rank"] == 1 + sum(m > math.exp(score[found["text"]]) * (1 + 1e-9) for m in mine)
    status, _, error = said(capsys, "rank", folder / "lm.npz", table, "--channel", "utterance")
    assert status == 2
    assert "must hold log probabilities; got 'u1'" in error
    assert [h.text for h in howsure.lm.rank(model, ["left fox the", "the fox left"]).hypotheses] == [
        "the fox left",
        "left fox the",
    ]


def test_study_is_every_model_trained_by_itself(folder, capsys, tmp_path):
    page, plot = tmp_path / "study.html", tmp_path / "study.svg"
    status, out, _ = said(
        capsys, "study", folder / "train.txt", "--order", "2", "--min-count", "1", "--html", page, "--plot", plot
    )
    assert status == 0
    assert max(len(line) for line in out.split("\n") if "Written" not in line) <= 80
    assert b"modified-kneser-ney" in page.read_bytes()
    assert plot.read_bytes().startswith(b"<svg")
    _, out, _ = said(capsys, "study", folder / "train.txt", "--order", "2", "--min-count", "1", "--json")
    found = json.loads(out)
    assert (found["train_sentences"], found["dev_sentences"], found["test_sentences"]) == (48, 6, 6)
    assert found["best"]["dev_perplexity"] == min(m["dev_perplexity"] for m in found["models"] if m["dev_perplexity"])
    (tmp_path / "train.txt").write_text("\n".join(LINES[:48]) + "\n")
    (tmp_path / "dev.txt").write_text("\n".join(LINES[48:54]) + "\n")
    (tmp_path / "test.txt").write_text("\n".join(LINES[54:]) + "\n")
    for name in ("lidstone", "katz"):
        options = ["--order", "2", "--smoothing", name, "--dev", tmp_path / "dev.txt", "-o", tmp_path / "m.npz"]
        assert said(capsys, "train", tmp_path / "train.txt", *options)[0] == 0
        _, out, _ = said(capsys, "perplexity", tmp_path / "m.npz", tmp_path / "test.txt", "--json")
        cell = next(m for m in found["models"] if (m["smoothing"], m["order"]) == (name, 2))
        assert cell["test"]["perplexity"] == pytest.approx(json.loads(out)["perplexity"])
    status, _, error = said(capsys, "study", tmp_path / "dev.txt")
    assert status == 2
    assert "too short to hold out" in error


def test_check(folder, capsys, tmp_path):
    page = tmp_path / "report.html"
    status, out, _ = said(capsys, "check", folder / "lm.npz", folder / "train.txt", "--html", page)
    assert status == 0
    assert max(map(len, out.split("\n"))) <= 80 + len(str(page))
    assert b"All words" in page.read_bytes()
    _, out, _ = said(capsys, "check", folder / "lm.npz", folder / "train.txt", "--json")
    found = json.loads(out)
    words = found["all_words"]
    assert words["n"] == found["sampled_places"] * (len({w for line in LINES for w in line.split()}) + 2)
    # Every distribution sums to one, so all words together are neither too high nor too low.
    assert words["bias"]["value"] == pytest.approx(0.0, abs=1e-9)
    assert found["accuracy"] == pytest.approx(found["base_rate"])
    for part in (found, words):
        assert part["ece"]["low"] <= part["ece"]["value"] <= part["ece"]["high"]


def test_arpa_is_a_model_too(folder, capsys):
    arpa = folder / "lm.arpa"
    assert said(capsys, "train", folder / "train.txt", "-o", arpa)[0] == 0
    _, a, _ = said(capsys, "perplexity", arpa, folder / "test.txt", "--json")
    _, b, _ = said(capsys, "perplexity", folder / "lm.npz", folder / "test.txt", "--json")
    assert json.loads(a)["perplexity"] == pytest.approx(json.loads(b)["perplexity"], rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--smoothing", "kats"], "Did you mean `katz`"),
        (["--smoothing", "lidstone", "--alpha", "0"], "above 0"),
        (["--alpha", "0.5"], "goes with --smoothing lidstone"),
        (["--order", "9"], "can be 7 at most"),
        (["--order", "0"], "between 1 and 20"),
        (["--units", "word"], "Did you mean `words`"),
        (["--vocabulary", "twice.txt"], "'fox' twice"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(folder, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    (folder / "twice.txt").write_text("fox\nhen\nfox\n")
    status, out, error = said(capsys, "train", "train.txt", *arguments, "-o", "bad.npz")
    assert status == 2
    assert out == ""
    assert message in error
    assert error.count("\n") == 1
    assert not (folder / "bad.npz").exists()


def test_bad_files(folder, capsys, tmp_path):
    empty, bytes_, damaged = tmp_path / "e.txt", tmp_path / "b.txt", tmp_path / "d.npz"
    empty.write_text("\n\n")
    bytes_.write_bytes(b"abc \xc3\x28\n")
    damaged.write_bytes((folder / "lm.npz").read_bytes()[:-100])
    for arguments, message in (
        (["train", empty, "-o", tmp_path / "x.npz"], "empty"),
        (["train", bytes_, "-o", tmp_path / "x.npz"], "byte 4"),
        (["train", tmp_path / "none.txt", "-o", tmp_path / "x.npz"], "there is no file"),
        (["train", folder / "train.txt", "-o", tmp_path / "x.bin"], ".npz or .arpa"),
        (["perplexity", damaged, folder / "test.txt"], "damaged"),
        (["perplexity", folder / "lm.npz", empty], "empty"),
        (["correct", folder / "lm.npz", empty, "--errors", folder / "test.txt"], "line 1"),
    ):
        status, _, error = said(capsys, *arguments)
        assert status == 2, arguments
        assert message in error
        assert error.count("\n") == 1
