from __future__ import annotations

from kafka_assignors.demo import service
from kafka_assignors.demo.logs import Entry
from kafka_assignors.demo.replay import Ack, runs
from kafka_assignors.demo.service import Account, Join, Sent, Stretch, Wait
from tests.unit.demo.story import S, at, done, opened, sent


def test_lost_and_repeated_records_are_found_offset_by_offset() -> None:
    offered = service.sent_by_partition([sent(1, 0, 0, 9), sent(1, 1, 0, 4)])
    worked = service.stretches({"m1": [done(1, 2, 0, 0, 6)], "m2": [done(3, 4, 0, 5, 8)]}, 9 * S)
    assert service.account(offered, worked) == Account(produced=15, processed=9, lost=6, duplicates=2)


def test_what_came_after_the_end_does_not_count() -> None:
    assert service.stretches({"m1": [done(1, 2, 0, 0, 6)]}, 1 * S) == {}


def test_a_wait_begins_when_work_stops_or_when_the_next_record_arrives() -> None:
    worked = [Stretch(0, 10, 0, 4, "m1"), Stretch(30, 40, 5, 9, "m1"), Stretch(90, 99, 10, 12, "m2")]
    offered = Sent([Entry(5, "sent", (0,), 0, 9), Entry(70, "sent", (0,), 10, 12)])
    assert service.waits(0, worked, offered) == [Wait(0, 10, 10, 30, "m1"), Wait(0, 40, 70, 90, "m2")]


def test_repeating_what_was_done_is_no_wait() -> None:
    worked = [Stretch(0, 10, 0, 9, "m1"), Stretch(30, 40, 5, 9, "m2")]
    assert service.waits(0, worked, Sent([Entry(5, "sent", (0,), 0, 9)])) == []


def test_a_rebalance_caused_the_wait_when_its_taker_joined_within() -> None:
    log = [at(1, "joined", 0, generation=4), at(5, "joined", 0, generation=5), opened(5, 7, 0)]
    rebalances = service.joins(log)
    assert rebalances == [Join(1 * S, 1 * S, 4), Join(5 * S, 7 * S, 5)]
    assert service.caused_by(Wait(0, 4 * S, 4 * S, 8 * S, "m2"), rebalances) == rebalances[1]
    arrived_in_warm_up = Wait(0, 4 * S, 6 * S, 8 * S, "m2")
    assert service.caused_by(arrived_in_warm_up, rebalances) == rebalances[1]
    arrived_long_after = Wait(0, 4 * S, 9 * S, 10 * S, "m2")
    assert service.caused_by(arrived_long_after, rebalances) is None
    before = Wait(0, 2 * S, 2 * S, 3 * S, "m2")
    assert service.caused_by(before, rebalances) is None


def test_acknowledgements_are_merged_into_stretches_of_offsets() -> None:
    acks = [Ack(1, 7, 3), Ack(0, 4, 1), Ack(0, 5, 2), Ack(1, 8, 4), Ack(1, 10, 5)]
    assert list(runs(acks)) == [
        Entry(2, "sent", (0,), 4, 5),
        Entry(4, "sent", (1,), 7, 8),
        Entry(5, "sent", (1,), 10, 10),
    ]
