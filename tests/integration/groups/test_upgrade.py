"""The two-bounce upgrade from an eager strategy to ``cooperative-sticky`` (KIP-429, KIP-726), live.

Whenever the group has settled every partition has exactly one owner (``Group.settled`` sees to that), and at
no instant does any have two.
"""

from __future__ import annotations

import pytest
from kafka.coordinator.assignors.range import RangePartitionAssignor

from kafka_assignors import CooperativeStickyAssignor, RangeAssignor, StickyAssignor
from tests.integration.conftest import FreshNames
from tests.integration.members import Group, Member, assert_never_two_owners, moved
from tests.support.quick import long

PARTITIONS = 24
UPGRADE: list[type] = [CooperativeStickyAssignor, RangeAssignor]


def restart(group: Group, member: Member, *strategies: type) -> Member:
    """Replace a member by one with another list; the group settles in between."""
    successor = group.prepare(*strategies)
    member.close()
    group.settled()
    group.enter(successor)
    group.settled()
    return successor


def test_upgrading_from_equals_the_plain_list() -> None:
    """So the upgrade from ``range`` below stands for both."""
    assert CooperativeStickyAssignor.upgrading_from(RangeAssignor) == UPGRADE


@pytest.mark.parametrize(
    ("eager", "both"),
    [
        long(RangeAssignor, UPGRADE, id="range"),
        pytest.param(
            RangePartitionAssignor,
            CooperativeStickyAssignor.upgrading_from(RangePartitionAssignor),
            id="kafka-python's range",
        ),
        long(StickyAssignor, CooperativeStickyAssignor.upgrading_from(StickyAssignor), id="sticky"),
    ],
)
def test_upgrade_in_two_bounces(fresh: FreshNames, eager: type, both: list[type]) -> None:
    with Group(fresh, PARTITIONS) as group:
        members = group.join_all(3, eager)
        group.settled()
        for strategies in (both, [CooperativeStickyAssignor]):
            members = [restart(group, member, *strategies) for member in members]
        assert_never_two_owners(group.members)


def test_scale_out_between_the_bounces(fresh: FreshNames) -> None:
    """The broker picks cooperative-sticky with eager consumers only; no member asks for a second round.

    A leader that holds back what should move to the new member leaves 6 of 24 without an owner for good.
    """
    with Group(fresh, PARTITIONS) as group:
        group.join_all(3, *UPGRADE)
        before = group.settled()
        group.join(*UPGRADE)
        after = group.settled()
        assert len(moved(before, after)) == PARTITIONS // 4
        assert_never_two_owners(group.members)


@pytest.mark.parametrize(
    ("leader", "follower"),
    [
        long(UPGRADE, [CooperativeStickyAssignor], id="an eager leader"),
        pytest.param([CooperativeStickyAssignor], UPGRADE, id="a cooperative leader"),
    ],
)
def test_scaling_during_the_second_bounce(
    fresh: FreshNames, leader: list[type], follower: list[type]
) -> None:
    """In the second bounce, members join, leave and die on either side."""
    with Group(fresh, PARTITIONS) as group:
        group.join_all(2, *leader)
        group.settled()
        group.join(*follower)
        group.join(*follower)
        before = group.settled()
        group.join(*UPGRADE)
        group.join(CooperativeStickyAssignor)
        after = group.settled()
        assert len(moved(before, after)) == PARTITIONS // 6 * 2
        eager, cooperative = group.members[-2:]
        eager.close()
        group.settled()
        group.join(CooperativeStickyAssignor)
        cooperative.kill()
        group.members[1].close()
        group.settled()
        assert_never_two_owners(group.members)
