"""Seeded random groups, random plans of a group, and all plans of a small group."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np

from kafka_assignors.plan import Assignment, Group, Member
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.plan.load.working_plan import LoadProblem
from kafka_assignors.plan.model import NO_MEMBER
from tests.support.plan import load_oracle, oracle


def group_of(
    rng: Random,
    *,
    members: int = 4,
    topics: int = 3,
    partitions: int = 4,
    density: float = 1,
    lag: int = 30,
    capacities: tuple[float, ...] = (1.0,),
) -> Group:
    """A random group up to these sizes, with lag up to ``lag``.  The members own nothing.

    The capacities are those of the first members, then of the next ones again.
    """
    counts = {f"t{i}": rng.randint(1, partitions) for i in range(rng.randint(1, topics))}
    return Group(
        tuple(
            Member(
                f"m{i}",
                frozenset(t for t in counts if rng.random() < density),
                capacity=capacities[i % len(capacities)],
            )
            for i in range(rng.randint(2, members))
        ),
        counts,
        lags={t: [rng.randint(0, lag) for _ in range(n)] for t, n in counts.items()},
    )


UNEQUAL = (1.0, 0.3, 4.0)


def weighted(group: Group, member: int, records: int) -> int:
    """The load of a member: its records times the largest capacity over its own, rounded up."""
    capacity = [round(1024 * m.capacity) for m in group.members]
    return math.ceil(Fraction(records * max(capacity), capacity[member]))


def any_owners(rng: Random, group: Group) -> Owners:
    """Give each partition to a random subscriber."""
    choices = [np.flatnonzero(group.subscribed[t]).tolist() for t in group.topic_of.tolist()]
    return np.array([rng.choice(members) if members else NO_MEMBER for members in choices], np.int32)


def every_owners(group: Group) -> Iterator[Owners]:
    """All plans of a group.  Exponential in the partitions."""
    choices = [np.flatnonzero(group.subscribed[t]).tolist() or [NO_MEMBER] for t in group.topic_of.tolist()]
    for owners in product(*choices):
        yield np.array(owners, np.int32)


def history(rng: Random, group: Group, owners: Owners, *, kept: float) -> Owners:
    """Previous owners: mostly the current ones, else none or a random subscriber."""
    others = any_owners(rng, group).tolist()
    return np.array(
        [
            now if rng.random() < kept else rng.choice((NO_MEMBER, other))
            for now, other in zip(owners.tolist(), others, strict=True)
        ],
        np.int32,
    )


def load_of(problem: LoadProblem, owners: Owners) -> int:
    return int(problem.loads(owners).max(initial=0))


def moves_of(problem: LoadProblem, owners: Owners, home: Owners) -> int:
    before, after = home[problem.assignable].tolist(), owners[problem.assignable].tolist()
    return sum(was not in (NO_MEMBER, now) for was, now in zip(before, after, strict=True))


def within_skew(group: Group, owners: Owners, skew: int | None) -> bool:
    return load_oracle.within_skew(group, oracle.by_partition(Assignment(group, owners)), skew)


def is_valid(group: Group, owners: Owners) -> bool:
    """Whether every subscribed partition has a subscriber as owner, and no other partition has an owner."""
    read: list[bool] = np.any(group.subscribed, axis=1).tolist()
    return all(
        group.subscribed[topic, owner] if read[topic] else owner == NO_MEMBER
        for topic, owner in zip(group.topic_of.tolist(), owners.tolist(), strict=True)
    )
