"""Cooperation (KIP-429) is a stage after planning: what of a target may be given out in this round."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import CONTESTED, Claims
from kafka_assignors.plan.model import NOBODY, Group

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
    held = (claims.holder != NOBODY) & (claims.holder != target.owners) & (target.owners != NOBODY)
    given = np.where(held, np.int32(NOBODY), target.owners)
    holds: list[Hold] = []
    for partition in np.flatnonzero(held).tolist():
        by, goes_to = int(claims.holder[partition]), int(target.owners[partition])
        hands = claims.holders[partition] if by == CONTESTED else {by}
        if goes_to in hands:
            given[partition] = goes_to
            continue
        topic, number = group.at(partition)
        keepers = [i for i in sorted(hands) if topic in group.members[i].topics]
        keeper = min(keepers, default=min(hands))
        hold = Hold(topic, number, group.members[keeper].member_id)
        holds.append(hold)
        if keepers and (by == CONTESTED or hold in overdue):
            given[partition] = keeper
        elif hold in overdue:  # it could not even keep it: who does not subscribe has let go
            given[partition] = goes_to
    return Assignment(group, given), sorted(holds)
