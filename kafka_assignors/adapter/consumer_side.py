"""The one module that touches kafka-python's private parts.

kafka-python tells an assignor neither whether its consumer runs eager or cooperative, nor that its
membership was lost, and has no public way to ask for a rebalance.  The consumer's coordinator knows all
three.  It calls the assignor, so it is found in the call stack, once.  What is relied on here is pinned by
``tests/unit/adapter/test_consumer_side.py``.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from types import FrameType

from kafka import KafkaConsumer
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.coordinator.consumer import ConsumerCoordinator

__all__ = ["ConsumerSide", "is_closing", "runs_cooperative"]

_PRIVATE = ("_assignors", "_rebalance_protocol", "_subscription", "request_rejoin")
_NEAR = 8  # frames; the coordinator calls its assignors directly


def runs_cooperative(consumer: KafkaConsumer) -> bool:
    """Whether a consumer runs the cooperative protocol (KIP-429)."""
    return bool(consumer._coordinator._rebalance_protocol == RebalanceProtocol.COOPERATIVE)


def is_closing(consumer: KafkaConsumer) -> bool:
    """Whether ``close()`` was called; it revokes everything, and nothing will be assigned again."""
    return bool(consumer._closed)


class ConsumerSide:
    """What an assignor can see of the consumer it belongs to.

    Outside a consumer (an assignor used by hand) nothing is seen, and every answer is None.
    """

    def __init__(self, assignor: AbstractPartitionAssignor) -> None:
        self._assignor = weakref.ref(assignor)
        self._coordinator: weakref.ref[ConsumerCoordinator] | None = None

    def look(self) -> None:
        """Find the coordinator, if it is what is calling."""
        if self._seen() is None:
            self._coordinator = self._caller()

    def is_strange(self) -> bool:
        """Whether the consumer is there but its parts are not the ones we know."""
        coordinator = self._seen()
        return coordinator is not None and not all(hasattr(coordinator, name) for name in _PRIVATE)

    def cooperative(self) -> bool | None:
        """Whether the consumer runs the cooperative protocol (KIP-429); it is settled at its construction."""
        coordinator = self._seen()
        protocol = getattr(coordinator, "_rebalance_protocol", None)
        return None if protocol is None else bool(protocol == RebalanceProtocol.COOPERATIVE)

    def owned(self) -> Iterable[tuple[str, int]] | None:
        """The (topic, partition)s the consumer has in its hands now: none after it lost its membership."""
        subscription = getattr(self._seen(), "_subscription", None)
        if subscription is None:
            return None
        return [(tp.topic, tp.partition) for tp in subscription.assigned_partitions()]

    def generation(self) -> int | None:
        """The generation the consumer is joining: everything members report comes from an earlier one."""
        now = getattr(getattr(self._seen(), "_generation", None), "generation_id", None)
        return now if isinstance(now, int) and now >= 0 else None

    def request_rejoin(self) -> None:
        """Ask for a rebalance at the consumer's next poll.  Only a leader's request starts one for sure."""
        if (coordinator := self._seen()) is not None:
            coordinator.request_rejoin()

    def _seen(self) -> ConsumerCoordinator | None:
        return self._coordinator() if self._coordinator is not None else None

    def _caller(self) -> weakref.ref[ConsumerCoordinator] | None:
        frame: FrameType | None = sys._getframe(1)
        for _ in range(_NEAR):
            if frame is None:
                return None
            caller = frame.f_locals.get("self")
            if isinstance(caller, ConsumerCoordinator) and self._is_ours(caller):
                return weakref.ref(caller)
            frame = frame.f_back
        return None

    def _is_ours(self, coordinator: ConsumerCoordinator) -> bool:
        mine = self._assignor()
        return any(assignor is mine for assignor in getattr(coordinator, "_assignors", {}).values())
