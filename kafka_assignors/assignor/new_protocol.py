"""A group that the broker has converted to the new protocol (KIP-848): every member says so, once."""

from __future__ import annotations

import logging

from kafka_assignors.assignor.coordinator_access import ConsumerSide

__all__ = ["ConversionNotice"]

log = logging.getLogger("kafka_assignors")


class ConversionNotice:
    """Logs when a group is converted, and when it is a classic one again."""

    def __init__(self) -> None:
        self._is_converted = False

    def look(self, side: ConsumerSide, strategy: str) -> None:
        """Look at the last join: in a converted group its response names no leader."""
        before, self._is_converted = self._is_converted, side.leader_id() == ""
        if self._is_converted and not before:
            log.warning(
                "%s: a member of the consumer protocol (KIP-848) joined, and the broker has converted the"
                " group; its own assignor plans now, and this strategy has no effect",
                strategy,
            )
        elif before and not self._is_converted:
            log.info("%s: the group is a classic one again, and planned by its leader", strategy)
