"""Keeps for a leader what kafka-python drops: who leads, the last round that ended, the planned metadata."""

from __future__ import annotations

from typing import Any

from kafka.coordinator.consumer import ConsumerCoordinator

from kafka_assignors.assignor.coordinator_access.wrapping import add_step

_LEADER = "_kafka_assignors_leader"
"""The attribute in which this module stores the leader's member id on a coordinator."""

_SYNCED = "_kafka_assignors_synced"
"""The attribute for the generation of the last assignment that the broker sent."""


def leader_of(coordinator: ConsumerCoordinator | None) -> str | None:
    """Return the leader's member id from the last JoinGroup response; None if unknown."""
    leader: str | None = getattr(coordinator, _LEADER, None)
    return leader


def synced_generation_of(coordinator: ConsumerCoordinator | None) -> int | None:
    """Return the generation of the last assignment that the broker sent; None before the first."""
    generation: int | None = getattr(coordinator, _SYNCED, None)
    return generation


def remember_rounds(coordinator: ConsumerCoordinator) -> None:
    """Make a coordinator keep the leader and the generation of the responses to its joins."""
    if hasattr(coordinator, _LEADER):
        return

    def remember_leader(current: Any, joined: Any) -> Any:
        setattr(current, _LEADER, joined.leader)
        return joined

    def remember_generation(current: Any, assignment: Any) -> Any:
        setattr(current, _SYNCED, current._generation.generation_id)
        return assignment

    if add_step(coordinator, "_process_join_group_response", remember_leader):
        add_step(coordinator, "_process_sync_group_response", remember_generation)
        setattr(coordinator, _LEADER, None)


def remember_planned_metadata(coordinator: ConsumerCoordinator) -> None:
    """Compare later metadata with all topics that the leader plans now.

    A join forgets the other members' topics, and an update during it makes a snapshot without them.
    kafka-python takes that snapshot for the planned one.  So the next update looks like a change, and the
    leader joins again: for ever, if each join takes longer than ``metadata_max_age_ms``.
    """
    planned = coordinator._build_metadata_snapshot(coordinator._subscription, coordinator._cluster)
    coordinator._metadata_snapshot = coordinator._assignment_snapshot = planned


def repeat_update_under_way(coordinator: ConsumerCoordinator) -> None:
    """Request another metadata update if one is under way.

    The leader has just requested an update with the topics of all members.  The response to an earlier
    request lists fewer topics, but kafka-python takes it for this one too.  Topics that only other members
    read would have no owner for ``metadata_max_age_ms``.
    """
    cluster = coordinator._cluster
    if cluster.metadata_refresh_in_progress:
        cluster.request_update().add_callback(lambda _updated: cluster.request_update())
