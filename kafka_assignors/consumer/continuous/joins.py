"""Runs kafka-python's joins while the application works, and applies their assignments inside ``poll()``."""

from __future__ import annotations

import logging
import time
from typing import Any

from kafka.coordinator.base import UnjoinedGroupException
from kafka.errors import (
    IllegalStateError,
    InconsistentGroupProtocolError,
    KafkaTimeoutError,
    RebalanceInProgressError,
    RetriableError,
    UnknownMemberIdError,
)
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment
from kafka.structs import MemberState, TopicPartition

from kafka_assignors.assignor.coordinator_access.consumer import COMMIT_MS, commit_with
from kafka_assignors.assignor.coordinator_access.metrics import recorder_of
from kafka_assignors.consumer.continuous.membership import EarlyHeartbeat, Membership
from kafka_assignors.consumer.continuous.offsets import CommitOffsets

log = logging.getLogger("kafka_assignors")


class JoinsOutsidePoll(Membership):
    """A coordinator whose joins go on between two calls of ``poll()``."""

    rejoining: bool

    def begin(self) -> None:
        """Initialise a coordinator that has not joined yet."""
        super().begin()
        self.heartbeat.__class__ = EarlyHeartbeat
        self._joined_at = float("-inf")  # the last JoinGroup response
        # While records are delivered, no OffsetFetch is sent before this time.  Set when `poll()` stopped
        # waiting for an OffsetFetch.
        self._next_offset_fetch_at = float("-inf")
        self._commit_precedes_join = False  # whether the next commit is the one before a join
        self._update: Any = None  # a metadata update that the next join waits for

    # --- one join

    async def join_group_async(self, timeout_ms: float | None = None) -> bool:
        """As inherited, but applies a join that ended between two polls instead of repeating it."""
        join = self._join_task
        if join is not None and join.is_done:
            # kafka-python sends JoinGroup again if its join task is done.  So replace the task by a new one
            # with the same result.
            async def repeat_result() -> Any:
                return await join

            # A join that ended with KafkaTimeoutError is dropped: kafka-python would think it still runs.
            is_timeout = isinstance(join.exception, KafkaTimeoutError)
            self._join_task = None if is_timeout else self._manager.call_soon(repeat_result)
        self._join.is_in_poll = True
        try:
            return bool(await super().join_group_async(timeout_ms))
        except Exception:
            if self._join_task is not None and self._join_task.is_done:
                self._join_task = None
            raise
        finally:
            self._join.is_in_poll = False

    async def _on_join_prepare_async(
        self, generation: int, member_id: str, timeout_ms: float | None = None
    ) -> None:
        """As inherited, but auto-commit does not wait for its response.

        The commit precedes JoinGroup on the same connection, unless an earlier commit on the second
        connection is unanswered.  This method awaits the response only if topics were unsubscribed, because
        the inherited method then drops their positions.
        """
        self._commit_precedes_join = self.config["enable_auto_commit"] and not self._generation.is_lost()
        await super()._on_join_prepare_async(generation, member_id, timeout_ms)

    async def _commit_offsets_sync_async(
        self, offsets: CommitOffsets, timeout_ms: float | None = None
    ) -> None:
        """As inherited, but replaces the first commit of the inherited ``_on_join_prepare_async``."""
        if self._commit_precedes_join:  # set just before, so no other coroutine's commit comes here first
            self._commit_precedes_join = False
            await self._commit_before_join()
        else:
            await super()._commit_offsets_sync_async(offsets, timeout_ms)

    async def _commit_before_join(self) -> None:
        offsets = self._subscription.all_consumed_offsets()
        topics = self._subscription.subscription or ()
        if any(partition.topic not in topics for partition in offsets):
            await self._commit_now(offsets)
        elif offsets:
            self._do_commit_offsets_async(offsets, self._commit_offsets_async_on_complete)

    async def _do_join_and_sync_async(self) -> bytes:
        """As inherited, but joins again after a retriable error or in a new round; then resumes heartbeats.

        Raises:
            UnknownMemberIdError: the membership was lost.  kafka-python then reports lost partitions to the
                listener, and joins again.
            KafkaError: as inherited.
        """
        self._update = None
        self._join.send()
        self._manager.call_soon(self._heartbeat_during_join)
        try:
            assignment = await self._join_and_sync()
            with self._lock:
                self._check_joining()
                self._confirmed_at = max(self._confirmed_at, self._joined_at)
                self._join.answer(frozenset(ConsumerProtocolAssignment.decode(assignment).partitions()))
        except BaseException as error:
            self._join.settle()
            # kafka-python records a changed subscription when it sends JoinGroup, so after a failed join it
            # would not join again for the change.
            self.request_rejoin()
            # kafka-python also raises InconsistentGroupProtocolError if the generation was reset before the
            # SyncGroup response.
            if isinstance(error, InconsistentGroupProtocolError):
                self._check_joining()
            raise
        self._resume_heartbeats()
        return assignment

    async def _join_and_sync(self) -> bytes:
        while True:
            if self._generation.is_lost() and self._subscription.assignment:
                log.warning("group %s: membership lost during the join", self.group_id)
                self.rejoining = False  # prepare again, so that listeners are called with the loss
                raise UnknownMemberIdError("membership lost during the join: joining again")
            try:
                assignment: bytes = await super()._do_join_and_sync_async()
            except IllegalStateError as error:  # the application has just unsubscribed
                raise UnjoinedGroupException() from error
            except (RebalanceInProgressError, RetriableError) as error:
                recorder_of(self).fail_join()
                is_next_round = isinstance(error, RebalanceInProgressError)  # another member began it, mostly
                if not await self._prepare_repeat(0 if is_next_round else self.config["retry_backoff_ms"]):
                    raise
            else:
                return assignment

    async def _prepare_repeat(self, pause_ms: float) -> bool:
        """Wait for a coordinator, and return whether to join again without ``poll()``.

        Leaves the group if ``max_poll_interval_ms`` has passed since the last poll, but not while ``poll()``
        waits.

        While it waits for a coordinator, the member stays in the join, because its generation may be over:
        the broker may have completed the join although the response was lost.  Outside a join, the member
        would send heartbeats of the old generation, get ILLEGAL_GENERATION, and give up all partitions.
        """
        if pause_ms and not (self._join.is_closing or self.heartbeat.poll_timeout_expired()):
            await self._net.sleep(pause_ms / 1000)
        while self._can_join_outside_poll():
            if await self.ensure_coordinator_ready_async(self.config["heartbeat_interval_ms"]):
                return self._can_join_outside_poll()
        if self.heartbeat.poll_timeout_expired() and not self._join.is_in_poll:
            await self.maybe_leave_group_async()  # as heartbeats do outside a join
        return False

    def _resume_heartbeats(self) -> None:
        last_poll = self.heartbeat.last_poll
        self._enable_heartbeat()
        self.heartbeat.last_poll = last_poll  # a join is no poll: max_poll_interval_ms continues

    def _check_joining(self) -> None:
        """Fail a join whose generation was reset during it, with a retriable error.

        Raises:
            UnjoinedGroupException: the member left, or the broker removed it.
        """
        if self.state is not MemberState.REBALANCING:
            raise UnjoinedGroupException()

    def _process_join_group_response(self, response: Any, send_time: float) -> Any:
        """As inherited; also keep the time of the response, at which the membership is valid."""
        joined = super()._process_join_group_response(response, send_time)
        self._joined_at = time.monotonic()
        return joined

    async def _on_join_complete_async(
        self, generation: int, member_id: str, protocol: str, member_assignment_bytes: bytes
    ) -> None:
        """As inherited, but commits first, because the inherited method drops revoked positions."""
        assigned = self._join.apply()
        # kafka-python keeps unread OffsetFetch responses; other owners may have committed since.
        self._offset_fetch_futures.clear()
        self._next_offset_fetch_at = float("-inf")
        try:
            if self._may_still_own():
                await self._commit_before_applying(assigned)
            if self._generation.is_lost():  # lost after the response arrived; the next join reports it
                self.reset_generation(member_id=self._generation.member_id)
                return
            if not self._may_still_own():  # drop the assignment: others may have its partitions by now
                self.request_rejoin()
                return
            await super()._on_join_complete_async(generation, member_id, protocol, member_assignment_bytes)
        finally:
            if self._join.settle():
                self.request_rejoin()

    async def _commit_before_applying(self, assigned: frozenset[TopicPartition]) -> None:
        """With auto-commit, commit the positions of the last ``poll()``.

        If partitions are revoked, await the response, and the application's own commits, too.  Commits made
        during the join use a second connection, so the next JoinGroup could overtake them.
        """
        is_revoking = not self._subscription.assigned_partitions() <= assigned
        if is_revoking and not await self._await_commits(COMMIT_MS):
            log.warning(
                "partitions are revoked although an earlier commit got no response for %g s: their next "
                "owners may read records again",
                COMMIT_MS / 1000,
            )
            return  # a new commit would have no response, either
        offsets = self._subscription.all_consumed_offsets()
        if not offsets or not self.config["enable_auto_commit"]:
            return
        if is_revoking:
            await self._commit_now(offsets)
        else:
            self._do_commit_offsets_async(offsets, self._commit_offsets_async_on_complete)

    async def _commit_now(self, offsets: CommitOffsets) -> None:
        try:
            await commit_with(self, offsets, COMMIT_MS)
        except Exception as error:  # the next owner reads the records again; the rebalance goes on
            log.warning("commit before revoking partitions failed: %s", error)

    def stable(self) -> bool:
        """As inherited; also True while an assignment waits for ``poll()``, so that heartbeats go on."""
        return bool(super().stable() or (self._join.is_answered and self.state is MemberState.REBALANCING))

    def request_rejoin(self) -> None:
        """As inherited; also keep a request made while an assignment waits for ``poll()``."""
        super().request_rejoin()
        self._join.request_rejoin()

    # --- joins while the application is busy

    async def _do_heartbeat(self) -> None:
        """As inherited, but joins a rebalance as soon as the response reports it.

        The broker answers JoinGroup only when the last member has joined, so a member that is busy with a
        batch would hold up the others.
        """
        sent_at = time.monotonic()
        await super()._do_heartbeat()
        if self.heartbeat.last_receive >= sent_at:
            self._confirm(self.heartbeat.last_send)
            if not self._may_still_own():
                self.request_rejoin()  # the JoinGroup response shows whether the membership is lost
        if self.rejoin_needed and self._join.may_begin:
            self._join_outside_poll()

    def _can_join_outside_poll(self) -> bool:
        """Whether the member may join outside ``poll()``.

        It may not if a listener or a metadata request has to come first, if it is closing, or if it has not
        polled for ``max_poll_interval_ms``.
        """
        subscription = self._subscription
        topics = subscription.subscription
        return bool(
            topics is not None
            and subscription.partitions_auto_assigned()
            and not subscription.subscribed_pattern
            and all(partition.topic in topics for partition in subscription.assigned_partitions())
            and not self._generation.is_lost()
            and not self._join.is_closing
            and not self.heartbeat.poll_timeout_expired()
        )

    def _join_outside_poll(self) -> None:
        """Join on the I/O thread without auto-commit, because the application still processes records."""
        is_settled = self.state is MemberState.STABLE and not self.rejoining and self._join_task is None
        is_between_joins = is_settled or self._join.is_answered
        if not self._can_join_outside_poll() or self.coordinator_unknown() or not is_between_joins:
            return
        try:
            self._subscription.reset_group_subscription()
        except IllegalStateError:  # the application has just unsubscribed
            return
        self._join.settle()  # drops an assignment that waits for poll()
        self._is_leader = False
        self.rejoining = True
        self._disable_heartbeat()
        self._join_task = self._manager.call_soon(self._do_join_and_sync_async)

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """As inherited; begin no join any more, and wait for one only to repeat a refused commit."""
        self._join.is_closing = True
        super().close(autocommit=autocommit, timeout_ms=timeout_ms)
