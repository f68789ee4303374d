"""Turns members' subscriptions into members for the planner.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import NAMESPACE_OID, UUID, uuid5

from kafka_assignors.assignor.members import Reports
from kafka_assignors.plan import Group, Member, listed, shown
from kafka_assignors.plan import stateful as planner
from kafka_assignors.stateful.group.topologies import MOST_NAMES
from kafka_assignors.stateful.topology import Topology
from kafka_assignors.wire.compact_ownership import in_order
from kafka_assignors.wire.stateful.subscription import Subscription
from kafka_assignors.wire.stateful.version import NewerHeader

Subscriptions = Mapping[str, Subscription | NewerHeader]
"""Member id -> its decoded user data; absent if it could not be decoded."""


def subscriptions_of(reports: Reports) -> Subscriptions:
    """Return the subscriptions that could be decoded."""
    return {
        member.member_id: report.more
        for member, report in reports
        if isinstance(report.more, (Subscription, NewerHeader))
    }


@dataclass(frozen=True)
class JoinedGroup(Group):
    """A group, with what its leader knows of the members' state.

    Attributes:
        subscriptions: decoded user data by member id.
        ends: task -> end offset of its changelog, where the leader knows it (see ``Holdings``).
    """

    subscriptions: Subscriptions = field(default_factory=dict)
    ends: Mapping[planner.Task, int] = field(default_factory=dict)


def planner_members(
    topology: Topology, members: Iterable[Member], subscriptions: Subscriptions
) -> dict[str, planner.StatefulMember]:
    """Return the planner's members by id.

    A member without readable user data has the tasks of its owned partitions, and no copies.
    Members with the same process id, from a copied directory, count as different processes.  As one process,
    each member would be credited with the state of the others.
    """
    shared = _shared(subscriptions)
    return {member.member_id: _planner_member(topology, member, subscriptions, shared) for member in members}


def process_warning(subscriptions: Subscriptions) -> str:
    """Return a warning that names members with the same process id; empty if there are none."""
    duplicates = sorted(sorted(map(shown, ids)) for ids in _shared(subscriptions).values())
    if not duplicates:
        return ""
    names = listed(duplicates, MOST_NAMES, name=lambda ids: listed(ids, MOST_NAMES), between="; ")
    return (
        f"members have the same process id: {names}. Was a store_dir copied? Stop the member of each copied "
        "store_dir, delete its file `process`, and start the member again. Until then each member counts as "
        "a process of its own"
    )


def _planner_member(
    topology: Topology, member: Member, subscriptions: Subscriptions, shared: Mapping[UUID, list[str]]
) -> planner.StatefulMember:
    subscription = subscriptions.get(member.member_id)
    process = subscription.process_id if subscription is not None else None
    if process is None or process in shared:
        process = uuid5(NAMESPACE_OID, member.member_id)
    if not isinstance(subscription, Subscription):
        subscription = Subscription(process)
    return planner.StatefulMember(
        member_id=member.member_id,
        process=str(process),
        rack=subscription.rack or member.rack,
        active=[planner.Task(*task) for task in sorted(topology.tasks_of(in_order(member.owned)))],
        standby=[planner.Task(*task) for task in subscription.standbys],
        lags={planner.Task(*task): lag for task, lag in subscription.lags.items()},
        generation=member.generation,
    )


def _shared(subscriptions: Subscriptions) -> dict[UUID, list[str]]:
    """Return the process ids that several members have, each with these members."""
    members_of: dict[UUID, list[str]] = {}
    for member_id, subscription in subscriptions.items():
        if subscription.process_id:
            members_of.setdefault(subscription.process_id, []).append(member_id)
    return {process: members for process, members in members_of.items() if len(members) > 1}
