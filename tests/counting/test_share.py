"""The tilted score interval: against Wilson's, its laws, and its coverage by enumeration and on skew populations."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from howsure.counting.share import share_of_positives, tilted_limits


def share(items, labelled, positive, level=0.95):
    return share_of_positives(np.array(items), np.array(labelled), np.array(positive), level)


@pytest.mark.parametrize(("n", "k"), [(50, 10), (200, 30), (1_000, 300)])
def test_one_stratum_of_a_large_population_is_wilsons_interval_on_the_side_of_the_common_class(n, k):
    from scipy.stats import binomtest

    wilson = binomtest(k, n).proportion_ci(method="wilson")
    found = share([10**12], [n], [k])
    assert found.high == pytest.approx(wilson.high, abs=1e-9)
    assert found.low <= wilson.low + 1e-9  # skewness makes the other side wider
    assert found.low > wilson.low - 0.02


@st.composite
def samples(draw):
    size = draw(st.integers(1, 5))
    items = [draw(st.integers(1, 2_000)) for _ in range(size)]
    labelled = [draw(st.integers(1, min(i, 80))) for i in items]
    positive = [draw(st.integers(0, n)) for n in labelled]
    return items, labelled, positive


@given(samples())
def test_limits_never_contradict_the_labels(sample):
    items, labelled, positive = sample
    found = share(*sample)
    assert sum(positive) / sum(items) - 1e-12 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1 - (sum(labelled) - sum(positive)) / sum(items) + 1e-12


@given(samples())
def test_counting_the_others_mirrors_the_interval(sample):
    items, labelled, positive = sample
    one = share(*sample)
    other = share(items, labelled, [n - k for n, k in zip(labelled, positive, strict=True)])
    assert other.low == pytest.approx(1 - one.high, abs=1e-9)
    assert other.high == pytest.approx(1 - one.low, abs=1e-9)


@given(samples())
def test_the_order_of_strata_does_not_matter_and_empty_ones_are_none(sample):
    items, labelled, positive = sample
    one = share(*sample)
    other = share([0, *items[::-1]], [0, *labelled[::-1]], [0, *positive[::-1]])
    assert other.low == pytest.approx(one.low, abs=1e-12)
    assert other.high == pytest.approx(one.high, abs=1e-12)


def test_all_labelled_is_known():
    found = share([30, 70], [30, 70], [3, 10])
    assert (found.low, found.value, found.high) == pytest.approx((0.13, 0.13, 0.13))


def all_limits(items, labelled, positive):
    """The limits of `share` for all rows of `positive` at once."""
    items, positive = np.asarray(items, float), np.asarray(positive, float)
    return tilted_limits(
        items, np.broadcast_to(np.asarray(labelled, float), positive.shape), positive, norm.ppf(0.975)
    )[1:]


def test_many_samples_at_once_have_the_limits_of_each():
    items, n = [6_000, 2_500, 40], [15, 30, 40]
    positive = np.random.default_rng(0).binomial(n, [0.02, 0.3, 0.5], (20, 3))
    each = [share(items, n, k) for k in [[0, 0, 0], [1, 0, 0], *positive]]
    low, high = all_limits(items, n, [[0, 0, 0], [1, 0, 0], *positive])
    np.testing.assert_allclose(low, [x.low for x in each], atol=1e-12)
    np.testing.assert_allclose(high, [x.high for x in each], atol=1e-12)


@pytest.mark.parametrize("p", [(0.01, 0.3), (0.05, 0.5), (0.2, 0.2), (0.001, 0.02), (0.3, 0.9), (0.5, 0.5)])
@pytest.mark.parametrize("n", [(15, 15), (30, 10)])
def test_coverage_of_two_strata_by_enumeration(p, n):
    """Every pair of counts, weighted by its probability: no simulation error. A discrete law cannot always reach 95%."""
    items = [10**9, 2 * 10**8]
    truth = (p[0] * items[0] + p[1] * items[1]) / sum(items)
    k = np.array(list(product(range(n[0] + 1), range(n[1] + 1))))
    mass = binom.pmf(k, n, p).prod(1)
    k, mass = k[mass > 1e-9], mass[mass > 1e-9]
    low, high = all_limits(items, n, k)
    assert mass @ ((low <= truth) & (truth <= high)) > 0.93


@pytest.mark.parametrize("n", [(50,), (38, 4, 4, 4), (10, 10, 10)])
def test_coverage_of_rare_positives_by_enumeration(n):
    """From no positive label to a few: with a single one the limit is the exact mid-P one, and coverage never falls to 90%."""
    items = 10**6 * np.array([93, 4, 2, 1])[: len(n)]
    labelled = np.array([k for k in product(range(4), repeat=len(n)) if sum(k) < 4 and all(np.less_equal(k, n))])
    low, high = all_limits(items, n, labelled)
    for expected in np.geomspace(0.02, 0.4, 60):
        p = expected / sum(n)
        mass = binom.pmf(labelled, n, p).prod(1)
        covered = mass @ ((low <= p) & (p <= high)) + 1 - mass.sum()
        assert covered > 0.93


def test_a_single_positive_label_has_the_mid_p_limit():
    found = share([10**12], [60], [1])
    p = found.low
    assert binom.sf(1, 60, p) + binom.pmf(1, 60, p) / 2 == pytest.approx(0.025, abs=1e-6)
    assert share([10**12], [60], [2]).low > 3 * p


@pytest.mark.simulation
@pytest.mark.parametrize(("rate", "n"), [(0.0005, 400), (0.002, 200), (0.01, 50), (0.01, 400)])
def test_rare_positives_with_useless_probabilities(rate, n):
    rng = np.random.default_rng(8)
    items = np.array([6_000, 2_500, 1_000, 500])
    true = np.round(items * rate).astype(int)
    labelled = np.maximum(4, n * np.array([0.4, 0.3, 0.2, 0.1])).astype(int)

    truth = true.sum() / items.sum()
    low, high = all_limits(items, labelled, [rng.hypergeometric(true, items - true, labelled) for _ in range(600)])
    held = np.sum((low <= truth) & (truth <= high))
    assert held / 600 > 0.93 - 3 * (0.07 * 0.93 / 600) ** 0.5


def test_quantiles_of_skew_laws_are_those_of_the_calibration_errors():
    from howsure.calibration.estimation.estimate import wilson_hilferty
    from howsure.counting.share import pearson_quantiles

    skews = np.array([-2.8, -1.0, -1e-9, 0.0, 0.3, 2.8])
    for z in (-2.5, -1.96, 1.96):
        np.testing.assert_allclose(pearson_quantiles(skews, z), [wilson_hilferty(s, z) for s in skews.tolist()])
