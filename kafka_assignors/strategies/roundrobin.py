"""``roundrobin``."""

from __future__ import annotations

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.plan import Assignment, Claims, Group, plan_roundrobin


class RoundRobinAssignor(Assignor):
    """Assigns all partitions in turn.  See ``plan_roundrobin``."""

    name = "roundrobin"
    in_order = True
    by_rack = False

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_roundrobin(group)
