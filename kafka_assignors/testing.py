"""Checks a strategy of your own in your tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from kafka_assignors.assignor.base import Assignor
from kafka_assignors.errors import PlanError
from kafka_assignors.plan import Assignment, Group, Member, resolve

__all__ = ["check_strategy"]

_GROUPS = 200


def check_strategy(
    strategy: type[Assignor],
    *,
    topics: Sequence[str] = ("orders", "payments", "refunds"),
    members: Sequence[str] = ("a", "b", "c", "d"),
) -> None:
    """Check a strategy on 200 random groups, the same in each run.

    - Each plan is valid: each partition of a subscribed topic has one owner, which subscribes to the topic.
    - A plan depends on the group alone: another instance makes the same plan.  (A plan that depends on the
      order of a set differs only between processes: run your tests with two values of ``PYTHONHASHSEED``.)
    - A plan settles: if each member owns the partitions that the plan gave it, the next plan is the same.

    Args:
        strategy: the class.
        topics: names of the topics; give yours if the strategy depends on names.
        members: member ids; give yours if the strategy depends on them.

    Raises:
        AssertionError: a plan fails a check, or ``plan`` raises.  The message is one sentence and the group.
    """
    for group in _random_groups(topics, members):
        plan = _plan(strategy, group)
        if _plan(strategy, group) != plan:
            raise AssertionError(f"{strategy.name}: the plan depends on more than the group, {group}")
        owned = tuple(replace(m, owned=plan[m.member_id], generation=2) for m in group.members)
        if (again := _plan(strategy, replace(group, members=owned))) != plan:
            raise AssertionError(f"{strategy.name}: plan {plan} is not kept, the next is {again}, {group}")


def _plan(strategy: type[Assignor], group: Group) -> Assignment:
    try:
        return strategy().checked_plan(group, resolve(group))
    except PlanError as error:
        raise AssertionError(f"{error}, {group}") from None
    except Exception as error:
        raise AssertionError(f"{strategy.__name__}: {error!r}, {group}") from error


def _random_groups(topics: Sequence[str], members: Sequence[str]) -> Iterator[Group]:
    random = Random(0)  # noqa: S311  # test data
    for number in range(_GROUPS):
        chosen = random.sample(topics, random.randint(1, len(topics)))
        counts = {topic: random.randint(0, 6) for topic in chosen}
        topics_of = {
            member_id: frozenset(
                chosen if number % 2 else random.sample(chosen, random.randint(0, len(chosen)))
            )
            for member_id in random.sample(members, random.randint(1, len(members)))
        }
        owned: dict[str, dict[str, list[int]]] = {member_id: {} for member_id in topics_of}
        for topic, count in counts.items():
            subscribers = [member_id for member_id in topics_of if topic in topics_of[member_id]]
            for partition in range(count if subscribers else 0):
                if random.random() < 0.7:
                    owned[random.choice(subscribers)].setdefault(topic, []).append(partition)
        lags = {topic: [random.randint(0, 1000) for _ in range(count)] for topic, count in counts.items()}
        yield Group(
            tuple(
                # Every fourth group has static members, with their member ids as instance ids.
                Member(id, topics_of[id], owned[id], 1, instance_id=None if number % 4 else id)
                for id in topics_of
            ),
            counts,
            lags=lags if number % 3 else {},
        )
