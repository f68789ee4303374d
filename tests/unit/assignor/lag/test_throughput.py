"""``load_source="throughput"``: members measure arrivals, and the leader plans with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from kafka_assignors import ConfigurationError, CooperativeLagAwareAssignor, PlanReport
from kafka_assignors.lag.throughput import Throughput
from kafka_assignors.plan import TopicPartition
from kafka_assignors.wire import budget, lag_user_data, rates
from kafka_assignors.wire.assignment import CLASSIC_ONLY
from kafka_assignors.wire.compact_lag_user_data import LagUserData
from tests.support.group.joining import cluster, joined, raw

HEAVY = {0: 128.0, 1: 64.0}
LIGHT = {2: 1.0, 3: 0.0}


def member(name: str, own: Mapping[int, float], *, reads_budget: bool = True, claimed: Any = None) -> Any:
    """A member without lag that reports these rates, records a second."""
    reported = {TopicPartition("t", p): rate for p, rate in own.items()}
    data = lag_user_data.encode(
        LagUserData({}, 1, dict.fromkeys(reported, 0), 0, reads_budget=reads_budget, rates=reported)
    )
    return joined(name, raw(["t"], data, {"t": list(own if claimed is None else claimed)}, 1))


class Leader:
    """A leader, its plans and its assignments."""

    def __init__(self, **options: Any) -> None:
        self.reports: list[PlanReport] = []
        self.assignor = CooperativeLagAwareAssignor(
            load_source="throughput", on_plan=self.reports.append, **options
        )
        self.given: dict[str, ConsumerProtocolAssignment] = {}

    def assign(self, *members: Any) -> Mapping[str, Mapping[str, list[int]]]:
        """Return the target of one rebalance."""
        self.assignor.metadata(["t"])
        given = self.assignor.assign(cluster({"t": 4}), list(members))
        self.given = {
            name: ConsumerProtocolAssignment.decode(budget.unfold(a.encode())) for name, a in given.items()
        }
        return self.reports[-1].target

    def rates_for(self, name: str) -> dict[TopicPartition, float]:
        """Return the rates in a member's assignment."""
        received = budget.decode(self.given[name].user_data)
        assert received is not None
        partitions = sorted(TopicPartition(tp.topic, tp.partition) for tp in self.given[name].partitions())
        return rates.unpack(partitions, received.rates)


def test_leader_separates_busy_partitions_without_lag() -> None:
    """One member owns both; there is no lag yet."""
    leader = Leader()
    target = leader.assign(member("a", HEAVY), member("b", LIGHT))
    assert not any({0, 1} <= {*topics["t"]} for topics in target.values())
    assert leader.reports[0].facts()["load"] == "lag+forecast"
    assert leader.reports[0].forecasts == 4


def test_load_is_rate_times_horizon() -> None:
    leader = Leader(load_horizon_ms=10_000)
    leader.assign(member("a", HEAVY), member("b", LIGHT))
    assert leader.reports[0].target.group.lags == {"t": [1_280, 640, 10, 0]}


def test_first_plan_of_a_new_group_has_no_forecast() -> None:
    leader = Leader()
    leader.assign(member("a", {}), member("b", {}))
    assert leader.reports[0].forecasts == 0
    assert all(assignment.user_data == CLASSIC_ONLY for assignment in leader.given.values())


def test_rate_travels_with_its_partition() -> None:
    """Its new owner has it at once, and reports it although it has measured nothing."""
    leader = Leader()
    leader.assign(member("a", HEAVY), member("b", LIGHT))
    leader.assign(member("a", {0: 128.0}), member("b", {2: 1.0}), member("c", {}))
    gained = leader.rates_for("c")
    assert gained
    assert gained.items() <= {TopicPartition("t", p): rate for p, rate in (HEAVY | LIGHT).items()}.items()
    owner = CooperativeLagAwareAssignor(load_source="throughput")
    owner.on_assignment(leader.given["c"], 2)
    assert owner._throughput is not None
    assert owner._throughput.rates(gained) == gained


def test_leader_remembers_the_rates_of_a_member_that_died() -> None:
    leader = Leader()
    leader.assign(member("a", HEAVY), member("b", LIGHT))
    leader.assign(member("a", HEAVY), member("c", {}))
    assert leader.reports[-1].forecasts == 4
    sent = {**leader.rates_for("a"), **leader.rates_for("c")}
    assert {p.partition: rate for p, rate in sent.items() if p.partition in LIGHT} == LIGHT


def test_rate_of_an_unowned_partition_is_ignored() -> None:
    """A lie would move the partitions of others."""
    leader = Leader(load_horizon_ms=1_000)
    leader.assign(member("a", {**HEAVY, 2: 1_024.0}, claimed=[0, 1]), member("b", LIGHT))
    assert list(leader.reports[0].target.group.lags["t"]) == [128, 64, 1, 0]


def test_older_members_get_no_rates() -> None:
    """They do not read them; the plan still follows what the others report."""
    leader = Leader()
    target = leader.assign(member("a", HEAVY), member("b", LIGHT, reads_budget=False))
    assert not any({0, 1} <= {*topics["t"]} for topics in target.values())
    assert all(assignment.user_data == CLASSIC_ONLY for assignment in leader.given.values())


def test_source_expects_what_arrives_now() -> None:
    source = Throughput(60)
    a, b = (TopicPartition("t", p) for p in range(2))
    source.learn({a: 2.0}, 0)
    source.begin()
    assert source.look([a]).arrivals == {a: 120.0}
    assert not source.look([a]).problem
    expected = source.look([a, b])
    assert expected.arrivals == {a: 120.0}
    assert "have not been measured" in expected.problem
    source.close()


def test_throughput_needs_the_offsets_of_the_cluster() -> None:
    with pytest.raises(ConfigurationError, match="'load_source': throughput needs the cluster's offsets"):
        CooperativeLagAwareAssignor.configured(load_source="throughput", lag_source=lambda _partitions: {})
