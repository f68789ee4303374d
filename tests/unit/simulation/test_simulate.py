"""Outcomes of simulations, compared to figures computed by hand."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.plan import Assignment, Claims, Group
from kafka_assignors.plan.load.skew import RebalanceOnSkew
from kafka_assignors.simulation import History, Outcome, Pauses, Scenario, Strategy, parse_churn, simulate
from kafka_assignors.simulation.churn import ChurnStep
from kafka_assignors.simulation.consumption import Consumption
from kafka_assignors.simulation.group import GroupModel
from tests.support.simulation.histories import (
    BY_RANGE,
    COOPERATIVE,
    COOPERATIVE_BY_LAG,
    NO_PAUSES,
    STICKY,
    history,
)

SETTLED = Pauses(heartbeat_s=2.0, join_s=0.5, refetch_s=0.25, warm_up_s=0.0, session_timeout_s=6.0)


def near(value: float | list[float]) -> object:
    return pytest.approx(value, abs=1e-6)


def churned(
    strategy: Strategy, members: int, *churn: ChurnStep, steps: list[list[int]], **options: Any
) -> Outcome:
    """Simulate a group that members join and leave, with known pauses."""
    settings: dict[str, Any] = {"churn": churn, "pauses": SETTLED, **options}
    return simulate(history(*steps), Scenario("h", strategy, members, **settings))


# --- one member -----------------------------------------------------------------------------------------


def test_backlog_without_arrivals_drains_in_records_over_rate() -> None:
    outcome = simulate(history([0], start=[100]), Scenario("h", BY_RANGE, 1))
    assert outcome.drain_s == near(10)
    assert outcome.recovery_s == near(10)
    assert (outcome.arrived, outcome.served, outcome.left) == (100, near(100), 0)
    assert (outcome.largest_lag, outcome.mean_lag) == (100, near(95))  # within the first second
    assert outcome.largest_member_lag == 100
    assert (outcome.moved, outcome.r_score, outcome.rebalances, outcome.pause_s) == (0, 0, 0, 0)


def test_history_of_one_step_whose_last_interval_is_rounded_short_is_drained() -> None:
    made = History("g", 7.7, {"t": 2}, np.array([[5, 5]]), np.zeros(2, np.int64), service_rate=1000.0)
    pauses = Pauses(heartbeat_s=0, join_s=0.001, refetch_s=0, warm_up_s=0, session_timeout_s=6, continuous=1)
    scenario = Scenario("h", COOPERATIVE, 1, churn=parse_churn("join@2.403"), pauses=pauses)
    outcome = simulate(made, scenario)
    assert (outcome.left, outcome.drain_s) == (0, near(0))


def test_backlog_with_arrivals_drains_in_lag_over_spare_rate() -> None:
    outcome = simulate(history(*[[6]] * 60, start=[100]), Scenario("h", BY_RANGE, 1))
    assert outcome.recovery_s == near(25)  # 100 / (10 - 6)
    assert outcome.drain_s == 0
    assert outcome.mean_lag == near(100 * 25 / 2 / 60)


def test_excess_arrivals_are_drained_after_the_end_of_the_history() -> None:
    outcome = simulate(history(*[[15]] * 20), Scenario("h", BY_RANGE, 1))
    assert outcome.largest_lag == near(100)
    assert outcome.drain_s == near(10)
    assert outcome.simulated_s == near(30)
    assert outcome.mean_lag == near(50)
    assert outcome.series is not None
    # At 20 s 200 records are read, and the next one arrived at 200 / 15 s.
    assert outcome.series.time_lag[20] == near(20 - 200 / 15)
    assert outcome.time_lag_max == near(30 - 20)  # right before the end


def test_drain_time_is_unknown_after_the_limit() -> None:
    outcome = simulate(history(*[[15]] * 20), Scenario("h", BY_RANGE, 1, drain_limit_s=4))
    assert (outcome.drain_s, outcome.simulated_s) == (None, near(24))
    assert (outcome.left, outcome.served) == (near(60), near(240))
    assert outcome.recovery_s == 0  # there was no disturbance
    with_backlog = simulate(history(*[[15]] * 20, start=[5]), Scenario("h", BY_RANGE, 1, drain_limit_s=4))
    assert with_backlog.recovery_s is None


def test_limit_after_the_history_is_its_length_and_at_least_an_hour() -> None:
    outcome = simulate(history(*[[63_000]] * 2, step_s=3600), Scenario("h", BY_RANGE, 1))
    assert outcome.drain_s == near(5400)
    short = simulate(history([0], start=[40_000]), Scenario("h", BY_RANGE, 1))
    assert (short.drain_s, short.simulated_s) == (None, near(3601))


def test_percentiles_of_time_lag_are_over_partitions_and_time() -> None:
    """The time lag of one partition is 0, that of the other rises by 1/3 s a second."""
    outcome = simulate(history(*[[15, 5]] * 100), Scenario("h", BY_RANGE, 2))
    assert outcome.time_lag_p50 == 0
    assert outcome.time_lag_p99 == near(0.98 * 100 / 3)
    assert outcome.series is not None
    assert outcome.series.time_lag[:101].tolist() == near([n / 3 for n in range(101)])


def test_pace_and_rate_change_the_drain_time() -> None:
    loaded = replace(history(*[[0]] * 20, start=[100]), pace=np.array([0.5] * 10 + [2.0] * 10))
    assert simulate(loaded, Scenario("h", BY_RANGE, 1)).drain_s == near(12.5)
    assert simulate(loaded, Scenario("h", BY_RANGE, 1, service_rate=20.0)).drain_s == near(10)
    assert simulate(loaded, Scenario("h", BY_RANGE, 1, capacities={"m1": 2.0})).drain_s == near(10)


def test_plans_and_reading_follow_capacity() -> None:
    """A plan without capacities gives the heavy partition to the same member, fast or slow."""

    def plan_equal(group: Group, claims: Claims) -> Assignment:
        equal = replace(group, members=tuple(replace(member, capacity=1.0) for member in group.members))
        return COOPERATIVE_BY_LAG.plan(equal, claims)

    without_capacity = replace(COOPERATIVE_BY_LAG, plan=plan_equal)
    loaded = history([0, 0], start=[90, 30])
    as_equals: list[float] = []
    for fast in ("m1", "m2"):
        by_capacity = simulate(loaded, Scenario("h", COOPERATIVE_BY_LAG, 2, capacities={fast: 3.0}))
        assert by_capacity.drain_s == near(3)
        outcome = simulate(loaded, Scenario("h", without_capacity, 2, capacities={fast: 3.0}))
        as_equals.append(outcome.drain_s or 0.0)
    assert sorted(as_equals) == near([3, 9])
    with pytest.raises(OptionError, match=r"'capacities': expected from 0\.0009765625 to 1024 for m2, got 0"):
        Scenario("h", COOPERATIVE_BY_LAG, 2, capacities={"m2": 0})


def test_imbalance_is_weighted_by_capacity() -> None:
    loads = []
    for capacities in (None, [1.0, 3.0]):
        group = GroupModel(COOPERATIVE_BY_LAG, {"t": 2}, ["m1", "m2"], capacities)
        group.join(0)
        group.join(1)
        group.settle(np.array([0, 1]))
        loads.append(group.imbalance(np.array([90, 30]), lambda *_loads: True))
    assert loads == [(90, 90), (270, 90)]


# --- an eager round -------------------------------------------------------------------------------------


def test_eager_round_stops_all_members() -> None:
    """Members know of the round at 11 s; it ends at 11.5 s; they get records from 11.75 s on."""
    outcome = churned(STICKY, 2, ChurnStep("join", 10), steps=[[4, 4]] * 30)
    assert outcome.rebalances == 1
    assert outcome.moved == 0  # two partitions, three members
    assert outcome.largest_lag == near(8 * 0.75)
    assert outcome.pause_s == near(2 * 0.75 + 1.75)  # the third member waits from its join on
    assert outcome.unserved_s == near(2 * 0.75)
    assert outcome.recovery_s == near(1.75 + 3 / (10 - 4))


def test_group_that_settles_with_the_last_event_has_recovered() -> None:
    """The round of the join at 29 s ends after the last arrival, with no lag."""
    outcome = churned(STICKY, 2, ChurnStep("join", 29), steps=[[4, 4]] * 30)
    assert outcome.recovery_s == near(1.75)


def test_member_warms_up_gained_partitions_but_not_returned_ones() -> None:
    pauses = replace(SETTLED, warm_up_s=2.0)
    outcome = churned(STICKY, 1, ChurnStep("join", 10), steps=[[1, 1]] * 30, pauses=pauses)
    assert outcome.moved == 1
    assert outcome.pause_s == near(0.75 + 1.0 + 0.75 + 2.0)
    [move] = outcome.moves
    assert (move.giver, move.taker, move.at) == ("m1", "m2", near(11.5))
    assert outcome.r_score == near(1 / 10)


def test_new_member_joins_after_the_start_of_its_process() -> None:
    pauses = replace(SETTLED, start_s=3.0)
    [move] = churned(STICKY, 1, ChurnStep("join", 10), steps=[[1, 1]] * 30, pauses=pauses).moves
    assert move.at == near(14.5)


# --- cooperative rounds ---------------------------------------------------------------------------------


def test_cooperative_join_takes_two_rounds_and_one_move() -> None:
    """A member that revoked gets no records until the new one knows of round 2, a heartbeat later."""
    outcome = churned(COOPERATIVE, 1, ChurnStep("join", 10), steps=[[1, 1]] * 30)
    assert (outcome.rebalances, outcome.moved) == (2, 1)
    [move] = outcome.moves
    assert move.at == near(11.5 + 2 + 0.5)
    first = 3.0  # m1: from 11 s to 14 s
    second = 1.5 + 0.75  # m2: from 10 s to 11.5 s, when it gets nothing; from 13.5 s to its first records
    assert outcome.pause_s == near(first + second)
    # Both partitions from 11 s to 14 s, and the moved one until 14.25 s.
    assert outcome.unserved_s == near(2 * 3 + 0.25)


def test_member_that_revokes_nothing_reads_on_between_two_rounds() -> None:
    """A third member joins two with three partitions: m1 revokes one, m2 keeps its one."""
    outcome = churned(
        COOPERATIVE, 2, ChurnStep("join", 10), steps=[[1, 1, 1]] * 30, owners=("m1", "m1", "m2")
    )
    assert [(move.giver, move.taker) for move in outcome.moves] == [("m1", "m3")]
    m1, m2, m3 = 3.0, 0.5 + 0.5, 1.5 + 0.75
    assert outcome.pause_s == near(m1 + m2 + m3)


def test_cooperative_leave_takes_one_round() -> None:
    outcome = churned(COOPERATIVE, 2, ChurnStep("leave", 10), steps=[[1, 1]] * 30)
    assert (outcome.rebalances, outcome.moved) == (1, 1)
    assert outcome.pause_s == near(0.5 + 0.25)


def test_arrival_rate_is_the_mean_of_the_last_half_minute() -> None:
    """Nothing arrives in the step of the move; 40 records arrived 20 s before, and 80 earlier."""
    loaded = history([80, 80], [0, 0], [40, 40], [0, 0], [0, 0], [0, 0], step_s=10, rate=10)
    outcome = simulate(
        loaded,
        Scenario("h", STICKY, 1, churn=(ChurnStep("join", 48),), pauses=SETTLED, capacities={"m2": 0.4}),
    )
    [move] = outcome.moves
    assert (move.at, move.taker) == (near(49.5), "m2")
    assert outcome.r_score == near(40 / 30 / 4)


def test_rounds_of_one_rebalance_share_an_r_score() -> None:
    """The first round moves nothing, the second one partition; the leave is another rebalance."""
    outcome = churned(COOPERATIVE, 1, ChurnStep("join", 10), ChurnStep("leave", 30), steps=[[1, 1]] * 60)
    assert (outcome.rebalances, outcome.moved) == (3, 2)
    assert (outcome.r_score, outcome.r_score_mean) == (near(0.2), near(0.1))


# --- kills ----------------------------------------------------------------------------------------------


def test_killed_member_expires_after_the_session_timeout() -> None:
    """Killed at 10 s, expired 6 s after a heartbeat at 9 s, a round until 16.5 s, records at 16.75 s."""
    outcome = churned(COOPERATIVE, 2, ChurnStep("kill", 10), steps=[[2, 2]] * 40)
    [move] = outcome.moves
    assert move.at == near(15 + 1 + 0.5)
    assert outcome.largest_member_lag == near(2 * 6.75 + 2 * 0.75)
    assert outcome.unserved_s == near(6.75 + 0.75)
    assert outcome.recovery_s == near(6.75 + (13.5 + 1.5) / (10 - 4))


def test_round_waits_for_a_killed_member_to_expire() -> None:
    """Members know at 12 s of a join at 11 s; no member gets records until the killed one expires at 15 s."""
    outcome = churned(STICKY, 2, ChurnStep("kill", 10), ChurnStep("join", 11), steps=[[1, 1]] * 40)
    assert outcome.rebalances == 1
    assert outcome.moves[0].at == near(15)
    assert outcome.pause_s == near((15.25 - 12) + (15.25 - 11))


def test_leave_during_a_round_causes_no_other_round() -> None:
    outcome = churned(STICKY, 3, ChurnStep("join", 10), ChurnStep("leave", 11.25), steps=[[1, 1]] * 40)
    assert outcome.rebalances == 1


@pytest.mark.parametrize("step_s", [5, 10, 60, 300, 900])
def test_time_lag_after_a_kill_does_not_depend_on_the_step(step_s: int) -> None:
    """A partition has no reader for 34.75 s; then the survivor reduces its lag by 40 - 2 x 8 records/s."""
    loaded = history(*[[8 * step_s, 8 * step_s]] * (1800 // step_s), step_s=step_s, rate=40)
    scenario = Scenario(
        "h",
        COOPERATIVE,
        2,
        churn=(ChurnStep("kill", 437.0),),
        pauses=replace(SETTLED, session_timeout_s=34.0),
    )
    outcome = simulate(loaded, scenario)
    dead_s = (34 - 1) + 1 + 0.5 + 0.25
    assert outcome.time_lag_max == near(dead_s)
    behind_s = dead_s + dead_s * 8 / (40 - 2 * 8)
    # The survivor's own pause of 0.75 s is negligible.
    assert outcome.time_lag_p99 == pytest.approx(dead_s * (1 - 0.01 * 2 * 1800 / behind_s), abs=0.5)


# --- requested rebalances -------------------------------------------------------------------------------


def test_rebalances_are_requested_at_an_interval() -> None:
    outcome = simulate(history(*[[1]] * 35), Scenario("h", BY_RANGE, 1, pauses=SETTLED, replan_s=10))
    assert outcome.rebalances == 3
    assert outcome.moved == 0


def test_leader_requests_a_rebalance_when_lag_is_uneven_and_it_pays() -> None:
    """One member has two heavy partitions, the other two light ones; a swap evens them out."""
    policy = RebalanceOnSkew(threshold=1.2, at_least=10, for_s=5, check_s=1, cool_down_s=2, jitter=0)
    loaded = history(*[[9, 9, 0, 0]] * 60)
    uneven = Scenario("h", COOPERATIVE_BY_LAG, 2, pauses=SETTLED, owners=("m1", "m1", "m2", "m2"))
    unwatched = simulate(loaded, uneven)
    watched = simulate(loaded, replace(uneven, skew=policy))
    assert (unwatched.moved, unwatched.rebalances) == (0, 0)
    assert watched.moved == 2  # a swap, because both members keep two partitions
    assert watched.largest_lag < unwatched.largest_lag / 4
    by_count = simulate(loaded, replace(uneven, strategy=COOPERATIVE, skew=policy))
    assert by_count.moved == 0  # a rebalance by count would change nothing


def test_killed_leader_requests_no_rebalance() -> None:
    """Its partitions get uneven lag; the other member reads on until the leader expires."""
    policy = RebalanceOnSkew(threshold=1, at_least=1, for_s=1, check_s=0.5, cool_down_s=0, jitter=0)
    scenario = Scenario(
        "h",
        replace(COOPERATIVE_BY_LAG, min_improvement=0.0),
        2,
        churn=(ChurnStep("kill", 10),),
        pauses=SETTLED,
        owners=("m1", "m1", "m2", "m2"),
        skew=policy,
    )
    outcome = simulate(history(*[[2, 2, 2, 2]] * 40), scenario)
    assert (outcome.moved, outcome.rebalances) == (2, 1)
    assert outcome.pause_s == near(0.5 + 0.25)


def test_time_advances_though_the_remaining_lag_takes_less_than_a_float() -> None:
    """After a week, at 50,000 records/s, 2e-6 records are left."""
    work = Consumption(history([0], start=[1]), np.array([50_000.0, 0.0]))
    work.now = 604_800.0
    work.read = np.array([1 - 2e-6])
    assert work.now + work.lag()[0] / 50_000 == work.now
    assert work.empty_at(np.array([0])) > work.now


def recording(**options: Any) -> tuple[Strategy, list[list[int]]]:
    """A strategy, and the loads that it plans with."""
    planned_with: list[list[int]] = []

    def plan(group: Group, claims: Claims) -> Assignment:
        planned_with.append(list(group.lags["t"]))
        return COOPERATIVE_BY_LAG.plan(group, claims)

    return replace(COOPERATIVE_BY_LAG, plan=plan, **options), planned_with


def test_strategy_by_load_plans_with_forecasts() -> None:
    """There is no lag when m2 joins; only the forecast shows the heavy partitions."""
    strategy, planned_with = recording(by_load=True)
    plain = history(*[[0, 0, 0, 0]] * 40)
    loaded = replace(plain, expected=np.array([[500.0, np.nan, 400, 1]] * 40), horizon_s=55.0)
    joins = Scenario("h", strategy, 1, churn=(ChurnStep("join", 10),), pauses=SETTLED)
    simulate(loaded, replace(joins, forecast_delay_s=0.0))
    # A partition without a forecast counts as the mean of the others.
    # At the plan, 11.5 s after the start, the newest forecast is 0.5 s old: 54.5 of its 55 s are ahead.
    assert planned_with == [[0, 0, 0, 0], [495, 297, 396, 1], [495, 297, 396, 1]]
    planned_with.clear()
    simulate(loaded, replace(joins, forecast_delay_s=5.5))  # nine tenths of the horizon are ahead
    assert planned_with == [[0, 0, 0, 0], [450, 270, 360, 1], [450, 270, 360, 1]]
    planned_with.clear()
    simulate(loaded, replace(joins, forecast_delay_s=55.0))
    assert not np.any(planned_with), "the horizon is over before the forecast is known"


def test_members_report_their_last_fetch_and_both_rounds_use_the_same_lag() -> None:
    strategy, planned_with = recording(lag_refresh_s=10.0)
    churned(strategy, 1, ChurnStep("join", 24), steps=[[6, 6]] * 40)
    # The lag of each partition rises by 1 record/s; the last fetch before the round was at 20 s.
    assert planned_with == [[0, 0], [20, 20], [20, 20]]


# --- the rest -------------------------------------------------------------------------------------------


def test_series_has_the_start_and_the_end_of_each_step() -> None:
    outcome = churned(BY_RANGE, 2, ChurnStep("leave", 2), steps=[[15, 0]] * 4, pauses=NO_PAUSES)
    series = outcome.series
    assert series is not None
    assert series.at.tolist() == near([0, 1, 2, 3, 4, 5, 6])
    assert series.lag.tolist() == near([0, 5, 10, 15, 20, 10, 0])
    assert series.largest_member_lag.tolist() == series.lag.tolist()
    assert series.unowned_lag.tolist() == [0] * 7
    assert series.members.tolist() == [2, 2, 1, 1, 1, 1, 1]
    assert simulate(history([1]), Scenario("h", BY_RANGE, 1), series=False).series is None


def test_time_lags_by_partition_do_not_need_a_series() -> None:
    scenario = Scenario("h", BY_RANGE, 1, service_rate=10)
    outcomes = [simulate(history([30, 0]), scenario, series=series) for series in (True, False)]
    assert [outcome.time_lags.tolist() for outcome in outcomes] == [near([2, 0])] * 2


def test_lag_of_an_expired_member_is_unowned_until_the_round_ends() -> None:
    """Until the killed member expires, the lag counts as its own."""
    pauses = replace(SETTLED, heartbeat_s=4.0)
    outcome = churned(COOPERATIVE, 2, ChurnStep("kill", 10), steps=[[3, 3]] * 30, pauses=pauses)
    assert outcome.series is not None
    unowned = dict(zip(outcome.series.at.tolist(), outcome.series.unowned_lag.tolist(), strict=True))
    assert [unowned[t] for t in (13.0, 15.0, 16.0, 17.0)] == near([0, 15, 18, 0])


def test_churn_beyond_the_history_unknown_rate_and_wrong_owners_are_refused() -> None:
    with pytest.raises(OptionError, match=r"churn.*join m2 is not within the history of 10 s"):
        simulate(history(*[[1]] * 10), Scenario("h", BY_RANGE, 1, churn=parse_churn("join@10")))
    with pytest.raises(OptionError, match=r"service_rate.*give the records/s"):
        simulate(history([1], rate=None), Scenario("h", BY_RANGE, 1))
    with pytest.raises(OptionError, match=r"owners.*expected one for each of 1 partitions, got 2"):
        simulate(history([1]), Scenario("h", BY_RANGE, 1, owners=("m1", "m1")))


def test_figures_have_no_moves_and_series_and_outcomes_can_be_pickled() -> None:
    outcome = simulate(history([1]), Scenario("h", BY_RANGE, 1))
    assert {"moves", "series"}.isdisjoint(outcome.figures())
    assert pickle.loads(pickle.dumps(outcome)).figures() == outcome.figures()  # noqa: S301  # our own bytes


def test_continuous_members_pause_only_for_partitions_they_gain() -> None:
    """The moved partition waits only for the new member; the other one is read all the time."""
    pauses = replace(SETTLED, continuous=True)
    outcome = churned(COOPERATIVE, 1, ChurnStep("join", 10), steps=[[1, 1]] * 30, pauses=pauses)
    assert (outcome.rebalances, outcome.moved) == (2, 1)
    [move] = outcome.moves
    assert move.at == near(11.5 + 0.5)  # the second round follows at once
    # From its revocation until its new owner has the first records of it.
    assert outcome.unserved_s == near(0.5 + 0.25)


def test_continuous_members_read_on_while_the_group_waits_for_a_killed_one() -> None:
    pauses = replace(SETTLED, continuous=True)
    churn = (ChurnStep("kill", 10), ChurnStep("join", 11))
    stopped, continuous = (
        simulate(history(*[[1, 1, 1]] * 30), Scenario("h", COOPERATIVE, 3, churn=churn, pauses=each_pauses))
        for each_pauses in (SETTLED, pauses)
    )
    assert continuous.unserved_s < stopped.unserved_s - 5


def test_skew_is_not_checked_in_an_empty_group() -> None:
    """The only member leaves at 20 s; the other one joins at 39 s."""
    churn, pauses = parse_churn("join@9,leave@20"), replace(SETTLED, start_s=30.0)
    scenario = Scenario("h", COOPERATIVE_BY_LAG, 1, churn=churn, pauses=pauses, skew=RebalanceOnSkew())
    done = simulate(history(*[[1, 1]] * 60), scenario)
    assert (done.rebalances, done.moved, done.left) == (1, 2, 0)


@pytest.mark.parametrize("strategy", [BY_RANGE, COOPERATIVE_BY_LAG], ids=lambda strategy: strategy.name)
def test_group_is_empty_until_a_member_that_starts_has_joined(strategy: Strategy) -> None:
    """The only member leaves at 10 s; the other one starts at 9 s and joins at 12 s."""
    pauses = replace(SETTLED, start_s=3.0)
    churn = parse_churn("join@9,leave@10")
    done = simulate(history(*[[1, 1]] * 60), Scenario("h", strategy, 1, churn=churn, pauses=pauses))
    assert (done.rebalances, done.moved, done.left) == (1, 2, 0)
    assert min(move.at for move in done.moves) > 12


@pytest.mark.parametrize("kind", ["leave", "kill"])
def test_member_that_stops_while_it_starts_never_joins(kind: str) -> None:
    """The second member starts at 1 s and would join at 11 s; it and the first one stop before."""
    churn = parse_churn(f"join@1,join@2,leave@3,{kind}@4")
    scenario = Scenario("h", COOPERATIVE, 1, churn=churn, pauses=replace(SETTLED, start_s=10.0))
    done = simulate(history(*[[1, 1]] * 60), scenario)
    assert (done.rebalances, done.moved, done.left) == (1, 2, 0)
    assert {move.taker for move in done.moves} == {"m3"}
