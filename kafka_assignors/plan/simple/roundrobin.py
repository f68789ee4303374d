"""``roundrobin``: all partitions in a row, dealt in turn."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.model import NOBODY, Group

__all__ = ["plan_roundrobin"]


def plan_roundrobin(group: Group) -> Assignment:
    """Deal the partitions, by topic and number, to the members by seniority, each in its turn.

    A member that does not subscribe to the topic is passed over and its turn is spent.  Agrees with the Java
    client's ``RoundRobinAssignor`` partition by partition.  Linear in the partitions, and in topics x
    members; ignores history.
    """
    owners = np.full(group.size, NOBODY, np.int32)
    turn = 0
    for topic, first in enumerate(group.firsts[:-1].tolist()):
        members = np.flatnonzero(group.subscribed[topic])
        count = int(group.counts[topic])
        if len(members) and count:
            at = int(np.searchsorted(members, turn)) + np.arange(count)
            owners[first : first + count] = members[at % len(members)]
            turn = int(owners[first + count - 1]) + 1
    return Assignment(group, owners)
