"""Pure: the two acts of the scene, and what holds in both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ActName = Literal["cold", "warm"]

TASKS = 12
SUBTOPOLOGY = "count"
FIRST = ("m1", "m2")
NEWCOMER, VICTIM = "m3", "m1"
"""Who joins, and who is killed; of those that are left, none ever had the victim's tasks when it is cold."""

RATE = 300.0
"""Records a second while members come and go: on two cores members are hardly busy, and each of 12 tasks gets
one every 40 ms."""

PROBING_MS = 1_000
HEARTBEAT_MS = 200
"""How often a member asks whether a rebalance is on: until all have heard, those that have stand still."""

_WARMUPS = 4  # what one of three members gets of 12 tasks
_ANY_LAG = 10**12  # records; no copy lacks so much
_SMALL_LAG, _LEAST_LAG = 1_000, 150  # records; the latter is two seconds of changes to one task


@dataclass(frozen=True, slots=True)
class Act:
    """How a group keeps its state.

    Args:
        name: of the act.
        standbys: copies of each task beside the active one.
        recovery_lag: records; a member that lacks no more may process a task.
        warmups: further copies that are built at a time.
        newcomer_dir: where the third member has its state; nothing is there when it joins.
        quiet_s: seconds of steady traffic before each event, to know what is usual.
    """

    name: ActName
    standbys: int
    recovery_lag: int
    warmups: int
    newcomer_dir: str
    quiet_s: float

    def store_dir(self, member: str) -> str:
        """The name of the folder with a member's state: those who were there keep theirs."""
        return self.newcomer_dir if member == NEWCOMER else member


def acts(flights: int) -> tuple[Act, Act]:
    """The acts, in their order.

    Cold first: so it has the shorter changelog to restore, and nobody has standbys' copies on disk.

    Args:
        flights: how many are counted before; with few, a copy that lacks all of them must not count as
            caught up.
    """
    small = max(_LEAST_LAG, min(_SMALL_LAG, flights // 40))
    quiet_s = max(1.0, min(3.0, flights / 10_000))
    return (
        Act("cold", 0, _ANY_LAG, 1, f"{NEWCOMER}-cold", quiet_s),
        Act("warm", 1, small, _WARMUPS, f"{NEWCOMER}-warm", quiet_s),
    )


def changelog_of(group: str) -> str:
    """The changelog's topic."""
    return f"{group}-{SUBTOPOLOGY}-changelog"


def following(flights: int) -> int:
    """How many flights more are read, for the traffic that goes on: enough for a minute, if there is time."""
    return max(flights // 3, 2_000)
