"""Racks, from the consumer's option and the cluster's metadata to the plan (KIP-881)."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import pytest
from kafka.cluster import ClusterMetadata

from kafka_assignors import Assignor, CooperativeStickyAssignor, PlanReport
from kafka_assignors.assignor import convert
from kafka_assignors.plan import NO_GENERATION
from kafka_assignors.strategies import STRATEGIES
from tests.support.group.joining import Plan, cluster, every, joined, own, owner_of, plan_of, raw

TOPICS = {"t": 6, "u": 2}
BROKERS = ("zone-a", "zone-b", None)
REPLICAS = {"t": [[0], [1], [0], [1], [0, 2], [1, 2]], "u": [[2], [0, 1]]}
BY_RACK = [kind for kind in STRATEGIES.values() if kind.by_rack]

by_rack = pytest.mark.parametrize("kind", BY_RACK, ids=lambda kind: str(kind.name))
every_strategy = pytest.mark.parametrize("kind", STRATEGIES.values(), ids=STRATEGIES)


def planned(
    kind: type[Assignor],
    racks: Mapping[str, str | None],
    owned: Mapping[str, Mapping[str, list[int]]] | None = None,
    metadata: ClusterMetadata | None = None,
) -> tuple[Plan, PlanReport]:
    """Return the leader's plan and report for members with these racks."""
    reports: list[PlanReport] = []
    members = []
    for name, rack in racks.items():
        assignor = kind(rack=rack)
        if owned and name in owned:
            own(assignor, owned[name], 1)
        members.append(joined(name, assignor.metadata(TOPICS)))
    leader = kind(on_plan=reports.append)
    where = cluster(TOPICS, BROKERS, REPLICAS) if metadata is None else metadata
    plan_of(leader.assign(where, members))
    (report,) = reports
    return {name: dict(topics) for name, topics in report.target.items()}, report


@by_rack
def test_fresh_plan_puts_partitions_near_their_replicas(kind: type[Assignor]) -> None:
    """Fairness first: four each; a partition without a replica in any rack fills the gap."""
    plan, report = planned(kind, {"m": "zone-b", "n": "zone-a"})
    assert plan["m"]["t"] == [1, 3, 5]
    assert plan["n"]["t"] == [0, 2, 4]
    assert report.metrics.balance_score == 0
    assert report.metrics.near == 7


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
def test_rack_comes_before_stickiness(name: str) -> None:
    """All six partitions of t move, because each owner is in the other zone; partitions near both stay."""
    owned = {"m": {"t": [0, 2, 4], "u": [1]}, "n": {"t": [1, 3, 5], "u": [0]}}
    plan, report = planned(STRATEGIES[name], {"m": "zone-b", "n": "zone-a"}, owned)
    assert plan == {"m": {"t": [1, 3, 5], "u": [1]}, "n": {"t": [0, 2, 4], "u": [0]}}
    assert (report.metrics.kept, report.metrics.moved, report.metrics.near) == (2, 6, 7)


def test_fairest_sticky_moves_no_owned_partition_for_a_rack() -> None:
    """It places only free partitions near."""
    owned = {"m": {"t": [0, 2]}, "n": {"t": [1, 3]}}
    plan, report = planned(STRATEGIES["fairest-sticky"], {"m": "zone-b", "n": "zone-a"}, owned)
    assert plan["m"]["t"] == [0, 2, 5]
    assert plan["n"]["t"] == [1, 3, 4]
    assert report.metrics.near == 3


@by_rack
def test_fairness_comes_before_racks(kind: type[Assignor]) -> None:
    """A member far from all replicas gets as much as the others."""
    plan, report = planned(kind, {"m": "zone-a", "n": "zone-c"})
    assert [sum(map(len, topics.values())) for topics in plan.values()] == [4, 4]
    assert report.metrics.near == 4


@every_strategy
@pytest.mark.parametrize(
    ("racks", "brokers"),
    [
        ({"m": None, "n": None}, BROKERS),
        ({"m": "zone-x", "n": "zone-y"}, BROKERS),
        ({"m": "zone-b", "n": "zone-a"}, (None, None, None)),
        ({"m": "zone-b", "n": "zone-a"}, ("zone-x", "zone-y", None)),
    ],
    ids=["members do not say", "members are elsewhere", "brokers do not say", "brokers are elsewhere"],
)
def test_racks_that_do_not_help_do_not_change_the_plan(
    kind: type[Assignor], racks: dict[str, str | None], brokers: tuple[str | None, ...]
) -> None:
    owned = {"m": {"t": [0, 2, 4, 5], "u": [1]}}
    plan, report = planned(kind, racks, owned, cluster(TOPICS, brokers, REPLICAS))
    assert plan == planned(kind, {"m": None, "n": None}, owned, cluster(TOPICS))[0]
    assert report.metrics.near is None


def test_strategies_without_racks_do_not_read_them() -> None:
    others = {"range", "roundrobin", "failover", "lag-aware"}
    assert STRATEGIES.keys() - {kind.name for kind in BY_RACK} == others


@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_range_and_roundrobin_ignore_racks(name: str) -> None:
    """Nearness is measured all the same."""
    kind = STRATEGIES[name]
    plan, report = planned(kind, {"m": "zone-b", "n": "zone-a"})
    assert plan == planned(kind, {"m": None, "n": None})[0]
    assert report.metrics.near is not None


@every_strategy
@pytest.mark.parametrize(
    "rack",
    ["", " ", "zone-a\n", "\x00\x1b[31m", "\N{PILE OF POO}" * 3000, "a" * 32_000, "../../etc"],
    ids=["empty", "a space", "a line", "control", "wide", "long", "a path"],
)
def test_unknown_rack_does_not_change_the_plan(
    kind: type[Assignor], rack: str, caplog: pytest.LogCaptureFixture
) -> None:
    """No broker has it, so its member is near no replica and gets its share; no warning."""
    data = kind().user_data({}, NO_GENERATION)
    members = [joined("bad", raw(TOPICS, data, rack=rack)), joined("good", raw(TOPICS, data, rack="zone-a"))]
    plan = plan_of(kind().assign(cluster(TOPICS, BROKERS, REPLICAS), members))
    assert owner_of(plan).keys() == every(TOPICS)
    if kind in BY_RACK:
        assert set(plan["good"]["t"]) >= {0, 2, 4}
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


def test_log_line_has_the_number_of_near_partitions(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="kafka_assignors"):
        planned(STRATEGIES["sticky"], {"m": "zone-b", "n": "zone-a"})
    (record,) = caplog.records
    assert " spread=0 near=7 milliseconds=" in record.getMessage()
    assert getattr(record, "rebalance")["near"] == 7  # noqa: B009  # mypy does not know the extra field


class _PublicOnly:
    """Cluster metadata of a kafka-python whose inner parts are not the ones we know."""

    def __init__(self, known: ClusterMetadata) -> None:
        self.brokers = known.brokers
        self.is_replica_node = known.is_replica_node


def test_racks_of_replicas_come_from_the_metadata() -> None:
    """A partition or topic that the metadata does not list has none."""
    known = cluster(TOPICS, BROKERS, REPLICAS)
    racks = convert.replica_racks(known, {"t": 7, "u": 2, "gone": 1}, {"zone-a", "zone-b"})
    a, b = frozenset({"zone-a"}), frozenset({"zone-b"})
    assert racks == {"t": [a, b, a, b, a, b, frozenset()], "u": [frozenset(), a | b], "gone": [frozenset()]}


def test_public_call_finds_the_same_replicas() -> None:
    """Slower: one call for each partition and broker."""
    known = cluster(TOPICS, BROKERS, REPLICAS)
    arguments = {"t": 7, "u": 2, "gone": 1}, {"zone-b"}
    assert convert.replica_racks(_PublicOnly(known), *arguments) == convert.replica_racks(known, *arguments)


def test_too_many_rack_sets_are_ignored_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A limit that is just reached does not warn."""
    monkeypatch.setattr("kafka_assignors.plan.model.MOST_CELLS", 8)
    racks = {"m": "zone-b", "n": "zone-a"}
    without, _report = planned(CooperativeStickyAssignor, dict.fromkeys(racks))
    near, _report = planned(CooperativeStickyAssignor, racks)
    assert near != without
    assert "racks are ignored" not in caplog.text
    monkeypatch.setattr("kafka_assignors.plan.model.MOST_CELLS", 7)
    plan, report = planned(CooperativeStickyAssignor, racks)
    assert plan == without
    assert report.metrics.near is None
    limit = "4 pairs of a topic and a set of racks, times 2 members, are more than 7"
    assert caplog.text.count(f"cooperative-sticky: racks are ignored: {limit}\n") == 1


@pytest.mark.parametrize("name", ["range", "failover"])
def test_strategy_without_racks_does_not_warn_of_their_number(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kafka_assignors.plan.model.MOST_CELLS", 1)
    planned(STRATEGIES[name], {"m": "zone-b", "n": "zone-a"})
    assert "racks are ignored" not in caplog.text
