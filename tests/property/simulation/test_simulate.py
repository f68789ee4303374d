"""Laws of simulations, for any load, churn and strategy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kafka_assignors.errors import OptionError
from kafka_assignors.lag import RebalanceOnSkew
from kafka_assignors.plan import (
    NO_MEMBER,
    Assignment,
    Group,
    enough_expected,
    lag_lower_bound,
    measure,
    resolve,
    with_expected,
)
from kafka_assignors.simulation import History, Pauses, Scenario, Strategy, simulate
from kafka_assignors.simulation.churn import KINDS, ChurnStep, rehearse
from kafka_assignors.simulation.group import GroupModel
from kafka_assignors.simulation.history import Counts, Levels
from kafka_assignors.simulation.leader import Leader
from tests.support.searching import times
from tests.support.simulation.histories import (
    BY_RANGE,
    COOPERATIVE,
    COOPERATIVE_BY_LAG,
    EVERY,
    LAG_AWARE,
    STICKY,
)

LENGTH_S = 120.0

#: A simulation takes milliseconds, and shrinking runs hundreds of them, so there is no shrink phase.
FEW = settings(max_examples=times(0.2), phases=(Phase.explicit, Phase.reuse, Phase.generate))


@st.composite
def histories(draw: st.DrawFn) -> History:
    partitions = draw(st.integers(1, 7))
    counts = st.lists(st.integers(0, 60), min_size=partitions, max_size=partitions)
    return History(
        group="g",
        step_s=10.0,
        topics={"a": partitions // 2, "b": partitions - partitions // 2},
        arrivals=np.array(draw(st.lists(counts, min_size=12, max_size=12))),
        start_lags=np.array(draw(counts)),
        service_rate=draw(st.sampled_from([1.0, 3.0, 7.5, 20.0])),
    )


@st.composite
def scenarios(draw: st.DrawFn, strategies: tuple[Strategy, ...] = EVERY) -> Scenario:
    members = draw(st.integers(1, 4))
    times = st.floats(0.5, LENGTH_S - 1)
    steps = draw(st.lists(st.builds(ChurnStep, st.sampled_from(KINDS), times), max_size=4))
    steps.sort(key=lambda step: step.at)
    try:
        rehearse(steps, members)
    except OptionError:  # no member would be left
        steps = [step for step in steps if step.kind == "join"]
    return Scenario(
        "h",
        draw(st.sampled_from(strategies)),
        members,
        churn=tuple(steps),
        pauses=Pauses(
            start_s=draw(st.sampled_from([0.0, 1.3])),
            heartbeat_s=draw(st.sampled_from([0.0, 0.5, 3.0])),
            join_s=draw(st.sampled_from([0.0, 0.1])),
            warm_up_s=draw(st.sampled_from([0.0, 0.7])),
            session_timeout_s=draw(st.sampled_from([1.0, 6.0, 45.0])),
        ),
        replan_s=draw(st.sampled_from([None, 17.0])),
    )


@given(histories(), scenarios())
@FEW
def test_every_record_is_served_or_left_and_figures_are_consistent(load: History, tried: Scenario) -> None:
    done = simulate(load, tried)
    assert done.served + done.left == pytest.approx(load.records)
    assert done.series is not None
    assert (done.series.lag >= 0).all()
    assert (done.series.largest_member_lag <= done.series.lag + 1e-6).all()
    assert done.series.lag.max() <= done.largest_lag + 1e-6
    assert 0 <= done.mean_lag <= done.largest_lag + 1e-6
    assert 0 <= done.time_lag_p50 <= done.time_lag_p99 <= done.time_lag_max + 1e-6
    assert done.time_lag_max <= done.simulated_s + 1e-6
    assert done.drain_s is not None  # the drain limit is long enough
    assert done.left == 0
    assert done.pause_s >= 0


@given(histories(), scenarios())
@FEW
def test_simulations_are_deterministic(load: History, tried: Scenario) -> None:
    first, second = simulate(load, tried), simulate(load, tried)
    assert first.figures() == second.figures()
    assert first.moves == second.moves


@given(histories(), scenarios())
@FEW
def test_r_score_is_the_sum_of_the_rates_of_moved_partitions(load: History, tried: Scenario) -> None:
    done = simulate(load, tried)
    assert done.moved == len(done.moves)
    ends = np.arange(load.steps + 1) * load.step_s
    came = np.vstack([np.zeros(load.partitions), np.cumsum(load.arrivals, axis=0)])
    expected = 0.0
    for move in done.moves:
        assert move.giver != move.taker
        since = max(move.at - 30, 0)
        now, then = np.interp([move.at, since], ends, came[:, move.partition])
        expected += (now - then) / (move.at - since)
    assert done.r_score == pytest.approx(expected / done.service_rate)
    assert done.r_score_mean * done.rebalances >= done.r_score - 1e-9


@given(histories(), scenarios((BY_RANGE, STICKY, COOPERATIVE)), st.sampled_from([1.1, 2.0, 10.0]))
@FEW
def test_faster_members_are_never_behind_slower_ones(load: History, tried: Scenario, times: float) -> None:
    """For plans that do not depend on lag."""
    slow = simulate(load, tried)
    fast = simulate(load, replace(tried, service_rate=(load.service_rate or 0) * times))
    during = [[move for move in done.moves if move.at < LENGTH_S] for done in (slow, fast)]
    assert during[0] == during[1]  # later the faster members finish earlier
    assert slow.series is not None
    assert fast.series is not None
    both = min(len(slow.series.lag), len(fast.series.lag), load.steps + 1)
    assert (fast.series.lag[:both] <= slow.series.lag[:both] + 1e-6).all()
    assert fast.largest_lag <= slow.largest_lag + 1e-6
    assert fast.mean_lag <= slow.mean_lag + 1e-6
    assert (fast.drain_s or 0) <= (slow.drain_s or 0) + 1e-6


@given(histories(), scenarios((BY_RANGE, STICKY, COOPERATIVE)))
@FEW
def test_results_do_not_depend_on_the_length_of_steps(load: History, tried: Scenario) -> None:
    """Steps of 2 s with the same rates: events within a step are not rounded to its ends."""
    finer = replace(
        load, step_s=2.0, arrivals=np.repeat(load.arrivals, 5, axis=0), start_lags=load.start_lags * 5
    )
    coarse = replace(load, arrivals=load.arrivals * 5, start_lags=load.start_lags * 5)
    tried = replace(tried, service_rate=5 * (load.service_rate or 0))
    first, second = simulate(coarse, tried), simulate(finer, tried)
    assert [(m.partition, m.giver, m.taker) for m in first.moves] == [
        (m.partition, m.giver, m.taker) for m in second.moves
    ]
    for figure in ("served", "largest_lag", "mean_lag", "largest_member_lag", "pause_s", "unserved_s"):
        assert getattr(first, figure) == pytest.approx(getattr(second, figure), rel=1e-6, abs=1e-5), figure
    # Partitions that run empty half a second apart may count as one.
    for figure in ("time_lag_p50", "time_lag_p99", "time_lag_max"):
        assert getattr(first, figure) == pytest.approx(getattr(second, figure), abs=0.5), figure
    if load.arrivals[-1].any():  # else the step of the last arrival ends earlier
        assert first.drain_s == pytest.approx(second.drain_s, abs=1e-5)


def exact_imbalance(group_model: GroupModel, load: Counts, counts: object) -> tuple[int, int]:
    """With the exact bound, whether or not it is needed; as a plan is measured."""
    group = group_model._group(load, still_owns=False)
    places = np.full(len(group_model._ids) + 1, NO_MEMBER, np.int32)
    for member_id, index in group.index.items():
        places[group_model._number[member_id]] = index
    owned = Assignment(group, places[group_model.owner])
    return measure(group, resolve(group), owned).max_load or 0, lag_lower_bound(group)


def expected_anew(leader: Leader, now: float, lag: Levels) -> Counts:
    """The load with forecasts, computed anew at each check."""
    whole = np.rint(lag).astype(np.int64)
    history = leader._history
    known = history.forecast_at(now, leader._scenario.forecast_delay_s)
    if not leader._scenario.strategy.by_load or known is None:
        return whole
    group = Group((), history.topics, lags={topic: [0] * count for topic, count in history.topics.items()})
    partitions = np.flatnonzero(~np.isnan(known.arrivals)).tolist()
    arrivals = {group.at(p): float(known.arrivals[p]) for p in partitions}
    if not enough_expected(group, arrivals):
        return whole
    arriving: Counts = np.rint(with_expected(group, arrivals, {}).lag * known.left).astype(np.int64)
    return whole + arriving


WATCHED = (COOPERATIVE, LAG_AWARE, COOPERATIVE_BY_LAG, replace(COOPERATIVE_BY_LAG, by_load=True))


@given(
    histories(),
    scenarios(WATCHED),
    st.builds(
        RebalanceOnSkew,
        threshold=st.sampled_from([1.0, 1.2, 2.0]),
        at_least=st.sampled_from([0, 1, 20]),
        for_s=st.sampled_from([0.0, 5.0]),
        check_s=st.sampled_from([2.0, 5.0]),
        cool_down_s=st.sampled_from([0.0, 10.0]),
    ),
    st.sampled_from([0.0, 0.5, 3.0]),
    st.integers(0, 2**32 - 1),
)
@FEW
def test_shortened_check_decides_as_an_exact_one(
    load: History, tried: Scenario, skew: RebalanceOnSkew, delay_s: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    expected = np.where(rng.random(load.arrivals.shape) < 0.7, rng.random(load.arrivals.shape) * 99, np.nan)
    load = replace(load, expected=expected, horizon_s=60.0)
    tried = replace(tried, skew=skew, drain_limit_s=30.0, forecast_delay_s=delay_s)
    quick = simulate(load, tried)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GroupModel, "imbalance", exact_imbalance)
        patch.setattr(Leader, "_with_expected", expected_anew)
        slow = simulate(load, tried)
    assert quick.figures() == slow.figures()
    assert quick.moves == slow.moves
    assert quick.series is not None
    assert slow.series is not None
    for name in ("at", "lag", "largest_member_lag", "unowned_lag", "time_lag", "members"):
        assert (getattr(quick.series, name) == getattr(slow.series, name)).all(), name


@given(histories(), st.integers(1, 3))
@FEW
def test_lag_without_churn_follows_the_queue_equation(load: History, members: int) -> None:
    """In each step a member's lag becomes max(0, lag + arrivals - capacity)."""
    done = simulate(load, Scenario("h", BY_RANGE, members))
    owners = Scenario("h", BY_RANGE, members, owners=("m1",) * load.partitions)
    alone = simulate(load, owners)
    assert alone.series is not None
    lag = float(load.start_lags.sum())
    for step in range(load.steps):
        lag = max(lag + load.arrivals[step].sum() - (load.service_rate or 0) * load.step_s, 0.0)
        assert alone.series.lag[step + 1] == pytest.approx(lag, abs=1e-6)
    assert alone.simulated_s == pytest.approx(load.length_s + lag / (load.service_rate or 1), abs=1e-5)
    if load.arrivals[-1].any():  # else it counts from the end of an earlier step
        assert alone.drain_s == pytest.approx(lag / (load.service_rate or 1), abs=1e-5)
    assert done.mean_lag <= alone.mean_lag + 1e-6


@given(histories(), scenarios((STICKY, COOPERATIVE)))
@FEW
def test_time_lag_is_the_age_of_the_oldest_unread_record(load: History, tried: Scenario) -> None:
    """For one partition: the records read so far give the oldest unread one."""
    single = replace(
        load,
        topics={"t": 1},
        arrivals=load.arrivals[:, :1],
        start_lags=load.start_lags[:1],
    )
    done = simulate(single, tried)
    assert done.series is not None
    times = [0.0] * int(single.start_lags[0])
    for step, records in enumerate(single.arrivals[:, 0].tolist()):
        times += [(step + n / records) * single.step_s for n in range(records)]
    come = np.concatenate([[single.start_lags[0]], single.start_lags[0] + np.cumsum(single.arrivals[:, 0])])
    gap = single.step_s / max(int(single.arrivals.max()), 1)
    for step in range(single.steps + 1):
        read = float(come[step]) - float(done.series.lag[step])
        time_lag = done.series.time_lag[step]
        if done.series.lag[step] <= 1e-5:
            assert time_lag == pytest.approx(0, abs=1e-3)
            continue
        oldest = times[min(int(read + 1e-6), len(times) - 1)]
        after = (
            times[int(read + 1e-6) + 1] if int(read + 1e-6) + 1 < len(times) else single.step_s * single.steps
        )
        age = step * single.step_s
        assert age - after - gap - 1e-3 <= time_lag <= age - oldest + 1e-3
