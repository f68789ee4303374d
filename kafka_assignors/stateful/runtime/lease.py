"""For how long a member may write after it was heard of: until then nobody else can own its tasks.

Nobody fences an ordinary producer, so who is no member any more has to find out by itself, in time.  A broker
gives a member's partitions to others

- when it has had no heartbeat of it for a session timeout;
- when the member has not joined a rebalance that began ``max_poll_interval_ms`` ago.  It joins in ``poll``,
  or before that on its I/O thread if nothing there needs ``poll``; answers to heartbeats report a rebalance;
- at once, when it leaves by itself, as kafka-python does ``max_poll_interval_ms`` after the last poll;
- at once, when another one joins with its ``group_instance_id``.  The one that joins waits, then, for as
  long as the other may write.
"""

from __future__ import annotations

import time
from typing import Any

from kafka import KafkaConsumer

from kafka_assignors.assignor.coordinator_access import (
    confirmed_s_ago,
    kept_up_until,
    polled_s_ago,
    static_member_id,
    timeouts,
)
from kafka_assignors.errors import OptionError
from kafka_assignors.stateful.ending import Ending

__all__ = ["Lease"]

_OF_SESSION = 0.5
_OF_POLL_INTERVAL = 0.25
_HEARTBEATS = 2  # of a static member, whose tasks may be another's as soon as that one joins
_LOOK_S = 0.01


class Lease:
    """A member's right to write.  One thread at a time.

    Args:
        consumer: the member.
        ending: when it ends there is no more time to wait than that.

    Attributes:
        patience_s: how old the last sign of membership may be, and for how long is written then.

    Raises:
        OptionError: there are too few heartbeats between two polls to know anything by.
    """

    def __init__(self, consumer: KafkaConsumer, ending: Ending | None = None) -> None:
        self._consumer: Any = consumer
        self._ending = ending or Ending()
        session_s, poll_s, heartbeat_s = timeouts(consumer)
        if heartbeat_s > _OF_POLL_INTERVAL * poll_s:
            raise OptionError("max_poll_interval_ms", "has to be four heartbeat_interval_ms, or more")
        self.patience_s = min(_OF_SESSION * session_s, _OF_POLL_INTERVAL * poll_s)
        if static_member_id(consumer) is not None:
            self.patience_s = min(self.patience_s, _HEARTBEATS * heartbeat_s)
        self._poll_limit_s = poll_s - self.patience_s
        self._kept_up_until = float("-inf")
        self._renewed_at = float("-inf")
        self._member_id: str | None = None
        self._joined_at = 0.0

    def holds(self, wait_s: float = 0.0) -> bool:
        """Whether what is written within ``patience_s`` from now is written by the tasks' owner.

        Args:
            wait_s: how long to wait for a sign of that.
        """
        until = time.monotonic() + wait_s
        while not self._is_member():
            if time.monotonic() >= until or not self._may_wait():
                return False
            time.sleep(_LOOK_S)
        return True

    def renew(self, asked_at: float) -> None:
        """The group took what was asked of it then (``time.monotonic``): a sign as good as a heartbeat."""
        self._renewed_at = asked_at

    def is_alone(self) -> bool:
        """Whether nobody else may still write as this member.

        One with a ``group_instance_id`` may have taken over from a process that does not know it yet: it
        waits for twice ``patience_s`` after each join from outside.
        """
        member_id = static_member_id(self._consumer)
        if member_id is None:
            return True
        now = time.monotonic()
        if member_id != self._member_id:
            self._member_id, self._joined_at = member_id, now
        return now - self._joined_at >= 2 * self.patience_s

    def wait_until_alone(self) -> bool:
        """Wait for that, if there is time: who gets a task from us must not meet who had our id before."""
        while not (alone := self.is_alone()) and self._may_wait():
            time.sleep(_LOOK_S)
        return alone

    def _may_wait(self) -> bool:
        return self._ending.to_commit_s(_LOOK_S) > 0

    def _is_member(self) -> bool:
        if (until := kept_up_until(self._consumer)) is not None:
            self._kept_up_until = until
        heard_s = confirmed_s_ago(self._consumer)
        now = time.monotonic()
        return (
            heard_s is not None
            and min(heard_s, now - self._renewed_at) < self.patience_s
            and max(now - self._kept_up_until, polled_s_ago(self._consumer)) < self._poll_limit_s
        )
