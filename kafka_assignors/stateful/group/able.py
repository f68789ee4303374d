"""Pure: which members can run what, where their topologies differ, as they do in a rolling deploy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from kafka_assignors.plan import Group, shown
from kafka_assignors.plan import stateful as planner
from kafka_assignors.plan.stateful.model import Tasks
from kafka_assignors.stateful.topology import Topology

__all__ = ["Part", "about_topologies", "few", "parts_of", "together"]

_MOST = 5  # names in a line


@dataclass(frozen=True, slots=True)
class Part:
    """Subtopologies, and all members that can run them: those that subscribe to their topics.  By id."""

    subtopologies: tuple[str, ...]
    members: tuple[str, ...]


def parts_of(topology: Topology, group: Group) -> list[Part]:
    """The subtopologies of each set of members that can run them: one part, where all have one topology.

    A topic that does not exist is in nobody's way.
    """
    ids: dict[tuple[str, ...], list[str]] = {}
    for subtopology in topology.subtopologies:
        topics = group.topics.keys() & subtopology.topics
        able = tuple(member.member_id for member in group.members if topics <= member.topics)
        ids.setdefault(able, []).append(subtopology.id)
    return [Part(tuple(some), able) for able, some in ids.items()]


def together(plans: Sequence[planner.StatefulPlan]) -> planner.StatefulPlan:
    """The plans of all parts as one.

    Each is in balance by itself, and has ``max_warmup_replicas`` of its own.
    """
    if len(plans) == 1:
        return plans[0]
    return planner.StatefulPlan(
        active=_merged(plan.active for plan in plans),
        standby=_merged(plan.standby for plan in plans),
        warmup=_merged(plan.warmup for plan in plans),
        probing=any(plan.probing for plan in plans),
        target_active=_merged(plan.target_active for plan in plans),
        target_standby=_merged(plan.target_standby for plan in plans),
    )


def about_topologies(topology: Topology, group: Group) -> str:
    """Who lacks which topics, in words for a warning; nothing where nobody does."""
    there = {topic for topic in topology.topics if topic in group.topics}
    lacks = {member.member_id: sorted(there - member.topics) for member in group.members}
    said = [f"{shown(name)} lacks {few(topics)}" for name, topics in sorted(lacks.items()) if topics]
    return f"members differ in topology: {few(said, '; ')}" if said else ""


def few(names: Sequence[str], between: str = ", ") -> str:
    """Some names, and how many more there are."""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return between.join(names[:_MOST]) + more


def _merged(plans: Iterable[Tasks]) -> Tasks:
    found: dict[str, tuple[planner.Task, ...]] = {}
    for tasks in plans:
        for member_id, some in tasks.items():
            found[member_id] = tuple(sorted((*found.get(member_id, ()), *some)))
    return MappingProxyType(found)
