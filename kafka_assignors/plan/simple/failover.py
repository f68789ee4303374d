"""``failover``: one member works, the others stand by."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from kafka_assignors.plan.assignment import Assignment
from kafka_assignors.plan.claims import Claims
from kafka_assignors.plan.model import NOBODY, Group, Member

__all__ = ["plan_failover", "plan_seniors"]

Vector = npt.NDArray[np.int64]


def plan_failover(
    group: Group, claims: Claims, *, preempt: bool = True, elsewhere: Collection[str] = ()
) -> Assignment:
    """Each topic whole to one of its subscribers, the active one; topics with equal subscribers to the same.

    First in line is the highest priority, then the most senior; members without a priority come last.  With
    equal subscriptions there is one active member, for all topics, those to come included.

    Args:
        group: who plans.
        claims: what members owned; without meaning for the plan while ``preempt`` is on.
        preempt: whether the first in line takes over from an active member that lives.  If not, topics with
            the same subscribers go, in this order,

            1. to the subscriber that owned something of them.  If several did (the group comes from another
               strategy, or subscriptions became equal), to the one of the newest generation, then the one
               with the most of their partitions: so the fewest move.  Then the first in line of those.
            2. to a subscriber that is active for other topics by that rule, the first in line of those;
            3. to the first in line.
        elsewhere: members that are active for topics that the group does not list; see 2.

    Returns:
        A plan that, planned again with nothing changed, stays the same.  Cost: linear in topics x members,
        and a sort of the partitions.
    """
    if not group.members:
        return Assignment(group, np.full(group.size, NOBODY, np.int32))
    line = np.array(sorted(range(len(group.members)), key=lambda i: _place(group.members[i])), np.int64)
    kind_of, subscribed = _kinds(group)
    if preempt:
        active = _first(line, subscribed)
    else:
        owning = _owning(group, claims, kind_of[group.topic_of], line, len(subscribed))
        others = [group.index[member_id] for member_id in elsewhere]
        is_active = np.isin(np.arange(len(line)), [*owning, *others])
        active = _or_else(owning, _first(line, subscribed & is_active), _first(line, subscribed))
    return Assignment(group, active[kind_of[group.topic_of]].astype(np.int32))


def plan_seniors(group: Group) -> Assignment:
    """Each topic whole to its most senior subscriber: one active member, by as little code as can be."""
    if not group.members:
        return Assignment(group, np.full(group.size, NOBODY, np.int32))
    owner = np.where(group.subscribed.any(axis=1), group.subscribed.argmax(axis=1), NOBODY)
    return Assignment(group, owner[group.topic_of].astype(np.int32))


def _place(member: Member) -> tuple[bool, int]:
    """Sorts by priority, the highest first; the sort leaves equals as they are, which is by seniority."""
    return (member.priority is None, -(member.priority or 0))


def _kinds(group: Group) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Topics with the same subscribers are of one kind: the kind of each topic, and who subscribes to it.

    Returns:
        By topic the number of its kind, and an array of shape (kinds, members).
    """
    kinds: dict[bytes, int] = {}
    kind_of = np.array([kinds.setdefault(row.tobytes(), len(kinds)) for row in group.subscribed], np.int64)
    rows = [np.frombuffer(row, np.bool_) for row in kinds]
    return kind_of, np.array(rows, np.bool_).reshape(len(kinds), len(group.members))


def _first(line: Vector, subscribed: npt.NDArray[np.bool_]) -> Vector:
    """By kind the subscriber that is first in line, or ``NOBODY``."""
    return np.where(subscribed.any(axis=1), line[subscribed[:, line].argmax(axis=1)], NOBODY)


def _owning(group: Group, claims: Claims, kind: Vector, line: Vector, kinds: int) -> Vector:
    """By kind the member that was active for it, or ``NOBODY``; ``kind`` is by partition."""
    members = len(group.members)
    known = claims.owner != NOBODY
    pairs, counts = np.unique(kind[known] * members + claims.owner[known], return_counts=True)
    of, member = np.divmod(pairs, members)
    place = np.empty(members, np.int64)
    place[line] = np.arange(members)
    since = np.array([m.generation for m in group.members], np.int64)
    order = np.lexsort((place[member], -counts, -since[member], of))
    there, firsts = np.unique(of[order], return_index=True)
    active = np.full(kinds, NOBODY, np.int64)
    active[there] = member[order][firsts]
    return active


def _or_else(*choices: Vector) -> Vector:
    """The first of the choices that is somebody, by kind."""
    chosen = choices[0]
    for other in choices[1:]:
        chosen = np.where(chosen == NOBODY, other, chosen)
    return chosen
