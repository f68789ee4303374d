"""The arithmetic of ``bench.pauses``."""

from __future__ import annotations

from bench.pauses.figures import Delivery, Ownership, missing, owned_twice, pauses


def deliveries(*each: tuple[float, str, int]) -> list[Delivery]:
    """Records of partition 0: when, by whom, which offset."""
    return [Delivery(at, member, 0, offset, offset) for at, member, offset in each]


def test_longest_pause_of_a_kept_partition() -> None:
    found = pauses(deliveries((0, "a", 0), (1, "a", 1), (4, "a", 2), (4.5, "a", 3)), 0.5, 5)
    assert (found.kept, found.moved, found.duplicates) == ((3.0,), (), 0)


def test_duplicates_are_counted_and_end_no_pause() -> None:
    found = pauses(deliveries((0, "a", 0), (1, "a", 1), (2, "b", 1), (4, "b", 2)), 0.5, 5)
    assert (found.kept, found.moved, found.duplicates) == ((), (3.0,), 1)


def test_partitions_of_a_slow_member_are_left_out() -> None:
    found = pauses(deliveries((0, "a", 0), (1, "slow", 1), (9, "slow", 2)), 0.5, 10, frozenset({"slow"}))
    assert (found.kept, found.moved) == ((), ())


def test_records_that_no_member_delivered() -> None:
    assert missing(deliveries((0, "a", 0), (1, "b", 3), (2, "b", 2)), {0: 6, 1: 1}) == 4


def test_partition_that_is_assigned_while_another_member_owns_it() -> None:
    first = [
        Ownership(0, "a", frozenset({0, 1}), gained=True),
        Ownership(1, "a", frozenset({0}), gained=False),
    ]
    assert owned_twice([*first, Ownership(2, "b", frozenset({0, 1}), gained=True)]) == [1]
