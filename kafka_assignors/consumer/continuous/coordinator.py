"""A coordinator whose ``poll()`` does not wait for a join while the member has partitions to deliver.

kafka-python's ``poll()`` returns no records between JoinGroup and the SyncGroup response, and a broker
answers JoinGroup only when the last member has joined.  This coordinator runs the join on the I/O thread, as
kafka-python does, but ``poll()`` fetches meanwhile and applies the assignment when it has arrived.  As in
kafka-python, ``poll()`` and ``close()`` run the listeners.
"""

from __future__ import annotations

import time

from kafka.errors import KafkaTimeoutError, RetriableError
from kafka.structs import MemberState

from kafka_assignors.consumer.continuous.joins import JoinsOutsidePoll

_SLICE_MS = 20  # poll() checks a join under way this often
_IDLE_S = 0.1  # poll() looks for an assignment this often while it waits for records


class ContinuousCoordinator(JoinsOutsidePoll):
    """`make_continuous` gives this class to the coordinator of a cooperative consumer.

    Attributes:
        is_polling: whether the consumer's ``poll()`` runs; `make_continuous` keeps it up to date.
    """

    is_polling = False

    def poll(self, timeout_ms: float | None = None) -> bool:
        """As inherited, but does not wait for a join or a coordinator while there are partitions to deliver.

        A member whose session is over (its process was suspended, or cut off from the broker) delivers
        nothing until it has joined again.

        With partitions, a call waits at most ``_SLICE_MS`` for an unknown coordinator, and as long for a
        pattern's metadata.  If no broker names a coordinator, it waits ``retry_backoff_ms``.  Listeners, and
        a commit before partitions are revoked, take additional time.
        """
        self._invoke_completed_offset_commit_callbacks()
        self._hold_back_unsubscribed()
        if self.state is MemberState.STABLE and not self._may_still_own():
            self.request_rejoin()  # the session is over: other members may own the partitions
        # Only without partitions, because the inherited ``poll`` waits for a join that begins meanwhile.
        if not self._has_partitions():
            self.heartbeat.poll()  # the inherited ``poll`` skips this while a join is under way
            try:
                return bool(super().poll(timeout_ms))
            except RetriableError:  # a pattern's metadata request failed
                if not self._subscription.subscribed_pattern:
                    raise
                pause_ms = self.config["retry_backoff_ms"]
                pause_ms = pause_ms if timeout_ms is None else min(pause_ms, timeout_ms)
                self._net.run(self._net.sleep, pause_ms / 1000)
                return False
        slice_ms = _SLICE_MS if timeout_ms is None else min(_SLICE_MS, timeout_ms)
        self.poll_heartbeat()
        if self.coordinator_unknown() and not self.ensure_coordinator_ready(timeout_ms=slice_ms):
            return self._may_still_own()
        try:
            for _ in range(2):  # the first turn applies an assignment, the second begins the follow-up join
                if self._join.is_in_flight or not self.need_rejoin() or not self._may_join(slice_ms):
                    break
                self.ensure_active_group(timeout_ms=0)
        except KafkaTimeoutError:
            return False
        if not self._may_still_own():
            self._net.run(self._net.sleep, slice_ms / 1000)
            return False
        self._maybe_auto_commit_offsets_async()
        return True

    async def ensure_coordinator_ready_async(self, timeout_ms: float | None = None) -> bool:
        """As inherited, but with ``timeout_ms`` a failed metadata request counts as a timeout.

        Without ``timeout_ms`` the request's error is raised, as in kafka-python.  Otherwise ``committed`` and
        ``position`` would wait for ever.
        """
        try:
            return bool(await super().ensure_coordinator_ready_async(timeout_ms))
        except RetriableError:
            if timeout_ms is None:
                raise
            await self._net.sleep(self.config["retry_backoff_ms"] / 1000)
            return False

    def time_to_next_poll(self) -> float:
        """Return the seconds that the consumer may wait for records."""
        if not self._has_partitions():
            return float(super().time_to_next_poll())
        is_waiting = self.need_rejoin() or self.coordinator_unknown()
        return _SLICE_MS / 1000 if is_waiting else min(_IDLE_S, float(super().time_to_next_poll()))

    def need_rejoin(self) -> bool:
        """As inherited; also True until ``poll()`` has handled the result of a join."""
        return bool(
            super().need_rejoin()
            or (self._join_task is not None and self._subscription.partitions_auto_assigned())
        )

    def refresh_committed_offsets_if_needed(self, timeout_ms: float | None = None) -> bool:
        """As inherited, but ``poll()`` waits only ``_SLICE_MS`` for offsets if a partition has a position."""
        states = list(self._subscription.assignment.values())
        is_delivering = self.is_polling and self._has_partitions()
        if not is_delivering or not any(state.has_valid_position for state in states):
            return bool(super().refresh_committed_offsets_if_needed(timeout_ms))
        fetch = self._offset_fetch_futures.get(frozenset(self._subscription.missing_fetch_positions()))
        is_waiting = fetch is not None and not fetch.failed()
        if not is_waiting and time.monotonic() < self._next_offset_fetch_at:
            return False  # the last attempt gave no offsets
        slice_ms = _SLICE_MS if timeout_ms is None else min(_SLICE_MS, timeout_ms)
        is_done = bool(super().refresh_committed_offsets_if_needed(slice_ms))
        if not is_done:
            self._next_offset_fetch_at = time.monotonic() + self.config["retry_backoff_ms"] / 1000
        return is_done

    def _has_partitions(self) -> bool:
        """Whether the group has assigned partitions to this member."""
        return bool(self._subscription.partitions_auto_assigned() and self._subscription.assignment)

    def _hold_back_unsubscribed(self) -> None:
        """Stop delivering unsubscribed topics; resume topics that were subscribed again."""
        if not self._subscription.partitions_auto_assigned():
            return
        topics = self._subscription.subscription or ()
        for partition, state in list(self._subscription.assignment.items()):
            state.mark_pending_revocation(partition.topic not in topics)

    def _may_join(self, timeout_ms: float) -> bool:
        """Return whether a join may begin; wait for a pattern's fresh metadata, as the inherited ``poll``."""
        if not self._subscription.subscribed_pattern or self.rejoining:
            return True
        update = self._update = self._update or self._cluster.request_update()
        try:
            self._net.run(self._manager.wait_for, update, timeout_ms)
        except RetriableError:
            return False
        finally:
            if update.failed():
                self._update = None
        return True
