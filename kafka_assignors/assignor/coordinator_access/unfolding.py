"""Makes a coordinator read assignments whose partitions are in the user data."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

from kafka.coordinator.consumer import ConsumerCoordinator

from kafka_assignors.wire import budget

_SYNC = "_process_sync_group_response"
_UNFOLDS = "_kafka_assignors_unfolds"
"""The attribute that marks a coordinator that does."""


def unfold_assignments(coordinator: ConsumerCoordinator) -> bool:
    """Restore the plain form as soon as SyncGroup is answered, before kafka-python decodes it.

    Returns:
        Whether the coordinator does; False in an unknown version of kafka-python.
    """
    if hasattr(coordinator, _UNFOLDS) or not hasattr(coordinator, _SYNC):
        return hasattr(coordinator, _UNFOLDS)
    reference = weakref.ref(coordinator)
    wrapped = vars(coordinator).get(_SYNC)  # the recorder of metrics

    def process_and_unfold(*args: Any, **kwargs: Any) -> Any:
        current: Any = reference()
        # Looked up at each call because ContinuousConsumer replaces the coordinator's class later.
        process = wrapped or partial(getattr(type(current), _SYNC), current)
        return budget.unfold(bytes(process(*args, **kwargs)))

    setattr(coordinator, _UNFOLDS, True)
    setattr(coordinator, _SYNC, process_and_unfold)
    return True
