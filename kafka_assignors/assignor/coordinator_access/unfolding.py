"""Makes a coordinator read assignments whose partitions are in the user data."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

from kafka.coordinator.consumer import ConsumerCoordinator

from kafka_assignors.wire import budget

_SYNC = "_process_sync_group_response"
_READS = "_kafka_assignors_reads_budgets"
"""The attribute that marks a coordinator that reads them."""


def reads_budgets(coordinator: ConsumerCoordinator | None) -> bool:
    """Whether a coordinator reads such assignments."""
    return coordinator is None or hasattr(coordinator, _READS)


def unfold_assignments(coordinator: ConsumerCoordinator) -> None:
    """Restore the plain form as soon as SyncGroup is answered, before kafka-python decodes it."""
    if not hasattr(coordinator, _SYNC) or hasattr(coordinator, _READS):
        return
    reference = weakref.ref(coordinator)
    wrapped = vars(coordinator).get(_SYNC)  # the recorder of metrics

    def process_and_unfold(*args: Any, **kwargs: Any) -> Any:
        current: Any = reference()
        # Looked up at each call because ContinuousConsumer replaces the coordinator's class later.
        process = wrapped or partial(getattr(type(current), _SYNC), current)
        return budget.unfold(bytes(process(*args, **kwargs)))

    setattr(coordinator, _READS, True)
    setattr(coordinator, _SYNC, process_and_unfold)
