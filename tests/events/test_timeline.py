"""Counts: laws against enumeration, quantiles against their definition, periods."""

from datetime import date
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from howsure.errors import InputError
from howsure.events.timeline import (
    PERIODS,
    Hit,
    all_periods,
    comparison,
    difference_count,
    document_count,
    entity_count,
    more_than,
    next_start,
    period_name,
    period_start,
    timeline,
)
from howsure.posteriors.answers import CountLaw

probabilities = st.lists(st.floats(0, 1), max_size=9)


def enumerated(p):
    law = np.zeros(len(p) + 1)
    for outcome in product((0, 1), repeat=len(p)):
        law[sum(outcome)] += np.prod([q if o else 1 - q for q, o in zip(p, outcome, strict=True)])
    return law


@given(probabilities)
def test_documents_equal_enumeration(p):
    made, expected = document_count(np.array(p)), enumerated(p)
    assert np.allclose(made.probabilities, expected, atol=1e-13)
    assert made.mean == pytest.approx(sum(p), abs=1e-12)
    assert made.sd**2 == pytest.approx(sum(q * (1 - q) for q in p), abs=1e-10)


@given(probabilities, st.sampled_from([0.5, 0.8, 0.95]))
def test_quantiles_equal_their_definition_by_enumeration(p, level):
    law = enumerated(p)
    low, high = document_count(np.array(p)).interval(level)
    reached = [sum(law[: k + 1]) for k in range(len(law))]
    for got, wanted in ((low, (1 - level) / 2), (high, (1 + level) / 2)):
        assert reached[got] >= wanted - 1e-11
        assert got == 0 or reached[got - 1] < wanted + 1e-11
    assert sum(law[low : high + 1]) >= level - 1e-9


laws = st.lists(
    st.lists(st.floats(0.01, 1), min_size=1, max_size=4).map(lambda w: (np.array(w) / sum(w)).tolist()), max_size=4
)


@given(laws)
def test_entities_equal_enumeration(given_laws):
    made = entity_count(given_laws)
    expected = np.zeros(len(made.probabilities))
    for outcome in product(*(range(len(law)) for law in given_laws)):
        expected[sum(outcome)] += np.prod([law[k] for law, k in zip(given_laws, outcome, strict=True)])
    assert np.allclose(made.probabilities, expected, atol=1e-13)


joints = st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4).filter(lambda w: sum(w) > 0.1), max_size=5)


@given(joints)
def test_differences_of_two_actors_equal_enumeration(given_joints):
    tables = [np.array(w) / sum(w) for w in given_joints]  # neither, A only, B only, both
    law = difference_count(np.array([t[1] for t in tables]), np.array([t[2] for t in tables]))
    more = 0.0
    for outcome in product(range(4), repeat=len(tables)):
        step = sum((o == 1) - (o == 2) for o in outcome)
        more += np.prod([t[o] for t, o in zip(tables, outcome, strict=True)]) * (step > 0)
    assert law.above(0) == pytest.approx(more, abs=1e-12)
    assert law.probabilities.sum() == pytest.approx(1.0)


@given(probabilities, probabilities)
def test_more_than_another_period_equals_the_double_sum(p, q):
    a, b = enumerated(p), enumerated(q)
    expected = sum(a[i] * b[j] for i in range(len(a)) for j in range(len(b)) if i > j)
    assert more_than(document_count(np.array(p)), document_count(np.array(q))) == pytest.approx(expected, abs=1e-12)


def test_normal_intervals_dip_below_zero_where_quantiles_do_not():
    hits = [Hit(f"d{i}", date(1999, 5, i + 1), 0.1, (0.9, 0.1), 0) for i in range(3)]
    (count,) = timeline(hits, [date(1999, 5, 1), date(1999, 5, 20)], "month")
    assert count.normal[0] < 0 <= count.intervals[0.95][0]
    assert (count.n_documents, count.best) == (2, 0)
    assert count.mean == pytest.approx(0.3)


def test_timeline_has_empty_periods_and_compares_with_the_one_before():
    days = [date(1999, 1, 5), date(1999, 3, 5)]
    made = timeline([Hit("a", days[1], 1.0, (0.0, 0.5, 0.5), 2), Hit("u", None, 1.0, (0.0, 1.0), 1)], days, "month")
    assert [c.period for c in made] == ["1999-01", "1999-02", "1999-03"]
    assert [c.mean for c in made] == [0.0, 0.0, 1.0]
    assert [c.more_than_before for c in made] == [None, 0.0, 1.0]
    assert made[2].entities_mean == 1.5
    assert made[2].entities_best == 2


def test_comparison_uses_the_joint_of_a_document():
    day = date(1999, 1, 5)
    a, b = Hit("d", day, 0.5, (0.5, 0.5), 1), Hit("d", day, 0.5, (0.5, 0.5), 1)
    (together,) = comparison([a], [b], {"d": 0.5}, [day], "year")
    (apart,) = comparison([a], [b], {}, [day], "year")
    assert (together.more, together.fewer) == (0.0, 0.0)
    assert (apart.more, apart.fewer) == (0.5, 0.5)


@given(st.dates(date(1, 1, 8), date(9990, 1, 1)), st.sampled_from(PERIODS))
def test_a_day_is_in_its_period(day, every):
    start = period_start(day, every)
    assert start <= day < next_start(start, every)
    assert period_start(start, every) == start
    assert period_name(start, every) != period_name(next_start(start, every), every)


def test_too_many_periods_are_a_slip():
    with pytest.raises(InputError, match="Is a date wrong"):
        all_periods([date(1, 1, 1), date(1999, 1, 1)], "day")
    assert len(all_periods([date(1999, 1, 1), date(1999, 12, 31)], "quarter")) == 4


def test_repr_says_the_interval():
    assert repr(CountLaw(np.array([0.5, 0.5]))) == "CountLaw(mean 0.50, 95% between 0 and 1)"
