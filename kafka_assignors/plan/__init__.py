"""The planning core.  Pure: it maps values to a plan, without Kafka, clock, log or randomness.

- ``model``: the input of a planner.  ``assignment``: the plan.  ``arrays``: types of the planners' arrays.
- ``rebalance``: the steps of a leader in a rebalance.  ``claims``: the owner of each partition, by the claims
  of members.  ``unlisted``: claims on partitions that the metadata does not list.  ``rounds``: the part of a
  plan for this cooperative round.
- ``simple/``, ``sticky/``, ``load/``, ``stateful/``: the planners.
- ``capacity``: how fast members read.  ``bounds``, ``drain_bound``: lower bounds of the largest load.
- ``metrics``: measures a plan.  ``explain``: the reason for each owner.  ``cause``: why a group rebalanced.
- ``check``: checks the plan of a user's own strategy.
"""

from __future__ import annotations

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.bounds import lag_lower_bound, load_lower_bound, quick_lag_bound
from kafka_assignors.plan.check import Planned, as_assignment
from kafka_assignors.plan.claims import Claims, resolve
from kafka_assignors.plan.explain import Reason, Why
from kafka_assignors.plan.load.cooperative_lag_aware import plan_cooperative_lag_aware
from kafka_assignors.plan.load.expected import enough_expected, with_expected
from kafka_assignors.plan.load.lag_aware import plan_lag_aware
from kafka_assignors.plan.metrics import Metrics, measure
from kafka_assignors.plan.model import (
    NO_GENERATION,
    NO_MEMBER,
    UNKNOWN_LAG,
    Group,
    Member,
    Ownership,
    TopicPartition,
    listed,
    shown,
)
from kafka_assignors.plan.rebalance import Rebalance, rebalance
from kafka_assignors.plan.rounds import Hold, this_round
from kafka_assignors.plan.simple.failover import plan_failover, plan_seniors
from kafka_assignors.plan.simple.range import plan_range
from kafka_assignors.plan.simple.roundrobin import plan_roundrobin
from kafka_assignors.plan.sticky.planner import plan_fair, plan_fairest_sticky, plan_sticky
from kafka_assignors.plan.unlisted import keep_owned, unlisted_owners

__all__ = [
    "NO_GENERATION",
    "NO_MEMBER",
    "UNKNOWN_LAG",
    "Assignment",
    "Claims",
    "Group",
    "Hold",
    "Member",
    "Metrics",
    "Ownership",
    "Planned",
    "Reason",
    "Rebalance",
    "TopicPartition",
    "Why",
    "as_assignment",
    "enough_expected",
    "keep_owned",
    "lag_lower_bound",
    "listed",
    "load_lower_bound",
    "measure",
    "plan_cooperative_lag_aware",
    "plan_failover",
    "plan_fair",
    "plan_fairest_sticky",
    "plan_lag_aware",
    "plan_range",
    "plan_roundrobin",
    "plan_seniors",
    "plan_sticky",
    "quick_lag_bound",
    "rebalance",
    "resolve",
    "shown",
    "this_round",
    "unlisted_owners",
    "with_expected",
]
