"""What if: a group after some of its members have left and others have joined."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from kafka_assignors.errors import ProblemError
from kafka_assignors.plan import Group, Member, shown

__all__ = ["joined", "without"]

_MOST_NAMES = 5  # of a large group; the others' are alike


def without(group: Group, names: Sequence[str]) -> tuple[Group, tuple[Member, ...]]:
    """The group without these members, and the members that are gone; topics stay.

    Args:
        group: as it is.
        names: member ids, instance ids, or beginnings of a member id that only one member's has.

    Raises:
        ProblemError: a name that is nobody's, or the beginning of several.
    """
    gone = {_find(group, name) for name in names}
    stay = tuple(m for m in group.members if m.member_id not in gone)
    return replace(group, members=stay), tuple(m for m in group.members if m.member_id in gone)


def _find(group: Group, name: str) -> str:
    if name in group.index:
        return name
    static = [m.member_id for m in group.members if m.instance_id == name]
    found = static or [m.member_id for m in group.members if name and m.member_id.startswith(name)]
    if len(found) == 1:
        return found[0]
    known = found or [m.member_id for m in group.members]
    names = ", ".join(map(shown, known[:_MOST_NAMES])) + (", …" if len(known) > _MOST_NAMES else "")
    raise ProblemError(f"{'several members are' if found else 'no member is'} {name!r}: {names}")


def joined(group: Group, count: int, departed: Collection[Member] = ()) -> Group:
    """The group with ``count`` more members, ``new-1`` and so on.

    They subscribe to whatever anybody subscribes to or, being ``departed``, did; were there never any
    members, to all topics.
    """
    others = (*group.members, *departed)
    topics = frozenset[str]().union(*(m.topics for m in others)) if others else frozenset(group.topics)
    taken = {m.member_id for m in group.members}
    names = (name for i in range(1, count + len(taken) + 1) if (name := f"new-{i}") not in taken)
    new = [Member(name, topics) for name, _ in zip(names, range(count), strict=False)]
    return replace(group, members=(*group.members, *new))
