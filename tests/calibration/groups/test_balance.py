"""Degrees of freedom of unequal groups: against Satterthwaite's formula done with matrices, pieces, and extremes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.calibration.groups.clusters import Balance

sizes = st.lists(st.integers(1, 10**6), min_size=2, max_size=30)


@given(sizes)
def test_the_closed_form_is_satterthwaites(given_sizes):
    """The variance estimate is a quadratic form S'AS of independent S_g with variance ∝ h_g: df = tr² / tr of squares."""
    h = np.array(given_sizes) / sum(given_sizes)
    centre = np.eye(len(h)) - np.outer(h, np.ones(len(h)))  # u = S - h ΣS
    form = np.sqrt(h)[:, None] * (centre.T @ np.diag(1 / (1 - h)) @ centre) * np.sqrt(h)
    df = np.trace(form) ** 2 / np.trace(form @ form)
    assert Balance.of(h).degrees == pytest.approx(df, rel=1e-6)


@given(sizes, st.integers(0, 30))
def test_pieces_add_up(given_sizes, cut):
    h = np.array(given_sizes) / sum(given_sizes)
    parts = Balance.of(h[:cut]) + Balance.of(h[cut:])
    assert parts.degrees == pytest.approx(Balance.of(h).degrees, rel=1e-9)


def test_equal_groups_have_one_less_than_their_number():
    assert Balance.of(np.full(40, 1 / 40)).degrees == pytest.approx(39)


@pytest.mark.parametrize("rest", [1e-3, 1e-6, 1e-9, 1e-12])
def test_one_group_that_is_nearly_all_does_not_cancel(rest):
    h = np.array([1 - rest, rest / 3, 2 * rest / 3])
    exact = [Fraction(float(x)) for x in h]
    beta = [x**2 / (1 - x) for x in exact]
    pairs = sum(beta[i] * beta[j] for i in range(3) for j in range(i))
    df = 1 / (sum(x**2 for x in exact) + 2 * pairs)
    assert Balance.of(h).degrees == pytest.approx(float(df), rel=1e-9)
    assert Balance.of(h).is_dominated
