"""Measures the quality of any planner's plan; shares no code with the package."""

from __future__ import annotations

from dataclasses import dataclass

from bench.problems import Moment, Plan


@dataclass(frozen=True, slots=True)
class Quality:
    """Figures of one plan.

    Attributes:
        valid: every owner subscribes to its partitions, and no partition has two owners.
        unassigned: partitions of subscribed topics without an owner; cooperative plans hold back moves.
        squares: the sum of the squared loads; less is fairer.
        moved: partitions that a remaining member owned before the event and does not own in the plan.
    """

    valid: bool
    unassigned: int
    squares: int
    moved: int


def judge(moment: Moment, plan: Plan) -> Quality:
    """Return the figures of a plan for a group."""
    valid = set(plan) == set(moment.subscriptions)
    given: dict[str, list[int]] = {topic: [] for topic in moment.counts}
    subscribers: dict[str, list[str]] = {topic: [] for topic in moment.counts}
    for member, topics in moment.subscriptions.items():
        mine = plan.get(member, {})
        valid = valid and set(mine) <= set(topics)
        for topic in topics:
            subscribers[topic].append(member)
            given[topic] += mine.get(topic, ())
    for topic, numbers in given.items():
        distinct = set(numbers)
        valid = valid and len(distinct) == len(numbers) and distinct <= set(range(moment.counts[topic]))
    read = sum(count for topic, count in moment.counts.items() if subscribers[topic])
    loads = [sum(map(len, topics.values())) for topics in plan.values()]
    return Quality(
        valid=valid,
        unassigned=read - sum(loads),
        squares=sum(load * load for load in loads),
        moved=sum(
            len(set(numbers).difference(plan.get(member, {}).get(topic, ())))
            for member, topics in moment.owned.items()
            for topic, numbers in topics.items()
        ),
    )
