"""Forecasts in ``plan``: from a file, or read once from a live group's feed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.cli.common import as_usage_error
from kafka_assignors.cli.plan.notes import about_unused
from kafka_assignors.lag.feed.load_feed import LoadFeed
from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.plan import UNKNOWN_LAG, Group, TopicPartition, enough_expected, with_expected

MAX_AGE_MS = 900_000
"""The default of a consumer's ``load_max_age_ms``."""
TIMEOUT_S = 10.0
"""Seconds to read the feed.  A slow broker may add about 10 s."""


def read_feed(
    settings: Mapping[str, Any], group_id: str, topic: str, partition_counts: Mapping[str, int]
) -> Expected:
    """Read a group's forecasts once, from the beginning of the feed, within about ``TIMEOUT_S``."""
    with as_usage_error("--load-topic"):
        feed = LoadFeed(topic)
    reader = feed.reader({**settings, "group_id": group_id}, MAX_AGE_MS)
    try:
        reader.read_once(TIMEOUT_S)
        return reader.look([TopicPartition(t, p) for t, n in partition_counts.items() for p in range(n)])
    finally:
        reader.close()


def with_forecasts(
    group: Group, expected: Expected | None, assignors: Sequence[Assignor]
) -> tuple[Group, list[str]]:
    """Add forecast arrivals to the group's lags, and return notes.

    If forecasts cannot be used, the returned group is ``group`` itself.
    """
    if expected is None:
        return group, []
    if not any(assignor.by_forecast for assignor in assignors):
        return group, [about_unused(assignors, "forecasts")]
    padded = replace(
        group,
        lags={
            topic: [*lags, *[UNKNOWN_LAG] * (count - len(lags))]
            for topic, count in group.topics.items()
            for lags in [group.lags.get(topic, ())]
        },
    )
    known = sum(group.at(p) in expected.arrivals for p in range(group.size))
    if not enough_expected(padded, expected.arrivals):
        why = f" ({expected.problem})" if expected.problem else ""
        effect = ": planning by lag alone" if group.knows_lag else ""
        return group, [f"forecasts for only {known:,} of {group.size:,} partitions{why}{effect}"]
    has_lag = group.knows_lag or expected.lags
    notes = [f"loads are {'lag and ' if has_lag else ''}forecast arrivals"]
    if known < group.size:
        notes.append(
            f"no forecast for {group.size - known:,} of {group.size:,} partitions: "
            "each counts as the mean of its topic"
        )
    return with_expected(padded, expected.arrivals, expected.lags), notes
