"""Cooperation (KIP-429) is a stage after planning: what of a target may be given out in this round."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from kafka_assignors.plan.claims import CONTESTED, NOBODY, Claims
from kafka_assignors.plan.model import Assignment, Group

__all__ = ["Hold", "this_round"]


class Hold(NamedTuple):
    """A partition that is not where it shall be yet, because that member still has it in its hands."""

    topic: str
    partition: int
    member_id: str


def this_round(
    group: Group, claims: Claims, target: Assignment, overdue: Collection[Hold] = ()
) -> tuple[Assignment, list[Hold]]:
    """Hold back every partition that some other live member still has in its hands.

    That member sees the partition missing from its own assignment, revokes it and joins again; in the next
    round nobody holds it and it goes to its new owner.  When nothing else changes two rounds are enough: what
    everybody kept in the first is again the plan that moves least in the second.

    Two cases need more, and end with one owner all the same:

    - A contested partition (two members of one generation claim it) stays with one of them, the target's
      choice or the most senior; the others let go.
    - A member that never had what it claims has nothing to revoke, and goes on claiming it.  Such a hold is
      *overdue*: the member is given the partition.  If it did have it nothing changes, else it has it now;
      either way its next claim is true.  Nobody is ever given what another one may still have.

    Args:
        group: who plans.
        claims: what they own and hold.
        target: where everything shall be.
        overdue: holds that should have ended in an earlier round.

    Returns:
        The assignment of this round, and what is not at its target yet: another round is needed for it.
    """
    given = group.empty_assignment()
    holds: list[Hold] = []
    for index, member in enumerate(group.members):
        for topic, partitions in target[member.member_id].items():
            holder = claims.holder[topic]
            for partition in partitions:
                by = int(holder[partition])
                hands = claims.holders[topic, partition] if by == CONTESTED else {by}
                if by == NOBODY or index in hands:
                    given[member.member_id].setdefault(topic, []).append(partition)
                    continue
                keepers = [i for i in sorted(hands) if topic in group.members[i].topics]
                hold = Hold(topic, partition, group.members[min(keepers, default=min(hands))].member_id)
                holds.append(hold)
                if keepers and (by == CONTESTED or hold in overdue):
                    given[hold.member_id].setdefault(topic, []).append(partition)
                elif hold in overdue:  # it could not even keep it: who does not subscribe has let go
                    given[member.member_id].setdefault(topic, []).append(partition)
    for topics in given.values():
        for numbers in topics.values():
            numbers.sort()
    return given, sorted(holds)
