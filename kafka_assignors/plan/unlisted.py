"""Claims on partitions that the leader's metadata does not list.

kafka-python's leader plans before the metadata of the group's topics has come, so a topic may be unknown to
it, or have grown.  Such a partition stays with its newest valid claimant for this round, and so does
everything else that is owned; the full plan is made when the metadata is there.  Claims are untrusted, so
only these count:

- on a topic that the claimant subscribes to, by a name that Kafka allows;
- on a partition number below ``MOST_PARTITIONS``;
- of a member that claims at most ``MOST_CLAIMS`` such partitions.

The rules of ``resolve`` decide between several claimants.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import Claims, resolve
from kafka_assignors.plan.model import NOBODY, Group, Member, Ownership

__all__ = ["MOST_CLAIMS", "MOST_PARTITIONS", "keep_owned", "unlisted_owners"]

MOST_PARTITIONS = 1_000_000
"""Partitions of one topic; brokers hold fewer."""

MOST_CLAIMS = 100_000
"""Partitions of one member: the group's record at the broker has no room for more."""

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def unlisted_owners(group: Group, claims: Claims) -> dict[str, dict[str, list[int]]]:
    """Find the owners of partitions that are not in ``group.topics``.

    Args:
        group: as the leader's metadata has it.
        claims: of that group; only members with refused claims are looked at, so a group without any costs
            nothing.

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
    # The same partitions, numbered from 0 without gaps: a group of its own.
    names: dict[str, set[int]] = {}
    for beyond in claimed.values():
        for topic, numbers in beyond.items():
            names.setdefault(topic, set()).update(numbers)
    numbered = {topic: sorted(numbers) for topic, numbers in names.items()}
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
    settled = resolve(compact)
    # A partition that another live member still holds must not be given away (KIP-429).
    is_free = (settled.holder == NOBODY) | (settled.holder == settled.owner)
    kept = Assignment(compact, np.where(is_free, settled.owner, np.int32(NOBODY)))
    return {
        member_id: {topic: [numbered[topic][i] for i in places] for topic, places in topics.items()}
        for member_id, topics in kept.items()
        if topics
    }


def keep_owned(group: Group, claims: Claims, unlisted: Mapping[str, Ownership]) -> Assignment:
    """Leave every partition with its owner; deal the rest to the subscribers with the fewest partitions.

    Args:
        group: who plans.
        claims: what its members own.
        unlisted: owned partitions that the group does not list; they count as load, and are not planned.

    Returns:
        The plan.  Ties go by seniority.  Cost: partitions without an owner x members.
    """
    owners = claims.owner.copy()
    loads = np.bincount(owners[owners != NOBODY], minlength=len(group.members))
    for member_id, topics in unlisted.items():
        loads[group.index[member_id]] += sum(map(len, topics.values()))
    for topic, subscribed in enumerate(group.subscribed):
        able = np.flatnonzero(subscribed)
        first = int(group.firsts[topic])
        free = np.flatnonzero(owners[first : int(group.firsts[topic + 1])] == NOBODY) + first
        for partition in free.tolist() if len(able) else ():
            owner = able[loads[able].argmin()]
            owners[partition] = owner
            loads[owner] += 1
    return Assignment(group, owners)


def _beyond(group: Group, member: Member) -> dict[str, list[int]]:
    """The member's claims that may be true though the metadata does not list them."""
    beyond: dict[str, list[int]] = {}
    for topic, numbers in member.owned.items():
        if topic not in member.topics or not _TOPIC.fullmatch(topic):
            continue
        count = group.topics.get(topic, 0)
        if there := [number for number in numbers if count <= number < MOST_PARTITIONS]:
            beyond[topic] = there
    return beyond if sum(map(len, beyond.values())) <= MOST_CLAIMS else {}
