"""Finds the owners of planned tasks' partitions, and holds back whole tasks in a round.  Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kafka_assignors.plan import NO_MEMBER, Assignment, Group, Hold
from kafka_assignors.plan import stateful as planner
from kafka_assignors.plan.assignment import Owners
from kafka_assignors.stateful.topology import Subtopology, Topology


def planned_subtopologies(topology: Topology, group: Group) -> dict[str, planner.PlannedSubtopology]:
    """Return the planner's subtopologies by id."""
    return {
        subtopology.id: planner.PlannedSubtopology(
            subtopology.id, _task_count(subtopology, group), subtopology.stateful, subtopology.logged
        )
        for subtopology in topology.subtopologies
    }


class PlannedTasks(Assignment):
    """The owners of the partitions of planned tasks.  Other partitions have no owner.

    Attributes:
        tasks: the plan: active tasks, standbys and warm-ups.
    """

    def __init__(self, group: Group, owners: Owners, tasks: planner.StatefulPlan) -> None:
        super().__init__(group, owners)
        self.tasks = tasks


def planned_tasks(topology: Topology, group: Group, plan: planner.StatefulPlan) -> PlannedTasks:
    """Give the partitions of active tasks to their members."""
    owners = np.full(group.size, NO_MEMBER, np.int32)
    for member_id, tasks in plan.active.items():
        for task in tasks:
            for topic, partition in topology.partitions(task):
                if partition < group.topics.get(topic, 0):
                    owners[group.first[topic] + partition] = group.index[member_id]
    return PlannedTasks(group, owners, plan)


def hold_back_whole_tasks(
    topology: Topology, group: Group, target: Assignment, given: Assignment, held: Sequence[Hold]
) -> tuple[Assignment, list[Hold]]:
    """Hold back all partitions of a task while one of them is held back.

    If two members each owned a partition of the same task, both would write its changelog.

    Args:
        topology: the tasks.
        group: the group.
        target: the plan.
        given: the plan without the partitions that are held back.
        held: the partitions that are held back, and the members that claim them.
    """
    owners, holds = given.owners.copy(), list(held)
    waits_for = {(hold.topic, hold.partition): hold.member_id for hold in held}
    for subtopology in topology.subtopologies:
        for number in range(_task_count(subtopology, group)):
            topics = [topic for topic in subtopology.topics if number < group.topics.get(topic, 0)]
            places = [group.first[topic] + number for topic in topics]
            # A provisional plan leaves free partitions without an owner.
            planned = [place for place in places if target.owners[place] != NO_MEMBER]
            if len({int(owners[place]) for place in planned}) < 2:
                continue
            owners[places] = NO_MEMBER
            holder = next(
                (waits_for[topic, number] for topic in topics if (topic, number) in waits_for), None
            )
            if holder is not None:
                holds += [Hold(t, number, holder) for t in topics if (t, number) not in waits_for]
    return Assignment(group, owners), sorted(holds)


def _task_count(subtopology: Subtopology, group: Group) -> int:
    """Return the number of tasks: the largest partition count.  Counts differ while topics grow."""
    return max(group.topics.get(topic, 0) for topic in subtopology.topics)
