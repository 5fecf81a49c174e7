"""Evaluation, comparison, sampling, spelling and files."""

import math
from dataclasses import replace

import numpy as np
import pytest

from howsure.errors import InputError
from howsure.models.ngrams.arpa import read_arpa, write_arpa
from howsure.models.ngrams.comparison import compared, sign_flip_p_value
from howsure.models.ngrams.evaluation import evaluated, ratio_half_width
from howsure.models.ngrams.model import LanguageModel
from howsure.models.ngrams.smoothing import SMOOTHINGS
from howsure.models.ngrams.spelling import Corrector, error_model
from howsure.models.ngrams.training import trained
from howsure.models.ngrams.use import next_words, ranked, sampled, tempered


@pytest.fixture(scope="module")
def model(sentences):
    return trained(sentences, order=3, smoothing="modified-kneser-ney")


def test_numbers_of_words_are_checked_whatever_their_array_is(model, sentences):
    """A kernel would look them up wherever that is in memory."""
    ids = model.ids(sentences[:9])
    for asked in (model.log_probs, model.predictions, lambda ids: (model.distribution(ids),)):
        wide = np.repeat(ids, 2)
        wide.flags.writeable = False
        for same in (ids.astype(">i8"), ids.tolist(), wide[::2]):
            assert all(map(np.array_equal, asked(ids), asked(same)))
        assert len(asked([])) == len(asked(ids))
        for wrong in ([len(model.vocabulary)], [-1], [2**40], [0.5], ["a"], ids.reshape(1, -1)):
            with pytest.raises(InputError, match="whole numbers from 0 to"):
                asked(np.array(wrong))


def test_evaluation_adds_up(model, sentences):
    text = [*sentences[:20], "the fox saw a dragon"]
    e = evaluated(model, text)
    assert e.out_of_vocabulary == 1
    assert e.sentences == 21
    assert e.all_words.words == sum(len(s.split()) + 1 for s in text)
    assert e.all_words.bits == pytest.approx(-model.scores(text).sum() / math.log(2))
    assert e.known_words.words == e.all_words.words - 1
    assert e.no_ends.words == e.all_words.words - 21
    assert e.known_no_ends.words == e.all_words.words - 22
    assert e.all_words.low < e.all_words.per_word < e.all_words.high
    assert sum(e.matched) == e.all_words.words
    guesses = model.predictions(model.ids(text))[0]
    assert 0 < e.next_word_accuracy < 1
    assert e.next_word_accuracy == pytest.approx(np.mean((guesses == model.ids(text))[model.ids(text) != 1]))


@pytest.mark.parametrize("order", [2, 3, 5])
def test_the_index_gives_the_same_scores(sentences, order, monkeypatch):
    from howsure.models.ngrams import model as module

    made = trained(sentences, order=order, smoothing="katz")
    ids = made.ids([*sentences, "a dragon saw the hen hen", "moon fox the"])
    searched = made.log_probs(ids)
    monkeypatch.setattr(module, "INDEX_FROM", 0)
    indexed = made.log_probs(ids)
    assert "_index" in made.__dict__
    assert np.array_equal(searched[0], indexed[0])
    assert np.array_equal(searched[1], indexed[1])


def test_infinite_perplexity_is_explained(sentences):
    e = evaluated(trained(sentences, order=2, smoothing="mle"), ["moon moon moon"])
    assert math.isinf(e.perplexity)
    assert e.impossible > 0
    assert "witten-bell" in e.verdict
    assert e.to_dict()["perplexity"] is None


@pytest.mark.simulation
def test_the_interval_of_bits_covers():
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(400):
        sizes = rng.integers(3, 20, 60)
        sums = sizes * 2.0 + rng.normal(0, 1, 60) * np.sqrt(sizes) + rng.normal(0, 1, 60)
        half = ratio_half_width(sums, sizes, 0.95)
        covered += abs(sums.sum() / sizes.sum() - 2.0) <= half
    assert 0.92 <= covered / 400 <= 0.98


@pytest.mark.simulation
def test_the_sign_flip_test_has_its_level():
    rng = np.random.default_rng(9)
    p = np.array([sign_flip_p_value(rng.normal(0, 1 + (rng.random(40) > 0.8) * 5), rng, 199) for _ in range(400)])
    assert 0.025 <= np.mean(p <= 0.05) <= 0.085
    assert sign_flip_p_value(np.full(40, 0.3), rng, 999) == 1 / 1000


def test_comparison_finds_the_better_model_on_shared_words(model, sentences):
    worse = trained(sentences, order=1, smoothing="laplace", min_count=20)
    c = compared(model, worse, sentences[:50], names=("good", "bad"), rng=np.random.default_rng(0))
    assert c.difference > 0
    assert c.low > 0
    assert c.p_value < 0.01
    assert c.left_out > 0
    assert c.words + c.left_out == sum(len(s.split()) + 1 for s in sentences[:50])
    assert c.verdict.startswith("good predicts better than bad")
    same = compared(model, model, sentences[:50], rng=np.random.default_rng(0))
    assert same.difference == 0
    assert same.p_value == 1.0
    other = trained(sentences, order=2, smoothing="laplace", units="characters")
    with pytest.raises(InputError, match="read text differently"):
        compared(model, other, sentences, rng=np.random.default_rng(0))


@pytest.mark.parametrize("smoothing", sorted(SMOOTHINGS))
def test_files_keep_every_probability(sentences, smoothing, tmp_path):
    made = trained(sentences, order=3, smoothing=smoothing)
    made.save(tmp_path / "m.npz")
    write_arpa(made, tmp_path / "m.arpa")
    text = ["the fox saw a hen", "a moon met the old river", "dragon"]
    for again in (LanguageModel.load(tmp_path / "m.npz"), read_arpa(tmp_path / "m.arpa")):
        for a, b in zip(made.scores(text), again.scores(text), strict=True):
            assert (math.isinf(a) and math.isinf(b)) or a == pytest.approx(b, abs=1e-6)
    assert LanguageModel.load(tmp_path / "m.npz").settings == made.settings


def test_kenlm_reads_our_arpa(model, sentences, tmp_path):
    kenlm = pytest.importorskip("kenlm")
    write_arpa(model, tmp_path / "m.arpa")
    theirs = kenlm.Model(str(tmp_path / "m.arpa"))
    for text in [*sentences[:30], "the dragon saw a hen"]:
        assert theirs.score(text) * math.log(10) == pytest.approx(model.score(text), abs=1e-4)


def test_large_files_are_mapped(model, tmp_path, monkeypatch):
    from howsure.models import saved

    monkeypatch.setattr(saved, "_LARGE", 1)
    model.save(tmp_path / "m.npz")
    again = LanguageModel.load(tmp_path / "m.npz")
    assert not again.log_p.flags.owndata
    assert not again.log_p.flags.writeable
    assert again.log_p.ctypes.data % 64 == 0
    assert again.score("the fox saw a hen") == model.score("the fox saw a hen")
    with np.load(tmp_path / "m.npz") as plain:
        assert np.array_equal(plain["log_p"], model.log_p)


@pytest.mark.parametrize(("table", "value"), [("log_b", 2.0**31), ("log_p", 0.5)])
def test_a_number_that_no_model_has(model, tmp_path, table, value):
    changed = getattr(model, table).copy()
    changed[3] = value
    replace(model, **{table: changed}).save(tmp_path / "m.npz")
    with pytest.raises(InputError, match="damaged"):
        LanguageModel.load(tmp_path / "m.npz")


def test_damaged_files(model, tmp_path):
    path = tmp_path / "m.npz"
    model.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="damaged"):
        LanguageModel.load(path)
    broken = bytearray(whole)
    broken[len(whole) // 2] ^= 255
    path.write_bytes(bytes(broken))
    with pytest.raises(InputError, match="damaged"):
        LanguageModel.load(path)
    arpa = tmp_path / "m.arpa"
    write_arpa(model, arpa)
    lines = arpa.read_text().split("\n")
    at = lines.index("\\2-grams:") + 3
    arpa.write_text("\n".join([*lines[:at], "what is this", *lines[at + 1 :]]))
    with pytest.raises(InputError, match=f"line {at + 1}"):
        read_arpa(arpa)
    arpa.write_text("hello\n")
    with pytest.raises(InputError, match="not an ARPA file"):
        read_arpa(arpa)


def test_samples_follow_the_distribution(model):
    rng = np.random.default_rng(0)
    firsts = [sampled(model, 1, rng=rng).split()[0] for _ in range(600)]
    p = float(model.distribution("")[model.vocabulary.number("the")])
    spread = math.sqrt(p * (1 - p) / 600)
    assert abs(firsts.count("the") / 600 - p) < 4 * spread
    assert sampled(model, 30, rng=np.random.default_rng(3)) == sampled(model, 30, rng=np.random.default_rng(3))
    assert len(sampled(model, 30, rng=rng).split()) == 30


def test_temperature_and_top_k():
    p = np.array([0.5, 0.3, 0.2])
    assert tempered(p, 1.0, 1).tolist() == [1.0, 0.0, 0.0]
    assert tempered(p, 0.5, None) == pytest.approx(np.array([0.25, 0.09, 0.04]) / 0.38)
    assert tempered(p, 1.0, 2) == pytest.approx([0.625, 0.375, 0.0])


def test_next_words_and_ranking(model):
    found = next_words(model, "the old", 3).words
    assert found[0].word == "fox"
    assert found[0].log_prob >= found[1].log_prob
    assert ranked(model, ["hen a saw fox the", "the fox saw a hen"]).best[0].text == "the fox saw a hen"


@pytest.mark.parametrize("text", ["the fox saw a hen", "the hen", ""])
@pytest.mark.parametrize("running", [False, True])
def test_next_words_say_which_order_gave_them(sentences, text, running):
    made = trained(sentences, order=3, smoothing="katz", sentences=not running)
    for w in next_words(made, text, 4).words:
        ids = np.append(made.context_ids(text), made.vocabulary.number(w.word)).astype(np.int32)
        log_prob, matched = made.log_probs(ids)
        assert (w.log_prob, w.order) == (pytest.approx(log_prob[-1]), matched[-1])


PAIRS = [("teh", "the"), ("fxo", "fox"), ("foxx", "fox"), ("hne", "hen"), ("mon", "moon"), ("rivr", "river")] * 3


def test_the_corrector_weighs_channel_and_language(model):
    channel = error_model(PAIRS)
    fix = Corrector(model, channel)
    line, changes = fix.line("The fxo chasd a hne")
    assert line == "The fox chased a hen"
    assert [c.meant for c in changes] == ["fox", "chased", "hen"]
    assert sum(p for _, p in changes[0].candidates) <= 1.0 + 1e-12
    assert fix.word("zzzzzzzz").meant == "zzzzzzzz"
    # Swaps were taught, so that typing "fxo" is a likelier way to "fox" than two changes are.
    near = fix.candidates("fxo")
    assert near.costs[near.words == model.vocabulary.number("fox")][0] < -math.log(0.05) + 6.0


def test_edit_distances_are_those_of_a_recursion(model):
    from functools import cache

    from howsure.models.ngrams.spelling import codes

    def slow(a, b):
        @cache
        def d(i, j):
            if min(i, j) == 0:
                return max(i, j)
            best = min(d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                best = min(best, d(i - 2, j - 2) + 1)
            return best

        return d(len(a), len(b))

    from howsure.kernels.ngrams.edits_compiled import edit_distances, ready_edits

    ready_edits()
    rng = np.random.default_rng(1)
    words = ["".join("abc"[i] for i in rng.integers(0, 3, rng.integers(1, 7))) for _ in range(200)]
    text = np.concatenate([codes(w) for w in words]).astype(np.uint8)
    ends = np.cumsum([len(w) for w in words]).astype(np.int64)
    for typed in words[:10]:
        found = edit_distances(codes(typed), text, ends, 2)
        assert found.tolist() == [min(slow(typed, w), 3) for w in words]


def test_no_pairs_is_an_error():
    with pytest.raises(InputError, match="no pairs"):
        error_model([])


def test_an_arpa_file_that_announces_more_than_it_can_hold(tmp_path):
    path = tmp_path / "big.arpa"
    path.write_text("\\data\\\nngram 1=34359738368\n\n\\1-grams:\n-1 a\n\n\\end\\\n")
    with pytest.raises(InputError, match="announces 34,359,738,368 n-grams"):
        read_arpa(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-1e400\ta", "line 5: not a line of a 1-gram"),
        ("-1e-99999999999999999999\ta", None),
        (f"-{'9' * 400}\ta", "line 5: not a line of a 1-gram"),
        ("0.5\ta", r"log probability above 0 \(0.5\)"),
        ("-0.5\ta\t60", r"back-off weight beyond reach \(10 to the 60\)"),
        ("-1\ta\x0bb", "holds white space"),
    ],
)
def test_numbers_and_words_of_an_arpa_file(tmp_path, line, said):
    path = tmp_path / "one.arpa"
    path.write_text(f"\\data\\\nngram 1=1\n\n\\1-grams:\n{line}\n\n\\end\\\n")
    if said is None:
        assert len(read_arpa(path).vocabulary) >= 1
    else:
        with pytest.raises(InputError, match=said):
            read_arpa(path)
