"""What a leader needs to know beyond kafka-python: who leads, and the metadata that it planned with."""

from __future__ import annotations

import weakref
from typing import Any

from kafka.coordinator.consumer import ConsumerCoordinator

_LEADER = "_kafka_assignors_leader"
"""The attribute in which this module stores the leader's member id on a coordinator."""


def leader_of(coordinator: ConsumerCoordinator | None) -> str | None:
    """Return the leader's member id from the last JoinGroup response; None if unknown."""
    leader: str | None = getattr(coordinator, _LEADER, None)
    return leader


def remember_leaders(coordinator: ConsumerCoordinator) -> None:
    """Make a coordinator keep the leader's id of each JoinGroup response; kafka-python drops it."""
    if not hasattr(coordinator, "_process_join_group_response") or hasattr(coordinator, _LEADER):
        return
    reference = weakref.ref(coordinator)

    def process_and_remember(response: Any, *more: Any) -> Any:
        current: Any = reference()
        # Looked up at each call because ContinuousConsumer replaces the coordinator's class later.
        joined = type(current)._process_join_group_response(current, response, *more)
        setattr(current, _LEADER, response.leader)
        return joined

    setattr(coordinator, _LEADER, None)
    coordinator._process_join_group_response = process_and_remember


def remember_planned_metadata(coordinator: ConsumerCoordinator) -> None:
    """Compare later metadata with all topics that the leader plans now.

    A join forgets the other members' topics, and an update during it makes a snapshot without them.
    kafka-python takes that snapshot for the planned one.  So the next update looks like a change, and the
    leader joins again: for ever, if each join takes longer than ``metadata_max_age_ms``.
    """
    planned = coordinator._build_metadata_snapshot(coordinator._subscription, coordinator._cluster)
    coordinator._metadata_snapshot = coordinator._assignment_snapshot = planned
