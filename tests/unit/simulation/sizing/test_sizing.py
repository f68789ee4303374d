"""Sizes of groups small enough to compute by hand."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.simulation.sizing import Sizing, Target, size
from kafka_assignors.simulation.sizing.least import Search
from kafka_assignors.simulation.sizing.trials import SizeTrials
from tests.support.simulation.histories import (
    BY_LOAD,
    BY_RANGE,
    COOPERATIVE,
    COOPERATIVE_BY_LAG,
    STICKY,
    history,
)

TARGET = Target(30, headroom=0)
HOUR = 3600


def steps(sizing: Sizing) -> list[int]:
    return [step.least.members for step in sizing.steps]


def flat(*rates: list[int], **fields: float) -> Sizing:
    """Return the sizes for an hour a row of records/s by partition; members read 10 records/s."""
    load = history(*([HOUR * rate for rate in row] for row in rates), step_s=HOUR)
    return size(load, STICKY, Target(30, **fields))


@pytest.mark.parametrize(
    ("rate", "partitions", "headroom", "expected"),
    # A member reads two of eight partitions of 5 records/s, or one; or two of twelve of 4 records/s, or one.
    [(5, 8, 0, 4), (5, 8, 0.2, 8), (5, 8, 0.5, 8), (4, 12, 0, 6), (4, 12, 0.2, 6), (4, 12, 0.5, 12)],
)
def test_size_is_that_of_the_arrivals_and_the_headroom(
    rate: int, partitions: int, headroom: float, expected: int
) -> None:
    assert flat([rate] * partitions, headroom=headroom).advised == expected


def test_each_step_has_its_size_and_the_horizon_the_largest() -> None:
    sizing = flat([1] * 12, [5] * 12, [2] * 12, headroom=0)
    assert steps(sizing) == [2, 6, 3]
    assert sizing.horizon.members == 6
    assert [(step.starts_s, step.arriving) for step in sizing.steps] == [(0, 12), (3600, 60), (7200, 24)]


def test_reason_is_that_of_a_smaller_size_that_is_allowed() -> None:
    search, load = Search(SizeTrials(STICKY), TARGET), history([HOUR * 4] * 12, step_s=HOUR)
    assert (search.least(load, 10.0).members, search.least(load, 10.0, at_least=8).members) == (6, 8)
    assert search.least(load, 10.0).reason is not None
    assert search.least(load, 10.0, at_least=8).reason is None


def test_size_is_the_least_beyond_the_sizes_that_are_tried_one_by_one() -> None:
    """A member reads two partitions of 3.4 records/s, not three; the arrivals alone need 204 members."""
    load = history([12_240] * 600, step_s=HOUR)
    assert size(load, STICKY, TARGET).advised == 300


def test_peak_shorter_than_the_target_needs_no_member_more() -> None:
    load = history(*[[1000] * 2] * 10, *[[2000] * 2], *[[500] * 2] * 10, step_s=10, rate=200)
    # For 10 s members read half of the arrivals; the last record waits 10 s.
    assert size(load, STICKY, Target(10, headroom=0)).advised == 1
    assert size(load, STICKY, Target(9, headroom=0)).advised == 2


def test_present_lag_has_to_be_read_within_the_target() -> None:
    load = history([0] * 4, start=[300] * 4, step_s=HOUR)  # 30 s of one member each
    assert size(load, STICKY, TARGET).advised == 4
    assert size(load, STICKY, Target(60, headroom=0)).advised == 2
    assert size(load, STICKY, Target(120, headroom=0)).advised == 1
    assert size(load, STICKY, TARGET).behind == 0


def test_present_lag_too_large_for_one_member_gets_as_many_as_help() -> None:
    load = history([0] * 4, start=[3000] * 4, step_s=HOUR)
    sizing = size(load, STICKY, TARGET)
    assert (sizing.behind, sizing.hot, sizing.advised) == (4, (), 4)
    one = size(history([0] * 4, start=[3000, 0, 0, 0], step_s=HOUR), STICKY, TARGET)
    assert (one.behind, one.advised) == (1, 1)  # the others leave it the whole member


def test_backlog_of_many_horizons_is_simulated_without_its_steps() -> None:
    """A member reads the lag in 333,333 horizons; as many steps would take half a minute."""
    begin_s = time.process_time()
    sizing = size(history([0], start=[10_000_000], step_s=30, rate=1), STICKY, TARGET)
    assert (sizing.advised, sizing.behind) == (1, 1)
    assert time.process_time() - begin_s < 5


def test_group_is_scaled_within_the_shortest_horizon() -> None:
    sizing = size(history([1] * 4, step_s=0.001, rate=1000), STICKY, Target(0.0005), members=1)
    assert sizing.scale is not None
    assert sizing.scale.members == sizing.advised > 1


def test_hot_partition_is_named_with_the_partitions_that_would_do() -> None:
    sizing = flat([25, 1, 1, 1], headroom=0)
    (hot,) = sizing.hot
    assert (hot.topic, hot.partition, hot.arriving, hot.partitions) == ("t", 0, 25, 4)
    # 10 partitions get 10 records/s each; 30 s in an hour allow a little more.
    assert hot.enough == 10
    assert flat([10, 1], headroom=0).hot == ()


def test_hot_partition_counts_with_what_a_member_of_its_own_reads_in_time() -> None:
    assert flat([25, 1, 1, 1], headroom=0).advised == 4  # the plan is by number of partitions
    assert flat([25, 0, 0, 0], headroom=0).advised == 1
    assert flat([25] * 6, headroom=0).advised == 6
    minute = history([25 * 60, 60], *[[0, 60]] * 59, step_s=60)
    assert size(minute, STICKY, TARGET).advised == 2
    reason = flat([25, 1, 1, 1], headroom=0).horizon.reason
    assert reason is not None
    assert (reason.members, reason.partition, reason.arriving) == (3, 0, 25)
    assert reason.is_mostly_one_partition
    assert reason.time_lag_s > HOUR / 2  # of all its records


def test_partition_that_a_member_reads_only_without_headroom_shares_it_with_none() -> None:
    """Members read 10 records/s, and 8 are counted on: the first partition is too much for that."""
    sizing = flat([9, 3, 3, 3, 3, 3], headroom=0.2)
    assert [(hot.partition, hot.held) for hot in sizing.hot] == [(0, True)]
    assert (sizing.advised, sizing.holds) == (6, True)
    reason = sizing.horizon.reason
    assert reason is not None
    assert (reason.members, reason.rate, reason.member_arriving) == (5, 8, 12)
    beyond = flat([11, 3, 3, 3, 3, 3], headroom=0.2)
    assert ([hot.held for hot in beyond.hot], beyond.advised, beyond.holds) == ([False], 6, False)


def test_reason_names_the_partition_or_the_member_that_is_too_slow() -> None:
    reason = flat([9, 2, 2, 2], headroom=0).horizon.reason
    assert reason is not None
    assert (reason.members, reason.partition, reason.is_mostly_one_partition, reason.member_partitions) == (
        3,
        0,
        True,
        2,
    )
    reason = flat([4] * 6, headroom=0).horizon.reason
    assert reason is not None
    assert (reason.members, reason.is_mostly_one_partition, reason.member_partitions) == (2, False, 3)
    assert reason.member_arriving == pytest.approx(12)
    assert reason.rate == 10
    assert reason.time_lag_s > 30
    assert flat([1], headroom=0).horizon.reason is None


def test_strategy_that_cannot_hold_it_gets_the_least_size_that_is_as_good() -> None:
    load = history([HOUR * 6] * 4, step_s=HOUR, topics={"a": 2, "b": 2})
    by_range = size(load, BY_RANGE, TARGET)  # the first partitions of both topics go to one member
    assert (by_range.advised, by_range.holds) == (2, False)
    missed = by_range.horizon.missed
    assert missed is not None
    assert (missed.members, missed.member_partitions, missed.member_arriving) == (2, 2, 12)
    sticky = size(load, STICKY, TARGET)
    assert (sticky.advised, sticky.holds, sticky.horizon.missed) == (4, True, None)


def test_trials_last_until_all_is_read() -> None:
    topics = {f"t{number:02}": 1 for number in range(12)}
    load = history([HOUR * 3] * 12, step_s=HOUR, topics=topics)
    by_range = size(load, BY_RANGE, TARGET)  # one member gets all partitions, at any size
    assert (by_range.advised, by_range.holds) == (1, False)
    assert by_range.missed is not None
    assert by_range.missed.time_lag_s == pytest.approx(9_360)
    behind = history([0, 0], start=[360_000, 72_000], step_s=HOUR)  # 10 and 2 hours of a member
    assert size(behind, STICKY, TARGET).advised == 2


def test_group_shrinks_to_no_less_than_the_horizon_needs() -> None:
    """With the margin the first partition is too much for one member."""
    load = history(*[[HOUR * 9] + [HOUR * 3] * 3] * 2, step_s=HOUR)
    sizing = size(load, STICKY, Target(30, headroom=0), members=9)
    assert sizing.hot == ()
    assert sizing.advised >= sizing.horizon.members == 4


def test_plan_by_lag_needs_fewer_members_than_one_by_ranges() -> None:
    lag = [140, 130, 60, 10, 20, 100]
    load = history([0] * 6, start=lag, step_s=HOUR)
    by_lag, by_range = (size(load, strategy, TARGET).advised for strategy in (COOPERATIVE_BY_LAG, BY_RANGE))
    assert by_lag == 2
    assert by_range > by_lag


def test_group_grows_at_once_and_a_step_ahead_but_no_further() -> None:
    load = history(*[[HOUR * rate] * 12 for rate in (1, 2, 5, 1)], step_s=HOUR)
    advised = {now: size(load, STICKY, TARGET, members=now).advised for now in (1, 2, 3, 5, 6)}
    assert advised == {1: 3, 2: 3, 3: 3, 5: 5, 6: 6}


def test_group_shrinks_only_to_a_size_for_the_whole_horizon_with_a_margin() -> None:
    load = history(*[[HOUR * rate] * 12 for rate in (1, 5, 1)], step_s=HOUR)
    # Two partitions are 10 records/s, all that a member reads: no margin, so each gets a member.
    assert size(load, STICKY, TARGET, members=20).advised == 12
    assert size(load, STICKY, TARGET, members=8).advised == 8
    assert size(load.scaled(0.9), STICKY, TARGET, members=8).advised == 6


def test_last_advice_stays_while_members_start_or_crash() -> None:
    load = history(*[[HOUR * rate] * 12 for rate in (1, 2, 5, 1)], step_s=HOUR)  # 2, 3, 6 and 2 members
    assert size(load, STICKY, TARGET, members=4, stay_at=5).advised == 5
    assert size(load, STICKY, TARGET, members=1, stay_at=5).advised == 5
    assert size(load, STICKY, TARGET, members=5, stay_at=2).advised == 3


def test_costs_of_staying_and_scaling() -> None:
    load = history([HOUR * 4] * 12, step_s=HOUR)
    owners = np.arange(12) % 2
    sizing = size(load, COOPERATIVE, TARGET, members=2, owners=owners)
    assert (sizing.advised, sizing.is_right) == (6, False)
    assert sizing.stay is not None
    assert sizing.scale is not None
    assert (sizing.stay.members, sizing.stay.moved, sizing.stay.rebalances) == (2, 0, 0)
    assert sizing.stay.time_lag_s > HOUR / 2
    assert (sizing.scale.members, sizing.scale.moved, sizing.scale.rebalances) == (6, 8, 2)
    assert sizing.scale.pause_s > 0
    assert sizing.scale.time_lag_s < 30
    right = size(load, COOPERATIVE, TARGET, members=6)
    assert (right.is_right, right.scale) == (True, None)


@pytest.mark.parametrize("capacities", [(1, 3, 1, 3), (3, 1, 3, 1), (4, 2, 1, 1)])
def test_size_of_unequal_members_holds_with_their_own_capacities(capacities: tuple[float, ...]) -> None:
    load, owners = history([HOUR * 5] * 12, step_s=HOUR), np.arange(12) % 4
    sizing = size(load, COOPERATIVE_BY_LAG, TARGET, members=4, owners=owners, capacities=capacities)
    assert sizing.advised > 4
    assert sizing.stay is not None
    assert sizing.stay.time_lag_s == 1800
    assert sizing.scale is not None
    assert sizing.scale.time_lag_s < 30
    enough = load.scaled(2 / 3)  # 10 records/s for the slow members
    assert size(
        enough, COOPERATIVE_BY_LAG, TARGET, members=4, owners=owners, capacities=capacities, stay_at=4
    ).is_right


def test_group_whose_owners_fall_behind_grows_because_a_rebalance_would_do() -> None:
    """The slow members have three partitions, 15 records/s; a plan by the lag leaves them two."""
    load = history([HOUR * 5] * 10, start=[20] * 10, step_s=HOUR)
    owners = np.array([0, 0, 0, 2, 2, 2, 1, 1, 3, 3])
    sizing = size(load, COOPERATIVE_BY_LAG, TARGET, members=4, owners=owners, capacities=(1, 3, 1, 3))
    assert (sizing.advised, sizing.holds) == (5, True)
    assert sizing.old_plan is not None
    assert (sizing.old_plan.members, sizing.old_plan.member_partitions) == (4, 3)
    assert sizing.old_plan.member_arriving == pytest.approx(15, abs=0.1)
    planned = size(load, COOPERATIVE_BY_LAG, TARGET, members=4, capacities=(1, 3, 1, 3))
    assert (planned.advised, planned.old_plan) == (4, None)


HEAVY_TOGETHER = history([HOUR * rate for rate in (60, 5, 60, 5)], step_s=HOUR, rate=100.0)
"""A member reads 100 records/s."""


@pytest.mark.parametrize(
    ("members", "owners", "stay_at", "may_replan", "advised"),
    [
        (2, (0, 1, 0, 1), None, True, 3),
        (2, (0, 1, 0, 1), 3, False, 3),  # the newcomer is starting
        (4, (0, 1, 0, 1), 2, True, 5),  # an autoscaler may wait before it shrinks the group
        (3, (0, 1, 0, 2), 3, False, 3),  # the newcomer came, but the new plan is old, too
        (3, (0, 1, 2, 1), 3, True, 2),  # the new plan is right
    ],
)
def test_group_with_an_old_plan_grows_once_and_stays_until_the_plan_is_new(
    members: int, owners: tuple[int, ...], stay_at: int | None, may_replan: bool, advised: int
) -> None:
    sizing = size(
        HEAVY_TOGETHER,
        BY_LOAD,
        TARGET,
        members=members,
        owners=np.array(owners),
        stay_at=stay_at,
        may_replan=may_replan,
    )
    assert sizing.advised == advised
    assert (sizing.old_plan is None) == (advised == 2)
    assert sizing.stay is not None
    assert (sizing.stay.time_lag_s > 30) == (advised != 2)
    if sizing.scale is not None:
        assert sizing.scale.time_lag_s < 30, "the newcomer's rebalance plans by load"


def test_size_for_an_old_plan_that_does_not_hold_is_missed() -> None:
    """The counts of partitions keep the fast member from the heavy ones."""
    load = history(*[[200, 1200, 600, 50, 50]] * 2, step_s=60, rate=15)
    sizing = size(
        load, BY_LOAD, Target(10), members=4, owners=np.array([3, 0, 2, 2, 1]), capacities=(0.5, 0.5, 3, 0.5)
    )
    assert sizing.old_plan is not None
    assert (sizing.advised, sizing.holds) == (5, False)
    assert sizing.missed is not None


def test_load_of_later_steps_does_not_make_a_plan_old() -> None:
    load = history(*[[HOUR * rate] * 12 for rate in (1, 2, 5, 1)], step_s=HOUR)
    for strategy in (STICKY, COOPERATIVE, COOPERATIVE_BY_LAG, BY_LOAD):
        for members in (3, 5):
            sizing = size(load, strategy, TARGET, members=members, owners=np.arange(12) % members)
            assert (sizing.advised, sizing.old_plan) == (members, None)
    rates = (60, 60, 10, 10), (60, 10, 60, 10)
    later = history(*[[HOUR * rate for rate in row] for row in rates], step_s=HOUR, rate=100.0)
    assert size(later, BY_LOAD, Target(30), members=2, owners=np.array([0, 1, 0, 1])).old_plan is None


def test_plan_that_would_not_change_is_not_old() -> None:
    """Two members hold the target and three do not: the second of them gets both heavy partitions."""
    load = history([HOUR * rate for rate in (10, 10, 58, 58, 20)], step_s=HOUR, rate=100.0)
    sizing = size(load, BY_RANGE, Target(30), members=3, owners=np.array([0, 0, 1, 1, 2]))
    assert (sizing.horizon.members, sizing.advised, sizing.old_plan) == (2, 4, None)


def test_unequal_group_shrinks_only_if_it_may_lose_its_fastest_members() -> None:
    load = history([HOUR * 4] * 2 + [0] * 2, step_s=HOUR)
    owners = np.array([0, 0, 1, 2])
    sizes = [
        size(load, COOPERATIVE, TARGET, members=3, owners=owners, capacities=capacities).advised
        for capacities in ((4, 0.25, 0.25), (1, 1, 1))
    ]
    assert sizes == [3, 1]


def test_partition_that_only_the_fastest_member_reads_is_not_hot() -> None:
    load = history([HOUR * 25, HOUR], step_s=HOUR)
    unequal = size(load, COOPERATIVE_BY_LAG, TARGET, members=2, capacities=(4, 1))
    assert unequal.hot == ()
    assert (unequal.rate, unequal.fastest_rate) == (20, 40)
    (hot,) = size(load, COOPERATIVE_BY_LAG, TARGET, members=2, capacities=(2, 1)).hot
    assert hot.enough == 4  # for newcomers, which read 14.1 records/s


def test_rate_and_target_are_checked() -> None:
    with pytest.raises(OptionError, match="rate"):
        size(replace(history([1]), service_rate=None), STICKY, TARGET)
    with pytest.raises(OptionError, match="max_time_lag"):
        Target(0)
    with pytest.raises(OptionError, match="headroom"):
        Target(30, headroom=1)
