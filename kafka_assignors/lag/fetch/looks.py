"""A look at several groups: all that a cluster tells of how far they are, over one connection.

Who wants one group again and again has ``LagFetcher``.  Here it is the partitions that are not known: those
that a group has commits for, and those that its members were given.
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

__all__ = ["GroupLook", "find_groups", "look_at_groups", "reach"]

_AT_ONCE = 8
"""Groups that are asked for at the same time, so that one whose coordinator hangs holds up few others."""
_PAUSE_S = 0.2
_PATIENT = {"reconnect_backoff_max_ms": 1000}
"""kafka-python's own 30 s would outlast a look: a broker that came back would not be seen."""
_NO_SUCH_GROUP = "no such group"
_DENIED = "not authorised to describe the group"


@dataclass(frozen=True, slots=True)
class GroupLook:
    """What is known of one group.

    Attributes:
        group_id: its name.
        offsets: of the partitions it has a commit for, or that a member has; begins are always known.
        seen_at: when a broker told where those end, in seconds since 1970.
        missing: why nothing is known of another partition.
        problem: why nothing is known of the group as a whole; None: it is.
    """

    group_id: str
    offsets: Mapping[TopicPartition, Offsets] = field(default_factory=dict)
    seen_at: Mapping[TopicPartition, float] = field(default_factory=dict)
    missing: Mapping[TopicPartition, str] = field(default_factory=dict)
    problem: str | None = None


def reach(settings: Mapping[str, Any], timeout_ms: float) -> str:
    """Find out whether the cluster answers and lets us in, and its id: the name it gave itself when made.

    Raises:
        LagError: it does not; its class says what to do about it.
        OptionError: settings that cannot work.
    """
    with _link(settings, time.monotonic() + timeout_ms / 1000) as link:
        return str(link.manager.cluster.cluster_id)


def find_groups(
    settings: Mapping[str, Any], like: Pattern[str], timeout_ms: float
) -> tuple[list[str], str | None]:
    """Which groups there are, by name, and why a part of the cluster did not tell its own.

    Args:
        settings: as ``KafkaConsumer`` takes them.
        like: what the whole name must match.
        timeout_ms: the longest to wait; until then it is tried again.

    Raises:
        LagError: no part of the cluster tells.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        try:
            with _link(settings, deadline) as link:
                left_s = max(deadline - time.monotonic(), 0.001)
                found, failures = link.run(list_groups, link, left_s * 1000, timeout_s=left_s)
        except Exception as error:
            failure = lag_error(error)
            if not _may_pass(failure, deadline):
                raise failure from error
        else:
            problem = f"groups of a broker are not known: {lag_error(failures[0])}" if failures else None
            return [name for name in found if like.fullmatch(name)], problem
        time.sleep(_PAUSE_S)


def look_at_groups(
    settings: Mapping[str, Any],
    group_ids: Sequence[str],
    timeout_ms: float,
    topics_like: Pattern[str] | None = None,
) -> Iterator[GroupLook]:
    """Look once at each group, in no particular order; what may pass is tried again until time is up.

    Never raises for what a cluster does: a group that cannot be had has a ``problem``.

    Args:
        settings: as ``KafkaConsumer`` takes them.
        group_ids: which.
        timeout_ms: the longest to wait, for all of them.
        topics_like: leave out topics whose whole name does not match.

    Raises:
        OptionError: settings that cannot work.
    """
    deadline = time.monotonic() + timeout_ms / 1000
    rest: list[str] = list(dict.fromkeys(group_ids))
    while rest:
        asked, rest = rest, []
        try:
            with _link(settings, deadline) as link, ThreadPoolExecutor(_AT_ONCE) as pool:
                one = _Look(settings, link, deadline, topics_like)
                for found, failure in pool.map(one.at, asked):
                    if failure is not None and _may_pass(failure, deadline):
                        rest.append(found.group_id)
                    else:
                        yield found
        except LagError as error:  # the way in, before any group was asked for
            if not _may_pass(error, deadline):
                yield from (GroupLook(group_id, problem=str(error)) for group_id in asked)
                return
            rest = asked
        if rest:
            time.sleep(_PAUSE_S)


class _Look:
    """A look at one group after the other, from several threads."""

    def __init__(
        self, settings: Mapping[str, Any], link: Link, deadline: float, topics_like: Pattern[str] | None
    ) -> None:
        self._settings = settings
        self._link = link
        self._deadline = deadline
        self._topics_like = topics_like

    def at(self, group_id: str) -> tuple[GroupLook, LagError | None]:
        """The group, and what kept us from seeing all of it."""
        try:
            state = self._run(ask_group, self._link, group_id, max(self._left_s() * 1000, 1))
            return self._offsets(state)
        except GroupError:
            return GroupLook(group_id, problem=_NO_SUCH_GROUP), None
        except GroupAuthorizationFailedError:
            return GroupLook(group_id, problem=_DENIED), None
        except Exception as error:  # whatever it is, the other groups have nothing to do with it
            failure = lag_error(error)
            return GroupLook(group_id, problem=str(failure)), failure

    def _offsets(self, state: GroupState) -> tuple[GroupLook, LagError | None]:
        wanted = {*state.commits, *(tp for member in state.members for tp in member.owned)}
        if self._topics_like is not None:
            wanted = {tp for tp in wanted if self._topics_like.fullmatch(tp.topic)}
        if not wanted:
            return GroupLook(state.group_id), None
        # Where a consumer starts without a commit is about lag, which nobody asks for here.
        settings = fetch_settings(self._settings, state.group_id, "earliest")
        gathering = Gathering(self._link, settings, sorted(wanted), self._deadline, all_begins=True)
        try:
            self._run(gathering.run)
        except Exception as error:  # time is up: what is there by now counts
            gathering.failure = gathering.failure or error
        failed = gathering.connection_failed
        reading = gathering.reading()
        now, ticks = time.time(), time.monotonic()
        seen_at = {tp: now - (ticks - gathering.ended_at[tp]) for tp in reading.offsets}
        found = GroupLook(state.group_id, reading.offsets, seen_at, reading.missing)
        return found, LagUnreachableError("a broker did not answer") if failed and reading.missing else None

    def _run(self, call: Any, *args: Any) -> Any:
        return self._link.run(call, *args, timeout_s=max(self._left_s(), 0.001))

    def _left_s(self) -> float:
        return self._deadline - time.monotonic()


@contextmanager
def _link(settings: Mapping[str, Any], deadline: float) -> Iterator[Link]:
    """A connection that the cluster has answered on.

    Raises:
        LagError: it does not answer, or does not let us in.
    """
    client = fetch_settings({**_PATIENT, **settings}, "-", "earliest").client
    left_s = max(deadline - time.monotonic(), 0.001)
    link = None
    try:
        try:
            link = Link(client)
            link.run(link.ready, left_s * 1000, timeout_s=left_s)
        except Exception as error:  # what kafka-python raises for a setting it does not like is anything
            raise lag_error(error) from error
        yield link
    finally:
        if link is not None:
            link.shut()
            link.wait_shut(1)


def _may_pass(failure: LagError, deadline: float) -> bool:
    """Whether there is use in another try, and time for it."""
    passing = isinstance(failure, (LagTimeoutError, LagUnreachableError))
    return passing and time.monotonic() + 2 * _PAUSE_S < deadline
