"""Laws of ``cooperative-lag-aware``, on random groups, and compared with all plans of small groups."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.lag.lags import moves_lower_bound
from kafka_assignors.errors import ProblemError
from kafka_assignors.plan import (
    Assignment,
    Group,
    lag_lower_bound,
    plan_cooperative_lag_aware,
    plan_lag_aware,
    plan_sticky,
    quick_lag_bound,
    resolve,
)
from tests.support.plan import load_oracle, oracle
from tests.support.plan.builders import groups, lagging, member, next_generation, settled_groups, unequal
from tests.support.searching import times

TOLERANCE = 256  # a load at most this part above the least counts as the least

unlagged = st.one_of(groups(), groups(equal=True), settled_groups(), settled_groups(equal=True))
any_group = st.one_of(lagging(unlagged), unequal(lagging(unlagged)))
small_unlagged = st.one_of(
    groups(max_members=3, max_topics=3, max_partitions=2),
    groups(max_members=4, max_topics=2, max_partitions=2),
    groups(max_members=3, max_topics=1, max_partitions=6, equal=True),
)
small_group = st.one_of(lagging(small_unlagged), unequal(lagging(small_unlagged)))
any_skew = st.sampled_from((1, 1, 2, 3, None))


def planned(group: Group, skew: int | None = 1, gain: float = 0.1) -> Assignment:
    return plan_cooperative_lag_aware(group, resolve(group), max_partition_skew=skew, min_improvement=gain)


@given(group=any_group, skew=any_skew, gain=st.sampled_from((0, 0.1, 0.5)))
def test_counts_are_within_the_skew(group: Group, skew: int | None, gain: float) -> None:
    plan = oracle.by_partition(planned(group, skew, gain))
    assert load_oracle.within_skew(group, plan, skew)


@given(group=any_group)
def test_skew_of_one_is_as_fair_as_sticky(group: Group) -> None:
    squares = (planned(group, 1, 0).counts ** 2).sum()
    assert squares == (plan_sticky(group, resolve(group)).counts ** 2).sum()


@given(group=any_group, skew=any_skew, gain=st.sampled_from((0, 0.01, 0.1, 0.5)))
def test_second_plan_with_the_same_lag_changes_nothing(group: Group, skew: int | None, gain: float) -> None:
    """Planning again with the same lag changes nothing."""
    plan = planned(group, skew, gain)
    assert planned(next_generation(group, plan, 9), skew, gain) == plan


@given(group=lagging(unlagged), skew=any_skew, capacity=st.sampled_from((2.0**-10, 0.3, 2.0, 1024.0)))
def test_equal_capacities_change_nothing(group: Group, skew: int | None, capacity: float) -> None:
    same = replace(group, members=tuple(replace(m, capacity=capacity) for m in group.members))
    assert (planned(same, skew).owners == planned(group, skew).owners).all()
    assert (plan_lag_aware(same).owners == plan_lag_aware(group).owners).all()
    assert lag_lower_bound(same) == lag_lower_bound(group)


@given(group=st.one_of(unlagged, unequal(unlagged)), nothing=st.sampled_from((-1, 0)))
def test_plan_without_lag_is_the_plan_of_sticky(group: Group, nothing: int) -> None:
    """Without lag, and with unknown lag."""
    group = replace(group, lags={topic: [nothing] * count for topic, count in group.topics.items()})
    assert planned(group) == plan_sticky(group, resolve(group))


@given(group=any_group, skew=any_skew)
def test_load_is_no_worse_than_greedy_where_greedy_keeps_the_counts(group: Group, skew: int | None) -> None:
    greedy = oracle.by_partition(plan_lag_aware(group))
    if load_oracle.within_skew(group, greedy, skew):
        plan = oracle.by_partition(planned(group, skew, 0))
        assert load_oracle.largest(group, plan) <= load_oracle.largest(group, greedy)


@given(group=any_group, skew=any_skew)
def test_no_plan_is_below_the_bounds(group: Group, skew: int | None) -> None:
    plan = planned(group, skew, 0)
    owner_of = oracle.by_partition(plan)
    load = load_oracle.largest(group, owner_of)
    assert max(lag_lower_bound(group), quick_lag_bound(group)) <= load
    assert moves_lower_bound(group, resolve(group), load) <= load_oracle.moves(group, owner_of)


@settings(max_examples=times(0.75))
@given(group=small_group, skew=any_skew)
def test_small_groups_get_the_least_load(group: Group, skew: int | None) -> None:
    """All plans are tried; the lower bound is at most the least load."""
    best = load_oracle.best_by_trying(group, skew)
    load = load_oracle.largest(group, oracle.by_partition(planned(group, skew, 0)))
    assert load <= best.load + best.load // TOLERANCE
    assert max(lag_lower_bound(group), quick_lag_bound(group)) <= best.load


@settings(max_examples=times(0.75))
@given(group=small_group, skew=any_skew, gain=st.sampled_from((0.05, 0.1, 0.3)))
def test_small_groups_move_only_what_pays(group: Group, skew: int | None, gain: float) -> None:
    """Either only necessary moves are made, placed as evenly as possible, or the load falls by enough."""
    plan = oracle.by_partition(planned(group, skew, gain))
    best = load_oracle.best_by_trying(group, skew)
    moved, load = load_oracle.moves(group, plan), load_oracle.largest(group, plan)
    if moved > best.fewest_moves:
        assert load <= best.calm_load * (1 - gain)
    else:
        assert load == best.calm_load or not group.lag.any()
        assert best.load > (best.calm_load - 1) * (1 - gain) or load <= best.load * (1 + 1 / TOLERANCE)


@given(group=any_group, seed=st.integers(0, 2**32))
def test_small_changes_of_lag_move_nothing(group: Group, seed: int) -> None:
    rng = Random(seed)
    group = replace(
        group, lags={t: [rng.randint(0, 10**6) for _ in range(n)] for t, n in group.topics.items()}
    )
    plan = planned(group, 1, 0)
    then = replace(
        next_generation(group, plan, 9),
        lags={t: [round(lag * rng.uniform(0.98, 1.02)) for lag in lags] for t, lags in group.lags.items()},
    )
    assert planned(then) == plan


@pytest.mark.parametrize(
    "options", [{"skew": 0}, {"skew": -1}, {"gain": -0.1}, {"gain": 1}, {"gain": float("nan")}]
)
def test_options_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ProblemError, match="must be"):
        planned(Group((member("a"),), {"t0": 1}), **options)  # type: ignore[arg-type]
