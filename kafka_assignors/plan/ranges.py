"""``range``: contiguous ranges, topic by topic."""

from __future__ import annotations

from kafka_assignors.plan.model import Assignment, Group

__all__ = ["plan_range"]


def plan_range(group: Group) -> Assignment:
    """Cut each topic into contiguous ranges, one a subscriber, by seniority; the first ones get one more.

    Topics with equal counts and equal subscribers are cut alike, so partition ``i`` of each lands on the same
    member and can be joined there.  Agrees with the Java client's ``RangeAssignor`` (without racks) partition
    by partition.  Linear in the partitions; ignores history.
    """
    assignment = group.empty_assignment()
    for topic, members in group.subscribers().items():
        size, longer = divmod(group.topics[topic], len(members))
        start = 0
        for i, member in enumerate(members):
            end = start + size + (i < longer)
            if end > start:
                assignment[member.member_id][topic] = list(range(start, end))
            start = end
    return assignment
