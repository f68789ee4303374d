"""Racks on a real cluster of two brokers in two zones: plans use the racks of its metadata."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_assignors import Assignor, CooperativeStickyAssignor, FairAssignor, RangeAssignor, StickyAssignor
from kafka_assignors.broker import development_broker
from tests.integration.cli.plan_command import plan, run
from tests.integration.conftest import FreshNames
from tests.integration.members import Group, about
from tests.integration.two_brokers import InZones, one_more_broker, wait_until_seen
from tests.support.quick import quick

PARTITIONS = 8


IN_A, IN_B = {"rack": "zone-a"}, {"rack": "zone-b"}


@pytest.fixture(scope="module")
def zones() -> Iterator[InZones]:
    """Names on a cluster of two brokers: 1 in zone-a and 2 in zone-b."""
    with (
        development_broker("jars", properties={"broker.rack": "zone-a"}) as broker,
        one_more_broker(broker, "zone-b"),
    ):
        wait_until_seen(broker.bootstrap, {1: "zone-a", 2: "zone-b"})
        yield InZones(broker.bootstrap)


def numbers(group: Group) -> dict[str, set[int]]:
    """Members and their partitions of the group's only topic."""
    return {name: {tp.partition for tp in owned} for name, owned in group.settled().items()}


def near(group: Group) -> object:
    """The leader's report of the last rebalance."""
    last = max((e for member in group.members for e in member.of_kind("rebalance")), key=lambda e: e.at)
    return last.facts.get("near")


EVEN, ODD = set(range(0, PARTITIONS, 2)), set(range(1, PARTITIONS, 2))


@pytest.mark.parametrize(
    "strategy",
    quick([CooperativeStickyAssignor, StickyAssignor, FairAssignor], CooperativeStickyAssignor),
    ids=lambda kind: str(kind.name),
)
def test_members_get_partitions_of_their_rack(zones: InZones, strategy: type[Assignor]) -> None:
    """This holds for either leader.  A third member gets its fair share, even from the other zone."""
    with Group(zones, PARTITIONS) as group:
        group.join(strategy, options=IN_B)
        assert numbers(group) == {"m0": EVEN | ODD}
        assert near(group) == len(ODD)
        group.join(strategy, options=IN_A)
        assert numbers(group) == {"m0": ODD, "m1": EVEN}
        assert near(group) == PARTITIONS
        group.join(strategy, options=IN_A)
        owned = numbers(group)
        assert sorted(map(len, owned.values())) == [2, 3, 3]
        assert owned["m0"] < ODD
        assert len(owned["m0"]) == 3
        assert near(group) == PARTITIONS - 1


def test_client_rack_is_the_rack_by_default(zones: InZones) -> None:
    with Group(zones, PARTITIONS) as group:
        group.join(CooperativeStickyAssignor, client_rack="zone-b")
        group.join(CooperativeStickyAssignor, client_rack="zone-a")
        assert numbers(group) == {"m0": ODD, "m1": EVEN}
        assert near(group) == PARTITIONS


def test_member_without_a_rack_leaves_the_others_local(zones: InZones) -> None:
    with Group(zones, PARTITIONS) as group:
        group.join_all(1, CooperativeStickyAssignor)
        group.settled()
        assert near(group) is None
        group.join(CooperativeStickyAssignor, options=IN_A)
        assert numbers(group) == {"m0": ODD, "m1": EVEN}
        assert near(group) == len(EVEN)


def test_plan_sees_the_racks_of_a_live_group(zones: InZones) -> None:
    """The admin client returns the same figures."""
    with Group(zones, PARTITIONS) as group:
        group.join(CooperativeStickyAssignor, options=IN_B)
        group.join(CooperativeStickyAssignor, options=IN_A)
        group.settled()
        now = plan(group)
        assert {why["reason"] for why in now["why"]} == {"kept"}
        assert now["metrics"]["near"] == near(group) == PARTITIONS

        assert plan(group, "--join", "1")["metrics"]["near"] < PARTITIONS  # new-1 has no rack


def test_group_planned_without_racks_becomes_local(zones: InZones) -> None:
    """``range`` ignores racks; the reasons of ``sticky``'s plan name them."""
    with Group(zones, PARTITIONS) as group:
        first, second = group.join(RangeAssignor, options=IN_A), group.join(RangeAssignor, options=IN_B)
        group.settled()
        prediction = plan(group, "--strategy", "sticky")
        assert prediction["metrics"]["near"] == PARTITIONS
        moved = [why["reason"] for why in prediction["why"] if why["reason"] != "kept"]
        assert len(moved) == PARTITIONS // 2
        ids = {about(member, "member_id") for member in (first, second)}
        assert set(moved) == {f"moved to a rack with a replica: {member_id}" for member_id in ids}


def test_rack_without_a_broker_has_no_effect(fresh: FreshNames) -> None:
    """On a cluster whose brokers have other racks, or none."""
    with Group(fresh, PARTITIONS) as group:
        group.join_all(2, CooperativeStickyAssignor, options={"rack": "a zone no broker is in"})
        assert sorted(map(len, numbers(group).values())) == [4, 4]
        assert near(group) is None
        done = run("--group", group.group_id, "--bootstrap", group.bootstrap)
        assert done.returncode == 0
        assert "near a replica" not in done.stdout
        assert "racks have no effect" in done.stderr
