"""The owners of partitions over time."""

from __future__ import annotations

import pytest

from demo.figures.ownership import Hold, find_holds, handovers, least_moves
from tests.unit.demo.story import S, at


def test_hold_ends_with_revocation_loss_death_or_the_end() -> None:
    members = {
        "m1": [at(1, "assigned", 0, 1, 2), at(2, "revoked", 0), at(3, "lost", 1)],
        "m2": [at(2, "assigned", 0), at(6, "revoked", 0)],
    }
    assert find_holds(members, died={"m2": 5 * S}, end=9 * S) == [
        Hold(0, 1 * S, 2 * S, "m1"),
        Hold(0, 2 * S, 5 * S, "m2"),
        Hold(1, 1 * S, 3 * S, "m1"),
        Hold(2, 1 * S, 9 * S, "m1"),
    ]


def test_partition_that_comes_back_to_its_owner_was_not_handed_over() -> None:
    assert handovers([Hold(0, 0, 5, "m1"), Hold(0, 6, 9, "m1")], since=0) == []


@pytest.mark.parametrize(
    ("owned", "present", "least"),
    [
        ((5, 5, 4, 4), "m1 m2 m3 m4 m5", 3),
        ((3, 4, 4, 4, 3), "m2 m3 m4 m5", 3),
        ((6, 6, 6), "m1 m2 m3", 0),
        ((9, 0, 0), "m1 m2 m3", 6),
        ((4,), "m7", 4),
    ],
)
def test_least_moves_fill_the_newcomer_and_share_the_remainder(
    owned: tuple[int, ...], present: str, least: int
) -> None:
    names = [f"m{place}" for place, count in enumerate(owned, 1) for _ in range(count)]
    assert least_moves(dict(enumerate(names)), present.split()) == least
