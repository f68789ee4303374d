"""``failover``: one member is active, the others stand by.

Topics are planned by kind: topics of one kind have the same subscribers (``Group.kinds``).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kafka_assignors.plan.arrays import Mask, Vector
from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.model import NO_MEMBER, Group, Member


def plan_failover(
    group: Group, claims: Claims, *, preempt: bool = True, elsewhere: Collection[str] = ()
) -> Assignment:
    """Assign each whole topic to one subscriber, the active one.  Topics with the same subscribers share it.

    Members line up by priority, highest first, then by seniority; members without a priority come last.
    With equal subscriptions one member is active for all topics, including topics created later.

    Args:
        group: members and topics.
        claims: the partitions that members own; ignored with ``preempt``.
        preempt: whether the first in line takes over from a live active member.  If not, the topics with the
            same subscribers go to the first of these that exists:

            1. the subscriber that owned partitions of them.  If several did (after a change of strategy or
               of subscriptions), the one of the newest generation, then the one with the most of their
               partitions, so that the fewest move, then the first in line;
            2. the first in line of the subscribers that are active for other topics, by rule 1 or as one of
               ``elsewhere``;
            3. the first in line.
        elsewhere: members that own partitions that the group does not list.

    Returns:
        The plan.  Planning again with nothing changed changes nothing.  Cost: linear in topics x members, and
        a sort of the partitions.
    """
    if not group.members:
        return Assignment(group, np.full(group.size, NO_MEMBER, np.int32))
    # The sort is stable, so it keeps members of equal priority in the order of seniority.
    line = np.array(sorted(range(len(group.members)), key=lambda i: _place(group.members[i])), np.int64)
    kind_of, subscribed = group.kinds
    if preempt:
        active = _first(line, subscribed)
    else:
        owning = _owning(group, claims, line)
        others = [group.index[member_id] for member_id in elsewhere]
        is_active = np.isin(line, [*owning, *others])
        active_first = line[np.argsort(~is_active, kind="stable")]
        active = np.where(owning == NO_MEMBER, _first(active_first, subscribed), owning)
    return Assignment(group, active[kind_of[group.topic_of]].astype(np.int32))


def plan_seniors(group: Group) -> Assignment:
    """Assign each whole topic to its most senior subscriber.

    It is the fallback if ``plan_failover`` fails, so it has as little code as possible.
    """
    if not group.members:
        return Assignment(group, np.full(group.size, NO_MEMBER, np.int32))
    owner = np.where(group.subscribed.any(axis=1), group.subscribed.argmax(axis=1), NO_MEMBER)
    return Assignment(group, owner[group.topic_of].astype(np.int32))


def _place(member: Member) -> tuple[bool, int]:
    """Sort key: highest priority first, members without a priority last."""
    return (member.priority is None, -(member.priority or 0))


def _first(line: Vector, subscribed: Mask) -> Vector:
    """By kind: the subscriber that is first in line, or ``NO_MEMBER``."""
    return np.where(subscribed.any(axis=1), line[subscribed[:, line].argmax(axis=1)], NO_MEMBER)


def _owning(group: Group, claims: Claims, line: Vector) -> Vector:
    """By kind: the member that was active for it, or ``NO_MEMBER``."""
    members = len(group.members)
    kind_of_topic, subscribed = group.kinds
    kind = kind_of_topic[group.topic_of]
    is_owned = claims.owner != NO_MEMBER
    pairs, counts = np.unique(kind[is_owned] * members + claims.owner[is_owned], return_counts=True)
    kind_of_pair, member = np.divmod(pairs, members)
    rank = np.empty(members, np.int64)
    rank[line] = np.arange(members)
    generation = np.array([m.generation for m in group.members], np.int64)
    order = np.lexsort((rank[member], -counts, -generation[member], kind_of_pair))
    owned_kinds, firsts = np.unique(kind_of_pair[order], return_index=True)
    active = np.full(len(subscribed), NO_MEMBER, np.int64)
    active[owned_kinds] = member[order][firsts]
    return active
