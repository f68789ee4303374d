"""Makes a coordinator read folded assignments, whose partitions are in the user data (`wire.budget`)."""

from __future__ import annotations

from typing import Any

from kafka.coordinator.consumer import ConsumerCoordinator

from kafka_assignors.assignor.coordinator_access.wrapping import add_step
from kafka_assignors.wire import budget

_UNFOLDS = "_kafka_assignors_unfolds"
"""The attribute that marks a coordinator that unfolds assignments."""


def unfold_assignments(coordinator: ConsumerCoordinator) -> bool:
    """Unfold each assignment that a SyncGroup response brings, before kafka-python decodes it.

    Returns:
        Whether the coordinator unfolds them; False in an unknown version of kafka-python.
    """

    def unfold(_current: Any, assignment: Any) -> bytes:
        return budget.unfold(bytes(assignment))

    if not hasattr(coordinator, _UNFOLDS) and add_step(coordinator, "_process_sync_group_response", unfold):
        setattr(coordinator, _UNFOLDS, True)
    return hasattr(coordinator, _UNFOLDS)
