"""A group that lags, as ``lag`` sees it; docs/reference/lag.md shows it."""

from __future__ import annotations

from kafka_assignors.cli.lag.report import InTime, Report, report
from kafka_assignors.lag import Offsets, Reading, lag
from kafka_assignors.lag.fetch.group import GroupMember, GroupState
from kafka_assignors.plan import TopicPartition

TIME = "2026-11-21T12:00:00.000+00:00"
ORDERS = [TopicPartition("orders", p) for p in range(4)]
PAYMENTS = [TopicPartition("payments", p) for p in range(2)]
M1 = GroupMember(
    "billing-1-1f0c2d34-0000-4000-8000-0123456789ab", None, "billing-1", "10.0.0.7", (ORDERS[0], ORDERS[1])
)
M2 = GroupMember(
    "billing-2-9a8b7c6d-0000-4000-8000-0123456789ab",
    None,
    "billing-2",
    "10.0.0.8",
    (*ORDERS[2:], PAYMENTS[0]),
)
OFFSETS = {
    ORDERS[0]: Offsets(0, 120_400, 118_900),
    ORDERS[1]: Offsets(0, 98_000, 98_000),
    ORDERS[2]: Offsets(40_000, 101_250, 90_000),
    ORDERS[3]: Offsets(0, 700, None),
    PAYMENTS[1]: Offsets(0, 5_000, 4_000),
}
IN_TIME = InTime(
    {ORDERS[0]: 42, ORDERS[1]: 0, ORDERS[2]: 525_600, ORDERS[3]: 310},
    {PAYMENTS[1]: "not authorised to read the topic"},
    retention_left={ORDERS[2]: 0.131, ORDERS[3]: 0.9},
)


def a_report() -> Report:
    """Two members; one partition is denied, one has no owner."""
    commits = {tp: one.committed for tp, one in OFFSETS.items() if one.committed is not None}
    group = GroupState("billing", "Stable", "cooperative-sticky", (M1, M2), commits)
    lags = {tp: lag(one.end, one.committed, one.begin, "earliest") for tp, one in OFFSETS.items()}
    missing = {PAYMENTS[0]: "not authorised to describe the topic"}
    return report(group, Reading(lags, OFFSETS, missing), "earliest", TIME, IN_TIME)
