"""What a simulation comes to, reckoned by hand."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from kafka_assignors.errors import OptionError
from kafka_assignors.plan import Assignment, Claims, Group
from kafka_assignors.plan.load.skew import RebalanceOnSkew
from kafka_assignors.simulation import History, Pauses, Scenario, Strategy, parse, simulate
from kafka_assignors.simulation.churn import Step
from kafka_assignors.simulation.work import Work
from tests.support.histories import BY_RANGE, COOPERATIVE, COOPERATIVE_BY_LAG, NO_PAUSES, STICKY, history

SETTLED = Pauses(heartbeat_s=2.0, join_s=0.5, refetch_s=0.25, warm_up_s=0.0, session_timeout_s=6.0)


def near(value: float) -> object:
    return pytest.approx(value, abs=1e-6)


# --- one member -----------------------------------------------------------------------------------------


def test_a_backlog_alone_takes_its_records_over_the_rate() -> None:
    done = simulate(history([0], start=[100]), Scenario("h", BY_RANGE, 1))
    assert done.drain_s == near(10)
    assert done.recovery_s == near(10)
    assert (done.arrived, done.served, done.left) == (100, near(100), 0)
    assert (done.largest_lag, done.mean_lag) == (100, near(95))  # of the first second
    assert done.largest_member_lag == 100
    assert (done.moved, done.r_score, done.rebalances, done.pause_s) == (0, 0, 0, 0)


def test_with_arrivals_going_on_it_takes_the_lag_over_what_is_left_of_the_rate() -> None:
    done = simulate(history(*[[6]] * 60, start=[100]), Scenario("h", BY_RANGE, 1))
    assert done.recovery_s == near(25)  # 100 / (10 - 6)
    assert done.drain_s == 0
    assert done.mean_lag == near(100 * 25 / 2 / 60)


def test_more_than_it_can_read_piles_up_and_is_drained_after_the_end() -> None:
    done = simulate(history(*[[15]] * 20), Scenario("h", BY_RANGE, 1))
    assert done.largest_lag == near(100)
    assert done.drain_s == near(10)
    assert done.simulated_s == near(30)
    assert done.mean_lag == near(50)
    assert done.series is not None
    # At 20 s 200 are read, and the next one came at 200 / 15 s; at 29 s the last ten are left.
    assert done.series.time_lag[20] == near(20 - 200 / 15)
    assert done.time_lag_max == near(30 - 20)  # right before the end


def test_it_says_so_when_it_was_not_drained_in_time() -> None:
    done = simulate(history(*[[15]] * 20), Scenario("h", BY_RANGE, 1, drain_limit_s=4))
    assert (done.drain_s, done.simulated_s) == (None, near(24))
    assert (done.left, done.served) == (near(60), near(240))
    assert done.recovery_s == 0  # there was nothing to recover from
    behind = simulate(history(*[[15]] * 20, start=[5]), Scenario("h", BY_RANGE, 1, drain_limit_s=4))
    assert behind.recovery_s is None


def test_percentiles_of_time_lag_are_over_partitions_and_time() -> None:
    """One partition is never behind; the other one is, by 1/3 s more each second."""
    done = simulate(history(*[[15, 5]] * 100), Scenario("h", BY_RANGE, 2))
    assert done.time_lag_p50 == 0
    assert done.time_lag_p99 == near(0.98 * 100 / 3)
    assert done.series is not None
    assert done.series.time_lag[:101].tolist() == near_list([n / 3 for n in range(101)])


def test_pace_and_rates_of_single_members_count() -> None:
    loaded = replace(history(*[[0]] * 20, start=[100]), pace=np.array([0.5] * 10 + [2.0] * 10))
    assert simulate(loaded, Scenario("h", BY_RANGE, 1)).drain_s == near(12.5)
    assert simulate(loaded, Scenario("h", BY_RANGE, 1, rates={"m1": 40.0})).drain_s == near(5)
    assert simulate(loaded, Scenario("h", BY_RANGE, 1, service_rate=20.0)).drain_s == near(10)


# --- an eager round -------------------------------------------------------------------------------------


def test_an_eager_round_stops_everybody() -> None:
    """Heard of at 11 s, over at 11.5 s, and records again from 11.75 s on."""
    done = simulate(
        history(*[[4, 4]] * 30), Scenario("h", STICKY, 2, churn=(Step("join", 10),), pauses=SETTLED)
    )
    assert done.rebalances == 1
    assert done.moved == 0  # two partitions for three
    assert done.largest_lag == near(8 * 0.75)
    assert done.pause_s == near(2 * 0.75 + 1.75)  # the third one waits from its join on
    assert done.unserved_s == near(2 * 0.75)
    assert done.recovery_s == near(1.75 + 3 / (10 - 4))


def test_a_partition_really_gained_is_warmed_up_for_and_one_that_comes_back_is_not() -> None:
    pauses = replace(SETTLED, warm_up_s=2.0)
    done = simulate(
        history(*[[1, 1]] * 30), Scenario("h", STICKY, 1, churn=(Step("join", 10),), pauses=pauses)
    )
    assert done.moved == 1
    assert done.pause_s == near(0.75 + 1.0 + 0.75 + 2.0)
    [move] = done.moves
    assert (move.giver, move.taker, move.at) == ("m1", "m2", near(11.5))
    assert done.r_score == near(1 / 10)


def test_a_new_process_takes_its_time() -> None:
    pauses = replace(SETTLED, start_s=3.0)
    [move] = simulate(
        history(*[[1, 1]] * 30), Scenario("h", STICKY, 1, churn=(Step("join", 10),), pauses=pauses)
    ).moves
    assert move.at == near(14.5)


# --- cooperative rounds ---------------------------------------------------------------------------------


def test_a_cooperative_join_takes_two_rounds_and_moves_what_it_must() -> None:
    """Who revokes gets nothing until the newcomer has heard of the second round: a whole heartbeat later."""
    done = simulate(
        history(*[[1, 1]] * 30), Scenario("h", COOPERATIVE, 1, churn=(Step("join", 10),), pauses=SETTLED)
    )
    assert (done.rebalances, done.moved) == (2, 1)
    [move] = done.moves
    assert move.at == near(11.5 + 2 + 0.5)
    first = 3.0  # m1: from 11 s to 14 s
    second = 1.5 + 0.75  # m2: from 10 s to 11.5 s, when it is told to wait; from 13.5 s to its first records
    assert done.pause_s == near(first + second)
    # Both partitions from 11 s to 14 s, and the one that moves until 14.25 s.
    assert done.unserved_s == near(2 * 3 + 0.25)


def test_who_has_nothing_to_give_back_reads_on_between_two_rounds() -> None:
    """Three partitions for two, one each for three: m1 gives one, m2 keeps the one it has."""
    done = simulate(
        history(*[[1, 1, 1]] * 30),
        Scenario(
            "h",
            COOPERATIVE,
            2,
            churn=(Step("join", 10),),
            pauses=SETTLED,
            owners=("m1", "m1", "m2"),
        ),
    )
    assert [(move.giver, move.taker) for move in done.moves] == [("m1", "m3")]
    m1, m2, m3 = 3.0, 0.5 + 0.5, 1.5 + 0.75
    assert done.pause_s == near(m1 + m2 + m3)


def test_a_cooperative_leave_takes_one_round() -> None:
    done = simulate(
        history(*[[1, 1]] * 30), Scenario("h", COOPERATIVE, 2, churn=(Step("leave", 10),), pauses=SETTLED)
    )
    assert (done.rebalances, done.moved) == (1, 1)
    assert done.pause_s == near(0.5 + 0.25)


def test_a_rate_is_that_of_the_last_half_minute() -> None:
    """Bursts: nothing came in the step of the move; 40 records came 20 s before, and 80 earlier than that."""
    loaded = history([80, 80], [0, 0], [40, 40], [0, 0], [0, 0], [0, 0], step_s=10, rate=10)
    done = simulate(
        loaded,
        Scenario("h", STICKY, 1, churn=(Step("join", 48),), pauses=SETTLED, rates={"m2": 4.0}),
    )
    [move] = done.moves
    assert (move.at, move.taker) == (near(49.5), "m2")
    assert done.r_score == near(40 / 30 / 4)


def test_the_rounds_of_a_rebalance_have_one_r_score_together() -> None:
    """The first round moves nothing, the second one what it must; a leave is another rebalance."""
    done = simulate(
        history(*[[1, 1]] * 60),
        Scenario("h", COOPERATIVE, 1, churn=(Step("join", 10), Step("leave", 30)), pauses=SETTLED),
    )
    assert (done.rebalances, done.moved) == (3, 2)
    assert (done.r_score, done.r_score_mean) == (near(0.2), near(0.1))


# --- deaths ---------------------------------------------------------------------------------------------


def test_a_kill_waits_for_the_session_timeout() -> None:
    """Dead at 10 s, taken for dead 6 s after a heartbeat at 9 s, a round until 16.5 s, records at 16.75 s."""
    done = simulate(
        history(*[[2, 2]] * 40), Scenario("h", COOPERATIVE, 2, churn=(Step("kill", 10),), pauses=SETTLED)
    )
    [move] = done.moves
    assert move.at == near(15 + 1 + 0.5)
    assert done.largest_member_lag == near(2 * 6.75 + 2 * 0.75)
    assert done.unserved_s == near(6.75 + 0.75)
    assert done.recovery_s == near(6.75 + (13.5 + 1.5) / (10 - 4))


def test_a_round_waits_for_the_dead_and_everybody_with_it() -> None:
    """A join at 11 s, heard of at 12 s: nobody gets a record until the dead one is out, at 15 s."""
    done = simulate(
        history(*[[1, 1]] * 40),
        Scenario("h", STICKY, 2, churn=(Step("kill", 10), Step("join", 11)), pauses=SETTLED),
    )
    assert done.rebalances == 1
    assert done.moves[0].at == near(15)
    assert done.pause_s == near((15.25 - 12) + (15.25 - 11))


def test_a_leave_during_a_round_is_part_of_it() -> None:
    done = simulate(
        history(*[[1, 1]] * 40),
        Scenario("h", STICKY, 3, churn=(Step("join", 10), Step("leave", 11.25)), pauses=SETTLED),
    )
    assert done.rebalances == 1


@pytest.mark.parametrize("step_s", [5, 10, 60, 300, 900])
def test_the_time_lag_of_a_death_does_not_depend_on_where_steps_end(step_s: int) -> None:
    """Nobody reads its partition for 34.75 s; then the survivor gets ahead of it by 40 - 2 x 8 records/s."""
    loaded = history(*[[8 * step_s, 8 * step_s]] * (1800 // step_s), step_s=step_s, rate=40)
    dies = Scenario(
        "h",
        COOPERATIVE,
        2,
        churn=(Step("kill", 437.0),),
        pauses=replace(SETTLED, session_timeout_s=34.0),
    )
    done = simulate(loaded, dies)
    dead_s = (34 - 1) + 1 + 0.5 + 0.25
    assert done.time_lag_max == near(dead_s)
    behind_s = dead_s + dead_s * 8 / (40 - 2 * 8)
    # The survivor's own pause of 0.75 s is nothing beside that.
    assert done.time_lag_p99 == pytest.approx(dead_s * (1 - 0.01 * 2 * 1800 / behind_s), abs=0.5)


# --- asked for ------------------------------------------------------------------------------------------


def test_a_rebalance_can_be_asked_for_now_and_then() -> None:
    done = simulate(history(*[[1]] * 35), Scenario("h", BY_RANGE, 1, pauses=SETTLED, replan_s=10))
    assert done.rebalances == 3
    assert done.moved == 0


def test_a_leader_asks_for_a_rebalance_when_lag_is_uneven_and_it_pays() -> None:
    """Two heavy partitions with one member, two light ones with the other, which a swap evens out."""
    watch = RebalanceOnSkew(threshold=1.2, at_least=10, for_s=5, check_s=1, cool_down_s=2, jitter=0)
    loaded = history(*[[9, 9, 0, 0]] * 60)
    uneven = Scenario("h", COOPERATIVE_BY_LAG, 2, pauses=SETTLED, owners=("m1", "m1", "m2", "m2"))
    left = simulate(loaded, uneven)
    asked = simulate(loaded, replace(uneven, skew=watch))
    assert (left.moved, left.rebalances) == (0, 0)
    assert asked.moved == 2  # one there, one back: as many partitions for both
    assert asked.largest_lag < left.largest_lag / 4
    by_count = simulate(loaded, replace(uneven, strategy=COOPERATIVE, skew=watch))
    assert by_count.moved == 0  # to ask would change nothing


def test_a_dead_leader_asks_for_nothing() -> None:
    """Its partitions pile up, which looks uneven; the others read on until the group takes it for dead."""
    watch = RebalanceOnSkew(threshold=1, at_least=1, for_s=1, check_s=0.5, cool_down_s=0, jitter=0)
    dies = Scenario(
        "h",
        replace(COOPERATIVE_BY_LAG, pays_from=0.0),
        2,
        churn=(Step("kill", 10),),
        pauses=SETTLED,
        owners=("m1", "m1", "m2", "m2"),
        skew=watch,
    )
    done = simulate(history(*[[2, 2, 2, 2]] * 40), dies)
    assert (done.moved, done.rebalances) == (2, 1)
    assert done.pause_s == near(0.5 + 0.25)


def test_time_goes_on_when_what_is_left_takes_less_than_a_float_can_tell() -> None:
    """After a week, at 50,000 records/s: 2 in a million records."""
    work = Work(history([0], start=[1]), np.array([50_000.0, 0.0]))
    work.now = 604_800.0
    work.read = np.array([1 - 2e-6])
    assert work.now + work.lag()[0] / 50_000 == work.now
    assert work.empty_at(np.array([0])) > work.now


def test_a_strategy_told_what_is_to_come_plans_for_it() -> None:
    """No lag yet when m2 comes, so lag tells nothing: the forecast knows which partitions will be heavy."""
    seen: list[list[int]] = []

    def watching(group: Group, claims: Claims) -> Assignment:
        seen.append(list(group.lags["t"]))
        return COOPERATIVE_BY_LAG.plan(group, claims)

    plain = history(*[[0, 0, 0, 0]] * 40)
    loaded = History(
        "g",
        1.0,
        {"t": 4},
        plain.arrivals,
        plain.start_lags,
        service_rate=10.0,
        expected=np.array([[500.0, np.nan, 400, 1]] * 40),
        horizon_s=60.0,
    )
    told = Strategy("x", watching, cooperative=True, by_lag=True, by_load=True)
    simulate(loaded, Scenario("h", told, 1, churn=(Step("join", 10),), pauses=SETTLED))
    # What is not foreseen counts as the mean.
    assert seen == [[0, 0, 0, 0], [500, 300, 400, 1], [500, 300, 400, 1]]


def test_members_report_lag_as_they_last_saw_it_and_a_settling_group_is_not_told_anew() -> None:
    seen: list[list[int]] = []

    def watching(group: Group, claims: Claims) -> Assignment:
        seen.append(list(group.lags["t"]))
        return COOPERATIVE_BY_LAG.plan(group, claims)

    told = Strategy("x", watching, cooperative=True, by_lag=True, lag_refresh_s=10.0)
    simulate(history(*[[6, 6]] * 40), Scenario("h", told, 1, churn=(Step("join", 24),), pauses=SETTLED))
    # 2 records/s too many, half in each; the last look before the round was at 20 s.
    assert seen == [[0, 0], [20, 20], [20, 20]]


# --- the rest -------------------------------------------------------------------------------------------


def test_its_series_has_the_start_and_the_end_of_each_step() -> None:
    done = simulate(
        history(*[[15, 0]] * 4), Scenario("h", BY_RANGE, 2, churn=(Step("leave", 2),), pauses=NO_PAUSES)
    )
    series = done.series
    assert series is not None
    assert series.at.tolist() == near_list([0, 1, 2, 3, 4, 5, 6])
    assert series.lag.tolist() == near_list([0, 5, 10, 15, 20, 10, 0])
    assert series.largest_member_lag.tolist() == series.lag.tolist()
    assert series.unowned_lag.tolist() == [0] * 7
    assert series.members.tolist() == [2, 2, 1, 1, 1, 1, 1]
    assert simulate(history([1]), Scenario("h", BY_RANGE, 1), series=False).series is None


def near_list(values: list[float]) -> object:
    return pytest.approx(values, abs=1e-6)


def test_orphans_are_nobodys_lag() -> None:
    """Until the dead one is out they count as its own."""
    pauses = replace(SETTLED, heartbeat_s=4.0)
    done = simulate(
        history(*[[3, 3]] * 30), Scenario("h", COOPERATIVE, 2, churn=(Step("kill", 10),), pauses=pauses)
    )
    assert done.series is not None
    unowned = dict(zip(done.series.at.tolist(), done.series.unowned_lag.tolist(), strict=True))
    assert [unowned[t] for t in (13.0, 15.0, 16.0, 17.0)] == near_list([0, 15, 18, 0])


def test_churn_beyond_the_history_and_an_unknown_rate_are_refused() -> None:
    with pytest.raises(OptionError, match=r"churn.*join m2 is not within the history of 10 s"):
        simulate(history(*[[1]] * 10), Scenario("h", BY_RANGE, 1, churn=parse("join@10")))
    with pytest.raises(OptionError, match=r"service_rate.*say how many records/s"):
        simulate(history([1], rate=None), Scenario("h", BY_RANGE, 1))
    with pytest.raises(OptionError, match=r"owners.*expected 1, got 2"):
        simulate(history([1]), Scenario("h", BY_RANGE, 1, owners=("m1", "m1")))


def test_figures_are_all_but_the_long_ones_and_an_outcome_can_be_sent() -> None:
    done = simulate(history([1]), Scenario("h", BY_RANGE, 1))
    assert {"moves", "series"}.isdisjoint(done.figures())
    assert pickle.loads(pickle.dumps(done)).figures() == done.figures()  # noqa: S301  # our own bytes


def test_continuous_members_stop_for_nothing_but_what_they_gain() -> None:
    """The partition that moves waits for the newcomer alone; the one that stays is read all the time."""
    pauses = replace(SETTLED, continuous=True)
    done = simulate(
        history(*[[1, 1]] * 30), Scenario("h", COOPERATIVE, 1, churn=(Step("join", 10),), pauses=pauses)
    )
    assert (done.rebalances, done.moved) == (2, 1)
    [move] = done.moves
    assert move.at == near(11.5 + 0.5)  # the second round follows at once
    # From when it is given back until its new owner has the first records of it.
    assert done.unserved_s == near(0.5 + 0.25)


def test_continuous_members_read_on_while_the_group_waits_for_a_dead_one() -> None:
    pauses = replace(SETTLED, continuous=True)
    churn = (Step("kill", 10), Step("join", 11))
    stopped, going_on = (
        simulate(history(*[[1, 1, 1]] * 30), Scenario("h", COOPERATIVE, 3, churn=churn, pauses=each))
        for each in (SETTLED, pauses)
    )
    assert going_on.unserved_s < stopped.unserved_s - 5
