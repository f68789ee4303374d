"""Commits, offset fetches and LeaveGroup during a join, over a second connection to the coordinator."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from kafka.coordinator.base import Generation
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.errors import IllegalGenerationError, KafkaTimeoutError, RebalanceInProgressError
from kafka.future import Future
from kafka.protocol.metadata import CoordinatorType
from kafka.structs import MemberState, OffsetAndMetadata, TopicPartition

from kafka_assignors.consumer.continuous.join_state import JoinState

log = logging.getLogger("kafka_assignors")

CommitOffsets = Mapping[TopicPartition, OffsetAndMetadata]

_JOIN_MS = 1000  # a commit that the broker refuses waits this long for the end of the join
_SECOND = "-during-joins"  # suffix of the second connection's node id
_STALE = {IllegalGenerationError.errno, RebalanceInProgressError.errno}


class _SentInJoin(dict[TopicPartition, OffsetAndMetadata]):
    """Offsets sent during a join.  If the broker refuses their generation, the membership goes on."""


class _StaleError(Exception):
    """The broker refused offsets of an old or an unfinished generation."""


def _overtaken() -> RebalanceInProgressError:
    return RebalanceInProgressError("the group rebalances: poll(), and commit again")


@dataclass(frozen=True, eq=False)
class _Commit:
    """A commit, and the ownership it began under."""

    offsets: CommitOffsets
    generation: Generation  # kafka-python's object, a new one with each JoinGroup response
    # kafka-python's state of each partition.  A partition that was revoked and came back has a new object.
    owned: Mapping[TopicPartition, object]


class OffsetsDuringJoins(ConsumerCoordinator):
    """A coordinator that can commit, fetch offsets and leave the group during a join."""

    coordinator_id: Any
    _join: JoinState
    _join_task: Any
    # Only the I/O thread uses these two.
    _newest: dict[TopicPartition, _Commit]  # the last commit of each partition
    # Future that is done when a commit ends -> whether the commit took the second connection.
    _unanswered: dict[Future, bool]

    def begin(self) -> None:
        """Initialise a coordinator that has not joined yet."""
        self._join = JoinState()
        self._newest, self._unanswered = {}, {}

    def coordinator(self) -> Any:
        """Return the node id for commits and offset fetches, and for heartbeats during a join, if known."""
        node_id = super().coordinator()
        return node_id if node_id is None or not self._join.is_in_flight else self._second_connection(node_id)

    def coordinator_unknown(self) -> bool:
        """As inherited; unlike ``coordinator``, this makes no second connection."""
        return super().coordinator() is None

    def _second_connection(self, coordinator_id: Any) -> str:
        """Return a second node id of the coordinator, for a second connection to it.

        A broker answers the requests of one connection in order, so JoinGroup holds up the later ones.  The
        id is an argument, because another thread may reset ``self.coordinator_id`` at any time.
        """
        if str(coordinator_id).endswith(_SECOND):  # during LeaveGroup
            return str(coordinator_id)
        first = self._cluster.broker_metadata(coordinator_id)
        node_id = f"{first.node_id}{_SECOND}"
        second = self._cluster.broker_metadata(f"coordinator-{node_id}")
        if second is None or (second.host, second.port) != (first.host, first.port):
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
        """As inherited; also return the generation during a join, for commits.  None: membership lost."""
        with self._lock:
            is_joining = self._join.keeps_assignment and self.state is MemberState.REBALANCING
            if is_joining and not self._generation.is_lost():
                return self._generation
        return super().generation_if_stable()

    async def _send_offset_commit_request(self, offsets: CommitOffsets) -> None:
        """As inherited; also commits during a join.

        A broker accepts the old generation until all members have joined, and the new one from the SyncGroup
        response on.  Offsets that it refuses in between are sent once more after the join, also if the
        consumer closes.  They are not sent again if the join takes more than ``_JOIN_MS`` longer, or if a
        later commit has replaced them.  Nor are they sent again after a lost membership or an applied
        assignment, because a new owner may have newer offsets.

        Raises:
            RebalanceInProgressError: poll, and commit again.
            KafkaError: as inherited.
        """
        if not self._subscription.partitions_auto_assigned():
            await super()._send_offset_commit_request(offsets)
            return
        assignment = self._subscription.assignment
        owned = {partition: assignment.get(partition) for partition in offsets}
        commit = _Commit(dict(offsets), self._generation, owned)
        self._newest |= dict.fromkeys(offsets, commit)
        waiting = await self._after_other_connection(commit)
        join = self._join_task
        if not self._join.keeps_assignment:
            await self._send_commit(waiting)
        else:
            try:
                await self._send_commit(_SentInJoin(waiting))
            except _StaleError:
                waiting = await self._send_after_join(commit, join)
        if len(waiting) < len(commit.offsets):
            raise _overtaken()

    async def _send_after_join(self, commit: _Commit, join: Any) -> CommitOffsets:
        """Send a commit once more if the join has not been applied; return the offsets that were sent."""
        with suppress(Exception):  # poll() reports a failed join
            await self._manager.wait_for(join, _JOIN_MS)
        waiting = await self._after_other_connection(commit, self._still_valid(commit))
        if waiting and self._join_task is join and self._join.is_answered:
            with suppress(_StaleError):
                await self._send_commit(_SentInJoin(waiting))
                return waiting
        raise _overtaken()

    async def _after_other_connection(
        self, commit: _Commit, waiting: CommitOffsets | None = None
    ) -> CommitOffsets:
        """Wait for commits on the other connection; return the offsets that are still to be sent.

        A broker may handle requests of two connections in any order.
        """
        waiting = commit.offsets if waiting is None else waiting
        while others := [
            end for end, is_second in self._unanswered.items() if is_second != self._join.is_in_flight
        ]:
            await others[0]
            waiting = self._still_valid(commit)
            if not waiting:
                raise _overtaken()
        return waiting

    def _still_valid(self, commit: _Commit) -> CommitOffsets:
        """Return the offsets that no later commit replaces, of partitions that this member has kept.

        A partition that kafka-python has just removed from the assignment is still kept until the next
        JoinGroup response: a listener commits it, and no other member gets it before that.
        """
        if self._generation.member_id != commit.generation.member_id:
            return {}
        assignment = self._subscription.assignment
        return {
            partition: offset
            for partition, offset in commit.offsets.items()
            if self._newest[partition] is commit
            and assignment.get(partition) is commit.owned[partition]
            and (partition in assignment or self._generation is commit.generation)
        }

    async def _await_commits(self, timeout_ms: float) -> bool:
        """Wait for the newest commit.  Those before it have ended by then, also on the other connection."""
        try:
            for end in list(self._unanswered)[-1:]:
                await self._manager.wait_for(end, timeout_ms)
        except KafkaTimeoutError:
            return False
        return True

    async def _send_commit(self, offsets: CommitOffsets) -> None:
        end = Future()
        self._unanswered[end] = self._join.is_in_flight
        try:
            await super()._send_offset_commit_request(offsets)
        finally:
            del self._unanswered[end]
            end.success(None)

    def _handle_offset_commit_response(self, offsets: CommitOffsets, send_time: float, response: Any) -> None:
        """As inherited, but a stale generation does not end the membership during a join."""
        codes = {code for _topic, partitions in response.topics for _partition, code in partitions}
        if isinstance(offsets, _SentInJoin) and codes & _STALE:
            raise _StaleError
        super()._handle_offset_commit_response(offsets, send_time, response)

    async def maybe_leave_group_async(
        self, reason: str | None = None, timeout_ms: float | None = None
    ) -> None:
        """As inherited, but over the second connection while JoinGroup or SyncGroup holds up the first."""
        first = self.coordinator_id
        second = self.coordinator() if self._join.is_in_flight else None
        # The inherited method would send nothing to a node that it may not connect to yet.
        if second and self._client.is_disconnected(second) and self._client.connection_delay(second) > 0:
            second = None
        if second is not None:
            self.coordinator_id = second
        try:
            await super().maybe_leave_group_async(reason, timeout_ms)
        finally:
            if second is not None and self.coordinator_id == second:
                self.coordinator_id = first
