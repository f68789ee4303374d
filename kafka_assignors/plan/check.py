"""Checks the plan of a user's own strategy.  The plan may consist of plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from kafka_assignors.errors import PlanError
from kafka_assignors.plan.arrays import Mask
from kafka_assignors.plan.assignment import Assignment, Owners
from kafka_assignors.plan.model import NO_MEMBER, Group, Ownership, listed, shown

Planned: TypeAlias = Mapping[str, Ownership | Iterable[tuple[str, int]]]
"""Member id -> its partitions: topic -> numbers, or (topic, number) pairs.  An `Assignment` is one, too."""


def as_assignment(group: Group, planned: object) -> Assignment:
    """Convert a plan to an assignment of the group, and check it.

    A valid plan gives each partition of a subscribed topic to one member, which subscribes to the topic.
    Members without partitions may be left out.  Cost: linear; dictionaries take thirty times as long as
    an `Assignment` of this group.

    Args:
        group: members and topics.
        planned: the plan, of type ``Planned``; anything else is a fault.

    Raises:
        PlanError: the plan is invalid.  The message is one sentence, which names the first fault.
    """
    if isinstance(planned, Assignment):
        owners = _checked_owners(planned)
        if not _has_same_indices(planned.group, group):
            owners = _owners_in(group, Assignment(planned.group, owners))
    elif isinstance(planned, Mapping):
        owners = _owners_in(group, planned)
    else:
        kind = "nothing" if planned is None else f"a {type(planned).__name__}"
        raise PlanError(f"plan() returned {kind}, expected an Assignment or a dict of member ids")
    owned = np.flatnonzero(owners != NO_MEMBER)
    subscribes: Mask = group.subscribed[group.topic_of[owned], owners[owned]]
    foreign = owned[~subscribes]
    if len(foreign):
        foreign = foreign[owners[foreign] == owners[foreign[0]]]
        member_id = group.members[owners[foreign[0]]].member_id
        raise PlanError(
            f"{_with_verb(group, foreign)} assigned to {shown(member_id)}, which does not subscribe"
        )
    missing = np.flatnonzero((owners == NO_MEMBER) & group.assignable_topics[group.topic_of])
    if len(missing):
        raise PlanError(f"{_with_verb(group, missing)} left without an owner")
    if isinstance(planned, Assignment) and planned.group is group and planned.owners is owners:
        return planned  # a subclass may carry more than owners
    return Assignment(group, owners)


def _has_same_indices(other: Group, group: Group) -> bool:
    """Whether members and partitions have the same indices in both groups.

    A strategy may plan for a copy of its group, such as one with other subscriptions.
    """
    return other is group or (other.index == group.index and other.topics == group.topics)


def _checked_owners(planned: Assignment) -> Owners:
    """Return the owners of an assignment; check the array, which the strategy may have made itself."""
    group, owners = planned.group, np.asarray(planned.owners)
    if owners.shape != (group.size,) or owners.dtype.kind not in "iu":
        raise PlanError(f"owners must be {group.size} whole numbers, one for each partition")
    if group.size and not (owners.min() >= NO_MEMBER and owners.max() < len(group.members)):
        raise PlanError(f"owners must be from {NO_MEMBER} to {len(group.members) - 1}, indices of members")
    return owners.astype(np.int32, copy=False)


def _owners_in(group: Group, planned: Mapping[Any, Any]) -> Owners:
    """Return the owners in a plan of plain dictionaries."""
    owners = [NO_MEMBER] * group.size
    for member_id, entry in planned.items():
        if (index := group.index.get(member_id)) is None:
            raise PlanError(f"{shown(str(member_id))} is no member of the group")
        for topic, number in _pairs(member_id, entry):
            count = group.topics.get(topic) if isinstance(topic, str) else None
            if count is None:
                raise PlanError(f"{shown(str(topic))} is no known topic")
            is_whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
            if not (is_whole and 0 <= number < count):
                raise PlanError(f"{topic} has no partition {number!r:.60}, it has {count}")
            partition = group.first[topic] + int(number)
            if owners[partition] != NO_MEMBER:
                first = shown(group.members[owners[partition]].member_id)
                is_same = owners[partition] == index
                to = f"both times to {first}" if is_same else f"to {first} and {shown(member_id)}"
                raise PlanError(f"{topic}-{number} is assigned twice, {to}")
            owners[partition] = index
    return np.array(owners, np.int32)


def _pairs(member_id: str, entry: Any) -> list[tuple[Any, Any]]:
    try:
        if isinstance(entry, Mapping):
            return [(topic, number) for topic, numbers in entry.items() for number in numbers]
        return [(topic, number) for topic, number in entry]
    except (TypeError, ValueError):
        raise PlanError(
            f"the entry of {shown(member_id)} must be (topic, partition) pairs, or a dict of topics"
        ) from None


def _with_verb(group: Group, partitions: Any) -> str:
    """Name the first partition and count the others, with "is" or "are"."""
    names = listed(partitions, 1, name=lambda partition: "{}-{}".format(*group.at(int(partition))))
    return f"{names} {'is' if len(partitions) == 1 else 'are'}"
