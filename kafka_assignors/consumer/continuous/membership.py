"""Keeps the time of the last confirmed membership, and sends heartbeats during a join and right after it."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from typing import Any

from kafka.coordinator.base import Generation
from kafka.coordinator.heartbeat import Heartbeat
from kafka.errors import (
    FencedInstanceIdError,
    IllegalGenerationError,
    KafkaConnectionError,
    KafkaError,
    NoError,
    NotCoordinatorError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from kafka.protocol.consumer import HeartbeatRequest

from kafka_assignors.consumer.continuous.offsets import OffsetsDuringJoins

log = logging.getLogger("kafka_assignors")

_SOON_S = (0.05, 0.15, 0.35, 0.75, 1.55)  # extra heartbeats after a join, before the regular ones
_ROUNDING_S = 0.001  # a heartbeat that is early by at most this counts as the due one
_ACCEPTED = {NoError.errno, RebalanceInProgressError.errno}
_UNKNOWN = {FencedInstanceIdError.errno, UnknownMemberIdError.errno}
_REFUSED = {IllegalGenerationError.errno, NotCoordinatorError.errno, *_UNKNOWN}


class EarlyHeartbeat(Heartbeat):
    """Sends extra heartbeats right after a join, because a second round mostly follows at once.

    The extra heartbeats are due at fixed times after the SyncGroup response, and again after the ``poll()``
    that applies the assignment.  The response reaches all members together, so they mostly learn of the next
    rebalance together.
    """

    def time_to_next_heartbeat(self) -> float:
        """Return the seconds until the next heartbeat is due."""
        if self.heartbeat_failed:
            return float(super().time_to_next_heartbeat())
        interval: float = self.config["heartbeat_interval_ms"] / 1000
        last: float = max(self.last_send, self.last_reset) - self.last_reset + _ROUNDING_S
        soon = [after for after in _SOON_S if last < after < interval]
        due = min(soon, default=interval * (last // interval + 1))
        return float(max(0.0, self.last_reset + due - time.monotonic()))


class _Patience:
    """How long JoinGroup, and then SyncGroup, may have no response before the member joins again.

    The JoinGroup response brings a new ``Generation`` object, with which the wait for SyncGroup begins.
    """

    _since: float
    _wait_s: float

    def __init__(self, generation: Generation, session_s: float) -> None:
        self._session_s = session_s
        self._begin(generation)

    def is_over(self, generation: Generation) -> bool:
        """Whether the wait is over.  If so, begins another one, twice as long."""
        if generation is not self._generation:
            self._begin(generation)
        # Without a member id (Kafka 2.2 and later assign it first) a second JoinGroup would add a member.
        if not generation.has_member_id() or time.monotonic() - self._since < self._wait_s:
            return False
        self._since, self._wait_s = time.monotonic(), 2 * self._wait_s
        return True

    def _begin(self, generation: Generation) -> None:
        self._generation = generation
        self._since, self._wait_s = time.monotonic(), self._session_s


class Membership(OffsetsDuringJoins):
    """A coordinator that keeps the time of the last confirmed membership."""

    _confirmed_at: float  # the broker heard from this member at this time or later

    def begin(self) -> None:
        """Initialise a coordinator that has not joined yet."""
        super().begin()
        self._confirmed_at = float("-inf")

    def _confirm(self, sent_at: float) -> None:
        """Take an answered heartbeat as proof of membership, unless the session is over.

        A broker that still loads its groups answers every heartbeat without an error, so a response after the
        end of the session proves nothing.
        """
        if self._may_still_own():
            self._confirmed_at = sent_at

    def _may_still_own(self) -> bool:
        """Whether the session is valid, so that no other member can own this member's partitions."""
        session_s = self.config["session_timeout_ms"] / 1000
        return not self._generation.is_lost() and time.monotonic() - self._confirmed_at < session_s

    async def _heartbeat_during_join(self) -> None:
        """Send heartbeats until SyncGroup is answered, through all rounds of the join.

        The broker keeps a waiting member even without heartbeats.  But a stateful member commits only under a
        membership that was confirmed recently.

        Outside a join, a heartbeat that the broker refuses (unknown member, old generation) ends the
        membership.  During a join it does not, because the JoinGroup or SyncGroup response is usually on its
        way, with a new generation or the same error.  Until then, a member that the broker does not know
        delivers no records.  If the next heartbeat is refused as well, the join's response was lost: the
        member aborts the connection and joins again.  Otherwise it would wait for the time-out of JoinGroup,
        which is longer than ``max_poll_interval_ms``.

        A request that has no response after a session timeout may be lost, too: the connection of the join
        may be stuck while the connection of the heartbeats works.  The broker would then wait for this
        member, so the member joins again.  If the broker was waiting for other members instead, it takes the
        new JoinGroup in place of the old one.  Before each further attempt the member waits twice as long.
        """
        join = self._join_task
        patience = _Patience(self._generation, self.config["session_timeout_ms"] / 1000)
        refused = None  # the generation whose last heartbeat was refused
        reconnected = None  # the generation for which the connection was aborted
        while True:
            await self._net.sleep(self.config["heartbeat_interval_ms"] / 1000)
            if self._join_task is not join or not self._join.is_in_flight:
                return
            generation = self._generation  # changes with each JoinGroup response
            if patience.is_over(generation):
                self._abort_connection()
            node_id = self.coordinator()
            if not generation.has_member_id() or node_id is None:
                continue
            sent_at = time.monotonic()
            code = await self._heartbeat_response(generation, node_id)
            if code in _ACCEPTED:
                self.heartbeat.last_send = sent_at
                self.heartbeat.received_heartbeat()
                self._confirm(sent_at)
            if code not in _REFUSED or not self._still_waits(generation):
                refused = None
                continue
            if code in _UNKNOWN:
                self._confirmed_at = float("-inf")
            elif reconnected is generation:
                continue  # aborted once already: the repeated JoinGroup may wait for other members
            if refused is generation:
                self._abort_connection()
                reconnected = generation
            refused = None if refused is generation else generation

    async def _heartbeat_response(self, generation: Generation, node_id: Any) -> int | None:
        """Send a heartbeat; return the error code of the response, None without a response."""
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=generation.generation_id,
            member_id=generation.member_id,
            group_instance_id=self.group_instance_id,
        )
        try:
            return int((await self._manager.send(request, node_id=node_id)).error_code)
        except KafkaError:
            return None

    def _still_waits(self, generation: Generation) -> bool:
        """Whether the join is in flight, and no response has changed its generation since."""
        return self._join.is_in_flight and generation is self._generation and not generation.is_lost()

    def _abort_connection(self) -> None:
        """Abort the join's connection.  Without an error, its ``close`` would first send pending bytes."""
        if (node_id := self.coordinator_id) is not None:
            log.warning("group %s: no response to a join: reconnecting and joining again", self.group_id)
            error = KafkaConnectionError("no response to a join")
            with suppress(KafkaError):  # the connection is gone already
                self._manager.get_connection(node_id).close(error)
