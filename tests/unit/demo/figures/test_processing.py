"""The records of batches, and the waits of partitions and their causes."""

from __future__ import annotations

import pytest

from demo.data.replay import Ack, sent_entries
from demo.figures.processing import Join, Sent, Stretch, Wait, caused_by, joins, step_behind, stretches, waits
from demo.group.logs import Entry
from tests.unit.demo.story import S, at, done, opened


def test_records_of_one_batch_are_one_stretch() -> None:
    log = [done(1, 2, 0, 7, 7), done(1, 3, 0, 8, 8), done(4, 5, 0, 9, 9)]
    assert stretches({"m1": log}, 9 * S) == {
        0: [Stretch(1 * S, 3 * S, 7, 8, "m1"), Stretch(4 * S, 5 * S, 9, 9, "m1")]
    }


def test_acknowledgements_are_merged_into_stretches_of_offsets() -> None:
    acks = [Ack(1, 7, 3), Ack(0, 4, 1), Ack(0, 5, 2), Ack(1, 8, 4), Ack(1, 10, 5)]
    assert list(sent_entries(acks)) == [
        Entry(2, "sent", (0,), 4, 5),
        Entry(4, "sent", (1,), 7, 8),
        Entry(5, "sent", (1,), 10, 10),
    ]


def test_wait_begins_when_work_stops_or_the_next_record_arrives_and_repeats_are_none() -> None:
    offered = Sent([Entry(5, "sent", (0,), 0, 9), Entry(70, "sent", (0,), 10, 12)])
    worked = [Stretch(0, 10, 0, 4, "m1"), Stretch(30, 40, 5, 9, "m1"), Stretch(90, 99, 10, 12, "m2")]
    repeated = Stretch(120, 130, 11, 12, "m2")
    assert waits([*worked, repeated], offered) == [Wait(10, 10, 30, "m1"), Wait(40, 70, 90, "m2")]


@pytest.mark.parametrize(
    ("wait", "cause"),
    [
        (Wait(4 * S, 4 * S, 8 * S, "m2"), 5),
        (Wait(4 * S, 6 * S, 8 * S, "m2"), 5),
        (Wait(4 * S, 9 * S, 10 * S, "m2"), None),
        (Wait(2 * S, 2 * S, 3 * S, "m2"), None),
    ],
    ids=["from before", "from within the warm-up", "arrived long after", "over before"],
)
def test_first_rebalance_of_the_member_within_the_wait_caused_it(wait: Wait, cause: int | None) -> None:
    log = [at(1, "joined", 0, generation=4), at(5, "joined", 0, generation=5), opened(5, 7, 0)]
    rebalances = [*joins(log), Join(6 * S, 6 * S, 6)]
    join = caused_by(wait, rebalances)
    assert (join and join.generation) == cause


@pytest.mark.parametrize(
    ("start", "joined", "orphaned_by", "step"),
    [
        (40 * S + 1, 46, [0], 0),
        (43 * S - 1, 46, [], 1),
        (43 * S + 1, 46, [], 1),
        (41 * S, 42, [], 0),
        (1 * S, 2, [], None),
    ],
    ids=["orphan", "waits for its turn at the join", "survivor", "second round", "before all"],
)
def test_wait_belongs_to_the_kill_of_its_owner_or_the_step_before_the_rebalance(
    start: int, joined: int, orphaned_by: list[int], step: int | None
) -> None:
    """A member is killed at 40 s, and another one joins at 43 s, before the group has noticed."""
    wait, cause = Wait(start - 2, start, 47 * S, "m3"), Join(joined * S, joined * S, 3)
    assert step_behind(wait, cause, [40 * S, 43 * S], orphaned_by) == step
