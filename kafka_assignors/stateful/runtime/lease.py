"""A member's lease: how long it may write after its last heartbeat or commit, the signs of its membership.

No other member writes for its tasks before the lease ends.  No broker fences an ordinary producer, so a
member must find out in time by itself that it has left the group.  A broker gives a member's partitions to
others

- when the broker has had no heartbeat for a session timeout;
- when the member has not joined a rebalance that began ``max_poll_interval_ms`` ago.  The response to a
  heartbeat reports the rebalance.  The member joins on its I/O thread, or in its next ``poll``;
- at once, when it leaves by itself, as kafka-python does ``max_poll_interval_ms`` after the last poll;
- at once, when another member joins with the same ``group_instance_id``.  The new member then waits for twice
  its own ``patience_s``.  The old one cannot write any more by then, if both have the same timeouts.
"""

from __future__ import annotations

import time
from typing import Any

from kafka import KafkaConsumer

from kafka_assignors.assignor.coordinator_access.consumer import (
    heartbeat_age_s,
    poll_age_s,
    stable_heartbeat_at,
    static_member_id,
    timeouts,
)
from kafka_assignors.errors import OptionError
from kafka_assignors.stateful.shutdown import Shutdown

_SESSION_SHARE = 0.5
_POLL_INTERVAL_SHARE = 0.25  # of max_poll_interval_ms
# Lease of a static member, in heartbeat intervals: short, because a new process with our instance id owns our
# tasks at once.
_HEARTBEATS = 2
_CHECK_EVERY_S = 0.01


class Lease:
    """A member's right to write.  Not thread-safe.

    Attributes:
        patience_s: seconds for which a sign of membership is valid; also the longest time of a write.

    Raises:
        OptionError: ``max_poll_interval_ms`` is too short for the heartbeat interval.
    """

    def __init__(self, consumer: KafkaConsumer, shutdown: Shutdown | None = None) -> None:
        self._consumer: Any = consumer
        self._shutdown = shutdown or Shutdown()
        session_s, poll_s, heartbeat_s = timeouts(consumer)
        if heartbeat_s > _POLL_INTERVAL_SHARE * poll_s:
            raise OptionError("max_poll_interval_ms", "must be at least four times heartbeat_interval_ms")
        self.patience_s = min(_SESSION_SHARE * session_s, _POLL_INTERVAL_SHARE * poll_s)
        if static_member_id(consumer) is not None:
            self.patience_s = min(self.patience_s, _HEARTBEATS * heartbeat_s)
        self._poll_limit_s = poll_s - self.patience_s
        self._stable_at = float("-inf")
        self._renewed_at = float("-inf")
        self._member_id: str | None = None
        self._joined_at = 0.0

    def is_valid(self, wait_s: float = 0.0) -> bool:
        """Whether this member still owns its tasks for the next ``patience_s``, the time a write may take.

        Args:
            wait_s: seconds to wait for a sign of membership.
        """
        until = time.monotonic() + wait_s
        while not self._is_member():
            if time.monotonic() >= until or not self._may_wait():
                return False
            time.sleep(_CHECK_EVERY_S)
        return True

    def observe(self) -> None:
        """Keep the time of the last heartbeat whose response reported no rebalance.

        Call this after each poll, because a join overwrites that heartbeat.
        """
        if (sent_at := stable_heartbeat_at(self._consumer)) is not None:
            self._stable_at = sent_at

    def renew(self, sent_at: float) -> None:
        """Count a commit as a sign of membership at the time it was sent (``time.monotonic``)."""
        self._renewed_at = sent_at

    def is_alone(self) -> bool:
        """Whether no earlier process with this ``group_instance_id`` may still write.

        An earlier process may not know yet that it was replaced.  So a static member waits for twice
        ``patience_s`` after it got a new member id.
        """
        member_id = static_member_id(self._consumer)
        if member_id is None:
            return True
        now = time.monotonic()
        if member_id != self._member_id:
            self._member_id, self._joined_at = member_id, now
        return now - self._joined_at >= 2 * self.patience_s

    def wait_until_alone(self) -> bool:
        """Wait until `is_alone`, while time is left; return whether it is.

        Call this before tasks are given up.  Otherwise their next owner could write while the earlier process
        with this ``group_instance_id`` still writes.
        """
        while not (is_alone := self.is_alone()) and self._may_wait():
            time.sleep(_CHECK_EVERY_S)
        return is_alone

    def _may_wait(self) -> bool:
        return self._shutdown.to_commit_s(_CHECK_EVERY_S) > 0

    def _is_member(self) -> bool:
        self.observe()
        age_s = heartbeat_age_s(self._consumer)
        now = time.monotonic()
        return (
            age_s is not None
            and min(age_s, now - self._renewed_at) < self.patience_s
            and max(now - self._stable_at, poll_age_s(self._consumer)) < self._poll_limit_s
        )
