"""Claims on partitions that the leader's metadata does not list.

kafka-python's leader plans before it has the metadata of the group's topics, so a topic may be unknown to
it, or may have grown.  Such a partition stays with its newest valid claimant for this round, as does every
other owned partition.  The leader makes the full plan once it has the metadata.  Claims are untrusted.  A
claim counts if

- the claimant subscribes to the topic, and Kafka allows the topic's name;
- the partition number is below ``PARTITION_NUMBER_LIMIT``;
- the claimant claims at most ``MOST_CLAIMS`` such partitions.

The rules of ``resolve`` decide between several claimants.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import Claims, resolve
from kafka_assignors.plan.model import NO_MEMBER, Group, Member, Ownership

PARTITION_NUMBER_LIMIT = 1_000_000
"""Largest plausible number of partitions of one topic; brokers hold fewer."""

MOST_CLAIMS = 100_000
"""Largest plausible number of partitions of one member; the broker's group record has no room for more."""

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def unlisted_owners(group: Group, claims: Claims) -> dict[str, dict[str, list[int]]]:
    """Find the owners of partitions that are not in ``group.topics``.

    Args:
        group: members, and topics as in the leader's metadata.
        claims: the group's claims.  Only members with refused claims are examined.

    Returns:
        Member id -> topic -> partition numbers, ascending.  Linear in the refused claims.
    """
    claimed = {
        member.member_id: beyond
        for member in group.members
        if member.member_id in claims.refused and (beyond := _beyond(group, member))
    }
    if not claimed:
        return {}
    # Renumber these partitions from 0 without gaps, so that they form a group that ``resolve`` accepts.
    numbers_of: dict[str, set[int]] = {}
    for beyond in claimed.values():
        for topic, numbers in beyond.items():
            numbers_of.setdefault(topic, set()).update(numbers)
    numbered = {topic: sorted(numbers) for topic, numbers in numbers_of.items()}
    place = {topic: {number: i for i, number in enumerate(numbers)} for topic, numbers in numbered.items()}
    members = tuple(
        replace(
            member,
            owned={
                topic: [place[topic][number] for number in numbers]
                for topic, numbers in claimed.get(member.member_id, {}).items()
            },
        )
        for member in group.members
    )
    compact = Group(members, {topic: len(numbers) for topic, numbers in numbered.items()})
    resolved = resolve(compact)
    # A partition that another live member still holds must not be given away (KIP-429).
    is_free = (resolved.holder == NO_MEMBER) | (resolved.holder == resolved.owner)
    kept = Assignment(compact, np.where(is_free, resolved.owner, np.int32(NO_MEMBER)))
    return {
        member_id: {topic: [numbered[topic][i] for i in places] for topic, places in topics.items()}
        for member_id, topics in kept.items()
        if topics
    }


def keep_owned(group: Group, claims: Claims, unlisted: Mapping[str, Ownership]) -> Assignment:
    """Keep every partition with its owner; assign the rest to the subscribers with the fewest partitions.

    Args:
        group: members and topics.
        claims: the partitions that members own.
        unlisted: owned partitions that the group does not list.  They count as load and are not planned.

    Returns:
        The plan.  Ties go by seniority.  Cost: partitions without an owner x members.
    """
    owners = claims.owner.copy()
    loads = np.bincount(owners[owners != NO_MEMBER], minlength=len(group.members))
    for member_id, topics in unlisted.items():
        loads[group.index[member_id]] += sum(map(len, topics.values()))
    for topic, subscribed in enumerate(group.subscribed):
        subscribers = np.flatnonzero(subscribed)
        first = int(group.firsts[topic])
        free = np.flatnonzero(owners[first : int(group.firsts[topic + 1])] == NO_MEMBER) + first
        for partition in free.tolist() if len(subscribers) else ():
            owner = subscribers[loads[subscribers].argmin()]
            owners[partition] = owner
            loads[owner] += 1
    return Assignment(group, owners)


def _beyond(group: Group, member: Member) -> dict[str, list[int]]:
    """The member's plausible claims on partitions that the metadata does not list."""
    beyond: dict[str, list[int]] = {}
    for topic, numbers in member.owned.items():
        if topic not in member.topics or not _TOPIC.fullmatch(topic):
            continue
        count = group.topics.get(topic, 0)
        if unlisted := [number for number in numbers if count <= number < PARTITION_NUMBER_LIMIT]:
            beyond[topic] = unlisted
    return beyond if sum(map(len, beyond.values())) <= MOST_CLAIMS else {}
