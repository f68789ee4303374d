"""Fetches the offsets of several groups over one connection.

``LagFetcher`` fetches known partitions of one group repeatedly.  This module finds the partitions: all with a
commit or an owner.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from re import Pattern
from typing import Any

from kafka.errors import GroupAuthorizationFailedError

from kafka_assignors.errors import GroupError, LagError, LagTimeoutError, LagUnreachableError
from kafka_assignors.lag.fetch.errors import lag_error
from kafka_assignors.lag.fetch.gathering import Gathering
from kafka_assignors.lag.fetch.group import GroupState, ask_group, list_groups
from kafka_assignors.lag.fetch.link import Link
from kafka_assignors.lag.reading import Offsets
from kafka_assignors.lag.settings import fetch_settings
from kafka_assignors.plan import TopicPartition

_AT_ONCE = 8
"""Groups fetched at the same time, so that a coordinator that hangs holds up few others."""
_PAUSE_S = 0.2
_PATIENT = {"reconnect_backoff_max_ms": 1000}
"""kafka-python's own 30 s exceed the time of a fetch: it would not see a broker return."""
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
    with _link(settings, time.monotonic() + timeout_ms / 1000) as link:
        return str(link.manager.cluster.cluster_id)


def find_groups(
    settings: Mapping[str, Any], like: Pattern[str], timeout_ms: float
) -> tuple[list[str], str | None]:
    """Return the names of the groups, and why a part of the cluster did not list its own.

    Args:
        settings: as ``KafkaConsumer`` takes them.
        like: the whole name must match.
        timeout_ms: longest time to wait, with retries.

    Raises:
        LagError: no broker lists groups.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            with _link(settings, deadline) as link:
                left_s = max(deadline - time.monotonic(), 0.001)
                names, failures = link.run(list_groups, link, left_s * 1000, timeout_s=left_s)
        except Exception as error:
            failure = lag_error(error)
            if not _may_pass(failure, deadline):
                raise failure from error
        else:
            problem = f"groups of a broker are not known: {lag_error(failures[0])}" if failures else None
            return [name for name in names if like.fullmatch(name)], problem
        time.sleep(_PAUSE_S)


def fetch_groups(
    settings: Mapping[str, Any],
    group_ids: Sequence[str],
    timeout_ms: float,
    topics_like: Pattern[str] | None = None,
) -> Iterator[GroupOffsets]:
    """Fetch the offsets of each group, in no particular order; retry in time.

    Never raises for a failure of the cluster: such a group has a ``problem``.

    Args:
        settings: as ``KafkaConsumer`` takes them.
        group_ids: the groups.
        timeout_ms: longest time to wait, for all groups together.
        topics_like: leave out topics whose whole name does not match.

    Raises:
        OptionError: invalid settings.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    rest: list[str] = list(dict.fromkeys(group_ids))
    while rest:
        asked, rest = rest, []
        try:
            with _link(settings, deadline) as link, ThreadPoolExecutor(_AT_ONCE) as pool:
                groups = _GroupFetch(settings, link, deadline, topics_like)
                for offsets, failure in pool.map(groups.fetch, asked):
                    if failure is not None and _may_pass(failure, deadline):
                        rest.append(offsets.group_id)
                    else:
                        yield offsets
        except LagError as error:  # no connection, before any group was fetched
            if not _may_pass(error, deadline):
                yield from (GroupOffsets(group_id, problem=str(error)) for group_id in asked)
                return
            rest = asked
        if rest:
            time.sleep(_PAUSE_S)


class _GroupFetch:
    """Fetches groups, from several threads."""

    def __init__(
        self, settings: Mapping[str, Any], link: Link, deadline: float, topics_like: Pattern[str] | None
    ) -> None:
        self._settings = settings
        self._link = link
        self._deadline = deadline
        self._topics_like = topics_like

    def fetch(self, group_id: str) -> tuple[GroupOffsets, LagError | None]:
        """Fetch a group; return it with the error that left a part of it unknown."""
        try:
            state = self._run(ask_group, self._link, group_id, max(self._left_s() * 1000, 1))
            return self._offsets(state)
        except GroupError:
            return GroupOffsets(group_id, problem=_NO_SUCH_GROUP), None
        except GroupAuthorizationFailedError:
            return GroupOffsets(group_id, problem=_DENIED), None
        except Exception as error:  # the other groups must go on
            failure = lag_error(error)
            return GroupOffsets(group_id, problem=str(failure)), failure

    def _offsets(self, state: GroupState) -> tuple[GroupOffsets, LagError | None]:
        wanted = {*state.commits, *(tp for member in state.members for tp in member.owned)}
        if self._topics_like is not None:
            wanted = {tp for tp in wanted if self._topics_like.fullmatch(tp.topic)}
        if not wanted:
            return GroupOffsets(state.group_id), None
        # The offset reset matters for lag only, which is not computed here.
        settings = fetch_settings(self._settings, state.group_id, "earliest")
        gathering = Gathering(self._link, settings, sorted(wanted), self._deadline, all_begins=True)
        try:
            self._run(gathering.run)
        except Exception as error:  # time is up: the results so far count
            gathering.failure = gathering.failure or error
        failed = gathering.connection_failed
        reading = gathering.reading()
        now, ticks = time.time(), time.monotonic()
        seen_at = {tp: now - (ticks - gathering.ended_at[tp]) for tp in reading.offsets}
        offsets = GroupOffsets(state.group_id, reading.offsets, seen_at, reading.missing)
        return offsets, LagUnreachableError("a broker did not answer") if failed and reading.missing else None

    def _run(self, call: Any, *args: Any) -> Any:
        return self._link.run(call, *args, timeout_s=max(self._left_s(), 0.001))

    def _left_s(self) -> float:
        return self._deadline - time.monotonic()


@contextmanager
def _link(settings: Mapping[str, Any], deadline: float) -> Iterator[Link]:
    """Open a connection and wait for the cluster's first answer.

    Raises:
        LagError: the cluster does not answer, or denies access.
    """
    client = fetch_settings({**_PATIENT, **settings}, "-", "earliest").client
    left_s = max(deadline - time.monotonic(), 0.001)
    link = None
    try:
        try:
            link = Link(client)
            link.run(link.ready, left_s * 1000, timeout_s=left_s)
        except Exception as error:  # kafka-python raises any exception for invalid settings
            raise lag_error(error) from error
        yield link
    finally:
        if link is not None:
            link.shut()
            link.wait_shut(1)


def _may_pass(failure: LagError, deadline: float) -> bool:
    """Whether a retry may help, and there is time for it."""
    passing = isinstance(failure, (LagTimeoutError, LagUnreachableError))
    return passing and time.monotonic() + 2 * _PAUSE_S < deadline
