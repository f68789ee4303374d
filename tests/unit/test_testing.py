"""``check_strategy`` finds the faults it names."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from kafka_assignors import Assignor, Claims, Group, Planned
from kafka_assignors.plan import plan_sticky
from kafka_assignors.strategies import STRATEGIES
from kafka_assignors.testing import check_strategy
from tests.support.group.own_strategies import ToAStranger, ToTheFirst


@pytest.mark.parametrize("kind", [*STRATEGIES.values(), ToTheFirst], ids=lambda kind: kind.name)
def test_good_strategy_passes(kind: type[Assignor]) -> None:
    check_strategy(kind)
    check_strategy(kind, topics=["x"], members=["m"])


def test_invalid_plan_fails_and_shows_the_group() -> None:
    with pytest.raises(AssertionError, match=r"^to-a-stranger: invalid plan: stranger is no member.*Group\("):
        check_strategy(ToAStranger)


def test_planner_that_raises_shows_the_group() -> None:
    class Raises(ToTheFirst):
        name = "raises"

        def plan(self, group: Group, claims: Claims) -> Planned:
            raise KeyError("x")

    with pytest.raises(AssertionError, match=r"^Raises: KeyError\('x'\), Group\("):
        check_strategy(Raises)


def test_changing_plan_fails() -> None:
    turns = itertools.count()

    class TurnByTurn(ToTheFirst):
        name = "turn-by-turn"

        def plan(self, group: Group, claims: Claims) -> Planned:
            members = [*group.members[next(turns) % len(group.members) :], *group.members]
            first = {t: next((m for m in members if t in m.topics), None) for t in group.topics}
            plan: dict[str, list[tuple[str, int]]] = {m.member_id: [] for m in members}
            for topic, member in first.items():
                if member is not None:
                    plan[member.member_id] += [(topic, number) for number in range(group.topics[topic])]
            return plan

    with pytest.raises(AssertionError, match="turn-by-turn: the plan depends on more than the group"):
        check_strategy(TurnByTurn)


def test_plan_that_never_settles_fails() -> None:
    class AnyoneElse(ToTheFirst):
        name = "anyone-else"

        def plan(self, group: Group, claims: Claims) -> Planned:
            bare = tuple(m for m in group.members if not m.owned) or group.members
            if any(not m.topics >= group.topics.keys() for m in bare):
                return plan_sticky(group, claims)
            return super().plan(replace(group, members=bare), claims)

    with pytest.raises(AssertionError, match=r"anyone-else: plan .* is not kept"):
        check_strategy(AnyoneElse)
