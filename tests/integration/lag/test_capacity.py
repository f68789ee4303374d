"""Members that measure their capacity on a real broker."""

from __future__ import annotations

import time
from typing import Any

from kafka import KafkaConsumer

from kafka_assignors import CooperativeLagAwareAssignor, PlanReport
from kafka_assignors.plan import TopicPartition
from tests.integration.conftest import FreshNames
from tests.integration.lagging import write
from tests.integration.member_process import EventLog, emit
from tests.integration.members import Group, Member, assert_never_two_owners

PARTITIONS, RECORDS = 24, 1_000


class Fast(EventLog):
    """A member whose work on a record takes 4 ms, or more on a busy machine."""

    work_s = 0.004

    def __init__(self, _consumer: KafkaConsumer) -> None:
        super().__init__()

    def processed(self, _record: object) -> None:
        """Work on a record."""
        time.sleep(self.work_s)


class Slow(Fast):
    """Its work takes ten times as long."""

    work_s = 0.04


def emit_plan(report: PlanReport) -> None:
    """Report the records that each member of a plan has to read."""
    group = report.target.group
    records = {
        member_id: sum(group.lags[topic][p] for topic, numbers in owned.items() for p in numbers)
        for member_id, owned in report.target.items()
    }
    emit("plan", records=records, capacities={m.member_id: m.capacity for m in group.members})


def plan_of(group: Group, size: int) -> dict[str, Any]:
    """Return the last plan for so many members."""
    plans = [e.facts for m in group.members for e in m.of_kind("plan") if len(e.facts["records"]) == size]
    return dict(plans[-1])


def service_rate(member: Member) -> float:
    """The records a second that the member reports."""
    return 0.0 if (state := member.state()) is None else float(state.facts["service_rate"])


def test_slow_member_gets_fewer_records_once_its_rate_is_known(fresh: FreshNames) -> None:
    """Two members share the records evenly; when a third joins, the leader knows which one is slow."""
    with Group(fresh, PARTITIONS) as group:
        write(group.bootstrap, {TopicPartition(group.topics[0], p): RECORDS for p in range(PARTITIONS)})
        settings: dict[str, Any] = {
            "auto_offset_reset": "earliest",
            "enable_auto_commit": True,
            "auto_commit_interval_ms": 200,
            "max_poll_records": 10,
            "options": {
                "capacity": "measured",
                "max_partition_skew": None,
                "lag_refresh_ms": 500,
                "on_plan": emit_plan,
            },
        }
        fast = group.join(CooperativeLagAwareAssignor, listener=Fast, **settings)
        fast.wait_for("rebalance")
        slow = group.join(CooperativeLagAwareAssignor, listener=Slow, **settings)
        owned = group.settled()
        assert set(plan_of(group, 2)["capacities"].values()) == {1.0}
        assert len(owned[slow.name]) > PARTITIONS / 3
        group.wait_until(lambda: service_rate(fast) and service_rate(slow), "service rates of both")
        assert service_rate(slow) <= 1.05 / Slow.work_s  # it cannot be faster; the wire rounds by 4.4 %

        group.join(CooperativeLagAwareAssignor, listener=Fast, **settings)
        owned = group.settled()
        plan = plan_of(group, 3)
        ids = {m.name: state.facts["member_id"] for m in group.members if (state := m.state()) is not None}
        left, capacities = plan["records"], plan["capacities"]
        assert capacities[ids[slow.name]] < 1 < capacities[ids[fast.name]]
        assert capacities[ids["m2"]] == 1.0, "the median, as it has read nothing yet"
        assert left[ids[slow.name]] < 0.75 * sum(left.values()) / 3, "equal members get a third"
        assert len(owned[slow.name]) < PARTITIONS / 3
        assert_never_two_owners(group.members)
