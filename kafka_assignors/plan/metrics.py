"""Measures a plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafka_assignors.plan.arrays import count_pairs
from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.model import NO_MEMBER, Group


@dataclass(frozen=True, slots=True)
class Metrics:
    """Measures of one plan.

    Attributes:
        members: members of the group.
        partitions: partitions that have an owner.
        kept: partitions that stay with the member that owned them.
        moved: partitions taken from a member that could have kept them.
        spread: the largest difference, over all topics, between two subscribers' shares of one topic
            (partitions); 0 or 1 is as even as possible.
        balance_score: KIP-54's score: the sum over all pairs of members of the difference of their counts.
        near: partitions whose owner is in a rack that has a replica (KIP-881); None if ``Group.near`` is.
        max_load: the largest load of a member (records): the lag of its partitions, weighted by capacity (see
            ``Capacities``).  Unknown lag counts as estimated by ``Group.lag``; None when no lag is known.
    """

    members: int
    partitions: int
    kept: int
    moved: int
    spread: int
    balance_score: int
    near: int | None = None
    max_load: int | None = None


def measure(group: Group, claims: Claims, assignment: Assignment) -> Metrics:
    """Measure an assignment against the ownership before it.  Cost: partitions + topics x members."""
    owners, members = assignment.owners, len(group.members)
    is_owned = claims.owner != NO_MEMBER
    kept = int((is_owned & (claims.owner == owners)).sum())
    loads = np.sort(assignment.counts).tolist()
    assigned = owners != NO_MEMBER
    shares = count_pairs(group.topic_of[assigned], owners[assigned], (len(group.names), members))
    near = group.near(owners)
    least = np.where(group.subscribed, shares, group.size).min(axis=1, initial=group.size)
    max_load = None
    if group.knows_lag:
        lag = np.zeros(members, np.int64)
        np.add.at(lag, owners[assigned], group.lag[assigned])
        max_load = int(group.capacities.loads(lag).max(initial=0))
    return Metrics(
        members=members,
        partitions=int(assigned.sum()),
        kept=kept,
        moved=int(is_owned.sum()) - kept,
        spread=int((shares.max(axis=1, initial=0) - least).max(initial=0)),
        balance_score=balance_score(loads),
        near=None if near is None else int(near.sum()),
        max_load=max_load,
    )


def balance_score(ascending: list[int]) -> int:
    """Return the sum of the differences of all pairs of counts, which are in ascending order."""
    last = len(ascending) - 1
    return sum(load * (2 * i - last) for i, load in enumerate(ascending))
