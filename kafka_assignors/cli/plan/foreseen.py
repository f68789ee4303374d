"""What is expected to come, in ``plan``: from a file, or read once from a live group's feed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.errors import OptionError
from kafka_assignors.lag.feed.load_feed import LoadFeed
from kafka_assignors.lag.feed.sources import Expected
from kafka_assignors.plan import UNKNOWN_LAG, Group, enough_expected, with_expected

__all__ = ["read_feed", "with_foreseen"]

MAX_AGE_MS = 900_000
"""As by default in a consumer."""
TIMEOUT_S = 10.0


def read_feed(group: Group, settings: Mapping[str, Any], group_id: str, topic: str) -> Expected:
    """What a feed has of a group now; it is read once, from its beginning, for ``TIMEOUT_S`` at most."""
    try:
        feed = LoadFeed(topic)
    except OptionError as error:
        raise click.UsageError(f"--load-topic: {error.reason}") from error
    reader = feed.reader({**settings, "group_id": group_id}, MAX_AGE_MS)
    try:
        reader.read_once(TIMEOUT_S)
        return reader.look([group.at(p) for p in range(group.size)])
    finally:
        reader.close()


def with_foreseen(
    group: Group, expected: Expected | None, assignors: Sequence[Assignor]
) -> tuple[Group, list[str]]:
    """The group with loads in place of lags, for strategies that plan by them, and what to say about that.

    It is the same group where there is nothing to plan by; None: nothing was said.
    """
    if expected is None:
        return group, []
    if not any(assignor.by_forecast for assignor in assignors):
        who = f"strategy {assignors[0].name!r} does" if len(assignors) == 1 else "the strategies do"
        return group, [f"{who} not use what is expected"]
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
        return group, [f"forecasts of {known:,} of {group.size:,} partitions only{why}: lag alone decides"]
    notes = ["loads are lag and what is expected to arrive"]
    if known < group.size:
        notes.append(
            f"no forecast of {group.size - known:,} of {group.size:,} partitions: "
            "each counts as the mean of its topic"
        )
    return with_expected(padded, expected.arrivals, expected.lags), notes
