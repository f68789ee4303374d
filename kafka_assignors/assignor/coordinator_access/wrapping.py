"""Adds a step to a method of one coordinator, so that its class stays as it is."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

from kafka.coordinator.consumer import ConsumerCoordinator


def add_step(coordinator: ConsumerCoordinator, method: str, step: Callable[[Any, Any], Any]) -> bool:
    """Pass what a method returns through ``step``, after the steps it has already.

    Args:
        coordinator: the coordinator; only this one changes.
        method: the name of a method that is not a coroutine.
        step: (coordinator, result) -> result; not called if the method raises.

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
