"""``roundrobin``: all partitions in a row, dealt in turn."""

from __future__ import annotations

from itertools import cycle

from kafka_assignors.plan.model import Assignment, Group

__all__ = ["plan_roundrobin"]


def plan_roundrobin(group: Group) -> Assignment:
    """Deal the partitions, by topic and number, to the members by seniority, each in its turn.

    A member that does not subscribe to the topic is passed over and its turn is spent.  Agrees with the Java
    client's ``RoundRobinAssignor`` partition by partition.  Linear in the partitions for equal
    subscriptions, at most partitions x members otherwise; ignores history.
    """
    assignment = group.empty_assignment()
    turn = cycle(group.members)
    for topic in group.subscribers():
        for partition in range(group.topics[topic]):
            member = next(m for m in turn if topic in m.topics)
            assignment[member.member_id].setdefault(topic, []).append(partition)
    return assignment
