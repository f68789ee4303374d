"""KIP-169: topic by topic, counts first, then lag."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.model import NO_MEMBER, Group


def plan_lag_aware(group: Group) -> Assignment:
    """KIP-169's greedy plan: topic by topic, the heaviest partition goes to the subscriber with the fewest.

    A tie goes to the subscriber with the least lag of the topic, then to the senior one.  Partitions of equal
    lag go by number.  The partitions of each topic are spread as evenly as possible.  Other topics do not
    count, so over several topics the counts of members can differ by more than one.

    Unknown lag counts as estimated by ``Group.lag``.  Cost: a sort of each topic's partitions, and of its
    subscribers for each round (10,000 partitions on 100 members: some milliseconds).
    """
    owners = np.full(group.size, NO_MEMBER, np.int32)
    for topic, first in enumerate(group.firsts[:-1].tolist()):
        members = np.flatnonzero(group.subscribed[topic])
        lag = group.lag[first : first + int(group.counts[topic])]
        if len(members) and len(lag):
            by_lag = np.argsort(-lag, kind="stable")
            owners[first + by_lag] = members[_turns(lag[by_lag].tolist(), len(members))]
    return Assignment(group, owners)


def _turns(lags: list[int], members: int) -> npt.NDArray[np.int64]:
    """The member for each partition, in order of decreasing lag.

    Counts come first, so members take turns in rounds.  In a round the member with the least lag goes first.
    """
    loads = [0] * members
    turns: list[int] = []
    for start in range(0, len(lags), members):
        dealt = lags[start : start + members]
        turn = sorted(range(members), key=loads.__getitem__)[: len(dealt)]
        for member, lag in zip(turn, dealt, strict=True):
            loads[member] += lag
        turns += turn
    return np.array(turns, np.int64)
