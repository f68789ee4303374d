"""``fair``."""

from __future__ import annotations

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.plan import Assignment, Claims, Group, plan_fair


class FairAssignor(Assignor):
    """The fairest plan, made from scratch each time (KIP-54 without stickiness).  See ``plan_fair``."""

    name = "fair"
    in_order = True

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_fair(group)
