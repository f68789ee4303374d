"""What no plan can go below."""

from __future__ import annotations

from kafka_assignors.plan.model import Group
from kafka_assignors.plan.sticky import plan_fair

__all__ = ["load_lower_bound"]


def load_lower_bound(group: Group) -> int:
    """The least that the largest load can be in any valid plan, a load being a number of partitions.

    Exact for any subscriptions: the loads whose squares add up to the least are also those whose largest is
    the least, so it is the largest load of the fair plan.  Cost: that of the plan.
    """
    return int(plan_fair(group).loads.max(initial=0))
