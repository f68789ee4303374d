"""Reads groups and their lag, in records and in time, over one connection."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from statistics import median
from typing import Any

import click

from kafka_assignors.cli.connection import RESPONSE_S, Connection
from kafka_assignors.cli.group_lag import GroupOwners, owners_of, partitions_of
from kafka_assignors.cli.lag.report import GroupsReport, InTime, Report, report
from kafka_assignors.errors import BrokerError, GroupError, KafkaAssignorsError, LagError
from kafka_assignors.lag import Offsets, Reset
from kafka_assignors.lag.fetch.errors import lag_error
from kafka_assignors.lag.fetch.group import GroupState
from kafka_assignors.lag.fetch.group_offsets import GroupsReading, list_groups, read_groups, why
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.fetch.oldest_unread import OldestUnreadFetch
from kafka_assignors.lag.fetch.retention import Retentions
from kafka_assignors.lag.fetch.sending import FEW, Sender, attempt, attempt_fetch
from kafka_assignors.lag.rates import WINDOW_S, Rates
from kafka_assignors.lag.reading import OldestUnread, ReadPosition, next_unread
from kafka_assignors.lag.retention import Retention, share_left
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.plan import TopicPartition

_OFFSETS_S = 15.0  # maximum time for groups and offsets
_TIMES_S = 10.0  # maximum time for timestamps and retention


def is_pattern(name: str) -> bool:
    """Return whether the name is a pattern of names: ``*`` stands for any characters, ``?`` for one."""
    return "*" in name or "?" in name


def matching(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that match a pattern, sorted."""
    like = pattern.replace("[", "[[]")  # ``[`` stands for itself
    return sorted(name for name in names if fnmatchcase(name, like))


class LagReader:
    """Reads the lag of groups.  Connects at the first read, and again after the connection failed.

    Args:
        settings: connection settings, as ``connection_settings`` returns them.
        reset: where consumers of the groups start without a commit.
        window_s: rates are means over this time, seconds.
    """

    def __init__(self, settings: Mapping[str, Any], reset: Reset, window_s: float = WINDOW_S) -> None:
        self._window_s = window_s
        self._reset = reset
        self._connection = Connection(settings)
        self._fetch_settings = fetch_settings(settings, "-", reset)
        self._rates: dict[str, Rates] = {}
        self._owners: dict[str, GroupOwners] = {}
        self._retentions = Retentions(_note)

    def read(self, names: Sequence[str]) -> GroupsReport:
        """Return the current lag of groups.

        Raises:
            KafkaAssignorsError: no broker answers, no group could be read (the error of a group that was
                named, if any, else of the first match), or no end offset could be read.
        """
        link = self._connection.reach()
        failures: dict[str, KafkaAssignorsError] = {}
        chosen = self._choose(link, names, failures)
        start = time.monotonic()
        groups = read_groups(
            link,
            self._fetch_settings,
            chosen,
            self._partitions,
            (start + RESPONSE_S, start + _OFFSETS_S),
            retries=FEW,
        )
        # Groups that match a watched pattern come and go, so the state of deleted groups is dropped.
        self._owners = {name: owners for name, owners in dict(self._owners).items() if name in groups.known}
        self._rates = {name: self._rates.get(name) or Rates(self._window_s) for name in groups.known}
        failures |= {name: _failure(name, error) for name, error in groups.failures.items()}
        try:
            if groups.no_offsets is not None:
                raise groups.no_offsets
            if not groups.states:
                raise next(failures[name] for name in (*names, *chosen) if name in failures)
            reports = self._reports(link, groups)
        finally:
            if groups.connection_failed:
                self.close()
        return GroupsReport(_now(), reports, {name: str(error) for name, error in sorted(failures.items())})

    def close(self) -> None:
        """Close the connection.  A later ``read`` opens a new one."""
        self._connection.close()

    def _choose(
        self, link: Link, names: Sequence[str], failures: dict[str, KafkaAssignorsError]
    ) -> list[str]:
        """Return the names of groups, with patterns resolved; add failed patterns to ``failures``."""
        known: Collection[str] = ()
        problem = None
        if any(map(is_pattern, names)):
            try:
                known, problem = list_groups(link, time.monotonic() + RESPONSE_S)
            except LagError as error:
                raise BrokerError(f"the broker does not list groups: {error}") from error
        chosen: list[str] = []
        for name in names:
            matches = matching(name, known) if is_pattern(name) else [name]
            chosen += matches
            if not matches:
                failures[name] = GroupError(f"no group matches {name!r}")
            if problem is not None and is_pattern(name):
                failures[name] = BrokerError(problem)
        return list(dict.fromkeys(chosen))

    def _partitions(self, group: GroupState) -> set[TopicPartition]:
        """Return the partitions whose lag counts (``cli.group_lag``), and remember their owners."""
        self._owners[group.group_id] = owners_of(group, self._owners.get(group.group_id, {}))
        return partitions_of(group, self._owners[group.group_id])

    def _reports(self, link: Link, groups: GroupsReading) -> tuple[Report, ...]:
        """Return the reports of all groups; the timestamps for all of them are read at once."""
        # Reading other groups and timestamps may take seconds.  So a group's ages refer to the time when its
        # commits were read, and its rates to the time when its end offsets were read.
        epoch_s, report_time = time.time() - time.monotonic(), _now()
        starts = {
            name: {
                tp: start
                for tp, offsets in reading.offsets.items()
                if (start := next_unread(tp, offsets, self._reset)) is not None
            }
            for name, reading in groups.readings.items()
        }
        positions = {position for of_group in starts.values() for position in of_group.values()}
        offsets = {tp: groups.readings[name].offsets[tp] for name in starts for tp in starts[name]}
        unread, retention = self._times(link, positions, offsets)
        reports = []
        for name, reading in sorted(groups.readings.items()):
            now_s = groups.read_at[name]
            # One end offset that comes late must not make all rates look smaller.
            ended_s = median([groups.end_read_at[name][tp] for tp in reading.offsets] or [now_s])
            rates = self._rates[name].add(ended_s, reading.offsets)
            now_ms = (epoch_s + now_s) * 1000
            in_time = lag_in_time(reading.offsets, starts[name], unread, retention, now_ms)
            in_time = replace(in_time, rates=rates)
            state, owners = groups.states[name], self._owners[name]
            reports.append(report(state, reading, self._reset, report_time, in_time, owners=owners))
        return tuple(reports)

    def _times(
        self, link: Link, positions: Collection[ReadPosition], offsets: Mapping[TopicPartition, Offsets]
    ) -> tuple[OldestUnread, Mapping[TopicPartition, Retention]]:
        if not positions:
            return OldestUnread({}, {}), {}
        deadline = time.monotonic() + _TIMES_S
        fetch = OldestUnreadFetch(link, self._fetch_settings, positions, deadline, retries=FEW)
        attempt_fetch(link, deadline, fetch)
        retention: dict[TopicPartition, Retention] = {}

        async def ask() -> None:
            sender = Sender(link, self._fetch_settings, deadline)
            retention.update(await self._retentions.ask(sender, link, offsets))

        attempt(link, deadline, ask)
        return fetch.result(), retention


def lag_in_time(
    offsets: Mapping[TopicPartition, Offsets],
    starts: Mapping[TopicPartition, ReadPosition],
    unread: OldestUnread,
    retention: Mapping[TopicPartition, Retention],
    now_ms: float,
) -> InTime:
    """Return the age of each partition's oldest unread record, and the share of retention it has left.  Pure.

    Args:
        offsets: the offsets of the partitions with a known lag.
        starts: the next unread record of each partition with lag.
        unread: the timestamps of these records.
        retention: the retention of the partitions.
        now_ms: the current time, milliseconds since 1970.
    """
    ages, missing, left = {}, {}, {}
    for tp, partition_offsets in offsets.items():
        start = starts.get(tp)
        age_s = unread.age_s(start, now_ms)
        if age_s is not None:
            ages[tp] = age_s
        if start is None:
            continue
        if age_s is None:
            missing[tp] = unread.missing.get(start, "unknown")
        age_ms = None if age_s is None else 1000 * age_s
        share = share_left(retention.get(tp, Retention()), partition_offsets.end, start.offset, age_ms)
        if share is not None:
            left[tp] = share
    return InTime(ages, missing, retention_left=left)


def _failure(name: str, error: Exception) -> KafkaAssignorsError:
    if isinstance(error, KafkaAssignorsError):
        return error
    failure = BrokerError(f"group {name!r}: {why(error)}")
    failure.__cause__ = lag_error(error)
    return failure


def _note(line: str) -> None:
    click.echo(f"note: {line}", err=True)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
