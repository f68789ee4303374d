"""A rebalance as its leader plans it: resolve claims, plan, hold back, measure.

The one recipe of the assignors, of ``kafka-assignors plan`` and of the simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import Claims, resolve
from kafka_assignors.plan.explain import Why, explain
from kafka_assignors.plan.metrics import Metrics, measure
from kafka_assignors.plan.model import Group
from kafka_assignors.plan.rounds import Hold, this_round

__all__ = ["HoldBack", "Planner", "Rebalance", "rebalance"]

Planner = Callable[[Group, Claims], Assignment]
HoldBack = Callable[[Group, Claims, Assignment], tuple[Assignment, Sequence[Hold]]]


class Rebalance(NamedTuple):
    """One round of a rebalance.

    Attributes:
        group: the members and topics planned for.
        claims: the owner of each partition before.
        target: the owner each partition shall have.
        given: the partitions assigned in this round.
        holds: partitions that another member must revoke first.
    """

    group: Group
    claims: Claims
    target: Assignment
    given: Assignment
    holds: tuple[Hold, ...]

    @property
    def metrics(self) -> Metrics:
        """Measure the target.  Linear in the partitions."""
        return measure(self.group, self.claims, self.target)

    def explain(self, **how: Any) -> list[Why]:
        """Give a reason for each partition.  Options as of ``plan.explain.explain``."""
        return explain(self.group, self.claims, self.target, self.given, self.holds, **how)


def rebalance(
    group: Group, plan: Planner, *, claims: Claims | None = None, hold_back: HoldBack = this_round
) -> Rebalance:
    """Plan one round.

    Args:
        group: members and topics.  In an eager group members hold nothing: the round gives the whole target.
        plan: the strategy's planner.
        claims: of the group, if they are resolved already.
        hold_back: what of the target is given in this round.
    """
    claims = resolve(group) if claims is None else claims
    target = plan(group, claims)
    given, holds = hold_back(group, claims, target)
    return Rebalance(group, claims, target, given, tuple(holds))
