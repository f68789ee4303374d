"""Commits, offset fetches and LeaveGroup during a join, over a second connection to the coordinator."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from kafka.coordinator.base import Generation
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import IllegalGenerationError, RebalanceInProgressError
from kafka.protocol.metadata import CoordinatorType
from kafka.structs import MemberState, OffsetAndMetadata, TopicPartition

from kafka_assignors.consumer.continuous.join_state import JoinState

log = logging.getLogger("kafka_assignors")

Offsets = Mapping[TopicPartition, OffsetAndMetadata]

_SECOND = "-during-joins"  # suffix of the second connection's node id
_STALE = {IllegalGenerationError.errno, RebalanceInProgressError.errno}


class _SentInJoin(dict[TopicPartition, OffsetAndMetadata]):
    """Offsets sent during a join: a stale-generation answer does not end the membership."""


class _StaleError(Exception):
    """The broker refused offsets because the group is in a later generation."""


class OffsetsDuringJoins(ConsumerCoordinator):
    """A coordinator that commits and fetches offsets during a join, and can leave the group in the middle."""

    coordinator_id: Any
    _join: JoinState
    _join_task: Any

    def coordinator(self) -> Any:
        """Return the node for commits and offset fetches; joins and heartbeats use ``coordinator_id``."""
        node_id = super().coordinator()
        return node_id if node_id is None or not self._join.is_in_flight else self._second_connection()

    def coordinator_unknown(self) -> bool:
        """As inherited."""
        return super().coordinator() is None

    def _second_connection(self) -> str:
        """Return a second node id of the coordinator: a broker answers a connection in order."""
        if str(self.coordinator_id).endswith(_SECOND):  # during LeaveGroup
            return str(self.coordinator_id)
        first = self._cluster.broker_metadata(self.coordinator_id)
        node_id = f"{first.node_id}{_SECOND}"
        known = self._cluster.broker_metadata(f"coordinator-{node_id}")
        if known is None or (known.host, known.port) != (first.host, first.port):
            response = SimpleNamespace(error_code=0, node_id=node_id, host=first.host, port=first.port)
            self._cluster.add_coordinator(response, CoordinatorType.GROUP, self.group_id + _SECOND)
        return f"coordinator-{node_id}"

    def _failed_request(self, node_id: Any, request: Any, error: Exception) -> None:
        """As inherited, but a failure of the second connection does not end the join on the first."""
        if str(node_id).endswith(_SECOND):
            log.debug("%s over the second connection failed: %s", type(request).__name__, error)
        else:
            super()._failed_request(node_id, request, error)

    def generation_if_stable(self) -> Generation | None:
        """As inherited, and also during a join, for commits; None if the membership was lost."""
        with self._lock:
            is_joining = self._join.is_member and self.state is MemberState.REBALANCING
            if is_joining and not self._generation.is_lost():
                return self._generation
        return super().generation_if_stable()

    async def _send_offset_commit_request(self, offsets: Offsets) -> None:
        """As inherited, and during a join.

        A broker accepts the old generation until all members have joined, and the new one from the answer of
        SyncGroup on.  Offsets that it refuses in between are sent once more.  They are not if the assignment
        has been applied or the membership lost: the partitions may have another owner with newer offsets.

        Raises:
            RebalanceInProgressError: poll, and commit again.
            KafkaError: as inherited.
        """
        join, member_id = self._join_task, self._generation.member_id
        if not self._join.is_member or not self._subscription.partitions_auto_assigned():
            await super()._send_offset_commit_request(offsets)
            return
        with suppress(_StaleError):
            await super()._send_offset_commit_request(_SentInJoin(offsets))
            return
        with suppress(Exception):  # poll() reports it
            await join
        is_same_member = self._generation.member_id == member_id
        is_owner = offsets.keys() <= self._subscription.assignment.keys()
        if self._join_task is join and self._join.is_answered and is_same_member and is_owner:
            with suppress(_StaleError):
                await super()._send_offset_commit_request(_SentInJoin(offsets))
                return
        raise RebalanceInProgressError("the group rebalances: poll(), and commit again")

    def _handle_offset_commit_response(self, offsets: Offsets, send_time: float, response: Any) -> None:
        """As inherited, but a stale generation does not end the membership during a join."""
        codes = {code for _topic, partitions in response.topics for _partition, code in partitions}
        if isinstance(offsets, _SentInJoin) and codes & _STALE:
            raise _StaleError
        super()._handle_offset_commit_response(offsets, send_time, response)

    async def maybe_leave_group_async(
        self, reason: str | None = None, timeout_ms: float | None = None
    ) -> None:
        """As inherited, but over the second connection if JoinGroup would hold up the request."""
        first, second = self.coordinator_id, None
        if self._join.is_in_flight and not self.coordinator_unknown():
            self.coordinator_id = second = self._second_connection()
        try:
            await super().maybe_leave_group_async(reason, timeout_ms)
        finally:
            if second is not None and self.coordinator_id == second:
                self.coordinator_id = first
