from __future__ import annotations

from demo.figures import ownership
from demo.figures.ownership import Handover, Hold
from tests.unit.demo.story import S, at


def test_a_hold_ends_with_revocation_loss_death_or_the_end() -> None:
    members = {
        "m1": [at(1, "assigned", 0, 1, 2, 3), at(2, "revoked", 0), at(3, "lost", 1)],
        "m2": [at(2, "assigned", 0), at(6, "revoked", 0)],
    }
    assert ownership.find_holds(members, died={"m2": 5 * S}, end=9 * S) == [
        Hold(0, 1 * S, 2 * S, "m1"),
        Hold(0, 2 * S, 5 * S, "m2"),
        Hold(1, 1 * S, 3 * S, "m1"),
        Hold(2, 1 * S, 9 * S, "m1"),
        Hold(3, 1 * S, 9 * S, "m1"),
    ]


def test_a_partition_that_comes_back_was_not_handed_over() -> None:
    spans = [
        Hold(0, 0, 5, "m1"),
        Hold(0, 6, 9, "m1"),
        Hold(0, 10, 12, "m2"),
        Hold(1, 0, 4, "m1"),
        Hold(1, 4, 9, "m2"),
    ]
    assert ownership.handovers(spans, since=4) == [Handover(10, 0, "m1", "m2")]
    assert ownership.handovers(spans, since=0) == [Handover(4, 1, "m1", "m2"), Handover(10, 0, "m1", "m2")]


def test_settled_is_the_last_change_unless_a_partition_is_left_over() -> None:
    spans = [Hold(0, 0, 5, "m1"), Hold(0, 7, 20, "m2"), Hold(1, 0, 20, "m1")]
    assert ownership.settled_at(spans, 3, 20, partitions=2) == 7
    assert ownership.settled_at(spans, 8, 20, partitions=2) == 8
    assert ownership.settled_at(spans, 3, 6, partitions=2) is None


def test_two_owners_at_once_are_counted() -> None:
    assert ownership.double_owned([Hold(0, 0, 5, "m1"), Hold(0, 5, 9, "m2")]) == 0
    assert ownership.double_owned([Hold(0, 0, 5, "m1"), Hold(0, 4, 9, "m2"), Hold(1, 4, 9, "m2")]) == 1


def test_a_partition_without_an_owner_counts_for_its_last_one() -> None:
    spans = [Hold(0, 0, 5, "m1"), Hold(0, 9, 20, "m2"), Hold(1, 6, 20, "m1")]
    assert ownership.last_owners(spans, 5) == {0: "m1"}
    assert ownership.last_owners(spans, 9) == {0: "m2", 1: "m1"}
    assert ownership.owners_at(spans, 5) == {}


def owners(*counts: int) -> dict[int, str]:
    names = [f"m{place}" for place, count in enumerate(counts, 1) for _ in range(count)]
    return dict(enumerate(names))


def test_least_moves_fill_the_newcomer_and_share_what_is_left_over() -> None:
    assert ownership.least_moves(owners(5, 5, 4, 4), ["m1", "m2", "m3", "m4", "m5"]) == 3
    assert ownership.least_moves(owners(3, 4, 4, 4, 3), ["m2", "m3", "m4", "m5"]) == 3
    assert ownership.least_moves(owners(6, 6, 6), ["m1", "m2", "m3"]) == 0
    assert ownership.least_moves(owners(9, 0, 0), ["m1", "m2", "m3"]) == 6
    assert ownership.least_moves(owners(4), ["m7"]) == 4
