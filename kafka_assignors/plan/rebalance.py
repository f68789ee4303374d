"""The steps of a leader in a rebalance: resolve claims, plan, hold back, measure.

The assignors, ``kafka-assignors plan`` and the simulation all use this one recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import CONTESTED, Claims, resolve
from kafka_assignors.plan.explain import Why, explain
from kafka_assignors.plan.metrics import Metrics, measure
from kafka_assignors.plan.model import NO_MEMBER, Group
from kafka_assignors.plan.rounds import Hold, this_round

Planner = Callable[[Group, Claims], Assignment]
HoldBack = Callable[[Group, Claims, Assignment], tuple[Assignment, Sequence[Hold]]]


class Rebalance(NamedTuple):
    """One round of a rebalance.

    Attributes:
        group: members and topics.
        claims: the members' resolved claims.
        target: the planned owner of each partition.
        assigned: the partitions assigned in this round.
        holds: partitions that another member must revoke first.
    """

    group: Group
    claims: Claims
    target: Assignment
    assigned: Assignment
    holds: tuple[Hold, ...]

    @property
    def metrics(self) -> Metrics:
        """Measure the target.  Costs as much as ``measure``."""
        return measure(self.group, self.claims, self.target)

    @property
    def has_second_round(self) -> bool:
        """Whether another round follows, because a member has to revoke a partition that it claims.

        A member has to revoke a partition that this round holds back or gives to another member, and one
        that has no subscriber or does not exist.  If a member lists a partition twice, the second entry
        counts as one to revoke.  Linear in the partitions and the members' topics.
        """
        holder, owners, unlisted = self.claims.holder, self.assigned.owners, self.assigned.unlisted
        cooperative = [member for member in self.group.members if member.still_owns]
        claimed = sum(sum(map(len, member.owned.values())) for member in cooperative)
        kept = int(np.count_nonzero((holder >= 0) & (holder == owners)))
        kept += sum(int(owners[partition]) in members for partition, members in self.claims.holders.items())
        for member in cooperative:
            kept += sum(map(len, unlisted.get(member.member_id, {}).values()))
        return bool(self.holds) or kept < claimed

    def explain(self, **how: Any) -> list[Why]:
        """Return a reason for each partition's owner.  Options as in ``plan.explain.explain``."""
        return explain(self.group, self.claims, self.target, self.assigned, self.holds, **how)


def rebalance(
    group: Group, plan: Planner, *, claims: Claims | None = None, hold_back: HoldBack = this_round
) -> Rebalance:
    """Plan one round.

    Members of an eager group hold no partition, so the round assigns the whole target.
    """
    claims = resolve(group) if claims is None else claims
    target = plan(group, claims)
    assigned, holds = hold_back(group, claims, target)
    stays = (claims.holder == CONTESTED) & (assigned.owners != NO_MEMBER)
    if (stays & (assigned.owners != target.owners)).any():
        # A contested partition stays with a claimant that the plan did not choose.  That member then has one
        # partition more than planned, so the next round might take another one away.  Plan again with that
        # claimant as owner.
        next_claims = replace(claims, owner=np.where(stays, assigned.owners, claims.owner))
        target = plan(group, next_claims)
        assigned, holds = hold_back(group, claims, target)
    return Rebalance(group, claims, target, assigned, tuple(holds))
