"""KIP-169: topic by topic, counts first, then lag."""

from __future__ import annotations

import numpy as np

from kafka_assignors.plan.arrays import Vector
from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.capacity import Capacities
from kafka_assignors.plan.model import NO_MEMBER, Group

_NEVER = 2**63 - 1  # larger than any load


def plan_lag_aware(group: Group) -> Assignment:
    """KIP-169's greedy plan: assigns each topic on its own, the partition with most lag first.

    A partition goes to the subscriber with the fewest partitions of the topic.  Among those, the one with the
    least lag of the topic gets it; with unequal capacities, the one that would drain its lag first.  Ties go
    to the senior member, and to the lower partition number.  The subscribers' counts of one topic differ by
    at most one; over several topics, the counts of members can differ by more.

    Unknown lag counts as estimated by ``Group.lag``.  Cost: a sort of each topic's partitions, and of its
    subscribers for each pass over them (10,000 partitions on 100 members: some milliseconds).  With unequal
    capacities: partitions x members.
    """
    owners = np.full(group.size, NO_MEMBER, np.int32)
    for topic, first in enumerate(group.firsts[:-1].tolist()):
        members = np.flatnonzero(group.subscribed[topic])
        lag = group.lag[first : first + int(group.counts[topic])]
        if len(members) and len(lag):
            by_lag = np.argsort(-lag, kind="stable")
            owners[first + by_lag] = members[_turns(lag[by_lag], group.capacities, members)]
    return Assignment(group, owners)


def _turns(lags: Vector, capacities: Capacities, members: Vector) -> Vector:
    """Return the member of each partition, as an index into ``members``.  ``lags`` is in decreasing order.

    Each pass gives every member one partition, because counts come first.  With equal capacities, the member
    with the least lag goes first.
    """
    records = np.zeros(len(members), np.int64)
    turns = np.empty(len(lags), np.int64)
    for start in range(0, len(lags), len(members)):
        dealt = lags[start : start + len(members)]
        if capacities.are_equal:
            turn = np.argsort(records, kind="stable")[: len(dealt)]
        else:
            turn = _one_pass(dealt, capacities, members, records)
        records[turn] += dealt
        turns[start : start + len(dealt)] = turn
    return turns


def _one_pass(lags: Vector, capacities: Capacities, members: Vector, records: Vector) -> Vector:
    """Give each partition, heaviest first, to one of the members that got none in this pass.

    It goes to the one that would drain first with it.
    """
    turn = np.empty(len(lags), np.int64)
    is_served = np.zeros(len(members), np.bool_)
    for i, lag in enumerate(lags.tolist()):
        loads = capacities.of(members, records + lag)
        turn[i] = np.where(is_served, _NEVER, loads).argmin()
        is_served[turn[i]] = True
    return turn
