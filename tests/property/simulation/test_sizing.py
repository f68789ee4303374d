"""Least sizes of random groups, compared with every size tried, and laws of the advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from kafka_assignors.plan import Group, Member, resolve
from kafka_assignors.simulation import History, Scenario, Strategy, simulate
from kafka_assignors.simulation.churn import client_id, first_members
from kafka_assignors.simulation.history import Counts
from kafka_assignors.simulation.sizing import Target, size
from kafka_assignors.simulation.sizing.target import limits
from kafka_assignors.simulation.sizing.trials import SizeTrials
from tests.support.searching import times
from tests.support.simulation.histories import BY_LOAD, BY_RANGE, COOPERATIVE, EVERY, LAG_AWARE, STICKY

TARGETS = st.sampled_from([5.0, 30.0, 120.0]).map(lambda lag: Target(lag, headroom=0.2))
FEW = settings(max_examples=times(0.3), phases=(Phase.explicit, Phase.reuse, Phase.generate))
BY_COUNT = (BY_RANGE, STICKY, COOPERATIVE)


@st.composite
def loads(draw: st.DrawFn, lag: int = 2000) -> History:
    """Return a load of up to 8 partitions and 4 steps; a member reads 100 records/s."""
    partitions, steps = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    row = st.lists(st.integers(0, 90), min_size=partitions, max_size=partitions)
    rates = draw(st.lists(row, min_size=steps, max_size=steps))
    start = draw(st.lists(st.integers(0, lag), min_size=partitions, max_size=partitions))
    step_s = draw(st.sampled_from([60.0, 600.0]))
    arrivals = np.array(rates, np.int64) * int(step_s)
    return History("g", step_s, {"t": partitions}, arrivals, np.array(start), service_rate=100.0)


def lasting(load: History, target: Target) -> History:
    """Return the load, with its last step repeated until it is ten times as long as the target."""
    while load.length_s < 10 * target.max_time_lag_s:
        load = replace(load, arrivals=np.vstack([load.arrivals, load.arrivals[-1:]]))
    return load


def tried(load: History, strategy: Strategy, target: Target) -> int:
    """Return the least size that holds the target, by trying one after the other."""
    long = lasting(load, target)
    allowed = limits(long, 80.0, target)
    assume(not allowed.hot.any() and not allowed.behind.any())
    for members in range(1, load.partitions):
        outcome = simulate(long, Scenario("h", strategy, members, service_rate=80.0))
        if outcome.time_lag_max <= target.max_time_lag_s + 1e-3:
            return members
    return load.partitions


@FEW
@given(loads(lag=400), st.sampled_from(EVERY), TARGETS)
def test_size_of_the_horizon_is_the_least_of_all_sizes(
    load: History, strategy: Strategy, target: Target
) -> None:
    assert size(load, strategy, target).advised == tried(load, strategy, target)


@FEW
@given(loads(lag=400), st.sampled_from(EVERY), TARGETS, st.data())
def test_size_of_a_step_is_the_least_for_its_load(
    load: History, strategy: Strategy, target: Target, data: st.DataObject
) -> None:
    sizing = size(load, strategy, target)
    step = data.draw(st.integers(0, load.steps - 1))
    start = load.start_lags if step == 0 else np.zeros_like(load.start_lags)
    length = max(load.length_s, np.ceil(10 * target.max_time_lag_s / load.step_s) * load.step_s)
    arrivals = np.rint(load.arrivals[step : step + 1] * length / load.step_s).astype(np.int64)
    long = replace(load, step_s=length, arrivals=arrivals, start_lags=start)
    expected = min(tried(long, strategy, target), sizing.horizon.members)
    assert sizing.steps[step].least.members == expected


@st.composite
def steady_loads(draw: st.DrawFn) -> History:
    """Return hours of steady arrivals, also of partitions that receive more than one member reads."""
    rate = st.sampled_from([0, 3, 20, 40, 79, 80, 81, 99, 100, 101, 300])  # a member counts as 80 of its 100
    rates = draw(st.lists(rate, min_size=1, max_size=8))
    hour = np.array([rates], np.int64) * 3600
    return History("g", 3600.0, {"t": len(rates)}, hour, np.zeros(len(rates), np.int64), service_rate=100.0)


@FEW
@given(steady_loads(), st.sampled_from(BY_COUNT))
def test_hot_partition_takes_a_whole_member_and_the_others_get_what_they_need(
    load: History, strategy: Strategy
) -> None:
    """A hot partition counts as the 80 records/s of a member with headroom; no member may receive more."""
    arriving = np.minimum(load.arrivals[0] / 3600, 80.0)

    def holds(members: int) -> bool:
        names = first_members(members)
        group = Group(tuple(Member(name, frozenset(load.topics)) for name in names), load.topics)
        owners = strategy.plan(group, resolve(group)).owners
        return bool((np.bincount(owners, arriving) <= 80).all())

    least = next(members for members in range(1, load.partitions + 1) if holds(members))
    sizing = size(load, strategy, Target(1.0, headroom=0.2))
    assert (sizing.advised, len(sizing.hot)) == (least, int((load.arrivals[0] > 80 * 3600).sum()))


@FEW
@given(loads(lag=400), st.sampled_from((*EVERY, BY_LOAD)), TARGETS, st.data())
def test_size_of_a_running_group_is_the_least_of_all_sizes(
    load: History, strategy: Strategy, target: Target, data: st.DataObject
) -> None:
    """The members have owners and capacities.  Their plans, ``SizeTrials.owners``, are not checked here."""
    capacities = sorted(data.draw(st.lists(st.sampled_from([1.0, 2.0, 4.0]), min_size=1, max_size=4)))
    owner = st.integers(0, len(capacities) - 1)
    owners = np.array(data.draw(st.lists(owner, min_size=load.partitions, max_size=load.partitions)))
    long = lasting(load, target)
    allowed = limits(long, 80.0 * capacities[-1], target)
    assume(not allowed.hot.any() and not allowed.behind.any())
    trials = SizeTrials(strategy, len(capacities), owners, capacities)
    carried = long.start_lags + (long.arrivals.sum(axis=0) if strategy.by_load else 0)

    def holds(members: int) -> bool:
        rates = (capacities + [trials.newcomer] * members)[:members]
        names = first_members(members)
        everyone = first_members(max(members, len(capacities)))
        orders: list[Sequence[str]] = [everyone]
        if len(set(capacities)) > 1:
            ascending = sorted(everyone, key=client_id)
            orders = [ascending, ascending[::-1]]
        for order in orders:
            plan = trials.owners(members, carried, dict(load.topics), order)
            scenario = Scenario(
                "h",
                strategy,
                members,
                service_rate=80.0,
                capacities=dict(zip(names, rates, strict=True)),
                owners=tuple(names[number] for number in plan.tolist()),
            )
            if simulate(long, scenario).time_lag_max > target.max_time_lag_s + 1e-3:
                return False
        return True

    least = next((members for members in range(1, load.partitions) if holds(members)), load.partitions)
    sizing = size(
        load, strategy, target, members=len(capacities), owners=owners, capacities=tuple(capacities)
    )
    assume(sizing.horizon.missed is None)
    assert sizing.horizon.members == least


@FEW
@given(loads(lag=400), st.sampled_from((*EVERY, BY_LOAD)), TARGETS, st.integers(1, 8), st.data())
def test_group_with_an_old_plan_grows_to_a_size_that_holds(
    load: History, strategy: Strategy, target: Target, members: int, data: st.DataObject
) -> None:
    """The load lasts, so that now is the only step."""
    load = replace(load, arrivals=load.arrivals[:1], step_s=max(load.step_s, 10 * target.max_time_lag_s))
    allowed = limits(load, 80.0, target)
    assume(not allowed.hot.any() and not allowed.behind.any())
    owner = st.integers(0, members - 1)
    owners = np.array(data.draw(st.lists(owner, min_size=load.partitions, max_size=load.partitions)))
    trials = SizeTrials(strategy, members, owners, [1.0] * members)

    def time_lag(size: int, owned: Counts, rate: float) -> float:
        names = first_members(size)
        owners = tuple(names[number] for number in owned.tolist())
        return simulate(load, Scenario("h", strategy, size, service_rate=rate, owners=owners)).time_lag_max

    def planned(size: int) -> Counts:
        return trials.owners(size, trials.load(load), dict(load.topics), first_members(max(size, members)))

    sizing = size(load, strategy, target, members=members, owners=owners)
    is_late = time_lag(members, owners, 100.0) > 1.05 * (target.max_time_lag_s + 1e-3)
    would_do = time_lag(members, planned(members), 80.0) <= target.max_time_lag_s + 1e-3
    assert (sizing.old_plan is not None) == (is_late and would_do)
    if sizing.missed is None and (sizing.old_plan is not None or sizing.advised != members):
        assert time_lag(sizing.advised, planned(sizing.advised), 80.0) <= target.max_time_lag_s + 1e-3
    if sizing.old_plan is not None:
        assert sizing.advised > members
        new = planned(sizing.advised)
        after = size(load, strategy, target, members=sizing.advised, owners=new, stay_at=sizing.advised)
        assert (after.old_plan, after.advised <= sizing.advised) == (None, True)


@FEW
@given(loads(), st.sampled_from(EVERY), TARGETS, st.integers(1, 10))
def test_advice_followed_is_advice_that_stays(
    load: History, strategy: Strategy, target: Target, members: int
) -> None:
    advised = size(load, strategy, target, members=members).advised
    assert size(load, strategy, target, members=advised).advised == advised


@FEW
@given(loads(), st.sampled_from(EVERY), TARGETS, st.integers(1, 10))
def test_advice_is_within_the_sizes_of_now_and_of_the_horizon(
    load: History, strategy: Strategy, target: Target, members: int
) -> None:
    sizing = size(load, strategy, target, members=members)
    least = max(step.least.members for step in sizing.steps[:2])
    assert least <= sizing.horizon.members
    assert sizing.advised >= least
    # With more members, `range` may give neighbours to the same one, and `lag-aware` may make a worse plan.
    if strategy not in (BY_RANGE, LAG_AWARE):
        assert sizing.advised <= max(members, least)


@FEW
@given(loads(), st.sampled_from(BY_COUNT), TARGETS)
def test_faster_members_are_never_more(load: History, strategy: Strategy, target: Target) -> None:
    faster = replace(load, service_rate=150.0)
    assume(not limits(load, 80.0, target).hot.any() and not limits(load, 80.0, target).behind.any())
    assert size(faster, strategy, target).advised <= size(load, strategy, target).advised


@FEW
@given(loads(), st.sampled_from(BY_COUNT))
def test_longer_target_never_needs_more_members(load: History, strategy: Strategy) -> None:
    short, long = Target(60), Target(120)
    repeated = replace(load, arrivals=np.repeat(load.arrivals, 20, axis=0))  # tried as long for both
    assume(not limits(repeated, 80.0, short).hot.any())
    assert size(repeated, strategy, long).horizon.members <= size(repeated, strategy, short).horizon.members


@FEW
@given(
    loads(),
    st.sampled_from(BY_COUNT),
    TARGETS,
    st.tuples(st.sampled_from([1.1, 1.5, 3.0]), st.sampled_from([1, 4])),
    st.none() | st.integers(1, 10),
)
def test_higher_load_never_needs_fewer_members(
    load: History, strategy: Strategy, target: Target, growth: tuple[float, int], members: int | None
) -> None:
    """Also if partitions become too much for one member, and for a group of any size."""
    times_more, hotter = growth
    low = replace(load, arrivals=load.arrivals * hotter, start_lags=np.zeros_like(load.start_lags))
    high = replace(low, arrivals=np.ceil(low.arrivals * times_more).astype(np.int64))
    before, after = (size(each, strategy, target, members=members) for each in (low, high))
    assert after.horizon.members >= before.horizon.members
    assert after.advised >= before.advised
