"""Each metric's name, unit and meaning; ``docs/conf.py`` makes tables of them."""

from __future__ import annotations

from typing import NamedTuple

OWN_GROUP = "kafka-assignors-metrics"
STATEFUL_GROUP = "kafka-assignors-stateful-metrics"


def coordinator_group(prefix: str) -> str:
    """Return the group of the coordinator's metrics, from the consumer's ``metric_group_prefix``."""
    return f"{prefix}-coordinator-metrics"


class Metric(NamedTuple):
    """A metric.  One that ends in ``-total`` only grows; any other one is a gauge."""

    name: str
    unit: str
    meaning: str


COORDINATOR = (
    Metric("rebalance-latency-avg", "ms", "average time from the first JoinGroup to the SyncGroup response"),
    Metric("rebalance-latency-max", "ms", "longest time from the first JoinGroup to the SyncGroup response"),
    Metric("rebalance-latency-total", "ms", "time spent in successful rebalances"),
    Metric("rebalance-total", "rebalances", "successful rebalances"),
    Metric("rebalance-rate-per-hour", "rebalances/h", "successful rebalances per hour"),
    Metric("failed-rebalance-total", "attempts", "failed attempts to join"),
    Metric("failed-rebalance-rate-per-hour", "attempts/h", "failed attempts to join per hour"),
    Metric("last-rebalance-seconds-ago", "s", "time since the last success; -1 before the first"),
    Metric("partition-assigned-latency-avg", "ms", "average time of on_partitions_assigned"),
    Metric("partition-assigned-latency-max", "ms", "longest time of on_partitions_assigned"),
    Metric("partition-revoked-latency-avg", "ms", "average time of on_partitions_revoked"),
    Metric("partition-revoked-latency-max", "ms", "longest time of on_partitions_revoked"),
    Metric("partition-lost-latency-avg", "ms", "average time of on_partitions_lost"),
    Metric("partition-lost-latency-max", "ms", "longest time of on_partitions_lost"),
)
"""The coordinator metrics of Kafka's Java client that kafka-python does not have."""

PLAN = (
    Metric("plan-time-ms", "ms", "time to read the members' user data and to plan, with the wait for lag"),
    Metric("partitions-kept", "partitions", "partitions that stay with their owner"),
    Metric(
        "partitions-moved",
        "partitions",
        "partitions that the last plan takes from a member that could keep them",
    ),
    Metric("partitions-held-back", "partitions", "partitions the last round left without an owner"),
    Metric("partition-spread", "partitions", "largest difference between two subscribers' shares of a topic"),
    Metric(
        "largest-load", "records", "largest load of a member: lag, with forecast arrivals where they are used"
    ),
    Metric(
        "largest-load-bound",
        "records",
        "lower bound of the largest load of any plan; the best plan may have more",
    ),
    Metric("forecasts-used", "partitions", "partitions planned with a forecast; 0: by lag alone"),
)
"""Gauges of the leader's last plan.  NaN on other members, and where the strategy has no such figure."""

OWN = (
    *PLAN,
    Metric("rebalances-led-total", "rebalances", "rebalances this member planned as the leader"),
    Metric("rebalance-causes-total", "rebalances", "causes of the rebalances this member led, by tag cause"),
    Metric("partitions-moved-total", "partitions", "moved partitions; a move of several rounds counts once"),
    Metric("partitions-held-back-total", "partitions", "held-back partitions, once for all their rounds"),
    Metric("fallbacks-total", "plans", "plans of the fallback, because the strategy failed"),
    Metric("lag-fetches-failed-total", "fetches", "lag fetches that failed, also in part"),
    Metric("lag-age-seconds", "s", "age of this member's last measurement of its own lag"),
    Metric("records-during-rebalance-total", "records", "records that ContinuousConsumer delivered in joins"),
)
"""Our own metrics, in ``OWN_GROUP``."""

STATEFUL = (
    Metric("active-running-tasks", "tasks", "active tasks that process records"),
    Metric("active-restoring-tasks", "tasks", "active tasks that wait for their state"),
    Metric("standby-tasks", "tasks", "standbys of this member"),
    Metric("warmup-tasks", "tasks", "warm-ups of this member, for tasks that will move to it"),
    Metric("restore-lag", "records", "records that active tasks wait for"),
    Metric("copy-lag", "records", "records that standbys and warm-ups still have to apply"),
    Metric(
        "copy-lag-max", "records", "largest number of records that a standby or warm-up still has to apply"
    ),
    Metric("restored-records-total", "records", "changelog records applied to tasks, standbys and warm-ups"),
    Metric(
        "restored-records-rate",
        "records/s",
        "changelog records applied per second in the last 30 s, or since the last reading if longer ago",
    ),
    Metric("last-commit-seconds-ago", "s", "time since all work was last committed, or since the start"),
    Metric(
        "last-checkpoint-seconds-ago", "s", "age of the oldest checkpoint of an active task; -1 without one"
    ),
)
"""The metrics of a stateful member, in ``STATEFUL_GROUP``."""

MEANINGS = {metric.name: metric.meaning for metric in (*COORDINATOR, *OWN, *STATEFUL)}
