"""``roundrobin``: partitions dealt to the members in turn."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.model import NO_MEMBER, Group


def plan_roundrobin(group: Group) -> Assignment:
    """Deal the partitions, by topic and number, to the members in turn, by seniority.

    A member that does not subscribe to the topic loses its turn.  Agrees with the Java client's
    ``RoundRobinAssignor`` partition by partition.  Linear in the partitions, and in topics x members; ignores
    history.
    """
    owners = np.full(group.size, NO_MEMBER, np.int32)
    turn = 0
    for topic, first in enumerate(group.firsts[:-1].tolist()):
        members = np.flatnonzero(group.subscribed[topic])
        count = int(group.counts[topic])
        if len(members) and count:
            turns = int(np.searchsorted(members, turn)) + np.arange(count)
            owners[first : first + count] = members[turns % len(members)]
            turn = int(owners[first + count - 1]) + 1
    return Assignment(group, owners)
