"""Fetches the offsets of several groups over one connection.

``LagFetcher`` fetches known partitions of one group repeatedly.  This module finds the partitions: all with a
commit or an owner.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from re import Pattern
from typing import Any, TypeVar

from kafka.errors import GroupAuthorizationFailedError, KafkaTimeoutError

from kafka_assignors.errors import GroupError, LagError, LagTimeoutError, LagUnreachableError
from kafka_assignors.lag.arithmetic import Reset, lag
from kafka_assignors.lag.fetch.errors import lag_error, may_pass
from kafka_assignors.lag.fetch.group import GroupState
from kafka_assignors.lag.fetch.link import Link, open_link
from kafka_assignors.lag.fetch.many_groups import EndsFetch, GroupNamesFetch, GroupsFetch
from kafka_assignors.lag.reading import Offsets, Reading
from kafka_assignors.lag.settings import FetchSettings, fetch_settings
from kafka_assignors.plan import TopicPartition

_T = TypeVar("_T")
_PAUSE_S = 0.2
_NO_SUCH_GROUP = "no such group"
_DENIED = "not authorised to describe the group"


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """The offsets of one group.

    Attributes:
        group_id: its name.
        offsets: of the partitions with a commit or an owner; begins are always known.
        seen_at: when a broker returned each end, in seconds since 1970.
        missing: why the offsets of another partition are unknown.
        problem: why nothing is known of the group; None if something is.
    """

    group_id: str
    offsets: Mapping[TopicPartition, Offsets] = field(default_factory=dict)
    seen_at: Mapping[TopicPartition, float] = field(default_factory=dict)
    missing: Mapping[TopicPartition, str] = field(default_factory=dict)
    problem: str | None = None


def reach(settings: Mapping[str, Any], timeout_ms: float) -> str:
    """Check that the cluster answers and grants access; return its id.

    Raises:
        LagError: it does not; the class shows what to do.
        OptionError: invalid settings.
    """
    with open_link(settings, time.monotonic() + timeout_ms / 1000) as link:
        return str(link.manager.cluster.cluster_id)


def find_groups(
    settings: Mapping[str, Any], like: Pattern[str], timeout_ms: float
) -> tuple[list[str], str | None]:
    """Return the names of the groups, and why a part of the cluster did not list its own.

    Raises:
        LagError: no broker lists groups.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    names, problem = _connected(settings, deadline, lambda link: list_groups(link, deadline))
    return [name for name in names if like.fullmatch(name)], problem


def list_groups(link: Link, deadline: float) -> tuple[list[str], str | None]:
    """Return the names of all groups, and why a part of the cluster did not list its own.

    Raises:
        LagError: no broker lists groups.
    """
    fetch = GroupNamesFetch(link, deadline)
    attempt(link, deadline, fetch.run)
    failures, names = list(fetch.failures.values()), sorted(fetch.names)
    if failures and not names:
        raise lag_error(failures[0])
    return names, f"groups of a broker are not known: {lag_error(failures[0])}" if failures else None


def fetch_groups(
    settings: Mapping[str, Any],
    group_ids: Sequence[str],
    timeout_ms: float,
    topics_like: Pattern[str] | None = None,
) -> list[GroupOffsets]:
    """Fetch the offsets of each group, with retries until the time is up.

    Never raises for a failure of the cluster: such a group has a ``problem``.

    Raises:
        OptionError: invalid settings.
    """
    names = list(dict.fromkeys(group_ids))
    deadline = time.monotonic() + timeout_ms / 1000

    def chosen(state: GroupState) -> list[TopicPartition]:
        tps = {*state.commits, *(tp for member in state.members for tp in member.owned)}
        return [tp for tp in tps if topics_like is None or topics_like.fullmatch(tp.topic)]

    def read(link: Link) -> GroupsReading:
        half = (time.monotonic() + deadline) / 2  # a silent coordinator leaves time for the others' ends
        # The offset reset matters for lag only, which is not used here.
        return read_groups(link, fetch_settings(settings, "-", "earliest"), names, chosen, (half, deadline))

    if not names:
        return []
    try:
        reading = _connected(settings, deadline, read)
    except LagError as error:
        return [GroupOffsets(name, problem=str(error)) for name in names]
    return [_offsets(name, reading) for name in names]


def _connected(settings: Mapping[str, Any], deadline: float, call: Callable[[Link], _T]) -> _T:
    """Connect and call; retry a failure that may pass while there is time.

    Raises:
        LagError: the last failure.
    """
    while True:
        try:
            with open_link(settings, deadline) as link:
                return call(link)
        except LagError as failure:
            passing = isinstance(failure, (LagTimeoutError, LagUnreachableError))
            if not passing or time.monotonic() + 2 * _PAUSE_S > deadline:
                raise
        time.sleep(_PAUSE_S)


def _offsets(name: str, read: GroupsReading) -> GroupOffsets:
    if name in read.failures:
        return GroupOffsets(name, problem=why(read.failures[name]))
    reading = read.readings[name]
    if reading.missing and read.no_offsets is not None:
        return GroupOffsets(name, problem=str(read.no_offsets))
    now, ticks = time.time(), time.monotonic()
    seen_at = {tp: now - (ticks - read.ended_at[name][tp]) for tp in reading.offsets}
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
        failures: why a group is not known; a GroupError: it does not exist.
        ends: begins and ends of the partitions of all groups, the latest ones.
        read_at: when the coordinator returned the commits of each group, on the clock of ``time.monotonic``.
        ended_at: when a broker returned each end of a group's reading, likewise.
        no_offsets: why not a single end is known.
        is_complete: False: a broker did not answer, or a partition has no leader.
        connection_failed: a broker did not answer, so that a new link may help.
    """

    states: Mapping[str, GroupState]
    readings: Mapping[str, Reading]
    failures: Mapping[str, Exception]
    ends: Mapping[TopicPartition, Offsets]
    read_at: Mapping[str, float]
    ended_at: Mapping[str, Mapping[TopicPartition, float]]
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
    """Read groups, then the offsets of their partitions.  Never raises for a failure of the cluster.

    ``deadlines`` (``time.monotonic``) are for groups and for offsets.  The link's thread calls ``chosen``.
    """
    fetches: dict[str, tuple[EndsFetch, list[TopicPartition]]] = {}
    strands: list[Any] = []

    def fetch_ends(states: Iterable[GroupState]) -> None:
        """Ask for the ends of a coordinator's groups at once: another coordinator may be silent."""
        partitions = {state.group_id: sorted(chosen(state)) for state in states}
        wanted = sorted({tp for tps in partitions.values() for tp in tps})
        fetch = EndsFetch(link, settings, wanted, deadlines[1], retries=retries)
        fetches.update({name: (fetch, tps) for name, tps in partitions.items()})
        strands.append(link.manager.call_soon(fetch.run))

    async def finish() -> None:
        for strand in tuple(strands):
            await strand

    groups = GroupsFetch(link, group_ids, deadlines[0], fetch_ends, retries=retries)
    late = attempt(link, deadlines[0], groups.run)
    failures: dict[str, Exception] = dict(groups.failures)  # a late answer may still come
    fetched = {name: each for name, each in dict(fetches).items() if name not in failures}
    for name in group_ids:
        if late is not None and isinstance(failures.get(name), KafkaTimeoutError):
            failures[name] = late
        elif name not in fetched and name not in failures:
            failures[name] = late or GroupError(f"there is no group {name!r}")
    unfinished = attempt(link, deadlines[1], finish)
    ends: dict[EndsFetch, Reading] = {}
    refusals: list[LagError] = []
    for fetch in dict.fromkeys(fetch for fetch, _ in fetched.values()):
        fetch.failure = fetch.failure or (None if fetch.is_complete else unfinished)
        try:
            ends[fetch] = fetch.reading()
        except LagError as error:
            refusals.append(error)
            ends[fetch] = Reading({}, {}, dict.fromkeys(fetch.wanted, str(error)))
    offsets: dict[TopicPartition, Offsets] = {}
    for reading in ends.values():
        for tp, at in reading.offsets.items():
            if tp not in offsets or at.end > offsets[tp].end:
                offsets[tp] = at
    states = {name: groups.states[name] for name in fetched}
    return GroupsReading(
        states,
        {
            name: of_group(ends[fetch], states[name].commits, tps, settings.reset)
            for name, (fetch, tps) in fetched.items()
        },
        failures,
        offsets,
        {name: groups.read_at[name] for name in fetched},
        {name: fetch.ended_at for name, (fetch, _) in fetched.items()},
        refusals[0] if refusals and not offsets else None,
        late is None and not any(map(may_pass, failures.values())) and all(f.is_complete for f in ends),
        late is not None or groups.connection_failed or any(f.connection_failed for f in ends),
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
        {tp: lag(at.end, at.committed, at.begin, reset) for tp, at in offsets.items()},
        offsets,
        {tp: ends.missing[tp] for tp in tps if tp not in offsets},
    )


def attempt(link: Link, deadline: float, call: Callable[..., Awaitable[Any]]) -> Exception | None:
    """Run a fetch until its time is up; return the error that ended it early.  The results so far count."""
    try:
        link.run(call, timeout_s=max(deadline - time.monotonic(), 0.001))
    except Exception as error:
        return error
    return None
