"""Agreement coefficients against scikit-learn, krippendorff, statsmodels and published examples; their intervals."""

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

import howsure
from howsure.evaluation.annotation.agreement import (
    METRICS,
    Pairable,
    fleiss_kappa,
    krippendorff_alpha,
    mean_share,
    observed_agreement,
)
from howsure.evaluation.annotation.disagreement import annotator_pairs, confused_labels, disputed_items
from howsure.evaluation.annotation.ratings import made_ratings, ordered_labels


def ratings(matrix, groups=None, labels=None):
    """From (items, annotators), -1 where missing."""
    matrix = np.asarray(matrix)
    item, annotator = np.nonzero(matrix >= 0)
    k = int(matrix.max()) + 1
    return made_ratings(
        item,
        annotator,
        matrix[item, annotator],
        items=[f"{i:05}" for i in range(len(matrix))],
        annotators=[f"a{i}" for i in range(matrix.shape[1])],
        labels=labels or [str(i) for i in range(k)],
        groups=groups,
    )


def noisy(n, annotators, k, seed, missing=0.0, accuracy=0.6):
    rng = np.random.default_rng(seed)
    true = rng.integers(k, size=(n, 1))
    made = np.where(rng.random((n, annotators)) < accuracy, true, rng.integers(k, size=(n, annotators)))
    made[rng.random((n, annotators)) < missing] = -1
    made[0, 0] = k - 1
    return made


# Krippendorff's own example (Computing Krippendorff's alpha-reliability, 2011): 12 units, 4 observers, . is missing.
EXAMPLE = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]


def test_krippendorffs_published_example():
    matrix = np.array([[-1 if c == "." else int(c) - 1 for c in row] for row in EXAMPLE]).T
    found = [krippendorff_alpha(Pairable(ratings(matrix)), m, 0.95).value for m in METRICS]
    assert np.round(found, 3).tolist() == [0.743, 0.815, 0.849]


def test_fleiss_published_example():
    votes = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    made = fleiss_kappa(Pairable(ratings([np.repeat(np.arange(5), v) for v in votes])), 0.95)
    assert (round(made.value, 3), round(made.observed, 3), round(made.expected, 3)) == (0.210, 0.378, 0.213)


def test_two_annotators_who_say_noun_nine_times_of_ten_agree_by_chance_on_82_percent():
    x, y = np.zeros(100, int), np.zeros(100, int)
    x[:10], y[5:15] = 1, 1
    pair = annotator_pairs(ratings(np.stack([x, y], axis=1)), 0.95)[0]
    assert pair.kappa.expected == pytest.approx(0.82, abs=1e-12)


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_alpha_is_krippendorffs(k, missing):
    matrix = noisy(70, 4, k, k, missing)
    data = np.where(matrix < 0, np.nan, matrix).T
    for metric in METRICS:
        theirs = krippendorff.alpha(reliability_data=data, level_of_measurement=metric)
        assert krippendorff_alpha(Pairable(ratings(matrix)), metric, 0.95).value == pytest.approx(theirs, abs=1e-10)


@pytest.mark.parametrize("k", [2, 4])
def test_kappa_is_scikit_learns_and_fleiss_statsmodels(k):
    from statsmodels.stats.inter_rater import aggregate_raters  # here, as it imports much that no other test needs
    from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

    matrix = noisy(90, 3, k, 7 + k)
    made = ratings(matrix)
    assert fleiss_kappa(Pairable(made), 0.95).value == pytest.approx(
        statsmodels_fleiss(aggregate_raters(matrix)[0]), abs=1e-12
    )
    for pair in annotator_pairs(made, 0.95):
        x, y = (matrix[:, int(name[1:])] for name in (pair.a, pair.b))
        for c, weights in zip(
            [pair.kappa, *pair.coefficients[2:]], [None, "linear", "quadratic"][: 1 if k == 2 else 3], strict=True
        ):
            theirs = cohen_kappa_score(x, y, weights=weights, labels=np.arange(k))
            assert c.value == pytest.approx(theirs, abs=1e-12)
        both = np.concatenate([x, y])
        chance = np.sum((np.bincount(both) / len(both)) ** 2)
        assert pair.coefficients[1].value == pytest.approx((np.mean(x == y) - chance) / (1 - chance), abs=1e-12)


def all_values(matrix):
    made = ratings(matrix)
    p = Pairable(made)
    pair = next(q for q in annotator_pairs(made, 0.95) if (q.a, q.b) == ("a0", "a1"))
    found = [fleiss_kappa(p, 0.95), *(krippendorff_alpha(p, m, 0.95) for m in METRICS), *pair.coefficients]
    return np.array([c.value for c in found]), found


def test_standard_errors_are_those_of_leaving_items_out():
    matrix = noisy(150, 3, 4, 3, 0.15)
    whole, found = all_values(matrix)
    kept = np.array([all_values(np.delete(matrix, i, axis=0))[0] for i in range(len(matrix))])
    logs = np.log(1 - kept)
    jackknife = np.sqrt((len(matrix) - 1) / len(matrix) * np.sum((logs - logs.mean(axis=0)) ** 2, axis=0))
    ours = np.array([np.log((1 - c.low) / (1 - c.high)) / 2 for c in found])
    assert ours / (jackknife * 1.976) == pytest.approx(np.ones(len(ours)), rel=0.08)
    assert whole == pytest.approx([c.value for c in found])


def test_a_doubled_item_in_one_group_tells_nothing_new():
    matrix = noisy(60, 3, 3, 5)
    once = fleiss_kappa(Pairable(ratings(matrix)), 0.95)
    twice = fleiss_kappa(Pairable(ratings(np.repeat(matrix, 2, axis=0), groups=np.repeat(np.arange(60), 2))), 0.95)
    naive = fleiss_kappa(Pairable(ratings(np.repeat(matrix, 2, axis=0))), 0.95)
    assert (twice.value, twice.low, twice.high) == pytest.approx((once.value, once.low, once.high), abs=1e-12)
    assert naive.high - naive.low < 0.75 * (once.high - once.low)


@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(2, 5))
def test_order_of_rows_and_names_of_labels_make_no_difference(seed, annotators, k):
    rng = np.random.default_rng(seed)
    matrix = noisy(25, annotators, k, seed, 0.2)
    item, annotator = np.nonzero(matrix >= 0)
    shuffled = rng.permutation(len(item))
    renamed = rng.permutation(k)
    given_twice = []
    for order, names in ((np.arange(len(item)), np.arange(k)), (shuffled, renamed)):
        made = made_ratings(
            item[order],
            annotator[order],
            matrix[item[order], annotator[order]],
            items=[f"{i:02}" for i in range(25)],
            annotators=list("abcd"[:annotators]),
            labels=[f"L{i}" for i in names],
        )
        p = Pairable(made)
        found = [fleiss_kappa(p, 0.95), krippendorff_alpha(p, "nominal", 0.95)]
        found += [c for q in annotator_pairs(made, 0.95) for c in q.coefficients]
        given_twice.append([v for c in found for v in (c.value, c.low, c.high)])
    for x, y in zip(*given_twice, strict=True):
        assert x == (None if y is None else pytest.approx(y, abs=1e-9))


def test_undefined_cells_say_why():
    same = ratings(np.zeros((5, 2), int))
    for c in (fleiss_kappa(Pairable(same), 0.95), krippendorff_alpha(Pairable(same), "nominal", 0.95)):
        assert c.value is None
        assert "only one label" in c.reason
    assert "both used only the label '0'" in annotator_pairs(same, 0.95)[0].kappa.reason
    one = annotator_pairs(ratings([[0, 1], [1, -1]]), 0.95)[0].kappa
    assert (one.value, one.low, one.reason) == (0.0, None, "no interval: one item in common")
    alone = Pairable(ratings([[0, -1], [-1, 1]]))
    assert observed_agreement(alone, 0.95) is None
    assert krippendorff_alpha(alone, "nominal", 0.95).reason == "no item has two ratings"
    words = Pairable(ratings([[0, 1], [1, 1]], labels=["bad", "good"]))
    assert "`order=" in krippendorff_alpha(words, "ordinal", 0.95).reason


def test_perfect_agreement_is_not_certain():
    made = fleiss_kappa(Pairable(ratings(np.repeat([[0], [1]] * 10, 2, axis=1))), 0.95)
    assert (made.value, made.high) == (1.0, 1.0)
    assert made.low == pytest.approx(1 - (1 - 0.025 ** (1 / 20)) / 0.5)


def test_share_of_yes_or_no_is_wilsons():
    values = np.array([1.0] * 30 + [0.0] * 10)
    from scipy.stats import t

    z, n, p = t.ppf(0.975, 39), 40 * 39 / 40, 0.75
    middle, half = (
        (p + z * z / (2 * n)) / (1 + z * z / n),
        z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2),
    )
    made = mean_share(values, None, 0.95)
    assert (made.low, made.high) == pytest.approx((middle - half, middle + half))


def test_numbers_that_are_equal_are_one_label():
    names, values, codes = ordered_labels(["10", "2", "2.0"], None)
    assert (names, values.tolist(), codes.tolist()) == (("2", "10"), [2.0, 10.0], [1, 0, 0])
    assert ordered_labels(["b", "a"], ["b", "a"])[0] == ("b", "a")


def test_confused_labels_and_disputed_items():
    made = ratings([[0, 0, 1], [0, 1, 2], [2, 2, 2], [0, 0, 1]])
    p = Pairable(made)
    # Shares of differing pairs: items 1 and 4 give 2/3 each to (0, 1), item 2 a third to each pair.
    assert [(c.a, c.b, c.n_items) for c in confused_labels(made, p)] == [("0", "1", 3), ("0", "2", 1), ("1", "2", 1)]
    assert [c.share for c in confused_labels(made, p)] == pytest.approx([5 / 7, 1 / 7, 1 / 7])
    assert sum(c.chance for c in confused_labels(made, p)) == pytest.approx(1.0)
    assert [(d.item, d.described) for d in disputed_items(made, p)] == [
        ("00001", "0 1, 1 1, 2 1"),
        ("00000", "0 2, 1 1"),
        ("00003", "0 2, 1 1"),
    ]


@pytest.mark.simulation
def test_intervals_cover_with_and_without_groups():
    import importlib.util
    from pathlib import Path

    path = Path(__file__).parents[3] / "bench" / "coverage" / "agreement_coverage.py"
    spec = importlib.util.spec_from_file_location("agreement_coverage", path)
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    fair = study.WORLDS["3 labels, 3 fair annotators"]
    _, held = study.coverage(fair, 150, 250, 11, False)
    # 4 standard errors below; 12.5 misses are expected, 2 or fewer come up with probability 0.0003 (0.87 where 99.5% are covered).
    assert all(0.95 - 0.055 <= h < 1.0 - 2.5 / 250 for h in held.values())
    grouped = study.World(fair.prior, fair.accuracy, fair.habits, 0.0, 10)
    _, robust = study.coverage(grouped, 500, 200, 12, True)
    _, naive = study.coverage(grouped, 500, 200, 12, False)
    assert robust["nominal"] >= 0.9
    assert naive["nominal"] <= 0.91


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("coefficient", ["fleiss", "nominal", "ordinal", "interval"])
def test_influences_with_added_items_are_derivatives(coefficient, grouped):
    """Of log D_o/D_e by each item's weight, added items too; the limits follow from their squares."""
    from howsure.evaluation.annotation.agreement import AGREEING, DISAGREEING, _alpha, _fleiss

    matrix = noisy(14, 3, 3, 8)
    p = Pairable(ratings(matrix, groups=np.repeat(np.arange(7), 2) if grouped else None)).with_added_items()
    compute = (lambda q: _fleiss(q)[:3]) if coefficient == "fleiss" else (lambda q: _alpha(q, coefficient))
    unit = 2.0 if grouped else 1.0
    assert p.weight[14:] == pytest.approx([unit * AGREEING / 3] * 3 + [unit * DISAGREEING])
    observed, expected, influence = compute(p)
    total, step = p.weight.sum(), 1e-6
    for i in (0, 5, 14, 17):
        moved = []
        for sign in (1, -1):
            p.weight[i] += sign * step
            o, e, _ = compute(p)
            n = float(p.weight @ p.size)
            moved.append(np.log(o / e * (n / (n - 1) if coefficient != "fleiss" else 1.0)))
            p.weight[i] -= sign * step
        assert influence[i] / total == pytest.approx((moved[0] - moved[1]) / (2 * step), abs=1e-6)
    half = np.sqrt(influence[:14] ** 2 @ np.ones(14)) / total
    if not grouped:
        from scipy.stats import t

        extra = p.weight[14:] @ (influence[14:] / total) ** 2
        low, high = p.limits(observed, expected, influence, 0.95)
        expected_half = t.ppf(0.975, 13) * np.sqrt(14 / 13 * (half**2 + extra))
        assert np.log((1 - low) / (1 - high)) / 2 == pytest.approx(expected_half)


KRIPPENDORFF = """a 1 2 3 3 2 1 4 1 2 . . .
b 1 2 3 3 2 2 4 1 2 5 . 3
c . 3 3 3 2 3 4 2 2 5 1 .
d 1 2 3 3 2 4 4 1 2 5 1 ."""


def test_ac1_of_a_published_example():
    """12 items, 4 annotators, labels missing (Krippendorff): AC1 = 0.77544 in Gwet's own tables, α = 0.74342."""
    who = [line.split() for line in KRIPPENDORFF.splitlines()]
    rows = [(str(i), w, x) for w, *given in who for i, x in enumerate(given) if x != "."]
    made = howsure.agree(
        {"item": [r[0] for r in rows], "annotator": [r[1] for r in rows], "label": [r[2] for r in rows]}
    )
    ac1 = made.coefficients[-1]
    assert ac1.name == "Gwet's AC1"
    assert ac1.value == pytest.approx(0.77544, abs=5e-6)
    assert made.coefficients[1].value == pytest.approx(0.74342, abs=5e-6)
    assert ac1.low is None


@pytest.mark.parametrize("seed", range(3))
def test_ac1_by_counting_pairs(seed):
    rng = np.random.default_rng(seed)
    labels = rng.choice(["x", "y", "z"], (15, 3), p=[0.8, 0.15, 0.05])
    made = howsure.agree({w: labels[:, i] for i, w in enumerate("abc")}, annotators="a,b,c").coefficients[-1]
    same = np.mean([row[i] == row[j] for row in labels for i in range(3) for j in range(i)])
    share = {k: np.mean(labels == k) for k in np.unique(labels)}
    chance = sum(p * (1 - p) for p in share.values()) / (len(share) - 1)
    assert made.value == pytest.approx((same - chance) / (1 - chance), abs=1e-12)
    assert (made.observed, made.expected) == pytest.approx((same, chance))


def test_ac1_is_not_fooled_by_a_common_label():
    """118 + 5 + 2 + 0 of 125 (Gwet 2002): κ is below 0 although 94% agree; AC1 = 0.9408."""
    a = ["+"] * 123 + ["-"] * 2
    b = ["+"] * 118 + ["-"] * 5 + ["+"] * 2
    made = howsure.agree({"a": a, "b": b}, annotators="a,b")
    assert made.pairs[0].kappa.value < 0
    assert made.coefficients[-1].value == pytest.approx(0.9408, abs=5e-5)
    assert "Gwet's AC1" in made.to_text()
