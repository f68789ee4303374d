"""A reading of a small cluster; docs/guides/exporter.md shows a part of its page."""

from __future__ import annotations

from kafka_assignors.cli.exporter.reading import ClusterReading
from kafka_assignors.cli.group_lag import PartitionLag
from kafka_assignors.lag import Offsets
from kafka_assignors.lag.fetch.group import GroupMember
from kafka_assignors.plan import TopicPartition

ORDERS = [TopicPartition("orders", p) for p in range(3)]
RETURNS = TopicPartition("returns", 0)
MEMBER = GroupMember("billing-1-1f0c2d34", None, "billing-1", "10.0.0.7", tuple(ORDERS))


def a_reading(*, is_complete: bool = True, took_s: float = 0.25) -> ClusterReading:
    """Group ``billing`` lags; a partition has no commit.  Group ``audit`` has no members.  One is denied."""
    return ClusterReading(
        groups={
            "billing": (
                PartitionLag(ORDERS[0], MEMBER, 118_900, 1_500, 12.5),
                PartitionLag(ORDERS[1], MEMBER, 98_000, 0, 0.0),
                PartitionLag(ORDERS[2], MEMBER, None, None, None),
                PartitionLag(RETURNS, MEMBER, 90, 10, 4.0),
            ),
            "audit": (PartitionLag(ORDERS[0], None, 120_399, 1, 3.25),),
        },
        offsets={
            ORDERS[0]: Offsets(0, 120_400, None),
            ORDERS[1]: Offsets(40_000, 98_000, None),
            ORDERS[2]: Offsets(0, 700, None),
            RETURNS: Offsets(0, 100, None),
        },
        left_out={"payroll": "not authorised to describe the group"},
        problems={"payroll": "left out group payroll: not authorised to describe the group"},
        is_complete=is_complete,
        took_s=took_s,
    )
