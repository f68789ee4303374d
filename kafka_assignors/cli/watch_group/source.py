"""Reads a group and its topics, and separately its lag.  Read-only: joins no group."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_assignors.cli.connection import Connection
from kafka_assignors.cli.group_lag import GroupOwners, owners_of, partitions_of
from kafka_assignors.cli.group_reader import GroupReader
from kafka_assignors.cli.tables import counted, partition_name
from kafka_assignors.cli.watch_group.history import Snapshot
from kafka_assignors.lag import Reset
from kafka_assignors.lag.fetch.group_offsets import of_group
from kafka_assignors.lag.fetch.many_groups import EndsFetch
from kafka_assignors.lag.fetch.sending import FEW, attempt_fetch
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.plan import TopicPartition

_ENDS_S = 5.0  # maximum time for reading end offsets


@dataclass(frozen=True, slots=True)
class GroupLag:
    """The lag of a group's partitions, as last read."""

    time_s: float | None = None  # of the look that read the commits, seconds since 1970; None: not read yet
    lags: Mapping[TopicPartition, int] = field(default_factory=dict)  # where known
    problem: str = ""  # why a lag is unknown or old; empty: all lag is known and new


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at a group."""

    snapshot: Snapshot
    partitions: Collection[TopicPartition]  # whose lag is shown; ``cli.group_lag`` has the rule
    lag: GroupLag = field(default_factory=GroupLag)  # the last known

    def with_lag(self, lag: GroupLag) -> Observation:
        """Return the look with the lag of its partitions."""
        lags = {tp: lag.lags[tp] for tp in self.partitions if tp in lag.lags}
        return replace(self, lag=replace(lag, lags=lags))


class GroupSource:
    """Reads one group over connections of its own.

    One thread may call ``read`` while another calls ``read_lag``.  The two methods have separate connections,
    because a method closes its connection after a failure.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        group_id: str,
        reset: Reset,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._reader = GroupReader(settings, group_id)
        self._lag_connection = Connection(settings)
        self._fetch_settings = fetch_settings(settings, group_id, reset)
        self._clock = clock
        self._owners: GroupOwners = {}

    def read(self) -> Observation:
        """Read the group, its commits and its topics, but not the end offsets."""
        group = self._reader.read()
        topics = {topic for member in group.members for topic in member.topics}
        snapshot = Snapshot(self._clock(), group, self._reader.partition_counts(topics))
        self._owners = owners_of(group, self._owners)
        return Observation(snapshot, partitions_of(group, self._owners))

    def read_lag(self, look: Observation) -> GroupLag:
        """Read the end offsets of the look's partitions; the lag is their distance from the look's commits.

        Takes up to 10 s while brokers do not answer.
        """
        time_s, partitions = look.snapshot.time_s, sorted(look.partitions)
        if not partitions:
            return GroupLag(time_s)
        link = self._lag_connection.reach()
        deadline = time.monotonic() + _ENDS_S
        fetch = EndsFetch(link, self._fetch_settings, partitions, deadline, retries=FEW)
        attempt_fetch(link, deadline, fetch)
        if fetch.connection_failed:  # a new link may work, and gets no late responses
            self._lag_connection.close()
        commits = look.snapshot.group.commits
        reading = of_group(fetch.reading(), commits, partitions, self._fetch_settings.reset)
        problem = ""
        if reading.missing:
            (topic, partition), reason = min(reading.missing.items())
            count = counted(len(reading.missing), "partition")
            problem = f"lag of {count} unknown, such as {partition_name(topic, partition)}: {reason}"
        return GroupLag(time_s, reading.lags, problem)

    def close(self) -> None:
        """Close the connections."""
        self._lag_connection.close()
        self._reader.close()
