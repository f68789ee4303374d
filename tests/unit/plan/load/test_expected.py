"""Loads with forecasts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_assignors.plan import (
    UNKNOWN_LAG,
    Group,
    TopicPartition,
    enough_expected,
    plan_cooperative_lag_aware,
    resolve,
    with_expected,
)
from tests.support.plan.builders import member

T, U = ([TopicPartition(topic, p) for p in range(4)] for topic in "tu")


def group(t: list[int], u: list[int] | None = None) -> Group:
    lags = {"t": t} if u is None else {"t": t, "u": u}
    return Group((member("a", "t u"), member("b", "t u")), {"t": 4, "u": 4}, lags=lags)


def loads(
    of: Group, arrivals: dict[TopicPartition, float], lags: dict[TopicPartition, int] | None = None
) -> object:
    return dict(with_expected(of, arrivals, lags or {}).lags)


def test_load_is_lag_plus_forecast_in_whole_records() -> None:
    arrivals = {T[0]: 0.4, T[1]: 10.6, T[2]: 0.0, T[3]: 1.0}
    assert loads(group([1, 2, 3, 4]), arrivals) == {"t": [1, 13, 3, 5]}


def test_a_missing_forecast_is_the_mean_of_its_topic() -> None:
    """A forecast must not make a partition look heavier than one without."""
    assert loads(group([0, 0, 0, 7]), {T[0]: 10, T[1]: 20}) == {"t": [10, 20, 15, 22]}


def test_a_topic_without_forecasts_gets_the_mean_of_all() -> None:
    arrivals = {T[0]: 10.0, T[1]: 20.0, T[2]: 30.0, T[3]: 40.0}
    assert loads(group([0] * 4, [0, 0, 0, 5]), arrivals) == {"t": [10, 20, 30, 40], "u": [25, 25, 25, 30]}


def test_unknown_lag_is_that_of_the_feed_else_the_mean_of_its_topic() -> None:
    unknown = UNKNOWN_LAG
    of = group([unknown, 10, 20, unknown])
    assert loads(of, dict.fromkeys(T, 1.0), {T[0]: 300, T[1]: 400}) == {"t": [301, 11, 21, 111]}
    assert loads(group([unknown] * 4), dict.fromkeys(T, 5.0)) == {"t": [5] * 4}


def test_topics_without_lags_get_no_load() -> None:
    loaded = with_expected(group([1, 1, 1, 1]), {T[0]: 1, U[0]: 1000}, {})
    assert loaded.lags == {"t": [2, 2, 2, 2]}


@pytest.mark.parametrize(("count", "are"), [(0, False), (1, False), (2, True), (4, True)])
def test_half_of_the_partitions_are_enough(count: int, are: bool) -> None:
    arrivals = dict.fromkeys(T[:count], 0.0)
    assert enough_expected(group([5] * 4), {**arrivals, U[0]: 1.0, TopicPartition("v", 0): 1.0}) == are
    assert not enough_expected(Group((member("a"),), {"t": 4}), arrivals)


@given(
    st.lists(st.sampled_from([UNKNOWN_LAG, 0, 1, 2**62, 2**63 - 1]), min_size=4, max_size=4),
    st.dictionaries(st.sampled_from(T + U), st.floats(0, 1e300)),
)
def test_numbers_of_any_size_make_a_plan(lags: list[int], arrivals: dict[TopicPartition, float]) -> None:
    loaded = with_expected(group(lags, lags[::-1]), arrivals, {T[0]: 2**63 - 1})
    assert (loaded.known_lag >= 0).all()
    plan = plan_cooperative_lag_aware(loaded, resolve(loaded))
    assert (plan.owners >= 0).all()
