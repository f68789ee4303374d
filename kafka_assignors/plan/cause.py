"""The causes of a rebalance, from two snapshots of a group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from kafka_assignors.plan.model import listed, shown


class Cause(Enum):
    """Why a group rebalanced.  The values are stable words for labels (docs/explanation/rebalance.md).

    Lists of causes are in this order: requests of members, changes of members and topics, the rest.
    """

    SKEW = "skew"
    FORECAST = "forecast"
    PROBE = "probe"
    UPGRADE = "upgrade"
    STATIC_WATCH = "static-watch"
    JOINED = "joined"
    REJOINED = "rejoined"
    RESTARTED = "restarted"
    LEFT = "left"
    LOST = "lost"
    GONE = "gone"
    SUBSCRIPTION = "subscription"
    TOPIC_APPEARED = "topic-appeared"
    TOPIC_GREW = "topic-grew"
    TOPIC_SHRANK = "topic-shrank"
    TOPIC_DISAPPEARED = "topic-disappeared"
    SECOND_ROUND = "second-round"
    METADATA = "metadata"
    REPEATED = "repeated"
    LEADER_CHANGED = "leader-changed"
    UNOWNED = "unowned"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class RebalanceCause:
    """One cause of a rebalance.

    Attributes:
        cause: the kind of cause.
        names: the members or topics that it concerns, sorted.
        details: for each name a text about its change, such as ``4 to 6``; empty if the kind says it all.
    """

    cause: Cause
    names: tuple[str, ...] = ()
    details: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The kind of cause as one stable word, for a metric's label."""
        return self.cause.value

    def __str__(self) -> str:
        names = [*map(shown, self.names)]
        texts = [*map(": ".join, zip(names, self.details, strict=True))] if self.details else names
        return f"{self.label} ({listed(texts)})" if self.names else self.label


class Change(NamedTuple):
    """A change of one member or topic.  All changes with the same ``cause`` become one `RebalanceCause`."""

    cause: Cause
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SeenMember:
    """A member in a snapshot.

    Attributes:
        topics: the topics it subscribes to.
        instance_id: the id of a static member; None for a dynamic member.
        client_id: the ``client_id`` of its consumer; None if unknown.
        generation: the last generation it was in, ``NO_GENERATION`` (-1) if it never was in one; None if
            unknown.
        requests: cause -> a number that the member changes to request a rebalance for this cause.
    """

    topics: frozenset[str]
    instance_id: str | None = None
    client_id: str | None = None
    generation: int | None = None
    requests: Mapping[Cause, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """The members and topics of a group at one moment.

    Attributes:
        members: member id -> member.
        partitions: topic -> number of its partitions, for at least the subscribed topics that exist.
        all_topics: the names of all topics of the cluster; None if only the subscribed ones are known.
    """

    members: Mapping[str, SeenMember]
    partitions: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    all_topics: frozenset[str] | None = None

    def name(self, member_id: str) -> str:
        """Return a member's name: the instance id of a static member, else the member id."""
        return self.members[member_id].instance_id or member_id


def causes_between(
    before: GroupSnapshot, after: GroupSnapshot, *, missing: Cause = Cause.GONE
) -> list[RebalanceCause]:
    """Return the changes between two snapshots of a group as causes, in the order of ``Cause``.

    - A new member id counts as *restarted* if the group had a static member with the same instance id.  It
      counts as *rejoined* if it still knows a generation: its membership ended while it ran.  A dynamic
      member also counts as rejoined if it has the client id of a dynamic member that is missing now.  No
      other member of either snapshot may have that client id.  Otherwise the new member has *joined*.
    - A static member that is missing is *lost*, because only the end of its session, or an administrator,
      removes it.  A missing dynamic member either left or was lost.  The protocol does not show which, so it
      is *gone* unless the caller knows more.
    - A topic that members subscribe to may appear, grow, shrink or disappear, in the metadata from which the
      snapshots were made.

    Args:
        before: the group at the last rebalance.
        after: the group at this one.
        missing: the cause for a dynamic member that is missing.
    """
    old_ids = _old_ids(before, after)
    return causes_of(
        [
            *_requests(before, after),
            *_member_changes(before, after, old_ids, missing),
            *_topic_changes(before, after),
            *_subscription_changes(before, after, old_ids),
        ]
    )


def causes_of(changes: Iterable[Change]) -> list[RebalanceCause]:
    """Return the causes of some changes, in the order of ``Cause``."""
    grouped: dict[Cause, list[Change]] = {cause: [] for cause in Cause}
    for change in sorted(changes, key=lambda change: change.name):
        grouped[change.cause].append(change)
    return [
        RebalanceCause(
            cause,
            tuple(change.name for change in same),
            tuple(change.detail for change in same if change.detail),
        )
        for cause, same in grouped.items()
        if same
    ]


def _old_ids(before: GroupSnapshot, after: GroupSnapshot) -> dict[str, str]:
    """Map the id of each present member to its id before.  New members are left out."""
    stayed = before.members.keys() & after.members.keys()
    came, went = after.members.keys() - stayed, before.members.keys() - stayed
    instances = {before.members[old].instance_id: old for old in went}
    clients = {before.members[old].client_id: old for old in went if before.members[old].instance_id is None}
    uses = [Counter(member.client_id for member in group.members.values()) for group in (before, after)]
    old_ids = {member_id: member_id for member_id in stayed}
    for member_id in came:
        member = after.members[member_id]
        if member.instance_id is not None:
            old_id = instances.get(member.instance_id)
        else:
            # Members with the default client id share it, so it does not identify them.
            is_own = member.client_id is not None and all(counts[member.client_id] == 1 for counts in uses)
            old_id = clients.get(member.client_id) if is_own else None
        if old_id is not None:
            old_ids[member_id] = old_id
    return old_ids


def _requests(before: GroupSnapshot, after: GroupSnapshot) -> Iterator[Change]:
    for member_id in before.members.keys() & after.members.keys():
        old = before.members[member_id].requests
        for cause, number in after.members[member_id].requests.items():
            if old.get(cause, number) != number:
                yield Change(cause, after.name(member_id))


def _member_changes(
    before: GroupSnapshot, after: GroupSnapshot, old_ids: Mapping[str, str], missing: Cause
) -> Iterator[Change]:
    for member_id in after.members.keys() - before.members.keys():
        member, is_known = after.members[member_id], member_id in old_ids
        if is_known and member.instance_id is not None:
            cause = Cause.RESTARTED
        elif is_known or (member.generation is not None and member.generation >= 0):
            cause = Cause.REJOINED
        else:
            cause = Cause.JOINED
        yield Change(cause, after.name(member_id))
    for member_id in before.members.keys() - set(old_ids.values()):
        is_static = before.members[member_id].instance_id is not None
        yield Change(Cause.LOST if is_static else missing, before.name(member_id))


def _topic_changes(before: GroupSnapshot, after: GroupSnapshot) -> Iterator[Change]:
    yield from (Change(Cause.TOPIC_APPEARED, topic) for topic in _appeared(before, after))
    yield from (Change(Cause.TOPIC_DISAPPEARED, topic) for topic in _appeared(after, before))
    for topic, new in after.partitions.items():
        old = before.partitions.get(topic, new)
        if new != old:
            yield Change(Cause.TOPIC_GREW if new > old else Cause.TOPIC_SHRANK, topic, f"{old} to {new}")


def _subscription_changes(
    before: GroupSnapshot, after: GroupSnapshot, old_ids: Mapping[str, str]
) -> Iterator[Change]:
    appeared, disappeared = _appeared(before, after), _appeared(after, before)
    for member_id, old_id in old_ids.items():
        had, has = before.members[old_id].topics, after.members[member_id].topics
        if had is has or had == has:
            continue
        texts = [f"+{shown(topic)}" for topic in sorted(has - had - appeared)]
        texts += [f"-{shown(topic)}" for topic in sorted(had - has - disappeared)]
        if texts:
            yield Change(Cause.SUBSCRIPTION, after.name(member_id), listed(texts))


def _appeared(before: GroupSnapshot, after: GroupSnapshot) -> set[str]:
    """Return the topics of ``after`` that did not exist before.

    If ``before`` lists only subscribed topics, a topic counts only if a member subscribed to it before.
    """
    came = after.partitions.keys() - before.partitions.keys()
    if before.all_topics is not None:
        return came - before.all_topics
    return came & frozenset[str]().union(*{member.topics for member in before.members.values()})
