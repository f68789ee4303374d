"""Changes the members of a group for ``--without`` and ``--join``."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace

from kafka_assignors.errors import ProblemError
from kafka_assignors.plan import Group, Member, listed, shown

_MOST_NAMES = 5  # in an error, because a group may be large


def without(group: Group, names: Sequence[str]) -> tuple[Group, tuple[Member, ...]]:
    """Return the group without these members, and the removed members.  The topics stay.

    Names are member ids, their unique prefixes, or instance ids.

    Raises:
        ProblemError: a name matches no member, or is the prefix of several.
    """
    removed = {_find(group, name) for name in names}
    staying = tuple(m for m in group.members if m.member_id not in removed)
    return replace(group, members=staying), tuple(m for m in group.members if m.member_id in removed)


def _find(group: Group, name: str) -> str:
    if name in group.index:
        return name
    static = [m.member_id for m in group.members if m.instance_id == name]
    matches = static or [m.member_id for m in group.members if name and m.member_id.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    known = matches or [m.member_id for m in group.members]
    names = listed(known, _MOST_NAMES, name=shown) or "the group has none"
    raise ProblemError(f"{name!r} matches {'several members' if matches else 'no member'}: {names}")


def joined(group: Group, count: int, departed: Collection[Member] = ()) -> Group:
    """Return the group with ``count`` more members, ``new-1`` and so on.

    They subscribe to the topics of all members, including ``departed`` ones.  If there are no members at all,
    they subscribe to all topics.
    """
    others = (*group.members, *departed)
    topics = frozenset[str]().union(*(m.topics for m in others)) if others else frozenset(group.topics)
    taken = {m.member_id for m in group.members}
    names = (name for number in itertools.count(1) if (name := f"new-{number}") not in taken)
    new = [Member(name, topics) for name in itertools.islice(names, count)]
    return replace(group, members=(*group.members, *new))
