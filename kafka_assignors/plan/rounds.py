"""Cooperation (KIP-429) is a stage after planning: what of a target may be given out in this round."""

from __future__ import annotations

from kafka_assignors.plan.claims import CONTESTED, NOBODY, Claims
from kafka_assignors.plan.model import Assignment, Group, TopicPartition

__all__ = ["this_round"]


def this_round(group: Group, claims: Claims, target: Assignment) -> tuple[Assignment, list[TopicPartition]]:
    """Hold back every partition that some other live member still has in its hands.

    That member sees the partition missing from its own assignment, revokes it and joins again; in the next
    round nobody holds it and it goes to its new owner.  When nothing else changes two rounds are enough: what
    everybody kept in the first is again the plan that moves least in the second.

    A contested partition (two members of one generation claim it) may stay with one of them, who has it
    already, and goes to nobody else.

    Returns:
        The assignment of this round, and what was held back (it will need another round).
    """
    given = group.empty_assignment()
    held: list[TopicPartition] = []
    for index, member in enumerate(group.members):
        for topic, partitions in target[member.member_id].items():
            holder = claims.holder[topic]
            allowed = []
            for partition in partitions:
                by = int(holder[partition])
                if by in (NOBODY, index) or (by == CONTESTED and index in claims.holders[topic, partition]):
                    allowed.append(partition)
                else:
                    held.append(TopicPartition(topic, partition))
            if allowed:
                given[member.member_id][topic] = allowed
    return given, sorted(held)
