"""Each chaos check complains of a history that breaks it, and of none that does not."""

from __future__ import annotations

from itertools import count

import pytest

from tests.integration.chaos.checks import (
    done_twice,
    even,
    kept_too_long,
    lagging,
    not_owned_once,
    one_has_all,
    out_of_order,
    overcommitted,
    shared,
    unread,
)
from tests.integration.chaos.ledger import Entry, Kind, Ledger, Place

T = "t"


def history(*lines: tuple[str, Kind, list[tuple[int, int]]]) -> list[Ledger]:
    """Make ledgers of lines in the order of time: member, kind, (partition, offset or generation)s."""
    clock, entries = count(), dict[str, list[Entry]]()
    for member, kind, places in lines:
        generation = places[0][1] if kind is Kind.OWNED else -1
        entry = Entry(next(clock), kind, tuple(Place(T, *place) for place in places), generation)
        entries.setdefault(member, []).append(entry)
    return [Ledger(member, tuple(its)) for member, its in entries.items()]


def read(member: str, *offsets: int, partition: int = 0) -> tuple[str, Kind, list[tuple[int, int]]]:
    return member, Kind.READ, [(partition, offset) for offset in offsets]


def commit(member: str, offset: int, partition: int = 0) -> tuple[str, Kind, list[tuple[int, int]]]:
    return member, Kind.COMMIT, [(partition, offset)]


def change(member: str, kind: Kind, *partitions: int) -> tuple[str, Kind, list[tuple[int, int]]]:
    return member, kind, [(partition, 0) for partition in partitions]


def owns(member: str, generation: int, *partitions: int) -> tuple[str, Kind, list[tuple[int, int]]]:
    return member, Kind.OWNED, [(partition, generation) for partition in partitions]


# --- unread ---


def test_records_read_by_any_member_are_read() -> None:
    ledgers = history(read("a", 0, 1), read("b", 1, 2))
    assert not unread([Place(T, 0, offset) for offset in range(3)], ledgers)


def test_a_skipped_record_is_unread() -> None:
    (complaint,) = unread([Place(T, 0, offset) for offset in range(4)], history(read("a", 0, 3)))
    assert complaint == "t-0: 2 acknowledged records were never read, the first at [1, 2]"


def test_a_record_of_another_partition_does_not_count_as_read() -> None:
    assert unread([Place(T, 1, 0)], history(read("a", 0)))


def test_a_commit_is_no_reading() -> None:
    assert unread([Place(T, 0, 0)], history(commit("a", 1)))


# --- updates ---


def test_an_update_is_done_twice_only_with_its_record() -> None:
    ledgers = history(read("a", 0, 1), read("b", 1, 2))
    assert not done_twice(0, ledgers)
    assert not done_twice(1, ledgers)
    assert done_twice(2, ledgers) == ["2 updates were done twice, and 1 records read again"]


# --- commits ---


def test_a_commit_up_to_what_others_have_read_is_in_order() -> None:
    assert not overcommitted(history(read("a", 0, 1), read("b", 2), commit("b", 3), commit("a", 2)))


def test_a_commit_beyond_the_last_record_read() -> None:
    (complaint,) = overcommitted(history(read("a", 0, 1), commit("a", 3)))
    assert complaint == "a committed t-0 up to 3 before 2 was read"


def test_a_commit_beyond_a_gap() -> None:
    assert overcommitted(history(read("a", 0, 2), commit("a", 3)))


def test_a_commit_before_the_reading() -> None:
    assert overcommitted(history(commit("a", 1), read("a", 0)))


def test_a_gap_that_another_member_has_closed() -> None:
    assert not overcommitted(history(read("a", 0, 2), read("b", 1), commit("a", 3)))


# --- order ---


def test_a_tenure_may_begin_anywhere_and_goes_on_from_there() -> None:
    ledgers = history(
        change("a", Kind.ASSIGNED, 0),
        read("a", 5, 6),
        change("a", Kind.REVOKED, 0),
        change("a", Kind.ASSIGNED, 0),
        read("a", 2, 3),
        change("a", Kind.ASSIGNED, 1),  # cooperative: the other one is kept
        read("a", 4),
    )
    assert not out_of_order(ledgers)


@pytest.mark.parametrize("offsets", [(0, 2), (0, 0), (1, 0)], ids=["gap", "twice", "back"])
def test_records_out_of_order_within_a_tenure(offsets: tuple[int, int]) -> None:
    (complaint,) = out_of_order(history(change("a", Kind.ASSIGNED, 0), read("a", *offsets)))
    assert complaint == f"a read t-0 at {offsets[1]}, and {offsets[0] + 1} was next"


@pytest.mark.parametrize("end", [Kind.REVOKED, Kind.LOST])
def test_reading_after_the_end_of_a_tenure(end: Kind) -> None:
    ledgers = history(change("a", Kind.ASSIGNED, 0), read("a", 0), change("a", end, 0), read("a", 1))
    assert out_of_order(ledgers) == ["a read t-0 at 1 without owning it"]


# --- owners ---


def test_partitions_change_owners_from_generation_to_generation() -> None:
    assert not shared(history(owns("a", 1, 0), owns("b", 1, 1), owns("b", 2, 0, 1)))


def test_two_owners_in_one_generation() -> None:
    assert shared(history(owns("a", 1, 0), owns("b", 1, 0))) == ["generation 1: t-0 was given to ['a', 'b']"]


def test_a_partition_that_moves_is_given_back_first() -> None:
    begin = (owns("a", 1, 0, 1), change("a", Kind.ASSIGNED, 0, 1), owns("a", 2, 1))
    given_back, taken = change("a", Kind.REVOKED, 0), (owns("b", 2, 0), change("b", Kind.ASSIGNED, 0))
    assert not kept_too_long(history(*begin, given_back, *taken))
    assert kept_too_long(history(*begin, *taken, given_back)) == [
        "generation 2: t-0 was assigned to b while a, a member of it, still had it"
    ]


def test_a_member_that_the_group_missed_may_keep_partitions_until_it_hears_of_that() -> None:
    missed = (owns("a", 1, 0), change("a", Kind.ASSIGNED, 0), owns("b", 2, 0), change("b", Kind.ASSIGNED, 0))
    assert not kept_too_long(history(*missed, change("a", Kind.LOST, 0), owns("a", 3, 1)))


def test_each_partition_has_one_owner() -> None:
    partitions = {(T, 0), (T, 1)}
    assert not not_owned_once({"a": [(T, 0)], "b": [(T, 1)]}, partitions)
    assert not_owned_once({"a": [(T, 0)], "b": []}, partitions) == ["t-1 has 0 owners"]
    assert not_owned_once({"a": [(T, 0), (T, 1)], "b": [(T, 1)]}, partitions) == ["t-1 has 2 owners"]


def test_a_partition_that_does_not_exist_is_no_ones() -> None:
    assert not_owned_once({"a": [(T, 0), (T, 7)]}, {(T, 0)}) == ["t-7 has 1 owners"]


# --- the end ---


def test_lag_is_what_is_not_committed() -> None:
    assert not lagging({(T, 0): 3, (T, 1): 0}, {(T, 0): 3})
    assert lagging({(T, 0): 3}, {(T, 0): 2}) == ["t-0: 2 of 3 records are committed"]
    assert lagging({(T, 0): 3}, {}) == ["t-0: 0 of 3 records are committed"]


def test_a_commit_beyond_the_end_is_wrong_too() -> None:
    assert lagging({(T, 0): 3}, {(T, 0): 4})


def test_even_means_a_difference_of_one() -> None:
    assert not even({"a": [(T, 0), (T, 1)], "b": [(T, 2)]})
    assert even({"a": [(T, 0), (T, 1)], "b": []})


def test_one_active_member_has_all() -> None:
    assert not one_has_all({"a": [(T, 0), (T, 1)], "b": []})
    assert one_has_all({"a": [(T, 0)], "b": [(T, 1)]})
    assert one_has_all({"a": [], "b": []})
