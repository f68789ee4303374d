"""Finds the coordinator that calls an assignor, on the call stack."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

from kafka.coordinator.consumer import ConsumerCoordinator

_MAX_FRAMES = 8  # the coordinator calls its assignors directly, or through a user's wrapper


def calling_coordinator() -> ConsumerCoordinator | None:
    """Find the coordinator that is nearest on the stack; None without one."""
    for frame in _callers():
        if isinstance(caller := frame.f_locals.get("self"), ConsumerCoordinator):
            return caller
    return None


def client_rack_of(coordinator: ConsumerCoordinator) -> str | None:
    """Find ``client_rack`` among the arguments of the coordinator's constructor, which drops it.

    None if the setting is empty, or if the constructor is not on the stack.
    """
    for frame in _callers():
        if frame.f_locals.get("self") is coordinator and frame.f_code.co_name == "__init__":
            rack = frame.f_locals.get("configs", {}).get("client_rack")
            return rack if isinstance(rack, str) and rack else None
    return None


def _callers() -> Iterator[FrameType]:
    """Yield the frames of the assignor's method and of its callers, the nearest first."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_MAX_FRAMES):
        if frame is None:
            return
        yield frame
        frame = frame.f_back
