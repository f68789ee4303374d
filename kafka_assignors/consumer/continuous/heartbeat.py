"""The heartbeat schedule of a continuous member."""

from __future__ import annotations

import time

from kafka.coordinator.heartbeat import Heartbeat

_SOON_S = (0.05, 0.15, 0.35, 0.75, 1.55)  # extra heartbeats after a join, before the regular ones
_ROUNDING_S = 0.001  # a heartbeat that is early by at most this counts as the due one


class EarlyHeartbeat(Heartbeat):
    """Sends extra heartbeats right after a join, because a second round mostly follows at once.

    All are due at fixed times after the SyncGroup response, which reaches all members together.  So all
    members learn of the next rebalance together, and JoinGroup takes at most one heartbeat interval.
    """

    def time_to_next_heartbeat(self) -> float:
        """Return the seconds until the next heartbeat is due."""
        if self.heartbeat_failed:
            return float(super().time_to_next_heartbeat())
        interval: float = self.config["heartbeat_interval_ms"] / 1000
        last: float = max(self.last_send, self.last_reset) - self.last_reset + _ROUNDING_S
        soon = [after for after in _SOON_S if last < after < interval]
        due = min(soon, default=interval * (last // interval + 1))
        return float(max(0.0, self.last_reset + due - time.monotonic()))
