"""What a strategy makes of a group: the steps of a rebalance's leader, and a reason for each partition."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from kafka.coordinator.assignors.abstract import RebalanceProtocol

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.cli.plan.problem import VERSION
from kafka_assignors.plan import (
    NOBODY,
    Assignment,
    Group,
    Member,
    Metrics,
    Reason,
    Why,
    lag_lower_bound,
    load_lower_bound,
    measure,
    rebalance,
)

__all__ = ["Outcome", "in_records", "lower_bound", "solve"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One strategy's plan for a group.

    Attributes:
        strategy: its name.
        group: what was planned for.
        assignment: where every partition shall be.
        first_round: what may be given at once; None for an eager strategy, which gives everything.
        metrics: of ``assignment``.
        load_lower_bound: what no plan's ``max_load`` can be less than, in the same unit.
        why: a reason for each partition.
    """

    strategy: str
    group: Group
    assignment: Assignment
    first_round: Assignment | None
    metrics: Metrics
    load_lower_bound: int
    why: list[Why]

    @property
    def max_load(self) -> int:
        """The largest load of a member: lag (records) where there is any, else a number of partitions."""
        if in_records(self.group) and self.metrics.max_load is not None:
            return self.metrics.max_load
        return int(self.assignment.loads.max(initial=0))

    @property
    def load_unit(self) -> str:
        """What ``max_load`` and ``load_lower_bound`` count."""
        return "records" if in_records(self.group) else "partitions"

    def lag_of_members(self) -> dict[str, int] | None:
        """Member -> lag of what it shall have, with a guess for what is not known; None for counts."""
        if not in_records(self.group):
            return None
        lag = np.zeros(len(self.group.members), np.int64)
        given = self.assignment.owners != NOBODY
        np.add.at(lag, self.assignment.owners[given], self.group.lag[given])
        return {member.member_id: int(mine) for member, mine in zip(self.group.members, lag, strict=True)}

    def as_json(self) -> dict[str, Any]:
        """The JSON of ``plan``, version 1."""
        first = {} if self.first_round is None else {"first_round": _pairs(self.first_round)}
        return {
            "version": VERSION,
            "strategy": self.strategy,
            "assignment": _pairs(self.assignment),
            **first,
            "metrics": {
                "balance_score": self.metrics.balance_score,
                "spread": self.metrics.spread,
                "kept": self.metrics.kept,
                "moved": self.metrics.moved,
                "max_load": self.max_load,
                "load_lower_bound": self.load_lower_bound,
                "load_unit": self.load_unit,
                **({} if self.metrics.near is None else {"near": self.metrics.near}),
            },
            "why": [
                {
                    "topic": why.topic,
                    "partition": why.partition,
                    "member": why.member_id,
                    "reason": str(why),
                }
                for why in self.why
            ],
        }


def lower_bound(group: Group) -> int:
    """What no valid plan's ``max_load`` can be less than."""
    return lag_lower_bound(group) if in_records(group) else load_lower_bound(group)


def in_records(group: Group) -> bool:
    """Whether loads are in records: there is lag, known and not all of it 0.  Else all go by counts."""
    return bool(group.lag.any())


def solve(
    assignor: Assignor,
    group: Group,
    departed: Collection[Member],
    load_lower_bound: int,
    seen: Group | None = None,
) -> Outcome:
    """Plan as the group's leader would, were there a rebalance now.

    Args:
        assignor: the strategy, with its options.
        group: who plans; under a strategy that can be cooperative the members hold what they own.
        departed: members that have just left, with what they owned.
        load_lower_bound: of the group, by ``lower_bound``.
        seen: the group before what is expected came into its loads; by that the strategies plan that take no
            forecasts.  None: nothing did.
    """
    cooperative = RebalanceProtocol.COOPERATIVE in assignor.protocols
    words = dict(assignor.reason_overrides())
    if seen is None or assignor.by_forecast:
        words |= {} if seen is None else {Reason.LOAD: Reason.EXPECTED_LOAD}
        seen = group
    if cooperative:
        members = tuple(replace(m, holds=bool(m.owned)) for m in group.members)
        group, seen = replace(group, members=members), replace(seen, members=members)
    result = rebalance(seen, assignor.plan)
    target = Assignment(group, result.target.owners)
    return Outcome(
        strategy=assignor.name,
        group=group,
        assignment=target,
        first_round=result.given if cooperative else None,
        metrics=measure(group, result.claims, target),
        load_lower_bound=load_lower_bound,
        why=result.explain(
            departed=departed, in_order=assignor.in_order, by_load=assignor.by_lag, words=words
        ),
    )


def _pairs(assignment: Mapping[str, Mapping[str, list[int]]]) -> dict[str, list[list[str | int]]]:
    return {
        member_id: [[topic, p] for topic, numbers in sorted(topics.items()) for p in numbers]
        for member_id, topics in assignment.items()
    }
