"""``range``."""

from __future__ import annotations

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.plan import Assignment, Claims, Group, plan_range


class RangeAssignor(Assignor):
    """Gives each member one contiguous range of every topic.  See ``plan_range``."""

    name = "range"
    in_order = True
    by_rack = False

    def plan(self, group: Group, claims: Claims) -> Assignment:
        return plan_range(group)
