"""Crossings of increasing functions, against bisection and known inverses."""

from math import exp, inf, log, tanh

import pytest
from scipy.optimize import bisect

from howsure.calibration.estimation.roots import FURTHEST, between, beyond


@pytest.mark.parametrize(
    "f", [lambda x: x**3 - 0.2, lambda x: exp(20 * x) - 2, lambda x: tanh(50 * (x - 0.3)), lambda x: x**9 - 1e-5]
)
def test_crossings_between_two_ends_are_those_of_bisection(f):
    asked = []

    def counted(x):
        asked.append(x)
        return f(x)

    assert between(counted, 0.0, f(0.0), 1.0, f(1.0)) == pytest.approx(bisect(f, 0.0, 1.0, xtol=1e-15), rel=1e-11)
    assert len(asked) < 60


@pytest.mark.parametrize("rate", [0.0, 1e-9, 1.0, 1e9])
def test_whatever_is_said_of_the_rate(rate):
    assert beyond(lambda x: exp(x) - 9.0, 0.0, rate) == pytest.approx(log(9.0), rel=1e-11)
    assert beyond(lambda x: x + 70.0, 3.0, rate) == pytest.approx(-70.0, rel=1e-11)


def test_a_function_that_never_crosses_is_followed_to_its_end():
    assert FURTHEST / 2 < beyond(lambda x: -exp(-max(x, -700.0)) - 0.1, 0.0, 1.0) < inf
    near = beyond(lambda x: -exp(-max(x, -700.0)), 0.0, 1.0, near=1e-12)
    assert exp(-near) <= 1e-12
