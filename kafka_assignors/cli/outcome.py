"""What a strategy makes of a group: the steps of a rebalance's leader, and a reason for each partition."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kafka.coordinator.assignors.abstract import RebalanceProtocol

from kafka_assignors.adapter import Assignor
from kafka_assignors.cli.problem import VERSION
from kafka_assignors.plan import (
    Assignment,
    Group,
    Member,
    Metrics,
    Why,
    explain,
    measure,
    resolve,
    this_round,
)

__all__ = ["Outcome", "solve"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One strategy's plan for a group.

    Attributes:
        strategy: its name.
        group: what was planned for.
        assignment: where every partition shall be.
        first_round: what may be given at once; None for an eager strategy, which gives everything.
        metrics: of ``assignment``.
        max_load: the most partitions a member has.
        load_lower_bound: what no plan's ``max_load`` can be less than.
        why: a reason for each partition.
    """

    strategy: str
    group: Group
    assignment: Assignment
    first_round: Assignment | None
    metrics: Metrics
    max_load: int
    load_lower_bound: int
    why: list[Why]

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


def solve(assignor: Assignor, group: Group, departed: Collection[Member], load_lower_bound: int) -> Outcome:
    """Plan as the group's leader would, were there a rebalance now.

    Args:
        assignor: the strategy, with its options.
        group: who plans; under a strategy that can be cooperative the members hold what they own.
        departed: members that have just left, with what they owned.
        load_lower_bound: of the group.
    """
    cooperative = RebalanceProtocol.COOPERATIVE in assignor.protocols
    if cooperative:
        group = replace(group, members=tuple(replace(m, holds=bool(m.owned)) for m in group.members))
    claims = resolve(group)
    target = assignor.plan(group, claims)
    given, holds = this_round(group, claims, target)
    return Outcome(
        strategy=assignor.name,
        group=group,
        assignment=target,
        first_round=given if cooperative else None,
        metrics=measure(group, claims, target),
        max_load=int(target.loads.max(initial=0)),
        load_lower_bound=load_lower_bound,
        why=explain(
            *(group, claims, target, given, holds),
            departed=departed,
            in_order=assignor.in_order,
            words=assignor.in_its_words(),
        ),
    )


def _pairs(assignment: Mapping[str, Mapping[str, list[int]]]) -> dict[str, list[list[str | int]]]:
    return {
        member_id: [[topic, p] for topic, numbers in sorted(topics.items()) for p in numbers]
        for member_id, topics in assignment.items()
    }
