"""Reads the chosen groups of a cluster: their members, commits and lag in records and in time."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from re import Pattern
from typing import Any

from kafka_assignors.cli.connection import Connection
from kafka_assignors.cli.exporter.reading import (
    RESET,
    ClusterReading,
    is_same_log,
    partition_lag,
    problem_lines,
)
from kafka_assignors.cli.group_lag import GroupOwners, owners_of, partitions_of
from kafka_assignors.cli.tables import partition_name
from kafka_assignors.errors import GroupError
from kafka_assignors.lag import Offsets
from kafka_assignors.lag.fetch.group import GroupState
from kafka_assignors.lag.fetch.group_offsets import GroupsReading, list_groups, read_groups, why
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.fetch.oldest_unread import OldestUnreadFetch
from kafka_assignors.lag.fetch.sending import FEW, attempt_fetch
from kafka_assignors.lag.reading import OldestUnread, ReadPosition, next_unread
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.plan import TopicPartition

_SHARES = (0.2, 0.4, 0.7, 1.0)
"""Deadlines for the list of groups, the groups, offsets and timestamps, as parts of ``timeout_s``."""


class ClusterReader:
    """Reads a cluster repeatedly over one set of connections; opens new ones if a broker does not answer."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        groups_like: Collection[Pattern[str]],
        topics_like: Collection[Pattern[str]],
        timeout_s: float,
        *,
        with_seconds: bool = True,
    ) -> None:
        self._connection = Connection(settings)
        self._fetch_settings = fetch_settings(settings, "-", RESET)
        self._groups_like = groups_like
        self._topics_like = topics_like
        self._timeout_s = timeout_s
        self._with_seconds = with_seconds
        self._owners: dict[str, GroupOwners] = {}
        self._known: set[str] = set()
        # These hold only partitions of the last reading, so that they cannot grow without bound.
        self._offsets: Mapping[TopicPartition, Offsets] = {}
        self._timestamps: Mapping[ReadPosition, int] = {}
        self._unknown: Collection[TopicPartition] = ()

    def read(self) -> ClusterReading:
        """Return the state of the chosen groups.

        Raises:
            LagError: the cluster does not answer or denies access, or a broker failed and no other listed a
                group.
        """
        connection_failed = True
        try:
            reading, connection_failed = self._read()
        finally:
            if connection_failed:  # a new connection may work, and gets no late responses
                self._connection.close()
        return reading

    def _read(self) -> tuple[ClusterReading, bool]:
        """Return the state of the chosen groups, and whether a broker did not answer."""
        start = time.monotonic()
        list_by, groups_by, offsets_by, times_by = (start + share * self._timeout_s for share in _SHARES)
        link = self._connection.open(list_by)
        listing, unlisted = list_groups(link, list_by)
        # A broker lists no group that the user may not describe.  A group must not look deleted when the user
        # loses that right, so the groups of the last reading are requested, too.
        names = sorted({name for name in listing if _matches(name, self._groups_like)} | self._known)
        groups = read_groups(
            link, self._fetch_settings, names, self._partitions, (groups_by, offsets_by), retries=FEW
        )
        self._known = groups.known
        self._owners = {name: owners for name, owners in dict(self._owners).items() if name in self._known}
        oldest: OldestUnread | None = None
        ages_failed = False
        if self._with_seconds:
            oldest, ages_failed = self._oldest(link, groups, times_by)
        epoch_s = time.time() - time.monotonic()
        left_out = {
            name: why(error) for name, error in groups.failures.items() if not isinstance(error, GroupError)
        }
        unknown = {tp: text for of_group in groups.readings.values() for tp, text in of_group.missing.items()}
        problems: dict[str, str] = {}
        if unlisted is not None:
            problems["list"] = unlisted
        if not names:
            problems["none"] = "no group matches --groups, or the user may not describe it"
        problems |= problem_lines("left out group", left_out.items())
        problems |= problem_lines("offsets unknown of", _named(unknown))
        if oldest is not None:
            problems |= problem_lines(
                "lag in seconds unknown of", _named({p.tp: reason for p, reason in oldest.missing.items()})
            )
        reading = ClusterReading(
            groups={
                name: tuple(
                    partition_lag(
                        tp,
                        self._owners[name].get(tp),
                        groups.states[name].commits.get(tp),
                        of_group,
                        oldest,
                        # The time when the commits were read: with a later one, records would look older.
                        now_ms=(epoch_s + groups.read_at[name]) * 1000,
                    )
                    for tp in sorted({*of_group.offsets, *of_group.missing})
                )
                for name, of_group in groups.readings.items()
            },
            offsets=groups.ends,
            left_out=left_out,
            problems=problems,
            is_complete=unlisted is None and groups.is_complete,
            took_s=time.monotonic() - start,
        )
        return reading, unlisted is not None or groups.connection_failed or ages_failed

    def _partitions(self, state: GroupState) -> list[TopicPartition]:
        """Return the partitions of a group that ``--topics`` selects, and remember their owners."""
        owners = self._owners[state.group_id] = owners_of(state, self._owners.get(state.group_id, {}))
        return [tp for tp in partitions_of(state, owners) if _matches(tp.topic, self._topics_like)]

    def _oldest(self, link: Link, groups: GroupsReading, deadline: float) -> tuple[OldestUnread, bool]:
        """Return the timestamps of the oldest unread records, and whether a broker did not answer.

        Timestamps of the previous reading are used again.  Partitions whose timestamps that reading could not
        fetch come first, so that each has its turn if there is no time for all.
        """
        unread = {
            position
            for reading in groups.readings.values()
            for tp, offsets in reading.offsets.items()
            if offsets.committed is not None and (position := next_unread(tp, offsets, RESET)) is not None
        }
        timestamps: dict[ReadPosition, int | None] = {
            position: self._timestamps[position]
            for position in unread & self._timestamps.keys()
            if is_same_log(self._offsets[position.tp], groups.ends[position.tp])
        }
        order = sorted(unread - timestamps.keys(), key=lambda p: (p.tp not in self._unknown, p))
        fetch = OldestUnreadFetch(link, self._fetch_settings, order, deadline, retries=FEW)
        if len(timestamps) < len(unread):
            attempt_fetch(link, deadline, fetch)
        result = fetch.result()
        timestamps |= result.timestamps
        self._offsets = groups.ends
        self._timestamps = {position: ms for position, ms in timestamps.items() if ms is not None}
        self._unknown = {position.tp for position in result.missing}
        return OldestUnread(timestamps, result.missing), fetch.connection_failed


def _matches(name: str, patterns: Collection[Pattern[str]]) -> bool:
    return any(pattern.fullmatch(name) for pattern in patterns)


def _named(reasons: Mapping[TopicPartition, str]) -> list[tuple[str, str]]:
    return [(partition_name(*tp), reason) for tp, reason in reasons.items()]
