from __future__ import annotations

from demo.data.replay import Ack, sent_entries
from demo.figures import processing
from demo.figures.processing import Account, Join, Sent, Stretch, Wait
from demo.group.logs import Entry
from tests.unit.demo.story import S, at, done, opened, sent


def test_lost_and_repeated_records_are_found_offset_by_offset() -> None:
    offered = processing.sent_by_partition([sent(1, 0, 0, 9), sent(1, 1, 0, 4)])
    worked = processing.stretches({"m1": [done(1, 2, 0, 0, 6)], "m2": [done(3, 4, 0, 5, 8)]}, 9 * S)
    assert processing.account(offered, worked) == Account(produced=15, processed=9, lost=6, duplicates=2)


def record(t: float, began: float, offset: int) -> Entry:
    """One record of a batch, as members log it."""
    return done(began, t, 0, offset, offset)


def test_records_of_one_batch_are_one_stretch_and_another_batch_is_another() -> None:
    log = [record(2, 1, 7), record(3, 1, 8), record(5, 4, 9)]
    assert processing.stretches({"m1": log}, 9 * S) == {
        0: [Stretch(1 * S, 3 * S, 7, 8, "m1"), Stretch(4 * S, 5 * S, 9, 9, "m1")]
    }


def test_records_done_before_a_kill_in_mid_batch_are_counted_when_they_are_done_again() -> None:
    killed = [record(2, 1, 0), record(3, 1, 1)]
    again = [record(9, 8, 0), record(10, 8, 1), record(11, 8, 2)]
    worked = processing.stretches({"m1": killed, "m2": again}, 99 * S)
    assert processing.account(processing.sent_by_partition([sent(1, 0, 0, 2)]), worked).duplicates == 2


def test_the_drain_ends_with_a_first_time_not_with_a_repeat() -> None:
    logs = {"m1": [record(2, 1, 0), record(3, 1, 1)], "m2": [record(9, 8, 1)]}
    assert processing.last_first_time(logs, 99 * S) == 3 * S
    assert processing.last_first_time({}, 99 * S) is None


KILL_AND_JOIN = [40 * S, 43 * S]


def test_a_pause_after_a_kill_is_the_kills_even_if_somebody_joins_before_it_is_noticed() -> None:
    cause = Join(46 * S, 46 * S, 3)
    orphan = Wait(40 * S - 1, 40 * S + 1, 47 * S, "m3")
    assert processing.step_behind(orphan, cause, KILL_AND_JOIN, orphaned_by=[0]) == 0


def test_a_pause_of_a_survivor_is_the_join_that_made_it_rejoin() -> None:
    cause = Join(46 * S, 46 * S, 3)
    for start in (43 * S - 1, 43 * S + 1):  # just before: it waited for its turn when the step came
        survivor = Wait(start, start, 47 * S, "m3")
        assert processing.step_behind(survivor, cause, KILL_AND_JOIN, orphaned_by=[]) == 1


def test_a_second_round_belongs_to_the_step_of_the_first_and_nothing_to_what_came_before_all() -> None:
    second = Join(42 * S, 42 * S, 3)
    assert processing.step_behind(Wait(41 * S, 41 * S, 43 * S, "m3"), second, [40 * S], []) == 0
    assert (
        processing.step_behind(Wait(1 * S, 1 * S, 3 * S, "m3"), Join(2 * S, 2 * S, 1), [40 * S], []) is None
    )


def test_records_after_the_end_do_not_count() -> None:
    assert processing.stretches({"m1": [done(1, 2, 0, 0, 6)]}, 1 * S) == {}


def test_a_wait_begins_when_work_stops_or_when_the_next_record_arrives() -> None:
    worked = [Stretch(0, 10, 0, 4, "m1"), Stretch(30, 40, 5, 9, "m1"), Stretch(90, 99, 10, 12, "m2")]
    offered = Sent([Entry(5, "sent", (0,), 0, 9), Entry(70, "sent", (0,), 10, 12)])
    assert processing.waits(worked, offered) == [Wait(10, 10, 30, "m1"), Wait(40, 70, 90, "m2")]


def test_repeated_records_are_no_wait() -> None:
    worked = [Stretch(0, 10, 0, 9, "m1"), Stretch(30, 40, 5, 9, "m2")]
    assert processing.waits(worked, Sent([Entry(5, "sent", (0,), 0, 9)])) == []


def test_a_rebalance_caused_the_wait_when_its_taker_joined_within() -> None:
    log = [at(1, "joined", 0, generation=4), at(5, "joined", 0, generation=5), opened(5, 7, 0)]
    rebalances = processing.joins(log)
    assert rebalances == [Join(1 * S, 1 * S, 4), Join(5 * S, 7 * S, 5)]
    assert processing.caused_by(Wait(4 * S, 4 * S, 8 * S, "m2"), rebalances) == rebalances[1]
    arrived_in_warm_up = Wait(4 * S, 6 * S, 8 * S, "m2")
    assert processing.caused_by(arrived_in_warm_up, rebalances) == rebalances[1]
    arrived_long_after = Wait(4 * S, 9 * S, 10 * S, "m2")
    assert processing.caused_by(arrived_long_after, rebalances) is None
    two_rounds = [*rebalances, Join(6 * S, 6 * S, 6)]
    assert processing.caused_by(Wait(4 * S, 4 * S, 8 * S, "m2"), two_rounds) == rebalances[1]
    before = Wait(2 * S, 2 * S, 3 * S, "m2")
    assert processing.caused_by(before, rebalances) is None


def test_acknowledgements_are_merged_into_stretches_of_offsets() -> None:
    acks = [Ack(1, 7, 3), Ack(0, 4, 1), Ack(0, 5, 2), Ack(1, 8, 4), Ack(1, 10, 5)]
    assert list(sent_entries(acks)) == [
        Entry(2, "sent", (0,), 4, 5),
        Entry(4, "sent", (1,), 7, 8),
        Entry(5, "sent", (1,), 10, 10),
    ]
