"""Cooperative rebalancing (KIP-429) as a stage after planning: select the part of a target for this round."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import CONTESTED, Claims
from kafka_assignors.plan.model import NO_MEMBER, Group


class Hold(NamedTuple):
    """A partition that its new owner cannot get yet, because ``member_id`` has not revoked it."""

    topic: str
    partition: int
    member_id: str


def this_round(
    group: Group, claims: Claims, target: Assignment, overdue: Collection[Hold] = ()
) -> tuple[Assignment, list[Hold]]:
    """Hold back every partition that another live member has not revoked.

    That member sees the partition missing from its assignment, revokes it and rejoins.  In the next round no
    member holds the partition, and its new owner gets it.  Two rounds are enough if nothing else changes,
    because the planner then makes the same plan again.

    Two cases need more rounds, and also end with one owner:

    - A contested partition (two members claim it in one generation) stays with one of them: the target's
      choice, else the most senior subscriber.  The others revoke it.
    - A member may claim a partition that it never had.  It has nothing to revoke and claims the partition
      again in each round, until the caller lists the hold in ``overdue``.  If the member subscribes to the
      topic, it then gets the partition, because it may have the partition after all.  That makes its next
      claim true.  If it does not subscribe, the new owner gets the partition.

    Returns:
        The assignment of this round, and the partitions that need another round to reach their target.
    """
    is_held = (claims.holder != NO_MEMBER) & (claims.holder != target.owners) & (target.owners != NO_MEMBER)
    assigned = np.where(is_held, np.int32(NO_MEMBER), target.owners)
    holds: list[Hold] = []
    for partition in np.flatnonzero(is_held).tolist():
        holder, new_owner = int(claims.holder[partition]), int(target.owners[partition])
        holders = claims.holders[partition] if holder == CONTESTED else {holder}
        if new_owner in holders:
            assigned[partition] = new_owner
            continue
        topic, number = group.at(partition)
        keepers = [i for i in holders if topic in group.members[i].topics]
        keeper = min(keepers, default=min(holders))
        hold = Hold(topic, number, group.members[keeper].member_id)
        holds.append(hold)
        if keepers and (holder == CONTESTED or hold in overdue):
            assigned[partition] = keeper
        elif hold in overdue:  # no holder subscribes to the topic, so none of them reads the partition
            assigned[partition] = new_owner
    return Assignment(group, assigned), sorted(holds)
