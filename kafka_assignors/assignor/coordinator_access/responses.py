"""Steps added to a coordinator's handling of JoinGroup and SyncGroup responses.

They keep two facts that kafka-python drops: the leader, and the generation of the last assignment.  They also
unfold assignments whose partitions are in the user data (`wire.budget`).
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from kafka.coordinator.assignors.abstract import ConsumerProtocolAssignment
from kafka.coordinator.consumer import ConsumerCoordinator

from kafka_assignors.errors import CodecError
from kafka_assignors.wire import budget

log = logging.getLogger("kafka_assignors")

LEADER = "_kafka_assignors_leader"
"""The attribute in which this module stores the leader's member id on a coordinator."""

SYNCED = "_kafka_assignors_synced"
"""The attribute for the generation of the last assignment that the broker sent."""

_UNFOLDS = "_kafka_assignors_unfolds"
"""The attribute that marks a coordinator that unfolds assignments."""


def add_step(coordinator: ConsumerCoordinator, method: str, step: Callable[[Any, Any], Any]) -> bool:
    """Pass the result of a method through ``step``, after the steps that were added before.

    ``method`` names a method that is not a coroutine.  The step takes the coordinator and the method's
    result, and is not called if the method raises.  The extended method is an attribute of the coordinator,
    so that the class stays as it is.

    Returns:
        Whether the coordinator has the method; an unknown version of kafka-python may not.
    """
    if not hasattr(coordinator, method):
        return False
    reference = weakref.ref(coordinator)
    earlier = vars(coordinator).get(method)

    def call(*args: Any, **kwargs: Any) -> Any:
        current: Any = reference()
        # Looked up at each call because ContinuousConsumer replaces the coordinator's class later.
        process = earlier or partial(getattr(type(current), method), current)
        return step(current, process(*args, **kwargs))

    setattr(coordinator, method, call)
    return True


def remember_rounds(coordinator: ConsumerCoordinator) -> None:
    """Make a coordinator keep a JoinGroup response's leader, and the generation when SyncGroup ends."""
    if hasattr(coordinator, LEADER):
        return

    def remember_leader(current: Any, joined: Any) -> Any:
        setattr(current, LEADER, joined.leader)
        return joined

    def remember_generation(current: Any, assignment: Any) -> Any:
        setattr(current, SYNCED, current._generation.generation_id)
        return assignment

    if add_step(coordinator, "_process_join_group_response", remember_leader):
        add_step(coordinator, "_process_sync_group_response", remember_generation)
        setattr(coordinator, LEADER, None)


def unfold_assignments(coordinator: ConsumerCoordinator) -> bool:
    """Unfold each assignment that a SyncGroup response brings, before kafka-python decodes it.

    Returns:
        Whether the coordinator unfolds them; False in an unknown version of kafka-python.
    """

    def unfold(_current: Any, assignment: Any) -> bytes:
        try:
            return budget.unfold(bytes(assignment))
        except CodecError as error:
            if not ConsumerProtocolAssignment.decode(bytes(assignment)).partitions():
                raise  # its partitions may be in the user data: with an empty list, no member would read them
            log.warning("assignment: unreadable user data (%s): using the partitions it lists", error)
            return bytes(assignment)

    if not hasattr(coordinator, _UNFOLDS) and add_step(coordinator, "_process_sync_group_response", unfold):
        setattr(coordinator, _UNFOLDS, True)
    return hasattr(coordinator, _UNFOLDS)
