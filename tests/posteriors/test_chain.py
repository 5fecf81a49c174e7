"""Every query of a chain against brute force over all tag sequences."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.errors import InputError
from howsure.kernels.chains import in_step
from howsure.posteriors import chain_passes
from howsure.posteriors.chain import ChainPosterior

LENGTHS = (1, 4, 2, 5)
N_TAGS = 3


def random_parts(seed, lengths=LENGTHS, n_tags=N_TAGS, spread=2.0, forbidden=False):
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    parts = {
        "scores": rng.normal(size=(starts[-1], n_tags)) * spread,
        "transitions": rng.normal(size=(n_tags, n_tags)) * spread,
        "initial": rng.normal(size=n_tags) * spread,
        "final": rng.normal(size=n_tags) * spread,
    }
    if forbidden:
        parts["transitions"][0, 1] = parts["initial"][2] = -np.inf
    return parts, starts


def enumerated(parts, starts, sentence):
    """All sequences of a sentence with their log weights and probabilities."""
    a, z = starts[sentence], starts[sentence + 1]
    n_tags = parts["scores"].shape[1]
    sequences = np.array(list(product(range(n_tags), repeat=z - a)))
    log_weight = []
    for y in sequences:
        w = parts["initial"][y[0]] + parts["final"][y[-1]]
        w += sum(parts["scores"][a + t, k] for t, k in enumerate(y))
        w += sum(parts["transitions"][i, j] for i, j in pairwise(y))
        log_weight.append(w)
    log_weight = np.array(log_weight)
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    return sequences, log_weight, weight / weight.sum(), top + np.log(weight.sum())


@pytest.fixture(params=["numpy", "compiled", "in step"])
def way(request, monkeypatch):
    """All ways of computing."""
    if request.param == "in step":
        monkeypatch.setattr(in_step, "UNEVEN", np.inf)
    limit = 10**9 if request.param == "numpy" else -1
    monkeypatch.setattr(chain_passes, "COMPILE_FROM", limit)
    monkeypatch.setattr(chain_passes, "LOADED_FROM", limit)
    return request.param


@pytest.fixture(params=["plain", "forbidden"])
def case(request, way):
    parts, starts = random_parts(11, forbidden=request.param == "forbidden")
    return parts, starts, ChainPosterior(**parts, starts=starts, tags=("B-X", "I-X", "O"))


def test_marginals_partition_and_entropy(case):
    parts, starts, chain = case
    for s in range(len(LENGTHS)):
        y, _, p, log_z = enumerated(parts, starts, s)
        expected = np.stack([(p[:, None] * (y == k)).sum(axis=0) for k in range(N_TAGS)], axis=1)
        np.testing.assert_allclose(chain.marginals()[starts[s] : starts[s + 1]], expected, atol=1e-12)
        assert chain.log_partition[s] == pytest.approx(log_z, abs=1e-10)
        assert chain.entropy[s] == pytest.approx(-np.sum(p[p > 0] * np.log(p[p > 0])), abs=1e-10)
    np.testing.assert_array_equal(chain.mbr_tags(), chain.marginals().argmax(axis=1))


def test_pairs(case):
    parts, starts, chain = case
    streamed = {}
    expected_pairs = chain.pairs(
        [("B-X", "I-X"), ("O", "O")], lambda at, q: streamed.update(zip(at.tolist(), q.tolist(), strict=True))
    )
    total = np.zeros((N_TAGS, N_TAGS))
    for s in range(len(LENGTHS)):
        y, _, p, _ = enumerated(parts, starts, s)
        pairs = chain.pair_marginals(s)
        assert len(pairs) == LENGTHS[s] - 1
        for t in range(LENGTHS[s] - 1):
            brute = np.array([[p[(y[:, t] == i) & (y[:, t + 1] == j)].sum() for j in range(3)] for i in range(3)])
            np.testing.assert_allclose(pairs[t], brute, atol=1e-12)
            np.testing.assert_allclose(streamed.pop(starts[s] + t), [brute[0, 1], brute[2, 2]], atol=1e-12)
            total += brute
    assert not streamed
    np.testing.assert_allclose(expected_pairs, total, atol=1e-11)


def test_runs(case):
    parts, starts, chain = case
    for run in (("O",), ("B-X", "I-X"), ("O", "O", "B-X"), ("I-X", "I-X", "I-X", "O")):
        codes = chain.codes(run)
        answers = chain.tags_are(*run)
        made = dict(zip(answers.start.tolist(), answers.y_prob.tolist(), strict=True))
        for s in range(len(LENGTHS)):
            y, _, p, _ = enumerated(parts, starts, s)
            for t in range(LENGTHS[s] - len(run) + 1):
                brute = p[np.all(y[:, t : t + len(run)] == codes, axis=1)].sum()
                assert made.pop(starts[s] + t) == pytest.approx(brute, abs=1e-12)
        assert not made


def test_tag_and_run_questions_know_the_truth(case):
    _, _, chain = case
    gold = np.arange(chain.n_tokens) % 3
    np.testing.assert_array_equal(chain.tag_is("O").y_true(gold), gold == 2)
    answers = chain.tags_are("B-X", "I-X")
    np.testing.assert_array_equal(answers.y_true(gold), (gold[answers.start] == 0) & (gold[answers.start + 1] == 1))
    assert chain.tag_is("O").expected == pytest.approx(chain.marginals()[:, 2].sum())


def test_best_and_k_best(case):
    parts, starts, chain = case
    best = chain.k_best(7)
    one = chain.best()
    np.testing.assert_array_equal(one.tags[:, 0], best.tags[:, 0])
    for s in range(len(LENGTHS)):
        y, log_weight, p, _ = enumerated(parts, starts, s)
        order = np.argsort(-log_weight)[:7]
        possible = np.isfinite(log_weight[order])
        n = int(possible.sum())
        np.testing.assert_array_equal(best.tags[starts[s] : starts[s + 1], :n].T, y[order][:n])
        np.testing.assert_allclose(best.prob[s, :n], p[order][:n], atol=1e-12)
        assert np.all(np.isneginf(best.log_prob[s, n:]))
        assert len(np.unique(best.tags[starts[s] : starts[s + 1], :n], axis=1).T) == n


def test_diverse_lists_are_greedy_with_a_penalty_on_shared_tags(case):
    parts, starts, chain = case
    made = chain.diverse_best(3, 0.7)
    for s in range(len(LENGTHS)):
        y, log_weight, p, _ = enumerated(parts, starts, s)
        shared = np.zeros(len(y))
        for k in range(3):
            tags = made.tags[starts[s] : starts[s + 1], k]
            at = int(np.flatnonzero(np.all(y == tags, axis=1))[0])
            assert log_weight[at] - 0.7 * shared[at] == pytest.approx(np.max(log_weight - 0.7 * shared))
            assert made.prob[s, k] == pytest.approx(p[at], abs=1e-12)
            shared += np.sum(y == tags, axis=1)
    assert np.all(chain.diverse_best(2, 0.0).tags[:, 0] == chain.diverse_best(2, 0.0).tags[:, 1])
    with pytest.raises(InputError, match="penalty"):
        chain.diverse_best(2, -1.0)


def test_log_probability_of_a_sequence(case):
    parts, starts, chain = case
    y, log_weight, _, log_z = enumerated(parts, starts, 1)
    pick = int(np.argmax(log_weight))
    codes = np.zeros(chain.n_tokens, np.int64)
    codes[starts[1] : starts[2]] = y[pick]
    assert chain.log_probability(codes)[1] == pytest.approx(log_weight[pick] - log_z, abs=1e-10)
    codes[starts[1]] = -1
    assert np.isneginf(chain.log_probability(codes)[1])


def spans_of(y):
    """Spans of one BIO sequence over tags B-X, I-X, O, read left to right."""
    found, start = set(), None
    for t, k in enumerate([*y, 2]):
        if start is not None and k != 1:
            found.add((start, t))
            start = None
        if k == 0:
            start = t
    return found


def test_spans(case):
    parts, starts, chain = case
    every = [
        (starts[s] + a, starts[s] + b) for s, n in enumerate(LENGTHS) for a in range(n) for b in range(a + 1, n + 1)
    ]
    given_spans = chain.span_is("X", spans=every)
    searched = chain.span_is("X", least=1e-9)
    search = dict(zip(zip(searched.start.tolist(), searched.end.tolist(), strict=True), searched.y_prob, strict=True))
    for (a, b), q in zip(every, given_spans.y_prob, strict=True):
        s = int(np.searchsorted(starts, a, side="right")) - 1
        y, _, p, _ = enumerated(parts, starts, s)
        brute = sum(w for seq, w in zip(y, p, strict=True) if (a - starts[s], b - starts[s]) in spans_of(seq))
        assert q == pytest.approx(brute, abs=1e-12)
        assert search.get((a, b), 0.0) == pytest.approx(brute, abs=2e-9)
    gold = np.array([0, 0, 1, 2, 1, 2, 0, 1, 1, 2, 0, 1])
    truth = {
        (int(starts[s] + a), int(starts[s] + b)) for s in range(4) for a, b in spans_of(gold[starts[s] : starts[s + 1]])
    }
    asked = [e for e, y in zip(every, given_spans.y_true(gold), strict=True) if y]
    assert set(asked) == truth


def test_spans_that_say_where_they_end(way):
    tags = ("B-X", "I-X", "E-X", "S-X", "O")
    parts, starts = random_parts(4, (1, 4), 5)
    chain = ChainPosterior(**parts, starts=starts, tags=tags)
    every = [(0, 1)] + [(1 + a, 1 + b) for a in range(4) for b in range(a + 1, 5)]
    answers = chain.span_is("X", spans=every)
    for (a, b), q in zip(every, answers.y_prob, strict=True):
        s = int(a > 0)
        y, _, p, _ = enumerated(parts, starts, s)
        wanted = [3] if b == a + 1 else [0, *[1] * (b - a - 2), 2]
        inside = y[:, a - starts[s] : b - starts[s]]
        assert q == pytest.approx(p[np.all(inside == wanted, axis=1)].sum(), abs=1e-12)
    gold = np.array([3, 0, 2, 0, 1])  # the last span never ends
    assert [e for e, yes in zip(every, answers.y_true(gold), strict=True) if yes] == [(0, 1), (1, 3)]


def test_samples_follow_the_exact_distribution(way):
    parts, starts = random_parts(5, (3, 2), 3, spread=0.7)
    chain = ChainPosterior(**parts, starts=starts)
    n = 40_000
    drawn = chain.samples(n, rng=1)
    for s in range(2):
        y, _, p, _ = enumerated(parts, starts, s)
        code = drawn[:, starts[s] : starts[s + 1]] @ (3 ** np.arange(y.shape[1])[::-1])
        counts = np.bincount(code, minlength=len(y))
        chi_square = np.sum((counts - n * p) ** 2 / (n * p))
        degrees = len(p) - 1
        assert chi_square < degrees + 5 * np.sqrt(2 * degrees)


def test_samples_are_the_same_compiled_or_not_and_in_any_company(monkeypatch):
    parts, starts = random_parts(6, (3, 2, 7), 4)
    made = []
    for limit in (10**9, -1):
        monkeypatch.setattr(chain_passes, "COMPILE_FROM", limit)
        monkeypatch.setattr(chain_passes, "LOADED_FROM", limit)
        made.append(ChainPosterior(**parts, starts=starts).samples(50, rng=3))
    np.testing.assert_array_equal(*made)
    alone = ChainPosterior(**(parts | {"scores": parts["scores"][:5]}), starts=starts[:3]).samples(50, rng=3)
    np.testing.assert_array_equal(alone, made[0][:, :5])


def test_a_forbidden_tag_has_probability_zero(way):
    scores = np.array([[0.0, -np.inf], [1.0, 2.0]])
    assert ChainPosterior(scores, np.zeros((2, 2))).marginals()[0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("size", [1e4, -1e4])
def test_huge_scores_stay_finite(way, size):
    parts, starts = random_parts(7, (6, 3), 4)
    rng = np.random.default_rng(0)
    for name in ("scores", "transitions", "initial", "final"):
        parts[name] = np.where(rng.random(parts[name].shape) < 0.5, size, parts[name])
    for chosen in (parts, parts | {"transitions": np.zeros((4, 4))}):
        chain = ChainPosterior(**chosen, starts=starts)
        for made in (chain.marginals(), chain.log_partition, chain.entropy, chain.best().log_prob):
            assert np.isfinite(made).all()
        np.testing.assert_allclose(chain.marginals().sum(axis=1), 1.0, atol=1e-9)
        for s in range(2):
            y, _, p, log_z = enumerated(chosen, starts, s)
            brute = np.stack([(p[:, None] * (y == k)).sum(axis=0) for k in range(4)], axis=1)
            np.testing.assert_allclose(chain.marginals()[starts[s] : starts[s + 1]], brute, atol=1e-9)
            assert chain.log_partition[s] == pytest.approx(log_z, rel=1e-12)


def test_a_long_sentence(way):
    if way == "numpy":
        pytest.skip("long sentences run compiled")
    parts, starts = random_parts(8, (10_000,), 5)
    chain = ChainPosterior(**parts, starts=starts)
    np.testing.assert_allclose(chain.marginals().sum(axis=1), 1.0, atol=1e-9)
    assert np.isfinite(chain.log_partition).all()
    assert chain.k_best(3).log_prob[0, 0] >= chain.log_probability(chain.mbr_tags())[0]


def test_probability_space_and_log_space_agree(monkeypatch):
    parts, starts = random_parts(9, (40, 1, 25), 6, spread=20.0)
    monkeypatch.setattr(chain_passes, "COMPILE_FROM", -1)
    monkeypatch.setattr(chain_passes, "LOADED_FROM", -1)
    scaled = ChainPosterior(**parts, starts=starts)
    scaled_answers = scaled.marginals(), scaled.log_partition
    samples = scaled.samples(20, 2)
    monkeypatch.setattr(chain_passes, "WIDEST", -1.0)
    other = ChainPosterior(**parts, starts=starts)
    np.testing.assert_allclose(other.marginals(), scaled_answers[0], atol=1e-10)
    np.testing.assert_allclose(other.log_partition, scaled_answers[1], rtol=1e-12)
    np.testing.assert_array_equal(other.samples(20, 2), samples)


@pytest.mark.parametrize("n_tags", [1, 4, 8, 17, 49])
def test_sentences_in_step_agree_with_numpy(monkeypatch, n_tags):
    lengths = np.random.default_rng(n_tags).integers(1, 30, 77)
    parts, starts = random_parts(3, lengths, n_tags)
    names = [("0", str(n_tags - 1)), ("0", "0")]

    monkeypatch.setattr(in_step, "UNEVEN", np.inf)

    def answers(limit):
        monkeypatch.setattr(chain_passes, "COMPILE_FROM", limit)
        monkeypatch.setattr(chain_passes, "LOADED_FROM", limit)
        chain, seen = ChainPosterior(**parts, starts=starts), []
        assert chain._chain.goes_in_step() == (limit < 0)
        expected = ChainPosterior(**parts, starts=starts).pairs(names, lambda t, q: seen.append((t, q.copy())))
        at, q = (np.concatenate(x) for x in zip(*seen, strict=True))
        return chain.marginals(), chain.log_partition, expected, at, q

    monkeypatch.setattr(chain_passes, "PART", 300)
    for a, b in zip(answers(-1), answers(10**12), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_marginals_in_step_do_not_depend_on_the_company(monkeypatch):
    monkeypatch.setattr(chain_passes, "COMPILE_FROM", -1)
    monkeypatch.setattr(chain_passes, "LOADED_FROM", -1)
    monkeypatch.setattr(in_step, "UNEVEN", np.inf)
    parts, starts = random_parts(5, (7, 3, 12, 1, 9) * 14, 13)
    all_of_them = ChainPosterior(**parts, starts=starts)
    few = ChainPosterior(**{**parts, "scores": parts["scores"][: starts[3]]}, starts=starts[:4])
    np.testing.assert_array_equal(few.marginals(), all_of_them.marginals()[: starts[3]])
    np.testing.assert_array_equal(few.log_partition, all_of_them.log_partition[:3])


def test_tokens_that_share_rows_of_scores(way):
    """Words of an HMM: the same answers to every kind of question as with the scores written out."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 9, 70)
    parts, starts = random_parts(5, lengths=lengths)
    table, rows = rng.normal(size=(20, N_TAGS)) * 3.0, rng.integers(0, 20, starts[-1])
    table[3, 1] = -np.inf
    parts |= {"scores": table}
    shared = ChainPosterior(**parts, starts=starts, rows=rows)
    apart = ChainPosterior(**{**parts, "scores": table[rows]}, starts=starts)
    np.testing.assert_allclose(shared.marginals(), apart.marginals(), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(shared.log_partition, apart.log_partition, rtol=1e-12)
    np.testing.assert_allclose(
        shared.tempered(2.0).marginals(), apart.tempered(2.0).marginals(), rtol=1e-12, atol=1e-15
    )
    np.testing.assert_allclose(
        shared.tags_are("0", "2").y_prob, apart.tags_are("0", "2").y_prob, rtol=1e-12, atol=1e-15
    )
    assert (shared.n_tokens, shared.n_sentences) == (apart.n_tokens, apart.n_sentences)
    assert np.array_equal(shared.k_best(2).tags, apart.k_best(2).tags)
    assert np.array_equal(shared.samples(3, rng=0), apart.samples(3, rng=0))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 1, 2], "`rows` must lie between 0 and 1"),
        ([0, -1, 0], "`rows` must lie between 0 and 1"),
        ([0.0, 1.0, 0.0], "`rows` must hold the row of `scores` of each token"),
        ([[0], [1], [0]], "`rows` must hold the row of `scores` of each token"),
        ([0, 1], "end with 2; got 0 and 3"),
    ],
)
def test_bad_rows(rows, message):
    with pytest.raises(InputError, match=message):
        ChainPosterior(np.zeros((2, 3)), np.zeros((3, 3)), starts=[0, 3], rows=rows)


@given(st.integers(0, 10_000), st.floats(0.2, 5.0))
def test_tempering(seed, t):
    parts, starts = random_parts(seed, (3, 1), 3)
    chain = ChainPosterior(**parts, starts=starts)
    warm = chain.tempered(t)
    np.testing.assert_allclose(warm.tempered(1 / t).marginals(), chain.marginals(), atol=1e-9)
    np.testing.assert_array_equal(warm.best().tags, chain.best().tags)
    divided = ChainPosterior(**{k: v / t for k, v in parts.items()}, starts=starts)
    np.testing.assert_allclose(warm.marginals(), divided.marginals(), atol=1e-12)
    pairs = warm.pair_marginals(0)  # consistent with the marginals of the same chain
    np.testing.assert_allclose(pairs.sum(axis=2), warm.marginals()[:2], atol=1e-9)
    np.testing.assert_allclose(pairs.sum(axis=1), warm.marginals()[1:3], atol=1e-9)


@given(st.integers(0, 10_000))
def test_marginals_sum_to_one_and_shift_changes_nothing(seed):
    parts, starts = random_parts(seed, (2, 5), 4, spread=5.0)
    chain = ChainPosterior(**parts, starts=starts)
    np.testing.assert_allclose(chain.marginals().sum(axis=1), 1.0, atol=1e-9)
    moved = ChainPosterior(**{k: v + 3.0 for k, v in parts.items()}, starts=starts)
    np.testing.assert_allclose(moved.marginals(), chain.marginals(), atol=1e-9)
    assert np.all(chain.entropy <= np.diff(starts) * np.log(4) + 1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": [0, 2, 2, 5]}, "sentence 1 is empty"),
        ({"starts": [0, 4]}, "end with 5"),
        ({"scores": np.full((5, 3), np.nan)}, "finite numbers or -inf; got nan"),
        ({"scores": np.full((5, 3), np.inf)}, "got inf"),
        ({"scores": np.full((5, 3), -np.inf)}, "forbids every tag of token 0"),
        ({"transitions": np.zeros((2, 2))}, r"shape \(3, 3\)"),
        ({"transitions": np.full((3, 3), -np.inf)}, "no tag sequence is possible for sentence 0"),
        ({"initial": np.zeros(2)}, "`initial` must have shape"),
        ({"tags": ("A", "B", "A")}, "3 different tags"),
        ({"scores": [["a"]]}, "cannot be read"),
    ],
)
def test_bad_chains(change, message):
    good = {"scores": np.zeros((5, 3)), "transitions": np.zeros((3, 3)), "starts": [0, 2, 5]}
    with pytest.raises(InputError, match=message):
        ChainPosterior(**(good | change)).marginals()


def test_bad_questions():
    chain = ChainPosterior(np.zeros((3, 2)), np.zeros((2, 2)), tags=("NN", "B-PER"))
    with pytest.raises(InputError, match="Did you mean `NN`"):
        chain.tag_is("NNS")
    with pytest.raises(InputError, match="no spans of kind `LOC`"):
        chain.span_is("LOC")
    with pytest.raises(InputError, match="above 0"):
        chain.tempered(0)
    with pytest.raises(InputError, match="whole number"):
        chain.k_best(0)
    with pytest.raises(InputError, match="within the tokens"):
        chain.run_probability([2], ["NN", "NN"])
    with pytest.raises(InputError, match="start, end"):
        chain.span_is("PER", spans=[(2, 2)])
