"""``kafka-assignors size``: the load of two looks, the report, and how the command ends."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial

import pytest
from click.testing import CliRunner, Result

from kafka_assignors.cli.group_lag import owners_of
from kafka_assignors.cli.size import command as cli_size
from kafka_assignors.cli.size.load import (
    Forecasts,
    capacities_of,
    group_load,
    has_stopped,
    member_rates,
    partition_counts,
    stuck_partitions,
)
from kafka_assignors.cli.size.report import SizeReport, headline, size_lines
from kafka_assignors.errors import GroupError
from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.lag.rates import Rate
from kafka_assignors.pipeline.backtest.simulated import simulated
from kafka_assignors.plan import TopicPartition
from kafka_assignors.simulation.sizing import Target, size
from tests.support.examples import ROOT
from tests.unit.cli.printed import printed
from tests.unit.cli.size.sized_group import (
    CALM,
    GIVEN_RATE,
    REQUEST,
    TIME,
    Looks,
    changed,
    look,
    rebalancing,
    shown_report,
    sized,
    started,
)

PAGE = (ROOT / "docs" / "guides" / "size.md").read_text(encoding="utf-8")


# --- the load ----------------------------------------------------------------------------------------------


def test_load_is_the_arrivals_of_the_look_for_the_horizon() -> None:
    now = look([1.5, 2.0, 0.25], [10, 0, 5])
    load = group_load(now, 3600, 10)
    assert load.history.topics == {"orders": 3}
    assert load.history.arrivals.tolist() == [[5400, 7200, 900]]
    assert load.history.start_lags.tolist() == [10, 0, 5]
    assert (load.members, load.notes) == (2, ())
    assert load.owners is not None
    assert load.owners.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("field", "note"),
    [
        ("rate", "arrivals of 4 partitions are unknown and count as they were at an earlier look"),
        ("lag", "the lag of 4 partitions is unknown and counts as it was at an earlier look"),
    ],
)
def test_unknown_figure_counts_as_at_an_earlier_look(field: str, note: str) -> None:
    """A broker that does not answer for a moment is no reason to shrink."""
    calm = look([7] * 4, [280] * 4)
    unknown = changed(calm, *range(4), **{field: None})
    request = replace(GIVEN_RATE, target=Target(30, headroom=0))
    sizes = started(request, calm, calm, unknown, unknown)
    made = [sizes.read() for _ in range(3)]
    assert [each.sizing.advised for each in made] == [4, 4, 4]
    assert [note in each.notes for each in made] == [False, True, True]


def test_forecasts_are_the_second_step_and_do_not_touch_other_partitions() -> None:
    now = look([1, 2], [0, 0])
    expected = Expected({TopicPartition("orders", 0): 600.0}, period_s=60.0, problem="no forecast for 1")
    load = group_load(now, 3600, 10, expected=expected, source="feed")
    assert load.history.step_s == 1800
    assert (load.history.arrivals / 1800).tolist() == [[1, 2], [10, 2]]
    assert load.notes == ("no forecast for 1",)
    assert load.forecasts == Forecasts("feed", 1, 60.0, mean_from_s=1800)


def test_feed_without_a_fresh_forecast_leaves_the_arrivals_of_the_look() -> None:
    load = group_load(look([1, 2], [0, 0]), 3600, 10, expected=Expected(problem="nothing fresh"))
    assert (load.history.steps, load.forecasts, load.notes) == (1, None, ("nothing fresh",))


def test_partitions_without_arrivals_lag_or_owner_are_noted_or_planned() -> None:
    load = group_load(changed(look([1, 2], [0, 0]), 1, rate=None, owner=None, lag=None), 3600, 10)
    assert load.owners is None
    assert load.notes == (
        "arrivals of 1 partition are unknown and count as none",
        "the lag of 1 partition is unknown and counts as none",
    )


def test_remembered_owner_that_has_left_is_no_owner() -> None:
    now = look([1, 2], [0, 0])
    left = replace(now, group=replace(now.group, members=now.group.members[:1]))
    load = group_load(left, 3600, 10)
    assert (load.members, load.owners) == (1, None)


def test_members_count_with_their_own_capacities() -> None:
    rates, lags = [40, 80, 60, 10], [900, 900, 900, 900]
    now = look(rates, lags, strategy="cooperative-lag-aware", capacities=(1.0, 3.0))
    assert capacities_of(now) == {"m0": 1, "m1": 3}
    assert member_rates([now, now]) == [100, 30]
    load = group_load(now, 3600, 10)
    assert (load.history.service_rate, load.capacities) == (10, (1, 3))
    assert load.notes == (
        "members have capacities from 1 to 3: larger sizes add members of the median capacity, 1.73; "
        "smaller ones remove the fastest first",
    )
    assert set(capacities_of(look(rates, lags, capacities=(1.0, 3.0))).values()) == {1}  # counts decide


def test_members_count_with_the_capacities_that_they_measure() -> None:
    """Of members that read 16 and 64 records/s, capacity 1 is 32, as on the leader."""
    by_lag = partial(look, [9] * 4, [0] * 4, strategy="cooperative-lag-aware")
    now = by_lag(service_rates=(16.0, 64.0))
    assert capacities_of(now) == {"m0": 0.5, "m1": 2}
    made = sized(REQUEST, now, now)
    # A newcomer has capacity 1, as on the leader.
    assert (made.sizing.rate, made.sizing.fastest_rate) == (32, 64)
    assert (
        "members have capacities from 0.5 to 2: larger sizes add members of the median capacity, 1; "
        "smaller ones remove the fastest first" in made.notes
    )
    assert made.sizing.stay is not None
    assert made.sizing.stay.time_lag_s > 30  # the slow member has two partitions, 18 records/s
    equal = by_lag(service_rates=(32.0, 32.0))
    assert sized(REQUEST, equal, equal).is_fine
    assert capacities_of(by_lag(service_rates=(16.0, 0.0))) == {"m0": 1, "m1": 1}


@pytest.mark.parametrize(
    ("strategy", "reported", "members"),
    [
        ("cooperative-lag-aware", 4, 2),
        ("cooperative-lag-aware", 1, 2),
        ("cooperative-lag-aware", 0, 3),
        ("sticky", 4, 3),
    ],
)
def test_sizes_are_planned_by_load_if_a_member_reports_arrivals(
    strategy: str, reported: int, members: int
) -> None:
    """A member reads 80 records/s: two can if each gets a heavy and a light partition."""
    now = look([50, 30, 50, 30], [0] * 4, strategy=strategy, reported=reported)
    assert sized(replace(REQUEST, rate=100.0), now, now).sizing.horizon.members == members


def test_topics_that_no_member_reads_any_more_do_not_count() -> None:
    now = look([1, 2], [0, 0])
    old = replace(now.partitions[0], tp=TopicPartition("old", 4), owner=None)
    assert partition_counts(replace(now, partitions=(*now.partitions, old))) == {"orders": 2}
    assert partition_counts(replace(now, partitions=(old,))) == {"old": 5}


def test_rates_are_those_of_members_with_lag_and_the_same_partitions_at_all_looks() -> None:
    rates = [40, 80, 60, 10]  # m0 commits 100/s, m1 90/s
    before, now = look(rates, [900, 5000, 200, 0]), look(rates, [1100, 400, 200, 9000])
    without = look(rates, [1100, 400, 200, 0])
    assert member_rates([before, now]) == [100, 90]
    assert member_rates([before, without]) == [100]
    assert member_rates([before, without, now]) == [100]
    assert member_rates([look([40, 80], [10, 20]), look([40, 80], [10, 20])]) == []
    assert member_rates([look([40, 80], [900, 900], members=1), look([40, 80], [900, 900])]) == []


def test_group_without_partitions_has_no_size() -> None:
    with pytest.raises(GroupError, match="nothing to size"):
        group_load(look([], []), 3600, 10)


# --- the size ----------------------------------------------------------------------------------------------


def test_size_needs_a_rate_a_known_strategy_and_no_rebalance() -> None:
    now = look([1, 2], [0, 0])
    with pytest.raises(GroupError, match="give --rate"):
        sized(REQUEST, now, now)
    with pytest.raises(GroupError, match="runs 'theirs', which is not in this package: give --strategy"):
        sized(GIVEN_RATE, now, look([1, 2], [0, 0], strategy="theirs"))
    with pytest.raises(GroupError, match="is stateful: see kafka-assignors tasks; size does not plan tasks"):
        sized(GIVEN_RATE, now, look([1, 2], [0, 0], strategy="stateful"))
    chosen = replace(GIVEN_RATE, strategy="range")
    assert sized(chosen, now, look([1, 2], [0, 0], strategy="theirs")).strategy == "range"
    with pytest.raises(GroupError, match="is rebalancing: try again"):
        sized(GIVEN_RATE, now, rebalancing(look([1, 2], [0, 0], strategy="")))
    with pytest.raises(GroupError, match="was rebalancing at the previous look: try again"):
        sized(GIVEN_RATE, rebalancing(now), now)


def test_last_size_stays_while_the_group_has_just_started_or_rebalances() -> None:
    """All members were replaced between two looks; the records that they left wait."""
    late, read = (look([7] * 4, [lag] * 4, 4, name="new") for lag in (9000, 0))
    moving = rebalancing(late, "CompletingRebalance")
    sizes = started(GIVEN_RATE, CALM, CALM, late, moving, late, read)
    assert sizes.read().sizing.advised == 4
    for why in (
        "has just started: all its members are new since the last stable look, "
        "so its lag says nothing about its size yet",
        "is rebalancing",
    ):
        kept = sizes.read()
        assert kept.notes == (f"group 'billing' {why}: showing the size of {TIME}",)
        assert kept.sizing.advised == 4
    assert sizes.read().sizing.behind == 4
    assert sizes.read().sizing.advised == 4


def test_last_size_stays_while_cooperative_members_have_given_partitions_up() -> None:
    """The group is stable meanwhile, and a partition without owner and commit is in no report.

    A member that processes a batch between the two rounds may keep the group so for several looks.
    """
    calm = look([7, 7, 7, 7], [900] * 4)
    reading = replace(calm.group.members[1], topics=frozenset({"orders"}))
    given_up = replace(
        calm,
        group=replace(calm.group, members=(calm.group.members[0], reading)),
        partitions=(*calm.partitions[:2], replace(calm.partitions[2], owner=None)),
    )
    sizes = started(GIVEN_RATE, calm, calm, *[given_up] * 3, calm)
    assert sizes.read().sizing.advised == 4
    why = "is between two rounds of a rebalance: 2 partitions without an owner"
    for kept in (sizes.read(), sizes.read()):
        assert kept.notes == (f"group 'billing' {why}: showing the size of {TIME}",)
        assert kept.sizing.advised == 4
    assert not sizes.read().is_kept  # a topic may have become smaller
    assert sizes.read().sizing.advised == 4


def test_topic_that_members_no_longer_read_is_no_reason_to_keep_a_size() -> None:
    calm = look([7, 7, 7, 7], [900] * 4)
    members = tuple(replace(member, topics=frozenset({"other"})) for member in calm.group.members)
    unsubscribed = changed(replace(calm, group=replace(calm.group, members=members)), *range(4), owner=None)
    assert not sized(GIVEN_RATE, calm, calm, unsubscribed).is_kept


def test_group_that_starts_while_it_is_looked_at_is_not_sized() -> None:
    empty, started = look([8, 8], [900, 900], members=0), look([8, 8], [900, 900])
    with pytest.raises(GroupError, match="has just started"):
        sized(GIVEN_RATE, empty, started)


def test_members_that_commit_nothing_are_noted_and_show_no_rate() -> None:
    stuck = look([7, 7], [9000, 9000], out=0.0)
    made = sized(GIVEN_RATE, stuck, stuck)
    assert made.notes == (
        "records wait, but no member has committed for 60 s: members may have stopped reading",
    )
    with pytest.raises(GroupError, match="is unknown: records wait, but no member has committed between"):
        sized(REQUEST, stuck, stuck)
    assert not has_stopped([look([7, 7], [0, 0], out=0.0), stuck])
    moved = look([7, 7], [9000, 9000], commit=1)
    assert not has_stopped([stuck, moved])
    assert not has_stopped([stuck, moved, stuck])
    assert stuck_partitions([stuck, moved, stuck]) == []


def test_markers_of_transactions_are_no_waiting_records() -> None:
    """They count as lag, but the report knows that no record follows."""
    markers = changed(look([0, 0], [1, 1], out=0.0), 0, 1, seconds=0.0)
    assert not has_stopped([markers, markers])
    assert stuck_partitions([markers, markers]) == []


def test_members_that_stop_are_noted_after_a_minute_without_a_commit() -> None:
    """Members may commit only every half minute.  Looks from before the last minute do not count."""
    looks = [look([7, 7], [9000, 9000], commit=n) for n in (1, 2, 2, 2)]
    times = iter([0.0, 30.0, 60.0, 90.0])
    sizes = started(GIVEN_RATE, *looks, clock=times.__next__)
    *_, before, after = (sizes.read() for _ in range(3))
    assert before.notes == ()
    assert after.notes[0].startswith("records wait, but no member has committed for 60 s")


def test_member_with_a_partition_of_unknown_rate_shows_no_rate() -> None:
    """The other partitions' rates would count as the whole rate of the member."""
    rates, lags = [40, 80, 60, 10], [9000] * 4
    now = look(rates, lags)
    assert member_rates([now, now]) == [100, 90]
    assert member_rates([now, changed(now, 2, rate=None)]) == [90]
    commit_went_back = changed(now, 2, rate=Rate(60, None, 0))
    assert member_rates([now, commit_went_back]) == [90]


def test_rate_is_not_measured_from_a_look_with_other_owners() -> None:
    """The reader's rates may begin a look before the last minute."""
    lags = [9000, 9000]
    alone, both = look([40, 40], lags, members=1), look([40, 40], lags, commit=1)
    sizes = started(REQUEST, alone, both, both)
    for _ in range(2):
        with pytest.raises(GroupError, match="the rate of a member of 'billing' is unknown"):
            sizes.read()


def test_partition_with_lag_and_no_commit_is_named() -> None:
    now, stuck = look([7, 7], [9000, 9000]), look([7, 7], [9000, 9000], out=0.0)
    later = look([7, 7], [9000, 9000], commit=1)
    poisoned, next_look = (
        replace(now, partitions=(of_look.partitions[0], stuck.partitions[1])) for of_look in (now, later)
    )
    made = sized(GIVEN_RATE, poisoned, next_look)
    assert made.notes == (
        "orders-1: records wait, but no commit for 60 s; "
        "a record may fail each time, or the thread that reads it may have died",
    )
    calm = replace(stuck.partitions[1], lag=0)
    assert not sized(GIVEN_RATE, poisoned, replace(poisoned, partitions=(later.partitions[0], calm))).notes


@pytest.mark.parametrize(("age_s", "is_fine"), [(0.0, True), (30.0, True), (31.0, False), (None, True)])
def test_group_with_a_record_older_than_the_target_is_not_fine(age_s: float | None, is_fine: bool) -> None:
    aged = changed(look([7, 7], [0, 9]), 1, seconds=age_s)
    made = sized(GIVEN_RATE, aged, aged)
    assert (made.sizing.is_right, made.is_fine, made.as_json()["oldest_s"]) == (True, is_fine, age_s)
    waits = [line for line in lines(made) if "oldest unread" in line]
    assert len(waits) == bool(age_s)
    if not is_fine:
        assert waits[0].startswith("the oldest unread record has waited 31s, longer than the target")


def test_unknown_age_is_noted() -> None:
    lost = changed(look([7, 7], [0, 9]), 1, seconds_missing="denied")
    assert group_load(lost, 3600, 10).notes == (
        "the age of the oldest unread record of 1 partition is unknown and counts as none",
    )


def test_empty_group_gets_a_size_with_a_note() -> None:
    now = look([8, 8], [0, 0], members=0)
    made = sized(GIVEN_RATE, now, now)
    assert (made.sizing.members, made.sizing.advised, made.is_fine) == (None, 2, False)
    assert made.notes == ("the group has no members: sizes are planned with cooperative-sticky (--strategy)",)
    assert headline(made) == "billing: 2 members for a time lag of 30s"


def test_measured_rate_is_the_median_of_looks_and_members_that_differ_are_noted() -> None:
    lags = [9000, 9000]
    slow, fast = look([40, 40], lags), look([90, 90], lags)
    assert sized(REQUEST, slow, slow, fast, slow).sizing.rate == 40
    uneven = sized(REQUEST, slow, look([40, 100], lags, commit=1))
    assert uneven.sizing.rate == 70
    assert uneven.notes == ("members read 40.0 to 100.0 records/s per unit of capacity: sizes assume 70.0",)


def test_rate_that_looks_do_not_show_is_the_one_that_members_report() -> None:
    measuring = partial(look, strategy="cooperative-lag-aware", service_rates=(64.0, 64.0))
    idle, busy = measuring([7, 7], [0, 0]), measuring([40, 40], [9000, 9000])
    made = sized(REQUEST, idle, idle)
    assert made.sizing.rate == 64
    assert "the rate of a member, 64.0 records/s, is the median of what members report" in made.notes
    assert sized(REQUEST, busy, busy).sizing.rate == 40
    unmeasured = look([7, 7], [0, 0], strategy="cooperative-lag-aware", service_rates=(0.0, 0.0))
    with pytest.raises(GroupError, match="at each look has more lag than it reads in 10 s: give --rate"):
        sized(REQUEST, unmeasured, unmeasured)


def test_rate_is_not_measured_between_looks_that_are_too_close() -> None:
    lags = [9000, 9000]
    sizes = started(REQUEST, *[look([40, 40], lags)] * 3, clock=iter([0.0, 19.0, 20.0]).__next__)
    with pytest.raises(GroupError, match="measured over at least 20 s, and the looks span 19 s so far"):
        sizes.read()
    assert sizes.read().sizing.rate == 40


def test_unequal_members_that_fall_behind_are_not_the_right_size() -> None:
    """Each member gets three partitions, 15 records/s; the slow ones read 10."""
    now = look([5] * 12, [0] * 12, 4, strategy="cooperative-lag-aware", capacities=(1.0, 3.0))
    made = sized(GIVEN_RATE, now, now)
    assert (made.sizing.is_right, made.is_fine) == (False, False)
    assert made.sizing.stay is not None
    assert made.sizing.stay.time_lag_s == pytest.approx(1800)
    assert "an added member reads 17.3 records/s, as given, 20% of it kept free" in lines(made)
    assert made.sizing.advised == 12  # no slow member may get two
    grown = look([5] * 12, [0] * 12, 12, strategy="cooperative-lag-aware", capacities=(1.0, 3.0))
    assert sized(GIVEN_RATE, grown, grown).is_fine
    assert sized(replace(REQUEST, rate=20.0), now, now).is_fine  # the slow ones read 20


def test_old_plan_is_reported_with_the_size_that_would_do_after_a_rebalance() -> None:
    """A member reads 100 records/s, and one of the two has both heavy partitions."""
    now = look([55, 25, 55, 25], [0] * 4, strategy="cooperative-lag-aware", reported=4)
    made = sized(replace(REQUEST, rate=100.0), now, now)
    assert headline(made) == "billing: grow from 2 to 3 members for a time lag of 30s; its plan is too old"
    assert (
        "the plan is too old: after a rebalance 2 members would be enough; now, with 2, orders-2 waits 6m: "
        "its member has 2 partitions, 110.0 of 100.0 records/s"
    ) in made.problems.values()
    assert made.as_json()["old_plan"]["member_arriving"] == 110
    assert made.as_json()["by_load"]
    assert not made.is_fine


def test_group_with_an_old_plan_grows_again_after_a_quarter_of_the_horizon() -> None:
    """Dealt in turn, both heavy partitions have the same owner."""
    two = look([55, 25, 55, 25], [0] * 4, 2, strategy="cooperative-lag-aware", reported=4)
    three = look([55, 25, 25, 55], [0] * 4, 3, strategy="cooperative-lag-aware", reported=4)
    times = iter([0.0, 60.0, 120.0, 180.0, 960.0])
    sizes = started(replace(REQUEST, rate=100.0), two, two, two, three, three, clock=times.__next__)
    made = [sizes.read() for _ in range(4)]
    assert [(each.sizing.members, each.sizing.advised) for each in made] == [(2, 3), (2, 3), (3, 3), (3, 4)]
    assert (
        headline(made[2]) == "billing: 3 members, the right size for a time lag of 30s; its plan is too old"
    )
    assert not made[2].is_fine


def test_sizes_are_planned_with_the_options_of_the_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the numbers of partitions may differ, a member reads the partition with half of the lag alone."""
    by_lag = look([0] * 8, [280] + [40] * 7, 2, strategy="cooperative-lag-aware")
    words = ("--rate", "10", "--headroom", "0", "--output", "json")
    least, notes = [], []
    for option in ((), ("--option", "max_partition_skew=null")):
        made = json.loads(run(monkeypatch, Looks(by_lag, by_lag), *words, *option).stdout)
        least.append(made["horizon"]["members"])
        notes.append(made["notes"][0])
    assert least == [5, 2]
    assert notes == [
        "the group's options are unknown, assuming max_partition_skew=1, min_improvement=0.1 (--option)",
        "the group's options are unknown, assuming min_improvement=0.1 (--option)",
    ]


def test_size_that_cannot_hold_the_target_is_not_right() -> None:
    hot = look([7, 90], [0, 0])
    made = sized(GIVEN_RATE, hot, hot)
    assert (made.sizing.is_right, made.is_fine) == (True, False)
    assert headline(made) == (
        "billing: 2 members, the right size for a time lag of 30s, which no size holds for all partitions"
    )
    standby = look([7, 7], [0, 0], strategy="failover")
    made = sized(GIVEN_RATE, standby, standby)
    assert (made.sizing.advised, made.sizing.holds) == (1, False)
    assert "failover does not hold the time lag: with 1, orders-" in "\n".join(lines(made))


# --- the report --------------------------------------------------------------------------------------------


def lines(report: SizeReport) -> list[str]:
    return printed(size_lines(report), width=120)


def test_report_says_from_which_step_its_sizes_use_a_mean() -> None:
    now = look([1.0] * 12, [0] * 12)
    expected = Expected(dict.fromkeys(owners_of(now.group), 5400.0), period_s=3600.0)
    load = group_load(now, 3600, 10, expected=expected, source="feed")
    sizing = size(load.history, simulated("sticky"), Target(30, headroom=0), members=2)
    made = SizeReport("billing", TIME, "sticky", sizing, is_measured=False, forecasts=load.forecasts)
    mean_line = (
        "the rows from +30m on use the mean of the forecasts over 1h: "
        "arrivals that rise in that time may need more members"
    )
    assert mean_line in lines(made)
    measured = group_load(now, 3600, 10)
    assert mean_line not in lines(replace(made, forecasts=measured.forecasts))
    recorded = replace(made, forecasts=Forecasts("the load model", 12, 3600.0), recorded=True)
    assert mean_line not in lines(recorded)


def test_page_shows_the_report() -> None:
    assert "\n".join(lines(shown_report())) in PAGE


def test_json_has_all_figures() -> None:
    parsed = json.loads(json.dumps(shown_report().as_json()))
    head = {"version": 1, "group": "billing", "time": TIME, "members": 2, "advised": 4, "rate": 1200}
    assert head.items() <= parsed.items()
    assert [step["starts_s"] for step in parsed["steps"]] == [0, 1800]
    assert parsed["steps"][0]["limit"]["topic"] == "orders"
    assert parsed["hot"][0]["partition"] == 4
    assert parsed["stay"]["members"] == 2
    assert parsed["forecasts"] == {
        "source": "kafka-assignors-load",
        "partitions": 6,
        "period_s": 3540,
        "age_s": 60,
        "mean_from_s": 1800,
    }
    assert parsed["scale"]["moved"] > 0


# --- the command -------------------------------------------------------------------------------------------


def run(monkeypatch: pytest.MonkeyPatch, looks: Looks, *words: str) -> Result:
    monkeypatch.setattr(cli_size, "LagReader", looks)
    common = ("billing", "--bootstrap", "b:9092", "--max-time-lag", "30s", "--every", "1ms")
    return CliRunner().invoke(cli_size.command, [*common, *words])


def test_exit_code_says_whether_the_size_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    for members, code in ((2, 1), (4, 0), (8, 1)):
        now = look([7] * 4, [0] * 4, members)
        looks = Looks(now, now)
        result = run(monkeypatch, looks, "--rate", "10", "--output", "json")
        assert result.exit_code == code
        assert json.loads(result.stdout)["advised"] == 4
        assert looks.closed
    result = run(monkeypatch, Looks(now, now), "--rate", "20")
    assert result.stdout.startswith("billing: shrink from 8 to 2 members for a time lag of 30s\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--max-time-lag", "30"), "expected a time"),
        (("--max-time-lag", "30s", "--every", "999999d"), "of at most 365d"),
        (("--headroom", "1"), "--headroom"),
        (("--rate", "nan"), "'nan' is not a finite number"),
        (("--rate", "1e18"), "--rate"),
        (("--serve", "8001"), "Invalid value for '--serve': expected HOST:PORT, got '8001'"),
        (("--strategy", "unknown"), "--strategy"),
        (("--option", "skew=1"), "--option skew: unknown, expected one of"),
        (("--strategy", "failover", "--option", "preempt=3"), "--option preempt: "),
        (("--strategy", "sticky", "--option", "preempt=true"), "--option preempt: not an option of sticky"),
    ],
)
def test_wrong_options_are_usage_errors(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    result = run(monkeypatch, Looks(), *words)
    assert result.exit_code == 2
    assert message in result.output


def test_group_has_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_size, "LagReader", Looks())
    result = CliRunner().invoke(cli_size.command, ["bill*", "--max-time-lag", "30s"])
    assert (result.exit_code, "one group" in result.output) == (2, True)


def test_reference_names_each_field_of_the_json() -> None:
    reference = (ROOT / "docs" / "reference" / "size.md").read_text(encoding="utf-8")
    table = reference[reference.index("## JSON") : reference.index("## Limits")]
    named = {word.split(".")[-1].removesuffix("[]") for word in re.findall(r"`([^`]+)`", table)}
    text = json.dumps(shown_report().as_json())
    assert {*re.findall(r'"(\w+)": ', text)} - {"steps", "horizon", "hot"} == named - {
        "--output json",
        "/size",
    }


def test_log_repeats_no_note_whose_figures_change() -> None:
    first, second = (
        shown_report().with_notes(f"members read {rates} records/s")
        for rates in ("9.1 to 21", "8,400.2 to 19")
    )
    assert first.problems.keys() == second.problems.keys()
    assert second.problems["members read # to # records/s"] == "members read 8,400.2 to 19 records/s"
    assert second.problems["hot orders-4"].startswith("orders-4 receives 1,500.0 records/s")
    stuck, other = (first.with_notes(f"orders-{number}: records wait") for number in (5, 7))
    assert stuck.problems.keys() != other.problems.keys()
    stuck, other = (first.with_notes(f"{number}-orders-3: records wait") for number in (1, 2))
    assert stuck.problems.keys() != other.problems.keys()
    late, later = (replace(first, oldest_s=seconds) for seconds in (59.0, 61.0))
    assert late.problems.keys() == later.problems.keys()
    assert late.problems["late"].startswith("the oldest unread record has waited 59s, longer than the target")


def test_option_of_another_strategy_than_the_one_the_group_runs_is_a_usage_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = look([7, 7], [0, 0])
    result = run(monkeypatch, Looks(now, now), "--rate", "10", "--option", "preempt=true")
    assert result.exit_code == 2
    assert "--option preempt: not an option of sticky, but of failover" in result.output
