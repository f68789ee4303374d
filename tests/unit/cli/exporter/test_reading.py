"""The exporter's values: partitions and owners of a group, lag in records and seconds, lines of problems."""

from __future__ import annotations

import pytest

from kafka_assignors.cli.exporter.reading import RESET, is_same_log, partition_lag, problem_lines
from kafka_assignors.cli.group_lag import PartitionLag
from kafka_assignors.lag import Offsets, Reading
from kafka_assignors.lag.fetch.group import GroupMember
from kafka_assignors.lag.fetch.group_offsets import of_group
from kafka_assignors.lag.reading import OldestUnread, ReadPosition
from kafka_assignors.plan import TopicPartition

T0 = TopicPartition("t", 0)
MEMBER = GroupMember("m-1", None, "m", "10.0.0.7", (T0,))


def lag_of(committed: int | None, log: Offsets | None, oldest: OldestUnread) -> PartitionLag:
    """The lag of ``t-0`` at second 10."""
    ends = Reading({}, {} if log is None else {T0: log}, {} if log is not None else {T0: "no leader"})
    reading = of_group(ends, {} if committed is None else {T0: committed}, [T0], RESET)
    return partition_lag(T0, MEMBER, committed, reading, oldest, now_ms=10_000)


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
def test_lag_and_its_age(
    committed: int | None, offsets: Offsets | None, records: int | None, unread: int | None
) -> None:
    oldest = OldestUnread({} if unread is None else {ReadPosition(T0, unread): 1_000}, {})
    seconds = None if records is None else 9.0 if unread is not None else 0.0
    assert lag_of(committed, offsets, oldest) == PartitionLag(T0, MEMBER, committed, records, seconds)
    unknown = lag_of(committed, offsets, OldestUnread({}, {})).seconds
    assert unknown == (0.0 if records == 0 else None)


@pytest.mark.parametrize(
    ("now", "expected"),
    [((4, 9), True), ((6, 20), True), ((4, 8), False), ((0, 9), False), ((0, 2), False)],
)
def test_log_that_went_back_is_another(now: tuple[int, int], expected: bool) -> None:
    assert is_same_log(Offsets(4, 9, None), Offsets(*now, None)) is expected


def test_problems_of_one_reason_share_a_line() -> None:
    reasons = [("b", "denied"), ("a", "denied"), ("c", "gone"), ("d\n", "odd")]
    assert list(problem_lines("left out group", reasons).values()) == [
        "left out group a and 1 more: denied",
        "left out group c: gone",
        "left out group 'd\\n': odd",
    ]


def test_problem_with_another_number_of_names_has_the_same_key() -> None:
    """Otherwise the log would repeat it after each reading."""
    before, after = (
        problem_lines("left out group", [(name, "denied") for name in names]) for names in ("a", "bc")
    )
    assert before.keys() == after.keys()
