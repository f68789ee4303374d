"""``range``: contiguous ranges, topic by topic."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.model import NO_MEMBER, Group


def plan_range(group: Group) -> Assignment:
    """Cut each topic into contiguous ranges, one for each subscriber, by seniority.

    If the count does not divide evenly, the first ranges have one partition more.

    Topics with equal counts and equal subscribers are cut alike, so a member gets partition ``i`` of all of
    them and can join them.  Agrees with the Java client's ``RangeAssignor`` (without racks) partition by
    partition.  Linear in the partitions, and in topics x members; ignores history.
    """
    owners = np.full(group.size, NO_MEMBER, np.int32)
    for topic, first in enumerate(group.firsts[:-1].tolist()):
        members = np.flatnonzero(group.subscribed[topic])
        if len(members):
            count = int(group.counts[topic])
            size, longer = divmod(count, len(members))
            sizes = np.where(np.arange(len(members)) < longer, size + 1, size)
            owners[first : first + count] = np.repeat(members, sizes)
    return Assignment(group, owners)
