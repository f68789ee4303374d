"""Fetches the offsets of several groups over one connection.

``LagFetcher`` fetches given partitions of one group repeatedly.  This module finds the partitions of each
group: all with a commit or an owner, unless the caller chooses others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from re import Pattern
from typing import Any, TypeVar

from kafka.errors import GroupAuthorizationFailedError, KafkaTimeoutError

from kafka_assignors.errors import GroupError, LagError, LagTimeoutError, LagUnreachableError
from kafka_assignors.lag.arithmetic import Reset, lag
from kafka_assignors.lag.fetch.errors import is_retriable_error, lag_error
from kafka_assignors.lag.fetch.group import GroupState
from kafka_assignors.lag.fetch.link import Link, open_link
from kafka_assignors.lag.fetch.many_groups import EndsFetch, GroupNamesFetch, GroupsFetch
from kafka_assignors.lag.fetch.sending import attempt
from kafka_assignors.lag.reading import Offsets, Reading
from kafka_assignors.lag.settings import FetchSettings, fetch_settings
from kafka_assignors.plan import TopicPartition

_T = TypeVar("_T")
_PAUSE_S = 0.2  # between two attempts
_NO_SUCH_GROUP = "no such group"
_DENIED = "not authorised to describe the group"


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """The offsets of one group.

    Attributes:
        offsets: of the partitions with a commit or an owner; begins are always known.
        seen_at: when a broker returned each end, in seconds since 1970.
        missing: why the offsets of further partitions are unknown.
        problem: why the group could not be read; None: it was read, though ``offsets`` may be empty.
    """

    group_id: str
    offsets: Mapping[TopicPartition, Offsets] = field(default_factory=dict)
    seen_at: Mapping[TopicPartition, float] = field(default_factory=dict)
    missing: Mapping[TopicPartition, str] = field(default_factory=dict)
    problem: str | None = None


def reach(settings: Mapping[str, Any], timeout_ms: float) -> str:
    """Check that the cluster answers and grants access; return its id.

    Raises:
        LagError: it does not answer, or denies access; the class shows what to do.
        OptionError: invalid settings.
    """
    with open_link(settings, time.monotonic() + timeout_ms / 1000) as link:
        return str(link.manager.cluster.cluster_id)


def find_groups(
    settings: Mapping[str, Any], like: Pattern[str], timeout_ms: float, cluster: str | None = None
) -> tuple[list[str], str | None]:
    """Return the names of the groups that match ``like``, and why the groups of some broker are unknown.

    The reason is a line for the user; None: all brokers answered.

    Raises:
        LagError: the cluster does not answer, denies access, or is not the one with the id ``cluster``; or no
            group is known, and a broker failed.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    names, problem = _connected(settings, deadline, lambda link: list_groups(link, deadline), cluster)
    return [name for name in names if like.fullmatch(name)], problem


def list_groups(link: Link, deadline: float) -> tuple[list[str], str | None]:
    """Return the names of all groups, and why the groups of some broker are unknown; None: all answered.

    Raises:
        LagError: no group is known, and a broker failed.
    """
    fetch = GroupNamesFetch(link, deadline)
    attempt(link, deadline, fetch.run)
    failures, names = list(fetch.failures.values()), sorted(fetch.names)
    if failures and not names:
        raise lag_error(failures[0])
    return names, f"a broker did not list its groups: {lag_error(failures[0])}" if failures else None


def fetch_groups(
    settings: Mapping[str, Any],
    group_ids: Sequence[str],
    timeout_ms: float,
    topics_like: Pattern[str] | None = None,
    cluster: str | None = None,
) -> list[GroupOffsets]:
    """Fetch the offsets of each group, with retries until the time is up.

    After a failure of the cluster, a group has a ``problem``; no error is raised.

    Args:
        settings: keyword arguments of ``KafkaConsumer`` for the connection.
        group_ids: names of groups; a repeated one counts once.
        timeout_ms: longest time to wait.
        topics_like: the topics that count; None: all.
        cluster: id of the only cluster to read; None: any.

    Raises:
        OptionError: invalid settings.
    """
    names = list(dict.fromkeys(group_ids))
    deadline = time.monotonic() + timeout_ms / 1000

    def chosen(state: GroupState) -> list[TopicPartition]:
        tps = {*state.commits, *(tp for member in state.members for tp in member.owned)}
        return [tp for tp in tps if topics_like is None or topics_like.fullmatch(tp.topic)]

    def read(link: Link) -> GroupsReading:
        half = (time.monotonic() + deadline) / 2  # a silent coordinator must leave time to fetch ends
        # The offset reset matters only for lag, which is not used here.
        return read_groups(link, fetch_settings(settings, "-", "earliest"), names, chosen, (half, deadline))

    if not names:
        return []
    try:
        reading = _connected(settings, deadline, read, cluster)
    except LagError as error:
        return [GroupOffsets(name, problem=str(error)) for name in names]
    return [_offsets(name, reading) for name in names]


def _connected(
    settings: Mapping[str, Any], deadline: float, call: Callable[[Link], _T], cluster: str | None
) -> _T:
    """Connect and call; retry a failure that may pass while there is time.

    Raises:
        LagError: the last failure, or another cluster answers.
    """
    while True:
        try:
            with open_link(settings, deadline) as link:
                _check_cluster(link, cluster)
                return call(link)
        except LagError as failure:
            is_passing = isinstance(failure, (LagTimeoutError, LagUnreachableError))
            if not is_passing or time.monotonic() + 2 * _PAUSE_S > deadline:
                raise
        time.sleep(_PAUSE_S)


def _check_cluster(link: Link, cluster: str | None) -> None:
    if cluster not in (None, answering := str(link.manager.cluster.cluster_id)):
        raise LagError(f"another cluster answers: {answering}")


def _offsets(name: str, groups: GroupsReading) -> GroupOffsets:
    if name in groups.failures:
        return GroupOffsets(name, problem=why(groups.failures[name]))
    reading = groups.readings[name]
    if reading.missing and groups.no_offsets is not None:
        return GroupOffsets(name, problem=str(groups.no_offsets))
    epoch_s = time.time() - time.monotonic()
    seen_at = {tp: epoch_s + groups.end_read_at[name][tp] for tp in reading.offsets}
    return GroupOffsets(name, reading.offsets, seen_at, reading.missing)


def why(failure: Exception) -> str:
    """Describe in a few words why a group is not known."""
    if isinstance(failure, GroupError):
        return _NO_SUCH_GROUP
    return _DENIED if isinstance(failure, GroupAuthorizationFailedError) else str(lag_error(failure))


@dataclass(frozen=True, slots=True)
class GroupsReading:
    """Groups and their lags at one moment.  A requested group has a state and a reading, or a failure.

    Attributes:
        states: members and commits.
        readings: the lags of the chosen partitions; begins are always known.
        failures: why a group is not known; a `GroupError` if it does not exist.
        ends: the latest begin and end of each partition of all groups.
        read_at: when the coordinator returned the commits of each group, on the clock of ``time.monotonic``.
        end_read_at: when a broker returned each end of a group's reading, on the same clock.
        no_offsets: the failure of a fetch of ends, if no fetch returned an end; else None.
        is_complete: whether each group is known or failed for good, and each partition of theirs has its
            offsets or a permanent error.
        connection_failed: whether to use a new link next: an error ended a fetch early, or a broker did not
            answer.
    """

    states: Mapping[str, GroupState]
    readings: Mapping[str, Reading]
    failures: Mapping[str, Exception]
    ends: Mapping[TopicPartition, Offsets]
    read_at: Mapping[str, float]
    end_read_at: Mapping[str, Mapping[TopicPartition, float]]
    no_offsets: LagError | None
    is_complete: bool
    connection_failed: bool

    @property
    def known(self) -> set[str]:
        """The groups that exist, or may exist although they could not be read."""
        unread = {name for name, error in self.failures.items() if not isinstance(error, GroupError)}
        return {*self.states, *unread}


def read_groups(
    link: Link,
    settings: FetchSettings,
    group_ids: Sequence[str],
    chosen: Callable[[GroupState], Iterable[TopicPartition]],
    deadlines: tuple[float, float],
    *,
    retries: int | None = None,
) -> GroupsReading:
    """Read groups, then the offsets of their partitions.  Failures of the cluster are part of the result.

    The link's thread calls ``chosen``, which returns the partitions of a group to read.  The two deadlines
    are for groups and for offsets, on the clock of ``time.monotonic``.
    """
    fetches: dict[str, tuple[EndsFetch, list[TopicPartition]]] = {}
    running: list[Any] = []

    def fetch_ends(states: Iterable[GroupState]) -> None:
        """Fetch the ends of one coordinator's groups now, because another coordinator may be silent."""
        partitions = {state.group_id: sorted(chosen(state)) for state in states}
        wanted = sorted({tp for tps in partitions.values() for tp in tps})
        fetch = EndsFetch(link, settings, wanted, deadlines[1], retries=retries)
        fetches.update({name: (fetch, tps) for name, tps in partitions.items()})
        running.append(link.manager.call_soon(fetch.run))

    async def finish() -> None:
        for future in tuple(running):
            await future

    groups = GroupsFetch(link, group_ids, deadlines[0], fetch_ends, retries=retries)
    groups_error = attempt(link, deadlines[0], groups.run)
    failures: dict[str, Exception] = dict(groups.failures)  # copied, because a late response may still come
    fetched = {name: fetch for name, fetch in dict(fetches).items() if name not in failures}
    for name in group_ids:
        if groups_error is not None and isinstance(failures.get(name), KafkaTimeoutError):
            failures[name] = groups_error
        elif name not in fetched and name not in failures:
            failures[name] = groups_error or GroupError(f"there is no group {name!r}")
    ends_error = attempt(link, deadlines[1], finish)
    ends: dict[EndsFetch, Reading] = {}
    without_ends: list[LagError] = []
    for fetch in dict.fromkeys(fetch for fetch, _ in fetched.values()):
        fetch.failure = fetch.failure or (None if fetch.is_complete else ends_error)
        try:
            ends[fetch] = fetch.reading()
        except LagError as error:
            without_ends.append(error)
            ends[fetch] = Reading({}, {}, dict.fromkeys(fetch.wanted, str(error)))
    latest: dict[TopicPartition, Offsets] = {}
    for reading in ends.values():
        for tp, offsets in reading.offsets.items():
            if tp not in latest or offsets.end > latest[tp].end:
                latest[tp] = offsets
    states = {name: groups.states[name] for name in fetched}
    return GroupsReading(
        states,
        {
            name: of_group(ends[fetch], states[name].commits, tps, settings.reset)
            for name, (fetch, tps) in fetched.items()
        },
        failures,
        latest,
        {name: groups.read_at[name] for name in fetched},
        {name: fetch.end_read_at for name, (fetch, _) in fetched.items()},
        without_ends[0] if without_ends and not latest else None,
        is_complete=groups_error is None
        and not any(map(is_retriable_error, failures.values()))
        and all(fetch.is_complete for fetch in ends),
        connection_failed=groups_error is not None
        or groups.connection_failed
        or any(fetch.connection_failed for fetch in ends),
    )


def of_group(
    ends: Reading, commits: Mapping[TopicPartition, int], tps: Sequence[TopicPartition], reset: Reset
) -> Reading:
    """Return the lags of a group from the begins and ends of its partitions."""
    offsets = {
        tp: Offsets(log.begin, log.end, commits.get(tp))
        for tp in tps
        if (log := ends.offsets.get(tp)) is not None
    }
    return Reading(
        {tp: lag(known.end, known.committed, known.begin, reset) for tp, known in offsets.items()},
        offsets,
        {tp: ends.missing[tp] for tp in tps if tp not in offsets},
    )
