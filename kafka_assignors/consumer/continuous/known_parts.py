"""Checks that the private parts of kafka-python that this folder relies on are unchanged.

`make_continuous` replaces a consumer's coordinator only if the methods listed here have known sources.
If a source differs, for example in an unknown version of kafka-python, the consumer behaves as a
``KafkaConsumer``.
"""

from __future__ import annotations

import hashlib
import inspect
from functools import cache

from kafka import KafkaConsumer
from kafka.cluster import ClusterMetadata
from kafka.consumer.fetcher import Fetcher
from kafka.consumer.subscription_state import SubscriptionState, TopicPartitionState
from kafka.coordinator.base import BaseCoordinator, Generation
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.coordinator.heartbeat import Heartbeat
from kafka.future import Future
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector, Task

# Class -> the `part_digest` of these methods, and their names.
_KNOWN: dict[type, tuple[str, str]] = {
    BaseCoordinator: (
        "7936dd75bac019e0",
        "__init__ coordinator coordinator_unknown stable ensure_coordinator_ready "
        "ensure_coordinator_ready_async need_rejoin poll_heartbeat ensure_active_group "
        "ensure_active_group_async join_group_async _failed_request _process_join_group_response "
        "_process_sync_group_response _do_join_and_sync_async coordinator_dead generation_if_stable "
        "reset_generation request_rejoin _maybe_start_heartbeat_loop _enable_heartbeat _disable_heartbeat "
        "_heartbeat_loop _do_heartbeat _send_heartbeat_request _handle_heartbeat_response close "
        "maybe_leave_group maybe_leave_group_async _handle_find_coordinator_response lookup_coordinator",
    ),
    ConsumerCoordinator: (
        "f2662c4541a25c04",
        "__init__ poll time_to_next_poll need_rejoin refresh_committed_offsets_if_needed "
        "refresh_committed_offsets_if_needed_async fetch_committed_offsets_async group_protocols "
        "_perform_assignment _on_join_prepare_async _on_join_complete_async _on_close_prepare_async close "
        "_commit_offsets_sync_async commit_offsets_async _do_commit_offsets_async "
        "_send_offset_commit_request _handle_offset_commit_response _send_offset_fetch_request "
        "_invoke_completed_offset_commit_callbacks _maybe_auto_commit_offsets_async "
        "maybe_auto_commit_offsets_now _commit_offsets_async_on_complete commit_offsets_sync "
        "_maybe_auto_commit_offsets_sync _invoke_rebalance_listener_async",
    ),
    KafkaConsumer: (
        "7a1d324e3ca12abd",
        "poll _poll_once _refresh_committed_offsets commit unsubscribe close",
    ),
    Fetcher: ("ceb873698985ea67", "__init__ fetched_records"),
    Heartbeat: (
        "9aee96f45e22bf98",
        "__init__ poll sent_heartbeat fail_heartbeat received_heartbeat time_to_next_heartbeat "
        "should_heartbeat session_timeout_expired reset_timeouts poll_timeout_expired",
    ),
    Generation: ("a17f1f9b699915f6", "__init__ has_member_id is_lost"),
    SubscriptionState: (
        "4b600dd16f94410f",
        "assign_from_subscribed _apply_assignment all_consumed_offsets reset_group_subscription "
        "assigned_partitions partitions_auto_assigned",
    ),
    TopicPartitionState: ("839254b1732fa7dc", "mark_pending_revocation is_fetchable"),
    ClusterMetadata: ("b6e021a61c194159", "add_coordinator broker_metadata request_update"),
    KafkaConnectionManager: ("7ae3be9027957045", "send wait_for call_soon get_connection"),
    KafkaConnection: ("79e6a69025db3447", "__init__ close connection_lost fail_in_flight_requests"),
    NetworkSelector: (
        "d194b2d9f71b5a03",
        "run call_at call_later call_soon call_soon_threadsafe call_soon_with_future _invoke sleep _sleep "
        "_poll_once cancel",
    ),
    Task: ("77e531028ac1dd83", "__init__ __call__"),
    Future: ("4344d164b891694e", "__init__ success failure add_callback add_errback __await__"),
}


def part_digest(owner: type, methods: str) -> str:
    """Return the digest of the sources of a class's methods; empty if one is missing or has no source."""
    digest = hashlib.sha256()
    try:
        for name in methods.split():
            digest.update(inspect.getsource(inspect.unwrap(vars(owner)[name])).encode())
    except Exception:  # also TokenError, if kafka-python was upgraded on disk since the import
        return ""
    return digest.hexdigest()[:16]


@cache
def unknown_parts() -> tuple[str, ...]:
    """Return the classes of kafka-python with unknown sources.  Takes about 30 ms, once per process."""
    return tuple(
        owner.__name__ for owner, (digest, methods) in _KNOWN.items() if part_digest(owner, methods) != digest
    )
