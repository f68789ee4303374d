"""Strategies as users write them; each makes one kind of plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_assignors import Assignor, Claims, Group, Options, Planned


class ToTheFirst(Assignor):
    """Gives each topic to its first subscriber, as plain dictionaries."""

    name = "to-the-first"

    def plan(self, group: Group, claims: Claims) -> Planned:
        """Plan for the group."""
        plan: dict[str, list[tuple[str, int]]] = {}
        for topic, count in group.topics.items():
            for first in [m.member_id for m in group.members if topic in m.topics][:1]:
                plan.setdefault(first, []).extend((topic, number) for number in range(count))
        return plan


class ToAStranger(ToTheFirst):
    """Its plan is invalid."""

    name = "to-a-stranger"

    def plan(self, group: Group, claims: Claims) -> Planned:
        """Plan for the group."""
        return {"stranger": [("t", 0)]}


@dataclass(frozen=True, slots=True)
class LeastOptions(Options):
    """Options of `ToTheLeast`."""

    least: int = field(default=1, metadata={"plans": True, "unit": "partitions"})
    note: str = field(default="", metadata={"plans": False})


class ToTheLeast(ToTheFirst):
    """Has an option of its own."""

    name = "to-the-least"
    options_type = LeastOptions


class ClassicOnly(ToTheFirst):
    """Keeps the broker from converting its group (KIP-848)."""

    name = "classic-only"
    is_classic_only = True


class Unfinished(Assignor):
    """Has no plan."""

    name = "unfinished"


NUMBER = 5
