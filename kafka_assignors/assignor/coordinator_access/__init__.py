"""Reads and calls kafka-python's private parts.  Only this folder and ``consumer/continuous`` do.

kafka-python does not pass an assignor its consumer's protocol (eager or cooperative) or the loss of its
membership, and has no public call that requests a rebalance.  The consumer's coordinator knows all three.
The coordinator calls the assignor, so the call stack leads to it, once.  The private parts are pinned by
``tests/unit/assignor/test_coordinator_access.py``.

- ``access``: `CoordinatorAccess`, for an assignor.
- ``consumer``: functions of a given consumer, for listeners and the stateful consumer.
"""

from __future__ import annotations

from kafka_assignors.assignor.coordinator_access.access import CoordinatorAccess
from kafka_assignors.assignor.coordinator_access.consumer import (
    Timeouts,
    commit,
    confirmed_s_ago,
    done,
    drop_unsent,
    generation_of,
    is_closing,
    is_fenced,
    is_settled,
    kept_up_until,
    member_id_of,
    polled_s_ago,
    replicas,
    request_rejoin,
    runs_cooperative,
    static_member_id,
    timeouts,
)

__all__ = [
    "CoordinatorAccess",
    "Timeouts",
    "commit",
    "confirmed_s_ago",
    "done",
    "drop_unsent",
    "generation_of",
    "is_closing",
    "is_fenced",
    "is_settled",
    "kept_up_until",
    "member_id_of",
    "polled_s_ago",
    "replicas",
    "request_rejoin",
    "runs_cooperative",
    "static_member_id",
    "timeouts",
]
