"""The tilted score interval: against Wilson's, its laws, and its coverage by enumeration and on skew populations."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from howsure.counting.share import share_of_positives


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


@cache  # the limits do not depend on the truth
def of_two_strata(n, k):
    return share([10**9, 2 * 10**8], n, k)


@pytest.mark.parametrize("p", [(0.01, 0.3), (0.05, 0.5), (0.2, 0.2), (0.001, 0.02), (0.3, 0.9), (0.5, 0.5)])
@pytest.mark.parametrize("n", [(15, 15), (30, 10)])
def test_coverage_of_two_strata_by_enumeration(p, n):
    """Every pair of counts, weighted by its probability: no simulation error. A discrete law cannot always reach 95%."""
    truth = (p[0] * 10**9 + p[1] * 2 * 10**8) / (10**9 + 2 * 10**8)
    one, other = (binom.pmf(np.arange(most + 1), most, x) for most, x in zip(n, p, strict=True))
    covered = 0.0
    for k in product(range(n[0] + 1), range(n[1] + 1)):
        mass = one[k[0]] * other[k[1]]
        if mass > 1e-9:
            found = of_two_strata(n, k)
            covered += mass * (found.low <= truth <= found.high)
    assert covered > 0.93


@pytest.mark.parametrize("n", [(50,), (38, 4, 4, 4), (10, 10, 10)])
def test_coverage_of_rare_positives_by_enumeration(n):
    """From no positive label to a few: with a single one the limit is the exact mid-P one, and coverage never falls to 90%."""
    items = 10**6 * np.array([93, 4, 2, 1])[: len(n)]
    labelled = np.array([k for k in product(range(4), repeat=len(n)) if sum(k) < 4 and all(np.less_equal(k, n))])
    limits = [share(items, n, k) for k in labelled]
    low, high = (np.array([getattr(x, side) for x in limits]) for side in ("low", "high"))
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

    @cache  # rare positives: most samples are like another
    def holds(*positive):
        found = share_of_positives(items, labelled, np.array(positive))
        return found.low <= true.sum() / items.sum() <= found.high

    held = sum(holds(*rng.hypergeometric(true, items - true, labelled).tolist()) for _ in range(600))
    assert held / 600 > 0.93 - 3 * (0.07 * 0.93 / 600) ** 0.5


def test_quantiles_of_skew_laws_are_those_of_the_calibration_errors():
    from howsure.calibration.estimation.estimate import wilson_hilferty
    from howsure.counting.share import pearson_quantiles

    skews = np.array([-2.8, -1.0, -1e-9, 0.0, 0.3, 2.8])
    for z in (-2.5, -1.96, 1.96):
        np.testing.assert_allclose(pearson_quantiles(skews, z), [wilson_hilferty(s, z) for s in skews.tolist()])
