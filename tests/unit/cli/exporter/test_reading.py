"""The exporter's values: partitions and owners of a group, lag in records and seconds, lines of problems."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_assignors.cli.exporter.reading import (
    is_same_log,
    partition_lag,
    position,
    problem_lines,
)
from kafka_assignors.cli.group_lag import PartitionLag
from kafka_assignors.lag import Offsets
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.lag.reading import OldestUnread, Position
from kafka_assignors.plan import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
OLD = TopicPartition("old", 0)
MEMBER = GroupMember("m-1", None, "m", "10.0.0.7", (T0,))
STABLE = GroupState("g", "Stable", "range", (MEMBER,), {T0: 5, T1: 6, OLD: 7})
EMPTY = GroupState("g", "Empty", "", (), STABLE.commits)
NOTHING = OldestUnread({}, {})


@pytest.mark.parametrize(
    ("committed", "offsets", "records", "unread"),
    [
        (5, Offsets(0, 9, None), 4, 5),
        (9, Offsets(0, 9, None), 0, None),
        (2, Offsets(4, 9, None), 5, 4),  # retention deleted the next records
        (20, Offsets(4, 9, None), 5, 4),  # the topic was created again
        (5, None, None, None),
        (None, Offsets(0, 9, None), None, None),
    ],
)
def test_lag_and_position(
    committed: int | None, offsets: Offsets | None, records: int | None, unread: int | None
) -> None:
    state = replace(EMPTY, commits={} if committed is None else {T0: committed})
    assert position(state, T0, offsets) == (None if unread is None else Position(T0, unread))
    assert partition_lag(state, T0, MEMBER, offsets, NOTHING, now_ms=0) == PartitionLag(
        T0, MEMBER, committed, records, 0.0 if records == 0 else None
    )


@pytest.mark.parametrize(
    ("now", "expected"),
    [((4, 9), True), ((6, 20), True), ((4, 8), False), ((0, 9), False), ((0, 2), False)],
)
def test_log_that_went_back_is_another(now: tuple[int, int], expected: bool) -> None:
    assert is_same_log(Offsets(4, 9, None), Offsets(*now, None)) is expected


@pytest.mark.parametrize(("timestamp", "seconds"), [(8_500, 1.5), (12_000, 0.0), (None, 0.0)])
def test_seconds_are_the_age_of_the_oldest_unread_record(timestamp: int | None, seconds: float) -> None:
    oldest = OldestUnread({Position(T0, 5): timestamp}, {})
    joined = partition_lag(STABLE, T0, MEMBER, Offsets(0, 9, None), oldest, now_ms=10_000)
    assert (joined.lag, joined.seconds) == (4, seconds)


def test_problems_of_one_reason_share_a_line() -> None:
    reasons = [("b", "denied"), ("a", "denied"), ("c", "gone"), ("d\n", "odd")]
    assert list(problem_lines("left out group", reasons).values()) == [
        "left out group a and 1 more: denied",
        "left out group c: gone",
        "left out group 'd\\n': odd",
    ]


def test_problem_with_another_number_of_names_has_the_same_key() -> None:
    """Otherwise the log would repeat it after each reading."""
    one, two = (
        problem_lines("left out group", [(name, "denied") for name in names]) for names in ("a", "bc")
    )
    assert one.keys() == two.keys()
