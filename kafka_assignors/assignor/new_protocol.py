"""Logs on every member that the broker converted the group to the new protocol (KIP-848)."""

from __future__ import annotations

import logging

from kafka_assignors.assignor.coordinator_access.access import CoordinatorAccess

log = logging.getLogger("kafka_assignors")


class ConversionNotice:
    """Logs each time the broker converts the group to the new protocol, or back to the classic one."""

    def __init__(self) -> None:
        self._is_converted = False

    def check(self, access: CoordinatorAccess, strategy: str) -> None:
        """Check the last JoinGroup response: in a converted group it names no leader."""
        before, self._is_converted = self._is_converted, access.leader_id() == ""
        if self._is_converted and not before:
            log.warning(
                "%s: a member with the consumer protocol (KIP-848) joined and the broker converted the group;"
                " the broker's own assignor plans now and this strategy has no effect",
                strategy,
            )
        elif before and not self._is_converted:
            log.info("%s: the broker converted the group back to a classic one; its leader plans", strategy)
