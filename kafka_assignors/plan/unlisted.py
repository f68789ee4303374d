"""Claims on partitions that the leader's metadata does not list.

kafka-python's leader plans before it has the metadata of the group's topics, so it may not know a topic, or
not all its partitions.  Every owned partition, listed or not, then stays with its owner for this round.  The
leader makes the full plan once it has the metadata.  Claims are untrusted.  A claim on an unlisted partition
counts if

- the claimant subscribes to the topic, and Kafka allows the topic's name;
- the partition number is below ``PARTITION_NUMBER_LIMIT``;
- the claimant claims at most ``MOST_CLAIMS`` such partitions.

The rules of ``resolve`` decide between several claimants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kafka_assignors.plan.arrays import Vector
from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import Claims, resolve
from kafka_assignors.plan.model import NO_MEMBER, Group, Member, Ownership
from kafka_assignors.validators import is_topic

PARTITION_NUMBER_LIMIT = 1_000_000
"""Largest plausible number of partitions of one topic; brokers hold fewer."""

MOST_CLAIMS = 100_000
"""Largest plausible number of partitions of one member; the broker's group record has no room for more."""


def unlisted_owners(group: Group, claims: Claims) -> dict[str, dict[str, list[int]]]:
    """Find the owners of partitions that are not in ``group.topics``.

    Returns:
        Member id -> topic -> partition numbers, ascending.  Cost: linear, and a sort of the claims on
        unlisted partitions.
    """
    claimed = {
        member.member_id: unlisted
        for member in group.members
        if member.member_id in claims.refused and (unlisted := _unlisted_claims(group, member))
    }
    if not claimed:
        return {}
    # Renumber these partitions from 0 without gaps, so that they form a group that ``resolve`` accepts.
    numbers_of: dict[str, set[int]] = {}
    for unlisted in claimed.values():
        for topic, numbers in unlisted.items():
            numbers_of.setdefault(topic, set()).update(numbers)
    old_numbers = {topic: sorted(numbers) for topic, numbers in numbers_of.items()}
    new_number = {topic: {old: new for new, old in enumerate(olds)} for topic, olds in old_numbers.items()}
    members = tuple(
        replace(
            member,
            owned={
                topic: [new_number[topic][number] for number in numbers]
                for topic, numbers in claimed.get(member.member_id, {}).items()
            },
        )
        for member in group.members
    )
    compact = Group(members, {topic: len(numbers) for topic, numbers in old_numbers.items()})
    resolved = resolve(compact)
    # A partition that a member holds must not go to another member (KIP-429).
    may_keep = (resolved.holder == NO_MEMBER) | (resolved.holder == resolved.owner)
    kept = Assignment(compact, np.where(may_keep, resolved.owner, np.int32(NO_MEMBER)))
    return {
        member_id: {topic: [old_numbers[topic][new] for new in numbers] for topic, numbers in topics.items()}
        for member_id, topics in kept.items()
        if topics
    }


def keep_owned(group: Group, claims: Claims, unlisted: Mapping[str, Ownership]) -> Assignment:
    """Keep every partition with its owner; assign the rest to the subscribers with the fewest partitions.

    The ``unlisted`` partitions count as load.

    Returns:
        The plan.  Seniority breaks ties.  Cost: for each topic a sort of its free partitions and subscribers.
    """
    owners = claims.owner.copy()
    loads = np.bincount(owners[owners != NO_MEMBER], minlength=len(group.members))
    for member_id, topics in unlisted.items():
        loads[group.index[member_id]] += sum(map(len, topics.values()))
    for topic, subscribed in enumerate(group.subscribed):
        subscribers = np.flatnonzero(subscribed)
        first = int(group.firsts[topic])
        free = np.flatnonzero(owners[first : int(group.firsts[topic + 1])] == NO_MEMBER) + first
        if len(free) and len(subscribers):
            owners[free] = subscribers[_fewest_first(loads[subscribers], len(free))]
            loads += np.bincount(owners[free], minlength=len(loads))
    return Assignment(group, owners)


def _fewest_first(loads: Vector, count: int) -> Vector:
    """Deal units one by one, each to the smallest load of that moment; ties to the first.

    Returns:
        The index of each unit's load, in the order of the deal.
    """
    ordered = np.sort(loads)
    sums = np.cumsum(ordered)
    # needed[k]: units that raise the k + 1 smallest loads to the largest of these.
    needed = ordered * np.arange(1, len(loads) + 1) - sums
    receivers = int(np.searchsorted(needed, count, side="right"))
    level = -(-(count + int(sums[receivers - 1])) // receivers)  # no load is raised above it
    steps = np.maximum(0, level - loads)
    indices = np.repeat(np.arange(len(loads)), steps)
    loads_before = np.arange(len(indices)) + np.repeat(loads - (np.cumsum(steps) - steps), steps)
    return indices[np.lexsort((indices, loads_before))[:count]]


def _unlisted_claims(group: Group, member: Member) -> dict[str, list[int]]:
    """The member's plausible claims on partitions that the group does not list; none if they are too many."""
    claimed: dict[str, list[int]] = {}
    for topic, numbers in member.owned.items():
        if topic not in member.topics or not is_topic(topic):
            continue
        count = group.topics.get(topic, 0)
        if unlisted := [number for number in numbers if count <= number < PARTITION_NUMBER_LIMIT]:
            claimed[topic] = unlisted
    return claimed if sum(map(len, claimed.values())) <= MOST_CLAIMS else {}
