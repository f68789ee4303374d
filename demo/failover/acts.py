"""Pure: the two acts of the failover, and constants of both."""

from __future__ import annotations

from dataclasses import dataclass

TASKS = 12
SUBTOPOLOGY = "count"
FIRST = ("m1", "m2")
NEWCOMER, VICTIM = "m3", "m1"
"""The member that joins, and the one that is killed; cold, no other member ever had the victim's tasks."""

RATE = 300.0
"""Records a second while members come and go: on two cores members are hardly busy, and each of 12 tasks gets
one every 40 ms."""

PROBING_MS = 1_000
HEARTBEAT_MS = 200
"""Members stand still until all have learned of a rebalance from a heartbeat."""

_WARMUPS = 4  # as many tasks as one of three members has, of 12
_ANY_LAG = 10**12  # records; no copy has a larger lag
_SMALL_LAG, _LEAST_LAG = 1_000, 150  # records; the latter is two seconds of changes to one task


@dataclass(frozen=True, slots=True)
class Act:
    """One act: the copies that the group keeps in it."""

    name: str  # cold or warm
    standbys: int  # copies of each task beside the active one
    recovery_lag: int  # records; a member may process a task if its copy lags no more
    warmups: int  # further copies that are built at a time
    quiet_s: float  # seconds of steady traffic before each event, to measure the usual progress

    def store_dir(self, member: str) -> str:
        """Return the name of a member's state folder; the newcomer begins each act with an empty one."""
        return f"{member}-{self.name}" if member == NEWCOMER else member


def acts(flights: int) -> tuple[Act, Act]:
    """Return the acts.

    The cold act comes first: its changelog is shorter, and no standby has left a copy on a disk.

    The warm act's ``recovery_lag`` is smaller with few ``flights``, because a copy without any of them must
    not count as caught up.
    """
    small = max(_LEAST_LAG, min(_SMALL_LAG, flights // 40))
    quiet_s = max(1.0, min(3.0, flights / 10_000))
    return Act("cold", 0, _ANY_LAG, 1, quiet_s), Act("warm", 1, small, _WARMUPS, quiet_s)


def changelog_of(group: str) -> str:
    """Return the name of the group's changelog topic."""
    return f"{group}-{SUBTOPOLOGY}-changelog"


def following(flights: int) -> int:
    """Return the number of flights to read for the steady traffic: enough for a minute, if possible."""
    return max(flights // 3, 2_000)
