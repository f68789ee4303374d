"""KIP-169: topic by topic, counts first, then lag."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.model import NOBODY, Group

__all__ = ["plan_lag_aware"]


def plan_lag_aware(group: Group) -> Assignment:
    """KIP-169's greedy: each topic by itself, its partitions by decreasing lag, each to who has fewest of it.

    Of several subscribers that have as few partitions of the topic it is the one with the least lag of the
    topic, then the senior one; partitions that lag as much go by number.  So a topic's partitions are spread
    as evenly as can be.  What a member gets of other topics does not count, neither as lag nor as a number:
    over several topics one member can have more than one partition more than another.

    Lag that nobody knows counts as ``Group.lag`` guesses it.  Cost: a sort of each topic's partitions, and of
    its subscribers for each partition they get (10,000 partitions on 100 members: some milliseconds).
    """
    owners = np.full(group.size, NOBODY, np.int32)
    for topic, first in enumerate(group.firsts[:-1].tolist()):
        members = np.flatnonzero(group.subscribed[topic])
        lag = group.lag[first : first + int(group.counts[topic])]
        if len(members) and len(lag):
            by_lag = np.argsort(-lag, kind="stable")
            owners[first + by_lag] = members[_turns(lag[by_lag].tolist(), len(members))]
    return Assignment(group, owners)


def _turns(lags: list[int], members: int) -> npt.NDArray[np.int64]:
    """Who gets each partition, in order of decreasing lag.

    With counts first everybody gets one before anybody gets the next: rounds, in each of which it is the turn
    of who has the least lag so far.
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
