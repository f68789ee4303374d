"""Splits a group whose members have different topologies, as during a rolling deploy.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType

from kafka_assignors.plan import Group, listed, shown
from kafka_assignors.plan import stateful as planner
from kafka_assignors.plan.stateful.model import Tasks
from kafka_assignors.stateful.topology import Topology

MOST_NAMES = 5  # in a line of the log


def subgroups(topology: Topology, group: Group) -> dict[tuple[str, ...], list[str]]:
    """Group the subtopologies by the members that can run them: ids of members -> ids of subtopologies.

    A member can run a subtopology if it subscribes to all existing topics of the subtopology.  If all
    topologies are equal, the result has one entry.
    """
    ids: dict[tuple[str, ...], list[str]] = {}
    for subtopology in topology.subtopologies:
        topics = group.topics.keys() & subtopology.topics
        able_members = tuple(member.member_id for member in group.members if topics <= member.topics)
        ids.setdefault(able_members, []).append(subtopology.id)
    return ids


def merge_plans(plans: Sequence[planner.StatefulPlan]) -> planner.StatefulPlan:
    """Merge the plans of all subgroups.

    Each subgroup is balanced by itself, and has ``max_warmup_replicas`` of its own.
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


def topology_warning(topology: Topology, group: Group) -> str:
    """Return a warning that names members without all existing source topics; empty if there are none."""
    existing = {topic for topic in topology.topics if topic in group.topics}
    missing = {member.member_id: sorted(existing - member.topics) for member in group.members}
    lines = [
        f"{shown(member_id)} without {listed(topics, MOST_NAMES)}"
        for member_id, topics in sorted(missing.items())
        if topics
    ]
    if not lines:
        return ""
    return (
        f"members do not subscribe to all source topics: {listed(lines, MOST_NAMES, between='; ')}. Expected "
        "during a rolling deploy; otherwise deploy the same topology on all members"
    )


def _merged(plans: Iterable[Tasks]) -> Tasks:
    merged: dict[str, tuple[planner.Task, ...]] = {}
    for tasks in plans:
        for member_id, member_tasks in tasks.items():
            merged[member_id] = tuple(sorted((*merged.get(member_id, ()), *member_tasks)))
    return MappingProxyType(merged)
