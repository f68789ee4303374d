"""The lag of a live group, asked of its cluster: read-only, with a deadline, and no plan fails for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kafka_assignors.errors import LagError
from kafka_assignors.lag import LagFetcher, Reading
from kafka_assignors.plan import UNKNOWN_LAG, Group, TopicPartition

__all__ = ["with_live_lag"]

TIMEOUT_MS = 5_000  # a partition that is not known by then stays so
_DEFAULT = "earliest"
_MOST_REASONS = 3  # of a large cluster's; each is a few words


def with_live_lag(
    group: Group, settings: Mapping[str, Any], group_id: str, reset: str | None
) -> tuple[Group, list[str]]:
    """The group with what its cluster tells of its lag, and what there is to say about that.

    Args:
        group: as ``read_live_group`` found it.
        settings: as ``connection_settings`` makes them.
        group_id: whose commits count.
        reset: where the group's consumers start without a commit, ``earliest`` or ``latest``; None: nobody
            said, which is worth a line where it matters.
    """
    wanted = [TopicPartition(topic, p) for topic, count in group.topics.items() for p in range(count)]
    fetcher = LagFetcher(settings, group_id=group_id, auto_offset_reset=reset or _DEFAULT)
    try:
        reading = fetcher.fetch(wanted, TIMEOUT_MS)
    except LagError as error:
        return group, [f"no lag: {error}; counts decide"]
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
    shown = [f"{why}: {count:,}" for why, count in reasons[:_MOST_REASONS]]
    if (more := len(reasons) - _MOST_REASONS) > 0:
        shown.append(f"{more} more reasons")
    unknown, asked = len(reading.missing), len(reading.missing) + len(reading.lags)
    then = "each counts as its topic's mean" if reading.lags else "counts decide"
    yield f"no lag of {unknown:,} of {asked:,} partitions ({', '.join(shown)}); {then}"


def _about_commits(reading: Reading, reset: str | None) -> Iterator[str]:
    """What a consumer does without a commit is its own setting, which the cluster does not know."""
    never = sum(at.committed is None and reading.lags[tp] > 0 for tp, at in reading.offsets.items())
    if never and reset is None:
        yield (
            f"no commit in {never:,} of {len(reading.offsets):,} partitions: their lag is all there is, "
            "as with auto_offset_reset=earliest; --reset latest: none"
        )
