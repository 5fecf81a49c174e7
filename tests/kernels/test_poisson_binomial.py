"""The Poisson-binomial law against the one-by-one recursion and the binomial."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.kernels import poisson_binomial as module
from howsure.kernels.poisson_binomial import poisson_binomial


@given(st.lists(st.floats(0, 1), max_size=40))
def test_equals_adding_one_event_at_a_time(p):
    law = np.ones(1)
    for x in p:
        law = np.append(law * (1 - x), 0.0) + np.append(0.0, law * x)
    np.testing.assert_allclose(poisson_binomial(np.array(p)), law, rtol=1e-12, atol=1e-300)


def test_is_the_binomial_when_all_are_alike():
    expected = [comb(50, k) * 0.3**k * 0.7 ** (50 - k) for k in range(51)]
    np.testing.assert_allclose(poisson_binomial(np.full(50, 0.3)), expected, rtol=1e-11)


def test_fourier_and_direct_products_agree(monkeypatch):
    p = np.random.default_rng(0).random(1000)
    direct = poisson_binomial(p)
    monkeypatch.setattr(module, "DIRECT", 100)
    np.testing.assert_allclose(poisson_binomial(p), direct, atol=1e-14)
    assert direct.sum() == pytest.approx(1.0, abs=1e-12)
    assert direct @ np.arange(1001) == pytest.approx(p.sum())
