"""Reads the lag of a live group, with a deadline.  Without lag, a plan balances partition counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kafka_assignors.errors import LagError
from kafka_assignors.lag import LagFetcher, Reading
from kafka_assignors.plan import UNKNOWN_LAG, Group, TopicPartition, listed

TIMEOUT_MS = 5_000  # lag that was not read by then stays unknown
_DEFAULT = "earliest"


def with_live_lag(
    group: Group, settings: Mapping[str, Any], group_id: str, reset: str | None
) -> tuple[Group, list[str]]:
    """Return the group with its lag, and notes on partitions without lag or without a commit.

    Without ``reset``, consumers are assumed to start at the earliest record, with a note if it matters.
    """
    partitions = [group.at(index) for index in range(group.size)]
    fetcher = LagFetcher(settings, group_id=group_id, auto_offset_reset=reset or _DEFAULT)
    try:
        reading = fetcher.fetch(partitions, TIMEOUT_MS)
    except LagError as error:
        return group, [f"no lag: {error}"]
    finally:
        fetcher.close()
    lags = {
        topic: [reading.lags.get(TopicPartition(topic, p), UNKNOWN_LAG) for p in range(count)]
        for topic, count in group.topics.items()
    }
    return replace(group, lags=lags), [*_about_missing(reading), *_about_commits(reading, reset)]


def _about_missing(reading: Reading) -> Iterator[str]:
    if not reading.missing:
        return
    reasons = Counter(reading.missing.values()).most_common()
    counts = listed(reasons, name=lambda reason: "{}: {:,}".format(*reason))
    unknown, total = len(reading.missing), len(reading.missing) + len(reading.lags)
    effect = "; each counts as its topic's mean" if reading.lags else ""
    yield f"no lag for {unknown:,} of {total:,} partitions ({counts}){effect}"


def _about_commits(reading: Reading, reset: str | None) -> Iterator[str]:
    """Note partitions without a commit, whose lag depends on a setting that the cluster does not know."""
    never = sum(offsets.committed is None and reading.lags[tp] > 0 for tp, offsets in reading.offsets.items())
    if never and reset is None:
        yield (
            f"no commit in {never:,} of {len(reading.offsets):,} partitions: all their records count as lag, "
            "as with auto_offset_reset=earliest; if none should, give --reset latest"
        )
