"""`CoordinatorFacts`: the state that an assignor reads from its consumer's coordinator."""

from __future__ import annotations

import time
import weakref
from typing import Any

from kafka.consumer.subscription_state import OffsetResetStrategy
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.coordinator.consumer import ConsumerCoordinator
from kafka.structs import MemberState, TopicPartition

from kafka_assignors.assignor.coordinator_access.consumer import partition_counts
from kafka_assignors.assignor.coordinator_access.responses import LEADER, SYNCED

_PRIVATE = (
    *("_assignors", "_cluster", "_generation", "_manager", "_net", "_rebalance_protocol", "_subscription"),
    *("_build_metadata_snapshot", "request_rejoin"),
)
_RESETS = {OffsetResetStrategy.LATEST: "latest", OffsetResetStrategy.EARLIEST: "earliest"}


class CoordinatorFacts:
    """Reads the coordinator of an assignor's consumer.

    Without a consumer (an assignor used by hand) the methods return None, False or an empty value, unless
    their docstring says otherwise.
    """

    def __init__(self) -> None:
        self._coordinator: weakref.ref[ConsumerCoordinator] | None = None
        self._client_rack: str | None = None

    def is_unknown_version(self) -> bool:
        """Whether the coordinator lacks a part in ``_PRIVATE``."""
        coordinator = self._live()
        return coordinator is not None and not all(hasattr(coordinator, name) for name in _PRIVATE)

    def cooperative(self) -> bool | None:
        """Whether the consumer runs the cooperative protocol (KIP-429).  Never changes; None if unknown."""
        protocol = getattr(self._live(), "_rebalance_protocol", None)
        return None if protocol is None else bool(protocol == RebalanceProtocol.COOPERATIVE)

    def owned(self) -> list[TopicPartition] | None:
        """Return the partitions of the consumer's assignment.

        None without a consumer.  The list may be stale: after a lost membership it stays until the next join
        begins, and in a rebalance of an eager consumer until the new assignment arrives.
        """
        subscription = getattr(self._live(), "_subscription", None)
        return None if subscription is None else list(subscription.assigned_partitions())

    def client_rack(self) -> str | None:
        """Return the consumer's ``client_rack``; None if it is not set, or unknown."""
        return self._client_rack

    def assignors(self) -> list[object]:
        """Return all strategies of the consumer's list."""
        return list(getattr(self._live(), "_assignors", {}).values())

    def session_timeout_s(self) -> float | None:
        """Return the session timeout.  A plan must take less: the consumer sends no heartbeat meanwhile."""
        return self._configured_s("session_timeout_ms")

    def max_poll_interval_s(self) -> float | None:
        """Return the longest time the application may take between two polls."""
        return self._configured_s("max_poll_interval_ms")

    def _configured_s(self, name: str) -> float | None:
        value = getattr(self._live(), "config", {}).get(name)
        return value / 1000 if isinstance(value, (int, float)) else None

    def member_id(self) -> str | None:
        """Return the consumer's member id; None before it has joined."""
        member_id = getattr(getattr(self._live(), "_generation", None), "member_id", None)
        return member_id if isinstance(member_id, str) and member_id else None

    def leader_id(self) -> str | None:
        """Return the leader's member id from the last JoinGroup response; None if unknown.

        Empty in a group that the broker converted to the new protocol (KIP-848): there the broker plans.
        """
        leader: str | None = getattr(self._live(), LEADER, None)
        return leader

    def generation(self) -> int | None:
        """Return the generation the consumer joined last, even if its assignment never took effect.

        None before the first join, after a lost membership, and without a consumer.
        """
        generation = getattr(getattr(self._live(), "_generation", None), "generation_id", None)
        return generation if isinstance(generation, int) and generation >= 0 else None

    def synced_generation(self) -> int | None:
        """Return the generation of the last assignment the broker sent, even if it never took effect.

        None before the first assignment, and without a consumer.
        """
        generation: int | None = getattr(self._live(), SYNCED, None)
        return generation

    def instance_id(self) -> str | None:
        """Return the ``group_instance_id``; None for a dynamic member, or if it is unknown."""
        coordinator = self._known()
        if coordinator is None or coordinator.is_dynamic_member():
            return None
        return str(coordinator.group_instance_id)

    def settled_generation(self) -> int | None:
        """Return the generation the consumer is in; None while it joins, or if its next poll will join."""
        coordinator = self._live()
        if coordinator is None or coordinator.state is not MemberState.STABLE or coordinator.need_rejoin():
            return None
        return self.generation()

    def partition_counts(self) -> dict[str, int]:
        """Count the partitions of each subscribed topic that the metadata lists."""
        if (coordinator := self._live()) is None:
            return {}
        return partition_counts(coordinator._cluster, coordinator._subscription.subscription or ())

    def subscribes_by_pattern(self) -> bool:
        """Whether the consumer subscribes to topics by a pattern; its metadata then lists all topics."""
        return getattr(getattr(self._live(), "_subscription", None), "subscribed_pattern", None) is not None

    def metadata_updated_at(self) -> float | None:
        """Return the time of the last metadata update (``time.monotonic``); None if it is unknown."""
        coordinator = self._known()
        if coordinator is None:
            return None
        return float(coordinator._cluster._last_successful_refresh_ms) / 1000

    def metadata_response_at(self) -> float:
        """Return the time after which a metadata update answers a request made now.

        This is the present time (``time.monotonic``), also without a consumer.  It is ``inf`` while an update
        is under way, because that update may have been requested for other topics.
        """
        coordinator = self._live()
        is_under_way = coordinator is not None and coordinator._cluster.metadata_refresh_in_progress
        return float("inf") if is_under_way else time.monotonic()

    def config(self) -> dict[str, Any] | None:
        """Return the settings of the consumer's connection, its group, offset reset and isolation level."""
        coordinator = self._known()
        if coordinator is None:
            return None
        reset = getattr(coordinator._subscription, "_default_offset_reset_strategy", None)
        return {
            **coordinator._manager.config,
            "group_id": coordinator.group_id,
            "auto_offset_reset": _RESETS.get(reset, "none"),
            # As a number: kafka-python accepts spellings that lag fetching refuses.
            "isolation_level": int(getattr(coordinator, "_isolation_level", 0)),
        }

    def _known(self) -> ConsumerCoordinator | None:
        """Return the coordinator; None without one, or if its private parts are unknown."""
        return None if self.is_unknown_version() else self._live()

    def _live(self) -> ConsumerCoordinator | None:
        return self._coordinator() if self._coordinator is not None else None
