"""A strategy's plan for a group, made as the leader makes it, with a reason for each partition."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from kafka.coordinator.assignors.abstract import RebalanceProtocol

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.cli.plan.problem import VERSION
from kafka_assignors.plan import (
    NO_MEMBER,
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


@dataclass(frozen=True, slots=True)
class StrategyPlan:
    """One strategy's plan for a group."""

    strategy: str
    group: Group
    assignment: Assignment  # the target, reached after the last round
    first_round: Assignment | None  # None for an eager strategy, which has one round
    metrics: Metrics  # of ``assignment``
    load_lower_bound: int  # of the ``max_load`` of any plan, in the same unit
    why: list[Why]  # a reason for each partition

    @property
    def max_load(self) -> int:
        """The largest load of a member: its lag and expected arrivals, weighted if capacities are unequal.

        If all lag and expected arrivals are 0, the load of a member is its number of partitions.
        """
        if in_records(self.group) and self.metrics.max_load is not None:
            return self.metrics.max_load
        return int(self.assignment.counts.max(initial=0))

    @property
    def load_unit(self) -> str:
        """Unit of ``max_load`` and ``load_lower_bound``."""
        if not in_records(self.group):
            return "partitions"
        return "records" if self.group.capacities.are_equal else "weighted records"

    def lag_of_members(self) -> dict[str, int] | None:
        """Map each member to its lag and expected arrivals in the target, records; None: all are 0.

        The unknown lag of a partition counts as its topic's mean, and as 0 if the topic has no known lag.
        """
        if not in_records(self.group):
            return None
        lag = np.zeros(len(self.group.members), np.int64)
        assigned = self.assignment.owners != NO_MEMBER
        np.add.at(lag, self.assignment.owners[assigned], self.group.lag[assigned])
        return {member.member_id: int(total) for member, total in zip(self.group.members, lag, strict=True)}

    def as_json(self) -> dict[str, Any]:
        """Return the JSON of ``plan``, version 1."""
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
    """Return a lower bound of the ``max_load`` of any valid plan."""
    return lag_lower_bound(group) if in_records(group) else load_lower_bound(group)


def in_records(group: Group) -> bool:
    """Return whether loads are in records (lag or expected arrivals are above 0), or in partitions."""
    return bool(group.lag.any())


def solve(
    assignor: Assignor,
    group: Group,
    departed: Collection[Member],
    load_lower_bound: int,
    without_forecasts: Group | None = None,
) -> StrategyPlan:
    """Plan as the group's leader would in a rebalance now.

    If the strategy can be cooperative, members still own their partitions in the first round, so a partition
    that moves gets its new owner in the second.  ``without_forecasts`` is the group before forecasts were
    added to its loads: strategies that ignore forecasts plan with it.  None: no forecasts were added.
    """
    is_cooperative = RebalanceProtocol.COOPERATIVE in assignor.protocols
    overrides, planned_group = dict(assignor.reason_overrides()), group
    if without_forecasts is not None:
        if assignor.by_forecast:
            overrides[Reason.LOAD] = Reason.EXPECTED_LOAD
        else:
            planned_group = without_forecasts
    if is_cooperative:
        members = tuple(replace(m, still_owns=bool(m.owned)) for m in group.members)
        group, planned_group = replace(group, members=members), replace(planned_group, members=members)
    result = rebalance(planned_group, assignor.checked_plan)
    target = Assignment(group, result.target.owners)
    return StrategyPlan(
        strategy=assignor.name,
        group=group,
        assignment=target,
        first_round=result.assigned if is_cooperative else None,
        metrics=measure(group, result.claims, target),
        load_lower_bound=load_lower_bound,
        why=result.explain(
            departed=departed, in_order=assignor.in_order, by_load=assignor.by_lag, overrides=overrides
        ),
    )


def _pairs(assignment: Mapping[str, Mapping[str, list[int]]]) -> dict[str, list[list[str | int]]]:
    return {
        member_id: [[topic, p] for topic, numbers in sorted(topics.items()) for p in numbers]
        for member_id, topics in assignment.items()
    }
